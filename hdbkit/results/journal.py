"""The journal of an experiment: one line per step, and the state that results from them.

Every step is on disk (fsync) before the next one starts. A line counts once its newline is written, so a crash can
only truncate the last line, which is then ignored. A ``Journal`` reads each line once; later reads continue from
there, so their cost depends on the new lines and not on the length of the experiment.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from threading import Lock
from typing import Annotated, Any, Final

from pydantic import Field, TypeAdapter, ValidationError

from hdbkit.errors import DamagedResult
from hdbkit.files import opened_file, private, read_bytes, sync_folder
from hdbkit.processes import birth_of

METRIC_VALUE: Final = "metric_value"
"""Detail of an ended run's line: the value of its metric, so that the manifest need not be read."""
PER_S: Final = "operations_per_s"
"""Detail of an ended run's line: its operations of all types per second."""
CHECKS_FAILED: Final = "checks_failed"
"""Detail of a finished run's line: the names of failed checks."""
SLICES_FACTOR: Final = "slices"
"""Detail of a finished run's line: metric and operations per second of each configuration that alternates in it."""
GIVES_UP: Final = "gives_up"
"""Detail of a failed run's line: its configuration does not run in later blocks."""

RESTORED: Final = "the server's settings are restored"
"""Note of the line of a restoration that reading back confirmed; also what an earlier line without a note means."""
UNCHANGED: Final = "no setting of the server was changed"
"""Note of this line for an experiment that changes none."""
ENDED_WITH_PROCESS: Final = "the server ended with the process that started it"
"""Note of this line for a server that the experiment itself had started."""
IDENTITY: Final = "identity"
"""Detail of the lines on settings and data: the server they are about; without it, the one before."""
CAUSE: Final = "cause"
"""Detail of a failed run's line: the innermost error, without what differs between runs."""
_MAX_NUMBER: Final = 10**9
SERVER_DOWN: Final = "server_down"
"""Detail of the line of a failed experiment or run: the server does not answer, and could not be repaired."""


class Step(StrEnum):
    """The steps of an experiment that the journal records."""

    STARTED = "started"  # by the process that the details name; also when it is resumed
    SETTINGS_SAVED = "settings_saved"
    DATA_KEPT = "data_kept"
    RUN_STARTED = "run_started"
    RUN_FINISHED = "run_finished"
    RUN_ENDED_EARLY = "run_ended_early"  # for the reason in the note; not repeated
    RUN_FAILED = "run_failed"
    RUN_DISCARDED = "run_discarded"  # interrupted when the experiment was killed or stopped; repeated
    SETTINGS_RESTORED = "settings_restored"  # and the saved copies removed
    DATA_RESTORED = "data_restored"  # after the last run, to the saved copy
    NOTED = "noted"  # what it waits for, and that it continues
    MORE_BLOCKS = "more_blocks"  # the total that a user asked for; the longer plan follows
    EXTENDED = "extended"  # by a search
    LOOKED = "looked"  # a look after some blocks, with the error rate spent so far; it may end the sweep
    DECIDED = "decided"  # at a look: comparisons that later blocks do not run; by a search: its next step
    WINNERS_CHOSEN = "winners_chosen"  # and their confirmation blocks planned
    STOPPED = "stopped"  # by an interrupt; it can be resumed
    FAILED = "failed"  # for the reason in the note; it can be resumed
    FINISHED = "finished"


RUN_ENDS: Final = (Step.RUN_FINISHED, Step.RUN_ENDED_EARLY, Step.RUN_FAILED)
"""The steps after which a planned run is not repeated."""
_RUN_STEPS: Final = frozenset({Step.RUN_STARTED, Step.RUN_DISCARDED, *RUN_ENDS})
_SERVER_STEPS: Final = frozenset({Step.SETTINGS_SAVED, Step.SETTINGS_RESTORED, Step.DATA_KEPT, Step.DATA_RESTORED})


@dataclass(frozen=True, slots=True)
class JournalLine:
    """One step: ``number`` is the planned run's.

    ``details`` are for readers (durations in seconds, identity), except for those named in this module.
    """

    step: Step
    at: datetime
    number: Annotated[int, Field(ge=0, le=_MAX_NUMBER)] | None = None
    run_id: Annotated[str, Field(pattern=r"^([^./\x00][^/\x00]*)?$")] = ""
    note: str = ""
    details: dict[str, Any] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """The line as written to the file, without its newline."""
        return _LINE.dump_json(self, exclude_defaults=True).decode()


