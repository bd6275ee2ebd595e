"""Oracle TimesTen 22.1 (Classic) and later, through python-oracledb with TimesTen's client library.

The workload's tables are in the account's own schema, or are the tables of cache groups, which TimesTen loads from
Oracle Database. There was no server to try it on: docs/engines.md states what was verified, and how.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any, Final, Literal, cast

from pydantic import Field

from hdbkit.config import Isolation, Load, Target
from hdbkit.contracts import Capability, PartLoad, Row, SchemaOptions, Scope, Session, SessionOptions, StatementLoad
from hdbkit.databases._base.dbapi_session import DbapiSession
from hdbkit.databases._base.sql_schema import SqlSchema
from hdbkit.databases._oracledb.connect import THICK, OracledbDatabase, driver
from hdbkit.databases._oracledb.session import ORACLE_BY_DESIGN, PLSQL, OracleSession
from hdbkit.databases.timesten.connect import (
    CLIENT_ATTRIBUTES,
    CONNECTION,
    STATS,
    TIMESTEN,
    TIMESTEN_DIRECT,
    TIMESTEN_OPTIONS,
    TIMESTEN_VALUES,
    described_error,
    timesten_connection,
)
from hdbkit.errors import ErrorClass, InputError, RolledBackByDesign
from hdbkit.readings import HostNeeds
from hdbkit.sql import ANSI
from hdbkit.statement import IDENTIFIER

_GROUP: Final = "create_cache_group_"
_CACHED_TABLE: Final = re.compile(r"^(\w+) \($", re.MULTILINE)
"""The beginning of a table in the definition of a cache group."""
_ROUTINE: Final = "create_routine_"
_AWT, _READ_ONLY, _FLUSH = "awt", "read_only", "flush"
_CACHE, _FLUSHED = "_cache", "_flush"
"""The ends of the names of cache groups, and of those that only FLUSH CACHE GROUP sends to Oracle Database."""
_FULL: Final = "full"


_REGIONS: Final = ("PermSize", "TempSize", "LogBufMB", "PLSQL_MEMORY_SIZE")
_HEADER_BYTES, _CONNECTION_BYTES = 64 << 20, 32 << 10
"""The documented overhead of a database, and what covers the documented answer of ttShmSize for 2,048 connections."""
_OWN_SEMAPHORES, _DEFAULT_CONNECTIONS = 155, 2000


def shared_memory(attributes: Mapping[str, int]) -> tuple[int, int]:
    """The bytes of shared memory and the semaphores of a database with these connection attributes, sizes in MB."""
    connections = attributes.get("Connections") or _DEFAULT_CONNECTIONS
    regions = sum(attributes.get(name, 0) for name in _REGIONS) << 20
    return regions + _HEADER_BYTES + connections * _CONNECTION_BYTES, connections + _OWN_SEMAPHORES


class TimesTenSchemaOptions(SchemaOptions):
    """The storage options of TimesTen."""

    cache_groups: Literal["awt", "swt", "read_only", "propagate", "flush"] | None = Field(
        default=None,
        description="cache groups of the same tables in Oracle Database: asynchronous (awt) or synchronous (swt) "
        "write-through, read-only, or user-managed: changes are propagated at commit, or flushed before a run",
    )
    cached_tables: Literal["full", "partial"] = Field(
        default="full", description="the tables in cache groups: all, or those that do not grow"
    )
    dynamic_cache: bool = Field(
        default=False, description="rows that a cache group has aged out are loaded when a statement needs them"
    )
    cache_refresh_s: int = Field(
        default=300, ge=1, le=86_400, description="interval at which read-only groups are refreshed, in seconds"
    )


class TimesTenSession(OracleSession):
    """A connection. Contract: :class:`hdbkit.contracts.SqlSession`."""

    def query(self, statement: str, /, **arguments: Any) -> list[Row]:
        """The rows of a named statement; a routine with errors is an error."""
        rows = super().query(statement, **arguments)
        if statement.startswith(_ROUTINE) and super().query("compile_errors"):
            self.raise_compile_errors()
        return rows

    ask = query

    def _raise_error(self, error: Exception) -> Any:
        if ORACLE_BY_DESIGN in str(error):
            self._undo()
            raise RolledBackByDesign(described_error(error)[2]) from None
        super()._raise_error(error)


class TimesTenSchema(SqlSchema):
    """A schema in the account's own schema, or in cache groups of the account."""

    def _scope_of(self, dialects: tuple[str, ...]) -> Scope:
        """With the cache groups, if there are any. Raises ``InputError`` if the workload cannot have them."""
        kind, part = self._options["cache_groups"], self._options["cached_tables"]
        if kind is None:
            return super()._scope_of(dialects)
        forms = (kind, f"dynamic_{kind}") if self._options["dynamic_cache"] else (kind,)
        variants = ("cache", *(("cache_full",) if part == _FULL else ()), *forms)
        scope = self._workload.scope((*dialects, *(f"{TIMESTEN}/{one}" for one in variants)))
        refresh = {"cache_refresh_s": self._options["cache_refresh_s"]}
        filled = {name: one.partly_filled(refresh) for name, one in scope.statements.items()}
        scope = replace(scope, statements=filled)
        tables = {table for one in self._groups_of(scope).values() for table in one}
        if not tables:
            raise InputError(f"cache_groups: {self._workload.title} has no tables that hdbkit can cache")
        changed = self._changed(dialects) & tables if kind == _READ_ONLY else set()
        if changed:
            raise InputError(
                f"cache_groups: {self._workload.title} changes or locks {', '.join(sorted(changed))}, which "
                "read-only groups forbid; use awt or swt"
            )
        return scope

    @staticmethod
    def _groups_of(scope: Scope) -> dict[str, list[str]]:
        """By the root of each cache group, its tables in the order of their definition."""
        groups = {name: one.text for name, one in scope.statements.items() if name.startswith(_GROUP)}
        return {name.removeprefix(_GROUP): _CACHED_TABLE.findall(text) for name, text in groups.items()}

    def _changed(self, dialects: tuple[str, ...]) -> set[str]:
        """The tables that the workload changes or locks, in routines or not."""
        access = self._workload.access(Load(), dialects)
        used = [*access.tables.items(), *access.in_routines.items()]
        return {table for privilege, tables in used if privilege != "SELECT" for table in tables}

    @cached_property
    def _root_of(self) -> dict[str, str]:
        """By table in a cache group, the root of its group."""
        return {table: root for root, tables in self._groups_of(self._scope).items() for table in tables}

    def create(self, spec: str) -> None:
        """Create what is missing, and load the cache groups; rows that they have are not loaded again."""
        if self._root_of:
            self.session.query("start_cache_agent")
        if self._options["cache_groups"] == _AWT:
            self.session.query("stop_replication_agent")
        super().create(spec)
        suffix = _FLUSHED if self._options["cache_groups"] == _FLUSH else ""
        for root in self._groups_of(self._scope):
            self.session.query("load_cache_group", group=f"{root}{_CACHE}{suffix}")
        if "number_cached_history" in self._scope.statements:
            self.session.query("number_cached_history")

    def _run_create_table(self, table: str) -> None:
        """The group of a root has its other tables, too."""
        root = self._root_of.get(table)
        if root is None:
            super()._run_create_table(table)
        elif root == table:
            self.session.query(f"create_cache_group_{root}")

    def _rows_of(self, load: PartLoad, sent: Any) -> int:
        """None of a cached table, which Oracle Database has."""
        if not isinstance(load, StatementLoad) and load.table.name in self._root_of:
            return 0
        return super()._rows_of(load, sent)

    def finish(self) -> None:
        """Record that the schema is complete; changes are sent to Oracle Database from now on."""
        super().finish()
        if self._options["cache_groups"] == _AWT:
            self.session.query("start_replication_agent")

    def drop(self) -> list[str]:
        """Drop what a build created, also its cache groups and its sequence; the tables in Oracle Database stay."""
        tables = self._workload.tables
        groups = [str(name) for (name,) in self.session.query("list_cache_groups")]
        own = [name for name in groups if name.removesuffix(_FLUSHED) in {f"{table}{_CACHE}" for table in tables}]
        if own:
            self.session.query("stop_replication_agent")
        for name in own:
            self.session.query("drop_cache_group", group=name)
        dropped = [*(f"cache group {name}" for name in own), *super().drop()]
        for (name,) in self.session.query("list_sequences"):
            if name in {f"{table}_ids" for table in tables}:
                self.session.query("drop_sequence", sequence=name)
                dropped.append(f"sequence {name}")
        return dropped


