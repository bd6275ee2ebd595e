"""The requests and answers of the service, made from its OpenAPI document by `make client`."""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypeAlias, TypedDict


class AbortRules(TypedDict):
    """
    Limits of a run. A run that exceeds one fails, and its configuration does not run in later blocks.

    The run ends as soon as it exceeds a limit with a confidence of 99.9 %.
    """

    failed_share: NotRequired[float | None]
    """maximum share of failed operations, such as 0.01"""
    latency_p95_ms: NotRequired[float | None]
    """maximum 95 % quantile of the latency of the metric's first operation (open loop: response time)"""


Arrivals: TypeAlias = Literal['poisson', 'uniform']
"""How the operations of an open loop follow each other: at random and independently, or evenly."""


class Backlog(TypedDict):
    """Operations that were due and had not begun, at the start and at the end of the window."""

    start: int
    end: int


class Bottleneck(TypedDict):
    """What limits a run."""

    resource: Literal['processors', 'lock', 'log', 'disk', 'latch', 'sessions', 'clients', 'network', 'other', 'load', 'undecided']
    """sessions: each uses one core at a time while others are idle; load: users pause as the load asks"""
    sentence: str
    advice: str
    """what would change that; if it is undecided, what to turn on"""
    evidence: dict[str, float]
    """mean sessions by resource, or busy shares in percent"""
    client_times: float | None
    """how many times as much the clients could send; null: unknown"""
    server_is_here: bool
    """whether clients and server share the processors of the load host"""


Cache: TypeAlias = Literal['warm', 'restart', 'cold']
"""State of the server's cache when a run starts."""


class ClientUse(TypedDict):
    """What a client used per operation, over its whole run."""

    round_trips: NotRequired[float | None]
    """TCP segments with data that it sent"""
    sent_bytes: NotRequired[float | None]
    received_bytes: NotRequired[float | None]
    context_switches: NotRequired[float | None]


CompareBy: TypeAlias = Literal['auto', 'runs', 'slices']
"""What is compared: whole runs, or slices of one run in which the configurations alternate."""


class CompareRequest(TypedDict):
    """Compare stored runs."""

    base: str
    """ids of runs or unique parts, separated by commas, or a label or profile"""
    new: str
    """ids of runs or unique parts, separated by commas, or a label or profile"""
    fail_below: NotRequired[float | None]
    """limit of the relative change, such as -0.02; the result has a verdict"""


Cooldown: TypeAlias = Literal['idle', 'fixed']
"""When the cooldown before a run ends."""


CutOff: TypeAlias = Literal['continue', 'stop']
"""What the users of a load host do while the coordinator does not reach it."""


class DataSize(TypedDict):
    """The size of the data, and the schema's own count, before the first operation and after the last."""

    bytes_before: NotRequired[float | None]
    counted_before: NotRequired[float | None]
    bytes_after: NotRequired[float | None]
    counted_after: NotRequired[float | None]


class DemoRequest(TypedDict):
    """A demo on a private server."""

    quick: NotRequired[bool]
    """shorter runs: one to three minutes"""


class EmptyRequest(TypedDict):
    """No arguments."""


ExperimentStatus: TypeAlias = Literal['running', 'done', 'stopped', 'failed', 'killed']
"""The status of an experiment. All but ``running`` are final; all final ones but ``done`` can be resumed."""


class FaultEffect(TypedDict):
    """
    What a fault did; times in seconds, those of ``_after_s`` from the fault's beginning on.

    Outage and errors are those from its beginning to that of the next fault, or to the end of the window: what a
    fault disturbs may fail long after the throughput is back.
    """

    fault: str
    error: str
    """why the fault itself failed; empty if it did not"""
    start_s: float
    end_s: float | None
    cause_s: NotRequired[float | None]
    """time that hdbkit itself took to cause it"""
    undo_s: NotRequired[float | None]
    """time that hdbkit itself took to undo it"""
    first_success_after_s: float | None
    """end of the first committed operation that began when the fault was in effect"""
    rate_before: float | None
    """the metric's rate before the fault"""
    lowest_rate: float | None
    """the metric's rate in its lowest second until the recovery"""
    recovered_after_s: float | None
    """from when on the rate is at least 90 % of that before, for 3 s; None: not in the window"""
    errors: dict[str, int]
    """failures by class"""
    outage_s: float
    """longest time without a commit"""


class FullPageRates(TypedDict):
    """Full-page images per operation in the first and in the last quarter of the window."""

    first: float
    last: float


class HistoryRequest(TypedDict):
    """The history of a profile."""

    name: str
    """the profile's name"""


Isolation: TypeAlias = Literal['read_committed', 'repeatable_read', 'serializable']
"""Isolation level of the transactions, as named in the SQL standard."""


class Lag(TypedDict):
    """The replication lag of a standby in seconds."""

    mean: float
    max: float


class Latencies(TypedDict):
    """Quantiles, maximum and mean of latencies in microseconds; None: there were none."""

    p50_us: NotRequired[int | float | None]
    p90_us: NotRequired[int | float | None]
    p95_us: NotRequired[int | float | None]
    p99_us: NotRequired[int | float | None]
    p999_us: NotRequired[int | float | None]
    max_us: NotRequired[int | float | None]
    mean_us: NotRequired[float | None]


class LittlesLaw(TypedDict):
    """Little's law: users = throughput x (mean time inside calls + mean time outside, between two calls)."""

    users_by_law: float
    users: int
    """as planned"""
    ratio: float
    """users by law to planned users"""
    mean_us: float | None
    """mean time inside calls, in microseconds"""
    outside_pct: float | None
    """share of a user's time between calls, in percent"""


