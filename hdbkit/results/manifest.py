"""The manifest of a run: what was planned, on what, how it went, and what came out of it."""

from __future__ import annotations

from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from hdbkit.results.columns import FORMAT_VERSION


class Status(StrEnum):
    """The life of a run. The last four are ends."""

    STARTING = "starting"
    RAMPUP = "rampup"
    MEASURING = "measuring"
    FINISHING = "finishing"
    DONE = "done"
    STOPPED = "stopped"  # before its time, on request or as `ended_early` tells; what was measured is kept
    FAILED = "failed"
    ABANDONED = "abandoned"  # its supervisor died; `hdbkit recover` completes it

    @property
    def ended(self) -> bool:
        """Whether nothing more will happen to the run."""
        return self in (Status.DONE, Status.STOPPED, Status.FAILED, Status.ABANDONED)


class Event(BaseModel):
    """A change of status and its wall time."""

    model_config = ConfigDict(extra="ignore")
    status: Status
    at: datetime
    note: str = ""


class Clock(BaseModel):
    """The run's start on both clocks, and the measured window in microseconds since it."""

    model_config = ConfigDict(extra="ignore")
    start_monotonic_ns: int
    start_wall: datetime
    window_start_us: int | None = None
    window_end_us: int | None = None


class CheckLine(BaseModel):
    """One check of a result: passed, failed, or not decided (None)."""

    model_config = ConfigDict(extra="ignore")
    name: str
    passed: bool | None
    detail: str


class Manifest(BaseModel):
    """``manifest.json``: read by anybody; written by the supervisor, and then by ``Result.tag`` and ``note``."""

    model_config = ConfigDict(extra="ignore")
    format_version: int = FORMAT_VERSION
    run_id: str
    notice: str
    status: Status
    history: list[Event] = Field(default_factory=list)
    plan: dict[str, Any]
    operations: list[str]
    counted: str
    command: str = Field(default="", description="the command that repeats the run")
    software: dict[str, str] = Field(default_factory=dict)
    host: dict[str, Any] = Field(default_factory=dict)
    server: dict[str, Any] = Field(default_factory=dict)
    supervisor_pid: int | None = None
    ended_early: str = Field(default="", description="why it ended before its time by itself; empty: it did not")
    clock: Clock | None = None
    result: dict[str, Any] = Field(default_factory=dict, description="analysis.summary.summarize")
    checks: list[CheckLine] = Field(default_factory=list)
    tags: list[str] = Field(default_factory=list)
    note: str = ""

    def moved_to(self, status: Status, note: str = "") -> Manifest:
        """The manifest with a new status and one more line of history."""
        event = Event(status=status, at=datetime.now(UTC), note=note)
        return self.model_copy(update={"status": status, "history": [*self.history, event]})
