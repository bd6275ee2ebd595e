"""PostgreSQL 15 and later, through psycopg 3's libpq interface."""

from __future__ import annotations

import getpass
import json
import os
import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from signal import Signals
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, cast

from pydantic import Field

from hdbkit.config import Target
from hdbkit.config.hosts import is_local
from hdbkit.config.passwords import of_variable
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
from hdbkit.databases._base.access import LOOPBACK, check_options, first_usable, in_colon_file, wants_primary
from hdbkit.databases._base.database import BaseDatabase
from hdbkit.databases._base.file_lock import HostSchema
from hdbkit.databases._base.probing import Answers, Probe, Product, at
from hdbkit.databases._base.sql_schema import SqlSchema, SqlSchemaOptions
from hdbkit.databases.postgresql.connect import (
    PASSWORD,
    POSTGRESQL_VALUES,
    check_sources,
    environment_of_libpq,
    known_options,
    reached,
    stated_pooling,
)
from hdbkit.databases.postgresql.connect_errors import SSL_REQUEST
from hdbkit.databases.postgresql.settings import POSTGRESQL_ACCESS, POSTGRESQL_PLAIN_TEXTS, POSTGRESQL_PROTECTED
from hdbkit.errors import CannotConnect, InputError, MissingDriver, TransactionError
from hdbkit.paths import home_folder
from hdbkit.processes import runs_as_long
from hdbkit.readings import LAG, OWN_COUNTS, Encryption, Pooling, PoolMode, ServerRole
from hdbkit.sql import ANSI
from hdbkit.statement import Statement

if TYPE_CHECKING:
    from hdbkit.databases.postgresql.session import PsycopgSession

PRODUCTS: Final = (
    Product("QuestDB", r"QuestDB ?([\d.]+)?", hindrance="it has no transactions", tried="9.3.4"),
    Product("H2", r"using H2 ([\d.]+)", tried="2.5.252: refused, it cannot answer"),
    Product("CrateDB", r"CrateDB ([\d.]+)", hindrance="it has no transactions"),
    Product("Redshift", r"Redshift ([\d.]+)"),
    Product("CockroachDB", r"CockroachDB \w* ?v([\d.]+)"),
    Product("Greenplum", r"Greenplum Database ([\d.]+)"),
    Product("YugabyteDB", r"-YB-([\d.]+)"),
    Product(
        "PGlite", r"PGlite ?([\d.]+)?|emcc|emscripten", hindrance="its connections are one session", tried="0.5.14"
    ),
    Product("EDB Postgres Advanced Server", r"EnterpriseDB Advanced Server ([\d.]+)?", is_foreign=False),
    Product("Citus", r"citus=([\d.]+)", is_foreign=False),
    Product("TimescaleDB", r"timescaledb=([\d.]+)", is_foreign=False, tried="2.19.3"),
    Product("AlloyDB", r"\balloydb\.", is_foreign=False),
    Product("Neon", r"\bneon[.=]", is_foreign=False),
    Product("Aurora PostgreSQL", r"\b(?:apg|aurora)\w*\.", is_foreign=False),
    Product("Supabase", r"\bsupautils\.", is_foreign=False),
)
"""By what they state in their version, extensions and settings; the first that applies counts."""
_NEEDED: Final = ("backend", "schema_exists", "list_tables", "list_indexes", "server_version")
_QUESTIONS: Final = (
    *("claim_schema", "role", "read_only_by", "clock", "encryption", "free_connections", "footprint", "timeouts"),
    *("lift_own_limits", "disturbing_settings", "write_cycle", "counters", "counters_of_log", "counters_of_tables"),
    *("waiting_locks", "replication_lag", "read_settings", "control_settings", "running_settings", "session_waits"),
    *("advised_grants", "grants_for", "list_unanalyzed", "work_of_server"),
)
"""The others that are asked for, without which the server is less than the engine."""


class PostgreSQLProbe(Probe):
    """The questions in PostgreSQL's words; a table that COPY cannot load cannot be loaded."""

    products, needed, questions = PRODUCTS, _NEEDED, _QUESTIONS
    denied = frozenset({"42501"})

    def is_direct(self, session: PsycopgSession) -> bool:
        """Unless a pooler serves it: its sessions may share one of the server."""
        from hdbkit.databases.postgresql.pooled import is_pooled

        return not is_pooled(session)