VirtualUser: TypeAlias = int


class NamedRequest(TypedDict):
    """A stored result."""

    id: str
    """id of a run or a sweep, a unique part of it, a label, or 'last'"""


class OperationResult(TypedDict):
    """One operation: its counts, and the service times of those that were completed."""

    p50_us: NotRequired[int | float | None]
    p90_us: NotRequired[int | float | None]
    p95_us: NotRequired[int | float | None]
    p99_us: NotRequired[int | float | None]
    p999_us: NotRequired[int | float | None]
    max_us: NotRequired[int | float | None]
    mean_us: NotRequired[float | None]
    count: int
    committed: int | None
    rolled_back: int | None
    """rolled back by design"""
    failed: int | None
    retries: int | None
    response: NotRequired[Latencies | None]
    """response times, from the scheduled start; None: operations have none"""


class Outage(TypedDict):
    """A time of at least 0.1 s in which connections were lost and nothing was completed; seconds since the start."""

    start_s: float
    end_s: float | None
    """None: nothing was completed after it"""
    lost: int
    """operations that failed since their connection was lost"""


class ProblemAnswer(TypedDict):
    """One error of a request."""

    where: str
    """the key"""
    what: str
    """what was expected, and what was given"""


Profile: TypeAlias = Literal['none', 'perf']
"""What samples the stacks of the server's and the clients' processes in the window."""


RateOf: TypeAlias = Literal['operations', 'metric']
"""What the rate of an open loop counts: all operations, or those of the metric that are not rolled back."""


Reset: TypeAlias = Literal['auto', 'restore', 'none']
"""How data is reset before each run."""


Target: TypeAlias = str
"""name of a target in the workspace's targets file"""


class ResumeRequest(TypedDict):
    """Continue an experiment of this account."""

    id: str
    """the experiment's id"""
    targets: NotRequired[list[Target]]
    """its targets in their order; none if it starts servers of its own"""
    blocks: NotRequired[int | None]
    """the total number of blocks"""


class RunsRequest(TypedDict):
    """A list of runs."""

    where: NotRequired[str | None]
    """filter, such as virtual_users = 8"""


class ScheduleResult(TypedDict):
    """An open loop's schedule against what happened."""

    offered_per_s: float
    """operations that were due, per second"""
    achieved_per_s: float
    """operations that ended, per second"""
    due: int
    begun: int
    late: int
    """operations that began more than 10 ms after their scheduled start"""
    skipped: int
    """operations that were not begun, since they were too late"""
    backlog: Backlog
    lateness: Latencies
    """start minus scheduled start of the operations that began"""
    saturated: bool
    """more than 1 % of the operations were skipped or added to the backlog"""


class ServerHostUse(TypedDict):
    """Means over the window of what the database's host did, as its agent reported."""

    cpu_pct: NotRequired[dict[str, float] | None]
    """shares of all cores' time, in percent"""
    pressure_pct: NotRequired[float | None]
    """share of the time in which some task waited for a core, in percent"""
    memory_used_bytes: NotRequired[float | None]
    memory_available_bytes: NotRequired[float | None]
    memory_cached_bytes: NotRequired[float | None]
    swap_used_bytes: NotRequired[float | None]
    disks: NotRequired[dict[str, dict[str, float]]]
    """of each disk busy_pct, reads and writes and their bytes per second"""
    networks: NotRequired[dict[str, dict[str, float]]]
    """of each interface its sent and received bytes per second"""


State: TypeAlias = Literal['running', 'done', 'failed', 'stopped', 'killed']
"""The state of a job."""


Status: TypeAlias = Literal['starting', 'rampup', 'measuring', 'finishing', 'done', 'stopped', 'failed', 'abandoned']
"""The status of a run. The last four are final."""


class StepLatencies(TypedDict):
    """Latencies of the metric's first operation in a step, in microseconds."""

    p50_us: int | float | None
    p95_us: int | float | None
    p99_us: int | float | None


class StepResult(TypedDict):
    """A step of the load within the window; seconds since the run's start."""

    step: str
    start_s: float
    end_s: float
    offered_per_s: float | None
    """mean planned rate; None: a step of a closed loop"""
    users: float | None
    """mean planned number of users; None: a step of an open loop"""
    completed_per_s: float
    completed_error_per_s: NotRequired[float]
    """standard error of completed_per_s, from ten equal stretches of the step"""
    failed: int
    service: StepLatencies
    response: NotRequired[StepLatencies | None]


Strategy: TypeAlias = Literal['grid', 'search']
"""Which configurations run: the whole grid, or those that a search selects for each block."""


Settings = TypedDict(
    'Settings',
    {
        'from': str | float,
        'to': str | float,
        'step': str | float,
        'factor': NotRequired[str | float],
        'special': NotRequired[list[str | float | bool]],
    },
)


Settings1 = TypedDict(
    'Settings1',
    {
        'from': str | float,
        'to': str | float,
        'step': NotRequired[str | float],
        'factor': str | float,
        'special': NotRequired[list[str | float | bool]],
    },
)


Settings2 = TypedDict(
    'Settings2',
    {
        'from': str | float,
        'to': str | float,
        'step': str | float,
        'factor': NotRequired[str | float],
        'special': NotRequired[list[str | float | bool]],
    },
)


Settings3 = TypedDict(
    'Settings3',
    {
        'from': str | float,
        'to': str | float,
        'step': NotRequired[str | float],
        'factor': str | float,
        'special': NotRequired[list[str | float | bool]],
    },
)


