"""Brings a server back to what it was before a sweep, also after a sweep that was killed."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from hdbkit.contracts import ServerControl
from hdbkit.errors import DamagedResult, HdbkitError
from hdbkit.processes import is_alive
from hdbkit.results.folder import RunFolder
from hdbkit.results.journal import JournalLine, Step, SweepState
from hdbkit.results.manifest import Manifest
from hdbkit.results.sweep_folder import SweepFolder, unrestored
from hdbkit.servers.values import with_unit
from hdbkit.sweep_runner.outcomes import outcome

_HELD = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_TEXTS = ("string", "list")
_LOOK_S = 0.2
_STARTING_S = 30.0
"""How long a run may take until its manifest names its process."""
_PATIENCE_S = 120.0
"""How long a run that outlives its sweep may need besides its phases; then it is given up."""


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

    The settings come first, as the most precious: nothing is written before them, so that a full disk cannot keep
    them from being restored. They are noted last, so that a kill in between repeats it all. Only a run that still
    goes on is waited for, since it must not lose its settings in the middle; an interrupt ends that wait, and no
    interrupt ends the restoring.
    """
    state = folder.journal.state
    manifest: Manifest | None = None
    try:
        if state.open_run:
            manifest = _waited_for(RunFolder(folder.root / state.open_run.run_id))
    finally:
        with _signals_held():
            _restore(folder, control, state, manifest)


def settings_now(control: ServerControl, names: Iterable[str]) -> dict[str, str]:
    """What these settings are on the server, as people write them; empty where it does not tell.

    Without those that hold a text: one from before the sweep may have a secret in it.
    """
    wanted = list(names)
    try:
        known = control.settings() if wanted else {}
    except HdbkitError:
        return {}
    found = [known[name] for name in wanted if name in known and known[name].kind not in _TEXTS]
    return {one.name: with_unit(one, one.value) for one in found}


def _restore(folder: SweepFolder, control: ServerControl, state: SweepState, manifest: Manifest | None) -> None:
    """Settings and data first, the journal afterwards; ``manifest`` is that of the run without an end."""
    if state.changed:
        before = folder.read_before()
        if before:
            control.restore(before)
        if state.data_kept:
            control.restore_data()
    if state.open_run:
        _close(folder, state.open_run, manifest)
    if not state.changed:
        return
    if state.data_kept:
        folder.append(Step.DATA_RESTORED)
    if control.can_restore_data:
        control.drop_kept_data()
    folder.append(Step.SETTINGS_RESTORED, found=settings_now(control, state.found))


def _close(folder: SweepFolder, line: JournalLine, manifest: Manifest | None) -> None:
    """Give the run that was going on when the sweep ended its own end in the journal.

    A run has a process of its own and may outlive its sweep: it counts when it is whole. Any other is discarded, to
    be done again.
    """
    if manifest and (end := outcome(manifest)):
        note = "; ".join(one for one in (end.note, "it ended by itself after the sweep was killed") if one)
        folder.append(end.step, line.number, line.run_id, note, **end.details)
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
            if not manifest.status.ended and not _goes_on(manifest):
                return run.read()  # it may have come to its end between the two looks
        except DamagedResult:
            return None
        if manifest.status.ended:
            return manifest
        load = manifest.plan.get("load", {})
        rampup_s = max(load.get("rampup_s", 0), load.get("rampup_max_s", 0))
        until = until or time.monotonic() + _PATIENCE_S + rampup_s + load.get("duration_s", 0)
        if time.monotonic() > until:
            return manifest
        time.sleep(_LOOK_S)


def _goes_on(manifest: Manifest) -> bool:
    if manifest.supervisor_pid is not None:
        return is_alive(manifest.supervisor_pid, manifest.run_id)
    return bool(manifest.history) and (datetime.now(UTC) - manifest.history[0].at).total_seconds() < _STARTING_S


@contextmanager
def _signals_held() -> Iterator[None]:
    """Hold SIGINT, SIGTERM and SIGHUP; what came is delivered once after the block, also after an error in it.

    Processes that are started within do not inherit it. Only the main thread receives signals: elsewhere there is
    nothing to hold.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    before = {number: signal.signal(number, lambda held, _: came.append(held)) for number in _HELD}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
        for held in dict.fromkeys(came):
            signal.raise_signal(held)
