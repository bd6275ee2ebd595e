"""The usual phases of a run: an unmeasured ramp-up and the measured window."""

from __future__ import annotations

from hdbkit.config import Load
from hdbkit.contracts import PlannedPhase


def rampup_and_window(load: Load) -> tuple[PlannedPhase, ...]:
    """A ramp-up, extended while the server settles if the load requests that, and one window."""
    rampup = PlannedPhase("rampup", load.rampup_s, measured=False, max_s=load.rampup_max_s)
    return rampup, PlannedPhase("window", load.duration_s, measured=True)