class Factors(TypedDict):
    """values of options of the load and the schema"""

    users_per_process: NotRequired[list[Any] | dict[str, Any] | str]
    """values of: virtual users per client process"""
    sessions_per_user: NotRequired[list[Any] | dict[str, Any] | str]
    """values of: sessions of a virtual user, each a connection that executes operations like a user of its own"""
    cluster: NotRequired[list[Any] | dict[str, Any] | str]
    """values of: load hosts that share the virtual users: tls://HOST:8786 (a dask scheduler), ssh:FILE (a host per line), or local:N; none: this host alone"""
    cut_off_hosts: NotRequired[list[Any] | dict[str, Any] | str]
    """values of: what users of a load host do that is cut off from the others: continue or stop"""
    start_delay_ms: NotRequired[list[Any] | dict[str, Any] | str]
    """values of: milliseconds between the starts of users, before the ramp-up; none: the workload's own, 0"""
    connect_rate: NotRequired[list[Any] | dict[str, Any] | str]
    """values of: logins per second of all users together, before the start; none: as fast as possible"""
    connect_per_operation: NotRequired[list[Any] | dict[str, Any] | str]
    """values of: open a new connection for each operation; response time contains the login"""
    rampup_s: NotRequired[list[Any] | dict[str, Any] | str]
    """values of: ramp-up before the measured window, in seconds"""
    rampup_max_s: NotRequired[list[Any] | dict[str, Any] | str]
    """values of: extend the ramp-up to at most this many seconds while full-page writes subside; 0: off"""
    duration_s: NotRequired[list[Any] | dict[str, Any] | str]
    """values of: measured window, in seconds"""
    iterations: NotRequired[list[Any] | dict[str, Any] | str]
    """values of: maximum number of operations per virtual user"""
    keying_and_thinking: NotRequired[list[Any] | dict[str, Any] | str]
    """values of: wait for the keying and thinking times of the workload between operations"""
    keying_scale: NotRequired[list[Any] | dict[str, Any] | str]
    """values of: factor of all keying times"""
    thinking_scale: NotRequired[list[Any] | dict[str, Any] | str]
    """values of: factor of all thinking times"""
    rate: NotRequired[list[Any] | dict[str, Any] | str]
    """values of: open loop: operations per second of all users together; none: closed loop"""
    rate_of: NotRequired[list[Any] | dict[str, Any] | str]
    """values of: what the rate counts: all operations, or those of the metric"""
    arrivals: NotRequired[list[Any] | dict[str, Any] | str]
    """values of: how the operations of an open loop follow each other: at random (poisson), or evenly (uniform)"""
    latency_limit_ms: NotRequired[list[Any] | dict[str, Any] | str]
    """values of: open loop: skip operations that could only start later than this; 0: none"""
    steps: NotRequired[list[Any] | dict[str, Any] | str]
    """values of: the window in steps of a rate or of active users: '60 s at 100/s; 60 s from 100 to 500/s'"""
    isolation: NotRequired[list[Any] | dict[str, Any] | str]
    """values of: isolation level; none: the server's default"""
    statement_timeout_ms: NotRequired[list[Any] | dict[str, Any] | str]
    """values of: statement timeout; 0: none"""
    lock_timeout_ms: NotRequired[list[Any] | dict[str, Any] | str]
    """values of: lock timeout; 0: none"""
    parallel_workers: NotRequired[list[Any] | dict[str, Any] | str]
    """values of: maximum number of parallel workers that help with a query; none: the server's default"""
    max_retries: NotRequired[list[Any] | dict[str, Any] | str]
    """values of: retries after a deadlock or serialization failure"""
    raise_error: NotRequired[list[Any] | dict[str, Any] | str]
    """values of: stop the run at the first failed operation"""
    reconnect: NotRequired[list[Any] | dict[str, Any] | str]
    """values of: open a lost connection again, with growing pauses; otherwise stop the run"""
    counter_interval_s: NotRequired[list[Any] | dict[str, Any] | str]
    """values of: seconds between samples of the server's counters"""
    waits_hz: NotRequired[list[Any] | dict[str, Any] | str]
    """values of: samples per second of what the server's sessions wait for; 0: none"""
    profile: NotRequired[list[Any] | dict[str, Any] | str]
    """values of: sample the stacks of server and clients on this host; perf: by Linux's perf, 49 times a second"""
    analyze: NotRequired[list[Any] | dict[str, Any] | str]
    """values of: update the optimizer's statistics of the workload's tables before the run"""
    replica_reads: NotRequired[list[Any] | dict[str, Any] | str]
    """values of: perform the operations that only read on the replicas of the target, in turn"""
    routing: NotRequired[list[Any] | dict[str, Any] | str]
    """values of: addresses of operations, such as 'round_robin' or 'payment: last; others: random'; first: the target's own address, last: its last node, round_robin: its nodes in turn, random: a node at random, replica: one replica per user"""
    cache: NotRequired[list[Any] | dict[str, Any] | str]
    """values of: server's cache before the run; warm: unchanged, restart: emptied by a restart, cold: the page cache of the server's host as well"""
    fault: NotRequired[list[Any] | dict[str, Any] | str]
    """values of: faults to cause in the window, separated by ;, such as 'kill server at 30 s'"""
    mix: NotRequired[list[Any] | dict[str, Any] | str]
    """values of: weight of each transaction; none: 45/43/4/4/4, or HammerDB's 10/10/1/1/1"""
    routines: NotRequired[list[Any] | dict[str, Any] | str]
    """values of: stored routines, or the same from the client; none: stored where the engine has them"""
    input_rules: NotRequired[list[Any] | dict[str, Any] | str]
    """values of: whose rules draw the inputs"""
    all_warehouses: NotRequired[list[Any] | dict[str, Any] | str]
    """values of: draw a new warehouse for each transaction"""
    remote_warehouses: NotRequired[list[Any] | dict[str, Any] | str]
    """values of: let 1 % of order lines and 15 % of payments use another warehouse"""
    keep_order_ids: NotRequired[list[Any] | dict[str, Any] | str]
    """values of: keep the order id of each new order"""
    query_sets: NotRequired[list[Any] | dict[str, Any] | str]
    """values of: number of times that each stream runs the queries"""
    queries: NotRequired[list[Any] | dict[str, Any] | str]
    """values of: the queries that run, such as q01,q06; none: all 22"""
    refresh: NotRequired[list[Any] | dict[str, Any] | str]
    """values of: refresh functions RF1 and RF2: off; undone: their changes are undone after the run; kept"""
    refresh_pairs: NotRequired[list[Any] | dict[str, Any] | str]
    """values of: pairs of refresh functions of several streams; none: one for each set of queries of each stream"""
    refresh_pause_s: NotRequired[list[Any] | dict[str, Any] | str]
    """values of: pause of the stream of refresh functions between two pairs, in seconds: a trickle of changes"""
    update_set: NotRequired[list[Any] | dict[str, Any] | str]
    """values of: the first update set of refresh functions"""
    weights: NotRequired[list[Any] | dict[str, Any] | str]
    """values of: weight of each operation; none: those of the definition"""
    warehouses: NotRequired[list[Any] | dict[str, Any] | str]
    """values of: scale: number of warehouses"""
    scale_factor: NotRequired[list[Any] | dict[str, Any] | str]
    """values of: scale: 1 is about 1 GB of text, in 8.7 million rows"""
    indexes: NotRequired[list[Any] | dict[str, Any] | str]
    """values of: all: keys, foreign keys, dates; hammerdb: what HammerDB indexes; keys: keys alone; none"""
    parameters: NotRequired[list[Any] | dict[str, Any] | str]
    """values of: values of its parameters: rows=100000"""
    partitions: NotRequired[list[Any] | dict[str, Any] | str]
    """values of: number of partitions of the largest tables; 0: none"""
    history_key: NotRequired[list[Any] | dict[str, Any] | str]
    """values of: add a primary key to tables that the specification defines without one"""
    tablespace: NotRequired[list[Any] | dict[str, Any] | str]
    """values of: table space of the tables; none: the account's default"""
    table_tablespaces: NotRequired[list[Any] | dict[str, Any] | str]
    """values of: table spaces of single tables, as table=space,table=space"""
    index_tablespace: NotRequired[list[Any] | dict[str, Any] | str]
    """values of: table space of the indexes; needs tablespace"""
    storage_engine: NotRequired[list[Any] | dict[str, Any] | str]
    """values of: storage engine of the tables, such as InnoDB"""
    hash_clusters: NotRequired[list[Any] | dict[str, Any] | str]
    """values of: tables that do not grow are in hash clusters, sized for the scale of the build"""
    checkpoint: NotRequired[list[Any] | dict[str, Any] | str]
    """values of: after a build, write all changed blocks and switch the redo log"""
    unlogged: NotRequired[list[Any] | dict[str, Any] | str]
    """values of: leave the tables out of the write-ahead log; a crash of the server empties them"""
    columnstore: NotRequired[list[Any] | dict[str, Any] | str]
    """values of: keep every table by columns (a clustered columnstore index)"""
    memory_optimized: NotRequired[list[Any] | dict[str, Any] | str]
    """values of: durability of memory-optimized tables with natively compiled procedures; none: tables on disk"""
    bucket_factor: NotRequired[list[Any] | dict[str, Any] | str]
    """values of: hash buckets of memory-optimized tables for each row that their key has after a build"""
    cache_groups: NotRequired[list[Any] | dict[str, Any] | str]
    """values of: cache groups of the same tables in Oracle Database: asynchronous (awt) or synchronous (swt) write-through, or read-only"""
    cached_tables: NotRequired[list[Any] | dict[str, Any] | str]
    """values of: the tables in cache groups: all, or those that do not grow"""