class TimesTen(OracledbDatabase):
    """Contract: :class:`hdbkit.contracts.Database`."""

    kind = TIMESTEN
    title = "TimesTen"
    publishing = "its licence may forbid publishing results without the vendor's consent"
    extra = TIMESTEN
    dialects: tuple[str, ...] = (ANSI, PLSQL, TIMESTEN)
    capabilities = frozenset(
        {
            Capability.SQL,
            Capability.TABLES,
            Capability.DECIMALS,
            Capability.STORED_ROUTINES,
            Capability.CLIENT_ROUTINES,
            Capability.ACROSS_SHARDS,
            Capability.SERVER,
            Capability.SETTINGS,
            Capability.ADMIN,
            Capability.ISOLATION,
            Capability.ROW_LOCKS,
            Capability.WRITERS_WAIT,
            Capability.READS_NEVER_WAIT,
            Capability.LOCK_ERRORS,
            Capability.LOCK_TIMEOUT,
            Capability.COUNTS_COMMITS,
            Capability.COUNTS_ROLLBACKS,
        }
    )
    schema_options: type[SchemaOptions] = TimesTenSchemaOptions
    preload: tuple[str, ...] = ("oracledb", "hdbkit.databases.timesten")
    options = TIMESTEN_OPTIONS
    option_values = TIMESTEN_VALUES
    daemon = "timestend"
    session_type = TimesTenSession
    schema_type = TimesTenSchema

    def driver_version(self) -> str:
        """The driver, and the client library once a connection has loaded it."""
        module = driver(TIMESTEN)
        loaded = not module.is_thin_mode()
        version = ".".join(map(str, module.clientversion())) if loaded else "is loaded on connecting"
        return f"python-oracledb {module.__version__} ({THICK}, client library {version})"

    def opened(self, target: Target, options: SessionOptions) -> Any:
        """A connection to the DSN of ``target``."""
        return timesten_connection(target, options)

    def provision(self, admin: Target, target: Target) -> list[str]:
        """Create the account, whose name the server takes as a part of the command alone. Raises ``InputError``."""
        if not IDENTIFIER.fullmatch(target.user or ""):
            raise InputError(f"the account of {target.url} must be an identifier, not {target.user!r}")
        return super().provision(admin, target)

    def behind_proxy(self, target: Target, port: int) -> Target:
        """The address is in the DSN. Raises ``InputError``."""
        raise InputError("connections to TimesTen would bypass the proxy: their address is in the DSN")

    def set_up(self, session: DbapiSession, target: Target, options: SessionOptions) -> None:
        """How it is connected, the isolation level, and the timeout of locks."""
        own = cast(TimesTenSession, session)
        own.path = target.options.get(CONNECTION, CLIENT_ATTRIBUTES)
        if options.isolation is not None:
            own.query(f"set_isolation_{Isolation(options.isolation).value}")

    def limit_locks(self, session: DbapiSession, milliseconds: int) -> None:
        """In tenths of a second, by a built-in procedure."""
        tenths = -(-milliseconds // 100)
        session.query("set_lock_timeout", seconds=tenths // 10, tenths=tenths % 10)

    def described(self, error: Exception) -> tuple[ErrorClass, str, str]:
        """By the number of TimesTen in the text, else by the code of Oracle Database."""
        return described_error(error)

    def host_needs(self, session: Session) -> HostNeeds | None:
        """By the sizes of the database's memory regions and the number of its connections."""
        sizes = {str(name): int(value) for name, value in self.asked(session, "memory_attributes")}
        here = cast(TimesTenSession, session).path == TIMESTEN_DIRECT
        return HostNeeds(*shared_memory(sizes), here) if sizes else None

    def snapshot_notice(self, target: Target) -> str:
        """How two snapshots of the server's statistics become a report, where the target asks for them."""
        if STATS not in target.options:
            return ""
        utility = "ttStats" if target.options.get(CONNECTION) == TIMESTEN_DIRECT else "ttStatsCS"
        return f"a report of two of them: {utility} -report -snap1 ... -snap2 ... -outputFile FILE {target.database}"

    def version(self, session: Session) -> str:
        """With the five parts of the release."""
        rows = self.asked(session, "server_version")
        return f"{self.title} {'.'.join(map(str, rows[0][:5]))}" if rows else self.title


DATABASE = TimesTen()