_KIND = "postgresql"
_PREFER_STANDBY = "prefer-standby"
_DENIED_OBJECT = re.compile(r"permission denied for (\w+(?: \w+)?) (\S.*)")
_ROUTINES = ("function", "procedure")
_COUNTERS = ("counters", "counters_of_log", "counters_of_tables", "waiting_locks")
_OTHER_SERVERS = frozenset({"hostaddr", "service", "servicefile"})
"""Options of libpq that name another server to connect to."""
_CONNECTIONS = MappingProxyType(
    {"max_connections": 1, "superuser_reserved_connections": -1, "reserved_connections": -1}
)
_READ = MappingProxyType({"S": ("USAGE",), "S.*": ("SELECT",)})
_PRIVILEGES = MappingProxyType(
    {
        "doctor": {"DB": ("CONNECT",)},
        "build": {"DB": ("CREATE",)},
        "check": _READ,
        "run": {"S": ("USAGE",), "S.*": ("SELECT", "INSERT", "UPDATE", "DELETE")},
        "run --read-only": _READ,
    }
)


class PostgreSQLSchemaOptions(SqlSchemaOptions):
    """The storage options of PostgreSQL."""

    tablespace: str | None = Field(
        default=None, pattern=r"^[A-Za-z_][A-Za-z0-9_$]*$", description="tablespace of tables and indexes"
    )
    unlogged: bool = Field(
        default=False, description="leave the tables out of the write-ahead log; a crash of the server empties them"
    )


