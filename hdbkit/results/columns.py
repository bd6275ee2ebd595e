"""The file format of a run folder, version 2: every column, its type and its unit.

Times are microseconds since the run's start on the load host's monotonic clock; the manifest's ``clock`` has the wall
time of that start, so changes of the wall clock affect neither durations nor windows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path
from typing import Final

from hdbkit.readings import STATEMENT_TOTALS

FORMAT_VERSION: Final = 2


class Outcome(IntEnum):
    """How an operation ended."""

    COMMITTED = 0
    ROLLED_BACK_BY_DESIGN = 1
    FAILED = 2


ERROR_CLASSES: Final = (
    "",
    "deadlock",
    "serialization",
    "lock_timeout",
    "statement_timeout",
    "connection_lost",
    "constraint",
    "resources",
    "other",
)
"""The error classes, by their code in a record; code 0 means none."""
CONNECTING: Final = "(connecting)"
"""Stands for the operation of an error that a virtual user met while it connected."""
LOGIN_REFUSED: Final = "login_refused"
"""The class of such an error, in place of a lost connection, if the server runs and refused the login."""

# Parquet files: {column: Arrow type name}. Written by results.writer, read by analysis and charts.
OPERATIONS: Final = {
    "virtual_user": "int32",
    "t_start_us": "int64",
    "latency_us": "int64",  # service time: end - start, retries included
    "wait_us": "int64",  # start - scheduled start; response time = wait + latency
    "operation": "uint8",  # index in the manifest's "operations"
    "outcome": "uint8",  # Outcome
    "retries": "uint8",
    "error_class": "uint8",  # index in ERROR_CLASSES
}
"""Columns of ``operations/``; followed by the detail columns (``details`` in the manifest)."""
SECONDS: Final = {
    "second": "int32",  # whole seconds since the run's start, by the end of the operation
    "operation": "uint8",
    "committed": "int64",
    "rolled_back": "int64",
    "failed": "int64",
    "retries": "int64",
    "latency_us_sum": "int64",
    "histogram": "list<int32>",  # counts in LATENCY_BUCKETS_US, last one open
}
COUNTED: Final = "counted"
"""Name in the table of counters: the schema's own count of what the metric counts; NaN if there is none."""
COUNTERS: Final = {
    "t_sent_us": "int64",  # when the query was sent
    "t_returned_us": "int64",  # when its answer arrived
    "edge": "string",  # "run_start", "start" or "end" of the measured window, or "" between
    "name": "string",  # counted (the schema's own count), commits, rollbacks, and other counters of the engine
    "value": "float64",  # running total
}
HOST: Final = {
    "t_us": "int64",
    "cpu_user_s": "float64",  # running totals over all cores
    "cpu_system_s": "float64",
    "cpu_iowait_s": "float64",
    "cpu_steal_s": "float64",
    "cpu_idle_s": "float64",
    "cpu_pressure_s": "float64",  # PSI "some", running total; NaN if not available
    "cpu_throttled_s": "float64",  # in which a CPU quota paused processes of the load or the server; NaN without one
    "server_cpu_s": "float64",  # the server's processes; NaN on another host
    "sessions_cpu_s": "float64",  # of that, the threads of the load's sessions; NaN where they are not known
    "sessions_waited_s": "float64",  # for which these threads had no core
    "supervisor_cpu_s": "float64",  # the process of hdbkit that samples and supervises the clients
    "memory_used_bytes": "int64",
    "disk_read_bytes": "int64",
    "disk_write_bytes": "int64",
    "net_sent_bytes": "int64",
    "net_received_bytes": "int64",
    "cpu_interrupts_s": "float64",  # hardware and soft interrupts, a part of cpu_system_s
    "cores_busy_s": "list<float64>",  # running total of each core, waiting for a disk is not busy
    "cores_interrupts_s": "list<float64>",  # of that, hardware and soft interrupts
    "threads_running": "float64",  # run queue: threads that run or are ready to, at that moment
    "threads_blocked": "float64",  # that wait for a disk, at that moment
    "context_switches": "float64",  # running total, like all interrupts
    "interrupts": "float64",
    "device_interrupts": "float64",  # of these by devices; the others are the processors' own: timers, wake-ups
    "soft_interrupts_timer": "float64",
    "soft_interrupts_net_tx": "float64",
    "soft_interrupts_net_rx": "float64",
    "soft_interrupts_block": "float64",
    "soft_interrupts_sched": "float64",
    "soft_interrupts_other": "float64",
    "tcp_sockets": "float64",  # in use at that moment
    "tcp_time_wait_sockets": "float64",
    "io_pressure_s": "float64",  # as cpu_pressure_s, for a disk
    "memory_pressure_s": "float64",
    "reading_s": "float64",  # CPU time that reading this row and those before it took
}
HOST_DEVICES: Final = {
    "t_us": "int64",  # that of a row of host
    "name": "string",  # disk_busy_s, net_sent_bytes, numa_local_pages, ...: as in server_host
    "device": "string",  # disk, network interface or memory node
    "value": "float64",
}
"""Columns of ``host_devices``: the devices of the load host; absent with several load hosts."""
LOAD_HOSTS: Final = {"load_host": "int32", **HOST}
"""Columns of ``load_hosts``: of a run on several load hosts those of ``host`` for each, by its number."""
WAITS: Final = {
    "t_us": "int64",  # when the query was sent
    "t_returned_us": "int64",  # when its answer arrived
    "session": "int64",  # the server's number of it
    "virtual_user": "int32",  # -1: no session of the load, or unknown
    "class": "string",  # running, lock, log, disk, latch, client, other; sampler: the session that asked
    "event": "string",  # the server's name of the wait; empty if there is none
    "table": "string",  # that it waits for; empty if that is not known
    "blocked_by": "int64",  # the session that it waits for; -1: none, or unknown
    "blocked_by_user": "int32",  # the virtual user of that session; -1: none, or unknown
}
"""Columns of ``waits``: the sessions that worked or waited at the moment of a sample."""
STATEMENTS: Final = {
    "statement": "string",  # the server's own number of it
    "text": "string",  # as the server keeps it, shortened
    **dict.fromkeys(STATEMENT_TOTALS, "float64"),  # growth in the window; NaN if the server does not count it
}
"""Columns of ``statements``: what the server counted by statement, where it does."""
STATEMENT_COURSES: Final = {"t_us": "int64", "statement": "string", **dict.fromkeys(STATEMENT_TOTALS, "float64")}
"""Columns of ``statement_courses``: what grew from the window's start to a time within it."""
EVENTS: Final = {
    "t_us": "int64",
    "kind": "string",  # checkpoint, automatic vacuum, deadlock, ...
    "text": "string",
}
"""Columns of ``events``: what the server did, where it keeps the times of that."""
TRACES: Final = {"t_us": "int64", "virtual_user": "int32", "trace_id": "string"}
"""Columns of ``traces``: when a sampled operation was sent, by whom, and the id in the comment of its statements."""
SLOW_PLANS: Final = {
    "t_us": "int64",  # when the server reported it, within the operation
    "virtual_user": "int32",
    "ms": "float64",
    "statement": "string",
    "plan": "string",
}
"""Columns of ``slow_plans``: the slowest execution of each statement that was slow, with the time of each step."""
PROFILE: Final = {
    "t_us": "int64",
    "part": "string",  # server, clients
    "stack": "string",  # functions, the outermost first, separated by ;
}
"""Columns of ``profile``: the stacks that were sampled in the window, where that was asked for."""
SERVER_HOST: Final = {
    "t_us": "int64",
    "name": "string",  # cpu_user_s, memory_used_bytes, disk_busy_s, ...: running totals and gauges, units in names
    "device": "string",  # disk, network interface or memory node; "" for the whole host
    "value": "float64",  # NaN if by_core has the values
    "by_core": "list<float64>",  # of cores_busy_s and cores_interrupts_s: the value of each core
}
CLIENTS: Final = {
    "client": "int32",  # number of the client process, from 0
    "users": "int32",  # number of virtual users that it serves, starting at first_user
    "first_user": "int32",
    "pid": "int64",
    "cpu_start_s": "float64",  # CPU time of the client at the window's edges; NaN if it had ended
    "cpu_end_s": "float64",
    "waited_start_s": "float64",  # for a core, at the window's edges; NaN as above
    "waited_end_s": "float64",
    "operations": "int64",  # over the whole run
    "context_switches": "float64",  # of the client, over the whole run, like all below; NaN if unknown
    "sent_bytes": "float64",  # on its connections, over TCP
    "received_bytes": "float64",
    "sent_segments": "float64",  # with data: one per request, unless it is larger than a segment
    "ended": "string",  # done, killed, failed
}
ERRORS: Final = {
    "error_class": "string",
    "code": "string",
    "text": "string",
    "operation": "string",  # or "(connecting)": while a virtual user reconnected
    "count": "int64",
    "retried": "int64",  # number of retries
    "first_us": "int64",
    "last_us": "int64",
}
SWITCHES: Final = {
    "virtual_user": "int32",  # whose session was changed; -1: the server, for all
    "slice": "int32",  # number of the slice, from 0 at the run's start
    "position": "int32",  # of its configuration in the plan's "slices"
    "t_due_us": "int64",  # beginning of the slice
    "t_start_us": "int64",  # beginning and end of the change itself
    "t_end_us": "int64",
}
"""Columns of ``switches``: the changes of settings within a run that compares configurations by slices."""
SLICES: Final = {
    "slice": "int32",  # number of the slice, from 0 at the run's start
    "cycle": "int32",  # one slice of each configuration, from 0 at the run's start
    "position": "int32",  # of its configuration in the plan's "slices"
    "configuration": "int32",  # its number in the sweep
    "metric_value": "float64",  # after the washout; NaN if there is none
    "operations_per_s": "float64",
}
"""Columns of ``slices``: the slices that count of a run that compares configurations by slices."""
SCHEDULE: Final = {
    "second": "int32",  # whole seconds since the run's start
    "due": "int64",  # operations that were due in it
    "begun": "int64",  # that began in it
    "skipped": "int64",  # that were due in it and skipped, as they could only begin later than latency_limit_ms
    "backlog": "int64",  # at its end: due, not begun, and not skipped
    "late_p50_us": "float64",  # lateness (start - scheduled start) of those that began in it; NaN if there are none
    "late_p99_us": "float64",
    "late_max_us": "float64",
}
"""Columns of ``schedule``: the operations of an open loop, which are due at a rate of their own."""

