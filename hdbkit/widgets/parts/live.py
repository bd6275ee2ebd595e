"""The live charts of a run: rate, latency by operation, errors, CPU. Points go to the browser one at a time.

With a schedule, or several sessions in a process, also offered and achieved rate, lateness, backlog, busy sessions.
Of users that execute lists of operations: how many are finished, errors, CPU, and the newest time of each operation.

The points are kept here too, at most 600, because a page that is opened later asks for all of them; they are no
trait, so they are neither sent again with every change nor saved with the notebook.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import anywidget

from hdbkit.api import Tick
from hdbkit.charts.style import palette_css
from hdbkit.execution.live import InLists
from hdbkit.execution.live_schedule import ScheduleTick
from hdbkit.execution.waits import numbers_sessions
from hdbkit.in_notebook.slot import alone
from hdbkit.results.manifest import Manifest
from hdbkit.text import plural
from hdbkit.widgets.parts.base import STATIC

MAX_POINTS = 600

Point = dict[str, Any]


class LiveChart(anywidget.AnyWidget):
    """Small charts, and the table of the newest quantiles or times."""

    _esm: ClassVar[Any] = STATIC / "live.js"
    _css: ClassVar[Any] = palette_css(".hdbkit-live") + (STATIC / "live.css").read_text(encoding="utf-8")

    def __init__(self) -> None:
        super().__init__()
        self._lock = threading.Lock()
        self._about: dict[str, Any] = {}
        self._points: list[Point] = []
        self._newest_s: dict[str, float] = {}
        self.on_msg(self._asked)

    def begin(self, manifest: Manifest, rampup_s: float) -> None:
        """Clear the points, and draw those of another run from now on."""
        rate = manifest.metric.rate
        with self._lock:
            self._about = {
                "operations": manifest.planned,
                "headline": manifest.headline,
                "noun": manifest.noun,
                "nouns": plural(manifest.noun),
                "metric": {"name": rate.name, "title": rate.title},
                "rampup_s": rampup_s,
                "lists": bool(manifest.lists),
                "time": "response" if manifest.paced else "service",
                "schedule": _known_of_schedule(manifest),
                "waits": numbers_sessions(manifest.plan) and not manifest.plan.load.cluster,
            }
            self._points, self._newest_s = [], {}
            self._send_all()

    def add(self, tick: Tick) -> None:
        """Add a point."""
        with self._lock:
            point = _point(tick, self._about["operations"])
            if tick.in_lists:
                self._newest_s |= {name: time_us / 1e6 for name, time_us in tick.p50_us.items()}
                point |= _place_in_lists(tick.in_lists, self._newest_s, self._about["operations"])
            self._points.append(point)
            if len(self._points) > MAX_POINTS:
                self._points = self._points[-1::-2][::-1]
            self.send({"kind": "point", "point": point})

    @property
    def points(self) -> list[Point]:
        """The points, oldest first: ``t`` in seconds, latencies in ms, errors per second, CPU in busy cores; of a
        ``schedule`` rates per second, lateness in ms (p50, p99, maximum), and numbers of operations and sessions.

        Of lists also the number of ``finished`` operations, and of each operation the newest time in s and whether it
        is running.
        """
        return list(self._points)

    def _asked(self, _: Any, content: Any, __: Any) -> None:
        if content == {"kind": "hello"}:
            alone(self._answer)

    def _answer(self) -> None:
        with self._lock:
            self._send_all()

    def _send_all(self) -> None:
        self.send({"kind": "all", "about": self._about, "points": self._points})


def _point(tick: Tick, operations: list[str]) -> Point:
    quantiles = (tick.p50_us, tick.p95_us, tick.p99_us)
    return {
        "t": round(tick.elapsed_s, 1),
        "rate": _rounded(tick.metric_value),
        "latency": [
            [_rounded(found[name] / 1000) for found in quantiles] if name in tick.p50_us else None
            for name in operations
        ],
        "failed": _rounded(tick.failed / tick.seconds),
        "retries": _rounded(tick.retries / tick.seconds),
        "client_cpu": _rounded(tick.client_cpu_cores),
        "server_cpu": _rounded(tick.server_cpu_cores),
        "waits": {name: _rounded(sessions) for name, sessions in (tick.waits or {}).items()},
    } | ({"schedule": _schedule(tick.schedule)} if tick.schedule else {})


def _schedule(found: ScheduleTick) -> dict[str, Any]:
    return {
        "offered": _rounded(found.offered_per_s),
        "achieved": _rounded(found.achieved_per_s),
        "late": [_rounded(value) for value in found.late_ms],
        "backlog": _rounded(found.backlog),
        "busy": _rounded(found.busy),
    }


def _known_of_schedule(manifest: Manifest) -> list[str]:
    """What of the schedule is drawn: offered and achieved ``rates``, ``late``, ``backlog``, ``busy`` sessions."""
    if manifest.lists:
        return []
    if manifest.is_open:
        return ["rates", "late", "backlog", "busy"]
    shared = any(len(one) > 1 for one in manifest.plan.load.clients)
    return (["late"] if manifest.paced else []) + (["busy"] if manifest.paced or shared else [])


def _place_in_lists(state: InLists, newest_s: Mapping[str, float], operations: Sequence[str]) -> Point:
    running = {name for name, _ in state.running}
    return {
        "finished": state.finished,
        "newest_s": [_rounded(newest_s.get(name, math.nan)) for name in operations],
        "running": [name in running for name in operations],
    }


def _rounded(value: float) -> float | None:
    """Four significant digits; None for an unknown value, for which JSON has no number."""
    return float(f"{value:.4g}") if math.isfinite(value) else None
