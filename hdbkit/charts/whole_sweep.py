"""Every chart of a sweep: of its settings, of its configurations, and of the details of its runs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from hdbkit.analysis.comparison.explanation import Run, explain
from hdbkit.analysis.run.records import mean_times_s
from hdbkit.analysis.run.timeline import courses, latencies
from hdbkit.analysis.statistics.block_model import usable
from hdbkit.analysis.sweep.observations import changes, sliced
from hdbkit.charts.chart import Chart
from hdbkit.charts.detail_charts import changes_over_time, detail_charts
from hdbkit.charts.operation_charts import profile, ratios
from hdbkit.charts.scaling_charts import scaling_laws
from hdbkit.charts.sweep_charts import best_labels, interaction_chart, setting_charts, sweep_charts
from hdbkit.charts.wait_charts import explained
from hdbkit.experiment.sweep_analysis import SweepAnalysis
from hdbkit.results.manifest import Manifest


def whole_sweep(found: SweepAnalysis) -> list[Chart]:
    """The charts that the data of a sweep allow."""
    runs, verdicts, effects, metric, finished = (
        found.grid_runs, found.verdicts, found.effects, found.metric, found.finished
    )  # fmt: skip
    settings, smallest_effect = list(found.plan.spec.grid), found.plan.spec.smallest_effect
    measured = usable(runs)
    charts = sweep_charts(runs, verdicts, effects, settings, smallest_effect, metric)
    charts += _why(measured, verdicts, finished)
    if len(found.interactions):
        charts.append(interaction_chart(found.interactions, smallest_effect, metric))
    named = measured.assign(label=measured["configuration"].map(found.labels))
    laws = scaling_laws(named, metric, drawn=best_labels(verdicts, metric))
    charts += [laws] if laws else []
    if len(measured) and not sliced(runs):  # the runs of slices have all configurations in them
        charts += setting_charts(measured, verdicts, settings, metric, finished)
    if finished:
        manifests = found.manifests
        course = courses([] if sliced(runs) else finished)
        along = changes(finished, metric) if sliced(runs) else pd.DataFrame()
        charts += [changes_over_time(along, verdicts, metric)] if len(along) else []
        if len(found.by_operation):
            charts += _by_operation(measured, verdicts, found.by_operation, smallest_effect, manifests)
        if not manifests[0].one_by_one:
            charts += detail_charts(measured, verdicts, course, latencies(manifests), manifests[0])
    return charts


def _why(runs: pd.DataFrame, verdicts: pd.DataFrame, finished: Sequence[Run]) -> list[Chart]:
    """Why the configuration that differs most from the baseline does, at the largest count of users."""
    clear = verdicts[verdicts["verdict"].isin(["faster", "slower"])]
    at = clear[clear["virtual_users"] == clear["virtual_users"].max()]
    if at.empty or sliced(runs):
        return []
    most = at.loc[np.log(at["ratio"].astype(float)).abs().idxmax()]
    baseline = verdicts.loc[verdicts["verdict"] == "baseline", "configuration"].iloc[0]
    ids = {one: set(runs.loc[runs["configuration"] == one, "run_id"]) for one in (baseline, most["configuration"])}
    sides = [[run for run in finished if run[1].run_id in ids[one]] for one in ids]
    why = explain(*sides)
    return [explained(why, "baseline", str(most["label"]))] if why else []


def _by_operation(
    runs: pd.DataFrame, verdicts: pd.DataFrame, found: pd.DataFrame, smallest: float, manifests: Sequence[Manifest]
) -> list[Chart]:
    """The ratio and the time of each operation at the largest count of users; the best configurations first."""
    users, metric, noun = int(runs["virtual_users"].max()), manifests[0].metric, manifests[0].noun
    at = verdicts[verdicts["virtual_users"] == users]
    order = [*dict.fromkeys([*best_labels(at, metric), *at["label"]])]
    others = at[at["verdict"] != "baseline"]
    judged = [_grouped(one, order) for one in (found[found["label"].isin(others["label"])], others)]
    of_users = judged[0][judged[0]["virtual_users"] == users]
    labels = at.set_index("configuration")["label"]
    place = runs[runs["virtual_users"] == users][["run_id", "configuration"]]
    times = mean_times_s(manifests).melt(var_name="operation", value_name="seconds", ignore_index=False).dropna()
    times = times.rename_axis("run_id").reset_index().merge(place, on="run_id")
    charts = [ratios(of_users, judged[1], "the baseline", noun, metric, smallest)] if len(of_users) else []
    drawn = _grouped(times.assign(label=times["configuration"].map(labels)), order)
    return [*charts, profile(drawn, noun, "run")] if len(drawn) else charts


def _grouped(frame: pd.DataFrame, order: Sequence[str]) -> pd.DataFrame:
    """A frame of configurations as the groups of a chart, in this order."""
    ordered = frame.sort_values("label", key=lambda labels: labels.map(order.index), kind="stable")
    return ordered.rename(columns={"label": "group"})
