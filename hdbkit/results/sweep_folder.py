"""A sweep's folder ``sweeps/<id>``: plan, journal, the settings before it, report; and its runs as a frame.

The journal is what makes a sweep killable: every step is on disk (fsync) before the next one begins, and the settings
of the server are there before the first change. A crash can cut only the last line, which is passed over.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType
from typing import IO, Any, Final, TypeVar

import pandas as pd
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from hdbkit.config.mistakes import mistakes_of
from hdbkit.errors import DamagedResult, InputError
from hdbkit.files import replace_file, sync_folder
from hdbkit.processes import birth_of
from hdbkit.results.folder import RunFolder, make_folder, only_match

RUN_COLUMNS = (
    *("number", "block", "configuration", "virtual_users"),
    *("run_id", "status", "metric_value", "note", "checks_failed", "fresh"),
)
"""The columns of a runs frame that are not settings."""


ENDED_EARLY = "ended early"
"""The status of a run that was not worth the rest of its time: what it measured counts for a search alone."""

Plan = TypeVar("Plan", bound=BaseModel)
_ENDING_S: Final = 2.0
"""How long a sweep that has told its end may still hold its server."""


class Step(StrEnum):
    """What a line of the journal says."""

    STARTED = "started"  # by the process that the details name; also when it is resumed
    SETTINGS_SAVED = "settings_saved"
    DATA_KEPT = "data_kept"
    RUN_STARTED = "run_started"
    RUN_FINISHED = "run_finished"
    RUN_ENDED_EARLY = "run_ended_early"  # by itself, for the reason in the note; it is not done again
    RUN_FAILED = "run_failed"
    RUN_DISCARDED = (
        "run_discarded"  # started, but not finished when the sweep was killed or stopped; it is done again
    )
    SETTINGS_RESTORED = "settings_restored"  # and the kept data dropped
    DATA_RESTORED = "data_restored"  # after the last run, to what was kept
    NOTED = "noted"  # what the sweep waits for, and that it goes on
    EXTENDED = "extended"
    LOOKED = "looked"  # at all configurations after so many blocks; it ends there when none is undecided
    WINNERS_CHOSEN = "winners_chosen"  # and their fresh blocks planned
    STOPPED = "stopped"  # by an interrupt; it can be resumed
    FAILED = "failed"  # for the reason in the note; it can be resumed
    SWEEP_FINISHED = "sweep_finished"


class JournalLine(BaseModel):
    """One step: ``number`` is the planned run's; ``details`` are for the reader (durations in seconds, identity)."""

    model_config = ConfigDict(extra="ignore", frozen=True)
    step: Step
    at: datetime
    number: int | None = None
    run_id: str = ""
    note: str = ""
    details: dict[str, Any] = Field(default_factory=dict)