class TargetAnswer(TypedDict):
    """A target of the workspace."""

    name: str
    url: str
    """the address, without a password; empty if its entry has errors"""
    may_change_settings: bool
    error: NotRequired[str]
    """what is wrong with its entry"""


class TargetList(TypedDict):
    """The targets of the workspace."""

    targets: list[TargetAnswer]


class TimedOperation(TypedDict):
    """How often an operation ended, and the latencies of those that were completed."""

    p50_us: NotRequired[int | float | None]
    p90_us: NotRequired[int | float | None]
    p95_us: NotRequired[int | float | None]
    p99_us: NotRequired[int | float | None]
    p999_us: NotRequired[int | float | None]
    max_us: NotRequired[int | float | None]
    mean_us: NotRequired[float | None]
    count: int


class Wait(TypedDict):
    """What sessions of the load did in the server: how many at a time, and how long per completed operation."""

    operation: str
    wait_class: str
    """running, lock, log, disk, latch, client or other"""
    event: str
    """the server's name of the wait; empty if there is none"""
    table: str
    """the table that it waits for; empty if that is not known"""
    sessions: float
    """mean number of sessions"""
    ms: float | None
    """milliseconds per completed operation of this name; None: there was none"""


class WaitsResult(TypedDict):
    """What the server's sessions worked on and waited for, from samples of the window."""

    samples: int
    waits: list[Wait]
    """of the load's sessions, by operation"""
    others: list[Wait]
    """of all other sessions and of the server's own processes; no operation"""


