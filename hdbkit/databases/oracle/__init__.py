"""Oracle Database 19c and later, through python-oracledb: thin by default, with Oracle's client library on demand.

The workload's tables are in the account's own schema. There was no server to try it on: docs/engines.md states what
was verified, and how.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, cast

from pydantic import Field

from hdbkit.config import Isolation, Target
from hdbkit.contracts import Capability, SchemaOptions, Scope, Session, SessionOptions, Workload
from hdbkit.contracts import Schema as Schema
from hdbkit.databases._base.access import LOOPBACK
from hdbkit.databases._base.dbapi_session import DbapiSession
from hdbkit.databases._base.sql_schema import SqlSchema, SqlSchemaOptions
from hdbkit.databases._oracledb.connect import (
    AWR,
    CLASS_OF,
    LOAD,
    ORACLE,
    ORACLE_DIRECT,
    ORACLE_OPTIONS,
    ORACLE_PORT,
    ORACLE_VALUES,
    THICK,
    THIN,
    OracledbDatabase,
    code_and_text,
    driver,
    oracle_connection,
)
from hdbkit.databases._oracledb.session import PLSQL, OracleSession
from hdbkit.errors import ErrorClass, InputError
from hdbkit.readings import Encryption, Timeout
from hdbkit.sql import ANSI
from hdbkit.statement import Statement

_ADDRESS, _FILES = "clients would lose the server", "the server would look for its files elsewhere"
_DATA, _OWN_SESSIONS = "the data were created with its present value", "its own sessions set it"
_PROTECTED = MappingProxyType(
    {
        **dict.fromkeys(("local_listener", "remote_listener", "listener_networks", "forward_listener"), _ADDRESS),
        **dict.fromkeys(("service_names", "dispatchers", "instance_name", "instance_number"), _ADDRESS),
        **dict.fromkeys(("db_name", "db_unique_name", "db_domain", "cluster_database"), _ADDRESS),
        **dict.fromkeys(("enable_pluggable_database", "remote_login_passwordfile"), _ADDRESS),
        **dict.fromkeys(
            ("control_files", "spfile", "db_create_file_dest", "diagnostic_dest", "undo_tablespace"), _FILES
        ),
        **dict.fromkeys(("db_block_size", "compatible", "max_string_size"), _DATA),
        **dict.fromkeys(("nls_date_format", "nls_numeric_characters"), _OWN_SESSIONS),
    }
)
_ACCESS: tuple[str, ...] = (
    *("*listener*", "dispatchers", "shared_servers*", "service_names", "remote_*", "os_*"),
    *("sec_*", "*dictionary_access*"),
    *("sql92_security", "audit*", "unified_audit*", "ldap_*", "resource_limit", "allow_*", "encrypt*", "tde_*"),
    *("wallet_root", "global_names", "outbound_dblink*", "*lockdown*", "*_os_credential", "utl_file_dir", "java_*"),
    *("log_archive_*", "standby_*", "fal_*", "dg_broker*", "trace_enabled", "sql_trace", "read_only*", "_*"),
    *("common_user_prefix", "max_auth_servers", "min_auth_servers", "*password*", "license_*", "instance_mode"),
)
"""What guards, opens or records access. Parameters that begin with an underscore are Oracle's own."""


_IDENTIFIER = r"^[A-Za-z_][A-Za-z0-9_$]*$"
_VARIANTS = ("partitions", "hash_clusters", "tablespace", "index_tablespace")
"""Schema options with statements that replace others: the dialects ``oracle/<option>``."""
_SCALED = "scaled_"
_LICENCE = "AWR needs a licence of the Diagnostics Pack"


class OracleSchemaOptions(SqlSchemaOptions):
    """The storage options of Oracle Database."""

    tablespace: str | None = Field(default=None, pattern=_IDENTIFIER, description="tablespace of the tables")
    index_tablespace: str | None = Field(default=None, pattern=_IDENTIFIER, description="tablespace of the indexes")
    hash_clusters: bool = Field(
        default=False, description="tables that do not grow are in hash clusters, sized for the scale of the build"
    )
    checkpoint: bool = Field(
        default=False, description="after a build, write all changed blocks and switch the redo log"
    )


class OracleSchema(SqlSchema):
    """A schema in the account's own schema."""

    def __init__(self, engine: Oracle, target: Target, workload: Workload) -> None:
        self._database = engine
        super().__init__(engine, target, workload)

    def _scope_of(self, dialects: tuple[str, ...]) -> Scope:
        """With the statements of the storage options; ``{scaled_10}`` in them is ten times the scale."""
        chosen = [name for name in _VARIANTS if self._options[name]]
        scope = self._workload.scope((*dialects, *(f"{ORACLE}/{name}" for name in chosen)))
        given = {name: self._options[name] for name in chosen if isinstance(self._options[name], str)}
        known = scope.statements.items()
        return replace(scope, statements={name: one.partly_filled(given | self._scaled(one)) for name, one in known})

    def _scaled(self, statement: Statement) -> dict[str, int]:
        scale = int(self._workload.spec.size or 1)
        words = (word for word in statement.words if word.startswith(_SCALED))
        return {word: scale * int(word.removeprefix(_SCALED)) for word in words}

    def finish(self) -> None:
        """Record that the schema is complete; then a checkpoint and a new redo log file, if they are wanted."""
        super().finish()
        if self._options["checkpoint"]:
            self.session.query("checkpoint")

    def create(self, spec: str) -> None:
        """Create what is missing. Raises ``InputError`` before, if this account may not do what follows the build."""
        missing = (
            [command for (command,) in self.session.query("grants_to_set")] if self._options["checkpoint"] else []
        )
        if missing:
            raise InputError(
                f"checkpoint needs a privilege; run as an administrator: {missing[0]}; or omit checkpoint"
            )
        if self._options["partitions"] and self._database.asked(self.session, "lacks_partitions"):
            raise InputError("this server lacks the option Partitioning of Enterprise Edition; omit partitions")
        self._drop_clusters()
        super().create(spec)

    def drop(self) -> list[str]:
        """Drop what a build created, also its clusters."""
        return [*super().drop(), *self._drop_clusters()]

    def _drop_clusters(self) -> list[str]:
        """Drop the clusters of this workload that have no table: a build was killed, or its tables are dropped."""
        own = {f"{table}_cluster" for table in self._workload.tables}
        found = [str(name) for (name,) in self.session.query("list_clusters") if name in own]
        for name in found:
            self.session.query("drop_cluster", cluster=name)
        return [f"cluster {name}" for name in found]


