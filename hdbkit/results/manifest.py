"""The manifest of a run: plan, environment, history and results."""

from __future__ import annotations

import hashlib
import json
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, model_validator

from hdbkit.config.metric import DetailChart, Metric
from hdbkit.results import version_1
from hdbkit.results.columns import FORMAT_VERSION


class Status(StrEnum):
    """The status of a run. The last four are final."""

    STARTING = "starting"
    RAMPUP = "rampup"
    MEASURING = "measuring"
    FINISHING = "finishing"
    DONE = "done"
    STOPPED = "stopped"  # early, on request or for the reason in `ended_early`; measured data is kept
    FAILED = "failed"
    ABANDONED = "abandoned"  # its supervisor died; `hdbkit recover` completes the run

    @property
    def ended(self) -> bool:
        """Whether the status is final."""
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
    """One check of a result: passed, failed, or undecided (None)."""

    model_config = ConfigDict(extra="ignore")
    name: str
    passed: bool | None
    detail: str


class Phase(BaseModel):
    """A phase of a run with its times in microseconds since the run's start; None: it did not start or end."""

    model_config = ConfigDict(extra="ignore")
    name: str
    measured: bool
    start_us: int | None = None
    end_us: int | None = None


class Manifest(BaseModel):
    """``manifest.json``: written by the supervisor, and later by ``Result.tag`` and ``note``."""

    model_config = ConfigDict(extra="ignore")
    format_version: int = FORMAT_VERSION
    run_id: str
    notice: str
    status: Status
    history: list[Event] = Field(default_factory=list)
    plan: dict[str, Any]
    operations: list[str] = Field(description="names; the table of operations has their indexes")
    mix: dict[str, float] = Field(default_factory=dict, description="planned weights of operations; empty: no mix")
    rollback_shares: dict[str, float] = Field(
        default_factory=dict, description="share of an operation that is rolled back by design"
    )
    details: dict[str, str] = Field(default_factory=dict, description="detail columns and their Arrow types")
    metric: Metric
    paced: bool = Field(default=False, description="users have keying and think times between operations")
    workload_title: str = Field(default="", description="name of the workload for readers")
    noun: str = Field(default="operation", description="the workload's term for an operation: transaction, query")
    scale: str = Field(default="", description="the size of the schema: 100 branches")
    detail_charts: list[DetailChart] = Field(default_factory=list)
    phases: list[Phase] = Field(default_factory=list)
    command: str = Field(default="", description="the command that repeats the run")
    software: dict[str, str] = Field(default_factory=dict)
    host: dict[str, Any] = Field(default_factory=dict)
    server: dict[str, Any] = Field(default_factory=dict)
    supervisor_pid: int | None = None
    ended_early: str = Field(default="", description="why it ended early by itself; empty if it did not")
    clock: Clock | None = None
    result: dict[str, Any] = Field(default_factory=dict, description="analysis.summary.summarize")
    checks: list[CheckLine] = Field(default_factory=list)
    tags: list[str] = Field(default_factory=list)
    note: str = ""

    @model_validator(mode="before")
    @classmethod
    def _of_any_version(cls, content: Any) -> Any:
        if isinstance(content, dict) and content.get("format_version") == 1:
            return version_1.upgraded(content)
        return content

    @property
    def headline(self) -> str:
        """The operation whose latency is shown first: the first operation of the metric."""
        return next(iter([*self.metric.operations, *self.operations]), "")

    @property
    def schema_facts(self) -> dict[str, Any]:
        """The specification of the schema as flat values: options of the engine among them, defaults omitted.

        A value that contains a definition, such as SQL texts, is replaced by a digest. The folder of a definition is
        omitted: it is where the definition was read, and no part of the work.
        """
        found: dict[str, Any] = {}
        workload = self.plan.get("workload", {})
        for name, value in workload.items():
            if name == "folder" and "definition" in workload:
                continue
            if name == "storage" and isinstance(value, dict):
                found |= value
            elif isinstance(value, dict) and any(isinstance(one, dict | list) for one in value.values()):
                found[name] = f"sha256 {hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:12]}"
            elif value:
                found[name] = value
        return found

    def moved_to(self, status: Status, note: str = "") -> Manifest:
        """The manifest with a new status and one more event in its history."""
        event = Event(status=status, at=datetime.now(UTC), note=note)
        return self.model_copy(update={"status": status, "history": [*self.history, event]})
