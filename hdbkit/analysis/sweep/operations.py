"""Verdicts on each operation of a metric that is a mean over operations, from the runs of a sweep.

The mean time of an operation in a run is one number, as its metric is. The verdicts of all operations hold
together.
"""

from __future__ import annotations

from collections.abc import Sequence

from hdbkit.analysis.run.records import mean_times_s
from hdbkit.analysis.sweep.observations import sliced
from hdbkit.analysis.sweep.together import RunFigure, judged_together
from hdbkit.analysis.wording import CONFIDENCE
from hdbkit.config.metric import Metric
from hdbkit.later import pandas as pd
from hdbkit.results.finding import Of, Ratio
from hdbkit.results.manifest import Manifest


def operation_verdicts(
    runs: pd.DataFrame,
    manifests: Sequence[Manifest],
    metric: Metric,
    smallest_effect: float = 0.02,
    level: float = CONFIDENCE,
) -> list[Ratio]:
    """The verdict on each operation of the metric, in s; none if the metric is no mean over operations, or
    configurations alternate within runs.

    Args:
        runs: one row per run, as ``results.experiment_runs.runs_frame`` gives it.
        manifests: those of the finished runs.
        metric: the metric of the runs.
        smallest_effect, level: as for ``verdicts.judge``.
    """
    if not metric.by_operation or sliced(runs):
        return []
    times = mean_times_s(manifests)
    figures = [
        RunFigure(Of.OPERATION, name, metric.of_operation(name), times[name].reindex(runs["run_id"]).tolist())
        for name in map(str, times)
    ]
    return judged_together(runs, figures, smallest_effect, level)
