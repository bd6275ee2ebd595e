"""Results on the screen or as JSON: of a run, and of an experiment of any kind."""

from __future__ import annotations

import numpy as np
import pandas as pd

from hdbkit import api
from hdbkit.analysis.comparison.plans import plans_note
from hdbkit.analysis.comparison.sides import settings_apart
from hdbkit.analysis.wording import about, says_nothing
from hdbkit.api import documents
from hdbkit.cli import show
from hdbkit.cli.exits import Exit
from hdbkit.results.experiment_runs import each_run
from hdbkit.results.manifest import Status
from hdbkit.text import percent_of, share


def show_run(result: api.Result, as_json: bool, if_stopped: Exit | None = Exit.STOPPED) -> int:
    """Show a run; its exit code. ``if_stopped`` replaces that of a stopped run; None: its checks decide."""
    report = result.report()
    if as_json:
        show.print_json(documents.of_run(result, report))
    else:
        show.run(result)
        show.console.print(f"report: {report}", markup=False)
    if if_stopped is not None and result.manifest.status is Status.STOPPED:
        return if_stopped
    return Exit.DONE if result.passed else Exit.CHECK_FAILED


def show_found(found: api.ExperimentResult, as_json: bool) -> int:
    """Show the result of an experiment, and write its reports; its exit code."""
    reports = found.reports() if isinstance(found, api.Releases) else [found.report()]
    if as_json:
        show.print_json(documents.of_result(found, reports[-1]))
    else:
        _print(found)
        for path in reports:
            show.console.print(f"report: {path}", markup=False)
    match found:
        case api.SweepResult() if found.failed:
            return Exit.RUN_FAILED
        case api.SweepResult() if found.checks_failed:
            return Exit.CHECK_FAILED
        case api.Releases(search=api.Search(undecided=reason)) if reason:
            return Exit.CHECK_FAILED
    return Exit.DONE


def _print(found: api.ExperimentResult) -> None:
    """The result of an experiment on the screen."""
    match found:
        case api.SweepResult():
            show.sweep(found)
            for name, runs in found.checks_failed.items():
                show.console.print(
                    f"check failed in {runs} of {len(each_run(found.runs))} runs: {name}", markup=False
                )
        case api.Comparison():
            _print_comparison(found, None, False)
        case api.MaxRate():
            show.console.print(show.table(found.runs))
            show.console.print(found.answer, markup=False, style="bold")
        case api.Profile():
            _cells(found)
            for sentence in found.scaling["sentence"]:
                show.console.print(sentence, markup=False)
        case api.Releases():
            _releases(found)


def show_comparison(
    found: api.Comparison,
    as_json: bool,
    *,
    report: bool,
    gate: api.Gate | None = None,
    everything: bool = False,
    plans: bool = False,
) -> None:
    """Show a comparison, and write its report on request."""
    path = found.report() if report else None
    if as_json:
        of_gate = {"gate": vars(gate)} if gate else {}
        show.print_json(documents.of_result(found, path) | of_gate)
        return
    _print_comparison(found, gate, everything)
    if plans:
        show.plan_pairs(found.plans, found.names)
    if path:
        show.console.print(f"report: {path}", markup=False)


def _print_comparison(found: api.Comparison, gate: api.Gate | None, everything: bool) -> None:
    """The comparison on the screen."""
    show.console.print("; ".join(found.names), markup=False)
    show.console.print(found.ratio.sentence, markup=False, style="bold")
    if found.basis:
        show.console.print(found.basis, markup=False)
    if gate:
        show.console.print(gate.sentence, markup=False, style="bold")
    why = [found.explanation.sentence] if found.explanation else []
    for line in (*why, *(f"warning: {one}" for one in found.warnings)):
        show.console.print(line, markup=False)
    figures = _with_intervals(found.table, 1).rename(index={"metric_value": found.metric.heading})
    shares = ("change", "low", "high")
    changes = {name: figures[name].map(percent_of, na_action="ignore").astype(object) for name in shares}
    show.console.print(show.table(figures.assign(**changes).reset_index()))
    show.console.print(f"{about(found.metric)}; a ratio above 1 is better", markup=False)
    intervals = f"simultaneous {share(found.compared.confidence)} intervals"
    if len(found.compared.by_users):
        _cells(found, intervals)
    if len(found.by_operation):
        by_operation = found.by_operation.drop(columns="sentence").rename(columns={"base": "base s", "new": "new s"})
        show.console.print(show.table(_with_intervals(by_operation), title=f"Mean time by operation, {intervals}"))
    listed, apart = (found.differences, "") if everything else settings_apart(found.differences)
    if len(listed):
        show.console.print(show.table(listed.reset_index(), title="Differences"))
    if note := plans_note(found.plans):
        show.console.print(f"{note}; see them with --plans", markup=False)
    if apart:
        show.console.print(f"{apart}; list them with --all", markup=False)


def _cells(found: api.ExperimentResult, intervals: str = "simultaneous intervals") -> None:
    """What was measured in each cell, and what is compared."""
    figures = found.cells.rename(columns={"metric_value": found.metric.heading})
    show.console.print(show.table(figures, title=f"{about(found.metric)}; 95 % intervals of each by itself"))
    if len(found.comparisons):
        compared = found.comparisons.drop(columns="sentence")
        show.console.print(show.table(_with_intervals(compared), title=f"By user count, {intervals}"))


def _with_intervals(table: pd.DataFrame, equal: float = 0) -> pd.DataFrame:
    """A table without the intervals that say nothing; ``equal`` is added to its values to make them ratios."""
    ratios = table[["low", "high"]].astype(float) + equal
    nothing = np.array([says_nothing(*ends) for ends in ratios.to_numpy()], dtype=bool)
    return table.assign(**{name: table[name].mask(nothing) for name in ("low", "high")})


def _releases(found: api.Releases) -> None:
    """The comparisons of commits, and what a search found."""
    _cells(found)
    for one, comparison in zip(found.others, found.pairs, strict=True):
        show.console.print(f"{one}: {comparison.ratio.sentence}", markup=False)
    show.console.print(f"{about(found.metric)}; a ratio above 1 is better", markup=False)
    if found.search is not None:
        show.console.print(found.search.sentence, markup=False, style="bold")
