"""The report of a sweep: which configuration is best, how certain that is, and what each setting changes."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from hdbkit.analysis.comparison.plans import changed_note
from hdbkit.analysis.statistics.block_model import usable
from hdbkit.analysis.sweep.looks import verdict_words
from hdbkit.analysis.sweep.together import latency_metric
from hdbkit.analysis.sweep.verdicts import in_these_runs, needed_range
from hdbkit.analysis.wording import percent, percent_within, percents
from hdbkit.charts.intervals import times
from hdbkit.charts.style import axis_title
from hdbkit.charts.sweep_charts import whole_sweep
from hdbkit.config import SweepSpec
from hdbkit.config.metric import Metric
from hdbkit.experiment.sweep import SweepPlan
from hdbkit.experiment.sweep_analysis import SweepAnalysis
from hdbkit.report.card import Bar, Card, checks_over_runs, measured_by
from hdbkit.report.environment import environment
from hdbkit.report.page import Figure, Page, write_page
from hdbkit.report.plan_tables import changed_plan_tables
from hdbkit.report.server_work import growth_table, work_by_configuration
from hdbkit.report.sweep_journal import events_table, order_table, settings_table, unrestored
from hdbkit.report.tables import MARKS, UNKNOWN, Table, cell, heading
from hdbkit.results.experiment_runs import each_run
from hdbkit.results.folder import RunFolder
from hdbkit.results.kept import known_settings
from hdbkit.results.manifest import Manifest
from hdbkit.text import listed, virtual_users

_AGAINST = "Configurations against the baseline"


def sweep_report(path: Path, found: SweepAnalysis) -> Path:
    """Write the report of a sweep to ``path`` and return the path."""
    spec, verdicts, metric, journal = found.plan.spec, found.verdicts, found.metric, found.folder.journal.lines
    several = verdicts["virtual_users"].nunique() > 1
    page = Page(
        kicker=found.experiment_id,
        card=card(found),
        notice=found.notice,
        command=found.command,
        notes=[_sentence(one) for one in found.notes],
        figures=_key_figures(found.runs, found.plan),
        tables=[
            verdict_matrix(verdicts, metric) if several else verdict_table(verdicts, metric),
            *winner_table(found.winners, metric),
            *operation_tables(found.by_operation, metric),
        ],
        charts=whole_sweep(found),
        evidence=[
            *interaction_table(found.interactions, metric),
            *latency_table(found.latencies),
            *work_by_configuration(found.manifests, found.labels),
            *growth_table(found.manifests),
            *files_table(spec.settings_file),
            *settings_table(spec.tried, journal),
        ],
        plans=changed_plan_tables(found.plans),
        plans_title=changed_note(found.plans),
        environment=_environment(spec, *found.finished[0]) if found.finished else [],
        journal=[
            *([verdict_table(verdicts, metric, "Every comparison with the baseline in words")] if several else []),
            order_table(found.runs, metric, found.labels, journal),
            events_table(journal),
        ],
    )
    return write_page(path, page)


def card(found: SweepAnalysis) -> Card:
    """The result of a sweep: that of its best configuration, in fresh blocks where it has some."""
    spec, metric, warnings = (
        found.plan.spec,
        found.metric,
        unrestored(found.folder.journal.lines, found.experiment_id),
    )
    best = found.best
    several = found.verdicts["virtual_users"].nunique() > 1
    at = f" at {virtual_users(int(best['virtual_users']))}" if best is not None and several else ""
    return Card(
        question=spec.question or f"Which values of {listed(list(spec.grid))} are fastest?",
        answer=found.answer,
        verdict="no result" if best is None else str(best["verdict"]),
        value="" if best is None else times(float(best["ratio"])),
        of=""
        if best is None
        else f"{best['label']}{at} against the baseline: {metric.name} {percent(float(best['ratio']), metric)}",
        bar=None if best is None else _bar(best, spec.smallest_effect),
        facts=measured_by(found.manifests, spec.virtual_users),
        checks=checks_over_runs(found.manifests),
        warnings=[*found.warnings, *warnings],
        next_step=found.next_step,
    )


def _bar(row: pd.Series[Any], smallest_effect: float) -> Bar:
    ratio, low, high = (float(row[name]) for name in ("ratio", "low", "high"))
    return Bar(ratio, low, high, smallest_effect)


def sweep_card(found: SweepAnalysis, restored: str) -> str:
    """The result of a sweep as a notebook shows it, with its verdicts from the best to the worst."""
    verdicts, metric = found.verdicts, found.metric
    ranked = verdicts.assign(score=metric.score(verdicts["metric_value"])).sort_values("score", ascending=False)
    several = verdicts["virtual_users"].nunique() > 1
    table = verdict_matrix(verdicts, metric) if several else verdict_table(ranked, metric)
    lines = [_sentence(one) for one in filter(None, [*found.notes, restored])]
    return card(found).in_notebook(f"Sweep {found.experiment_id}: {found.notice}", [table], lines)


def _key_figures(runs: pd.DataFrame, plan: SweepPlan) -> list[Figure]:
    spec, slices = plan.spec, plan.slices
    alternating = f", in slices of {slices.slice_s:g} s" if slices else ""
    tried = f"of {listed(list(spec.grid))}{alternating}"
    order = "of a run, in which configurations alternate" if slices else "each in its own random order"
    return [
        Figure("runs measured", f"{len(each_run(usable(runs))):,}", f"of {len(each_run(runs)):,} planned"),
        Figure("configurations", f"{runs['configuration'].nunique():,}", tried),
        Figure("virtual users", ", ".join(f"{one:,}" for one in spec.virtual_users), "in turn"),
        Figure("blocks", f"{_blocks(runs):,}", order),
        Figure("smallest effect", f"{100 * spec.smallest_effect:g} %", "that matters"),
    ]


def files_table(files: Mapping[str, Mapping[str, str]]) -> list[Table]:
    """What each file of settings gave the server; none without files."""
    names = dict.fromkeys(name for given in files.values() for name in given)
    rows = [[name, *(given.get(name, UNKNOWN) for given in files.values())] for name in names]
    note = "What a file left out kept the value that the server had."
    head = ["setting", *files]
    return (
        [Table("What does each file of settings set?", head, rows, [False] * len(head), note=note)] if files else []
    )


def _environment(spec: SweepSpec, folder: RunFolder, manifest: Manifest) -> list[Table]:
    """The environment of the first run, with the load of all runs and without the settings that were swept."""
    seed = f"{spec.load.seed} in block 1, plus 1 in each next block"
    load = spec.load.model_dump(mode="json") | {"virtual_users": spec.virtual_users, "seed": seed}
    kept = {name: one for name, one in known_settings(folder).items() if name not in spec.tried}
    return environment(manifest, kept, load)


def verdict_matrix(verdicts: pd.DataFrame, metric: Metric) -> Table:
    """A row per configuration, a column per count of virtual users: metric, change with its interval, verdict."""
    counts = sorted(verdicts["virtual_users"].unique())
    ordered = verdicts.sort_values("configuration")
    rows, marks = [], []
    for label, of_it in ordered.groupby("label", sort=False):
        found = {row["virtual_users"]: row for row in of_it.to_dict("records")}
        rows.append([str(label), *(_verdict_cell(found.get(users), metric) for users in counts)])
        marks.append(
            ["", *(MARKS.get(str(found[users]["verdict"]), "") if users in found else "" for users in counts)]
        )
    head = ["configuration", *(virtual_users(int(users)) for users in counts)]
    note = (
        f"Mean {axis_title(metric)}; completed operations of all types per second; the change of the metric against "
        "the baseline at the same virtual users, with the 95 % confidence interval; the verdict, and how many blocks "
        "would settle what is undecided."
    )
    return Table(_AGAINST, head, rows, [False, *[True] * len(counts)], note=note, cell_marks=marks)


def _verdict_cell(row: dict[Hashable, Any] | None, metric: Metric) -> str:
    if row is None:
        return UNKNOWN
    _, _, _, value, per_s, change, interval, verdict, _ = _verdict_row(row, metric)
    words = "" if verdict == "baseline" else ", ".join(filter(None, [str(verdict), needed_range(row)]))
    return "\n".join(filter(None, [value, f"{per_s} /s", change, interval.replace(" % to", " to"), words]))


def verdict_table(verdicts: pd.DataFrame, metric: Metric, title: str = _AGAINST) -> Table:
    """The verdict on each configuration, marked by what it is."""
    rows = [_verdict_row(row, metric) for row in verdicts.to_dict("records")]
    marks = [MARKS.get(str(verdict), "") for verdict in verdicts["verdict"]]
    head = ["configuration", "users", "runs", f"mean {metric.heading}", heading("operations_per_s")]
    head += ["change", "95 % interval", "verdict", "in words"]
    numeric = [False, True, True, True, True, True, True, False, False]
    return Table(title, head, rows, numeric, marks)


def winner_table(winners: pd.DataFrame, metric: Metric) -> list[Table]:
    """The fastest configurations in fresh blocks, beside the first estimates; none without such blocks."""
    if winners.empty:
        return []
    rows = []
    for row in winners.to_dict("records"):
        first = percent_within(row["first_ratio"], row["first_low"], row["first_high"], metric)
        rows.append([*_verdict_row(row, metric)[:8], first])
    marks = [MARKS.get(str(verdict), "") for verdict in winners["verdict"]]
    head = [
        "configuration",
        "users",
        "runs",
        f"mean {metric.heading}",
        heading("operations_per_s"),
        "change",
        "95 % interval",
        "verdict",
        "when chosen",
    ]
    numeric = [False, True, True, True, True, True, True, False, True]
    note = "From the fresh blocks alone: the lead by which a winner of many was chosen is partly chance."
    return [Table("The fastest, repeated in fresh blocks", head, rows, numeric, marks, note)]


def operation_tables(found: pd.DataFrame, metric: Metric) -> list[Table]:
    """The change of each operation by each configuration, at each count of users; none without such verdicts."""
    if found.empty:
        return []
    several = found["virtual_users"].nunique() > 1
    return [
        _operation_matrix(of_users, metric, f" at {virtual_users(int(str(users)))}" if several else "")
        for users, of_users in found.groupby("virtual_users")
    ]


def _operation_matrix(found: pd.DataFrame, metric: Metric, where: str) -> Table:
    """A row per operation, a column per configuration: its change with the interval, marked by the verdict."""
    labels = list(dict.fromkeys(found.sort_values("configuration")["label"]))
    rows, marks = [], []
    for operation, of_it in found.groupby("operation", sort=False):
        by_label = {row["label"]: row for row in of_it.to_dict("records")}
        rows.append([str(operation), *(_operation_cell(by_label[label], metric) for label in labels)])
        marks.append(["", *(MARKS.get(str(by_label[label]["verdict"]), "") for label in labels)])
    note = (
        f"Mean time of the baseline; change of the time in each other configuration{in_these_runs(found)}, with its "
        "95 % interval. The intervals of all operations and configurations hold together."
    )
    numeric = [False, *[True] * len(labels)]
    return Table(f"Each operation{where}", ["operation", *labels], rows, numeric, note=note, cell_marks=marks)


def _operation_cell(row: dict[Hashable, Any], metric: Metric) -> str:
    if row["verdict"] == "baseline":
        return metric.text(row["metric_value"])
    return UNKNOWN if pd.isna(row["ratio"]) else percent_within(row["ratio"], row["low"], row["high"], metric)


def latency_table(found: pd.DataFrame) -> list[Table]:
    """Percentiles of the latency that differ from the baseline's, by operation; none without verdicts."""
    if found.empty:
        return []
    compared = found[found["verdict"] != "baseline"]
    differ = compared[compared["verdict"].isin(["faster", "slower"])]
    rows = []
    for row in differ.to_dict("records"):
        metric = latency_metric(str(row["operation"]), str(row["percentile"]))
        label, users, runs, value, _, change, interval, *_ = _verdict_row(row, metric)
        rows.append([cell(row["operation"]), cell(row["percentile"]), label, users, runs, value, change, interval])
    head = ["operation", "percentile", "configuration", "users", "runs", "mean, ms", "change", "95 % interval"]
    undecided = int((compared["verdict"] == "undecided").sum())
    note = (
        f"{'Those' if rows else 'None'} of {len(compared)} comparisons with the baseline "
        f"{'that differ' if rows else 'differs'}; {undecided} are undecided. The "
        "intervals of all hold together. A closed loop begins fewer operations while the server is slow, so those "
        "that would have waited are missing (coordinated omission): compare configurations with each other, not "
        "these figures with those of an open system."
    )
    numeric = [False, False, False, True, True, True, True, True]
    return [Table("Percentiles of the latency", head, rows, numeric, note=note)]