_LINE: Final = TypeAdapter(JournalLine)


@dataclass
class _ServerState:
    """What an experiment changed on a server and has to restore.

    ``found`` are the original values of the settings that it varies, ``restored`` is the line of their restoration,
    ``positions`` are those of the targets on it in the plan.
    """

    changed: bool = False
    positions: tuple[int, ...] = ()
    data_kept: bool = False
    found: dict[str, str] = field(default_factory=dict)
    restored: JournalLine | None = None


class ExperimentState:
    """The state of an experiment from its journal; each line is processed once, in constant time.

    ``servers`` has the state of each server by its identity. ``broken_off`` is the line with the reason why it was
    interrupted, ``begun`` that of the last started run, ``started`` that of the last process. ``asked_blocks`` is the
    number of blocks that a user asked for later.
    """

    def __init__(self, journal: Iterable[JournalLine] = ()) -> None:
        self.runs: dict[int, JournalLine] = {}
        self.counts: Counter[Step] = Counter()
        self.next_number = 1
        self.given_up: list[JournalLine] = []
        self.decisions: list[JournalLine] = []
        self.servers: dict[str, _ServerState] = {}
        self.broken_off: JournalLine | None = None
        self.begun: JournalLine | None = None
        self.since: datetime | None = None
        self.ends_since: list[datetime] = []
        self.started: JournalLine | None = None
        self._process: tuple[int, str] | None = None
        self._identity = ""
        self.asked_blocks: int | None = None
        self.finished = False
        for line in journal:
            self.take(line)

    def take(self, line: JournalLine) -> None:
        """Process the next line of the journal."""
        self.since = self.since or line.at
        if line.step in _RUN_STEPS:
            self._take_run(line.number or 0, line)
        elif line.step in _SERVER_STEPS:
            self._take_server(line)
        else:
            self._take_course(line)

    def _take_course(self, line: JournalLine) -> None:
        """When the experiment is executed, and what it decided."""
        match line.step:
            case Step.STARTED:
                self.started, self._process = line, (int(line.details.get("pid", 0)), str(line.details.get("birth")))
                self.finished, self.broken_off, self.since, self.ends_since = False, None, line.at, []
            case Step.STOPPED | Step.FAILED:
                self.broken_off, self._process = line, None
            case Step.MORE_BLOCKS:
                self.finished, self.asked_blocks = False, int(line.details.get("blocks", 0)) or None
            case Step.LOOKED | Step.DECIDED | Step.WINNERS_CHOSEN:
                self.decisions.append(line)
            case Step.FINISHED:
                self.finished, self.broken_off, self._process = True, None, None

    def _take_server(self, line: JournalLine) -> None:
        """What the experiment changed on a server, and has to restore."""
        self._identity = str(line.details.get(IDENTITY, self._identity))
        server = self.servers.setdefault(self._identity, _ServerState())
        match line.step:
            case Step.SETTINGS_SAVED:
                server.changed, server.restored = True, None
                server.found = dict(line.details.get("found", {}))
                server.positions = tuple(int(one) for one in line.details.get("targets", ()))
            case Step.SETTINGS_RESTORED:
                server.changed, server.restored = False, line
            case Step.DATA_KEPT:
                server.data_kept = True
            case Step.DATA_RESTORED:
                server.data_kept = False

    def _take_run(self, number: int, line: JournalLine) -> None:
        before = self.runs.pop(number, None)
        if before:
            self.counts[before.step] -= 1
        if line.step is not Step.RUN_DISCARDED:
            self.runs[number] = line
            self.counts[line.step] += 1
        if line.step is Step.RUN_STARTED:
            self.begun = line
        if line.step in RUN_ENDS:
            self.ends_since.append(line.at)
            if line.details.get(GIVES_UP):
                self.given_up.append(line)
        elif number:
            self.next_number = min(self.next_number, number)
        while (there := self.runs.get(self.next_number)) and there.step in RUN_ENDS:
            self.next_number += 1

    @property
    def executed_by(self) -> int | None:
        """The process that executes the experiment; None if it has ended."""
        pid, birth = self._process or (0, "")
        return pid if birth and birth_of(pid) == birth else None

    @property
    def changed(self) -> bool:
        """Whether a server's settings are not restored yet."""
        return any(one.changed for one in self.servers.values())

    @property
    def data_kept(self) -> bool:
        """Whether a server's data are not restored yet."""
        return any(one.data_kept for one in self.servers.values())

    def server(self, identity: str) -> _ServerState:
        """What it changed on a server."""
        return self.servers.get(identity) or _ServerState()

    def identity_of(self, position: int) -> str | None:
        """The server of a target, by the target's position in the plan; None if nothing of it was saved."""
        return next((name for name, one in self.servers.items() if position in one.positions), None)

    @property
    def open_runs(self) -> list[JournalLine]:
        """The runs that were started but have no end in the journal; several if they run at the same time."""
        if not self.counts[Step.RUN_STARTED]:
            return []
        return [line for line in self.runs.values() if line.step is Step.RUN_STARTED]

    @property
    def ended(self) -> int:
        """The number of runs that have ended."""
        return sum(self.counts[step] for step in RUN_ENDS)