@dataclass(frozen=True)
class SweepFolder:
    """The folder of one sweep. Its runs lie beside it, in the folder of all runs."""

    path: Path

    @property
    def sweep_id(self) -> str:
        """The sweep's id, which is the folder's name."""
        return self.path.name

    @property
    def root(self) -> Path:
        """The folder of all results."""
        return self.path.parent.parent

    @property
    def report(self) -> Path:
        """The one-page report."""
        return self.path / "report.html"

    @property
    def before(self) -> Path:
        """What the server's control needs to bring the settings back; readable by its owner alone."""
        return self.path / "before.json"

    @property
    def planned(self) -> bool:
        """Whether the sweep exists: it does from the moment its plan is on disk."""
        return (self.path / "plan.json").is_file()

    def write_plan(self, plan: BaseModel) -> None:
        """Keep the plan, replacing an earlier one in one step."""
        self.path.mkdir(parents=True, exist_ok=True)
        replace_file(self.path / "plan.json", plan.model_dump_json(indent=1).encode())
        sync_folder(self.path)

    def read_plan(self, model: type[Plan]) -> Plan:
        """The plan as a value of ``model``. Raises ``DamagedResult`` when it is missing or spoilt."""
        path = self.path / "plan.json"
        try:
            return model.model_validate_json(path.read_bytes())
        except FileNotFoundError:
            raise DamagedResult(f"{self.path} is no sweep: it has no plan.json") from None
        except ValidationError as error:
            first = mistakes_of(error, model)[0]
            raise DamagedResult(f"{path} is damaged: {first.where}: {first.what}") from None
        except OSError as error:
            raise DamagedResult(f"{path} cannot be read: {error.strerror}") from None

    def append(self, step: Step, number: int | None = None, run_id: str = "", note: str = "", **details: Any) -> None:
        """Add a line to the journal; it is on disk when this returns."""
        line = JournalLine(step=step, at=datetime.now(UTC), number=number, run_id=run_id, note=note, details=details)
        path = self.path / "journal.ndjson"
        with path.open("a+b") as file:
            if file.tell() and not _ends_a_line(file.fileno(), file.tell()):
                file.write(b"\n")
            file.write(line.model_dump_json(exclude_defaults=True).encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())
        sync_folder(self.path)

    @contextmanager
    def starting(self) -> Iterator[None]:
        """Hold the sweep while a process is started for it: of two that would, the second sees the first."""
        descriptor = os.open(self.path, os.O_RDONLY)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)

    def note_started(self, pid: int) -> None:
        """Put into the journal which process executes the sweep, unless it says so already."""
        if SweepState(self.journal()).executed_by != pid:
            self.append(Step.STARTED, pid=pid, birth=birth_of(pid))

    def journal(self) -> list[JournalLine]:
        """Every whole line of the journal, oldest first."""
        try:
            raw = (self.path / "journal.ndjson").read_bytes()
        except FileNotFoundError:
            return []
        found = []
        for line in raw.splitlines():
            try:
                found.append(JournalLine.model_validate_json(line))
            except ValidationError:
                continue
        return found

    def save_before(
        self, identity: str, snapshot: dict[str, Any], found: Mapping[str, str] = MappingProxyType({})
    ) -> None:
        """Put the settings of the server ``identity`` on disk, before the first change.

        ``found`` are those that the sweep tries, as people write them: for the reader of the journal alone.
        """
        replace_file(self.before, json.dumps({"identity": identity, "snapshot": snapshot}).encode(), mode=0o600)
        sync_folder(self.path)
        self.append(Step.SETTINGS_SAVED, identity=identity, found=dict(found))

    def read_before(self) -> dict[str, Any]:
        """The snapshot in ``before.json``. Raises ``DamagedResult``."""
        try:
            return dict(json.loads(self.before.read_bytes())["snapshot"])
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise DamagedResult(f"{self.before} cannot be read, so the settings are not restored: {error}") from None


class SweepState:
    """Where a sweep stands, from its journal; ``broken_off`` is the line that says why it ended before its end.

    ``found`` are the settings that it tries as it found them, ``restored`` is the line that says they are back.
    """

    def __init__(self, journal: list[JournalLine]) -> None:
        self.runs: dict[int, JournalLine] = {}
        self.decisions: list[JournalLine] = []
        self.identity: str | None = None
        self.broken_off: JournalLine | None = None
        self.found: dict[str, str] = {}
        self.restored: JournalLine | None = None
        self._process: tuple[int, str] | None = None
        self.changed = self.data_kept = self.finished = False
        for line in journal:
            self._take(line)

    def _take(self, line: JournalLine) -> None:
        match line.step:
            case Step.STARTED:
                self._process = int(line.details.get("pid", 0)), str(line.details.get("birth"))
                self.broken_off = None
            case Step.STOPPED | Step.FAILED:
                self.broken_off, self._process = line, None
            case Step.SETTINGS_SAVED:
                self.changed, self.identity = True, str(line.details.get("identity"))
                self.found, self.restored = dict(line.details.get("found", {})), None
            case Step.SETTINGS_RESTORED:
                self.changed, self.restored = False, line
            case Step.DATA_KEPT:
                self.data_kept = True
            case Step.DATA_RESTORED:
                self.data_kept = False
            case Step.NOTED:
                pass
            case Step.EXTENDED:
                self.finished = False
            case Step.LOOKED | Step.WINNERS_CHOSEN:
                self.decisions.append(line)
            case Step.SWEEP_FINISHED:
                self.finished, self._process = True, None
            case Step.RUN_DISCARDED:
                self.runs.pop(line.number or 0, None)
            case _:
                self.runs[line.number or 0] = line

    @property
    def executed_by(self) -> int | None:
        """The process that executes the sweep now; None when it has ended, in whatever way."""
        pid, birth = self._process or (0, "")
        return pid if birth and birth_of(pid) == birth else None

    @property
    def open_run(self) -> JournalLine | None:
        """The run that was started and has no end in the journal."""
        return next((line for line in self.runs.values() if line.step is Step.RUN_STARTED), None)

    @property
    def ended(self) -> frozenset[int]:
        """The numbers of the planned runs that are finished or failed."""
        return frozenset(number for number, line in self.runs.items() if line.step is not Step.RUN_STARTED)


def sweep_folder(root: Path, sweep_id: str) -> SweepFolder:
    """The place of a sweep under the folder of all results; it need not exist."""
    return SweepFolder(root / "sweeps" / sweep_id)


