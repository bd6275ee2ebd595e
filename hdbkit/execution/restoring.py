"""What a run changes on purpose and undoes: the changes of its load, what the server records for it, and its faults.

That they are to be undone is noted in the run's folder ahead of the first operation, under the seal of the account.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from hdbkit.config import Target
from hdbkit.contracts import Serial, Session, SessionOptions
from hdbkit.databases import database
from hdbkit.errors import HdbkitError
from hdbkit.execution.folder_setup import FAULTS, SERIALS
from hdbkit.execution.waits import INSTRUMENTS_OFF, SET_INSTRUMENTS, instrument_session, needs_instruments
from hdbkit.plan import RunPlan
from hdbkit.results.folder import RunFolder
from hdbkit.results.seal import drop_sealed, read_sealed, write_sealed
from hdbkit.workloads import workload

if TYPE_CHECKING:
    from hdbkit.faults.injector import Injector


_CHANGES: Final = "changes"
_INSTRUMENTS: Final = "instruments"


def note_changes(folder: RunFolder, plan: RunPlan) -> None:
    """Note that the changes of a run are to be undone, if its load asks for that. Raises ``InputError``."""
    if workload(plan.workload).restoring(plan.load) is not None:
        write_sealed(folder.changes, _CHANGES, {"plan": plan.model_dump(mode="json")}, revocable=True)


def turn_on_instruments(folder: RunFolder, plan: RunPlan) -> None:
    """Have the server record what ``waits=full`` needs, and note what was off before. Raises ``HdbkitError``."""
    if not needs_instruments(plan.target, plan.load):
        return
    with closing(instrument_session(plan.target)) as session:
        names = [str(name) for (name,) in session.ask(INSTRUMENTS_OFF)]
        noted = {"plan": plan.model_dump(mode="json"), "names": names}
        write_sealed(folder.instruments, _INSTRUMENTS, noted, revocable=True)
        session.ask(SET_INSTRUMENTS, enabled="YES", names=",".join(names))


def turn_off_instruments(folder: RunFolder) -> list[str]:
    """Have the server record again what it did before the run; return why that failed."""
    return _undone(folder, folder.instruments, _INSTRUMENTS, _turn_off)


def left_changed(folder: RunFolder) -> bool:
    """Whether a run has left changes that are not undone yet."""
    return folder.changes.is_file() or folder.instruments.is_file()


def undo_changes(folder: RunFolder, at_once: bool = False) -> list[str]:
    """Undo the changes of a run if that is due; return why it failed. ``at_once``: not those of its data."""
    found = turn_off_instruments(folder)
    if at_once and folder.changes.is_file():
        advice = f"run: hdbkit recover {folder.run_id}"
        return [*found, f"the changes of the run were not undone, as it was stopped at once; {advice}"]
    return [*found, *_undone(folder, folder.changes, _CHANGES, _restore)]


def _undone(folder: RunFolder, path: Path, kind: str, undo: Callable[[RunPlan, dict[str, Any]], None]) -> list[str]:
    try:
        found, own = read_sealed(path, kind)
        if not own:
            return [f"this account did not note the {kind} of the run; recover it as the account that ran it"]
        undo(RunPlan.model_validate(found["plan"]), found)
    except FileNotFoundError:
        return []
    except (HdbkitError, ValueError, KeyError) as error:
        return [f"the {kind} of the run could not be undone ({error}); run: hdbkit recover {folder.run_id}"]
    drop_sealed(path)
    return []


def _turn_off(plan: RunPlan, noted: dict[str, Any]) -> None:
    with closing(instrument_session(plan.target)) as session:
        session.ask(SET_INSTRUMENTS, enabled="NO", names=",".join(noted["names"]))


def _restore(plan: RunPlan, _: dict[str, Any]) -> None:
    work, engine = workload(plan.workload), database(plan.target)
    options = SessionOptions(application="hdbkit restore", pooling=plan.pooling)
    if restore := work.restoring(plan.load):
        with closing(engine.connect(plan.target, work.scope(engine.dialects), options)) as session:
            restore(session)


class RunFaults:
    """The faults of one run; most runs cause none. Their process inherits the descriptors ``kept``.

    A fault is caused and undone by a process of its own (``faults.injector``). When that process has died, its
    supervisor undoes what it left, and the run ends.
    """

    def __init__(self, folder: RunFolder, plan: RunPlan, kept: Sequence[int] = ()) -> None:
        self._folder, self._plan, self._kept = folder, plan, kept
        self._injector: Injector | None = None

    def prepare(self) -> Target:
        """Start the process that causes the faults; the target to which the clients are to connect."""
        load = self._plan.load
        if not load.faults:
            return self._plan.target
        from hdbkit.faults.injector import Injector  # heavy

        notes = self._folder.spools / FAULTS
        self._injector = Injector(self._plan.target, load.faults, load.seed, self._folder.path, notes, self._kept)
        return self._injector.target

    def begin(self, start_ns: int, clients: Sequence[int]) -> None:
        """Count the faults' times from ``start_ns`` of the monotonic clock; ``clients`` are process ids."""
        if self._injector:
            self._injector.begin(start_ns, clients)

    @property
    def over(self) -> bool:
        """Whether all faults are over, or should have been for long."""
        return self._injector is None or self._injector.over()

    @property
    def ended(self) -> str:
        """How the process that causes them has ended, which it should not; empty while it runs."""
        return self._injector.ended if self._injector else ""

    def undo(self) -> list[str]:
        """Undo at once what has not ended; its process does that, or this one if that process has ended.

        Return a sentence for each fault that could not be undone.
        """
        if self._injector is None:
            return []
        from hdbkit.faults.undo import undo_all

        self._injector.undo()
        return undo_all(self._folder, self._plan.target)

    def close(self) -> list[str]:
        """End the process, whose proxy the clients may have used until now; return what it reports, in sentences."""
        return self._injector.close() if self._injector else []

    def keep_serials(self, serial: Serial, session: Session) -> None:
        """Keep the last numbers that the schema gave, by which lost commits are found. Raises ``HdbkitError``."""
        last = [[int(value) for value in row] for row in session.ask(serial.last)]
        if last:
            text = json.dumps({**asdict(serial), "last": last})
            (self._folder.spools / SERIALS).write_text(text, encoding="utf-8")
