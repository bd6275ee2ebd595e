"""The contracts between packages. Read this first.

A **database** is one file in ``databases/`` and one folder of SQL in ``schemas/``. It hands out **sessions**; a
**workload** turns sessions into **users**; the run drives users and knows neither.

Rules that types cannot express:

* Operations. Everything named is an operation: a stored routine, a statement, client SQL, a script. Code outside
  ``databases/`` names it and does not know what is behind the name.
* Who commits. ``ask`` and ``query`` outside ``begin`` commit by themselves. ``perform`` is one whole operation: when
  it returns, the work is committed; when it raises, nothing of it is left. ``call``, ``batch`` and ``load`` belong
  between ``begin`` and ``commit``; outside they raise ``AssertionError`` (drivers differ on autocommit).
* What is fast. ``perform`` and ``call`` run between two clock readings: no logging, no unrequested result objects.
  ``bind`` runs ahead of the clock and may take its time; ``rows`` runs after it.
* What crosses a process. Targets, plans and specifications do (they pickle); sessions, databases, bound calls never.
* Names. Code asks for a capability, never for an engine's name, and reads a workload's attributes, never its name.
* Errors. A failed operation raises ``TransactionError`` with its class; the session is then outside any transaction
  and usable, unless the class is ``CONNECTION_LOST``. No other exception of a driver leaves ``databases/``; a failed
  connect raises ``CannotConnect``, and ``MissingDriver`` when the driver is not installed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Protocol

from hdbkit.config import Isolation, Load, Target, WorkloadSpec
from hdbkit.config.metric import DetailChart, Metric
from hdbkit.config.model import ConfigModel
from hdbkit.readings import Footprint, HostLoad
from hdbkit.sql import Statement

Row = tuple[Any, ...]
Arguments = tuple[Any, ...]
"""Plain Python values: int, str, Decimal, datetime, None, or a tuple of these for an array."""


class Capability(StrEnum):
    """What a backend can do; declared by it, asked for by everybody else."""

    SQL = "sql"  # its sessions are SqlSession
    TABLES = "tables"  # keeps what a build loads, so that its content can be checked
    STORED_ROUTINES = "stored_routines"
    CLIENT_ROUTINES = "client_routines"
    SCHEMAS = "schemas"  # a workload's tables stand in a schema of their own inside the database
    SETTINGS = "settings"
    SNAPSHOT_CONFLICTS = "snapshot_conflicts"  # repeatable read refuses to change a row changed since
    STATEMENT_TIMEOUT = "statement_timeout"  # ends any statement, not only one that reads
    ADMIN = "admin"  # databases and accounts can be created by an administrator's session


@dataclass(frozen=True)
class SessionOptions:
    """What a connection is given when it is made. 0 means no timeout; None the server's own level."""

    isolation: Isolation | None = None
    statement_timeout_ms: int = 0
    lock_timeout_ms: int = 0
    connect_timeout_s: int = 10
    application: str = "hdbkit"


@dataclass(frozen=True)
class Scope:
    """What a session works with: named statements, and the schema in which their tables are.

    ``schema`` is empty where the account's own search path counts, as for tables that hdbkit did not make.
    """

    schema: str
    statements: Mapping[str, Statement]


SERVER = Scope("", MappingProxyType({}))
"""The scope of a session that uses the engine's own statements alone."""


