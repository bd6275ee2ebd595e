"""Charts of several groups of runs side by side; a group is a name and its runs.

Frames are those of :mod:`hdbkit.analysis.comparison.groups`, or own ones with the same columns. At most ``MAX_LINES``
groups are drawn, those that come first; the tables hold all.
"""

from __future__ import annotations

from typing import Any

import pandas as pd

from hdbkit.analysis.comparison.changes import changes
from hdbkit.analysis.comparison.groups import (
    Groups,
    common_metric,
    distributions,
    metric_values,
    operation_times,
    overlaid,
    values_by_size,
)
from hdbkit.analysis.comparison.sides import Compared
from hdbkit.analysis.statistics.distribution import shares_ms
from hdbkit.charts.chart import Chart
from hdbkit.charts.detail_charts import Line, course_lines, halves
from hdbkit.charts.forest_chart import forest
from hdbkit.charts.marks import MAX_LINES, left_out
from hdbkit.charts.operation_charts import profile, ratios
from hdbkit.charts.run_charts import quantile_lines
from hdbkit.charts.scale_chart import metric_over_scale
from hdbkit.charts.scaling_charts import throughput_over_users
from hdbkit.charts.style import axis_title, figure, shade_rampup
from hdbkit.config.metric import Metric
from hdbkit.results.manifest import Manifest
from hdbkit.text import number


def compare_charts(
    groups: Groups,
    compared: Compared | None = None,
    by_operation: pd.DataFrame | None = None,
    figures: pd.DataFrame | None = None,
) -> list[Chart]:
    """Every chart of groups of runs that their data allow.

    ``compared`` and ``by_operation`` are the ratios of the second group to the first one, and ``figures`` the changes
    of its latencies, where they were compared.

    Raises:
        InputError: their metrics differ.
    """
    metric, runs = common_metric(groups), metric_values(groups)
    charts = [throughput_over_users(runs, metric, "group")] if len(runs) else []
    first = next(manifest for finished in groups.values() for _, manifest in finished)
    if compared is not None and figures is not None:
        found = changes(figures, compared.ratio, metric)
        charts += [forest(found, compared.smallest_effect)] if len(found) > 1 else []
    if compared is not None and by_operation is not None and len(by_operation):
        charts.append(_ratios(list(groups), first, compared, by_operation))
    sized, scale = values_by_size(groups)
    if len(sized):
        charts.append(metric_over_scale(sized, metric, scale))
    times = operation_times(groups)
    if len(times):
        charts.append(profile(times, first.noun, "run"))
    return charts if first.one_by_one else [*charts, *_over_time(groups, metric, first.headline)]


def _over_time(groups: Groups, metric: Metric, headline: str) -> list[Chart]:
    """The throughput over time, and the latency of the headline's operation."""
    course, seen = overlaid(groups), distributions(groups, headline)
    charts = [throughput_overlaid(course, metric.rate)] if len(course) else []
    return [*charts, latency_distributions(seen, headline)] if seen else charts


def _ratios(names: list[str], first: Manifest, compared: Compared, by_operation: pd.DataFrame) -> Chart:
    overall = pd.DataFrame([{"group": names[1], **vars(compared.ratio)}])
    found = by_operation.assign(group=names[1])
    return ratios(found, overall, names[0], first.noun, first.metric, compared.smallest_effect)


def throughput_overlaid(courses: pd.DataFrame, rate: Metric) -> Chart:
    """The rate over time of several groups on top of each other, aligned at the start of their windows.

    ``courses`` as ``groups.overlaid`` gives them: group, run_id, second, rate, inside.
    """
    names = list(dict.fromkeys(courses["group"]))
    place = {name: index for index, name in enumerate(names)}
    placed = courses.assign(configuration=courses["group"].map(place))
    fig = figure("seconds since the window's start", axis_title(rate), hovermode="x")
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
    figures = "; ".join(
        f"{one['group']} p50 {number(one['p50 (ms)'], 3)}, p99 {number(one['p99 (ms)'], 3)} ms" for one in lines
    )
    words = [
        f"{operation}: {figures}.",
        "The runs of a group are pooled.",
        left_out(min(len(seen), MAX_LINES), len(seen)),
    ]
    question = f"How long did {operation} take?"
    return Chart("latency", question, fig, " ".join(filter(None, words)), pd.DataFrame(lines))
