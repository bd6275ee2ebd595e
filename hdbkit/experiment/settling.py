"""Restores the settings and data of servers after an experiment, including one that was killed."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from hdbkit.config import Target
from hdbkit.contracts import ServerControl
from hdbkit.errors import AgentLost, DamagedResult, HdbkitError, ServerDown, ServerFailed
from hdbkit.execution.handle import RunHandle, is_supervised
from hdbkit.experiment.course import outcome
from hdbkit.experiment.kinds import read_plan
from hdbkit.experiment.servers import Server, Servers, settings_now
from hdbkit.files import irregular_entry
from hdbkit.processes import signals_held
from hdbkit.results.experiment_folder import ExperimentFolder
from hdbkit.results.folder import RunFolder
from hdbkit.results.journal import RESTORED, UNCHANGED, ExperimentState, JournalLine, Step
from hdbkit.results.manifest import Manifest
from hdbkit.results.unrestored import unrestored_experiments

_LOOK_S = 0.2
_START_GRACE_S = 2.0
"""How long a run may take to have a supervisor, after the process that started it was killed."""
_PATIENCE_S = 120.0
"""The maximum time that a run which outlives its experiment may take beyond its phases, before it is stopped."""
_STOP_S = 60.0
"""The maximum time for a run that is stopped at once to end."""


@contextmanager
def resumed_by(experiment_id: str) -> Iterator[None]:
    """Have ``ServerDown`` and ``AgentLost`` name the experiment to resume when server or agent runs again."""
    try:
        yield
    except AgentLost as error:
        raise AgentLost(error.address, error.waited_s, error.reason, error.experiment_id or experiment_id) from error
    except ServerDown as error:
        if error.experiment_id:
            raise
        raise ServerDown(error.reason, experiment_id) from error


def undo_faults(folder: ExperimentFolder, target: Callable[[int], Target] | None, say: Callable[[str], None]) -> None:
    """Undo what the faults of a killed run have left, such as a frozen server, which answers nothing.

    Nothing is done while the run's supervisor is alive, which undoes them. ``target`` gives that of a planned run;
    without it, the server is that of the run. Raises ``ServerDown`` if that fails.
    """
    for line in folder.journal.state.open_runs:
        run = RunFolder(folder.root / line.run_id)
        if irregular_entry(run.path) or not run.left_by_faults() or _is_executed(run):
            continue
        from hdbkit.faults.undo import left_behind, undo_all  # heavy, and most runs cause none

        say(f"run {run.run_id} was killed and has left {' and '.join(left_behind(run))}; hdbkit undoes it")
        if failed := undo_all(run, target and target(line.number or 0)):
            raise ServerDown(
                f"run {run.run_id}: {'; '.join(failed)}; correct the cause, run: hdbkit recover {run.run_id}"
            )


def _is_executed(run: RunFolder) -> bool:
    try:
        manifest = run.read()
    except DamagedResult:
        return False
    return not manifest.status.ended and is_supervised(run, manifest)


def settle_earlier(root: Path, servers: Servers) -> list[str]:
    """Undo the changes that killed experiments left on these servers; return one sentence per experiment.

    Raises ``ServerFailed`` if settings or data cannot be restored.
    """
    notes = []
    for identity, server in servers.by_identity.items():
        for folder in unrestored_experiments(root, identity):
            ended = "ended without restoring the settings" if folder.journal.state.broken_off else "was killed"
            try:
                with resumed_by(folder.experiment_id):
                    undo_faults(folder, None, server.control.say)
                    settle(folder, {identity: replace(server, data=_data_of(folder, identity, servers))})
            except ServerDown:
                raise
            except HdbkitError as error:
                advice = f"correct the cause, or restore the server yourself and remove {folder.before}"
                raise ServerFailed(
                    f"what {folder.experiment_id} left on this server cannot be restored: {error}; {advice}"
                ) from error
            notes.append(f"{folder.experiment_id} {ended}; the server's original settings are restored")
    return notes


def _data_of(folder: ExperimentFolder, identity: str, servers: Servers) -> tuple[ServerControl, ...]:
    """The controls of the data of a killed experiment's own targets on a server.

    Raises ``HdbkitError`` if one of them is not there any more, and has data to be restored.
    """
    state, found = folder.journal.state.server(identity), []
    for position, target in enumerate(read_plan(folder).targets):
        if position in state.positions:
            with suppress(*(() if state.data_kept else (HdbkitError,))):
                found.append(servers.another(target, identity))
    return tuple(found)


def settle(folder: ExperimentFolder, servers: Mapping[str, Server]) -> str:
    """Restore settings and data of these servers to their state before the experiment.

    The settings come first: nothing is written before them, so that a full disk cannot prevent their restoration. The
    journal records them last, so that everything is repeated after a kill. A run that is still running is awaited,
    because its settings must not change meanwhile. An interrupt ends this wait and the run, but not the restoration.

    Args:
        folder: the experiment.
        servers: the servers by their identities.

    Returns:
        What is known of the restoration; empty if nothing was changed.

    Raises:
        ServerFailed: a server could not be restored; the others are.
    """
    state = folder.journal.state
    manifests: dict[str, Manifest | None] = {}
    try:
        for line in state.open_runs:
            manifests[line.run_id] = _waited_for(RunFolder(folder.root / line.run_id))
    except KeyboardInterrupt:
        for line in state.open_runs:
            _stop(RunFolder(folder.root / line.run_id))
        raise
    finally:
        with signals_held():
            note = _restore(folder, servers, state, manifests)
    return note


def _stop(run: RunFolder) -> None:
    """Have a run end at once, if it is still running."""
    if irregular_entry(run.path) is None:
        with suppress(DamagedResult):  # it has not begun
            RunHandle(run).stop(at_once=True)


def _restore(
    folder: ExperimentFolder,
    servers: Mapping[str, Server],
    state: ExperimentState,
    manifests: Mapping[str, Manifest | None],
) -> str:
    """Restore settings and data, then write the journal; ``manifests`` are those of the unfinished runs."""
    changed = {name: server for name, server in servers.items() if state.server(name).changed}
    befores, failures = {}, []
    for identity, server in changed.items():
        try:
            befores[identity] = _bring_back(folder.read_before(identity), server, state.server(identity).data_kept)
        except HdbkitError as error:
            failures.append(error)
    if failures and not befores:
        raise failures[0]
    for line in state.open_runs:
        _close(folder, line, manifests.get(line.run_id))
    notes = [_note_restored(folder, one, changed[one], before) for one, before in befores.items()]
    if not state.changed:
        folder.drop_before()
    if failures:
        raise failures[0]
    return "; ".join(dict.fromkeys(notes))


def _bring_back(before: dict[str, Any], server: Server, data_kept: bool) -> dict[str, Any]:
    """Restore a server; return its snapshot."""
    if before:
        server.control.restore(before)
    for control in server.data:
        if data_kept and control.can_restore_data:
            control.restore_data()
    return before


def _note_restored(folder: ExperimentFolder, identity: str, server: Server, before: Mapping[str, Any]) -> str:
    """Write the journal of a restored server and remove what was saved of it; return what is known of it."""
    known = folder.journal.state.server(identity)
    if known.data_kept:
        folder.append(Step.DATA_RESTORED, identity=identity)
    for control in server.data:
        if control.can_restore_data:
            control.drop_kept_data()
    found = settings_now(server.control, known.found)
    note = _restored(known.found, found) if before else UNCHANGED
    folder.append(Step.SETTINGS_RESTORED, note=note, identity=identity, found=found)
    folder.drop_before(identity)
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


def _close(folder: ExperimentFolder, line: JournalLine, manifest: Manifest | None) -> None:
    """Record the end of a run that was running when the experiment ended.

    A run has its own process and may outlive its experiment. It counts if it is complete; any other run is
    discarded and repeated.
    """
    if manifest and (end := outcome(manifest)):
        note = "; ".join(one for one in (end.note, "it ended by itself after the experiment was killed") if one)
        folder.append(end.step, line.number, line.run_id, note, **end.details)
    else:
        folder.append(Step.RUN_DISCARDED, line.number, line.run_id, _discarded(line, manifest))


def _discarded(line: JournalLine, manifest: Manifest | None) -> str:
    what = f"has no result, its status is {manifest.status.value}" if manifest else "has no readable manifest"
    return f"{line.run_id} {what}; the planned run {line.number} is repeated"


def _waited_for(run: RunFolder) -> Manifest | None:
    """Wait until the run's process has ended; return its last manifest, None if there is none.

    A run that takes much longer than its phases is stopped.
    """
    supervised_by = time.monotonic() + _START_GRACE_S
    stopped_at: float | None = None
    while (manifest := _manifest(run)) is not None and not manifest.status.ended:
        now = time.monotonic()
        if not is_supervised(run, manifest):
            if manifest.supervisor_pid is not None or now >= supervised_by:
                return _manifest(run)  # it may have ended since the manifest was read
        elif stopped_at is None:
            stopped_at = now + _PATIENCE_S + manifest.plan.load.max_duration_s
        elif now > stopped_at + _STOP_S:
            return manifest
        elif now > stopped_at:
            _stop(run)
        time.sleep(_LOOK_S)
    return manifest


def _manifest(run: RunFolder) -> Manifest | None:
    """The manifest of a run; None without one that can be read."""
    with suppress(DamagedResult):
        return None if irregular_entry(run.path) else run.read()
    return None
