"""Two groups of runs against each other, figure by figure: times of operations, and quantiles of latencies.

What is replicated is the same as for the metric (``sides``). The noise of all figures is judged together
(``block_model.judged_variances``), so that few blocks suffice. The intervals of all figures hold together: the error
rate is divided by their number (Bonferroni).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeVar

import numpy as np
import pandas as pd

from hdbkit.analysis.comparison.replication import BASE, NEW, Replication, replication
from hdbkit.analysis.comparison.sides import Compared, contrasts, judged_ratio, levels, over_counts, scored
from hdbkit.analysis.run.records import mean_times_s
from hdbkit.analysis.statistics import Floats
from hdbkit.analysis.statistics.two_samples import Sample
from hdbkit.analysis.statistics.variances import judged_variances
from hdbkit.config.metric import Measure, Metric
from hdbkit.errors import InputError
from hdbkit.results.manifest import Manifest
from hdbkit.text import plural

_COLUMNS = ("figure", "base", "new", "ratio", "low", "high", "verdict", "sentence")
_UNKNOWN = {"ratio": math.nan, "low": math.nan, "high": math.nan, "verdict": "undecided"}


def compared_by_operation(
    runs: pd.DataFrame, manifests: Sequence[Manifest], metric: Metric, overall: Compared, confidence: float = 0.95
) -> pd.DataFrame:
    """The comparison of each operation.

    Args:
        runs: a row per run, as ``replication.runs_of`` returns them.
        manifests: those of the runs.
        metric: that of the runs.
        overall: the comparison of the metric.
        confidence: the probability that all intervals hold.

    Returns:
        A row per operation: ``operation``, ``base`` and ``new`` (s, geometric means of runs), ``ratio`` of scores,
        ``low`` and ``high`` (simultaneous; NaN where nothing is replicated), ``verdict``, ``sentence``. Where the
        metric is no mean over operations, of the mean service time of each.
    """
    times = mean_times_s(manifests, every=not metric.by_operation)
    metrics = {str(name): metric.of_operation(str(name)) for name in times}
    found = _compared_each(runs, times, metrics, overall, confidence)
    return found.rename(columns={"figure": "operation"})


def compared_quantiles(
    runs: pd.DataFrame, latencies_us: pd.DataFrame, overall: Compared, confidence: float = 0.95
) -> pd.DataFrame:
    """The comparison of quantiles of latencies, whose sampling error within a run is part of the noise of runs.

    Args:
        runs: a row per run, as ``replication.runs_of`` returns them.
        latencies_us: by run id, a column for each quantile; NaN where a run has none.
        overall: the comparison of the metric.
        confidence: the probability that all intervals hold.

    Returns:
        By figure, the name of a column: ``base`` and ``new`` (geometric means of runs), ``change`` of the latency
        from base to new (-0.2: 20 % less), its ends ``low`` and ``high`` (simultaneous; NaN where nothing is
        replicated).
    """
    known = latencies_us.where(latencies_us > 0)
    metrics = {
        str(name): Metric(name="latency", title=str(name), unit="us", measure=Measure.QUANTILE) for name in known
    }
    found = _compared_each(runs, known, metrics, overall, confidence).set_index("figure")
    changes = {"change": 1 / found["ratio"] - 1, "low": 1 / found["high"] - 1, "high": 1 / found["low"] - 1}
    return found[[BASE, NEW]].assign(**changes)


def _compared_each(
    runs: pd.DataFrame, figures: pd.DataFrame, metrics: Mapping[str, Metric], overall: Compared, confidence: float
) -> pd.DataFrame:
    """The comparison of each column of ``figures``, which are by run id."""
    values = {name: runs.assign(metric_value=runs["run_id"].map(figures[name])) for name in metrics}
    known = {name: found.dropna(subset=["metric_value"]) for name, found in values.items()}
    both = {name: scored(found, metrics[name]) for name, found in known.items() if {BASE, NEW} <= set(found["side"])}
    samples = _moderated({name: replication(found) for name, found in both.items()})
    level = 1 - (1 - confidence) / max(len(metrics), 1)
    rows = []
    for name, found in known.items():
        means = np.exp(np.log(found["metric_value"]).groupby(found["side"]).mean())
        head = {"figure": name, BASE: means.get(BASE, math.nan), NEW: means.get(NEW, math.nan)}
        if name in both:
            plain = both[name].groupby(["side", "virtual_users"])["score"].mean().groupby("side").mean()
            ((estimate, half),) = contrasts(samples[name], np.array([plain[NEW] - plain[BASE]]), level)
            head |= dict(zip((BASE, NEW), levels(metrics[name], plain[[BASE, NEW]].tolist(), estimate), strict=True))
            judge = partial(judged_ratio, metrics[name], overall.advice, overall.smallest_effect, confidence, BASE)
            rows.append(head | vars(judge(overall.design.words, NEW, estimate, half)))
        else:
            lacking = " or ".join(side for side in (BASE, NEW) if side not in set(found["side"]))
            why = f"undecided: no run of {lacking} completed {name}"
            rows.append(head | _UNKNOWN | {"sentence": why})
    return pd.DataFrame(rows, columns=list(_COLUMNS))


def _moderated(designs: Mapping[str, Replication]) -> dict[str, list[Sample]]:
    """The samples of each operation, with variances that are judged over all operations of the same side."""
    units = {name: over_counts(design) for name, design in designs.items()}
    made = {name: [designs[name].sample(values) for values in sides] for name, sides in units.items()}
    for side in range(max(map(len, made.values()), default=0)):
        here = [name for name, found in made.items() if len(found) > side and found[side].df > 0]
        if not here:
            continue
        own, df = (np.array([getattr(made[name][side], what) for name in here]) for what in ("variance", "df"))
        variances, judged = judged_variances(own, df, _residuals([units[name][side] for name in here]))
        for name, variance, freedom in zip(here, variances.tolist(), judged.tolist(), strict=True):
            made[name][side] = replace(made[name][side], variance=variance, df=freedom)
    return made


def _residuals(values: Sequence[Floats]) -> Floats:
    """What the units of each operation differ from their mean, (units, operations); 0 where there are fewer."""
    found = np.zeros((max(map(len, values)), len(values)))
    for position, one in enumerate(values):
        found[: len(one), position] = one[:, 0] - one.mean()
    return found


_Side = TypeVar("_Side", bound=str)
_SHOWN = 3
"""So many runs are named that lack an operation."""


def of_shared_operations(sides: Mapping[_Side, Sequence[Manifest]]) -> tuple[dict[_Side, list[Manifest]], str]:
    """The runs with the metric over the operations that all of them completed, and what is left out.

    They are as given, and the text is empty, where all completed the same, where their metrics are no means over
    operations, or differ in more. Runs without a result count for nothing and stay as they are.

    Raises:
        InputError: no operation was completed by all runs.

    Their means say nothing about each other, so they are compared by the operations that all of them completed.
    """
    given = {side: list(manifests) for side, manifests in sides.items()}
    timed = [one for manifests in given.values() for one in manifests if one.result and one.result.operations]
    if not timed or not _differ_in_operations(timed):
        return given, ""
    times = mean_times_s(timed)
    every = [name for name in timed[0].operations if any(name in one.of_metric for one in timed)]
    shared = [name for name in every if name in times and times[name].notna().all()]
    left_out = [name for name in every if name not in shared]
    if not left_out:
        return given, ""
    lacking = ", ".join(f"{name} ({_why(name, timed)})" for name in left_out)
    noun = timed[0].noun
    if not shared:
        raise InputError(f"no {noun} was completed by all runs: {lacking}")
    metric = timed[0].metric.of_some(shared, every)

    def restricted(one: Manifest) -> Manifest:
        if not (one.result and one.result.operations):
            return one
        value = float(np.exp(np.log(times.loc[one.run_id, shared].astype(float)).mean()))
        result = one.result.model_copy(update={"metric_value": value, "metric_unknown": ""})
        return one.model_copy(update={"metric": metric, "result": result})

    note = f"Compared are the {plural(noun)} that all runs completed. Left out: {lacking}"
    return {side: [restricted(one) for one in manifests] for side, manifests in given.items()}, note


def _differ_in_operations(manifests: Sequence[Manifest]) -> bool:
    """Whether the metrics are means over operations and differ in these alone, or one of them has no value."""
    alike = [one.metric.model_copy(update={"operations": ()}) for one in manifests]
    if not all(one.by_operation and one.comparable(alike[0]) for one in alike):
        return False
    sets = {tuple(sorted(one.of_metric)) for one in manifests}
    return len(sets) > 1 or not all(one.metric_value for one in manifests)


def _why(name: str, manifests: Sequence[Manifest]) -> str:
    """Which runs lack an operation, by the reason: ``failed in run A``, ``not executed in run B``."""
    found = {one.run_id: one.measured.operations.get(name) for one in manifests}
    lacking = {run_id: figures for run_id, figures in found.items() if figures is None or not figures.mean_us}
    failed = [run_id for run_id, figures in lacking.items() if figures and figures.failed]
    absent = [run_id for run_id in lacking if run_id not in failed]
    parts = ((failed, "failed in"), (absent, "not completed in"))
    return "; ".join(f"{what} {_runs(runs)}" for runs, what in parts if runs)


def _runs(ids: Sequence[str]) -> str:
    more = f" and {len(ids) - _SHOWN} more" if len(ids) > _SHOWN else ""
    return f"{'run' if len(ids) == 1 else 'runs'} {', '.join(ids[:_SHOWN])}{more}"
