"""The charts of a sweep: effects of settings, configurations, interactions, and the details of its runs.

Ratios are those of scores (more than 1 is better) with simultaneous intervals. Runs without a result are left out.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from hdbkit.analysis.comparison.beside_parts import Run
from hdbkit.analysis.comparison.explaining import Level, explain
from hdbkit.analysis.run.courses import courses, latencies
from hdbkit.analysis.run.records import mean_times_s
from hdbkit.analysis.statistics.block_model import usable
from hdbkit.analysis.sweep.observations import sliced
from hdbkit.analysis.sweep.slices import changes
from hdbkit.charts.chart import Chart
from hdbkit.charts.configuration_charts import best_labels, configurations, grid
from hdbkit.charts.detail_charts import detail_charts
from hdbkit.charts.effect_chart import effects_of_settings
from hdbkit.charts.interaction_chart import interaction_chart
from hdbkit.charts.operation_charts import profile, ratio_chart
from hdbkit.charts.scaling_charts import scaling_laws
from hdbkit.charts.setting_charts import setting_charts
from hdbkit.charts.slice_charts import changes_over_time
from hdbkit.charts.wait_charts import explained
from hdbkit.experiment.sweep_analysis import SweepAnalysis
from hdbkit.later import pandas as pd
from hdbkit.results.finding import Ratio, Verdict
from hdbkit.results.manifest import Manifest


def whole_sweep(found: SweepAnalysis) -> list[Chart]:
    """Every chart that the data of a sweep allow: of settings, configurations, and the details of its runs."""
    runs, ratios, metric, finished = found.grid_runs, found.cell_ratios, found.metric, found.finished
    settings, smallest_effect = list(found.plan.spec.grid), found.plan.spec.smallest_effect
    measured = usable(runs)
    charts = first_charts(found)
    charts += _why(measured, ratios, finished, found.level)
    if found.interaction_ratios:
        charts.append(interaction_chart(found.interaction_ratios, smallest_effect, metric))
    named = measured.assign(label=measured["configuration"].map(found.labels))
    laws = scaling_laws(named, metric, drawn=best_labels(ratios, metric))
    charts += [laws] if laws else []
    if len(measured) and not sliced(runs):  # the runs of slices have all configurations in them
        charts += setting_charts(measured, found.labels, settings, metric, finished)
    if finished:
        manifests = found.manifests
        course = courses([] if sliced(runs) else finished)
        along = changes(finished, metric) if sliced(runs) else pd.DataFrame()
        charts += [changes_over_time(along, ratios, metric)] if len(along) else []
        if found.operation_ratios:
            charts += _by_operation(measured, ratios, found.operation_ratios, smallest_effect, manifests)
        if not manifests[0].one_by_one:
            charts += detail_charts(measured, ratios, course, latencies(manifests), manifests[0])
    return charts


def _why(runs: pd.DataFrame, ratios: Sequence[Ratio], finished: Sequence[Run], confidence: float) -> list[Chart]:
    """Why the configuration that differs most from the baseline does, at the largest count of users."""
    clear = [ratio for ratio in ratios if ratio.verdict.differs]
    most_users = max((ratio.virtual_users or 0 for ratio in clear), default=0)
    at = [ratio for ratio in clear if ratio.virtual_users == most_users]
    if not at or sliced(runs):
        return []
    most = max(at, key=lambda ratio: abs(math.log(ratio.ratio or 1.0)))
    baseline = next(ratio.configuration for ratio in ratios if ratio.verdict is Verdict.BASELINE)
    base, new = (
        [run for run in finished if run[1].run_id in set(runs.loc[runs["configuration"] == side, "run_id"])]
        for side in (baseline, most.configuration)
    )
    others = len({ratio.configuration for ratio in ratios}) - 1
    why = explain(base, new, Level.of(most, confidence, max(others, 1)))
    return [explained(why, "baseline", most.label)] if why else []


def _by_operation(
    runs: pd.DataFrame,
    cells: Sequence[Ratio],
    of_operations: Sequence[Ratio],
    smallest: float,
    manifests: Sequence[Manifest],
) -> list[Chart]:
    """The ratio and the time of each operation at the largest count of users; the best configurations first."""
    users, metric, noun = int(runs["virtual_users"].max()), manifests[0].metric, manifests[0].noun
    at = [ratio for ratio in cells if ratio.virtual_users == users]
    order = list(dict.fromkeys([*best_labels(at, metric), *(ratio.label for ratio in at)]))
    others = _in_order([ratio for ratio in at if ratio.verdict is not Verdict.BASELINE], order)
    compared = {ratio.label for ratio in others}
    each = [ratio for ratio in of_operations if ratio.virtual_users == users and ratio.label in compared]
    charts = [ratio_chart(_in_order(each, order), others, "the baseline", noun, metric, smallest)] if each else []
    labels = {ratio.configuration: ratio.label for ratio in at}
    place = runs[runs["virtual_users"] == users][["run_id", "configuration"]]
    times = mean_times_s(manifests).melt(var_name="operation", value_name="seconds", ignore_index=False).dropna()
    times = times.rename_axis("run_id").reset_index().merge(place, on="run_id")
    drawn = times.assign(group=times["configuration"].map(labels))
    drawn = drawn.sort_values("group", key=lambda groups: groups.map(order.index), kind="stable")
    return [*charts, profile(drawn, noun, "run")] if len(drawn) else charts


def _in_order(ratios: Sequence[Ratio], labels: Sequence[str]) -> list[Ratio]:
    return sorted(ratios, key=lambda ratio: labels.index(ratio.label))


def first_charts(found: SweepAnalysis) -> list[Chart]:
    """The charts of effects, configurations and the grid, which read no single operations."""
    measured, metric = usable(found.grid_runs), found.metric
    if measured.empty:
        return []
    settings = list(found.plan.spec.grid)
    charts = []
    if found.effect_ratios:
        smallest = found.plan.spec.smallest_effect
        charts.append(effects_of_settings(measured, found.effect_ratios, settings, smallest, metric))
    charts.append(configurations(measured, found.cell_ratios, metric))
    varied = [name for name in settings if measured[name].nunique() > 1]
    if len(varied) >= 2:
        charts.append(grid(measured, varied[0], varied[1], metric))
    return charts
