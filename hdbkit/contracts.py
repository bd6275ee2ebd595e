"""The contracts between packages. Read this first.

A **database** is one file in ``databases/`` and one folder of SQL in ``schemas/``. It hands out **sessions**; a
**workload** turns sessions into **users**; the run drives users and knows neither.

Rules that types cannot express:

* Operations. Everything named is an operation: a stored routine, a statement, client SQL, a script. Code outside
  ``databases/`` uses the name and does not know what implements it.
* Who commits. ``ask`` and ``query`` outside ``begin`` commit by themselves. ``perform`` is one whole operation: when
  it returns, the work is committed; when it raises, no part of the work remains. ``call``, ``batch`` and ``load``
  belong between ``begin`` and ``commit``; outside they raise ``AssertionError`` (drivers differ on autocommit).
* What is fast. ``perform`` and ``call`` run between two clock readings: no logging, no unrequested result objects.
  ``bind`` runs before the first clock reading and may be slow; ``rows`` runs after the second.
* Process boundaries. Targets, plans and specifications can be pickled; sessions, databases and bound calls are never
  sent to another process.
* Names. Code asks for a capability, never for an engine's name, and reads a workload's attributes, never its name.
* Errors. A failed operation raises ``TransactionError`` with its class; the session is then outside any transaction
  and usable, unless the class is ``CONNECTION_LOST``. No other exception of a driver leaves ``databases/``; a failed
  connect raises ``CannotConnect``, and ``MissingDriver`` when the driver is not installed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from signal import Signals
from types import MappingProxyType
from typing import Any, ClassVar, Protocol

from hdbkit.config import Isolation, Load, Target, WorkloadSpec
from hdbkit.config.metric import DetailChart, Metric
from hdbkit.config.model import ConfigModel
from hdbkit.readings import Encryption, Footprint, HostLoad, Pooling, ServerRole
from hdbkit.sql import Statement

Row = tuple[Any, ...]
Arguments = tuple[Any, ...]
"""Plain Python values: int, str, Decimal, datetime, None, or a tuple of these for an array."""


class Capability(StrEnum):
    """What a database can do; declared by the engine, queried by all other code."""

    SQL = "sql"  # sessions implement SqlSession
    TABLES = "tables"  # stores what a build loads, so that its content can be checked
    STORED_ROUTINES = "stored_routines"
    CLIENT_ROUTINES = "client_routines"
    SCHEMAS = "schemas"  # a workload's tables have their own schema inside the database
    SETTINGS = "settings"
    SNAPSHOT_CONFLICTS = (
        "snapshot_conflicts"  # under repeatable read, changing a row that changed since the snapshot fails
    )
    STATEMENT_TIMEOUT = "statement_timeout"  # the timeout applies to all statements, not only to reads
    ADMIN = "admin"  # databases and accounts can be created by an administrator's session


@dataclass(frozen=True)
class SessionOptions:
    """Options of a new connection. A timeout of 0 means none; ``isolation=None`` means the server's own level.

    ``pooling`` is what :meth:`Database.pooling` found; with None, a connection that passes a pooler keeps no state in
    the server's session, which is right for each kind of pooler.
    """

    isolation: Isolation | None = None
    statement_timeout_ms: int = 0
    lock_timeout_ms: int = 0
    connect_timeout_s: int = 10
    application: str = "hdbkit"
    pooling: Pooling | None = None


@dataclass(frozen=True)
class Scope:
    """What a session works with: named statements and the schema of their tables.

    ``schema`` is empty if the account's search path applies, as for tables that hdbkit did not create.
    """

    schema: str
    statements: Mapping[str, Statement]


SERVER = Scope("", MappingProxyType({}))
"""The scope of a session that uses only the engine's own statements."""


