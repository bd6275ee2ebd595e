"""The state line of a run."""

from __future__ import annotations

from hdbkit.api import Tick
from hdbkit.config import Load
from hdbkit.results.manifest import Manifest
from hdbkit.text import all_per_s, duration_text, plural

SILENT_S, SILENT_THINKING_S = 5.0, 60.0
"""Seconds without a successful operation before the state line reports it, without and with thinking times."""

_LOADED = ("rampup", "measuring")
"""The states in which operations are expected."""


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


def progress_html(tick: Tick, load: Load, stopping: bool = False) -> str:
    """A bar with the time left of the load; without an end where that is not known, as while files are written."""
    total_s = load.starting_s + load.rampup_s + load.duration_s
    known = tick.status.value in _LOADED and not (tick.in_lists or stopping or load.rampup_max_s)
    if not known:
        return '<progress max="1" aria-label="the run is in progress"></progress>'
    left_s = max(0.0, total_s - tick.elapsed_s)
    share = 1 - left_s / total_s if total_s else 1.0
    words = f"about {duration_text(left_s)} left, then files and checks" if left_s else "files and checks follow"
    return f'<progress max="1" value="{share:.3f}" aria-label="share of the run"></progress> <span>{words}</span>'


def silence(tick: Tick, manifest: Manifest) -> str:
    """A note that no operation succeeds, with the database's error; empty while some do, and outside the load."""
    if tick.status.value not in _LOADED or tick.silent_s < (SILENT_THINKING_S if manifest.paced else SILENT_S):
        return ""
    error = tick.error.strip().partition("\n")[0]
    return f"; no {manifest.noun} has succeeded for {tick.silent_s:,.0f} s{f' ({error})' if error else ''}"
