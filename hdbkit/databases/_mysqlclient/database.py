"""The common part of the engines that use mysqlclient; differences are in their SQL and their own files.

The target's database is the schema: it contains the workload's tables directly.
"""

from __future__ import annotations

import json
import os
import platform
import re
from collections.abc import Mapping
from contextlib import closing, suppress
from datetime import UTC, datetime
from pathlib import Path
from textwrap import shorten
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, cast

from pydantic import Field

from hdbkit.config import Target
from hdbkit.config.passwords import PASSWORD_VARIABLE, of_variable
from hdbkit.config.target import ATTRIBUTES
from hdbkit.contracts import (
    SERVER,
    Access,
    ApplyBy,
    Capability,
    Database,
    Schema,
    SchemaOptions,
    Scope,
    Session,
    SessionOptions,
    Verb,
    Workload,
)
from hdbkit.databases._base.access import (
    LOOPBACK,
    check_options,
    connected_in_time,
    ends_here,
    first_usable,
    wants_primary,
)
from hdbkit.databases._base.database import BaseDatabase
from hdbkit.databases._base.file_lock import HostSchema
from hdbkit.databases._base.probing import Answers, at
from hdbkit.databases._base.sql_schema import SqlSchema, SqlSchemaOptions
from hdbkit.databases._mysqlclient.connect import (
    OPTIONS,
    VALUES,
    is_on,
    mysql_connection,
    of_environment,
    password_in_file,
    refused_from,
    verifies_name,
)
from hdbkit.databases._mysqlclient.grants import (
    PRIVILEGES,
    advised_grants,
    denied_access,
    granted,
    grants_for,
    level_of,
)
from hdbkit.databases._mysqlclient.settings import ACCESS, PLAIN_TEXTS, PROTECTED
from hdbkit.errors import CannotConnect, InputError, MissingDriver, Rejected, TransactionError
from hdbkit.files import read_bytes
from hdbkit.processes import runs_as_long
from hdbkit.readings import (
    LAG,
    UPTIME,
    Disturbance,
    Encryption,
    MissingGrant,
    Pooling,
    PoolMode,
    ServerEvent,
    ServerRole,
    Timeout,
    answered,
)

_CERTIFICATE_END = "%b %d %H:%M:%S %Y GMT"
"""How the server writes the end of its certificate."""

if TYPE_CHECKING:
    from hdbkit.databases._mysqlclient.session import MysqlclientSession
    from hdbkit.statement import Statement


_PRODUCTS = (("mysql", "MySQL"), ("mariadb", "MariaDB"))
"""Kind and title of the engines that hdbkit has for this protocol, by whether they are MariaDB."""
_COUNTERS = {
    "Com_commit": "commits",
    "Com_rollback": "rollbacks",
    "Innodb_deadlocks": "deadlocks",
    "Innodb_history_list_length": "history_list_length",
    "Innodb_buffer_pool_pages_dirty": "dirty_pages",
    "Innodb_buffer_pool_pages_flushed": "pages_flushed",
    "Innodb_buffer_pool_read_requests": "page_requests",
    "Innodb_buffer_pool_reads": "pages_read",
    "Innodb_data_fsyncs": "file_fsyncs",
    "Innodb_row_lock_current_waits": "waiting_locks",
    "Innodb_row_lock_waits": "row_lock_waits",
    "Innodb_row_lock_time": "row_lock_time_ms",
    "Innodb_os_log_written": "log_bytes",
    "Innodb_log_waits": "log_waits",
    "Innodb_checkpoint_age": "checkpoint_age_bytes",  # of MariaDB
    "Innodb_redo_log_logical_size": "checkpoint_age_bytes",  # of MySQL
    "Uptime": UPTIME,
    "Handler_read_rnd_next": "scanned_rows",
}
"""Our names for status variables of the server; not every server has all."""
_RECENT_S = 60
_SECONDS_BEHIND = 32
"""The column of a replica's status with its lag in seconds; null while it does not replicate."""

