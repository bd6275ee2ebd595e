"""What a run does now, in a sentence."""

from __future__ import annotations

from typing import Any

from hdbkit.api import Tick

SILENT_S, SILENT_THINKING_S = 5.0, 60.0
"""From so long on it is told that no transaction succeeds; users that think are silent between two of them."""


def whole(tick: Tick, load: dict[str, Any], period_s: float) -> bool:
    """Whether a look saw the load all the time; one that its begin or its end cuts short would show a false dip."""
    longest_s = max(load["rampup_s"], load.get("rampup_most_s", 0)) + load["duration_s"]
    goes_on = tick.status.value in ("rampup", "measuring") and tick.elapsed_s <= longest_s
    return goes_on and tick.seconds >= period_s / 2


def doing(tick: Tick, load: dict[str, Any], stopping: bool = False) -> str:
    """The state line of a run that goes on; ``load`` is that of its plan."""
    rampup_s, duration_s, users = load["rampup_s"], load["duration_s"], load["virtual_users"]
    rampup = f"rampup: {min(tick.elapsed_s, rampup_s):,.0f} of {rampup_s:,g} s"
    measuring = f"measuring: {min(max(0.0, tick.elapsed_s - rampup_s), duration_s):,.0f} of {duration_s:,g} s"
    if (most_s := load.get("rampup_most_s", 0)) > rampup_s:
        rampup = f"rampup: {tick.elapsed_s:,.0f} s, of {rampup_s:,g} to {most_s:,g} s"
        measuring = f"measuring for {duration_s:,g} s"
    sentence = {
        "starting": f"connecting: {tick.connected} of {users} clients are ready",
        "rampup": rampup,
        "measuring": measuring,
        "finishing": "finishing: the last transactions, the files and the checks",
    }.get(tick.status.value, tick.status.value)
    rate = (
        f"; {tick.metric_value:,.0f} NOPM{silence(tick, load)}"
        if tick.status.value in ("rampup", "measuring")
        else ""
    )
    return f"{'stopping; ' if stopping else ''}{sentence}{rate}"


def silence(tick: Tick, load: dict[str, Any]) -> str:
    """That no transaction succeeds, and what the database says to it; empty while some do."""
    if tick.silent_s < (SILENT_THINKING_S if load["keying_and_thinking"] else SILENT_S):
        return ""
    said = tick.error.strip().partition("\n")[0]
    return f"; no transaction has succeeded for {tick.silent_s:,.0f} s{f' ({said})' if said else ''}"