class WatchRequest(TypedDict):
    """Measure the load of another program."""

    target: str
    """name of a target in the workspace's targets file"""
    duration_s: NotRequired[float]
    """measured window, in seconds"""
    virtual_users: NotRequired[int]
    """users of that load, if known"""
    label: NotRequired[str | None]
    """a name to find the runs by"""


class WorkloadSpec(TypedDict):
    """
    A workload and its schema. ``seed`` determines the population: equal specifications give equal tables.

    Each workload has a subclass with its scale; ``hdbkit.config.spec_from`` reads any.
    """

    kind: NotRequired[str]
    """the workload"""
    seed: NotRequired[int]
    """seed of the population"""
    storage: NotRequired[dict[str, bool | int | float | str]]
    """storage options of the engine, such as partitions"""
    partitions: NotRequired[int]
    """number of partitions of the largest tables; 0: none"""
    history_key: NotRequired[bool]
    """add a primary key to tables that the specification defines without one"""
    tablespace: NotRequired[str | None]
    """table space of the tables; none: the account's default"""
    table_tablespaces: NotRequired[str | None]
    """table spaces of single tables, as table=space,table=space"""
    index_tablespace: NotRequired[str | None]
    """table space of the indexes; needs tablespace"""
    storage_engine: NotRequired[str | None]
    """storage engine of the tables, such as InnoDB"""
    hash_clusters: NotRequired[bool]
    """tables that do not grow are in hash clusters, sized for the scale of the build"""
    checkpoint: NotRequired[bool]
    """after a build, write all changed blocks and switch the redo log"""
    unlogged: NotRequired[bool]
    """leave the tables out of the write-ahead log; a crash of the server empties them"""
    columnstore: NotRequired[bool]
    """keep every table by columns (a clustered columnstore index)"""
    memory_optimized: NotRequired[Literal['SCHEMA_AND_DATA', 'SCHEMA_ONLY'] | None]
    """durability of memory-optimized tables with natively compiled procedures; none: tables on disk"""
    bucket_factor: NotRequired[int]
    """hash buckets of memory-optimized tables for each row that their key has after a build"""
    cache_groups: NotRequired[Literal['awt', 'swt', 'read_only'] | None]
    """cache groups of the same tables in Oracle Database: asynchronous (awt) or synchronous (swt) write-through, or read-only"""
    cached_tables: NotRequired[Literal['full', 'partial']]
    """the tables in cache groups: all, or those that do not grow"""
    warehouses: NotRequired[int]
    """scale: number of warehouses"""
    schema_from: NotRequired[Literal['hdbkit', 'hammerdb']]
    """tool that created the schema; hammerdb: run the schema as HammerDB built it"""
    scale_factor: NotRequired[float]
    """scale: 1 is about 1 GB of text, in 8.7 million rows"""
    indexes: NotRequired[Literal['all', 'hammerdb', 'keys', 'none']]
    """all: keys, foreign keys, dates; hammerdb: what HammerDB indexes; keys: keys alone; none"""
    folder: NotRequired[str]
    """the folder that defines the workload"""
    parameters: NotRequired[dict[str, int | float]]
    """values of its parameters: rows=100000"""


class BuildRequest(TypedDict):
    """Build a schema."""

    target: str
    """name of a target in the workspace's targets file"""
    workload: NotRequired[WorkloadSpec | None]
    """the workload: its kind and scale, or 'folder', the name of a folder in 'workloads'"""
    loaders: NotRequired[int | None]
    """loader processes; default: one per core"""
    cluster: NotRequired[str | None]
    """load hosts that load the rows: tls://HOST:8786 (a dask scheduler), ssh:FILE (a host per line), or local:N"""


class CheckRequest(TypedDict):
    """Check a schema."""

    target: str
    """name of a target in the workspace's targets file"""
    workload: NotRequired[WorkloadSpec | None]
    """the workload: its kind and scale, or 'folder', the name of a folder in 'workloads'"""
    answers: NotRequired[bool]
    """check the operations' answers, too"""


class ErrorAnswer(TypedDict):
    """Why a request was not accepted; nothing was started."""

    error: str
    problems: NotRequired[list[ProblemAnswer]]
    """all errors of the request"""


class ExperimentDocument(TypedDict):
    """An experiment: what it measures, and how far it is or how it ended."""

    experiment_id: str
    kind: str
    """the source of its cells"""
    title: str
    """the experiment as the subject of a sentence"""
    status: ExperimentStatus
    targets: list[str]
    """names or addresses, without passwords"""
    cells: list[dict[str, str]]
    """what differs between its configurations, the baseline first"""
    runs: int
    """planned runs, as far as they are known"""
    done: int
    ended_early: int
    failed: int
    blocks: int
    run_id: str
    """the present run, or the last one; empty before the first"""
    doing: str
    """what that run executes"""
    left_s: float | None
    """estimated seconds; null where they are not known yet"""
    note: str
    """why it was stopped, or failed"""


class ExperimentList(TypedDict):
    """Experiments, newest first."""

    experiments: list[ExperimentDocument]
    total: int
    """the number of experiments, listed or not"""


