"""The folder of a job: what was asked, which process does it, how far it is, how it ended. Readable at any moment.

    job.json       the request, the holder of its token and the process; written before the process begins
    progress.json  the present run or sweep, and what is being done
    result.json    the document that the verb returned
    outcome.json   how the job ended; written last
    errors.txt     what the process wrote to its standard error

A job without an outcome whose process has ended was killed.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from hdbkit.api import Running
from hdbkit.errors import DamagedResult
from hdbkit.experiment import ExperimentEvent
from hdbkit.files import read_bytes, replace_file
from hdbkit.paths import Inside
from hdbkit.processes import birth_of

JOBS = "jobs"
"""The folder in the results folder that has the jobs."""


Record = TypeVar("Record", bound=BaseModel)


class State(StrEnum):
    """The state of a job."""

    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    STOPPED = "stopped"
    KILLED = "killed"


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True)


class JobRequest(_Record):
    """What was asked, by whom and when, and the process that does it: its id and birth."""

    job_id: str
    verb: str
    request: dict[str, Any]
    holder: str
    created: datetime
    pid: int
    birth: str


class _Progress(_Record):
    """How far a job is: its present run, its sweep, and what is being done."""

    run_id: str = ""
    experiment_id: str = ""
    doing: str = ""


class _Outcome(_Record):
    """How a job ended; ``error`` is one sentence if it failed."""

    state: State
    ended: datetime
    error: str = ""


class Job(BaseModel):
    """A job."""

    model_config = ConfigDict(frozen=True, json_schema_serialization_defaults_required=True)

    job_id: str = Field(examples=["20261124T024500-run-1a2b3c"])
    verb: str = Field(examples=["run"])
    state: State
    request: dict[str, Any] = Field(description="the request as it was sent")
    holder: str = Field(description="the name of the token that started it")
    created: datetime
    ended: datetime | None = Field(default=None, description="when it ended; for a killed job, null")
    error: str = Field(default="", description="why it failed; empty if it did not")
    run_id: str = Field(default="", description="its present or last run")
    experiment_id: str = ""
    doing: str = Field(default="", description="what is being done")

    @property
    def words(self) -> str:
        """What a search finds it by."""
        found = (self.job_id, self.verb, self.state.value, self.holder, self.error, self.run_id, self.experiment_id)
        return " ".join((*found, json.dumps(self.request, ensure_ascii=False))).lower()


Signs = tuple[bool | tuple[int, int], ...]
"""Whether a job's process is there, and the time and node of files that change."""


def _state_of(file: Path) -> tuple[int, int]:
    try:
        found = file.stat()
    except FileNotFoundError:
        return 0, 0
    return found.st_mtime_ns, found.st_ino


class JobFolder:
    """A folder of the jobs of a results folder."""

    result_file = Inside("result.json")
    """The file with the document that the verb returned."""
    errors_file = Inside("errors.txt")
    """What the process wrote to its standard error."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def asked(self) -> JobRequest:
        """The request and its process. Raises ``DamagedResult``."""
        return self._read("job.json", JobRequest)

    @property
    def progress(self) -> _Progress:
        """How far it is."""
        return self._read("progress.json", _Progress) if (self.path / "progress.json").is_file() else _Progress()

    @property
    def outcome(self) -> _Outcome | None:
        """How it ended; None if it has not, or was killed."""
        return self._read("outcome.json", _Outcome) if (self.path / "outcome.json").is_file() else None

    def note(self, record: JobRequest | _Progress | _Outcome) -> None:
        """Write a record, whole or not at all."""
        names = {JobRequest: "job.json", _Progress: "progress.json", _Outcome: "outcome.json"}
        replace_file(self.path / names[type(record)], record.model_dump_json().encode(), mode=0o600)

    def end(self, state: State, error: str = "") -> None:
        """Note how the job ended."""
        self.note(_Outcome(state=state, ended=datetime.now(UTC), error=error))

    def signs(self, asked: JobRequest) -> Signs:
        """What differs when the job does: the job's files, and whether its process is there."""
        is_alive = birth_of(asked.pid) == asked.birth  # before the files, which it may write meanwhile
        return is_alive, *(_state_of(self.path / name) for name in ("progress.json", "outcome.json"))

    def read(self) -> Job:
        """The job as it is now. Raises ``DamagedResult``."""
        asked = self.asked
        is_alive = birth_of(asked.pid) == asked.birth  # read before the outcome, which it may write meanwhile
        outcome, progress = self.outcome, self.progress
        state = outcome.state if outcome else State.RUNNING if is_alive else State.KILLED
        return Job(
            **asked.model_dump(exclude={"pid", "birth"}),
            **progress.model_dump(),
            state=state,
            ended=outcome.ended if outcome else None,
            error=outcome.error if outcome else "",
        )

    def _read(self, name: str, model: type[Record]) -> Record:
        try:
            return model.model_validate_json(read_bytes(self.path / name))
        except (OSError, ValidationError):
            raise DamagedResult(f"the job's file {self.path / name} is missing or damaged") from None


class JobCourse:
    """Notes the course of a job in its folder where it changes."""

    def __init__(self, folder: JobFolder) -> None:
        self._folder, self._now = folder, _Progress()

    def run(self, running: Running) -> None:
        """Note the present run."""
        self._note(run_id=running.run_id)

    def experiment(self, event: ExperimentEvent) -> None:
        """Note a step of an experiment."""
        done = f"run {event.planned.number} of {event.total}: " if event.planned else ""
        self._note(doing=f"{done}{event.note or event.kind.value}")

    def say(self, line: str) -> None:
        """Note what is being done."""
        self._note(doing=line)

    def _note(self, **changes: str) -> None:
        new = self._now.model_copy(update=changes)
        if new != self._now:
            self._now = new
            self._folder.note(new)
