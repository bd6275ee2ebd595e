"""The manifest of a run: plan, environment, history and results."""

from __future__ import annotations

import hashlib
import json
from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated, Any

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PlainSerializer,
    PlainValidator,
    ValidationInfo,
    WithJsonSchema,
    field_validator,
)
from pydantic_core import PydanticCustomError

from hdbkit.caution import Caution, Kind
from hdbkit.config.metric import DetailChart, Measure, Metric
from hdbkit.errors import DamagedResult
from hdbkit.plan import RunPlan
from hdbkit.results.columns import FORMAT_VERSION
from hdbkit.results.run_result import RunResult


def _warned(given: Any) -> Caution:
    """A warning of a manifest: its text and the word of its kind, which a newer version may have added."""
    if isinstance(given, str):
        return Caution.of(given)
    if not isinstance(given, dict) or not isinstance(given.get("text"), str):
        raise ValueError("must be a text and its kind")
    return Caution(given["text"], next((one for one in Kind if one.value == given.get("kind")), Kind.OTHER))


WarningOfKind = Annotated[
    str,
    PlainValidator(_warned),
    PlainSerializer(lambda one: {"text": str(one), "kind": Caution.of(one).kind.value}),
    WithJsonSchema(
        {
            "type": "object",
            "properties": {"text": {"type": "string"}, "kind": {"type": "string"}},
            "required": ["text", "kind"],
        }
    ),
]
"""A warning as manifests have it: a :class:`hdbkit.caution.Caution`."""


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

    model_config = ConfigDict(extra="ignore", allow_inf_nan=False)
    status: Status
    at: datetime
    note: str = ""


_MAX_US = 100 * 86_400 * 1_000_000
"""Longer than any run: charts and checks have a part for each second of a window."""


class Clock(BaseModel):
    """The run's start on both clocks, and the measured window in microseconds since it."""

    model_config = ConfigDict(extra="ignore", allow_inf_nan=False)
    start_monotonic_ns: int
    start_wall: datetime
    window_start_us: int | None = Field(default=None, ge=0, le=_MAX_US)
    window_end_us: int | None = Field(default=None, ge=0, le=_MAX_US)


class CheckLine(BaseModel):
    """One check of a result: passed, failed, or undecided (None)."""

    model_config = ConfigDict(extra="ignore", allow_inf_nan=False)
    name: str
    passed: bool | None
    detail: str


class Phase(BaseModel):
    """A phase of a run with its times in microseconds since the run's start; None: it did not start or end."""

    model_config = ConfigDict(extra="ignore", allow_inf_nan=False)
    name: str
    measured: bool
    start_us: int | None = None
    end_us: int | None = None


class FaultLine(BaseModel):
    """A fault that the run caused, with its times in microseconds since the run's start; ``error``: why it failed.

    It is in effect from ``effective_us`` on, once all processes are killed, for example, and is undone from
    ``undo_us`` to ``end_us``.
    """

    model_config = ConfigDict(extra="ignore", allow_inf_nan=False)
    fault: str
    start_us: int
    effective_us: int | None = None
    undo_us: int | None = None
    end_us: int | None = None
    error: str = ""


class LoadHostLine(BaseModel):
    """A load host of a run on several: its users, its clock against the coordinator's, and whether it was lost."""

    model_config = ConfigDict(extra="ignore", allow_inf_nan=False)
    number: int
    name: str
    cores: int
    machine: str = Field(default="", description="identity of the machine: several load hosts may share one")
    first_client: int
    clients: int
    users: int
    offset_ms: float = Field(description="how far its monotonic clock was ahead of the coordinator's at first")
    uncertainty_ms: float = Field(description="by how much its converted times may be wrong")
    drift_ppm: float
    first_operation_ms: float | None = Field(
        default=None, description="from the common start to its first operation; None: none began"
    )
    cut_offs: int = Field(default=0, description="how often it could not be reached")
    cut_off_s: float = 0.0
    is_cut_off: bool = Field(default=False, description="it was cut off at the end")
    is_complete: bool = Field(default=True, description="all of its files were collected")
    messages: int = 0
    message_bytes: int = 0


