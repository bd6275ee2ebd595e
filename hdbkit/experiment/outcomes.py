"""The outcome of a run by the abort rules of its experiment, and its consequence for later runs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from hdbkit.config.sweep_spec import AbortRules
from hdbkit.experiment.plan import ExperimentPlan, PlannedRun
from hdbkit.results.experiment_folder import ExperimentFolder, run_facts
from hdbkit.results.journal import GIVES_UP, SERVER_DOWN, Step
from hdbkit.results.manifest import Manifest, Status
from hdbkit.text import plural


@dataclass(frozen=True)
class Outcome:
    """The final step of a run, its reason, and the details of the journal's line."""

    step: Step
    note: str = ""
    details: dict[str, Any] = field(default_factory=dict)


def outcome(manifest: Manifest) -> Outcome | None:
    """The outcome of a run that finished or ended early by its own rules; None for any other end.

    The rules are those of the run's own plan, so that the outcome is the same if the run outlives its experiment.
    """
    early = manifest.ended_early if manifest.status is Status.STOPPED else ""
    if manifest.status is not Status.DONE and not early:
        return None
    if reason := rule_broken(manifest.plan.limits.abort, manifest):
        return Outcome(Step.RUN_FAILED, reason, {GIVES_UP: True})
    return Outcome(Step.RUN_ENDED_EARLY if early else Step.RUN_FINISHED, early, run_facts(manifest))


def rule_broken(rules: AbortRules, manifest: Manifest) -> str:
    """The abort rule that a finished run broke, as a sentence; empty if it broke none."""
    result = manifest.result
    if result is None:
        return ""
    failed, done = result.failed or 0, result.completed or 0
    if rules.failed_share is not None and failed > rules.failed_share * (failed + done):
        share = failed / (failed + done)
        return f"abort rule: {share:.2%} of its {plural(manifest.noun)} failed, more than {rules.failed_share:.2%}"
    line = result.operations.get(manifest.headline)
    times = line.response if line and manifest.is_open else line
    p95_us = None if times is None else times.p95_us
    if rules.latency_p95_ms is not None and p95_us is not None and p95_us > 1000 * rules.latency_p95_ms:
        limit = f"more than {rules.latency_p95_ms:g} ms"
        return f"abort rule: the 95 % quantile of {manifest.headline} was {p95_us / 1000:.1f} ms, {limit}"
    return ""


def given_up(plan: ExperimentPlan, folder: ExperimentFolder, planned: PlannedRun) -> str:
    """Why a run is skipped; empty if it is not.

    An earlier run of its configuration took the server down, or one with its user count too broke a rule.
    """
    for line in folder.journal.state.given_up:
        earlier, down = plan.runs[(line.number or 0) - 1], line.details.get(SERVER_DOWN)
        if earlier.configuration == planned.configuration and (
            down or earlier.virtual_users == planned.virtual_users
        ):
            what = "took the server down" if down else f"broke an {line.note}"
            return f"not run, since run {line.number} of the same configuration {what}"
    return ""