class Session(Protocol):
    """One connection, used by one process and one thread; every engine has it, SQL or not."""

    def client_path(self, needs: frozenset[Capability]) -> str:
        """The client code that performs the operations of a load with these needs.

        Results with different client paths are not comparable.
        """
        ...

    def ask(self, operation: str, /, **arguments: Any) -> list[Row]:
        """Run a named operation outside the measured loop and return all its rows (none if it has no result).

        Checks, totals and counts use it. On an SQL engine the operation is a statement: ``{word}`` in its text takes
        the argument ``word``, which must be an identifier or an integer; ``:word`` is a value.
        """
        ...

    def parameters(self, operation: str) -> tuple[str, ...]:
        """The names of an operation's parameters, in the order that ``bind`` expects."""
        ...

    def prepare(self, operations: Iterable[str]) -> None:
        """Prepare named operations for ``bind``, ``call`` and ``batch``."""
        ...

    def bind(self, operation: str, arguments: Arguments) -> Any:
        """Prepare a call before the clock starts; ``arguments`` in the order of the operation's parameters."""
        ...

    def perform(self, bound: Any) -> Any:
        """Perform one whole operation, committed when it returns; return the raw result, for ``rows``.

        Raises:
            RolledBackByDesign: the workload rolled it back on purpose.
            TransactionError: it failed, and no part of it remains.
        """
        ...

    def rows(self, raw: Any) -> list[Row]:
        """Convert the raw result of ``perform`` to plain values."""
        ...

    def close(self) -> None:
        """Close the connection; never raises."""
        ...


class SqlSession(Session, Protocol):
    """A connection to an engine that speaks SQL: transactions of several statements, and bulk load."""

    returns_changed: bool
    """Whether a statement that changes a row can return it (``RETURNING``)."""
    takes_arrays: bool
    """Whether a tuple can be an argument."""

    def query(self, statement: str, /, **arguments: Any) -> list[Row]:
        """Run a named statement, in the current transaction or in its own; the same as ``ask``."""
        ...

    def execute(self, text: str) -> None:
        """Run a command as text, for example one that a named statement generated."""
        ...

    def begin(self) -> None:
        """Start a transaction."""
        ...

    def commit(self) -> None:
        """Commit. If that fails, raises ``TransactionError``, and no part of the transaction remains."""
        ...

    def rollback(self) -> None:
        """Roll back; does nothing outside a transaction or on a lost connection."""
        ...

    def call(self, statement: str, *arguments: Any) -> list[Row]:
        """Run a prepared statement inside a transaction."""
        ...

    def batch(self, calls: Sequence[tuple[str, Arguments]]) -> list[list[Row]]:
        """Run several prepared statements in order, in one round trip if the engine supports it."""
        ...

    def bind_all(self, calls: Sequence[tuple[str, Arguments]]) -> Any:
        """Prepare several calls before the clock starts, for ``perform_all`` and ``perform_each``."""
        ...

    def perform_all(self, bound: Any) -> Any:
        """Perform a whole transaction of several statements, in one round trip if the engine supports it.

        Includes begin and commit. Raises the same errors as ``perform``.
        """
        ...

    def perform_each(self, bound: Any) -> Any:
        """The same with one round trip per statement, and for begin and commit, as a simple client would do."""
        ...

    def load(self, table: Table, chunks: Iterable[bytes]) -> int:
        r"""Bulk-load tab-separated text; return the number of rows.

        ``\N`` is null, a line feed ends a row; in a value, a backslash precedes ``t``, ``n``, ``r`` and itself.
        """
        ...


class SchemaOptions(ConfigModel):
    """Storage options of a schema; each engine has a subclass with its own fields.

    In a specification they are ``WorkloadSpec.storage``; in files they are keys next to the specification's own keys.
    """

    noun: ClassVar[str] = "the storage options"


@dataclass(frozen=True)
class BuildLog:
    """State of a build: existing tables, the specification, whether the build is complete, and the rows of each part.

    ``spec`` is None until a build has started.
    """

    exists: bool
    tables: frozenset[str] = frozenset()
    spec: str | None = None
    finished: bool = False
    parts: Mapping[str, int] = field(default_factory=dict)


