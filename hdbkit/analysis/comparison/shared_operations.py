"""The operations that all runs of a comparison completed, by which alone means over operations are compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

from hdbkit.analysis.comparison.groups import Finished, common_metric
from hdbkit.analysis.run.records import mean_times_s
from hdbkit.config.metric import Metric
from hdbkit.errors import InputError
from hdbkit.later import numpy as np
from hdbkit.results.manifest import Manifest
from hdbkit.text import plural

_Side = TypeVar("_Side", bound=str)
_SHOWN = 3
"""So many runs are named that lack an operation."""


def comparable_runs(sides: Mapping[_Side, Sequence[Finished]]) -> tuple[dict[_Side, list[Manifest]], Metric, str]:
    """The runs with the metric over the operations that all of them completed, this metric, and what is left out.

    Raises:
        InputError: their metrics differ in more, a run has no value, or no operation was completed by all runs.
    """
    shared, left_out = of_shared_operations({side: [run for _, run in runs] for side, runs in sides.items()})
    folders = {side: [folder for folder, _ in runs] for side, runs in sides.items()}
    metric = common_metric({side: list(zip(folders[side], shared[side], strict=True)) for side in sides})
    for run in (run for runs in shared.values() for run in runs):
        if not run.compared_value:
            reason = (run.result and run.result.metric_unknown) or run.status.value
            raise InputError(
                f"run {run.run_id} has no value of {run.metric.name} ({reason}), so it cannot be compared"
            )
    return shared, metric, left_out


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
