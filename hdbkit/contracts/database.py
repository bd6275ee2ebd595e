"""An engine: what it can do, how it is connected to, and what it knows of its server."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from signal import Signals
from types import MappingProxyType
from typing import Any, Protocol

from hdbkit.config import Target
from hdbkit.contracts.control import ApplyBy
from hdbkit.contracts.schemas import Schema, SchemaOptions, Verb
from hdbkit.contracts.sessions import SERVER, Access, Capability, Scope, Session, SessionOptions
from hdbkit.contracts.workloads import Workload
from hdbkit.errors import TransactionError
from hdbkit.readings import (
    Disturbance,
    Encryption,
    Footprint,
    Found,
    HostNeeds,
    LockHolder,
    MissingGrant,
    Pooling,
    PoolMode,
    ServerEvent,
    ServerRole,
    StatementLimit,
    Timeout,
    WriteCycle,
)
from hdbkit.statement import Statement


class Database(Protocol):
    """An engine. Each module of ``databases/`` has one, named ``DATABASE``.

    What has a value or a body here is what an engine that inherits from it answers unless it knows better.
    """

    kind: str
    title: str
    extra: str = ""
    """The extra of this package that installs the driver."""
    publishing: str = ""
    """What the vendor's licence demands before results are published, as a clause; empty if nothing is known."""
    default_port: int | None = None
    """The port of a target that names none; None if the engine has no address."""
    answers: frozenset[str] = frozenset()
    """Operations that its sessions, or its own ``Schema``, answer without a statement of that name."""
    preload: tuple[str, ...] = ()
    """Modules that clients need, imported before their processes are forked."""
    fork_safe: bool = False
    """Whether a process in which a session was closed may fork: the driver has no thread and no state then."""
    gauges: frozenset[str] = frozenset()
    """The names among its ``counters`` that are gauges, such as the length of a queue."""
    denied: frozenset[str] = frozenset()
    """The codes of errors with which the server rejects a statement for want of a privilege.

    Empty: not known, and the statements of users are not explained before a run.
    """
    privileges: Mapping[str, Mapping[str, tuple[str, ...]]] = MappingProxyType({})
    """What an account needs, by verb, and by what it is on: ``DB`` is the target's database, ``S`` the schema,
    ``S.*`` its tables.

    Only verbs that need a privilege by that name, on engines whose privileges are checked.
    """
    schema_options: type[SchemaOptions] = SchemaOptions
    """The storage options of this engine."""
    files_per_session: int = 1
    """Descriptors that a session of a client takes."""
    analyze_needs: frozenset[str] = frozenset()
    """The privileges on a table that ``ANALYZE`` takes, where the server does not list who may."""
    waits_apart_s: float = 0.0
    """The minimum time between two samples of waits: a server that is asked earlier may show the same state again."""
    connection_settings: Mapping[str, int] = MappingProxyType({})
    """The settings that limit an ordinary account's connections: it may open the sum of value times factor."""
    protected_settings: Mapping[str, str] = MappingProxyType({})
    """Settings that a sweep never changes, each with what it would do: clients and hdbkit would lose the server."""
    access_settings: tuple[str, ...] = ()
    """Settings that open, close, guard or log the access of others, as patterns of ``fnmatch`` in small letters and
    with underscores. Whoever has a token of a service or an agent does not change them, whatever their type."""
    plain_texts: frozenset[str] = frozenset()
    """Text settings that such a token may change: they hold numbers and words of the server, and name nothing."""
    daemon: str = ""
    """The name of the process whose limits the kernel applies to the database; empty if they are not examined."""
    reload_signal: Signals | None = None
    """The signal that makes the server's main process read its settings file; None if there is none."""

    @property
    def probed(self) -> Found:
        """What the server answered when it was asked what it is; empty if it is not asked."""

    @property
    def option_values(self) -> Mapping[str, Collection[str]]:
        """The values of those options of a target that have few; only these can be factors of a sweep."""

    @property
    def capabilities(self) -> frozenset[Capability]:
        """What it can do."""

    @property
    def dialects(self) -> tuple[str, ...]:
        """Folders of ``schemas/`` with its statements, the most general first: ``ansi`` for all SQL engines."""

    def at(self, target: Target) -> Database:
        """The engine as it is at ``target``: itself, unless what it can do depends on what it connects to.

        Does not connect. Where it depends, reading ``capabilities`` or ``dialects`` for the first time in a process
        does, and raises the errors of :meth:`connect`.
        """
        return self

    def files(self, target: Target) -> tuple[Path, ...]:
        """The file that is the database of an embedded engine, then those of its logs; empty for other engines."""
        return ()

    def driver_version(self) -> str:
        """Name and version of the driver. Raises ``MissingDriver`` if it is not installed."""

    def check_options(self, target: Target) -> None:
        """Check the target's options without connecting; those of a driver that is not installed are not checked.

        Raises:
            InputError: an option is unknown, or has an unknown value.
        """

    def behind_proxy(self, target: Target, port: int) -> Target:
        """The target through a proxy at this port of 127.0.0.1; the server's name is still verified, if it was.

        Raises:
            InputError: its connections would bypass the proxy, or the driver verifies no other name than the address.
        """
        return target.with_(host="127.0.0.1", port=port)

    def connect(self, target: Target, scope: Scope = SERVER, options: SessionOptions | None = None) -> Session:
        """A session with the statements of ``scope`` and the engine's own.

        Raises:
            CannotConnect: the server rejects the connection, or there is none.
            InputError: an option of the target is invalid, as :meth:`check_options` finds.
            MissingDriver: the driver is not installed.
        """

    def schema(self, target: Target, workload: Workload) -> Schema:
        """The workload's schema in the target, over its own connection.

        Raises:
            InputError: the storage options of the workload (``spec.storage``) cannot be used here.
        """

    def version(self, session: Session) -> str:
        """The server's name and version, one line."""

    def role(self, session: Session) -> ServerRole:
        """Whether the server accepts changes from this account; a standby replays those of its primary."""

    def is_replica(self, session: Session) -> bool:
        """Whether the server is closed to changes of ordinary accounts, whatever this one may do."""
        return self.role(session) is not ServerRole.PRIMARY

    def pooling(self, session: Session, target: Target) -> Pooling:
        """Whether a connection pooler is between ``session`` and its server, and how it assigns connections.

        Opens further connections to ``target`` if there is one.
        """
        return Pooling(PoolMode.DIRECT)

    def served(self, target: Target, sessions: int) -> int:
        """How many of so many further sessions a pooler with session pooling serves at the same time."""
        return sessions

    def encryption(self, session: Session, target: Target) -> Encryption | None:
        """How ``session`` is encrypted, and how long the server's certificate is valid; None: unknown."""
        return None

    def free_connections(self, session: Session) -> int | None:
        """How many more connections this account may open; None if the server has no such limit."""

    def schema_objects(self, session: Session) -> dict[tuple[str, str], str]:
        """By kind and name of each object of the session's schema, a text that changes with its definition."""

    def statement_limit(self, session: Session) -> StatementLimit | None:
        """The server's limit of statements that its sessions prepared; None if it has none."""

    def read_only_by(self, session: Session) -> str:
        """Which setting makes the account's transactions read-only, and who sets it; empty if none is known to."""

    def lift_limits(self, session: Session) -> None:
        """Let no timeout of the account or the server end the session or its work, and let it use what speeds up long
        work, such as parallel workers; the limits of its options stay.
        """

    def timeouts(self, session: Session) -> list[Timeout]:
        """What ends this session's statements, transactions and waits; empty if nothing does."""

    def disturbances(self, session: Session) -> list[Disturbance]:
        """The settings of the server that disturb runs."""

    def write_cycle(self, session: Session) -> WriteCycle | None:
        """The cycle in which the server writes changed pages to its files; None if it has none, or none by time."""

    def clock_s(self, session: Session) -> float | None:
        """The server's time, in seconds since 1970; None if there is no server."""

    def long_answer(self, session: Session, size: int) -> int:
        """Ask for a text of ``size`` bytes, and return how many came; 0 if the engine has no such question."""

    def lock_holders(self, session: Session, number: int) -> list[LockHolder]:
        """What the session of this number waits for, and who holds it; 0: those of the account's sessions of hdbkit.

        Empty if it waits for no lock, or the server does not tell.
        """

    def counters(self, session: Session) -> dict[str, float]:
        """The server's running totals and gauges; empty if it has none.

        ``commits``, ``rollbacks`` and ``waiting_locks`` are among them if the engine has the capability, and
        ``scanned_rows``, the rows that full scans read. ``uptime_s`` is the time since the server was started. With
        replication ``replication_lag_s`` is among them: of this standby, or of the slowest standby of a primary.
        """

    def recent_events(self, session: Session) -> list[ServerEvent]:
        """What the server did in the last minute, where it keeps the times of that; a later answer may repeat it."""

    def snapshot_notice(self, target: Target) -> str:
        """What snapshots of the server's repository require, such as a licence; empty unless ``target`` asks for any.

        They are taken by the statement ``take_snapshot``, before the first operation of a run and after the last.
        """
        return ""

    def footprint(self, session: Session) -> Footprint | None:
        """The size of the target's database and of the server's cache; None if the engine has neither."""

    def host_needs(self, session: Session) -> HostNeeds | None:
        """What the target's database needs of its host's kernel; None if nothing is known to be needed."""
        return None

    def server_process(self, session: Session) -> int | None:
        """The process id of the server's main process if it runs on this host, else None."""
        return None

    def advised_grants(self, session: Session) -> list[MissingGrant]:
        """What the session's account lacks for builds, runs and what they sample."""

    def grants_to(self, session: Session, verb: Verb, *, routines: bool) -> list[str]:
        """The commands that grant the session's account what a verb needs besides reading the tables; none if nothing
        is known to be missing. ``routines``: whether the workload has stored routines.
        """
        return []

    def grants_for(self, session: Session, access: Access) -> list[str]:
        """The commands that grant the session's account what it lacks of ``access``; none where that is not known.

        Roles count, and routines that run with the privileges of who made them.
        """
        return []

    def denied_access(self, statement: Statement, error: TransactionError) -> Sequence[Access]:
        """What a rejected statement may lack, the most likely first; empty where the error does not tell."""
        return ()

    def missing_grants(
        self, session: Session, changes: Mapping[str, ApplyBy], *, kept: bool, applied: bool
    ) -> list[str]:
        """The commands that grant the session's account what it lacks to change these settings.

        ``kept``: the server itself keeps them, through SQL. ``applied``: they take effect through SQL.
        """

    def settings_of(self, session: Session) -> dict[str, dict[str, Any]]:
        """Every setting as read back: ``{name: {value, unit, default, changed}}``; changed: set explicitly."""

    def slow_load(self, session: Session) -> str | None:
        """How rows are loaded where that is not the server's own bulk load, and what to do; None if it is."""
        return None

    def influences(self, target: Target) -> list[str]:
        """The variables of this process's environment that are set and change the target's sessions."""
        return []

    def password_source(self, target: Target) -> str | None:
        """Where the driver itself finds a password for ``target``; None if nowhere. Does not connect."""
        return None

    def provision(self, admin: Target, target: Target) -> list[str]:
        """Create the account and the database of ``target`` if missing, as ``admin``; return what was created."""
        return []
