"""The result of a run: the one declaration of its figures, with their units.

``analysis.run.summary`` computes it, ``manifest.json`` and the service's documents contain it as JSON, and charts,
reports, panels and users read its attributes. All figures are of the measured window unless stated otherwise. None is
a figure that is unknown.
"""

from __future__ import annotations

from typing import final

from pydantic import BaseModel, ConfigDict, Field

from hdbkit.config.steps import RateStep
from hdbkit.text import number

_Number = int | float
"""A number; a whole number, such as a recorded latency in microseconds, remains one."""


class Figures(BaseModel):
    """A part of a result: frozen; keys that it does not know are ignored."""

    model_config = ConfigDict(extra="ignore", allow_inf_nan=False, frozen=True)


class Quantiles(Figures):
    """Quantiles of latencies."""

    def at(self, quantile: str) -> _Number | None:
        """The value in microseconds of a quantile, given by its name: ``p95``."""
        found: _Number | None = getattr(self, f"{quantile}_us")
        return found


class Latencies(Quantiles):
    """Quantiles, maximum and mean of latencies in microseconds; None: there were none."""

    p50_us: _Number | None = None
    p90_us: _Number | None = None
    p95_us: _Number | None = None
    p99_us: _Number | None = None
    p999_us: _Number | None = None
    max_us: _Number | None = None
    mean_us: float | None = None


class TimedOperation(Latencies):
    """How often an operation ended, and the latencies of those that were completed."""

    count: int


@final
class OperationResult(TimedOperation):
    """One operation: its counts, and the service times of those that were completed."""

    committed: int | None
    rolled_back: int | None = Field(description="rolled back by design")
    failed: int | None
    retries: int | None
    response: Latencies | None = Field(
        default=None, description="response times, from the scheduled start; None: operations have none"
    )


class ClientUse(Figures):
    """What a client used per operation, over its whole run."""

    round_trips: float | None = Field(default=None, description="TCP segments with data that it sent")
    sent_bytes: float | None = None
    received_bytes: float | None = None
    context_switches: float | None = None


class LittlesLaw(Figures):
    """Little's law: users = throughput x (mean time inside calls + mean time outside, between two calls)."""

    users_by_law: float
    users: int = Field(description="as planned")
    ratio: float = Field(description="users by law to planned users")
    mean_us: float | None = Field(description="mean time inside calls, in microseconds")
    outside_pct: float | None = Field(description="share of a user's time between calls, in percent")


@final
class HostUse(Figures):
    """Means over the window of what a host did: the load host, or the database's host as its agent reported."""

    cpu_pct: dict[str, float] | None = Field(default=None, description="shares of all cores' time, in percent")
    pressure_pct: float | None = Field(
        default=None, description="share of the time in which some task waited for a core, in percent"
    )
    io_pressure_pct: float | None = Field(default=None, description="the same for a disk")
    memory_pressure_pct: float | None = Field(default=None, description="the same for memory")
    memory_used_bytes: float | None = None
    memory_available_bytes: float | None = None
    memory_cached_bytes: float | None = None
    swap_used_bytes: float | None = None
    disks: dict[str, dict[str, float]] = Field(
        default_factory=dict,
        description="of each disk busy_pct, reads and writes and their bytes per second, requests (their mean number "
        "at a time), request_ms (mean time of one)",
    )
    networks: dict[str, dict[str, float]] = Field(
        default_factory=dict, description="of each interface its sent and received bytes per second"
    )
    cores_busy_pct: list[float] = Field(
        default_factory=list, description="busy share of each core's time; empty: one core, or unknown"
    )
    cores_interrupts_pct: list[float] = Field(
        default_factory=list, description="of that, the share of hardware and soft interrupts"
    )
    threads_running: float | None = Field(
        default=None, description="run queue: threads that ran or were ready to run"
    )
    threads_blocked: float | None = Field(default=None, description="threads that waited for a disk")
    per_s: dict[str, float] = Field(
        default_factory=dict, description="context switches, interrupts and soft interrupts by kind, per second"
    )
    tcp_sockets: float | None = None
    tcp_time_wait_sockets: float | None = None
    numa_other_pct: float | None = Field(
        default=None, description="share of new pages that are of another memory node than the core, in percent"
    )
    reading_ms_per_s: float | None = Field(default=None, description="CPU time that reading the host took")


class Wait(Figures):
    """What sessions of the load did in the server: how many at a time, and how long per completed operation."""

    operation: str
    wait_class: str = Field(description="running, lock, log, disk, latch, client or other")
    event: str = Field(description="the server's name of the wait; empty if there is none")
    table: str = Field(description="the table that it waits for; empty if that is not known")
    sessions: float = Field(description="mean number of sessions")
    ms: float | None = Field(description="milliseconds per completed operation of this name; None: there was none")

    @property
    def what(self) -> str:
        """The wait in words: ``lock of district (row lock)``."""
        return wait_text(self.wait_class, self.event, self.table)


def wait_text(wait_class: str, event: str, table: str) -> str:
    """A wait in words: ``log (WalSync)``, ``lock of district (row lock)``; ``running`` is no wait."""
    text = f"{wait_class} of {table}" if table else wait_class
    return f"{text} ({event})" if event else text


