"""The checks of several runs, summarized."""

from __future__ import annotations

from collections.abc import Sequence

from hdbkit.results.manifest import CheckLine, Manifest


def checks_over_runs(manifests: Sequence[Manifest]) -> list[CheckLine]:
    """Each check over all runs: passed when it failed in none; the detail names the runs where it did."""
    lines: dict[str, list[tuple[str, CheckLine]]] = {}
    for manifest in {one.run_id: one for one in manifests}.values():  # of a run in slices there is one for each cell
        for check in manifest.checks:
            lines.setdefault(check.name, []).append((manifest.run_id, check))
    return [_over_runs(name, found) for name, found in lines.items()]


def _over_runs(name: str, found: list[tuple[str, CheckLine]]) -> CheckLine:
    failed = [(run_id, check) for run_id, check in found if check.passed is False]
    passed = sum(check.passed is True for _, check in found)
    if failed:
        run_id, check = failed[0]
        more = f" and {len(failed) - 1} more" if len(failed) > 1 else ""
        return CheckLine(name=name, passed=False, detail=f"failed in {run_id}{more}: {check.detail}")
    if not passed:
        return CheckLine(name=name, passed=None, detail=found[0][1].detail)
    undecided = f"; {len(found) - passed} could not be decided" if passed < len(found) else ""
    return CheckLine(name=name, passed=True, detail=f"passed in {passed} of {len(found)} runs{undecided}")
