"""Every chart of a sweep: of its settings, of its configurations, and of the details of its runs."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from hdbkit.analysis.run.courses import courses, latencies
from hdbkit.analysis.statistics.block_model import usable
from hdbkit.analysis.sweep.observations import sliced
from hdbkit.analysis.sweep.slices import changes
from hdbkit.charts.chart import Chart
from hdbkit.charts.detail_charts import detail_charts
from hdbkit.charts.interaction_chart import interaction_chart
from hdbkit.charts.parallel_chart import parallel_coordinates
from hdbkit.charts.scaling_charts import scaling_laws
from hdbkit.charts.slice_charts import changes_over_time
from hdbkit.charts.sweep_charts import best_labels, sweep_charts
from hdbkit.config.metric import Metric
from hdbkit.results.folder import RunFolder
from hdbkit.results.manifest import Manifest


def whole_sweep(
    runs: pd.DataFrame,
    verdicts: pd.DataFrame,
    effects: pd.DataFrame,
    settings: Sequence[str],
    smallest_effect: float,
    metric: Metric,
    finished: Sequence[tuple[RunFolder, Manifest]],
    interactions: pd.DataFrame | None = None,
) -> list[Chart]:
    """The charts that the data allow; frames as in :mod:`hdbkit.charts.sweep_charts`, and the runs with a result.

    ``interactions`` as :mod:`hdbkit.analysis.sweep.interactions` gives them.
    """
    measured = usable(runs)
    charts = sweep_charts(runs, verdicts, effects, settings, smallest_effect, metric)
    if interactions is not None and len(interactions):
        charts.append(interaction_chart(interactions, smallest_effect, metric))
    labels = dict(zip(verdicts["configuration"], verdicts["label"], strict=True))
    named = measured.assign(label=measured["configuration"].map(labels))
    laws = scaling_laws(named, metric, drawn=best_labels(verdicts, metric))
    charts += [laws] if laws else []
    varied = [name for name in [*settings, "virtual_users"] if measured[name].nunique() > 1]
    if len(varied) > 1:
        charts.append(parallel_coordinates(measured, varied, metric))
    if finished:
        manifests = [manifest for _, manifest in finished]
        course = courses([] if sliced(runs) else finished)
        along = changes(finished, metric) if sliced(runs) else pd.DataFrame()
        charts += [changes_over_time(along, verdicts, metric)] if len(along) else []
        charts += detail_charts(measured, verdicts, course, latencies(manifests), manifests[0])
    return charts
