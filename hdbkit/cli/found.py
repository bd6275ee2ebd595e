"""Results on the screen or as JSON: of a run, and of an experiment of any kind."""

from __future__ import annotations

from hdbkit import api
from hdbkit.cli import show
from hdbkit.cli.exits import Exit
from hdbkit.results.manifest import Status


def show_run(result: api.Result, as_json: bool, if_stopped: Exit | None = Exit.STOPPED) -> int:
    """Show a run; its exit code. ``if_stopped`` replaces that of a stopped run; None: its checks decide."""
    report = result.report()
    if as_json:
        from hdbkit.api import documents

        show.print_json(documents.of_run(result, report))
    else:
        show.run(result)
        show.console.print(f"report: {report}", markup=False)
    if if_stopped is not None and result.manifest.status is Status.STOPPED:
        return if_stopped
    return Exit.DONE if result.passed else Exit.CHECK_FAILED


def show_found(
    result: api.ExperimentResult,
    as_json: bool,
    *,
    report: bool = True,
    gate: api.Gate | None = None,
    everything: bool = False,
) -> int:
    """Show the result of an experiment, and write its report; its exit code."""
    path = result.report() if report else None
    if as_json:
        from hdbkit.api import documents

        show.print_json(documents.of_result(result, path, gate))
    else:
        show.finding(result, gate, everything=everything)
        if path:
            show.console.print(f"report: {path}", markup=False)
    if result.finding.runs_failed:
        return Exit.RUN_FAILED
    return Exit.CHECK_FAILED if result.finding.checks_failed or result.finding.is_open else Exit.DONE