@final
class WaitsResult(Figures):
    """What the server's sessions worked on and waited for, from samples of the window."""

    samples: int
    waits: list[Wait] = Field(description="of the load's sessions, by operation")
    others: list[Wait] = Field(description="of all other sessions and of the server's own processes; no operation")

    @property
    def sessions_by_class(self) -> dict[str, float]:
        """The mean number of the load's sessions in each class, the most first."""
        found: dict[str, float] = {}
        for one in self.waits:
            found[one.wait_class] = found.get(one.wait_class, 0.0) + one.sessions
        return dict(sorted(found.items(), key=lambda pair: -pair[1]))


class FullPageRates(Figures):
    """Full-page images per operation in the first and in the last quarter of the window."""

    first: float
    last: float


class Outage(Figures):
    """A time of at least 0.1 s in which connections were lost and nothing was completed; seconds since the start."""

    start_s: float
    end_s: float | None = Field(description="None: nothing was completed after it")
    lost: int = Field(description="operations that failed since their connection was lost")


class Lag(Figures):
    """The replication lag of a standby in seconds."""

    mean: float
    max: float


@final
class DataSize(Figures):
    """The size of the data, and the schema's own count, before the first operation and after the last."""

    bytes_before: float | None = None
    counted_before: float | None = None
    bytes_after: float | None = None
    counted_after: float | None = None


class FaultEffect(Figures):
    """What a fault did; times in seconds, those of ``_after_s`` from the fault's beginning on.

    Outage and errors are those from its beginning to that of the next fault, or to the end of the window: what a
    fault disturbs may fail long after the throughput is back.
    """

    fault: str
    error: str = Field(description="why the fault itself failed; empty if it did not")
    start_s: float
    end_s: float | None
    cause_s: float | None = Field(default=None, description="time that hdbkit itself took to cause it")
    undo_s: float | None = Field(default=None, description="time that hdbkit itself took to undo it")
    first_success_after_s: float | None = Field(
        description="end of the first committed operation that began when the fault was in effect"
    )
    rate_before: float | None = Field(description="the metric's rate before the fault")
    lowest_rate: float | None = Field(description="the metric's rate in its lowest second until the recovery")
    recovered_after_s: float | None = Field(
        description="from when on the rate is at least 90 % of that before, for 3 s; None: not in the window"
    )
    errors: dict[str, int] = Field(description="failures by class")
    outage_s: float = Field(description="longest time without a commit")


class SlicesConfiguration(Figures):
    """One of the configurations that alternate within a run: means over its slices."""

    configuration: int
    metric_value: float | None
    operations_per_s: float | None
    operations: dict[str, TimedOperation]


@final
class SlicesResult(Figures):
    """The slices of a run whose configurations alternate."""

    washout_s: float | None = Field(description="time left out at the beginning of each slice")
    cycles: int = Field(description="cycles that count")
    dropped: int = Field(description="other cycles in the window")
    unusable: str = Field(description="why the slices cannot be compared; empty if they can")
    configurations: list[SlicesConfiguration]


class Backlog(Figures):
    """Operations that were due and had not begun, at the start and at the end of the window."""

    start: int
    end: int


class ScheduleResult(Figures):
    """An open loop's schedule against what happened."""

    offered_per_s: float = Field(description="operations that were due, per second")
    achieved_per_s: float = Field(description="operations that ended, per second")
    due: int
    begun: int
    late: int = Field(description="operations that began more than 10 ms after their scheduled start")
    skipped: int = Field(description="operations that were not begun, since they were too late")
    backlog: Backlog
    lateness: Latencies = Field(description="start minus scheduled start of the operations that began")
    saturated: bool = Field(description="more than 1 % of the operations were skipped or added to the backlog")


class StepLatencies(Quantiles):
    """Latencies of the metric's first operation in a step, in microseconds."""

    p50_us: _Number | None
    p95_us: _Number | None
    p99_us: _Number | None


class StepResult(Figures):
    """A step of the load within the window; seconds since the run's start."""

    step: RateStep
    start_s: float
    end_s: float
    offered_per_s: float | None = Field(description="mean planned rate; None: a step of a closed loop")
    users: float | None = Field(description="mean planned number of users; None: a step of an open loop")
    completed_per_s: float
    completed_error_per_s: float = Field(
        default=0.0, description="standard error of completed_per_s, from ten equal stretches of the step"
    )
    failed: int
    service: StepLatencies
    response: StepLatencies | None = None

    def times(self, kind: str) -> StepLatencies:
        """The times of this kind, ``service`` or ``response``."""
        return self.response if kind == "response" and self.response else self.service


@final
class Standstill(Figures):
    """The longest time of the window in which no operation was completed; seconds since the run's start."""

    begin_s: float
    length_s: float
    usual_s: float = Field(description="the gap between completed operations below which a tenth of the window lies")
    unusual: bool = Field(description="whether it is longer than chance explains")
    waited_for: str = Field(default="", description="what sessions waited for, and who held it; empty: not known")

    @property
    def text(self) -> str:
        """When it was, how long, and what sessions waited for."""
        usual = f"{number(1000 * self.usual_s, 2)} ms" if self.usual_s < 1 else f"{number(self.usual_s, 2)} s"
        held = f"; {self.waited_for}" if self.waited_for else ""
        return (
            f"for {number(self.length_s, 3)} s from {number(self.begin_s, 3)} s of the run on (usually {usual}){held}"
        )