class Job(TypedDict):
    """A job."""

    job_id: str
    verb: str
    state: State
    request: dict[str, Any]
    """the request as it was sent"""
    holder: str
    """the name of the token that started it"""
    created: str
    ended: str | None
    """when it ended; for a killed job, null"""
    error: str
    """why it failed; empty if it did not"""
    run_id: str
    """its present or last run"""
    experiment_id: str
    doing: str
    """what is being done"""


class JobList(TypedDict):
    """Jobs, newest first."""

    jobs: list[Job]
    total: int
    """the number of jobs that were found, listed or not"""


class Load(TypedDict):
    """
    How a workload runs.

    Each workload has a subclass with its own options; ``hdbkit.config.load_from`` reads any.

    Example:
        >>> Load(virtual_users=8, rampup_s=30, duration_s=120).virtual_users
        8
    """

    virtual_users: NotRequired[int]
    """number of virtual users, each with one connection"""
    users_per_process: NotRequired[int]
    """virtual users per client process"""
    sessions_per_user: NotRequired[int]
    """sessions of a virtual user, each a connection that executes operations like a user of its own"""
    cluster: NotRequired[str | None]
    """load hosts that share the virtual users: tls://HOST:8786 (a dask scheduler), ssh:FILE (a host per line), or local:N; none: this host alone"""
    cut_off_hosts: NotRequired[CutOff]
    """what users of a load host do that is cut off from the others: continue or stop"""
    start_delay_ms: NotRequired[int | None]
    """milliseconds between the starts of users, before the ramp-up; none: the workload's own, 0"""
    connect_rate: NotRequired[float | None]
    """logins per second of all users together, before the start; none: as fast as possible"""
    connect_per_operation: NotRequired[bool]
    """open a new connection for each operation; response time contains the login"""
    rampup_s: NotRequired[float]
    """ramp-up before the measured window, in seconds"""
    rampup_max_s: NotRequired[float]
    """extend the ramp-up to at most this many seconds while full-page writes subside; 0: off"""
    duration_s: NotRequired[float]
    """measured window, in seconds"""
    iterations: NotRequired[int | None]
    """maximum number of operations per virtual user"""
    keying_and_thinking: NotRequired[bool]
    """wait for the keying and thinking times of the workload between operations"""
    keying_scale: NotRequired[float]
    """factor of all keying times"""
    thinking_scale: NotRequired[float]
    """factor of all thinking times"""
    rate: NotRequired[float | None]
    """open loop: operations per second of all users together; none: closed loop"""
    rate_of: NotRequired[RateOf]
    """what the rate counts: all operations, or those of the metric"""
    arrivals: NotRequired[Arrivals]
    """how the operations of an open loop follow each other: at random (poisson), or evenly (uniform)"""
    latency_limit_ms: NotRequired[float]
    """open loop: skip operations that could only start later than this; 0: none"""
    steps: NotRequired[str | list[Any] | None]
    """the window in steps of a rate or of active users: '60 s at 100/s; 60 s from 100 to 500/s'"""
    isolation: NotRequired[Isolation | None]
    """isolation level; none: the server's default"""
    statement_timeout_ms: NotRequired[int]
    """statement timeout; 0: none"""
    lock_timeout_ms: NotRequired[int]
    """lock timeout; 0: none"""
    parallel_workers: NotRequired[int | None]
    """maximum number of parallel workers that help with a query; none: the server's default"""
    max_retries: NotRequired[int]
    """retries after a deadlock or serialization failure"""
    raise_error: NotRequired[bool]
    """stop the run at the first failed operation"""
    reconnect: NotRequired[bool]
    """open a lost connection again, with growing pauses; otherwise stop the run"""
    counter_interval_s: NotRequired[float]
    """seconds between samples of the server's counters"""
    waits_hz: NotRequired[float]
    """samples per second of what the server's sessions wait for; 0: none"""
    profile: NotRequired[Profile]
    """sample the stacks of server and clients on this host; perf: by Linux's perf, 49 times a second"""
    analyze: NotRequired[bool]
    """update the optimizer's statistics of the workload's tables before the run"""
    read_only: NotRequired[bool]
    """run only the operations that read, as on a standby; their weights keep their ratio"""
    replica_reads: NotRequired[bool]
    """perform the operations that only read on the replicas of the target, in turn"""
    routing: NotRequired[str | dict[str, Any] | None]
    """addresses of operations, such as 'round_robin' or 'payment: last; others: random'; first: the target's own address, last: its last node, round_robin: its nodes in turn, random: a node at random, replica: one replica per user"""
    cache: NotRequired[Cache]
    """server's cache before the run; warm: unchanged, restart: emptied by a restart, cold: the page cache of the server's host as well"""
    seed: NotRequired[int]
    """seed of inputs and of the sequence of operations"""
    fault: NotRequired[str | None]
    """faults to cause in the window, separated by ;, such as 'kill server at 30 s'"""
    mix: NotRequired[dict[str, float] | None]
    """weight of each transaction; none: 45/43/4/4/4, or HammerDB's 10/10/1/1/1"""
    routines: NotRequired[Literal['stored', 'client'] | None]
    """stored routines, or the same from the client; none: stored where the engine has them"""
    input_rules: NotRequired[Literal['spec', 'hammerdb']]
    """whose rules draw the inputs"""
    all_warehouses: NotRequired[bool]
    """draw a new warehouse for each transaction"""
    remote_warehouses: NotRequired[bool]
    """let 1 % of order lines and 15 % of payments use another warehouse"""
    keep_order_ids: NotRequired[bool]
    """keep the order id of each new order"""
    query_sets: NotRequired[int]
    """number of times that each stream runs the queries"""
    queries: NotRequired[str | None]
    """the queries that run, such as q01,q06; none: all 22"""
    refresh: NotRequired[Literal['off', 'undone', 'kept']]
    """refresh functions RF1 and RF2: off; undone: their changes are undone after the run; kept"""
    refresh_pairs: NotRequired[int | None]
    """pairs of refresh functions of several streams; none: one for each set of queries of each stream"""
    refresh_pause_s: NotRequired[float]
    """pause of the stream of refresh functions between two pairs, in seconds: a trickle of changes"""
    update_set: NotRequired[int]
    """the first update set of refresh functions"""
    weights: NotRequired[dict[str, float] | None]
    """weight of each operation; none: those of the definition"""