LATENCY_BUCKETS_US: Final = tuple(round(10 ** (1 + i / 10)) for i in range(61))
"""Upper bounds of the histogram's buckets: 10 us to 10 s, ten per decade."""


@dataclass(frozen=True)
class Source:
    """A file of JSON lines in the folder of spools; ``*`` in its name: one for each client.

    ``times``: by column, the time of a line that it shows, in ns of the clock of the host that wrote the file.
    """

    name: str
    times: Mapping[str, str] = field(default_factory=dict)

    def of(self, spools: Path, client: int | str) -> Path:
        """The file of a client, or of another writer."""
        return spools / self.name.replace("*", f"{client:05d}" if isinstance(client, int) else client)


@dataclass(frozen=True)
class Table:
    """A table that is made of the lines of its sources; one that is not ``optional`` is written without rows, too."""

    columns: Mapping[str, str]
    sources: tuple[Source, ...]
    optional: bool = True


_MOMENT: Final = {"t_us": "t_ns"}
COUNTER_LINES: Final = Source("counters.ndjson", {"t_sent_us": "sent_ns", "t_returned_us": "returned_ns"})
HOST_LINES: Final = Source("host.ndjson", _MOMENT)
SERVER_HOST_LINES: Final = Source("server_host.ndjson", {"t_sent_us": "sent_ns", "t_returned_us": "returned_ns"})
CLIENT_LINES: Final = Source("clients.ndjson")
USAGE_LINES: Final = Source("*.usage.json")
ENDING_LINES: Final = Source("endings.json")
"""How the clients of a load host ended."""
ERROR_LINES: Final = Source("*.errors.json", {"first_us": "first_ns", "last_us": "last_ns"})
WAIT_LINES: Final = Source("waits.ndjson", {"t_us": "sent_ns", "t_returned_us": "returned_ns"})
SESSION_LINES: Final = Source("*.sessions", _MOMENT)
"""The numbers that a client's sessions have in the server."""
TRACE_LINES: Final = Source("*.traces", _MOMENT)
SLOW_PLAN_LINES: Final = Source("*.slow_plans", _MOMENT)
STATEMENT_LINES: Final = Source("statements.ndjson", _MOMENT)
EVENT_LINES: Final = Source("events.ndjson", _MOMENT)
"""What happened in the server during a run, by the samples of its waits and of its counters."""
SWITCH_LINES: Final = Source("*.switches", {"t_due_us": "due_ns", "t_start_us": "start_ns", "t_end_us": "end_ns"})
SOURCES_OF_CLIENTS: Final = (USAGE_LINES, ERROR_LINES, SESSION_LINES, TRACE_LINES, SLOW_PLAN_LINES, SWITCH_LINES)
TABLES: Final[Mapping[str, Table]] = {
    "counters": Table(COUNTERS, (COUNTER_LINES,), optional=False),
    "load_hosts": Table(LOAD_HOSTS, (HOST_LINES,)),
    "host": Table(HOST, (HOST_LINES,), optional=False),
    "host_devices": Table(HOST_DEVICES, (HOST_LINES,)),
    "server_host": Table(SERVER_HOST, (SERVER_HOST_LINES,)),
    "clients": Table(CLIENTS, (CLIENT_LINES, USAGE_LINES, ENDING_LINES), optional=False),
    "errors": Table(ERRORS, (ERROR_LINES,), optional=False),
    "waits": Table(WAITS, (WAIT_LINES,)),
    "traces": Table(TRACES, (TRACE_LINES,)),
    "slow_plans": Table(SLOW_PLANS, (SLOW_PLAN_LINES,)),
    "statements": Table(STATEMENTS, (STATEMENT_LINES,)),
    "statement_courses": Table(STATEMENT_COURSES, (STATEMENT_LINES,)),
    "events": Table(EVENTS, (EVENT_LINES,)),
    "switches": Table(SWITCHES, (SWITCH_LINES,)),
}
"""By name, the tables that are made of lines."""
