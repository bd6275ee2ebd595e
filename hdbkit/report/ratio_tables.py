"""The ratios of a finding as tables, a kind of ratio after the other."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from hdbkit.analysis.run.server_cost import SERVER_COST
from hdbkit.analysis.sweep.answers import in_these_runs
from hdbkit.analysis.sweep.latencies import latency_metric
from hdbkit.analysis.wording import CONFIDENCE, needed_text, percent, percent_of_ratio, percents
from hdbkit.charts.style import axis_title
from hdbkit.config.metric import Measure, Metric
from hdbkit.report.tables import MARKS, UNKNOWN, Table, cell, heading, three_digits
from hdbkit.results.finding import Finding, Of, Ratio, Verdict
from hdbkit.text import share, virtual_users

_PER_S = 4
"""The column of all operations per second."""
_LATENCY = Metric(name="latency", title="latency", unit="ms", measure=Measure.QUANTILE)


def ratio_tables(finding: Finding, *, in_rows: bool = False, ranked: bool = False) -> list[Table]:
    """What is compared: cells, winners, operations, and the figures of two sides.

    ``in_rows``: each count of users is a row of its own too, as a narrow screen needs it. ``ranked``: cells are
    listed from the best to the worst, where each has a row.
    """
    cells, metric = finding.of(Of.METRIC), finding.metric
    if ranked:
        cells.sort(key=lambda ratio: math.inf if ratio.value is None else -float(metric.score(ratio.value)))
    several = len({ratio.virtual_users for ratio in cells}) > 1
    in_a_grid = not in_rows and several and any(ratio.verdict is Verdict.BASELINE for ratio in cells)
    figures = figures_table(finding)
    in_figures = len(cells) == 1 and bool(figures)
    level = finding.confidence
    tables = [verdict_matrix(cells, metric) if in_a_grid else verdict_table(cells, metric, confidence=level)]
    return [
        *(tables if cells and not in_figures else []),
        *winner_table(finding.of(Of.WINNER), metric),
        *operation_tables(finding.of(Of.OPERATION), metric, level),
        *figures,
    ]


def detail_tables(finding: Finding) -> list[Table]:
    """What stands below the charts: interactions, percentiles that differ, and every verdict in words."""
    return [
        *interaction_table(finding.of(Of.INTERACTION), finding.metric),
        *latency_table([ratio for ratio in finding.of(Of.QUANTILE) if ratio.configuration is not None]),
    ]


def _title(ratios: Sequence[Ratio]) -> str:
    against = dict.fromkeys(ratio.against for ratio in ratios)
    return f"Against {', '.join(against)}"


def verdict_matrix(ratios: Sequence[Ratio], metric: Metric) -> Table:
    """A row per configuration, a column per count of virtual users: metric, change with its interval, verdict."""
    counts = sorted({ratio.virtual_users or 0 for ratio in ratios})
    by_label: dict[str, dict[int, Ratio]] = {}
    for ratio in sorted(ratios, key=lambda ratio: ratio.configuration or 0):
        by_label.setdefault(ratio.label, {})[ratio.virtual_users or 0] = ratio
    rows = [[label, *(_cell(of_it.get(users), metric) for users in counts)] for label, of_it in by_label.items()]
    marks = [["", *(_mark(of_it.get(users)) for users in counts)] for of_it in by_label.values()]
    head = ["configuration", *(virtual_users(users) for users in counts)]
    note = (
        f"Mean {axis_title(metric)}; completed operations of all types per second; the change of the metric against "
        "the baseline at the same virtual users, with the 95 % confidence interval; the verdict, and how many blocks "
        "would settle what is undecided."
    )
    return Table(_title(ratios), head, rows, [False, *[True] * len(counts)], note=note, cell_marks=marks)


def _mark(ratio: Ratio | None) -> str:
    return "" if ratio is None else MARKS.get(ratio.verdict, "")


def _cell(ratio: Ratio | None, metric: Metric) -> str:
    if ratio is None:
        return UNKNOWN
    _, _, _, value, per_s, change, interval, verdict, _ = _row(ratio, metric)
    words = "" if ratio.verdict is Verdict.BASELINE else ", ".join(filter(None, [verdict, needed_text(ratio.needed)]))
    return "\n".join(filter(None, [value, f"{per_s} /s", change, interval.replace(" % to", " to"), words]))


def verdict_table(ratios: Sequence[Ratio], metric: Metric, title: str = "", confidence: float = CONFIDENCE) -> Table:
    """A row per ratio, marked by its verdict; with what it refers to where there is no row of that."""
    bases = any(ratio.base_runs is not None for ratio in ratios)
    rows = [[*_row(ratio, metric), *([_value(ratio.base, metric)] if bases else [])] for ratio in ratios]
    head = ["configuration", "users", "runs", f"mean {metric.heading}", heading("operations_per_s")]
    head += [
        "change",
        f"{share(confidence)} interval",
        "verdict",
        "in words",
        *([f"mean of {ratios[0].against}"] if bases else []),
    ]
    numeric = [False, True, True, True, True, True, True, False, False, *([True] if bases else [])]
    if all(ratio.operations_per_s is None for ratio in ratios):  # as of two sides
        at = _PER_S
        head, numeric = head[:at] + head[at + 1 :], numeric[:at] + numeric[at + 1 :]
        rows = [row[:at] + row[at + 1 :] for row in rows]
    known = any(ratio.is_known for ratio in ratios)
    note = "The intervals hold together over all rows." if len(ratios) > 1 and bases and known else ""
    return Table(title or _title(ratios), head, rows, numeric, [_mark(ratio) for ratio in ratios], note)


def _value(value: float | None, metric: Metric) -> str:
    return UNKNOWN if value is None else metric.number(value)


def _row(ratio: Ratio, metric: Metric) -> list[str]:
    change = "" if ratio.ratio is None or ratio.verdict is Verdict.BASELINE else percent(ratio.ratio, metric)
    interval = percents(*ratio.interval, metric) if change and ratio.is_known else ""
    users = "all" if ratio.virtual_users is None else cell(ratio.virtual_users)
    return [
        cell(ratio.label), users, cell(ratio.runs), _value(ratio.value, metric), cell(ratio.operations_per_s),
        change, interval, ratio.words, cell(ratio.sentence),
    ]  # fmt: skip


def winner_table(ratios: Sequence[Ratio], metric: Metric) -> list[Table]:
    """The fastest configurations in fresh blocks, beside the first estimates; none without such blocks."""
    if not ratios:
        return []
    rows = [
        [*_row(ratio, metric)[:8], percent_of_ratio(ratio.first, metric) if ratio.first else ""] for ratio in ratios
    ]
    head = ["configuration", "users", "runs", f"mean {metric.heading}", heading("operations_per_s")]
    head += ["change", "95 % interval", "verdict", "when chosen"]
    numeric = [False, True, True, True, True, True, True, False, True]
    note = "From the fresh blocks alone: the lead by which a winner of many was chosen is partly chance."
    marks = [_mark(ratio) for ratio in ratios]
    return [Table("The fastest, repeated in fresh blocks", head, rows, numeric, marks, note)]


def operation_tables(ratios: Sequence[Ratio], metric: Metric, confidence: float = CONFIDENCE) -> list[Table]:
    """The change of each operation's time, a table for each count of users; none without such ratios."""
    by_users: dict[int | None, list[Ratio]] = {}
    for ratio in ratios:
        by_users.setdefault(ratio.virtual_users, []).append(ratio)
    return [
        _operation_matrix(of_users, metric, where, confidence)
        for users, of_users in by_users.items()
        for where in [f" at {virtual_users(users)}" if users and len(by_users) > 1 else ""]
    ]