_EXEMPT = ("SUPER", "CONNECTION_ADMIN", "READ ONLY ADMIN", "READ_ONLY ADMIN")
"""The privileges that exempt from read_only."""
_PRIVILEGES = re.compile(r"you need \(at least one of\) the (.+) privilege\(s\)")
"""How the server names privileges that it misses, the narrowest last."""
_AT = r"(\d{4}-\d\d-\d\d +\d+:\d\d:\d\d)"
_STATUS_AT = re.compile(rf"{_AT} .*INNODB MONITOR OUTPUT")
_DEADLOCK = re.compile(rf"LATEST DETECTED DEADLOCK\n-+\n{_AT}(.*?)\n-----", re.DOTALL)
_WAITED = re.compile(r"thread id \d+, .*\n((?:(?!\*\*\*|RECORD LOCKS|TABLE LOCK).*\n)+)")


def proxy_named(*texts: str) -> str:
    """The proxy that names itself in the greeting or in ``version_comment``; empty if none does."""
    return next((name for name in ("ProxySQL", "MaxScale") for text in texts if name.lower() in text.lower()), "")


def shared_by(session: str) -> PoolMode:
    """Whether ProxySQL shares connections between transactions, by what it knows of the session, if it is that."""
    try:
        connections = [one.get("conn", {}) for one in json.loads(session).get("backends", []) if one]
        pinned = any(one.get("MultiplexDisabled") for one in connections)
    except (ValueError, TypeError, AttributeError, RecursionError):
        return PoolMode.SESSION
    return PoolMode.SESSION if pinned else PoolMode.TRANSACTION


def latest_deadlock(status: str) -> list[ServerEvent]:
    """The deadlock of InnoDB's own report, if it was within the last minute; its times are those of one clock."""
    now, found = _STATUS_AT.search(status), _DEADLOCK.search(status)
    if now is None or found is None:
        return []
    asked, at = (datetime.strptime(" ".join(one.split()), "%Y-%m-%d %H:%M:%S") for one in (now[1], found[1]))
    age_s = (asked - at).total_seconds()
    statements = [" ".join(one.split()) for one in _WAITED.findall(found[2])]
    return [ServerEvent("deadlock", "of " + " and ".join(statements), age_s)] if 0 <= age_s <= _RECENT_S else []


class MysqlclientSchemaOptions(SqlSchemaOptions):
    """The storage options of these engines."""

    storage_engine: str | None = Field(
        default=None, pattern=r"^[A-Za-z_][A-Za-z0-9_]*$", description="storage engine of the tables, such as InnoDB"
    )


