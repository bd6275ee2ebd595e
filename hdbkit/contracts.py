"""The contracts between the rooms. Read this first.

A **database** is one file in ``databases/`` and one folder of SQL in ``schemas/``. It hands out
**sessions**; a **workload** turns sessions into **users**; the run drives users and knows neither.

Rules that types cannot say:

* Who commits. ``query`` outside ``begin`` commits by itself. ``perform`` is one whole transaction: when it
  returns, the work is committed; when it raises, nothing of it is left. ``call``, ``batch`` and ``load``
  belong between ``begin`` and ``commit``; outside they raise ``AssertionError`` (drivers differ on autocommit).
* What is fast. ``perform`` and ``call`` stand between two clock readings: no logging, no objects made of results
  that nobody asked for. ``bind`` runs ahead of the clock and may take its time; ``rows`` runs behind it.
* What crosses a process. Targets, plans and specs do (they pickle); sessions, databases and bound calls never.
* Names. Code asks for a capability, never for an engine's name.
* Errors. A refused transaction raises ``TransactionError`` with its class; the session is then outside any
  transaction and usable, unless the class is ``CONNECTION_LOST``. No other exception of a driver leaves
  ``databases/``; a failed connect raises ``CannotConnect`` and ``MissingDriver`` when the driver is not there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol

from hdbkit.config import Isolation, Load, Target, WorkloadSpec
from hdbkit.readings import Footprint, HostLoad

Row = tuple[Any, ...]
Arguments = tuple[Any, ...]
"""Plain Python values: int, str, Decimal, datetime, None, or a tuple of these for an array."""


class Capability(StrEnum):
    """What a backend can do; declared by it, asked for by everybody else."""

    TABLES = "tables"  # keeps the nine tables, so that their content can be checked
    STORED_ROUTINES = "stored_routines"
    CLIENT_ROUTINES = "client_routines"
    PARTITIONS = "partitions"
    TABLESPACES = "tablespaces"
    SCHEMAS = "schemas"  # a workload's tables stand in a schema of their own inside the database
    SETTINGS = "settings"
    STORAGE_ENGINES = "storage_engines"  # the tables' own engine can be chosen
    SNAPSHOT_CONFLICTS = "snapshot_conflicts"  # repeatable read refuses to change a row changed since
    STATEMENT_TIMEOUT = "statement_timeout"  # ends any statement, not only one that reads
    ADMIN = "admin"  # databases and accounts can be created by an administrator's session


@dataclass(frozen=True)
class SessionOptions:
    """What a connection is told when it is made. 0 means no timeout; None the server's own level."""

    isolation: Isolation | None = None
    statement_timeout_ms: int = 0
    lock_timeout_ms: int = 0
    connect_timeout_s: int = 10
    application: str = "hdbkit"


class Session(Protocol):
    """One connection, used by one process and one thread."""

    returns_changed: bool
    """A statement that changes a row can give it back (``RETURNING``)."""
    takes_arrays: bool
    """A tuple is an argument like others."""

    def query(self, statement: str, /, **arguments: Any) -> list[Row]:
        """Run a named statement and give all its rows (none for one without a result).

        ``{word}`` in a statement's text takes the argument ``word``, which must be an identifier or integer;
        ``:word`` is a value. Not for the measured loop.
        """
        ...

    def begin(self) -> None:
        """Start a transaction."""
        ...

    def commit(self) -> None:
        """Commit it. A refusal raises ``TransactionError`` and nothing of the transaction is left."""
        ...

    def rollback(self) -> None:
        """Undo it; does nothing outside a transaction, and nothing on a lost connection."""
        ...

    def prepare(self, statements: Iterable[str]) -> None:
        """Prepare named statements for ``bind``, ``call`` and ``batch``."""
        ...

    def bind(self, statement: str, arguments: Arguments) -> Any:
        """A call made ready ahead of the clock; ``arguments`` in the order of the statement's parameters."""
        ...

    def perform(self, bound: Any) -> Any:
        """One whole transaction in one call; the raw result, for ``rows``.

        Raises ``RolledBackByDesign`` at the unused item, and ``TransactionError``: refused, nothing of it is left.
        """
        ...

    def rows(self, raw: Any) -> list[Row]:
        """The raw result of ``perform`` as plain values."""
        ...

    def call(self, statement: str, *arguments: Any) -> list[Row]:
        """A prepared statement inside a transaction."""
        ...

    def batch(self, calls: Sequence[tuple[str, Arguments]]) -> list[list[Row]]:
        """Several prepared statements in one round trip where the engine can, in their order."""
        ...

    def load(self, table: str, columns: Sequence[str], chunks: Iterable[bytes]) -> int:
        r"""Bulk-load tab-separated text (``\N`` is null, ``\n`` ends a row); the number of rows."""
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
    levels: frozenset[str]
    """The names among its ``counters`` that go up and down, such as a queue's length."""

    def driver_version(self) -> str:
        """Name and version of the driver. Raises ``MissingDriver``."""
        ...

    def connect(self, target: Target, group: str, options: SessionOptions | None = None) -> Session:
        """A session with the statements of ``group`` (``WorkloadSpec.group``) and of the group ``server``."""
        ...

    def version(self, session: Session) -> str:
        """The server's name and version, one line."""
        ...

    def free_connections(self, session: Session) -> int | None:
        """How many more clients this account may connect; None where there is no limit to ask for."""
        ...

    def counters(self, session: Session) -> dict[str, float]:
        """Running totals of the engine, and its ``levels``; ``commits`` and ``rollbacks`` are always there."""
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
        """In words, why ``load`` takes longer than it need on this server, and what to do; None: it does not."""
        ...

    def password_place(self, target: Target) -> str | None:
        """In words, where the driver itself finds a password for ``target``; None: nowhere. Connects to nothing."""
        ...

    def provision(self, admin: Target, target: Target) -> list[str]:
        """As ``admin``, create the account and the database of ``target`` where missing; what was created."""
        ...