class MeasureInTurnRequest(TypedDict):
    """Measure two targets in turn, or together."""

    base: str
    """name of a target in the workspace's targets file"""
    new: str
    """name of a target in the workspace's targets file"""
    together: NotRequired[bool]
    """at the same time, on two servers; for a busy host"""
    workload: NotRequired[WorkloadSpec | None]
    """the workload: its kind and scale, or 'folder', the name of a folder in 'workloads'"""
    load: NotRequired[Load | None]
    """options of the load"""
    virtual_users: NotRequired[list[VirtualUser]]
    """user counts"""
    blocks: NotRequired[int]
    """passes over everything that is measured"""
    label: NotRequired[str | None]
    """a name to find the runs by"""


class ProfileRequest(TypedDict):
    """Repeat the runs of a profile."""

    target: str
    """name of a target in the workspace's targets file"""
    name: str
    """the profile's name, one word"""
    workload: NotRequired[WorkloadSpec | None]
    """the workload: its kind and scale, or 'folder', the name of a folder in 'workloads'"""
    load: NotRequired[Load | None]
    """options of the load"""
    virtual_users: NotRequired[list[VirtualUser]]
    """user counts"""
    blocks: NotRequired[int]
    """passes over everything that is measured"""


class RunRequest(TypedDict):
    """Run a workload."""

    target: str
    """name of a target in the workspace's targets file"""
    workload: NotRequired[WorkloadSpec | None]
    """the workload: its kind and scale, or 'folder', the name of a folder in 'workloads'"""
    load: NotRequired[Load | None]
    """options of the load"""
    label: NotRequired[str | None]
    """a name to find the runs by"""


class SchemaRequest(TypedDict):
    """A schema in a target."""

    target: str
    """name of a target in the workspace's targets file"""
    workload: NotRequired[WorkloadSpec | None]
    """the workload: its kind and scale, or 'folder', the name of a folder in 'workloads'"""


class SlicesConfiguration(TypedDict):
    """One of the configurations that alternate within a run: means over its slices."""

    configuration: int
    metric_value: float | None
    operations_per_s: float | None
    operations: dict[str, TimedOperation]


class SlicesResult(TypedDict):
    """The slices of a run whose configurations alternate."""

    washout_s: float | None
    """time left out at the beginning of each slice"""
    cycles: int
    """cycles that count"""
    dropped: int
    """other cycles in the window"""
    unusable: str
    """why the slices cannot be compared; empty if they can"""
    configurations: list[SlicesConfiguration]


class SweepSpec(TypedDict):
    """
    A grid of settings, factors and virtual users, measured in randomized complete blocks.

    The first value of each setting belongs to the baseline, unless ``baseline`` gives another.
    """

    reset: NotRequired[Reset]
    """reset of the data before each run; auto: restore on a private server, else none"""
    cache: NotRequired[Cache]
    """cache before each run; warm: unchanged, restart: emptied by a restart, cold: the page cache of the server's host as well"""
    cooldown: NotRequired[Cooldown]
    """cooldown before each run; idle: until the hosts are idle, fixed: cooldown_s"""
    cooldown_s: NotRequired[float | None]
    """maximum cooldown before each run, in seconds; none: 10 s or the window, whichever is shorter"""
    name: NotRequired[str]
    question: NotRequired[str | None]
    """the question the sweep answers, for its report"""
    facts: NotRequired[dict[str, str | float | bool]]
    """facts of the database's host for formulas and constraints: {ram: 64GB}"""
    settings: NotRequired[dict[str, list[str | float | bool | Settings | Settings1] | Settings2 | Settings3 | str]]
    """values of each server setting"""
    factors: NotRequired[Factors]
    """values of options of the load and the schema"""
    special: NotRequired[dict[str, list[str | float | bool]]]
    """values that are not sizes, such as -1; constraints ignore them"""
    constraints: NotRequired[list[str]]
    """conditions on each configuration, such as max_wal_size >= 2 * min_wal_size"""
    baseline: NotRequired[dict[str, str | float | bool]]
    """the baseline's values of settings and factors"""
    virtual_users: NotRequired[list[int]]
    """numbers of virtual users"""
    strategy: NotRequired[Strategy]
    """grid: all configurations in each block; search: those that a search selects"""
    asked: NotRequired[int]
    """configurations that a search selects for each block"""
    end_early: NotRequired[bool]
    """search by a rate: end a run once its 99.9 % interval is far below the three fastest so far"""
    blocks: NotRequired[int]
    """passes over all configurations"""
    looks: NotRequired[list[int]]
    """numbers of blocks after which the sweep ends if all is decided; the last is blocks: [4, 8, 12]"""
    drop_decided: NotRequired[bool]
    """with looks: a configuration that a look decides is not run in later blocks; the baseline is"""
    winner_blocks: NotRequired[int]
    """confirmation blocks of the three fastest and the baseline at the end; 0: none"""
    smallest_effect: NotRequired[float]
    """smallest relative difference that matters; smaller ones are equivalent"""
    compare_by: NotRequired[CompareBy]
    """runs: one configuration per run; slices: all alternate within each run; auto: slices if the account can set all settings in a session and a run holds ten cycles"""
    slice_s: NotRequired[float | None]
    """length of a slice, in seconds; none: 0.25 to 1 in a session, 2 on the server"""
    time_budget_s: NotRequired[float | None]
    """maximum duration of all blocks, in seconds; a longer plan is an error"""
    abort: NotRequired[AbortRules]
    """limits; a run that exceeds one fails"""
    seed: NotRequired[int]
    """seed of the order of runs"""
    load: NotRequired[Load]
    """load of each run"""
    workload: NotRequired[WorkloadSpec | None]
    """workload and schema; none: the schema that exists"""


