"""Brings a server back to what it was before a sweep, also after a sweep that was killed."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from pathlib import Path

from hdbkit.contracts import ServerControl
from hdbkit.errors import DamagedResult
from hdbkit.processes import is_alive
from hdbkit.results.folder import RunFolder
from hdbkit.results.manifest import Manifest, Status
from hdbkit.results.sweep_folder import JournalLine, Step, SweepFolder, SweepState, unrestored

_LOOK_S = 0.2
_STARTING_S = 30.0
"""How long a run may take until it tells its process."""
_PATIENCE_S = 600.0
"""How long a run that outlives its sweep may need besides its phases."""


def settle_earlier(root: Path, control: ServerControl) -> list[str]:
    """Undo what killed sweeps left behind on this server; one sentence for each of them.

    Raises ``ServerFailed`` when the server does not take its settings back.
    """
    said = []
    for folder in unrestored(root, control.identity):
        settle(folder, control)
        said.append(f"{folder.sweep_id} was killed; the settings of {control.identity} are restored to what it found")
    return said


def settle(folder: SweepFolder, control: ServerControl) -> None:
    """Restore settings and data to what they were before the sweep; does nothing when they are.

    The settings come first, as the most precious; they are noted last, so that a kill in between repeats it all.
    """
    close_open_run(folder)
    state = SweepState(folder.journal())
    if not state.changed:
        return
    control.restore(folder.read_before())
    if state.data_kept:
        control.restore_data()
        folder.append(Step.DATA_RESTORED)
    if control.can_restore_data:
        control.drop_kept_data()
    folder.append(Step.SETTINGS_RESTORED)


def close_open_run(folder: SweepFolder) -> None:
    """Give the run that was going on when the sweep was killed its end in the journal.

    A run has a process of its own and may outlive its sweep: it is waited for and counts when it is whole. Any other
    is discarded, to be done again.
    """
    line = SweepState(folder.journal()).open_run
    if line is None:
        return
    manifest = _waited_for(RunFolder(folder.root / line.run_id))
    if manifest and manifest.status is Status.DONE:
        folder.append(Step.RUN_FINISHED, line.number, line.run_id, "it ended by itself after the sweep was killed")
    else:
        folder.append(Step.RUN_DISCARDED, line.number, line.run_id, _discarded(line, manifest))


def _discarded(line: JournalLine, manifest: Manifest | None) -> str:
    what = f"was {manifest.status.value}" if manifest else "left no folder"
    return f"{line.run_id} {what} when the sweep ended; the planned run {line.number} is done again"


def _waited_for(run: RunFolder) -> Manifest | None:
    """The run's last manifest, when its process has ended; None when there is none."""
    until: float | None = None
    while True:
        try:
            manifest = run.read()
        except DamagedResult:
            return None
        if manifest.status.ended or not _goes_on(manifest):
            return manifest
        load = manifest.plan.get("load", {})
        until = until or time.monotonic() + _PATIENCE_S + load.get("rampup_s", 0) + load.get("duration_s", 0)
        if time.monotonic() > until:
            return manifest
        time.sleep(_LOOK_S)


def _goes_on(manifest: Manifest) -> bool:
    if manifest.supervisor_pid is not None:
        return is_alive(manifest.supervisor_pid, manifest.run_id)
    return bool(manifest.history) and (datetime.now(UTC) - manifest.history[0].at).total_seconds() < _STARTING_S
