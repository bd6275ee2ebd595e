"""The abort rules of a sweep: which run broke one, and which runs are not worth their time after that."""

from __future__ import annotations

from hdbkit.config.sweep_spec import AbortRules
from hdbkit.results.manifest import Manifest
from hdbkit.results.sweep_folder import Step, SweepFolder, SweepState
from hdbkit.sweep_plan import PlannedRun, SweepPlan

GIVES_UP = "gives_up"
"""The detail of a failed run in the journal: its configuration is not run in later blocks."""


def rule_broken(rules: AbortRules, manifest: Manifest) -> str:
    """What a finished run did that it may not, in words; empty when it kept all rules."""
    result = manifest.result
    failed, done = result.get("failed") or 0, result.get("completed") or 0
    if rules.failed_share is not None and failed > rules.failed_share * (failed + done):
        share = failed / (failed + done)
        return f"abort rule: {share:.2%} of its transactions failed, more than {rules.failed_share:.2%}"
    p95_us = result.get("operations", {}).get(manifest.headline, {}).get("p95_us")
    if rules.latency_p95_ms is not None and p95_us is not None and p95_us > 1000 * rules.latency_p95_ms:
        limit = f"more than {rules.latency_p95_ms:g} ms"
        return f"abort rule: the 95 % quantile of {manifest.headline} was {p95_us / 1000:.1f} ms, {limit}"
    return ""


def given_up(plan: SweepPlan, folder: SweepFolder, planned: PlannedRun) -> str:
    """Why a run is not done: an earlier one of its configuration and virtual users broke a rule; empty: do it."""
    if plan.spec.abort == AbortRules():
        return ""
    for number, line in SweepState(folder.journal()).runs.items():
        earlier = plan.runs[number - 1]
        same = (earlier.configuration, earlier.virtual_users) == (planned.configuration, planned.virtual_users)
        if same and line.step is Step.RUN_FAILED and line.details.get(GIVES_UP):
            return f"not run, since run {number} of the same configuration broke an {line.note}"
    return ""
