"""The usual phases of a run: the users' starts if they are apart, an unmeasured ramp-up and the measured window."""

from __future__ import annotations

from hdbkit.config import Load
from hdbkit.config.steps import steps_of
from hdbkit.contracts import PlannedPhase


def rampup_and_window(load: Load) -> tuple[PlannedPhase, ...]:
    """A ramp-up, extended while the server settles if the load requests that, and the window or its steps."""
    rampup = PlannedPhase("rampup", load.rampup_s, measured=False, max_s=load.rampup_max_s)
    steps = [PlannedPhase(one.text, one.duration_s, measured=True) for one in steps_of(dict(load))]
    phases = rampup, *(steps or [PlannedPhase("window", load.duration_s, measured=True)])
    apart_s = load.starting_s
    return (PlannedPhase("starts", apart_s, measured=False), *phases) if apart_s else phases