class FindMaxRequest(TypedDict):
    """Find the highest rate within a limit on the response time."""

    target: str
    """name of a target in the workspace's targets file"""
    limit: str
    """limit on the response time, such as p95=20ms"""
    workload: NotRequired[WorkloadSpec | None]
    """the workload: its kind and scale, or 'folder', the name of a folder in 'workloads'"""
    load: NotRequired[Load | None]
    """options of the load"""
    blocks: NotRequired[int]
    label: NotRequired[str | None]
    """a name to find the runs by"""


class RunResult(TypedDict):
    """
    The figures of a run.

    An operation counts where it ends; ``completed`` is committed or rolled back by design, never failed. A metric
    with a counter comes from the schema's own count, never from the clients.
    """

    metric_value: float | None
    """value of the workload's metric, in its unit"""
    metric_unknown: NotRequired[str]
    """why the metric has no value"""
    engine_tpm: float | None
    """commits and rollbacks per minute that the server counted"""
    window_s: float
    """length of the measured window"""
    measured_s: NotRequired[float | None]
    """the time that the metric's value refers to"""
    completed: int | None
    committed: NotRequired[int | None]
    rolled_back_by_design: NotRequired[int | None]
    failed: int | None
    retries: int | None
    """repeated attempts after deadlocks and serialization failures"""
    operations_per_s: float | None
    """completed operations of all types per second"""
    operations: dict[str, OperationResult]
    """each operation by its name"""
    errors: dict[str, int]
    """failed operations by the class of their error"""
    client_cpu_us_per_operation: float | None
    client_and_supervisor_cpu_us_per_operation: NotRequired[float | None]
    server_cpu_us_per_operation: float | None
    server_cpu_unknown: NotRequired[str]
    """why the server's CPU time is unknown"""
    per_operation: ClientUse
    host_cpu_pct: dict[str, float] | None
    """shares of all cores' time on the load host, in percent: user, system, iowait, steal, idle"""
    memory_used_bytes: NotRequired[float | None]
    """mean of the load host"""
    disk_read_bytes_per_s: NotRequired[float | None]
    """of all disks of the load host"""
    disk_write_bytes_per_s: NotRequired[float | None]
    """of all disks of the load host"""
    others_cpu_pct: NotRequired[float | None]
    """share of the load host's CPU time that other processes used, in percent"""
    throttled_pct: NotRequired[float | None]
    """time for which CPU quotas paused clients or server, over all cores, in percent of the window"""
    server_host: NotRequired[ServerHostUse | None]
    """the database's host; None without an agent"""
    littles_law: LittlesLaw | None
    counters: dict[str, float]
    """growth of each of the server's counters"""
    waiting_locks: NotRequired[float | None]
    """mean number of sessions that waited for a lock"""
    replication_lag_s: NotRequired[Lag | None]
    server_restarts_s: NotRequired[list[float] | None]
    """when the server was started again, in seconds since the run's start"""
    outages: NotRequired[list[Outage]]
    server_moves_s: NotRequired[list[float] | None]
    """when another server was first seen to answer, in seconds since the run's start"""
    full_pages: NotRequired[FullPageRates | None]
    waits: NotRequired[WaitsResult | None]
    """None: what sessions wait for was not sampled"""
    data: NotRequired[DataSize | None]
    clients_lost: NotRequired[int | None]
    """client processes that ended early"""
    faults: NotRequired[list[FaultEffect]]
    """effects of the faults that the run caused"""
    lost_commits: NotRequired[int | None]
    """acknowledged commits that the schema does not have after a run with faults"""
    lost_commits_unknown: NotRequired[str]
    """why lost_commits is unknown"""
    slices: NotRequired[SlicesResult | None]
    """None: no configurations alternate"""
    schedule: NotRequired[ScheduleResult | None]
    """None: a closed loop"""
    steps: NotRequired[list[StepResult]]


class SweepRequest(TypedDict):
    """Measure combinations of settings."""

    target: str
    """name of a target in the workspace's targets file"""
    sweep: SweepSpec
    """the sweep, as in its file; with settings or factors to try"""
    blocks: NotRequired[int | None]


class RunDocument(TypedDict):
    """A run: its figures and checks."""

    run_id: str
    status: Status
    report: str
    """the file with its report, on the host of the results"""
    metric: dict[str, str]
    """name, unit, and whether higher or lower is better"""
    warnings: list[str]
    bottleneck: Bottleneck | None
    """what limits it; null if its throughput is not known"""
    result: RunResult | None
    """null if the run has not been measured"""
    events: list[dict[str, Any]]
    """time_s since the start, kind, text and source, as far as known"""
    checks: list[dict[str, Any]]