def sweep_folders(root: Path) -> Iterator[SweepFolder]:
    """Every sweep under ``root``, newest first; foreign files are passed over."""
    for path in sorted((root / "sweeps").glob("*/plan.json"), reverse=True):
        yield SweepFolder(path.parent)


def find_sweep(root: Path, sweep_id: str) -> SweepFolder:
    """The sweep with this id, or with the only id that begins or ends so; ``last`` is the newest.

    Raises ``InputError`` when there is none, or more than one.
    """
    ids = [one.sweep_id for one in sweep_folders(root)]
    return sweep_folder(root, only_match(ids, sweep_id, "sweep", str(root / "sweeps")))


def unrestored(root: Path, identity: str) -> list[SweepFolder]:
    """The sweeps that changed the server ``identity`` and never brought it back, newest first."""
    states = ((folder, SweepState(folder.journal())) for folder in sweep_folders(root))
    return [folder for folder, state in states if state.identity == identity and state.changed]


@contextmanager
def only_sweep(root: Path, identity: str) -> Iterator[None]:
    """Hold the server ``identity`` for one sweep; the lock ends with the process, however it ends.

    Raises ``InputError`` while another sweep of the same results folder holds it.
    """
    folder = make_folder(root / "sweeps" / ".locks", exist_ok=True)
    with (folder / hashlib.sha256(identity.encode()).hexdigest()[:16]).open("ab") as file:
        if not _locked(file):
            raise InputError(f"another sweep is running on {identity}; wait for its end or stop it")
        yield


def _locked(file: IO[bytes]) -> bool:
    """Whether nobody else holds it, or not for longer than one that has told its end takes to end."""
    deadline = time.monotonic() + _ENDING_S
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                return False
            time.sleep(0.05)
        else:
            return True


class _Planned(BaseModel):
    number: int
    block: int
    configuration: int
    virtual_users: int
    fresh: bool = False


class _Grid(BaseModel):
    """What the frame needs of a plan."""

    configurations: tuple[dict[str, str], ...] = Field(min_length=1)
    runs: tuple[_Planned, ...]

    @model_validator(mode="after")
    def _known(self) -> _Grid:
        for planned in self.runs:
            if not 0 <= planned.configuration < len(self.configurations):
                raise ValueError(f"run {planned.number} is of the unknown configuration {planned.configuration}")
        return self


def runs_frame(folder: SweepFolder) -> pd.DataFrame:
    """The planned runs of a sweep, one row each in their order, with what became of them.

    ``status`` is ``planned``, ``running``, ``done``, ``ended early``, ``failed`` or ``missing`` (its folder was
    removed); ``nopm`` is NaN unless done or ended early, and then of the shorter window; ``note`` says why a run
    failed or ended early; ``checks_failed`` is a tuple of the names of the checks that did not pass in a run that
    is done. One more column for each setting.

    Raises ``DamagedResult`` when the plan is missing or spoilt.
    """
    plan = folder.read_plan(_Grid)
    state = SweepState(folder.journal())
    rows = []
    for planned in plan.runs:
        outcome = _outcome(folder.root, state.runs.get(planned.number))
        rows.append(planned.model_dump() | outcome | plan.configurations[planned.configuration])
    names = list(plan.configurations[0])
    return pd.DataFrame(rows, columns=[*RUN_COLUMNS, *names])


def _outcome(root: Path, line: JournalLine | None) -> dict[str, Any]:
    empty: dict[str, Any] = {"run_id": line.run_id if line else "", "metric_value": float("nan"), "note": ""}
    empty["checks_failed"] = ()
    if line is None:
        return empty | {"status": "planned"}
    if line.step is Step.RUN_STARTED:
        return empty | {"status": "running"}
    if line.step is Step.RUN_FAILED:
        return empty | {"status": "failed", "note": line.note}
    try:
        manifest = RunFolder(root / line.run_id).read()
    except DamagedResult as error:
        return empty | {"status": "missing", "note": str(error)}
    metric_value = manifest.result.get("metric_value")
    throughput = float("nan") if metric_value is None else float(metric_value)
    if line.step is Step.RUN_ENDED_EARLY:
        return empty | {"status": ENDED_EARLY, "metric_value": throughput, "note": line.note}
    checks = tuple(check.name for check in manifest.checks if check.passed is False)
    return empty | {"status": str(manifest.status), "metric_value": throughput, "checks_failed": checks}


def _ends_a_line(descriptor: int, size: int) -> bool:
    return os.pread(descriptor, 1, size - 1) == b"\n"
