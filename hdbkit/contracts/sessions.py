"""A database's sessions: what every engine has, what SQL adds, and what a session works with."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Final, Protocol, Self

from hdbkit.awaiting import LOCK_TIMEOUT_MS
from hdbkit.config import Isolation
from hdbkit.readings import Pooling
from hdbkit.statement import Statement

Row = tuple[Any, ...]
Arguments = tuple[Any, ...]
"""Plain Python values: int, str, Decimal, datetime, None, or a tuple of these for an array."""


class Capability(StrEnum):
    """What a database can do; declared by the engine, queried by all other code."""

    meaning: str

    def __new__(cls, value: str, meaning: str = "") -> Self:
        """A capability and what it means."""
        one = str.__new__(cls, value)
        one._value_, one.meaning = value, meaning
        return one

    SQL = "sql", "sessions implement SqlSession"
    OPTIMISTIC = "optimistic", "sessions implement OptimisticSession"
    TABLES = "tables", "stores what a build loads, so that its content can be checked"
    DECIMALS = "decimals", "decimals are exact, and are read with all places of their columns"
    STORED_ROUTINES = "stored_routines", "transactions run as stored routines, one call each"
    CLIENT_ROUTINES = "client_routines", "transactions run as statements or steps that the client sends"
    ACROSS_SHARDS = "transactions_across_shards", "a transaction may use rows anywhere in the schema"
    SCHEMAS = "schemas", "a workload's tables have their own schema inside the database"
    SERVER = "server", "clients connect to a server, which has accounts and can end sessions"
    SETTINGS = "settings", "the server has settings that can be read and changed"
    ADMIN = "admin", "databases and accounts can be created by an administrator's session"
    ISOLATION = "isolation", "the isolation level of a session can be chosen"
    ROW_LOCKS = "row_locks", "transactions that change different rows do not wait for each other"
    WRITERS_WAIT = "writers_wait", "who changes a row that an open transaction changed waits for its end"
    READS_NEVER_WAIT = (
        "reads_never_wait",
        "who reads a row that an open transaction changed sees the version before",
    )
    SNAPSHOT_CONFLICTS = (
        "snapshot_conflicts",
        "under repeatable read, changing a row that changed since the snapshot fails",
    )
    LOCK_ERRORS = "lock_errors", "deadlocks and lock timeouts have different error codes"
    LOCK_TIMEOUT = "lock_timeout", "waiting for a lock can be limited"
    STATEMENT_TIMEOUT = "statement_timeout", "a statement that takes too long can be ended"
    CHANGE_TIMEOUT = "change_timeout", "a statement that changes rows and takes too long can be ended"
    PARALLEL_WORKERS = "parallel_workers", "the number of workers that help with a query can be limited"
    COUNTS_COMMITS = "counts_commits", "the server counts its commits"
    COUNTS_ROLLBACKS = "counts_rollbacks", "the server counts its rollbacks"
    COUNTS_WAITS = "counts_waits", "the server knows how many sessions wait for a lock"
    COUNTS_SCANS = "counts_scans", "the server counts the rows that full scans read"
    PLANS = "plans", "the optimizer's plan of a query can be read"
    COMMENTS = "comments", "statements can be sent with a comment of their own"
    SLOW_PLANS = "slow_plans", "the server reports the plans of slow executions to the session that waited for them"
    OVERLAPS = "overlaps", "while the server works for one session, its client process serves others"


@dataclass(frozen=True)
class SessionOptions:
    """Options of a new connection. A timeout of 0 means none, but a session that ``is_own`` always waits for a lock
    for a limited time; ``isolation=None`` means the server's own level, and
    ``parallel_workers=None`` its own number of workers that help with a query; ``connect_timeout_s`` is a maximum,
    below that of the target. An engine ignores what it cannot limit; a load that
    asks for it is refused before. Without ``reuses_plans`` each execution is planned for its own values, also where a
    server would plan a prepared statement once for all values. With ``slow_plans_ms`` above 0 the server reports the
    plan of each statement that takes at least so long.

    ``pooling`` is what :meth:`Database.pooling` found; with None, a connection that passes a pooler keeps no state in
    the server's session, which is right for each kind of pooler.
    """

    isolation: Isolation | None = None
    statement_timeout_ms: int = 0
    lock_timeout_ms: int = 0
    connect_timeout_s: int | None = None
    application: str = "hdbkit"
    parallel_workers: int | None = None
    pooling: Pooling | None = None
    reuses_plans: bool = True
    slow_plans_ms: int = 0
    is_own: bool = True
    """Whether hdbkit asks questions of its own with it; else it performs the operations of a load, as that asks."""

    @property
    def lock_limit_ms(self) -> int:
        """How long a statement may wait for a lock; 0: the server's own limit."""
        return self.lock_timeout_ms or (LOCK_TIMEOUT_MS if self.is_own else 0)