class Oracle(OracledbDatabase):
    """Contract: :class:`hdbkit.contracts.Database`."""

    kind = ORACLE
    title = "Oracle Database"
    publishing = "its licence may forbid publishing results without the vendor's consent"
    extra = ORACLE
    dialects: tuple[str, ...] = (ANSI, PLSQL, ORACLE)
    capabilities = frozenset(Capability) - {
        Capability.OPTIMISTIC,
        Capability.COMMENTS,
        Capability.SLOW_PLANS,
        Capability.SCHEMAS,
        Capability.LOCK_TIMEOUT,
        Capability.OVERLAPS,
    }
    gauges = frozenset({"waiting_locks", "instances"})
    schema_options: type[SchemaOptions] = OracleSchemaOptions
    connection_settings: Mapping[str, int] = MappingProxyType({"processes": 1})
    protected_settings: Mapping[str, str] = _PROTECTED
    access_settings: tuple[str, ...] = _ACCESS
    default_port: int | None = ORACLE_PORT
    preload: tuple[str, ...] = ("oracledb", "hdbkit.databases._oracledb.session")
    options = ORACLE_OPTIONS
    option_values = ORACLE_VALUES
    session_type = OracleSession
    schema_type = OracleSchema

    def mode(self) -> str:
        """Whether this process uses the driver alone (thin), or Oracle's client library (thick)."""
        return THIN if driver().is_thin_mode() else THICK

    def driver_version(self) -> str:
        """The driver, its mode, and the client library in thick mode."""
        module = driver()
        library = ""
        if not module.is_thin_mode():
            library = f", client library {'.'.join(map(str, module.clientversion()))}"
        return f"python-oracledb {module.__version__} ({self.mode()}{library})"

    def opened(self, target: Target, options: SessionOptions) -> Any:
        return oracle_connection(target, options)

    def behind_proxy(self, target: Target, port: int) -> Target:
        """The address replaces the host; the name of a server behind tcps is then not its own."""
        if not target.host:
            raise InputError("connections would bypass the proxy; name host and port in the target, not a name")
        if target.options.get("protocol") == "tcps" and target.options.get("server_dn_match") != "off":
            raise InputError(
                f"the driver verifies the name of the proxy instead of {target.host}; set the option server_dn_match "
                "of the target to off"
            )
        return target.with_(host=LOOPBACK, port=port)

    def set_up(self, session: DbapiSession, target: Target, options: SessionOptions) -> None:
        """Formats, isolation, workers and the timeout of calls, which the driver keeps."""
        own = cast(OracleSession, session)
        own.path = self.mode()
        own.query("set_formats")
        if options.isolation is not None:
            own.query(f"set_isolation_{Isolation(options.isolation).value}")
        if options.parallel_workers is not None:
            if options.parallel_workers:
                own.query("set_parallel_workers", degree=options.parallel_workers)
            else:
                own.query("set_no_parallel_workers")
        own.connection.call_timeout = options.statement_timeout_ms
        if target.options.get(LOAD) == ORACLE_DIRECT:
            own.load_directly()

    def described(self, error: Exception) -> tuple[ErrorClass, str, str]:
        """By the code of the server or the driver; an error of the operating system is a lost connection."""
        code, text = code_and_text(error)
        if isinstance(error, OSError):
            return ErrorClass.CONNECTION_LOST, code, text
        return CLASS_OF.get(code, ErrorClass.OTHER), code, text

    def version(self, session: Session) -> str:
        """With the pluggable database."""
        text, rows = super().version(session), self.asked(session, "pluggable_database")
        return f"{text} (PDB {rows[0][0]})" if rows and rows[0][0] else text

    def counters(self, session: Session) -> dict[str, float]:
        """With log switches, whose views need privileges of their own."""
        counters = super().counters(session)
        of_log = self.asked(session, "counters_of_log")
        return counters | {str(name): float(value or 0) for name, value in of_log}

    def snapshot_notice(self, target: Target) -> str:
        """The licence, where the target asks for snapshots of the workload repository."""
        return _LICENCE if target.options.get(AWR) else ""

    def encryption(self, session: Session, target: Target) -> Encryption | None:
        """TLS by the protocol of the connection; what native encryption does is not known."""
        rows = self.asked(session, "network_protocol")
        if rows and str(rows[0][0]).lower() == "tcps":
            return Encryption("TLS")
        return Encryption() if self.mode() == THIN else None

    def timeouts(self, session: Session) -> list[Timeout]:
        """Those of the account's profile, and that of calls, which the driver keeps."""
        calls_ms = cast(OracleSession, session).connection.call_timeout
        own = [Timeout("statements", calls_ms / 1000, "hdbkit")] if calls_ms else []
        return [*own, *super().timeouts(session)]


DATABASE = Oracle()
