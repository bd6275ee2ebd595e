"""What the journal says of a run that has its end."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from hdbkit.config.sweep_spec import AbortRules
from hdbkit.results.manifest import Manifest, Status
from hdbkit.results.sweep_folder import Step
from hdbkit.sweep_runner.aborting import GIVES_UP, rule_broken


@dataclass(frozen=True)
class Ending:
    """The step of a run that is not done again, its reason, and the details of the line."""

    step: Step
    note: str = ""
    details: dict[str, Any] = field(default_factory=dict)


def ending(manifest: Manifest) -> Ending | None:
    """How a run ended that came to its end, or to an early one by itself; None where it did not.

    Its rules are those of its own plan, so that a run which outlived its sweep ends as it would have ended within.
    """
    early = manifest.ended_early if manifest.status is Status.STOPPED else ""
    if manifest.status is not Status.DONE and not early:
        return None
    limits = manifest.plan.get("limits") or {}
    if reason := rule_broken(AbortRules.model_validate(limits.get("abort") or {}), manifest):
        return Ending(Step.RUN_FAILED, reason, {GIVES_UP: True})
    return Ending(Step.RUN_ENDED_EARLY, early) if early else Ending(Step.RUN_FINISHED)
