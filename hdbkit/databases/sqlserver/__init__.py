"""SQL Server and Azure SQL, through pyodbc with Microsoft's ODBC driver or FreeTDS.

The dialect and some capabilities depend on the server. A probe over a connection of its own finds them when something
first depends on them: whether Babelfish answers, which has statements of its own, and whether the database keeps
versions for its readers. Transactions are begun and ended by statements, since drivers differ in it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import closing, suppress
from functools import cached_property
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from hdbkit.config import Isolation, Target
from hdbkit.contracts import Capability, SchemaOptions, Session, SessionOptions
from hdbkit.databases._base.access import CONNECT_TIMEOUT, LOOPBACK, connect_timeout_s, password_of
from hdbkit.databases._base.dbapi import class_of
from hdbkit.databases._base.dbapi_session import DbapiSession
from hdbkit.databases._base.explored import ExploredDatabase
from hdbkit.databases._pyodbc import DRIVER, error_parts, module
from hdbkit.databases.sqlserver.connect import (
    ENCRYPT,
    OF_SESSION,
    REPEATABLE_READ,
    SNAPSHOT,
    SQLSERVER_PORT,
    SQLSERVER_VALUES,
    TRUST,
    chosen_driver,
    connection_string,
    installed_drivers,
    is_freetds,
    refusal,
)
from hdbkit.databases.sqlserver.schema import SqlServerSchema, SqlServerSchemaOptions
from hdbkit.databases.sqlserver.session import SqlServerSession
from hdbkit.errors import ErrorClass, InputError, TransactionError
from hdbkit.readings import Encryption, Timeout
from hdbkit.sql import ANSI

_KIND: Final = "sqlserver"
_LEVELS: Final[Mapping[Isolation, str]] = {
    Isolation.READ_COMMITTED: "READ COMMITTED",
    Isolation.REPEATABLE_READ: "REPEATABLE READ",
    Isolation.SERIALIZABLE: "SERIALIZABLE",
}
SQLSERVER_ERRORS: Final[Mapping[int, ErrorClass]] = {
    **dict.fromkeys((515, 547, 2601, 2627), ErrorClass.CONSTRAINT),
    1205: ErrorClass.DEADLOCK,
    1222: ErrorClass.LOCK_TIMEOUT,
    **dict.fromkeys((3960, 41301, 41302, 41305, 41325, 41839), ErrorClass.SERIALIZATION),
    **dict.fromkeys((701, 802, 1105, 8645, 9002, 41823, 41840), ErrorClass.RESOURCES),
    **dict.fromkeys((64, 233, 596, 10053, 10054, 10060), ErrorClass.CONNECTION_LOST),
}
"""Numbers of errors (Microsoft's list of Database Engine events and errors)."""
_PROTECTED: Final = MappingProxyType(
    {
        **dict.fromkeys(
            ("remote access", "user connections", "contained database authentication"), "clients would lose it"
        ),
        "database.RECOVERY": "backups of the log could no longer be restored",
    }
)
_ACCESS: Final[tuple[str, ...]] = (
    *("remote *", "user connections", "contained database authentication", "*ownership chaining", "*db_chaining*"),
    *("*trustworthy*", "xp_cmdshell", "clr *", "external *", "ole *", "ad hoc *", "database mail *", "* xps"),
    *("allow *", "scan for startup procs", "polybase*", "hadoop*", "filestream*", "c2 *", "common criteria*"),
    *("default trace *", "user options", "server trigger recursion", "access check *", "ekm *", "show advanced *"),
    *("*read_only", "*encryption", "*restricted_user", "*single_user", "*ledger*"),
    *("in_doubt *", "suppress recovery *"),
)
"""What guards, opens or records access, or executes programs."""
_LOST_STATE: Final = "IMC06"
"""Microsoft's driver: the connection is broken and cannot be recovered."""
_NO_LOCK: Final = "sp_getapplock: "
_APPLICATION_LOCK: Final = {"-1": ErrorClass.LOCK_TIMEOUT, "-3": ErrorClass.DEADLOCK}
"""What sp_getapplock returns instead of an error; routines raise it with this number."""
_TEXTS: Final[Mapping[str, ErrorClass]] = {
    "due to lock timeout": ErrorClass.LOCK_TIMEOUT,
    "due to statement timeout": ErrorClass.STATEMENT_TIMEOUT,
    "could not serialize access": ErrorClass.SERIALIZATION,
    "terminating connection": ErrorClass.CONNECTION_LOST,
    "violates not-null constraint": ErrorClass.CONSTRAINT,
    "[FreeTDS][SQL Server]Unknown error (0)": ErrorClass.CONNECTION_LOST,
}
"""Parts of the texts of errors without a number of their own: Babelfish has 33557097, and FreeTDS 0, for many."""
MICROSOFT, BABELFISH = f"{_KIND}_microsoft", f"{_KIND}_babelfish"
"""The folders of what only SQL Server has, and of what Babelfish has in another form."""


class _Found(NamedTuple):
    """What the probe of a server found."""

    dialect: str
    """The folder of statements that only the product has."""
    capabilities: frozenset[Capability]
    """What the product and the database have besides what every server has."""


class SqlServer(ExploredDatabase):
    """Contract: :class:`hdbkit.contracts.Database`. Without a target it is SQL Server in general."""

    kind = _KIND
    also_named: Mapping[str, Mapping[str, str]] = MappingProxyType({"mssql": {}})
    title = "SQL Server"
    publishing = "its licence may forbid publishing results without the vendor's consent"
    extra = _KIND
    driver = "pyodbc"
    default_port: int | None = SQLSERVER_PORT
    options = (DRIVER, *SQLSERVER_VALUES, *OF_SESSION, CONNECT_TIMEOUT)
    option_values: Mapping[str, Collection[str]] = MappingProxyType({**SQLSERVER_VALUES, **OF_SESSION})
    schema_options: type[SchemaOptions] = SqlServerSchemaOptions
    protected_settings: Mapping[str, str] = _PROTECTED
    access_settings: tuple[str, ...] = _ACCESS
    preload: tuple[str, ...] = ("pyodbc", "hdbkit.databases.sqlserver")
    session_type = SqlServerSession
    schema_type = SqlServerSchema

    @cached_property
    def found(self) -> _Found:
        """What the target's server is. Raises the errors of ``connect``."""
        assert self._target is not None, "the engine of no target"
        with closing(_Unprobed(self._target).connect(self._target)) as session:
            version, versions = session.query("server_product")[0]
        capabilities = {
            Capability.READS_NEVER_WAIT: versions,
            Capability.SNAPSHOT_CONFLICTS: version or self._target.options.get(REPEATABLE_READ) == SNAPSHOT,
            Capability.ADMIN: not version,  # Babelfish changes quotation marks in the names of logins
            Capability.SETTINGS: not version,
        }
        return _Found(BABELFISH if version else MICROSOFT, frozenset(one for one, has in capabilities.items() if has))

    @cached_property
    def odbc_driver(self) -> str:
        """The ODBC driver of the target: its installed name, or its file."""
        assert self._target is not None, "the engine of no target"
        return chosen_driver(self._target, installed_drivers(_pyodbc()))

    @property
    def dialects(self) -> tuple[str, ...]:  # type: ignore[override]
        """The folders of statements, with those of the product that answers."""
        return (ANSI, _KIND, self.found.dialect if self._target else MICROSOFT)

    @property
    def capabilities(self) -> frozenset[Capability]:  # type: ignore[override]
        """Those of every server, and that of a database which keeps versions for its readers."""
        return _CAPABILITIES | (self.found.capabilities if self._target else _OF_MICROSOFT)

    @property
    def errors(self) -> tuple[type[Exception], ...]:
        return (_pyodbc().Error,)

    def driver_version(self) -> str:
        """Pyodbc; the ODBC driver is part of the server's version."""
        return f"pyodbc {_pyodbc().version}"

    def behind_proxy(self, target: Target, port: int) -> Target:
        """The address replaces the host: Microsoft's driver verifies no other name than that which it connects to."""
        driver = chosen_driver(target, installed_drivers(_pyodbc()))
        by_default = "yes" if "18" in driver else "no"
        encrypts = target.options.get(ENCRYPT, by_default) != "no" and not is_freetds(driver)
        verifies = encrypts and target.options.get(TRUST) != "yes"
        if verifies and target.host not in (None, LOOPBACK, "localhost"):
            raise InputError(
                f"the driver verifies the name of the proxy instead of {target.host}; set the options encrypt=yes "
                "and trust_server_certificate=yes of the target"
            )
        return target.with_(host=target.host if verifies else LOOPBACK, port=port)

    def opened(self, target: Target, options: SessionOptions) -> Any:
        """A connection that commits each command by itself."""
        driver, secret = chosen_driver(target, installed_drivers(_pyodbc())), password_of(target)
        text = connection_string(target, driver, secret, options.application)
        try:
            return _pyodbc().connect(
                text, autocommit=True, timeout=connect_timeout_s(target, options.connect_timeout_s)
            )
        except self.errors as error:
            raise refusal(target, driver, secret, error) from None

    def set_up(self, session: DbapiSession, target: Target, options: SessionOptions) -> None:
        """How errors end transactions, isolation level and lock timeout."""
        session.query("open_session")
        if options.isolation is not None:
            session.query("set_isolation", level=_level(target, options.isolation))
        assert isinstance(session, SqlServerSession)
        if options.statement_timeout_ms:
            self._limit_statements(session, options.statement_timeout_ms)
        if options.parallel_workers is not None:
            session.limit_workers(max(1, options.parallel_workers))

    def limit_locks(self, session: DbapiSession, milliseconds: int) -> None:
        """By SET LOCK_TIMEOUT."""
        session.query("set_lock_timeout", milliseconds=milliseconds)

    def _limit_statements(self, session: SqlServerSession, timeout_ms: int) -> None:
        """In whole seconds, by the driver; by the server where it has a statement for it."""
        session.statement_timeout_s = seconds = -(-timeout_ms // 1000)
        if "set_statement_timeout" in self._known():
            session.query("set_statement_timeout", seconds=seconds)
        else:
            session.connection.timeout = seconds

    def timeouts(self, session: Session) -> list[Timeout]:
        """Those of locks, and that of statements, which the session keeps."""
        seconds = session.statement_timeout_s if isinstance(session, SqlServerSession) else 0
        own = [Timeout("statements", float(seconds), "hdbkit")] if seconds else []
        return [*own, *super().timeouts(session)]

    def described(self, error: Exception) -> tuple[ErrorClass, str, str]:
        """By the server's number of the error, else by the product's text, else by the SQLSTATE."""
        state, number, text = error_parts(error)
        known = SQLSERVER_ERRORS.get(number) or self._by_text(text)
        if state == _LOST_STATE:
            known = ErrorClass.CONNECTION_LOST
        return known or class_of(state), str(number or state), text

    def _by_text(self, text: str) -> ErrorClass | None:
        """The class of an error without a number of its own."""
        if _NO_LOCK in text:
            return _APPLICATION_LOCK.get(text.partition(_NO_LOCK)[2].partition(")")[0])
        return next((found for sign, found in _TEXTS.items() if sign in text), None)

    def version(self, session: Session) -> str:
        """Product, version and edition, and the ODBC driver."""
        return f"{super().version(session)} ({self.odbc_driver})" if self._target else super().version(session)

    def encryption(self, session: Session, target: Target) -> Encryption:
        """By the view of connections."""
        rows = self.asked(session, "encryption")
        return Encryption("TLS") if rows and rows[0][0] == "TRUE" else Encryption()

    def provision(self, admin: Target, target: Target) -> list[str]:
        """Create the login and its database, if missing."""
        role = target.user or target.database or ""
        database = target.database or role
        created = []
        with closing(self.connect(admin)) as session:
            exists, there = session.query("account", role=role, database=database)[0]
            if not exists:
                session.query("create_role", role=role, password=target.new_password())
                created.append(f"login {role}")
            if not there:
                session.query("create_database", database=database)
                session.query("own_database", database=database, role=role)
                created += [f"database {database}", f"ownership of {database} for {role}"]
            if not exists:
                with suppress(TransactionError):  # not every administrator may grant it
                    session.query("grant_sight", role=role)
        return created

    def slow_load(self, session: Session) -> str | None:
        """The form of the load, which no driver can do by the server's own bulk copy."""
        return (
            "rows were loaded as JSON text, which OPENJSON reads: bulk copy is in no function of ODBC, and the "
            "server's own bulk load reads files of its host"
        )

    def password_source(self, target: Target) -> str | None:
        return str(target.password_file) if password_of(target) and target.password_file else None


_CAPABILITIES: Final = frozenset(
    {
        Capability.SQL,
        Capability.TABLES,
        Capability.DECIMALS,
        Capability.STORED_ROUTINES,
        Capability.CLIENT_ROUTINES,
        Capability.ACROSS_SHARDS,
        Capability.SERVER,
        Capability.ISOLATION,
        Capability.ROW_LOCKS,
        Capability.WRITERS_WAIT,
        Capability.LOCK_TIMEOUT,
        Capability.LOCK_ERRORS,
        Capability.STATEMENT_TIMEOUT,
        Capability.CHANGE_TIMEOUT,
        Capability.PARALLEL_WORKERS,
        Capability.PLANS,
    }
)
_OF_MICROSOFT: Final = frozenset({Capability.ADMIN, Capability.SETTINGS})
"""What SQL Server has in general, and Babelfish does not."""


def _level(target: Target, isolation: Isolation) -> str:
    """The isolation level in T-SQL; a snapshot keeps what was read without locks."""
    snapshots = target.options.get(REPEATABLE_READ) == SNAPSHOT
    return "SNAPSHOT" if snapshots and isolation is Isolation.REPEATABLE_READ else _LEVELS[isolation]


class _Unprobed(SqlServer):
    """The engine of a server about whose product nothing is known yet."""

    found = _Found(MICROSOFT, frozenset())


def _pyodbc() -> Any:
    return module(SqlServer.title, _KIND)


DATABASE = SqlServer()