class Schema(Protocol):
    """A workload's schema in a database, over one connection: how it is built, recorded and dropped.

    A build records every part in the schema itself, in the same transaction as its rows, so it can be killed at any
    point and resumed. An engine without SQL keeps the same record in its own format.
    """

    @property
    def session(self) -> Session:
        """The connection, with the workload's scope."""
        ...

    @property
    def target(self) -> Target:
        """The database that it is in."""
        ...

    def log(self) -> BuildLog:
        """The current state of the build. The tables of the record itself are not listed.

        Raises:
            TransactionError: this account may not read the record.
        """
        ...

    def create(self, spec: str) -> None:
        """Create the schema, the record with ``spec``, and missing tables; a record of another ``spec`` is replaced
        and no longer complete.

        Raises:
            BuildFailed: a table cannot be created; its cause is the ``TransactionError``.
        """
        ...

    def load(self, part: str, loads: Iterable[PartLoad], sent: Callable[[int, int], None]) -> None:
        """Load a part and note it, in one transaction; ``sent(rows, size_bytes)`` is called as text is sent."""
        ...

    def after_load(self) -> list[str]:
        """The steps that remain once all parts are loaded, such as indexes; any process can do each."""
        ...

    def routines(self) -> None:
        """Create missing stored routines; does nothing if the engine has none."""
        ...

    def statistics(self) -> list[str]:
        """The steps that update the optimizer's statistics; any process can do each."""
        ...

    def unanalyzed(self) -> list[str]:
        """The tables without useful statistics for the optimizer, each with the reason, if the server knows it."""
        ...

    def analyze(self) -> None:
        """Update the optimizer's statistics of the workload's tables, and change nothing else."""
        ...

    def do(self, name: str) -> None:
        """Do one step of ``after_load`` or ``statistics``."""
        ...

    def finish(self) -> None:
        """Record that the schema is complete."""
        ...

    def drop(self) -> list[str]:
        """Drop what a build created, and nothing else; return what was dropped, such as ``table accounts``."""
        ...

    def close(self) -> None:
        """Close the connection; never raises."""
        ...


class Database(Protocol):
    """An engine. Each module of ``databases/`` has one, named ``DATABASE``."""

    kind: str
    title: str
    capabilities: frozenset[Capability]
    extra: str
    """The extra of this package that installs the driver."""
    dialects: tuple[str, ...]
    """Folders of ``schemas/`` that extend ``ansi``, the most general first; the last is named like ``kind``."""
    preload: tuple[str, ...]
    """Modules that clients need, imported before their processes are forked."""
    gauges: frozenset[str]
    """The names among its ``counters`` that are gauges, such as the length of a queue."""
    schema_options: type[SchemaOptions]
    """The storage options of this engine."""
    protected_settings: Mapping[str, str]
    """Settings that a sweep never changes, each with what it would do: clients and hdbkit would lose the server."""
    reload_signal: Signals | None
    """The signal that makes the server's main process read its settings file; None if there is none."""

    def driver_version(self) -> str:
        """Name and version of the driver. Raises ``MissingDriver`` if it is not installed."""
        ...

    def connect(self, target: Target, scope: Scope = SERVER, options: SessionOptions | None = None) -> Session:
        """A session with the statements of ``scope`` and the engine's own."""
        ...

    def schema(self, target: Target, workload: Workload) -> Schema:
        """The workload's schema in the target, over its own connection.

        Raises:
            InputError: the storage options of the workload (``spec.storage``) cannot be used here.
        """
        ...

    def version(self, session: Session) -> str:
        """The server's name and version, one line."""
        ...

    def role(self, session: Session) -> ServerRole:
        """Whether the server accepts changes; a standby replays those of its primary."""
        ...

    def pooling(self, session: Session, target: Target) -> Pooling:
        """Whether a connection pooler is between ``session`` and its server, and how it assigns connections.

        Opens further connections to ``target`` if there is one.
        """
        ...

    def encryption(self, session: Session, target: Target) -> Encryption:
        """How ``session`` is encrypted, and how long the server's certificate is valid."""
        ...

    def free_connections(self, session: Session) -> int | None:
        """How many more connections this account may open; None if the server has no such limit."""
        ...

    def statement_timeout(self, session: Session) -> tuple[float, str] | None:
        """The timeout of this session's statements in seconds, and who sets it; None if there is none."""
        ...

    def counters(self, session: Session) -> dict[str, float]:
        """The server's running totals and gauges; always includes ``commits`` and ``rollbacks``.

        ``uptime_s`` is the time since the server was started. With replication ``replication_lag_s`` is among them:
        of this standby, or of the slowest standby of a primary.
        """
        ...

    def footprint(self, session: Session) -> Footprint | None:
        """The size of the target's database and of the server's cache; None if the engine has neither."""
        ...

    def server_process(self, session: Session) -> int | None:
        """The process id of the server's main process if it runs on this host, else None."""
        ...

    def missing_grants(
        self, session: Session, changes: Mapping[str, ApplyBy], *, kept: bool, applied: bool
    ) -> list[str]:
        """The commands that grant the session's account what it lacks to change these settings.

        ``kept``: the server itself keeps them, through SQL. ``applied``: they take effect through SQL.
        """
        ...

    def settings_of(self, session: Session) -> dict[str, dict[str, Any]]:
        """Every setting as read back: ``{name: {value, unit, default, changed}}``; changed: set explicitly."""
        ...

    def slow_load(self, session: Session) -> str | None:
        """Why bulk loads are slower than necessary on this server, and what to do; None if they are not."""
        ...

    def password_place(self, target: Target) -> str | None:
        """Where the driver itself finds a password for ``target``; None if nowhere. Does not connect."""
        ...

    def provision(self, admin: Target, target: Target) -> list[str]:
        """Create the account and the database of ``target`` if missing, as ``admin``; return what was created."""
        ...


