"""What is shown of a run: its state in words, live charts, and the result with its checks."""

from __future__ import annotations

import html
import math
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import anywidget
import ipywidgets

from hdbkit import api
from hdbkit.api import Tick
from hdbkit.charts.style import palette_css
from hdbkit.config import Load
from hdbkit.errors import HdbkitError
from hdbkit.execution.live import InLists
from hdbkit.execution.live_schedule import ScheduleTick
from hdbkit.execution.waits import numbers_sessions
from hdbkit.in_notebook import alone
from hdbkit.results.manifest import Manifest, Status
from hdbkit.text import all_per_s, duration_text, plural
from hdbkit.widgets.parts.base import STATIC, Panel, State

PERIOD_S = 0.5
STALLED_S = 1.0
"""A silence of this length is drawn as zero; in a shorter one every user may have been waiting."""
SILENT_S, SILENT_THINKING_S = 5.0, 60.0
"""Seconds without a successful operation before the state line reports it, without and with thinking times."""

_LOADED = ("rampup", "measuring")
"""The states in which operations are expected."""


@dataclass(frozen=True)
class Seen:
    """Work at one moment; ``share`` of the whole is None where it is unknown."""

    words: str
    share: float | None = None
    left: str = ""
    state: State = State.BUSY

    @property
    def ended(self) -> bool:
        """Whether the work has ended."""
        return self.state is not State.BUSY

    @property
    def bar(self) -> str:
        """A bar and the time left, as HTML."""
        value = "" if self.share is None else f' value="{self.share:.3f}"'
        return f'<progress max="1"{value} aria-label="progress"></progress> <span>{html.escape(self.left)}</span>'


class RunView:
    """The widgets that show one run."""

    period_s: ClassVar[float] = PERIOD_S

    def __init__(self, panel: Panel) -> None:
        self._panel, self.live = panel, LiveChart()
        self.outcome = ipywidgets.HTML().add_class("hdbkit-outcome")
        self.live.layout.display = "none"
        self.parts: list[ipywidgets.Widget] = [self.outcome, self.live]
        self._view: api.LiveView | None = None
        self._stopping = False

    def begin(self, running: api.Running) -> str:
        """Show this run from now on."""
        manifest, self._view, self._stopping = running.manifest, running.live(), False
        load = manifest.plan.load
        self.outcome.value = ""
        self._panel.shared.run_id = running.run_id
        self.live.begin(manifest, 0 if manifest.lists else load.starting_s + load.rampup_s)
        self.live.layout.display = ""
        return running.run_id

    def look(self, running: api.Running) -> Seen:
        """Read the run once and show it."""
        assert self._view is not None
        manifest = running.manifest
        if (status := manifest.status).ended:
            done = State.DONE if status is Status.DONE else State.STOPPED
            return Seen(f"{status.value}: run {running.run_id}", 1.0, state=done)
        tick, load = self._view.tick(), manifest.plan.load
        seen = tick.operations_per_s or tick.failed or tick.silent_s > STALLED_S
        if seen and not self._stopping and whole(tick, load, PERIOD_S):
            self.live.add(tick)
        return Seen(doing(tick, manifest, self._stopping), *share_left(tick, load, self._stopping))

    def end(self, running: api.Running) -> api.Result:
        """Show the result. Raises ``RunFailed``."""
        self.close()
        result = running.wait()
        card = result._repr_html_()
        self._panel.keep(card, _picture(result))
        self.outcome.value = card
        return result

    def stop(self, running: api.Running, again: bool) -> str:
        """Close the window now and keep the result."""
        running.stop(at_once=again)
        self._stopping = True
        return "stopping: the window is closed and the clients finish; press again to stop them at once"

    def close(self) -> None:
        """Let go of the run's files."""
        if self._view is not None:
            self._view.close()


def whole(tick: Tick, load: Load, period_s: float) -> bool:
    """Whether the load ran during the whole interval; one cut short by an edge would show a false dip."""
    if tick.in_lists:
        return tick.status.value in _LOADED
    max_s = load.max_duration_s
    in_load = tick.status.value in _LOADED and tick.elapsed_s <= max_s
    return in_load and tick.seconds >= period_s / 2


def doing(tick: Tick, manifest: Manifest, stopping: bool = False) -> str:
    """The state line of a run in progress."""
    load = manifest.plan.load
    rampup_s, duration_s, users = load.rampup_s, load.duration_s, load.virtual_users
    elapsed_s = tick.elapsed_s - load.starting_s
    rampup = f"ramp-up: {min(elapsed_s, rampup_s):,.0f} of {rampup_s:,g} s"
    measuring = f"measuring: {min(max(0.0, elapsed_s - rampup_s), duration_s):,.0f} of {duration_s:,g} s"
    if (max_s := load.rampup_max_s) > rampup_s:
        rampup = f"ramp-up: {elapsed_s:,.0f} s, of {rampup_s:,g} to {max_s:,g} s"
        measuring = f"measuring for {duration_s:,g} s"
    if elapsed_s < 0:
        rampup = f"virtual users start {load.start_delay_ms:,} ms apart"
    sentence = {
        "starting": f"connecting: {tick.connected} of {users} virtual users are ready",
        "rampup": rampup,
        "measuring": measuring,
        "finishing": f"finishing: {tick.doing or f'the last {plural(manifest.noun)}, the files and the checks'}",
    }.get(tick.status.value, tick.status.value)
    rate = ""
    if tick.in_lists and tick.status.value in _LOADED:
        sentence = tick.in_lists.text(manifest.noun)
    elif tick.status.value in _LOADED:
        of_all = all_per_s(tick.operations_per_s, manifest.noun)
        rate = f"; {tick.metric.text(tick.metric_value)}, {of_all}{silence(tick, manifest)}"
    return f"{'stopping; ' if stopping else ''}{sentence}{rate}"


def share_left(tick: Tick, load: Load, stopping: bool = False) -> tuple[float | None, str]:
    """How much of the load is over and the time left; None where the end is unknown, as while files are written."""
    total_s = load.starting_s + load.rampup_s + load.duration_s
    if tick.status.value not in _LOADED or tick.in_lists or stopping or load.rampup_max_s:
        return None, ""
    left_s = max(0.0, total_s - tick.elapsed_s)
    words = f"about {duration_text(left_s)} left" if left_s else "files and checks follow"
    return 1 - left_s / total_s if total_s else 1.0, words


def silence(tick: Tick, manifest: Manifest) -> str:
    """A note that no operation succeeds, with the database's error; empty while some do, and outside the load."""
    if tick.status.value not in _LOADED or tick.silent_s < (SILENT_THINKING_S if manifest.paced else SILENT_S):
        return ""
    error = tick.error.strip().partition("\n")[0]
    return f"; no {manifest.noun} has succeeded for {tick.silent_s:,.0f} s{f' ({error})' if error else ''}"


def _picture(result: api.Result) -> bytes | None:
    """The times of the operations one by one, or the throughput over time, as PNG; None without a window to draw."""
    try:
        charts = result.charts()
        return charts.get("profile", charts["throughput"]).image("png", title=True, dpi=120)
    except HdbkitError:
        return None


MAX_POINTS = 600

Point = dict[str, Any]


class LiveChart(anywidget.AnyWidget):
    """Small charts (rate, latency, errors, CPU, schedule), and the table of the newest quantiles or times.

    Points go to the browser one at a time. They are kept here too, at most 600, because a page that is opened later
    asks for all of them; they are no trait, so they are neither sent again with every change nor saved with the
    notebook. Of users that execute lists: how many operations are finished, and the newest time of each.
    """

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
