"""Load options that all workloads share: users, phases, seed, timeouts. Times are in seconds.

Each workload extends this model with its own options, such as a mix.
"""

from __future__ import annotations

import math
from enum import StrEnum
from typing import Annotated, Any, ClassVar, Self, TypeVar

from pydantic import Field, ValidationInfo, field_validator, model_validator

from hdbkit.config.cluster import FORMS, Cluster, CutOff
from hdbkit.config.fault import Fault, Faults
from hdbkit.config.model import ConfigModel
from hdbkit.config.routing import POLICIES, Policy, Routing
from hdbkit.config.steps import Steps
from hdbkit.text import exact_number

Option = TypeVar("Option")
MAX_USERS = 100_000
MAX_SESSIONS = 100_000
"""The maximum number of connections of one run."""
WINDOW = frozenset({"rampup_s", "rampup_max_s", "duration_s"})
"""Options that mean nothing where users execute lists, whose end is the end of the run."""
_ALONE: dict[str, Any] = {"of_a_run_alone": True}
Alone = Annotated[Option, Field(json_schema_extra=_ALONE)]
"""An option that does not change what an operation costs the server."""
_SAME_S = 1e-6


class Isolation(StrEnum):
    """Isolation level of the transactions, as named in the SQL standard."""

    READ_COMMITTED = "read_committed"
    REPEATABLE_READ = "repeatable_read"
    SERIALIZABLE = "serializable"


class Cache(StrEnum):
    """State of the server's cache when a run starts."""

    WARM = "warm"
    FLUSH = "flush"
    RESTART = "restart"
    COLD = "cold"


class Arrivals(StrEnum):
    """How the operations of an open loop follow each other: at random and independently, or evenly."""

    POISSON = "poisson"
    UNIFORM = "uniform"


class RateOf(StrEnum):
    """What the rate of an open loop counts: all operations, or those of the metric that are not rolled back."""

    OPERATIONS = "operations"
    METRIC = "metric"


class Waits(StrEnum):
    """Waits as the server reports them by default, or with those that it records on request."""

    BASIC = "basic"
    FULL = "full"


class Profile(StrEnum):
    """What samples the stacks of the server's and the clients' processes in the window."""

    NONE = "none"
    PERF = "perf"


CACHE_STATES = (
    "warm: unchanged, flush: emptied by the server's own command, restart: emptied by a restart, "
    "cold: the page cache of the server's host as well"
)