class MysqlclientDatabase(BaseDatabase):
    """Contract: :class:`hdbkit.contracts.Database`, completed by the engine's own class."""

    protocol: ClassVar[str]
    """The title of the engine whose protocol a variant speaks."""
    processes: ClassVar[tuple[str, ...]]
    """Possible names of the server process."""
    is_mariadb: ClassVar[bool] = False
    """Whether its servers are MariaDB, which they state themselves."""
    capabilities = frozenset(Capability) - {
        Capability.OPTIMISTIC,
        Capability.COMMENTS,
        Capability.SLOW_PLANS,
        Capability.SCHEMAS,
        Capability.SNAPSHOT_CONFLICTS,
        Capability.PARALLEL_WORKERS,
    }
    extra = "mysql"
    gauges = frozenset({"history_list_length", "dirty_pages", "checkpoint_age_bytes", "waiting_locks", LAG})
    schema_options: type[SchemaOptions] = MysqlclientSchemaOptions
    files_per_session = 2
    analyze_needs = frozenset({"SELECT", "INSERT"})
    waits_apart_s = 0.11  # InnoDB lists its transactions anew when nobody has read the list for 0.1 s
    connection_settings: Mapping[str, int] = MappingProxyType({"max_connections": 1})
    protected_settings: Mapping[str, str] = PROTECTED
    access_settings: tuple[str, ...] = ACCESS
    plain_texts: frozenset[str] = PLAIN_TEXTS
    default_port: int | None = 3306
    probed = Answers()
    denied = frozenset({"1142", "1143", "1370"})
    privileges: Mapping[str, Mapping[str, tuple[str, ...]]] = PRIVILEGES
    option_values = VALUES
    preload: tuple[str, ...] = ("MySQLdb._mysql", "hdbkit.databases._mysqlclient.session")
    fork_safe = True

    def at(self, target: Target) -> Database:
        """The engine as the server of this target answers it to be."""
        return at(self, target)

    def probe(self, target: Target) -> Answers:
        """What the server is and can do. Raises the errors of ``connect``."""
        from hdbkit.databases._mysqlclient.probe import MysqlclientProbe

        return MysqlclientProbe(self, target).answers()

    def driver_version(self) -> str:
        """Mysqlclient and its client library."""
        try:
            from MySQLdb import _mysql, release
        except ImportError:
            raise MissingDriver(self.kind, "mysqlclient", self.extra) from None
        return f"mysqlclient {release.__version__} (client library {_mysql.get_client_info()})"

    def check_options(self, target: Target) -> None:
        check_options(target, OPTIONS, self.option_values)

    def behind_proxy(self, target: Target, port: int) -> Target:
        """The address replaces the host: the driver verifies no other name than that which it connects to."""
        if "socket" in target.options:
            raise InputError("connections would bypass the proxy; remove the option socket of the target")
        verifies = verifies_name(target)
        if verifies and target.host not in (LOOPBACK, "localhost"):
            raise InputError(
                f"the driver verifies the name of the proxy instead of {target.host}; set the option ssl_mode of the "
                "target to VERIFY_CA"
            )
        return target.with_(host=target.host if verifies else LOOPBACK, port=port)

    def connect(
        self, target: Target, scope: Scope = SERVER, options: SessionOptions | None = None
    ) -> MysqlclientSession:
        """A session on the target's database, at the first usable address; the scope's schema is ignored."""
        self.check_options(target)
        return first_usable(target, lambda one: self._connect(one, scope, options or SessionOptions()))

    def loading_session(self, session: Session, target: Target, scope: Scope) -> MysqlclientSession:
        """A session in place of this one that LOAD DATA LOCAL can use."""
        session.close()
        wanted = SessionOptions(application="hdbkit build")
        return first_usable(target, lambda one: self._connect(one, scope, wanted, sends_files=True))

    def _connect(
        self, target: Target, scope: Scope, wanted: SessionOptions, sends_files: bool = False
    ) -> MysqlclientSession:
        connection, _ = connected_in_time(target, wanted, lambda: mysql_connection(target, wanted, sends_files))
        who = f"the server, version {connection.get_server_info()}"  # a session that fails closes it
        from hdbkit.databases._mysqlclient.session import MysqlclientSession

        try:
            session = MysqlclientSession(connection, self.dialects, scope)
        except TransactionError as error:
            why = f"{who}, refuses what hdbkit sets in each session: {shorten(error.text, 200)}"
            advice = f"check the account, and whether the server is {self.protocol}"
            raise CannotConnect(target.url, why, advice) from None
        session.reached_by(self, target, wanted)
        self._require_product(session, target)
        self._require_sound(session, target, scope)
        self._require_role(session, target)
        if not is_on(target, "local_infile", default=True):
            session.local_infile = False
        session.local_infile = session.local_infile and self.probed.bulk_loads
        session.classes = self.probed.errors
        session.sends_files = sends_files or is_on(target, "local_infile")
        session.prepares_calls = is_on(target, "prepared")
        session.needs_primary = wants_primary(target)
        if wanted.isolation:
            session.query("set_isolation", level=wanted.isolation.replace("_", "-").upper())
        self._limit_locks(session, wanted)
        session.statement_timeout_ms = wanted.statement_timeout_ms
        if wanted.statement_timeout_ms:
            session.query("set_statement_timeout", milliseconds=wanted.statement_timeout_ms)
        return session

    @staticmethod
    def _limit_locks(session: MysqlclientSession, wanted: SessionOptions) -> None:
        """Limit waits for locks; a product without such a limit has none for the sessions of hdbkit's own."""
        session.lock_timeout_s = -(-wanted.lock_limit_ms // 1000)
        try:
            if session.lock_timeout_s:
                session.query("set_lock_timeout", seconds=session.lock_timeout_s)
        except TransactionError as error:
            if error.lost or not wanted.is_own:
                raise
            session.lock_timeout_s = 0

    def _require_product(self, session: MysqlclientSession, target: Target) -> None:
        """Close the session of a server of another kind than the target's. Raises ``CannotConnect``."""
        if bool(session.is_mariadb) is not self.is_mariadb:
            kind, title = _PRODUCTS[bool(session.is_mariadb)]
            session.close()
            version = session.version.partition("-")[0]
            right = target.with_(kind=kind).url
            raise Rejected(target.url, f"the server is {title} {version}, not {self.title}", f"name it {right}")

    @staticmethod
    def _require_sound(session: MysqlclientSession, target: Target, scope: Scope) -> None:
        """Close a session whose server takes a backslash in a text as it is, or reports no conditions to routines.

        Raises ``CannotConnect``.
        """
        if "NO_BACKSLASH_ESCAPES" in session.sql_mode.split(","):
            session.close()
            why = "the sql_mode of the workload contains NO_BACKSLASH_ESCAPES, with which texts arrive changed"
            raise CannotConnect(target.url, why, "set sql_mode in workload.yaml to the other modes")
        if not session.max_conditions and any(name.startswith("create_routine_") for name in scope.statements):
            session.close()
            why = "max_error_count is 0, with which routines cannot report that they rolled back"
            raise CannotConnect(target.url, why, "run as an administrator: SET GLOBAL max_error_count = 64")

    def _require_role(self, session: MysqlclientSession, target: Target) -> None:
        """Close the session of a server that the target does not want. Raises ``CannotConnect``."""
        wanted = target.options.get(ATTRIBUTES, "any")
        if wanted != "any" and (self.role(session) is ServerRole.READ_ONLY) is not (wanted == "read-only"):
            session.close()
            words = "accepts no changes" if wanted == "read-write" else "accepts changes"
            advice = "name another address, or change that option of the target"
            raise Rejected(target.url, f"the server {words}, but {ATTRIBUTES} is {wanted}", advice)

    def schema(self, target: Target, workload: Workload) -> Schema:
        """The workload's schema, which is the target's database."""
        return (SqlSchema if self.probed.claims else HostSchema)(self, target, workload)

    def version(self, session: Session) -> str:
        """For example ``MariaDB 10.11.19``."""
        version = session.ask("server_version")[0][0].partition("-")[0]
        return self.probed.named(self.title, self.protocol, version)

    def role(self, session: Session) -> ServerRole:
        """By read_only, from which some accounts are exempt; a replica that accepts changes is a primary."""
        closed = self.is_replica(session) and not any(map(granted(session).everywhere, _EXEMPT))
        return ServerRole.READ_ONLY if closed or self.read_only_by(session) else ServerRole.PRIMARY

    def lift_limits(self, session: Session) -> None:
        """In the session."""
        own = _own(session)
        self.asked(own, "lift_own_limits", milliseconds=own.statement_timeout_ms)
        if own.lock_timeout_s:
            own.ask("set_lock_timeout", seconds=own.lock_timeout_s)

    def is_replica(self, session: Session) -> bool:
        """By read_only."""
        rows = self.asked(session, "read_only")
        return bool(rows and rows[0][0])

    def pooling(self, session: Session, target: Target) -> Pooling:
        """By the name that a proxy gives itself, else by the number of this connection on both sides."""
        connection = _own(session).connection
        comment = answered(lambda: self.asked(session, "version_comment"), [])
        if by := proxy_named(connection.get_server_info(), *(str(text) for (text,) in comment)):
            rows = answered(lambda: session.ask("proxysql_session"), [])
            return Pooling(shared_by(str(rows[0][0])) if rows else PoolMode.SESSION, by=by)
        own = (connection.thread_id(),)
        rows = self.asked(session, "backend") or [own]
        return Pooling(PoolMode.DIRECT if rows == [own] else PoolMode.SESSION)

    def encryption(self, session: Session, target: Target) -> Encryption:
        """By the session's own status."""
        status = {name.lower(): str(value) for name, value in self.asked(session, "encryption")}
        expires = None
        with suppress(ValueError):  # empty without TLS, and another text on other products
            expires = datetime.strptime(status.get("ssl_server_not_after", ""), _CERTIFICATE_END).replace(tzinfo=UTC)
        return Encryption(status.get("ssl_version", ""), expires)

    def timeouts(self, session: Session) -> list[Timeout]:
        """Those of the session; one that is not the server's was set by hdbkit, or comes with the account."""
        return [Timeout(ends, float(seconds), setter) for ends, seconds, setter in self.asked(session, "timeouts")]

    def disturbances(self, session: Session) -> list[Disturbance]:
        """Settings that make commits unsafe, the redo log short, or the log long."""
        return [
            *super().disturbances(session),
            *(Disturbance(*map(str, row)) for row in self.asked(session, "redo_log")),
        ]

    def counters(self, session: Session) -> dict[str, float]:
        """Totals of the whole server, and its gauges."""
        status = {name: value for name, value in self.asked(session, "status") if name in _COUNTERS}
        counters = {_COUNTERS[name]: float(value) for name, value in status.items()}
        with suppress(TransactionError):  # not every account may ask
            for replica in session.ask("replica_status"):
                if replica[_SECONDS_BEHIND] is not None:
                    counters[LAG] = float(replica[_SECONDS_BEHIND])
        return counters

    def recent_events(self, session: Session) -> list[ServerEvent]:
        """The latest deadlock, with the statements that waited for each other."""
        return latest_deadlock("".join(str(row[-1]) for row in self.asked(session, "innodb_status")))

    def server_process(self, session: Session) -> int | None:
        """The server process, if it runs on this host and its pid file is readable there.

        A server elsewhere may name the same file, also one behind a proxy or a tunnel on this host.
        """
        rows = self.asked(session, "process_file")
        host, folder, file = rows[0] if rows else ("", "", "")
        if host.lower() != platform.node().lower() or not ends_here(_own(session).connection.fileno()):
            return None
        try:
            process = int(read_bytes(os.path.join(folder, file)))  # noqa: PTH118  may be absolute
            name = Path(f"/proc/{process}/comm").read_text(encoding="utf-8").strip()
        except (OSError, ValueError):
            return None
        ((_, uptime_s),) = session.ask("uptime")
        return process if name in self.processes and runs_as_long(process, float(uptime_s)) else None

    def advised_grants(self, session: Session) -> list[MissingGrant]:
        """To build in the target's database, and to see deadlocks, statistics and replication."""
        return advised_grants(session)

    def grants_to(self, session: Session, verb: Verb, *, routines: bool) -> list[str]:
        """By SHOW GRANTS, on the target's database."""
        return [one.command for one in advised_grants(session, verb, routines=routines)]

    def grants_for(self, session: Session, access: Access) -> list[str]:
        """By SHOW GRANTS, on whole databases; FOR UPDATE is not checked, since the engines differ in it."""
        return grants_for(session, access)

    def denied_access(self, statement: Statement, error: TransactionError) -> list[Access]:
        """The privilege and the table that the error names."""
        return denied_access(error)

    def missing_grants(
        self, session: Session, changes: Mapping[str, ApplyBy], *, kept: bool, applied: bool
    ) -> list[str]:
        """What the server names when it refuses a setting's present value, and what persisting requires."""
        account = session.ask("granted_to", routines="")[0][0]
        wanted = [str(name) for (name,) in session.ask("privileges_to_persist")] if kept else []
        wanted = [name for name in wanted if not granted(session).everywhere(name)]
        for name, by in changes.items():
            if by is not ApplyBy.RESTART and (kept or applied):
                wanted += _refused_privilege(session, name)
        return [f"GRANT {privilege} ON *.* TO {account}" for privilege in dict.fromkeys(wanted)]

    def settings_of(self, session: Session) -> dict[str, dict[str, Any]]:
        """Every setting of the server; ``changed`` if its value was set explicitly."""
        return {
            name: {"value": value, "unit": None, "default": default, "changed": bool(changed)}
            for name, value, default, changed in self.asked(session, "read_settings")
        }

    def slow_load(self, session: Session) -> str | None:
        """Why the load uses INSERT instead of LOAD DATA LOCAL; None if it does not."""
        if _own(session).local_infile:
            return None
        if not self.probed.bulk_loads:
            return (
                "the server's LOAD DATA LOCAL reports no duplicate keys: rows were loaded by INSERT, which is slower"
            )
        return "local_infile is off: rows were loaded by INSERT, which is slower; set local_infile=ON on the server"

    def password_source(self, target: Target) -> str | None:
        """The option file, if it has a password for this account, else ``MYSQL_PWD``."""
        if found := password_in_file(target):
            return str(found[0])
        return "MYSQL_PWD" if of_variable("MYSQL_PWD") is not None else None

    def influences(self, target: Target) -> list[str]:
        """The variables of the client library."""
        return of_environment(target)

    def provision(self, admin: Target, target: Target) -> list[str]:
        """Create the account and its database if missing, and grant all privileges on the database.

        The account may connect from this host alone, under the name by which the server knows it.
        """
        role = target.user or target.database or ""
        database = target.database or role
        own = target.with_(user=role, database=None)
        created = []
        with closing(self.connect(admin)) as session:
            host = refused_from(own)
            if host is not None:
                exists, there = session.query("account", role=role, host=host, database=database)[0]
                if exists:
                    raise InputError(
                        f"the account '{role}'@'{host}' exists, but it does not have the password that is given; set "
                        f"{PASSWORD_VARIABLE} to its password"
                    )
                session.query("create_role", role=role, host=host, **self._identified_by(target.new_password()))
                created.append(f"account '{role}'@'{host}', which may connect from this host alone")
                usable = False
            else:
                with closing(self.connect(own)) as first:
                    host, usable = first.query("own_account", database=database)[0]
                there = session.query("account", role=role, host=host, database=database)[0][1]
            if not there:
                session.query("create_database", database=database)
                created.append(f"database {database}")
            if not usable:
                session.query("grant_database", level=level_of(session, database), role=role, host=host)
                with suppress(TransactionError):  # not every administrator may grant it
                    session.query("grant_sight", role=role, host=host)
                created.append(f"all privileges of '{role}'@'{host}' on {database}")
        return created

    def _identified_by(self, password: str) -> dict[str, Any]:
        """The arguments of the statement ``create_role`` for a password."""
        raise NotImplementedError


def _refused_privilege(session: Session, name: str) -> list[str]:
    """The narrowest privilege that would allow to set a setting; empty if the account may set it."""
    try:
        session.ask("try_setting", name=name)
    except TransactionError as refused:
        if found := _PRIVILEGES.search(refused.text):
            return [re.split(", | or ", found[1])[-1]]
    return []


def _own(session: Session) -> MysqlclientSession:
    return cast("MysqlclientSession", session)