@dataclass(frozen=True)
class UserPlan:
    """One virtual user, fixed before anything starts. ``index`` counts from 0."""

    index: int
    home_w_id: int
    seed: int


@dataclass(slots=True)
class Prepared:
    """A transaction ready to be measured: ``perform(bound)`` is all that happens between the clocks.

    ``transaction`` is the index in ``Workload.transactions``. ``keying_s`` and ``thinking_s`` are 0 unless asked for.
    """

    operation: int
    w_id: int
    d_id: int
    perform: Callable[[Any], Any]
    bound: Any
    keying_s: float = 0.0
    thinking_s: float = 0.0


class User(Protocol):
    """A virtual user's side of a workload."""

    def next_batch(self) -> Sequence[Prepared]:
        """Some hundred transactions, drawn and bound ahead."""
        ...

    def order_id(self, prepared: Prepared, raw: Any) -> int:
        """The order id in the result of a new order; 0 for other transactions."""
        ...


@dataclass(frozen=True)
class Check:
    """One line of a check: ``passed`` is None where it could not be decided, and ``detail`` says why."""

    name: str
    passed: bool | None
    detail: str


@dataclass(frozen=True)
class Part:
    """A piece of a population that is loaded in one transaction; ``key`` names it in the build's log."""

    key: str
    rows: int
    size_bytes: int


@dataclass(frozen=True)
class TableLoad:
    """What goes into one table for one part: tab-separated text in ``chunks``, made while it is read."""

    table: str
    columns: tuple[str, ...]
    chunks: Iterator[bytes]


class Workload(Protocol):
    """A workload. Each package of ``workloads/`` has one, named ``WORKLOAD``."""

    kind: str
    title: str
    notice: str
    """The sentence that every result carries."""
    operations: tuple[str, ...]
    counted: str
    """The transaction that the throughput counts (new_order)."""
    tables: tuple[str, ...]
    routines: tuple[str, ...]

    def parts(self, spec: WorkloadSpec) -> list[Part]:
        """The population in pieces, in the order in which they are loaded."""
        ...

    def part(self, spec: WorkloadSpec, key: str) -> Iterator[TableLoad]:
        """What a piece holds; equal for equal ``spec``, on any host."""
        ...

    def schema(self, session: Session) -> WorkloadSpec | None:
        """What the schema in the database was built as; None where there is none.

        Raises ``SchemaProblem`` when it is half built, or not ours.
        """
        ...

    def user(self, session: Session, spec: WorkloadSpec, load: Load, plan: UserPlan) -> User:
        """A virtual user on a session: statements prepared, ready to draw."""
        ...

    def counted_total(self, session: Session) -> int:
        """The running total of the counted transaction, from the schema."""
        ...

    def check(self, session: Session, spec: WorkloadSpec) -> list[Check]:
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


class ServerControl(Protocol):
    """Settings of a running server: read, set, apply, verify by reading back, restore."""

    identity: str
    """What tells this server from every other, for the journal: an address or a folder."""
    say: Callable[[str], None]
    """Told in a sentence what the control waits for; a sweep puts it into its journal."""
    can_restore_data: bool
    can_restart: bool

    def settings(self) -> dict[str, Setting]:
        """Every setting of the server."""
        ...

    def mistakes(self, changes: Mapping[str, Sequence[str]]) -> list[str]:
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