@final
class RunResult(Figures):
    """The figures of a run.

    An operation counts where it ends; ``completed`` is committed or rolled back by design, never failed. A metric
    with a counter comes from the schema's own count, never from the clients.
    """

    metric_value: float | None = Field(description="value of the workload's metric, in its unit")
    metric_unknown: str = Field(default="", description="why the metric has no value")
    engine_tpm: float | None = Field(description="commits and rollbacks per minute that the server counted")
    window_s: float = Field(description="length of the measured window")
    measured_s: float | None = Field(default=None, description="the time that the metric's value refers to")
    completed: int | None
    committed: int | None = None
    rolled_back_by_design: int | None = None
    failed: int | None
    retries: int | None = Field(description="repeated attempts after deadlocks and serialization failures")
    operations_per_s: float | None = Field(description="completed operations of all types per second")
    operations: dict[str, OperationResult] = Field(description="each operation by its name")
    errors: dict[str, int] = Field(description="failed operations by the class of their error")
    client_cpu_us_per_operation: float | None
    client_waited_us_per_operation: float | None = Field(
        default=None, description="time for which clients were ready to run and had no core"
    )
    client_and_supervisor_cpu_us_per_operation: float | None = None
    server_cpu_us_per_operation: float | None
    server_cpu_unknown: str = Field(default="", description="why the server's CPU time is unknown")
    per_operation: ClientUse
    host_cpu_pct: dict[str, float] | None = Field(
        description="shares of all cores' time on the load host, in percent: user, system, iowait, steal, idle"
    )
    memory_used_bytes: float | None = Field(default=None, description="mean of the load host")
    disk_read_bytes_per_s: float | None = Field(default=None, description="of all disks of the load host")
    disk_write_bytes_per_s: float | None = Field(default=None, description="of all disks of the load host")
    others_cpu_pct: float | None = Field(
        default=None, description="share of the load host's CPU time that other processes used, in percent"
    )
    throttled_pct: float | None = Field(
        default=None,
        description="time for which CPU quotas paused clients or server, over all cores, in percent of the window",
    )
    load_host: HostUse | None = None
    server_host: HostUse | None = Field(default=None, description="the database's host; None without an agent")
    littles_law: LittlesLaw | None
    counters: dict[str, float] = Field(description="growth of each of the server's counters")
    waiting_locks: float | None = Field(default=None, description="mean number of sessions that waited for a lock")
    replication_lag_s: Lag | None = None
    server_restarts_s: list[float] | None = Field(
        default=None, description="when the server was started again, in seconds since the run's start"
    )
    outages: list[Outage] = Field(default_factory=list)
    server_moves_s: list[float] | None = Field(
        default=None, description="when another server was first seen to answer, in seconds since the run's start"
    )
    full_pages: FullPageRates | None = None
    standstill: Standstill | None = Field(default=None, description="None: unknown, or the load is not even")
    waits: WaitsResult | None = Field(default=None, description="None: what sessions wait for was not sampled")
    data: DataSize | None = None
    clients_lost: int | None = Field(default=None, description="client processes that ended early")
    faults: list[FaultEffect] = Field(default_factory=list, description="effects of the faults that the run caused")
    lost_commits: int | None = Field(
        default=None, description="acknowledged commits that the schema does not have after a run with faults"
    )
    lost_commits_unknown: str = Field(default="", description="why lost_commits is unknown")
    slices: SlicesResult | None = Field(default=None, description="None: no configurations alternate")
    schedule: ScheduleResult | None = Field(default=None, description="None: a closed loop")
    steps: list[StepResult] = Field(default_factory=list)

    @property
    def mean_us(self) -> float | None:
        """The mean time of all completed operations: the response time where they have one, else the service time."""
        times = [(one.count, (one.response or one).mean_us) for one in self.operations.values()]
        known = [(count, mean_us) for count, mean_us in times if count and mean_us is not None]
        done = sum(count for count, _ in known)
        return sum(count * mean_us for count, mean_us in known) / done if done else None

    @property
    def host_use(self) -> dict[str, float | None]:
        """Processors, memory and disks of the database's host where an agent reported them, else of the load host."""
        host = self.server_host
        shares = host.cpu_pct if host else self.host_cpu_pct
        disks = host.disks.values() if host else ()
        read, write = (
            sum(one.get(name, 0.0) for one in disks) if host else getattr(self, f"disk_{name}")
            for name in ("read_bytes_per_s", "write_bytes_per_s")
        )
        return {
            "cpu_pct": sum(shares[one] for one in shares if one not in ("idle", "iowait")) if shares else None,
            "memory_used_bytes": (host or self).memory_used_bytes,
            "disk_read_bytes_per_s": read,
            "disk_write_bytes_per_s": write,
        }
