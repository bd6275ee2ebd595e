"""The course of a job for any number of viewers: the run is read once per second, however many watch it."""

from __future__ import annotations

import asyncio
import json
import math
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from starlette.requests import Request
from starlette.responses import StreamingResponse

from hdbkit.api import Workspace
from hdbkit.errors import DamagedResult, HdbkitError
from hdbkit.execution.live import LiveView, Tick
from hdbkit.results.folder import RunFolder
from hdbkit.service.answers import Refused
from hdbkit.service.job_folder import Job, State
from hdbkit.service.jobs import JobStore
from hdbkit.web.guard import IS_VALID

EVERY_S = 1.0
MAX_VIEWERS = 200
_KEPT = 300
"""Past seconds that a new viewer is sent."""


@dataclass
class _Show:
    """A job that is watched: its newest event, its viewers, and the task that reads it."""

    changed: asyncio.Condition = field(default_factory=asyncio.Condition)
    event: str = ""
    past: deque[dict[str, Any]] = field(default_factory=lambda: deque(maxlen=_KEPT))
    """The newest facts, for who comes later."""
    number: int = 0
    ended: bool = False
    viewers: int = 0
    task: asyncio.Task[None] | None = None


class Live:
    """The watched jobs. A job that nobody watches costs nothing."""

    def __init__(self, jobs: JobStore, workspace: Workspace) -> None:
        self._jobs, self._workspace = jobs, workspace
        self._shows: dict[str, _Show] = {}

    @property
    def viewers(self) -> int:
        """The number of viewers of all jobs."""
        return sum(show.viewers for show in self._shows.values())

    async def events(self, job_id: str, is_valid: Callable[[], bool]) -> AsyncIterator[str]:
        """Server-sent events of a job: ``tick`` once per second, ``end`` when the job has ended, and ahead of them
        ``past``, a list of earlier ticks, if others have watched it; none once the viewer's token is not valid."""
        show = self._shows.setdefault(job_id, _Show())
        show.viewers += 1
        if show.task is None:
            show.task = asyncio.create_task(self._follow(job_id, show))
        try:
            seen, ended = 0, False
            if show.past:
                yield f"event: past\ndata: {json.dumps(list(show.past))}\n\n"
            while not ended:
                async with show.changed:
                    while show.number == seen:
                        await show.changed.wait()
                    seen, event, ended = show.number, show.event, show.ended
                if not is_valid():
                    return
                yield event
        finally:
            show.viewers -= 1
            if not show.viewers:
                show.task.cancel()
                self._shows.pop(job_id, None)

    async def _follow(self, job_id: str, show: _Show) -> None:
        """Read the job until it ends."""
        view: tuple[str, LiveView] | None = None
        try:
            while not show.ended:
                job = await asyncio.to_thread(self._jobs.find, job_id)
                if job.run_id and (view is None or view[0] != job.run_id):
                    if view:
                        view[1].close()
                    view = (job.run_id, LiveView(RunFolder(self._workspace.results / job.run_id)))
                facts = await asyncio.to_thread(_facts, job, view[1] if view else None)
                async with show.changed:
                    show.ended = job.state is not State.RUNNING
                    show.number += 1
                    show.past.append(facts)
                    show.event = f"event: {'end' if show.ended else 'tick'}\ndata: {json.dumps(facts)}\n\n"
                    show.changed.notify_all()
                if not show.ended:
                    await asyncio.sleep(EVERY_S)
        finally:
            if view:
                view[1].close()


def streamed(live: Live, jobs: JobStore, job_id: str, request: Request) -> StreamingResponse:
    """The events of a job as a response. Raises ``NoJob``, and ``Refused`` if there are too many viewers."""
    if live.viewers >= MAX_VIEWERS:
        raise Refused(429, f"{MAX_VIEWERS} viewers are connected, the maximum; wait 5 s", 5)
    jobs.find(job_id)
    events = live.events(job_id, request.scope["state"][IS_VALID])
    return StreamingResponse(events, media_type="text/event-stream", headers={"cache-control": "no-store"})


def _facts(job: Job, view: LiveView | None) -> dict[str, Any]:
    """The state of a job, and of its present run."""
    facts: dict[str, Any] = {"state": job.state.value, "doing": job.doing, "run_id": job.run_id}
    if view and job.state is State.RUNNING:
        with suppress(DamagedResult, HdbkitError, OSError):  # the run has no manifest yet, or was removed
            facts |= _figures(view.tick())
    return facts


def _figures(tick: Tick) -> dict[str, Any]:
    """The figures of the last second: rates per second, latency in milliseconds; null where there are none."""
    p95_us = tick.p95_us.get(tick.headline, math.nan)
    found = {"metric_value": tick.metric_value, "operations_per_s": tick.operations_per_s, "p95_ms": p95_us / 1000}
    figures: dict[str, Any] = {name: value if math.isfinite(value) else None for name, value in found.items()}
    return figures | {
        "run_state": tick.status.value,
        "elapsed_s": round(tick.elapsed_s, 1),
        "metric": tick.metric.text(tick.metric_value) if math.isfinite(tick.metric_value) else "",
        "failed": tick.failed,
        "users": tick.connected,
        "in_lists": tick.in_lists.text(tick.noun) if tick.in_lists else "",
        "run_doing": tick.doing,
        "unit": tick.metric.unit,
        "waits": tick.waits,
        "server_cpu_cores": tick.server_cpu_cores if math.isfinite(tick.server_cpu_cores) else None,
    }