@dataclass(frozen=True)
class UserPlan:
    """One virtual user, fixed before the run starts. ``index`` counts from 0."""

    index: int
    seed: int


@dataclass(slots=True)
class Prepared:
    """An operation ready to be measured: only ``perform(bound)`` runs between the two clock readings.

    ``operation`` is the index in ``Workload.operations``. ``head`` is the part of its record that is known in advance
    (``results.records.Heads``). ``keying_s`` and ``thinking_s`` are 0 unless asked for.
    """

    operation: int
    perform: Callable[[Any], Any]
    bound: Any
    head: bytes
    keying_s: float = 0.0
    thinking_s: float = 0.0


class User(Protocol):
    """A virtual user's side of a workload."""

    def next_batch(self) -> Sequence[Prepared]:
        """Some hundred operations, drawn and bound in advance."""
        ...

    def head(self, prepared: Prepared, raw: Any) -> bytes:
        """The record's head, completed from the result, for example with a key that the server generated.

        Called only if ``Workload.details_from_results`` is true.
        """
        ...


@dataclass(frozen=True)
class Check:
    """One check: ``passed`` is None if it is undecided, and ``detail`` gives the reason."""

    name: str
    passed: bool | None
    detail: str


class Asks(Protocol):
    """What answers the operations of a check: a session, and what observes one."""

    def ask(self, operation: str, /, **arguments: Any) -> list[Row]:
        """See :meth:`Session.ask`."""
        ...


@dataclass(frozen=True)
class PlannedCheck:
    """A check that ``decide`` carries out.

    ``of_catalog`` means that it only reads the server's catalog, so it is repeated before each run. Without one that
    is ``required``, the checks after it mean nothing.
    """

    name: str
    decide: Callable[[Asks], Check]
    of_catalog: bool = False
    required: bool = False


@dataclass(frozen=True)
class Table:
    """A table for a bulk load: its columns in loading order, and its key columns.

    ``types`` gives the type of each column: integer, decimal, text or timestamp; empty if the workload does not state
    them.
    """

    name: str
    columns: tuple[str, ...]
    key: tuple[str, ...] = ()
    types: tuple[str, ...] = ()


@dataclass(frozen=True)
class Part:
    """A part of the population that is loaded in one transaction; ``key`` is its name in the build log.

    Parts are loaded in parallel, except those that are ``alone``: one by one, after all others.
    """

    key: str
    rows: int
    size_bytes: int
    alone: bool = False


@dataclass(frozen=True)
class TableLoad:
    """What goes into one table for one part: tab-separated text in ``chunks``, made while it is read."""

    table: Table
    chunks: Iterator[bytes]


@dataclass(frozen=True)
class StatementLoad:
    """A named operation that makes the rows of a part in the database itself."""

    operation: str


PartLoad = TableLoad | StatementLoad
"""What a part is loaded by."""


@dataclass(frozen=True)
class PlannedPhase:
    """A phase of a run: its length, and whether it is measured.

    ``duration_s`` is None if the phase ends when all users are done; ``max_s`` extends an unmeasured phase to at most
    that length, until the server has settled.
    """

    name: str
    duration_s: float | None
    measured: bool
    max_s: float = 0.0