class PostgreSQL(BaseDatabase):
    """Contract: :class:`hdbkit.contracts.Database`."""

    kind = _KIND
    title = protocol = "PostgreSQL"
    also_named: Mapping[str, Mapping[str, str]] = MappingProxyType({"postgres": {}})
    recognized_by = (SSL_REQUEST, b"[SN]$")
    capabilities = frozenset(Capability) - {Capability.OPTIMISTIC}
    extra = "postgresql"
    dialects: tuple[str, ...] = (ANSI, _KIND)
    probed = Answers()
    denied = frozenset({"42501"})
    privileges: Mapping[str, Mapping[str, tuple[str, ...]]] = _PRIVILEGES
    gauges = frozenset({"waiting_locks", LAG})
    schema_options: type[SchemaOptions] = PostgreSQLSchemaOptions
    connection_settings: Mapping[str, int] = _CONNECTIONS
    protected_settings: Mapping[str, str] = POSTGRESQL_PROTECTED
    access_settings: tuple[str, ...] = POSTGRESQL_ACCESS
    plain_texts: frozenset[str] = POSTGRESQL_PLAIN_TEXTS
    reload_signal: Signals | None = Signals.SIGHUP
    default_port: int | None = 5432
    option_values = POSTGRESQL_VALUES
    preload: tuple[str, ...] = ("psycopg.pq", "hdbkit.databases.postgresql.session")
    fork_safe = True

    def at(self, target: Target) -> Database:
        """The engine as the server of this target answers it to be."""
        return at(self, target)

    def probe(self, target: Target) -> Answers:
        """What the server is and can do. Raises the errors of ``connect``."""
        from hdbkit.databases.postgresql import PostgreSQLProbe

        return PostgreSQLProbe(self, target).answers()

    def driver_version(self) -> str:
        """Psycopg, its implementation, and the version of libpq."""
        try:
            import psycopg
        except ImportError:
            raise MissingDriver(_KIND, "psycopg", self.extra) from None
        libpq = psycopg.pq.version()
        return f"psycopg {psycopg.__version__} ({psycopg.pq.__impl__}, libpq {libpq // 10000}.{libpq % 10000})"

    def check_options(self, target: Target) -> None:
        """Check the options against those of libpq, and the values of those that have few."""
        check_options(target, known_options(), self.option_values)
        check_sources(target)

    def behind_proxy(self, target: Target, port: int) -> Target:
        """``hostaddr`` is where libpq connects to; ``host`` stays the name that it verifies."""
        if found := sorted(_OTHER_SERVERS & target.options.keys()):
            raise InputError(f"connections would bypass the proxy; remove the option {found[0]} of the target")
        if "," in (target.host or ""):
            raise InputError("a proxy needs a target with one address; remove the others from the target")
        return target.with_(port=port, options={**target.options, "hostaddr": LOOPBACK})

    def connect(self, target: Target, scope: Scope = SERVER, options: SessionOptions | None = None) -> PsycopgSession:
        """A session whose search path is the scope's schema, or the account's own; at the first usable address."""
        self.check_options(target)
        wanted = options or SessionOptions()
        if target.options.get(ATTRIBUTES) == _PREFER_STANDBY and target.fallbacks:
            with suppress(CannotConnect):
                standby = target.with_(options={**target.options, ATTRIBUTES: "standby"})
                return first_usable(standby, lambda one: self._connect(one, scope, wanted))
        return first_usable(target, lambda one: self._connect(one, scope, wanted))

    def _connect(self, target: Target, scope: Scope, options: SessionOptions) -> PsycopgSession:
        connection, pooling = reached(target, scope.schema, options)
        from hdbkit.databases.postgresql.pooled import fitting_session
        from hdbkit.databases.postgresql.session import PsycopgSession

        plain = PsycopgSession(connection, self.dialects, scope, prepares=options.reuses_plans)
        plain.reached_by(self, target, options)
        session = fitting_session(plain, target, pooling, options)
        session.reached_by(self, target, options)
        session.needs_primary = wants_primary(target)
        session.prepares_questions = pooling is not None and pooling.mode is PoolMode.DIRECT
        return session

    def schema(self, target: Target, workload: Workload) -> Schema:
        """The workload's schema, in its own schema of the database."""
        return (SqlSchema if self.probed.claims else HostSchema)(self, target, workload)

    def version(self, session: Session) -> str:
        """For example ``PostgreSQL 18.1 with TimescaleDB 2.19.3``."""
        return self.probed.named(self.title, self.protocol, session.ask("server_version")[0][0])

    def lift_limits(self, session: Session) -> None:
        """In the session, or in each of its transactions behind a pooler."""
        _own(session).lift_limits()

    def is_replica(self, session: Session) -> bool:
        """By recovery."""
        return self.role(session) is ServerRole.STANDBY

    def pooling(self, session: Session, target: Target) -> Pooling:
        """By the server's processes that serve this session and two others; the target's options take precedence."""
        from hdbkit.databases.postgresql.pooled import found_pooling, is_pooled

        if stated := stated_pooling(target):
            return stated
        if not is_pooled(_own(session)):
            return Pooling(PoolMode.DIRECT)
        asking = SessionOptions(pooling=Pooling(PoolMode.TRANSACTION))
        return found_pooling(target, lambda: self.connect(target, SERVER, asking))

    def served(self, target: Target, sessions: int) -> int:
        """By opening them; a pooler reveals its limits to its administrators only."""
        from hdbkit.databases.postgresql.pooled import served

        asking = SessionOptions(pooling=Pooling(PoolMode.TRANSACTION))
        return served(lambda: self.connect(target, SERVER, asking), sessions)

    def encryption(self, session: Session, target: Target) -> Encryption:
        """By the server; the certificate's end by a handshake of its own.

        Behind a pooler the server reports its connection to the pooler, so the driver is asked first.
        """
        from hdbkit.databases.postgresql.connect import server_certificate_end

        if not _own(session).connection.ssl_in_use:
            return Encryption()
        protocol = "".join(str(one) for (one,) in self.asked(session, "encryption"))
        return Encryption(protocol, server_certificate_end(target)) if protocol else Encryption()

    def counters(self, session: Session) -> dict[str, float]:
        """Totals over all databases; a backend reports its own at most once per second."""
        major = _own(session).connection.server_version // 10000
        asked = [*_COUNTERS, *(("file_operations",) if major >= 16 else ())]
        rows = [row for name in asked for row in self.asked(session, name)]
        for (schema,) in session.ask("schema_of_waits"):
            rows += session.ask("counters_of_waits", schema=schema)
        rows += [(LAG, lag_s) for (lag_s,) in self.asked(session, "replication_lag") if lag_s is not None]
        before = "" if major >= 17 else "_before_17"
        rows += [("checkpoints", count) for (count,) in self.asked(session, f"checkpoints{before}")]
        return {name: float(value or 0) for name, value in rows} | {OWN_COUNTS: float(type(_own(session)).questions)}

    def server_process(self, session: Session) -> int | None:
        """The postmaster, if it runs on this host; behind a pooler or a tunnel it may be elsewhere."""
        if not is_local(_own(session).connection.host.decode()):
            return None
        ((backend, uptime_s),) = session.ask("backend")
        process = _parent_of(backend)
        return process if process and runs_as_long(process, float(uptime_s)) else None

    def grants_to(self, session: Session, verb: Verb, *, routines: bool) -> list[str]:
        """To create the schema, or what its owner may; reading is a matter of tables."""
        rows = session.ask("grants_to_build") if verb is Verb.BUILD else []
        rows += session.ask("grants_to_own") if verb is not Verb.CHECK else []
        return [str(command) for (command,) in rows]

    def grants_for(self, session: Session, access: Access) -> list[str]:
        """By the server's catalog, of what is there; FOR UPDATE requires UPDATE."""
        asked = {
            "tables": {privilege: sorted(names) for privilege, names in access.tables.items()},
            "in_routines": {privilege: sorted(names) for privilege, names in access.in_routines.items()},
            "routines": sorted(access.routines),
        }
        return [str(command) for (command,) in session.ask("grants_for", access=json.dumps(asked))]

    def denied_access(self, statement: Statement, error: TransactionError) -> list[Access]:
        """The error names no privilege: that of the statement's first word, else reading, else locking."""
        found = _DENIED_OBJECT.search(error.text)
        if found is None:
            return []
        names = frozenset({'"' + found[2].replace('"', '""') + '"'})
        if found[1] in _ROUTINES:
            return [Access(routines=names)]
        privileges = (statement.code.split(maxsplit=1)[0].upper(), "SELECT", "LOCK")
        return [Access({privilege: names}) for privilege in dict.fromkeys(privileges)]

    def missing_grants(
        self, session: Session, changes: Mapping[str, ApplyBy], *, kept: bool, applied: bool
    ) -> list[str]:
        """What ALTER SYSTEM, reading its file and a reload require; functions are granted in each database."""
        asked = [session.ask("grants_to_keep", name=name) for name in changes] if kept else []
        asked += [session.ask("grants_to_read_file")] if kept else []
        asked += [session.ask("grants_to_reload")] if applied else []
        return [str(command) for rows in asked for (command,) in rows]

    def influences(self, target: Target) -> list[str]:
        """The variables of libpq that it applies."""
        return environment_of_libpq(target)[0]

    def password_source(self, target: Target) -> str | None:
        """``PGPASSWORD``, or the password file of libpq if it has a line for this account."""
        if of_variable(PASSWORD) is not None:
            return PASSWORD
        named = target.password_file or target.options.get("passfile") or os.environ.get("PGPASSFILE")
        path = Path(named) if named else home_folder() / ".pgpass"
        try:
            user = target.user or getpass.getuser()
        except (KeyError, OSError):  # in a container: an account without an entry, to which the driver gives no name
            return None
        host = target.host or "localhost"
        if in_colon_file(path, host, target.port or 5432, target.database or user, user):
            return str(named or "~/.pgpass")
        return None

    def provision(self, admin: Target, target: Target) -> list[str]:
        """Create the account and its database if missing. The client computes the verifier; no password is sent."""
        role = target.user or target.database or ""
        database = target.database or role
        session = self.connect(admin)
        try:
            superuser, roles, databases = session.query("account", role=role, database=database)[0]
            created = []
            if not roles:
                _create_role(session, role, target.new_password())
                created.append(f"role {role}")
            if not databases:
                if not superuser:  # only a member of the role may make it an owner
                    session.query("grant_role", role=role)
                session.query("create_database", database=database, role=role)
                created.append(f"database {database}")
            if target.server_folder:
                session.query("grant_slow_plans", role=role)
            return created
        finally:
            session.close()


def _create_role(session: PsycopgSession, role: str, password: str) -> None:
    verifier = session.connection.encrypt_password(password.encode(), role.encode(), None).decode()
    session.query("create_role", role=role, verifier=verifier)


def _own(session: Session) -> PsycopgSession:
    return cast("PsycopgSession", session)


def _parent_of(backend: int) -> int | None:
    """The parent of a server process on this host; None if the id belongs to another program."""
    process = Path(f"/proc/{backend}")
    try:
        if not process.joinpath("cmdline").read_bytes().startswith(b"postgres"):
            return None
        after_name = process.joinpath("stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return int(after_name[1])


DATABASE = PostgreSQL()