class Session(Protocol):
    """One connection, used by one process and one thread: what every engine has, SQL or not."""

    @property
    def client_path(self) -> str:
        """Which code carries its measured calls, in a few words; a comparison across different paths is doubtful."""
        ...

    def ask(self, operation: str, /, **arguments: Any) -> list[Row]:
        """Run a named operation outside the measured loop and give all its rows (none for one without a result).

        Checks, totals and counts are asked so. On an SQL engine it is a statement: ``{word}`` in its text takes the
        argument ``word``, which must be an identifier or integer; ``:word`` is a value.
        """
        ...

    def parameters(self, operation: str) -> tuple[str, ...]:
        """The names of an operation's values, in the order in which ``bind`` takes them."""
        ...

    def prepare(self, operations: Iterable[str]) -> None:
        """Prepare named operations for ``bind``, ``call`` and ``batch``."""
        ...

    def bind(self, operation: str, arguments: Arguments) -> Any:
        """A call made ready ahead of the clock; ``arguments`` in the order of the operation's parameters."""
        ...

    def perform(self, bound: Any) -> Any:
        """One whole operation in one call, committed when it returns; the raw result, for ``rows``.

        Raises ``RolledBackByDesign`` where the workload wants it, and ``TransactionError``: failed, nothing of it is
        left.
        """
        ...

    def rows(self, raw: Any) -> list[Row]:
        """The raw result of ``perform`` as plain values."""
        ...

    def close(self) -> None:
        """End the connection; never raises."""
        ...


class SqlSession(Session, Protocol):
    """A connection to an engine that speaks SQL: transactions of several statements, and bulk load."""

    returns_changed: bool
    """A statement that changes a row can return it (``RETURNING``)."""
    takes_arrays: bool
    """A tuple is an argument like others."""

    def query(self, statement: str, /, **arguments: Any) -> list[Row]:
        """Run a named statement, inside a transaction or as one of its own; the same as ``ask``."""
        ...

    def execute(self, text: str) -> None:
        """Run a command that a named statement composed, such as one that takes no parameters."""
        ...

    def begin(self) -> None:
        """Start a transaction."""
        ...

    def commit(self) -> None:
        """Commit it. A failure raises ``TransactionError`` and nothing of the transaction is left."""
        ...

    def rollback(self) -> None:
        """Undo it; does nothing outside a transaction, and nothing on a lost connection."""
        ...

    def call(self, statement: str, *arguments: Any) -> list[Row]:
        """A prepared statement inside a transaction."""
        ...

    def batch(self, calls: Sequence[tuple[str, Arguments]]) -> list[list[Row]]:
        """Several prepared statements in one round trip where the engine can, in their order."""
        ...

    def bind_all(self, calls: Sequence[tuple[str, Arguments]]) -> Any:
        """Several prepared statements, made ready ahead of the clock, for ``perform_all`` and ``perform_each``."""
        ...

    def perform_all(self, bound: Any) -> Any:
        """A whole transaction of several statements, in one round trip where the engine can.

        Begin and commit are part of it. Raises as ``perform`` does.
        """
        ...

    def perform_each(self, bound: Any) -> Any:
        """The same with a round trip for each statement, for begin and for commit, as a plain client sends them."""
        ...

    def load(self, table: Table, chunks: Iterable[bytes]) -> int:
        r"""Bulk-load tab-separated text (``\N`` is null, ``\n`` ends a row); the number of rows."""
        ...


class SchemaOptions(ConfigModel):
    """The options of a schema that belong to an engine; each engine has a subclass with its own fields.

    In a specification they are ``WorkloadSpec.storage``; in files they stand beside the specification's own keys.
    """


@dataclass(frozen=True)
class BuildLog:
    """How far a schema is built: its tables, what it is built as, whether it is whole, and the rows of each part.

    ``spec`` is None as long as no build has begun.
    """

    exists: bool
    tables: frozenset[str] = frozenset()
    spec: str | None = None
    finished: bool = False
    parts: Mapping[str, int] = field(default_factory=dict)