class _Facts(BaseModel):
    model_config = ConfigDict(extra="ignore", allow_inf_nan=False, frozen=True)

    @property
    def known(self) -> dict[str, Any]:
        """The facts that are known, by name."""
        return self.model_dump(exclude_none=True)


class ServerFacts(_Facts):
    """What the server reported about itself at the start."""

    kind: str | None = None
    title: str | None = None
    version: str | None = None
    pooler: str | None = None
    role: str | None = Field(default=None, description="its role in a replication; None: primary or none")
    replicas: str | None = Field(default=None, description="addresses of the replicas that the load reads")
    nodes: str | None = Field(default=None, description="addresses of the nodes that the load uses")
    cache: str | None = Field(default=None, description="the setting with the size of its cache")
    cache_bytes: int | float | None = None
    on_this_host: bool | None = Field(default=None, description="it runs on the host of the clients")
    idle_timeout_s: float | None = Field(default=None, description="when it ends idle sessions of the load")
    idle_timeout: str | None = Field(default=None, description="the sentence about that timeout")


class HostFacts(_Facts):
    """The host of the clients."""

    name: str | None = None
    boot_id: str | None = None
    system: str | None = None
    processor: str | None = None
    cores: int | None = None
    memory_bytes: int | None = None
    machine: str | None = Field(default=None, description="vendor and model; in a cloud often the instance type")
    storage: str | None = Field(default=None, description="disks with model and size")
    network: str | None = Field(default=None, description="network interfaces with driver and speed")
    load_1min_at_start: float | None = None


class NetworkFacts(_Facts):
    """The way between client and server, measured before the run."""

    round_trip_ms: float | None = Field(default=None, description="median time of a question of one row")
    bandwidth_mb_per_s: float | None = Field(
        default=None, description="by an answer of 1 or 8 MiB, which the server makes and the driver reads"
    )


class Annotation(_Facts):
    """What somebody noted at a time of the run, in seconds since its start."""

    time_s: float
    text: str


