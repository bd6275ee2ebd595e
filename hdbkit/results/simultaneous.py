"""Runs of a results folder that used the same schema at the same time: each measured the other's load, too."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from hdbkit.caution import Caution, Kind
from hdbkit.errors import DamagedResult
from hdbkit.results.folder import RunFolder, manifest_times
from hdbkit.results.manifest import Manifest


def warn_of_others(folder: RunFolder, manifest: Manifest) -> list[Caution]:
    """A warning that names the runs which used the schema while this one did; none without such a run."""
    others = sorted(_others(folder, manifest))
    if not others:
        return []
    text = f"{' and '.join(others)} used the same schema at the same time: each run includes the load of the other"
    return [Caution(text, Kind.SIMULTANEOUS)]


def _others(folder: RunFolder, manifest: Manifest) -> Iterator[str]:
    times = _times(manifest)
    if times is None or not manifest.operations:  # one that only watches is beside another load by design
        return
    begin, end = times
    for run_id, changed_ns in manifest_times(folder.path.parent):
        there = RunFolder(folder.path.parent / run_id)
        ended_before = changed_ns < begin.timestamp() * 1e9 and not there.spools.exists()
        if run_id == manifest.run_id or ended_before:
            continue
        try:
            other = there.read()
        except DamagedResult:
            continue
        between = _times(other)
        if (
            between
            and other.operations
            and between[0] < end
            and begin < between[1]
            and _place(other) == _place(manifest)
        ):
            yield run_id


def _times(manifest: Manifest) -> tuple[datetime, datetime] | None:
    """When the clients of a run began and when its window ended: now, if it has not; None before they begin."""
    clock = manifest.clock
    if clock is None:
        return None
    begin = clock.start_wall
    if clock.window_end_us is not None:
        return begin, begin + timedelta(microseconds=clock.window_end_us)
    return begin, datetime.now(begin.tzinfo) if not manifest.status.ended else begin


def _place(manifest: Manifest) -> tuple[object, ...]:
    """What two runs on the same schema share."""
    target = manifest.plan.target
    return target.kind, target.host, target.port, target.database, manifest.plan.workload.identity.named