class Schema(Protocol):
    """A workload's schema in a database, over one connection: how it is built, recorded and dropped.

    A build notes every part in the schema itself, in the same transaction as its rows, so it can be killed anywhere
    and continues where it stopped. An engine without SQL keeps the same record in its own way.
    """

    @property
    def session(self) -> Session:
        """The connection, with the workload's scope."""
        ...

    def log(self) -> BuildLog:
        """What is there now; the record itself is none of its tables.

        Raises ``TransactionError`` where this account may not read it.
        """
        ...

    def create(self, spec: str) -> None:
        """Make the schema, its record with ``spec`` in it, and the tables that are missing."""
        ...

    def load(self, part: str, loads: Iterable[PartLoad], sent: Callable[[int, int], None]) -> None:
        """Load a part and note it, in one transaction; ``sent(rows, size_bytes)`` is called as text is sent."""
        ...

    def after_load(self) -> list[str]:
        """What is left to do once all parts are loaded, such as indexes; each can be done by another process."""
        ...

    def routines(self) -> None:
        """Make the stored routines that are missing; does nothing where the engine has none."""
        ...

    def statistics(self) -> list[str]:
        """What brings the optimizer's statistics up to date; each can be done by another process."""
        ...

    def do(self, name: str) -> None:
        """Do one step of ``after_load`` or ``statistics``."""
        ...

    def finish(self) -> None:
        """Note that the schema is whole."""
        ...

    def drop(self) -> list[str]:
        """Remove what a build made, and nothing else; what was removed, such as ``table stock``."""
        ...

    def close(self) -> None:
        """End the connection; never raises."""
        ...


class Database(Protocol):
    """An engine. Each module of ``databases/`` has one, named ``DATABASE``."""

    kind: str
    title: str
    capabilities: frozenset[Capability]
    extra: str
    """The extra of the project that installs the driver."""
    dialects: tuple[str, ...]
    """Folders of ``schemas/`` behind ``ansi``, the more general first; the last is named as ``kind``."""
    preload: tuple[str, ...]
    """Modules that the clients' forkserver imports ahead."""
    gauges: frozenset[str]
    """The names among its ``counters`` that go up and down, such as a queue's length."""
    schema_options: type[SchemaOptions]
    """The options that a schema may have on this engine alone."""

    def driver_version(self) -> str:
        """Name and version of the driver. Raises ``MissingDriver``."""
        ...

    def connect(self, target: Target, scope: Scope = SERVER, options: SessionOptions | None = None) -> Session:
        """A session with the statements of ``scope`` and the engine's own."""
        ...

    def schema(self, target: Target, workload: Workload) -> Schema:
        """The workload's schema in the target, over a connection of its own.

        Raises ``InputError`` where the options of the workload's ``spec.storage`` cannot be used.
        """
        ...

    def version(self, session: Session) -> str:
        """The server's name and version, one line."""
        ...

    def free_connections(self, session: Session) -> int | None:
        """How many more clients this account may connect; None where there is no limit to ask for."""
        ...

    def counters(self, session: Session) -> dict[str, float]:
        """Running totals of the engine, and its ``gauges``; ``commits`` and ``rollbacks`` are always there."""
        ...

    def footprint(self, session: Session) -> Footprint | None:
        """The size of the target's database and of the server's cache; None where there is none to ask for."""
        ...

    def server_process(self, session: Session) -> int | None:
        """The process id of the server's main process when it runs on this host."""
        ...

    def settings_of(self, session: Session) -> dict[str, dict[str, Any]]:
        """Every setting as read back: ``{name: {value, unit, default, changed}}``; changed: somebody chose it."""
        ...

    def slow_load(self, session: Session) -> str | None:
        """Why a bulk load takes longer than it need on this server, and what to do; None: it does not."""
        ...

    def password_place(self, target: Target) -> str | None:
        """Where the driver itself finds a password for ``target``, in words; None: nowhere. Connects to nothing."""
        ...

    def provision(self, admin: Target, target: Target) -> list[str]:
        """As ``admin``, create the account and the database of ``target`` where missing; what was created."""
        ...


@dataclass(frozen=True)
class UserPlan:
    """One virtual user, fixed before anything starts. ``index`` counts from 0."""

    index: int
    seed: int