class Manifest(BaseModel):
    """``manifest.json``: written by the supervisor, and later by ``Result.tag`` and ``note``."""

    model_config = ConfigDict(extra="ignore", allow_inf_nan=False, frozen=True)
    format_version: int = FORMAT_VERSION
    run_id: str
    notice: str
    status: Status
    history: list[Event] = Field(default_factory=list)
    plan: RunPlan
    operations: list[str] = Field(description="names; the table of operations has their indexes")
    mix: dict[str, float] = Field(default_factory=dict, description="planned weights of operations; empty: no mix")
    rollback_shares: dict[str, float] = Field(
        default_factory=dict, description="share of an operation that is rolled back by design"
    )
    details: dict[str, str] = Field(default_factory=dict, description="detail columns and their Arrow types")
    metric: Metric
    paced: bool = Field(
        default=False, description="operations have a scheduled start: keying and thinking times, or an open loop"
    )
    rate_per_s: float | None = Field(
        default=None, description="the planned operations per second of an open loop; none: closed loop"
    )
    workload_title: str = Field(default="", description="name of the workload for readers")
    noun: str = Field(default="operation", description="the workload's term for an operation: transaction, query")
    scale: str = Field(default="", description="the size of the schema: 100 branches")
    size: float | None = Field(default=None, description="the scale as a number, where the workload has one")
    detail_charts: list[DetailChart] = Field(default_factory=list)
    lists: list[tuple[list[str], int]] = Field(
        default_factory=list,
        description="of each virtual user its list of operations and how often it executes that; empty: drawn",
    )
    phases: list[Phase] = Field(default_factory=list)
    command: str = Field(default="", description="the command that repeats the run")
    measured_by: str = Field(
        default="", description="the tool that measured the run; empty: hdbkit. Another tool's have no records"
    )
    software: dict[str, str] = Field(default_factory=dict)
    host: HostFacts = HostFacts()
    server: ServerFacts = ServerFacts()
    network: NetworkFacts = NetworkFacts()
    load_hosts: list[LoadHostLine] = Field(
        default_factory=list, description="empty: the host of the supervisor alone"
    )
    supervisor_pid: int | None = None
    ended_early: str = Field(default="", description="why it ended early by itself; empty if it did not")
    warnings: list[WarningOfKind] = Field(
        default_factory=list, description="what was wrong with schema and load before the run, and with its faults"
    )
    doing: str = Field(default="", description="what is being done at the end of the run, while it lasts")
    clock: Clock | None = None
    result: RunResult | None = Field(default=None, description="None: there is no measured window")
    checks: list[CheckLine] = Field(default_factory=list)
    faults: list[FaultLine] = Field(default_factory=list, description="faults that the run caused on purpose")
    tags: list[str] = Field(default_factory=list)
    note: str = ""
    annotations: list[Annotation] = Field(default_factory=list, description="notes by hand at times of the run")

    @field_validator("metric")
    @classmethod
    def _of_known_operations(cls, metric: Metric, info: ValidationInfo) -> Metric:
        """A run that hdbkit only watched names no operations."""
        operations = info.data.get("operations")
        if operations and (missing := [name for name in metric.operations if name not in operations]):
            raise PydanticCustomError("unknown", "it counts {name}, which is not in operations", {"name": missing[0]})
        return metric

    @field_validator("result", mode="before")
    @classmethod
    def _empty_is_none(cls, content: Any) -> Any:
        return None if content == {} else content

    @property
    def pauses(self) -> bool:
        """Whether users pause between operations: by their schedule, or in the slices of the other side."""
        return self.paced or self.plan.side_slices is not None

    @property
    def measured(self) -> RunResult:
        """The result. Raises ``DamagedResult`` if there is none."""
        if self.result is None:
            raise DamagedResult(f"run {self.run_id} has no result: it has no measured window")
        return self.result

    @property
    def metric_value(self) -> float | None:
        """The value of the metric; None if it is unknown."""
        return None if self.result is None else self.result.metric_value

    @property
    def compared_value(self) -> float | None:
        """The value of the metric for ratios: a rate of 0 counts as half an operation, which has a logarithm."""
        value = self.metric_value
        if value == 0 and self.metric.measure is Measure.RATE:
            seconds = self.measured.measured_s or self.measured.window_s
            return 0.5 * self.metric.per_s / seconds if seconds else None
        return value

    @property
    def planned(self) -> list[str]:
        """The operations that the users execute: those with a weight in the mix, or all where there is none."""
        return [name for name in self.operations if self.mix.get(name)] or self.operations

    @property
    def of_metric(self) -> list[str]:
        """The operations that the metric includes."""
        return [*self.metric.operations] or self.planned

    @property
    def headline(self) -> str:
        """The operation whose latency is shown first: the first one of the metric."""
        return next(iter(self.of_metric), "")

    @property
    def one_by_one(self) -> bool:
        """Whether the users execute lists: results show every execution instead of quantiles and rates."""
        return bool(self.lists)

    @property
    def is_open(self) -> bool:
        """Whether the run is an open loop, whose latencies are judged by response time."""
        return self.rate_per_s is not None

    @property
    def schema_facts(self) -> dict[str, Any]:
        """The specification of the schema as flat values: options of the engine among them, defaults omitted.

        A value that contains a definition, such as SQL texts, is replaced by a digest. The folder of a definition is
        omitted: it is where the definition was read, and no part of the work.
        """
        found: dict[str, Any] = {}
        workload = self.plan.workload.model_dump(mode="json")
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