@dataclass(frozen=True)
class Scope:
    """What a session works with: named statements and the schema of their tables.

    ``schema`` is empty if the account's search path applies, as for tables that hdbkit did not create.
    Where an engine has modes of SQL, ``sql_mode`` is that of SQL by users, ``server`` for the one that the server
    gives to a session; None: the SQL is hdbkit's, and the mode is strict.
    """

    schema: str
    statements: Mapping[str, Statement]
    sql_mode: str | None = None


SERVER = Scope("", MappingProxyType({}))
"""The scope of a session that uses only the engine's own statements."""


@dataclass(frozen=True)
class Table:
    """A table for a bulk load: its columns in loading order, and its key columns.

    ``types`` gives the type of each column: integer, decimal, text, date or timestamp; empty if the workload does not
    state them.
    """

    name: str
    columns: tuple[str, ...]
    key: tuple[str, ...] = ()
    types: tuple[str, ...] = ()


@dataclass(frozen=True)
class Access:
    """What operations use of a database.

    Names are written as in SQL, ``table`` or ``schema.table``, in double quotes if they have quotes. Privileges are
    those of SQL, such as ``INSERT``, and ``LOCK``: reading rows FOR UPDATE.
    """

    tables: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """By privilege, the tables that the operations name themselves."""
    routines: frozenset[str] = frozenset()
    """The routines that they call."""
    in_routines: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """By privilege, the tables that these routines use: as who calls them, or as who made them."""


class Session(Protocol):
    """One connection, used by one process and one thread; every engine has it, SQL or not."""

    def client_path(self) -> str:
        """The client code that performs the operations; results with different client paths are not comparable."""

    def ask(self, operation: str, /, **arguments: Any) -> list[Row]:
        """Run a named operation outside the measured loop and return all its rows (none if it has no result).

        Checks, totals and counts use it. On an SQL engine the operation is a statement: ``{word}`` in its text takes
        the argument ``word``, which must be an identifier or an integer; ``:word`` is a value.
        """

    def parameters(self, operation: str) -> tuple[str, ...]:
        """The names of an operation's parameters, in the order that ``bind`` expects."""

    def prepare(self, operations: Iterable[str]) -> None:
        """Prepare named operations for ``bind``, ``call`` and ``batch``."""

    def bind(self, operation: str, arguments: Arguments) -> Any:
        """Prepare a call before the clock starts; ``arguments`` in the order of the operation's parameters."""

    def perform(self, bound: Any) -> Any:
        """Perform one whole operation, committed when it returns; return the raw result, for ``rows``.

        Raises:
            RolledBackByDesign: the workload rolled it back on purpose.
            TransactionError: it failed, and no part of it remains.
        """

    def rows(self, raw: Any) -> list[Row]:
        """Convert the raw result of ``perform`` to plain values."""

    def close(self) -> None:
        """Close the connection; never raises."""


PENDING: Final = object()
"""What :meth:`OverlappingSession.receive` returns while the answer is incomplete."""