class Journal:
    """A journal file, which other processes may read and write at the same time.

    What reads it raises ``DamagedResult`` if the file cannot be read.
    """

    def __init__(self, path: Path) -> None:
        self._path, self._lock = path, Lock()
        self._forget()

    @property
    def lines(self) -> list[JournalLine]:
        """All complete lines, oldest first."""
        with self._lock:
            self._read_on()
            return list(self._lines)

    @property
    def state(self) -> ExperimentState:
        """The current state. Always the same object; each access updates it."""
        with self._lock:
            self._read_on()
            return self._state

    @property
    def settings_state(self) -> ExperimentState:
        """The state from the lines on settings only; other lines are not parsed.

        Each experiment checks this for all others, which may be many and long. Raises ``DamagedResult``.
        """
        found = b""
        with self._readable():
            found = read_bytes(self._path)
        with self._checked():
            return ExperimentState(filter(None, map(_parsed, _lines_with(b"settings_", found))))

    @contextmanager
    def _readable(self) -> Iterator[None]:
        """Ignore that there is no file. Raises ``DamagedResult`` if it cannot be read for another reason."""
        try:
            yield
        except FileNotFoundError:
            pass
        except OSError as error:
            raise DamagedResult(f"{self._path} cannot be read: {error.strerror}") from error

    @contextmanager
    def _checked(self) -> Iterator[None]:
        """Raise ``DamagedResult`` if a line has details that no line of hdbkit has."""
        try:
            yield
        except (TypeError, ValueError, OverflowError) as error:
            self._forget()
            raise DamagedResult(f"{self._path} is damaged: {error}") from None

    def append(self, step: Step, number: int | None, run_id: str, note: str, details: dict[str, Any]) -> None:
        """Append a line with the current time; it is on disk when this returns."""
        line = JournalLine(step=step, at=datetime.now(UTC), number=number, run_id=run_id, note=note, details=details)
        with open(self._path, "a+b", opener=private) as file:
            if file.tell() and os.pread(file.fileno(), 1, file.tell() - 1) != b"\n":
                file.write(b"\n")
            file.write(f"{line.text}\n".encode())
            file.flush()
            os.fsync(file.fileno())
        sync_folder(self._path.parent)

    def _forget(self) -> None:
        self._lines: list[JournalLine] = []
        self._state = ExperimentState()
        self._offset, self._last = 0, b""

    def _read_on(self) -> None:
        """Process new lines; all lines if the file was replaced."""
        new = self._after_last_line()
        if new is None:
            self._forget()
            new = self._after_last_line() or b""
        *whole, torn = new.split(b"\n")
        with self._checked():
            for line in filter(None, map(_parsed, whole)):
                self._lines.append(line)
                self._state.take(line)
        if whole:
            self._offset += len(new) - len(torn)
            self._last = whole[-1] + b"\n"

    def _after_last_line(self) -> bytes | None:
        """The content after the last line read; None if that line no longer exists."""
        found = b""
        with self._readable(), os.fdopen(opened_file(self._path), "rb") as file:
            file.seek(self._offset - len(self._last))
            found = file.read()
        return found[len(self._last) :] if found.startswith(self._last) else None


def _parsed(raw: bytes) -> JournalLine | None:
    try:
        return _LINE.validate_json(raw)
    except ValidationError:
        return None


def _lines_with(word: bytes, raw: bytes) -> Iterator[bytes]:
    """The whole lines that have the word in them."""
    at = raw.find(word)
    while at >= 0 and (end := raw.find(b"\n", at)) >= 0:
        yield raw[raw.rfind(b"\n", 0, at) + 1 : end]
        at = raw.find(word, end)