def interaction_table(found: pd.DataFrame, metric: Metric) -> list[Table]:
    """Each two values of two settings together, against their effects multiplied; none with one setting."""
    if found.empty:
        return []
    rows = [
        [f"{row['setting']}={row['value']}", f"{row['other']}={row['other_value']}",
         percent(row["alone"], metric), percent(row["together"], metric),
         percent_within(row["ratio"], row["low"], row["high"], metric),
         cell(row["verdict"])]
        for row in found.to_dict("records")
    ]  # fmt: skip
    marks = ["unsure" if verdict == "undecided" else "" for verdict in found["verdict"]]
    head = ["value", "with", "change without", "change with it", "95 % interval of the ratio of both", "verdict"]
    return [Table("Interactions of settings", head, rows, [False, False, True, True, True, False], marks)]


def _blocks(runs: pd.DataFrame) -> int:
    return int(runs[~runs["fresh"]]["block"].nunique())


def _sentence(text: str) -> str:
    return f"{text.removesuffix('.')}."


def _verdict_row(row: dict[Hashable, Any], metric: Metric) -> list[str]:
    value = metric.number(row["metric_value"]) if pd.notna(row["metric_value"]) else UNKNOWN
    change = percent(row["ratio"], metric) if pd.notna(row["ratio"]) and row["verdict"] != "baseline" else ""
    interval = percents(row["low"], row["high"], metric) if change and pd.notna(row["low"]) else ""
    counts = [cell(row["virtual_users"]), cell(row["runs"])]
    return [
        cell(row["label"]),
        *counts,
        value,
        cell(row["operations_per_s"]),
        change,
        interval,
        verdict_words(row),
        cell(row["sentence"]),
    ]