@dataclass(slots=True)
class Prepared:
    """An operation ready to be measured: ``perform(bound)`` is all that happens between the two clock readings.

    ``operation`` is the index in ``Workload.operations``. ``head`` is the part of its record that is known ahead
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
        """Some hundred operations, drawn and bound ahead."""
        ...

    def head(self, prepared: Prepared, raw: Any) -> bytes:
        """The record's head with what only the result tells, such as a key that the server chose.

        Called only where ``Workload.details_from_results`` says so.
        """
        ...


@dataclass(frozen=True)
class Check:
    """One line of a check: ``passed`` is None where it could not be decided, and ``detail`` says why."""

    name: str
    passed: bool | None
    detail: str


@dataclass(frozen=True)
class Table:
    """A table as a bulk load needs it: its columns in loading order, and which of them are its key.

    ``types`` are words of a column's kind, in the order of ``columns``: integer, decimal, text, timestamp; empty
    where the workload does not state them.
    """

    name: str
    columns: tuple[str, ...]
    key: tuple[str, ...] = ()
    types: tuple[str, ...] = ()


@dataclass(frozen=True)
class Part:
    """A piece of a population that is loaded in one transaction; ``key`` names it in the build's log."""

    key: str
    rows: int
    size_bytes: int


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
    """A part of a run: its length, and whether it is measured.

    ``duration_s`` is None where it ends when all users are done; ``max_s`` lets an unmeasured phase go on, at most
    that long, until the server has settled.
    """

    name: str
    duration_s: float | None
    measured: bool
    max_s: float = 0.0


class Workload(Protocol):
    """A workload of one specification, made by the function ``workload(spec)`` of its package in ``workloads/``.

    The core reads these attributes and knows no workload by name.
    """

    @property
    def spec(self) -> WorkloadSpec:
        """The specification that it was made of."""
        ...

    title: str
    notice: str
    """The sentence that every result carries."""
    noun: str
    """What its users call an operation: transaction, query."""
    scale: str
    """The size of its schema in words: ``10 warehouses``; empty where it has none of its own."""
    slug: str
    """A few letters for the ids of runs, with the scale: ``c-w10``."""
    operations: tuple[str, ...]
    metric: Metric
    details: Mapping[str, str]
    """Columns that it adds to each record: name and NumPy type, such as ``{"w_id": "u4"}``."""
    detail_charts: tuple[DetailChart, ...]
    """Charts over its detail columns, beside those that every run has."""
    tables: Mapping[str, Table]
    """What a build makes and loads, in this order; empty where the tables are somebody else's."""
    routines: tuple[str, ...]
    """Stored routines that a build makes; empty where it needs none."""
    preload: tuple[str, ...]
    """Modules that the clients' forkserver imports ahead."""

    def scope(self, dialects: tuple[str, ...]) -> Scope:
        """Its statements for an engine, and the schema they work in."""
        ...

    def load(self, given: Load) -> Load:
        """``given`` as this workload's own kind of load.

        Raises:
            ConfigErrors: an option is not one of this workload, or has a wrong value.
            InputError: options contradict the specification.
        """
        ...

    def mix(self, load: Load) -> dict[str, float]:
        """The planned weight of each operation; empty where there is no mix to hold."""
        ...

    def rollback_shares(self, load: Load) -> dict[str, float]:
        """The share of an operation that is rolled back by design."""
        ...

    def needs(self, load: Load) -> frozenset[Capability]:
        """What an engine must be able to do for this load."""
        ...

    def paced(self, load: Load) -> bool:
        """Whether users key and think between operations."""
        ...

    def details_from_results(self, load: Load) -> bool:
        """Whether ``User.head`` is called for each operation."""
        ...

    def phases(self, load: Load) -> tuple[PlannedPhase, ...]:
        """The parts of a run in their order; the measured ones adjoin."""
        ...

    def parts(self) -> list[Part]:
        """The population in pieces, in the order in which they are loaded."""
        ...

    def part(self, key: str) -> Iterator[PartLoad]:
        """What a piece holds; equal for equal specifications, on any host."""
        ...

    def found(self, schema: Schema) -> WorkloadSpec | None:
        """What the schema in the database was built as; None where there is none.

        Raises ``SchemaProblem`` when it is half built, or not of this workload.
        """
        ...

    @property
    def record(self) -> str:
        """What a build keeps of the specification in the schema itself; short enough for every engine."""
        ...

    def advice_to_build(self, command: str) -> str:
        """What to do where the schema is missing; ``command`` would build it."""
        ...

    def user(self, session: Session, load: Load, plan: UserPlan) -> User:
        """A virtual user on a session: operations prepared, ready to draw."""
        ...

    def check(self, session: Session) -> list[Check]:
        """Row counts, indexes, routines and consistency conditions."""
        ...


