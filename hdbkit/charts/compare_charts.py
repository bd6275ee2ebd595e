"""Charts of several groups of runs side by side; a group is a name and its runs.

Frames are those of :mod:`hdbkit.analysis.comparison.groups`, or own ones with the same columns. At most ``MAX_LINES``
groups are drawn, those that come first; the tables hold all.
"""

from __future__ import annotations

from typing import Any

from hdbkit.analysis.comparison.groups import (
    Groups,
    common_metric,
    distributions,
    metric_values,
    operation_times,
    overlaid,
    values_by_size,
)
from hdbkit.analysis.run.latency_tail import shares_ms, shares_text
from hdbkit.charts.chart import Chart
from hdbkit.charts.detail_charts import Line, course_lines, halves
from hdbkit.charts.forest import forest
from hdbkit.charts.marks import MAX_LINES, left_out
from hdbkit.charts.operation_charts import profile, ratio_chart
from hdbkit.charts.run_charts import MARGIN_PX, quantile_lines
from hdbkit.charts.scaling_charts import throughput_over_users
from hdbkit.charts.side_charts import TIME_AXIS, side_charts
from hdbkit.charts.size_chart import metric_over_size
from hdbkit.charts.style import axis_title, figure, shade_rampup
from hdbkit.config.metric import Metric
from hdbkit.later import pandas as pd
from hdbkit.results.finding import Finding, Of


def compare_charts(groups: Groups, finding: Finding | None = None) -> list[Chart]:
    """Every chart of groups of runs that their data allow; ``finding``: of the second of two against the first.

    Raises:
        InputError: their metrics differ.
    """
    metric, runs = common_metric(groups), metric_values(groups)
    charts = [throughput_over_users(runs, metric, "group")] if len(runs) else []
    first = next(manifest for finished in groups.values() for _, manifest in finished)
    if finding is not None and finding.best is not None:
        smallest = finding.smallest_effect or 0.0
        figures = [ratio for ratio in (finding.best, *finding.of(Of.QUANTILE)) if ratio.is_known]
        level = finding.confidence
        charts += [forest(figures, smallest, list(groups), level)] if len(figures) > 1 else []
        if metric.by_operation and (each := finding.of(Of.OPERATION)):
            of_new = [ratio.model_copy(update={"label": finding.best.label}) for ratio in each]
            about = (next(iter(groups)), first.noun, first.metric, smallest, level)
            charts.append(ratio_chart(of_new, [finding.best], *about))
    sized, scale = values_by_size(groups)
    if len(sized):
        charts.append(metric_over_size(sized, metric, scale))
    times = operation_times(groups)
    if len(times):
        charts.append(profile(times, first.noun, "run"))
    if first.one_by_one:
        return charts
    course, seen = overlaid(groups), distributions(groups, first.headline)
    over_time = [throughput_overlaid(course, metric.rate)] if len(course) else []
    over_time += side_charts(groups, first.headline) if finding is not None else []
    span = [float(course["second"].min()), float(course["second"].max())] if len(course) else None
    for one in over_time:
        one.figure.update_xaxes(range=span).update_layout(margin_l=MARGIN_PX)
    return [*charts, *over_time, *([latency_distributions(seen, first.headline)] if seen else [])]


def throughput_overlaid(courses: pd.DataFrame, rate: Metric) -> Chart:
    """The rate over time of several groups on top of each other, aligned at the start of their windows.

    ``courses`` as ``groups.overlaid`` gives them: group, run_id, second, rate, inside.
    """
    names = list(dict.fromkeys(courses["group"]))
    position = {name: index for index, name in enumerate(names)}
    placed = courses.assign(configuration=courses["group"].map(position))
    fig = figure(TIME_AXIS, axis_title(rate), hovermode="x")
    shade_rampup(fig, 0, float(courses["second"].min()))
    for index, name in enumerate(names[:MAX_LINES]):
        fig.add_traces(course_lines(Line(index, index, str(name)), placed, rate))
    fig.update_yaxes(rangemode="tozero")
    table = halves(placed, pd.Series(names), rate).rename(columns={"configuration": "group"})
    medians = "; ".join(f"{row['group']} {rate.number(row[f'median {rate.name}'])}" for _, row in table.iterrows())
    words = [
        f"Median {rate.name} of the seconds in the window: {medians}.",
        "Lines are medians over a group's runs, bands span them; counted by the clients.",
        left_out(min(len(names), MAX_LINES), len(names)),
    ]
    question = "How did the throughput develop over time?"
    return Chart("throughput", question, fig, " ".join(filter(None, words)), table)


def latency_distributions(seen: dict[str, pd.Series[int]], operation: str) -> Chart:
    """The latency of one operation at each share, a line per group; ``seen`` as ``groups.distributions`` gives it."""
    fig = quantile_lines(dict(list(seen.items())[:MAX_LINES]))
    lines: list[dict[str, Any]] = [
        {"group": name, "n": int(one.sum()), **shares_ms(one)} for name, one in seen.items()
    ]
    figures = "; ".join(f"{line['group']} {shares_text(line)}" for line in lines)
    words = [
        f"{operation}: {figures}.",
        "The runs of a group are pooled.",
        left_out(min(len(seen), MAX_LINES), len(seen)),
    ]
    question = f"How long did {operation} take?"
    return Chart("latency", question, fig, " ".join(filter(None, words)), pd.DataFrame(lines))
