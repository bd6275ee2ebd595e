"""Restores a server's settings and data after a sweep, including a sweep that was killed."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from hdbkit.config import Target
from hdbkit.config.load import starting_s
from hdbkit.contracts import ServerControl
from hdbkit.errors import DamagedResult, HdbkitError, ServerDown, ServerFailed
from hdbkit.execution.handle import is_supervised
from hdbkit.files import irregular_entry
from hdbkit.processes import signals_held
from hdbkit.results.folder import RunFolder
from hdbkit.results.journal import RESTORED, UNCHANGED, JournalLine, Step, SweepState
from hdbkit.results.manifest import Manifest
from hdbkit.results.sweep_folder import SweepFolder
from hdbkit.results.unrestored import unrestored
from hdbkit.servers.values import with_unit
from hdbkit.sweep_runner.outcomes import outcome

_TEXTS = ("string", "list")
_LOOK_S = 0.2
_PATIENCE_S = 120.0
"""The maximum time that a run which outlives its sweep may take beyond its phases."""


@contextmanager
def resumed_by(sweep_id: str) -> Iterator[None]:
    """Have ``ServerDown`` name the sweep to resume when the server runs again."""
    try:
        yield
    except ServerDown as error:
        if error.sweep_id:
            raise
        raise ServerDown(error.reason, sweep_id) from error


def undo_faults(folder: SweepFolder, target: Target | None, say: Callable[[str], None]) -> None:
    """Undo what the faults of a killed run have left, such as a frozen server, which answers nothing.

    Nothing is done while the run's supervisor is alive, which undoes them. Without ``target``, the server is that of
    the run. Raises ``ServerDown`` if that fails.
    """
    line = folder.journal.state.open_run
    run = RunFolder(folder.root / line.run_id) if line else None
    if run is None or irregular_entry(run.path) or not run.left_by_faults() or _is_executed(run):
        return
    from hdbkit.faults.undo import left_behind, undo_all  # heavy, and most runs cause none

    say(f"run {run.run_id} was killed and has left {' and '.join(left_behind(run))}; hdbkit undoes it")
    if failed := undo_all(run, target):
        raise ServerDown(
            f"run {run.run_id}: {'; '.join(failed)}; correct the cause, run: hdbkit recover {run.run_id}"
        )


def _is_executed(run: RunFolder) -> bool:
    try:
        manifest = run.read()
    except DamagedResult:
        return False
    return not manifest.status.ended and is_supervised(run, manifest)


def settle_earlier(root: Path, control: ServerControl) -> list[str]:
    """Undo the changes that killed sweeps left on this server; return one sentence per sweep.

    Raises ``ServerFailed`` if the settings cannot be restored.
    """
    notes = []
    for folder in unrestored(root, control.identity):
        ended = "ended without restoring the settings" if folder.journal.state.broken_off else "was killed"
        try:
            with resumed_by(folder.sweep_id):
                undo_faults(folder, None, control.say)
                settle(folder, control)
        except ServerDown:
            raise
        except ServerFailed as error:
            raise ServerFailed(
                f"what {folder.sweep_id} left on this server cannot be restored: {error}; correct the cause, or "
                f"restore the server yourself and remove {folder.before}"
            ) from error
        notes.append(f"{folder.sweep_id} {ended}; the server's original settings are restored")
    return notes


def settle(folder: SweepFolder, control: ServerControl) -> str:
    """Restore settings and data to their state before the sweep; what is known of it, empty if they were unchanged.

    The settings come first: nothing is written before them, so that a full disk cannot prevent their restoration. The
    journal records them last, so that everything is repeated after a kill. A run that is still running is awaited,
    because its settings must not change meanwhile. An interrupt ends this wait, but not the restoration.
    """
    state = folder.journal.state
    manifest: Manifest | None = None
    note = ""
    try:
        if state.open_run:
            manifest = _waited_for(RunFolder(folder.root / state.open_run.run_id))
    finally:
        with signals_held():
            note = _restore(folder, control, state, manifest)
    return note


def settings_now(control: ServerControl, names: Iterable[str]) -> dict[str, str]:
    """The present values of these settings, with units; empty if the server cannot report them.

    Text settings are omitted: their original values may contain secrets.
    """
    wanted = list(names)
    try:
        known = control.settings() if wanted else {}
    except HdbkitError:
        return {}
    found = [known[name] for name in wanted if name in known and known[name].kind not in _TEXTS]
    return {one.name: with_unit(one, one.value) for one in found}


def _restore(folder: SweepFolder, control: ServerControl, state: SweepState, manifest: Manifest | None) -> str:
    """Restore settings and data, then write the journal; ``manifest`` is that of the unfinished run."""
    before = folder.read_before() if state.changed else {}
    if state.changed:
        if before:
            control.restore(before)
        if state.data_kept:
            control.restore_data()
    if state.open_run:
        _close(folder, state.open_run, manifest)
    if not state.changed:
        folder.drop_before()
        return ""
    if state.data_kept:
        folder.append(Step.DATA_RESTORED)
    if control.can_restore_data:
        control.drop_kept_data()
    found = settings_now(control, state.found)
    note = _restored(state.found, found) if before else UNCHANGED
    folder.append(Step.SETTINGS_RESTORED, note=note, found=found)
    folder.drop_before()
    return note


def _restored(before: Mapping[str, str], found: Mapping[str, str]) -> str:
    """What reading the settings back shows after they were restored."""
    unlike = [
        f"{name} is {found[name]} and was {value}"
        for name, value in before.items()
        if found.get(name, value) != value
    ]
    if unlike:
        return f"the server's settings were restored, but {'; '.join(unlike)}"
    if before and not found:
        return "the server's settings were restored, but they could not be read back"
    return RESTORED


def _close(folder: SweepFolder, line: JournalLine, manifest: Manifest | None) -> None:
    """Record the end of the run that was running when the sweep ended.

    A run has its own process and may outlive its sweep. It counts if it is complete; any other run is discarded and
    repeated.
    """
    if manifest and (end := outcome(manifest)):
        note = "; ".join(one for one in (end.note, "it ended by itself after the sweep was killed") if one)
        folder.append(end.step, line.number, line.run_id, note, **end.details)
    else:
        folder.append(Step.RUN_DISCARDED, line.number, line.run_id, _discarded(line, manifest))


def _discarded(line: JournalLine, manifest: Manifest | None) -> str:
    what = f"was {manifest.status.value}" if manifest else "left no folder"
    return f"{line.run_id} {what} when the sweep ended; the planned run {line.number} is repeated"


def _waited_for(run: RunFolder) -> Manifest | None:
    """Wait until the run's process has ended; return its last manifest, None if there is none."""
    until: float | None = None
    while irregular_entry(run.path) is None:
        try:
            manifest = run.read()
            if not manifest.status.ended and not is_supervised(run, manifest):
                return run.read()  # it may have ended since the manifest was read
        except DamagedResult:
            return None
        if manifest.status.ended:
            return manifest
        load = manifest.plan.get("load", {})
        rampup_s = starting_s(load) + max(load.get("rampup_s", 0), load.get("rampup_max_s", 0))
        until = until or time.monotonic() + _PATIENCE_S + rampup_s + load.get("duration_s", 0)
        if time.monotonic() > until:
            return manifest
        time.sleep(_LOOK_S)
    return None