class OverlappingSession(Session, Protocol):
    """A connection that can wait without blocking: while the server works, its process serves other sessions.

    An operation is sent, and received once its socket is readable; nothing else happens on the session between.
    """

    def fileno(self) -> int:
        """The descriptor that is readable when a part of the answer has arrived; constant for the connection."""

    def sender(self, perform: Callable[[Any], Any]) -> Callable[[Any], None] | None:
        """What sends an operation that ``perform`` would perform, and returns without its answer.

        None if that is only possible in one step. Sending raises ``TransactionError`` if the connection is lost.
        """

    def receive(self) -> Any:
        """What has arrived: the raw result if the answer is complete, else ``PENDING``; never waits for the server.

        Raises what ``perform`` would raise.
        """


class CommentedSession(Session, Protocol):
    """A connection whose statements can carry a comment; see ``Capability.COMMENTS``."""

    def comment(self, text: str) -> None:
        """Send statements with this comment, and so unprepared, from now on; empty: as before."""


class PlanReportingSession(Session, Protocol):
    """A connection with ``SessionOptions.slow_plans_ms``; see ``Capability.SLOW_PLANS``."""

    def report_plans(self, receive: Callable[[float, str, str], None]) -> None:
        """Call ``receive`` with time in ms, statement and plan of each reported execution, while it is waited for."""


class OptimisticSession(Session, Protocol):
    """A connection to an engine without SQL, whose transactions read, and then make all changes at once.

    Nothing is locked: a step watches what it reads, as far as its text says, and the changes are refused if any of it
    has changed since. A step is a named operation.
    """

    def read(self, steps: Sequence[tuple[str, Arguments]]) -> list[list[Row]]:
        """Read by several steps in order, in one round trip; return the rows of each.

        The first begins a transaction.
        """

    def change(self, steps: Sequence[tuple[str, Arguments]]) -> None:
        """Make all changes of the transaction at once, in one round trip, and end it.

        Raises ``TransactionError``; of class ``SERIALIZATION`` if something watched has changed. Without steps it
        only finds out whether what was read was the state of one moment.
        """

    def release(self) -> None:
        """End the transaction without a change; does nothing outside one, or on a lost connection."""


class SqlSession(Session, Protocol):
    """A connection to an engine that speaks SQL: transactions of several statements, and bulk load."""

    returns_changed: bool
    """Whether a statement that changes a row can return it (``RETURNING``)."""
    takes_arrays: bool
    """Whether a tuple can be an argument."""

    def row_count(self, raw: Any) -> int:
        """The number of rows of a raw result of ``perform``, without converting them."""

    def query(self, statement: str, /, **arguments: Any) -> list[Row]:
        """Run a named statement, in the current transaction or in its own; the same as ``ask``."""

    def execute(self, text: str) -> None:
        """Run a command as text, for example one that a named statement generated."""

    def begin(self) -> None:
        """Start a transaction."""

    def commit(self) -> None:
        """Commit. If that fails, raises ``TransactionError``, and no part of the transaction remains."""

    def rollback(self) -> None:
        """Roll back; does nothing outside a transaction or on a lost connection."""

    def parse(self, statement: str) -> bool:
        """Have the server parse a named statement without executing it; raises ``TransactionError`` if it is wrong.

        False if the driver sends statements only together with their values, so that nothing was sent.
        """

    def call(self, statement: str, *arguments: Any) -> list[Row]:
        """Run a prepared statement inside a transaction."""

    def batch(self, calls: Sequence[tuple[str, Arguments]]) -> list[list[Row]]:
        """Run several prepared statements in order, in one round trip if the engine supports it."""

    def bind_all(self, calls: Sequence[tuple[str, Arguments]]) -> Any:
        """Prepare several calls before the clock starts, for ``perform_all`` and ``perform_each``."""

    def perform_all(self, bound: Any) -> Any:
        """Perform a whole transaction of several statements, in one round trip if the engine supports it.

        Includes begin and commit. Raises the same errors as ``perform``.
        """

    def perform_each(self, bound: Any) -> Any:
        """The same with one round trip per statement, and for begin and commit, as a simple client would do."""

    def load(self, table: Table, chunks: Iterable[bytes]) -> int:
        r"""Bulk-load tab-separated text; return the number of rows.

        ``\N`` is null, a line feed ends a row; in a value, a backslash precedes ``t``, ``n``, ``r`` and itself.
        """