def _operation_matrix(ratios: Sequence[Ratio], metric: Metric, where: str, confidence: float) -> Table:
    """A row per operation: its time with what all refer to, and its change with each label, marked by the verdict."""
    ordered = sorted(ratios, key=lambda ratio: ratio.configuration or 0)
    labels = list(dict.fromkeys(ratio.label for ratio in ordered if ratio.verdict is not Verdict.BASELINE))
    by_operation: dict[str, dict[str, Ratio]] = {}
    for ratio in ratios:
        by_operation.setdefault(ratio.figure, {})[ratio.label] = ratio
    rows, marks = [], []
    for operation, of_it in by_operation.items():
        time = metric.of_operation(operation)
        base = next((ratio.base for ratio in of_it.values() if ratio.base is not None), None)
        each = [of_it.get(label) for label in labels]  # of several commits, not all completed the same
        changes = [(percent_of_ratio(ratio, time) if ratio else "") or UNKNOWN for ratio in each]
        rows.append([operation, UNKNOWN if base is None else time.text(base), *changes])
        marks.append(["", "", *map(_mark, each)])
    note = (
        f"Mean time with {ratios[0].against}; change of the time otherwise{in_these_runs(ratios)}, with its "
        f"{share(confidence)} interval. The intervals of all operations hold together."
        if any(ratio.is_known for ratio in ratios)
        else f"Mean time with {ratios[0].against}; change of the time otherwise."
    )
    head = ["operation", ratios[0].against, *labels]
    numeric = [False, *[True] * (len(labels) + 1)]
    return Table(f"Each operation{where}", head, rows, numeric, note=note, cell_marks=marks)


def figures_table(finding: Finding) -> list[Table]:
    """Figures of two sides and their change, with the intervals of latencies: a table for each two that are compared.

    None where there are not two sides.
    """
    sides = list(dict.fromkeys((ratio.label, ratio.against) for ratio in finding.of(Of.COUNT)))
    several = len(sides) > 1
    return [_figures_of(finding, *both, f"{both[0]} and {both[1]}" if several else "Both sides") for both in sides]


