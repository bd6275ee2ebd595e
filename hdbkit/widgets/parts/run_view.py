"""What is shown of a run: its state in words, live charts, and the result with its checks."""

from __future__ import annotations

import html
from dataclasses import dataclass
from typing import ClassVar

import ipywidgets

from hdbkit import api
from hdbkit.api import Tick
from hdbkit.config import Load
from hdbkit.errors import HdbkitError
from hdbkit.results.manifest import Manifest, Status
from hdbkit.text import all_per_s, duration_text, plural
from hdbkit.widgets.parts.base import Panel, State
from hdbkit.widgets.parts.live import LiveChart

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