class Load(ConfigModel):
    """How a workload runs.

    Each workload has a subclass with its own options; ``hdbkit.config.load_from`` reads any.

    Example:
        >>> Load(virtual_users=8, rampup_s=30, duration_s=120).virtual_users
        8
    """

    noun: ClassVar[str] = "the load"

    virtual_users: Alone[int] = Field(
        default=1, ge=1, le=MAX_USERS, description="number of virtual users, each with one connection"
    )
    users_per_process: Alone[int] = Field(
        default=1,
        ge=1,
        le=MAX_USERS,
        description="virtual users per client process; several by default where each has sessions that key and think",
    )
    sessions_per_user: Alone[int] = Field(
        default=1,
        ge=1,
        le=MAX_USERS,
        description="sessions of a virtual user, each a connection that executes operations like a user of its own",
    )
    cluster: Alone[Cluster | None] = Field(
        default=None, description=f"load hosts that share the virtual users: {FORMS}; none: this host alone"
    )
    cut_off_hosts: Alone[CutOff] = Field(
        default=CutOff.CONTINUE,
        description="what users of a load host do that is cut off from the others: continue or stop",
    )
    start_delay_ms: Alone[int | None] = Field(
        default=None,
        ge=0,
        le=60_000,
        description="milliseconds between the starts of users, before the ramp-up; none: the workload's own, 0",
    )
    connect_rate: Alone[float | None] = Field(
        default=None,
        gt=0,
        le=1e6,
        description="logins per second of all users together, before the start; none: as fast as possible",
    )
    connect_per_operation: bool = Field(
        default=False, description="open a new connection for each operation; response time contains the login"
    )
    rampup_s: Alone[float] = Field(
        default=120, ge=0, le=86_400, description="ramp-up before the measured window, in seconds"
    )
    rampup_max_s: Alone[float] = Field(
        default=0,
        ge=0,
        le=86_400,
        description="extend the ramp-up to at most this many seconds while full-page writes subside; 0: off",
    )
    duration_s: Alone[float] = Field(default=300, gt=0, le=604_800, description="measured window, in seconds")
    iterations: Alone[int | None] = Field(
        default=None, ge=1, description="maximum number of operations per virtual user"
    )
    keying_and_thinking: Alone[bool] = Field(
        default=False, description="wait for the keying and thinking times of the workload between operations"
    )
    keying_scale: Alone[float] = Field(default=1, ge=0, le=1000, description="factor of all keying times")
    thinking_scale: Alone[float] = Field(default=1, ge=0, le=1000, description="factor of all thinking times")
    rate: Alone[float | None] = Field(
        default=None,
        gt=0,
        le=1e7,
        description="open loop: operations per second of all users together; none: closed loop",
    )
    rate_of: Alone[RateOf] = Field(
        default=RateOf.OPERATIONS, description="what the rate counts: all operations, or those of the metric"
    )
    arrivals: Alone[Arrivals] = Field(
        default=Arrivals.POISSON,
        description="how the operations of an open loop follow each other: at random (poisson), or evenly (uniform)",
    )
    latency_limit_ms: Alone[float] = Field(
        default=0,
        ge=0,
        le=3_600_000,
        description="open loop: skip operations that could only start later than this; 0: none",
    )
    steps: Steps | None = Field(
        default=None,
        description="the window in steps of a rate or of active users: '60 s at 100/s; 60 s from 100 to 500/s'",
        json_schema_extra={**_ALONE, "anyOf": [{"type": "string"}, {"type": "array"}, {"type": "null"}]},
    )
    isolation: Isolation | None = Field(default=None, description="isolation level; none: the server's default")
    statement_timeout_ms: int = Field(default=0, ge=0, description="statement timeout; 0: none")
    lock_timeout_ms: int = Field(default=0, ge=0, description="lock timeout; 0: none")
    parallel_workers: int | None = Field(
        default=None,
        ge=0,
        le=1024,
        description="maximum number of parallel workers that help with a query; none: the server's default",
    )
    max_retries: int = Field(
        default=10, ge=0, le=255, description="retries after a deadlock or serialization failure"
    )
    raise_error: bool = Field(default=False, description="stop the run at the first failed operation")
    reconnect: bool = Field(
        default=True, description="open a lost connection again, with growing pauses; otherwise stop the run"
    )
    counter_interval_s: Alone[float] = Field(
        default=5, ge=0.1, description="seconds between samples of the server's counters"
    )
    waits_hz: Alone[float] = Field(
        default=10, ge=0, le=50, description="samples per second of what the server's sessions wait for; 0: none"
    )
    waits: Waits = Field(
        default=Waits.BASIC,
        description="basic: what the server reports as it is; full: MariaDB and MySQL with the instruments of their "
        "performance_schema, enabled for the run; Oracle by ASH, which needs a licence of the Diagnostics Pack",
    )
    traceparent_share: float = Field(
        default=0, ge=0, le=1,
        description="share of the operations whose statements carry a W3C traceparent in a comment; they are sent "
        "unprepared",
    )  # fmt: skip
    slow_plans_ms: int = Field(
        default=0,
        ge=0,
        le=3_600_000,
        description="keep the plans, with their times, of statements that take at least so many milliseconds; "
        "PostgreSQL then times each step of all statements (auto_explain); 0: none",
    )
    profile: Profile = Field(
        default=Profile.NONE,
        description="sample the stacks of server and clients on this host; perf: by Linux's perf, 49 times a second",
    )
    analyze: bool = Field(
        default=False, description="update the optimizer's statistics of the workload's tables before the run"
    )
    read_only: bool = Field(
        default=False,
        description="run only the operations that read, as on a standby; their weights keep their ratio",
    )
    replica_reads: bool = Field(
        default=False, description="perform the operations that only read on the replicas of the target, in turn"
    )
    routing: Routing | None = Field(
        default=None,
        description=f"addresses of operations, such as 'round_robin' or 'payment: last; others: random'; {POLICIES}",
        json_schema_extra={"anyOf": [{"type": "string"}, {"type": "object"}, {"type": "null"}]},
    )
    cache: Cache = Field(default=Cache.WARM, description=f"server's cache before the run; {CACHE_STATES}")
    seed: Alone[int] = Field(
        default=1, ge=0, lt=2**63, description="seed of inputs and of the sequence of operations"
    )
    fault: Faults | None = Field(
        default=None, description="faults to cause in the window, separated by ;, such as 'kill server at 30 s'"
    )

    @model_validator(mode="before")
    @classmethod
    def _as_long_as_the_steps(cls, values: Any) -> Any:
        """Steps decide the length of the window, and how many users there are."""
        if not isinstance(values, dict) or not values.get("steps"):
            return values
        try:
            steps = Steps.read(values["steps"])
        except ValueError:
            return values  # reported by the field
        return {**by_steps(steps), **values, "steps": steps}

    @field_validator("fault")
    @classmethod
    def _faults_end_in_the_window(cls, faults: Faults | None, info: ValidationInfo) -> Faults | None:
        window_s = info.data.get("duration_s", math.inf)
        late = [one for one in faults.each if one.end_s >= window_s] if faults is not None else []
        if late:
            raise ValueError(f"'{late[0]}' is not over before the end of the window ({exact_number(window_s)} s)")
        return faults

    @model_validator(mode="after")
    def _one_schedule(self) -> Self:
        if self.sessions > MAX_SESSIONS:
            raise ValueError(
                f"{self.virtual_users} virtual users with {self.sessions_per_user} sessions each are {self.sessions} "
                f"sessions, but {MAX_SESSIONS} are the maximum"
            )
        if not self.is_open and self.latency_limit_ms:
            raise ValueError("latency_limit_ms needs a rate: a closed loop has no schedule to be late for")
        if self.is_open and self.keying_and_thinking:
            raise ValueError("rate and keying_and_thinking exclude each other: an open loop has its own schedule")
        return self

    @model_validator(mode="after")
    def _steps_agree(self) -> Self:
        steps = self.steps
        if steps is None:
            return self
        if abs(steps.total_s - self.duration_s) > _SAME_S:
            raise ValueError(f"the steps last {steps.total_s:g} s, not {self.duration_s:g} s; omit duration_s")
        if self.rampup_max_s:
            raise ValueError("steps begin at a fixed time; omit rampup_max_s")
        if steps.are_rates and self.rate is not None:
            raise ValueError("the steps have rates of their own; omit rate")
        if not steps.are_rates and steps.highest > self.virtual_users:
            raise ValueError(f"the steps have {steps.highest:g} users, but virtual_users is {self.virtual_users}")
        return self

    @model_validator(mode="after")
    def _one_policy(self) -> Self:
        if self.routing and self.replica_reads:
            raise ValueError("routing and replica_reads exclude each other; write 'replica' as an operation's policy")
        return self

    @model_validator(mode="after")
    def _logins_are_alone(self) -> Self:
        if not self.connect_per_operation:
            return self
        if self.keying_and_thinking:
            raise ValueError("connect_per_operation and keying_and_thinking exclude each other; give a rate instead")
        for name in ("replica_reads", "routing"):
            if getattr(self, name):
                raise ValueError(f"connect_per_operation and {name} exclude each other")
        if self.users_per_process * self.sessions_per_user > 1:
            raise ValueError(
                "with connect_per_operation each virtual user has its own process; omit "
                + ("users_per_process" if self.users_per_process > 1 else "sessions_per_user")
            )
        return self

    def with_(self, **changes: Any) -> Self:
        """The same load with some options changed, validated like a new one. Raises ``ConfigErrors``."""
        return type(self)(**{**self.given, **changes})

    @property
    def given(self) -> dict[str, Any]:
        """The options that were given, by name."""
        return {name: getattr(self, name) for name in self.model_fields_set}

    @property
    def sessions(self) -> int:
        """The number of sessions of all virtual users, each with a connection."""
        return self.virtual_users * self.sessions_per_user

    @property
    def clients(self) -> list[range]:
        """The sessions of each client process, by number."""
        sessions, each = self.sessions, self.users_per_process * self.sessions_per_user
        return [range(first, min(first + each, sessions)) for first in range(0, sessions, each)]

    @property
    def starting_s(self) -> float:
        """Seconds from the start of the first virtual user to that of the last."""
        return (self.virtual_users - 1) * (self.start_delay_ms or 0) / 1000

    def user_of(self, session: int) -> int:
        """The virtual user of a session; both count from 0."""
        return session // self.sessions_per_user

    def login_s(self, session: int) -> float:
        """Seconds from the start of the clients to the login of a session."""
        return session / self.connect_rate if self.connect_rate else 0.0

    @property
    def reads_replicas(self) -> bool:
        """Whether operations are performed on replicas."""
        return self.replica_reads or (self.routing is not None and Policy.REPLICA in self.routing.policies.values())

    @property
    def faults(self) -> tuple[Fault, ...]:
        """The faults that the run causes, in the order of their times."""
        return () if self.fault is None else self.fault.each

    @property
    def paced(self) -> bool:
        """Whether operations have a scheduled start or a login each, so that response time is not service time."""
        return self.keying_and_thinking or self.is_open or self.connect_per_operation

    @property
    def is_open(self) -> bool:
        """Whether operations begin at a rate, whatever the server does."""
        return self.rate is not None or (self.steps is not None and self.steps.are_rates)

    @property
    def without_effect(self) -> dict[str, str]:
        """Options that are given and have no effect, each with the option that it refines and that is missing."""
        refines = {
            "keying_scale": (self.keying_and_thinking, "keying_and_thinking"),
            "thinking_scale": (self.keying_and_thinking, "keying_and_thinking"),
            "cut_off_hosts": (self.cluster is not None, "a cluster"),
            "rate_of": (self.is_open, "a rate"),
            "arrivals": (self.is_open, "a rate"),
            "waits": (self.waits_hz > 0, "waits_hz"),
        }
        fields = type(self).model_fields
        return {
            name: missing
            for name, (present, missing) in refines.items()
            if not present and getattr(self, name) != fields[name].default
        }

    @property
    def max_duration_s(self) -> float:
        """The maximum duration of the users' starts, ramp-up and window together, in seconds."""
        return self.starting_s + max(self.rampup_s, self.rampup_max_s) + self.duration_s


def by_steps(steps: Steps) -> dict[str, Any]:
    """The fields of a load that follow from its steps."""
    users = {} if steps.are_rates else {"virtual_users": max(1, round(steps.highest))}
    return {"duration_s": steps.total_s, **users}