def _figures_of(finding: Finding, label: str, against: str, title: str) -> Table:
    """The figures of two sides; that of the metric is the mean over all counts of users, where it is known."""
    best, metric = finding.best, finding.metric
    ratios = [ratio for ratio in finding.ratios if (ratio.label, ratio.against) == (label, against)]
    overall = [best] if best and (best.label, best.against) == (label, against) else []
    of_metric = overall or [ratio for ratio in ratios if ratio.of is Of.METRIC]
    latencies = [ratio for ratio in ratios if ratio.of is Of.QUANTILE]
    rows = [
        *([ratio.figure, _value(ratio.base, metric), _value(ratio.value, metric), *_change(ratio, metric)]
          for ratio in of_metric if len(of_metric) == 1),
        *([heading(ratio.figure), cell(ratio.base), cell(ratio.value), *_change(ratio, metric.rate)]
          for ratio in ratios if ratio.of is Of.COUNT),
        *([f"{SERVER_COST.name} ({SERVER_COST.unit})", three_digits(ratio.base), three_digits(ratio.value),
           *_change(ratio, SERVER_COST)] for ratio in ratios if ratio.of is Of.COST),
        *([f"{ratio.figure} {ratio.quantile} (ms)", three_digits(ratio.base), three_digits(ratio.value),
           *_change(ratio, _LATENCY)] for ratio in latencies),
    ]  # fmt: skip
    note = (
        "The intervals hold together over all latencies; a change whose interval contains 0 may be noise."
        if any(ratio.is_known for ratio in latencies)
        else "Without intervals: a difference here may be noise, of percentiles above all."
    )
    head = ["figure", against, label, "change", f"{share(finding.confidence)} interval"]
    return Table(f"{title}, geometric means over their runs", head, rows, [False, *[True] * 4], note=note)


def _change(ratio: Ratio, metric: Metric) -> list[str]:
    """The change of a figure, and its interval where it has one."""
    if ratio.ratio is None:
        return [cell(None), ""]
    return [percent(ratio.ratio, metric), percents(*ratio.interval, metric) if ratio.is_known else ""]


def latency_table(ratios: Sequence[Ratio]) -> list[Table]:
    """Percentiles of the latency that differ from the baseline's, by operation; none without verdicts."""
    if not ratios:
        return []
    compared = [ratio for ratio in ratios if ratio.verdict is not Verdict.BASELINE]
    rows = []
    for ratio in compared:
        if ratio.verdict.differs:
            label, users, runs, value, _, change, interval, *_ = _row(
                ratio, latency_metric(ratio.figure, ratio.quantile)
            )
            rows.append([ratio.figure, ratio.quantile, label, users, runs, value, change, interval])
    head = ["operation", "percentile", "configuration", "users", "runs", "mean, ms", "change", "95 % interval"]
    undecided = sum(ratio.verdict is Verdict.UNDECIDED for ratio in compared)
    note = (
        f"{'Those' if rows else 'None'} of {len(compared)} comparisons with the baseline "
        f"{'that differ' if rows else 'differs'}; {undecided} are undecided. The "
        "intervals of all hold together. A closed loop begins fewer operations while the server is slow, so those "
        "that would have waited are missing (coordinated omission): compare configurations with each other, not "
        "these figures with those of an open system."
    )
    numeric = [False, False, False, True, True, True, True, True]
    return [Table("Percentiles of the latency", head, rows, numeric, note=note)]


def interaction_table(ratios: Sequence[Ratio], metric: Metric) -> list[Table]:
    """Each two values of two settings together, against their effects multiplied; none with one setting."""
    rows = [
        [str(ratio.change), str(beside.other), percent(beside.alone, metric), percent(beside.together, metric),
         percent_of_ratio(ratio, metric), ratio.verdict]
        for ratio in ratios
        if (beside := ratio.interaction) is not None
    ]  # fmt: skip
    marks = ["unsure" if ratio.verdict is Verdict.UNDECIDED else "" for ratio in ratios]
    head = ["value", "with", "change without", "change with it", "95 % interval of the ratio of both", "verdict"]
    numeric = [False, False, True, True, True, False]
    return [Table("Interactions of settings", head, rows, numeric, marks)] if rows else []


def effect_table(finding: Finding) -> list[Table]:
    """The main effect of each value of a setting, which a page shows as a chart; none in a sweep without effects."""
    ratios, metric = finding.of(Of.EFFECT), finding.metric
    rows = [
        [ratio.label, ratio.against, "all" if ratio.virtual_users is None else cell(ratio.virtual_users),
         *_change(ratio, metric), ratio.words]
        for ratio in ratios
    ]  # fmt: skip
    head = ["value", "against", "users", "change", "95 % interval", "verdict"]
    numeric = [False, False, True, True, True, False]
    return [Table("Effect of each setting, over all pairs of configurations", head, rows, numeric)] if rows else []


def files_table(files: Mapping[str, Mapping[str, str]]) -> list[Table]:
    """What each file of settings gave the server; none without files."""
    names = dict.fromkeys(name for given in files.values() for name in given)
    rows = [[name, *(given.get(name, UNKNOWN) for given in files.values())] for name in names]
    note = "What a file left out kept the value that the server had."
    head = ["setting", *files]
    return (
        [Table("What does each file of settings set?", head, rows, [False] * len(head), note=note)] if files else []
    )
