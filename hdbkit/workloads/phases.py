"""The phases of a run that most workloads have: a ramp-up that is not measured, and the measured window."""

from __future__ import annotations

from hdbkit.config import Load
from hdbkit.contracts import PlannedPhase


def rampup_and_window(load: Load) -> tuple[PlannedPhase, ...]:
    """Ramp-up, extended while the server settles where that was asked for, and one window."""
    rampup = PlannedPhase("rampup", load.rampup_s, measured=False, max_s=load.rampup_max_s)
    return rampup, PlannedPhase("window", load.duration_s, measured=True)