@dataclass(frozen=True)
class Serial:
    """Numbers without gaps that a schema gives to the results of ``operation``, by which a lost commit is noticed.

    ``number`` counts within ``group``; these are detail columns. The operation ``last`` returns the columns of
    ``group`` and their last number.
    """

    operation: str
    group: tuple[str, ...]
    number: str
    last: str


class Workload(Protocol):
    """A workload of one specification, made by the function ``workload(spec)`` of its package in ``workloads/``.

    The core reads these attributes and knows no workload by name.
    """

    @property
    def spec(self) -> WorkloadSpec:
        """The specification of this workload."""
        ...

    title: str
    notice: str
    """A notice that every result shows."""
    noun: str
    """The term for an operation: transaction, query."""
    scale: str
    """The size of the schema: ``100 branches``; empty if the workload has no scale."""
    slug: str
    """A short form for run ids, with the scale: ``b-100``."""
    operations: tuple[str, ...]
    reading: frozenset[str]
    """The operations that change nothing in the database."""
    metric: Metric
    serial: Serial | None
    """Numbers by which a lost commit is noticed; None if the schema gives none."""
    details: Mapping[str, str]
    """Columns that it adds to each record: name and NumPy type, such as ``{"key": "u4"}``."""
    detail_charts: tuple[DetailChart, ...]
    """Charts over its detail columns, in addition to those of every run."""
    tables: Mapping[str, Table]
    """The tables that a build creates and loads, in this order; empty if hdbkit does not build them."""
    routines: tuple[str, ...]
    """The stored routines that a build creates; may be empty."""
    grows: bool
    """Whether the parts of a smaller scale are also parts of a larger one, so that a build can add the others."""
    preload: tuple[str, ...]
    """Modules that clients need, imported before their processes are forked."""

    def scope(self, dialects: tuple[str, ...]) -> Scope:
        """Its statements for an engine, and the schema that they use."""
        ...

    def load(self, given: Load) -> Load:
        """``given`` as an instance of this workload's load model.

        Raises:
            ConfigErrors: an option does not belong to this workload, or has an invalid value.
            InputError: an option contradicts the specification.
        """
        ...

    def mix(self, load: Load) -> dict[str, float]:
        """The planned weight of each operation; empty if the workload has no mix."""
        ...

    def rollback_shares(self, load: Load) -> dict[str, float]:
        """By operation, the share that is rolled back by design."""
        ...

    def needs(self, load: Load) -> frozenset[Capability]:
        """The capabilities that this load requires."""
        ...

    def paced(self, load: Load) -> bool:
        """Whether users have keying and think times between operations."""
        ...

    def details_from_results(self, load: Load) -> bool:
        """Whether ``User.head`` is called for each operation."""
        ...

    def hint(self, load: Load) -> str:
        """Why this load may measure something else than expected on this schema; a clause, empty if it does not."""
        ...

    def phases(self, load: Load) -> tuple[PlannedPhase, ...]:
        """The phases of a run in order; measured phases are contiguous."""
        ...

    def parts(self, dialects: tuple[str, ...] = ()) -> list[Part]:
        """The parts of the population on an engine, in loading order; without dialects, those of every engine."""
        ...

    def part(self, key: str) -> Iterator[PartLoad]:
        """The content of a part; equal for equal specifications, on any host."""
        ...

    def found(self, schema: Schema) -> WorkloadSpec | None:
        """The specification that the schema in the database was built from; None if there is no schema.

        Raises:
            SchemaProblem: it is half built, or belongs to another workload.
        """
        ...

    @property
    def record(self) -> str:
        """The specification as a build stores it in the schema; short enough for every engine."""
        ...

    def advice_to_build(self, command: str) -> str:
        """What to do if the schema is missing or another one; ``command`` builds it."""
        ...

    def user(self, session: Session, load: Load, plan: UserPlan, reader: Session | None = None) -> User:
        """A virtual user on a session, with its operations prepared; those in ``reading`` on ``reader`` if given."""
        ...

    def checks(self, dialects: tuple[str, ...]) -> Sequence[PlannedCheck]:
        """The checks of row counts, indexes, routines and consistency conditions on an engine, in order."""
        ...