class ApplyBy(StrEnum):
    """What it takes for a setting to have effect, as the server itself says."""

    SESSION = "session"
    RELOAD = "reload"
    RESTART = "restart"
    FIXED = "fixed"


@dataclass(frozen=True)
class Setting:
    """A server's setting as read back. ``value`` and bounds are in ``unit`` where there is one.

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
    """What an ``apply`` did: how it took effect, how long that took, and what was read back."""

    applied_by: ApplyBy
    duration_s: float
    read_back: dict[str, str] = field(default_factory=dict)


KEPT = "kept"
"""The copy of the data as they were found."""
BUILT = "built"
"""The copy of a schema that was built on the way."""


class Power(Protocol):
    """Starts and stops one server. What fails raises ``ServerFailed`` with the server's own words."""

    @property
    def running(self) -> bool:
        """Whether the server runs, as far as can be told without a session."""
        ...

    def start(self) -> object:
        """Start it, and wait until it runs. Does nothing when it does."""
        ...

    def stop(self) -> object:
        """Stop it, and wait for its end. Does nothing when it does not run."""
        ...

    def restart(self) -> object:
        """Stop and start it."""
        ...

    def last_words(self) -> str:
        """What the server said since it was last started, its end alone; empty where there is nothing to read."""
        ...


class ServerControl(Protocol):
    """Settings of a running server: read, set, apply, verify by reading back, restore."""

    identity: str
    """What tells this server from every other, for the journal: an address or a folder."""
    say: Callable[[str], None]
    """Told in a sentence what the control waits for; a sweep puts it into its journal."""
    can_restore_data: bool
    can_restart: bool

    @property
    def power(self) -> Power | None:
        """What starts and stops the server from here; None where nothing does."""
        ...

    def settings(self) -> dict[str, Setting]:
        """Every setting of the server."""
        ...

    def problems(self, changes: Mapping[str, Sequence[str]]) -> list[str]:
        """What is wrong with these values of settings: unknown, out of range, not allowed; changes nothing."""
        ...

    def snapshot(self) -> dict[str, Any]:
        """All that ``restore`` needs, as JSON; taken before the first change."""
        ...

    def apply(self, changes: Mapping[str, str]) -> Change:
        """Set, reload or restart as needed, and verify in a fresh session.

        Raises ``ServerFailed`` with the server's own message; the settings are then as before.
        """
        ...

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        """Bring back what ``snapshot`` saw. Can be called again."""
        ...

    def keep_data(self, copy: str = KEPT) -> float:
        """Keep the present data as a state to come back to, beside those of other names; seconds it took."""
        ...

    def restore_data(self, copy: str = KEPT) -> float:
        """Bring kept data back; seconds it took."""
        ...

    def drop_kept_data(self) -> None:
        """Remove all kept copies, if there are any."""
        ...

    def maintain(self) -> float:
        """Bring the server to rest between runs (checkpoint, purge); seconds it took."""
        ...

    def restart(self) -> float:
        """Restart the server as it is, which empties its cache; seconds it took. Raises ``ServerFailed``."""
        ...

    def host_load(self) -> HostLoad | None:
        """What the server's host does when that is another host and tells; else None."""
        ...