class ApplyBy(StrEnum):
    """What a change of a setting requires to take effect, as reported by the server."""

    SESSION = "session"
    RELOAD = "reload"
    RESTART = "restart"
    FIXED = "fixed"


@dataclass(frozen=True)
class Setting:
    """A setting of the server as read back. ``value`` and bounds are in ``unit`` if it has one.

    ``kind`` is bool, enum, integer, real, list, string, or size: a whole number that may be written with K, M or G.
    """

    name: str
    value: str
    unit: str | None
    default: str | None
    apply_by: ApplyBy
    minimum: float | None = None
    maximum: float | None = None
    choices: tuple[str, ...] = ()
    kind: str = "string"
    description: str = ""


@dataclass(frozen=True)
class Change:
    """The result of ``apply``: how the settings took effect, how long that took, and what was read back."""

    applied_by: ApplyBy
    duration_s: float
    read_back: dict[str, str] = field(default_factory=dict)


KEPT = "kept"
"""The copy of the data as found before the sweep."""
BUILT = "built"
"""The copy of a schema that the sweep built."""


class Power(Protocol):
    """Starts and stops one server. Failures raise ``ServerFailed`` with the server's own message."""

    @property
    def running(self) -> bool:
        """Whether the server is running, without opening a session."""
        ...

    def start(self) -> object:
        """Start the server and wait until it runs. Does nothing if it already runs."""
        ...

    def stop(self) -> object:
        """Stop the server and wait until it has ended. Does nothing if it is not running."""
        ...

    def restart(self) -> object:
        """Stop and start the server."""
        ...

    def last_log_lines(self) -> str:
        """The last lines that the server has logged since its last start; empty if its log cannot be read."""
        ...


class ServerControl(Protocol):
    """Settings of a running server: read, set, apply, verify by reading back, restore."""

    say: Callable[[str], None]
    """Called with a sentence on what the control waits for; a sweep writes it to its journal."""
    can_restore_data: bool
    can_restart: bool

    @property
    def identity(self) -> str:
        """Unique identity of the server, for the journal: an address or a folder."""
        ...

    @property
    def power(self) -> Power | None:
        """Starts and stops the server from this host; None if that is not possible."""
        ...

    def settings(self) -> dict[str, Setting]:
        """Every setting of the server."""
        ...

    def problems(self, changes: Mapping[str, Sequence[str]]) -> list[str]:
        """The problems with these values of settings: unknown, out of range, not allowed; changes nothing."""
        ...

    def refused(self, configurations: Sequence[Mapping[str, str]]) -> list[str]:
        """The valid values with which the server would not start, each with its own message; changes nothing.

        Empty as well if that cannot be known in advance.
        """
        ...

    def snapshot(self) -> dict[str, Any]:
        """The state that ``restore`` needs, as JSON; taken before the first change. A stopped server is started."""
        ...

    def apply(self, changes: Mapping[str, str]) -> Change:
        """Set the values, reload or restart as needed, and verify them in a new session.

        Raises:
            ServerDown: the server does not answer, and could not be repaired.
            ServerFailed: with the server's own message; the settings are then unchanged.
        """
        ...

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        """Restore the state of ``snapshot``, also on a server that does not start with its settings. Can be repeated.

        Raises:
            ServerDown: the server does not answer, and could not be repaired.
        """
        ...

    def start(self, before: Mapping[str, Any] | None = None) -> None:
        """Start a stopped server, if that is permitted; if it does not start, restore the snapshot ``before``.

        Raises:
            ServerFailed: with the server's own message.
        """
        ...

    def keep_data(self, copy: str = KEPT) -> float:
        """Save a named copy of the current data; return the seconds it took."""
        ...

    def restore_data(self, copy: str = KEPT) -> float:
        """Restore a saved copy of the data; return the seconds it took."""
        ...

    def drop_kept_data(self) -> None:
        """Remove all saved copies."""
        ...

    def maintain(self) -> float:
        """Let the server become idle between runs (checkpoint, purge); return the seconds it took."""
        ...

    def restart(self) -> float:
        """Restart the server with unchanged settings, which empties its cache; return the seconds it took.

        Raises:
            ServerFailed: with the server's own message.
        """
        ...

    def host_load(self) -> HostLoad | None:
        """The load of the server's host, if that is another host and reports it; else None."""
        ...
