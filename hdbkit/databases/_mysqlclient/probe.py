"""What a server that speaks MySQL's protocol is and can do; see :mod:`hdbkit.databases._base.probing`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from hdbkit.contracts import Capability
from hdbkit.databases._base.probing import Probe, Product
from hdbkit.errors import ErrorClass
from hdbkit.readings import answered

if TYPE_CHECKING:
    from hdbkit.databases._mysqlclient.session import MysqlclientSession

_OCEANBASE: Final = {
    "4012": ErrorClass.STATEMENT_TIMEOUT,
    "6002": ErrorClass.SERIALIZATION,
    "6235": ErrorClass.SERIALIZATION,
    "4013": ErrorClass.RESOURCES,
    "4184": ErrorClass.RESOURCES,
}
"""OceanBase's list of error codes: timeout, rolled back, conflict of transactions, no memory, no disk space."""
_TIDB: Final = {
    **dict.fromkeys(("8002", "8022", "8028", "9007"), ErrorClass.SERIALIZATION),
    **dict.fromkeys(("9001", "9002", "9003", "9005", "8175"), ErrorClass.RESOURCES),
}
"""TiDB's list of error codes: conflicts of optimistic transactions and of schema changes; a store that is busy."""
PRODUCTS: Final = (
    Product(
        "OceanBase seekdb",
        r"OceanBase[ _]seekdb-v(\d+(?:\.\d+){2})",
        dialect="mysql_oceanbase",
        errors=_OCEANBASE,
        tried="1.4.0",
    ),
    Product("OceanBase", r"OceanBase(?:_CE)?[- _]v?([\d.]+)", dialect="mysql_oceanbase", errors=_OCEANBASE),
    Product(
        "TiDB", r"-TiDB-v([\d.]+)", errors=_TIDB, lacks=frozenset({Capability.STORED_ROUTINES, Capability.SETTINGS})
    ),
    Product("SingleStore", r"(?:SingleStore|MemSQL)\w*(?:.*memsql_version=([\d.]+))?"),
    Product("Vitess", r"-Vitess\b"),
    Product("Dolt", r"\bDolt\b(?:.*dolt_version=([\d.]+))?", tried="go-mysql-server 0.20.0, its engine"),
    Product("mysql-mimic", r"mysql-mimic ?([\d.]+)?"),
    Product("Aurora MySQL", r"aurora_version=([\d.]+)", is_foreign=False),
    Product("HeatWave", r"\bHeatWave\b|-cloud\b", is_foreign=False),
    Product("Percona XtraDB Cluster", r"Percona XtraDB Cluster", is_foreign=False),
    Product("Percona Server", r"Percona Server", is_foreign=False),
    Product("Galera", r"wsrep_on=ON", is_foreign=False),
)
"""By what they state in their version, its comment and their variables; the first that applies counts."""
NEEDED: Final = ("list_tables", "list_indexes")
QUESTIONS: Final = (
    *("backend", "read_only", "read_only_by", "clock", "encryption", "free_connections", "footprint", "timeouts"),
    *("lift_own_limits", "disturbing_settings", "redo_log", "write_cycle", "process_file", "uptime", "status"),
    *("read_settings", "control_settings", "running_settings", "session_waits", "session_waits_plain"),
    *("work_of_server", "list_unanalyzed"),
    *("set_isolation", "set_lock_timeout", "set_statement_timeout", "advised_privileges"),
)
"""The others that are asked for, without which the server is less than the engine."""


class MysqlclientProbe(Probe):
    """The questions in MySQL's words; rows that LOAD DATA cannot load are loaded by INSERT."""

    products, needed, questions = PRODUCTS, NEEDED, QUESTIONS
    denied = frozenset({"1044", "1045", "1142", "1143", "1227", "1370"})
    inserts = True

    def set_off(self, session: MysqlclientSession) -> frozenset[Capability]:
        """Conflicts of snapshots, which MariaDB reports by default from version 11.6 on."""
        is_on = answered(lambda: any(on for (on,) in self._engine.asked(session, "snapshot_isolation")), False)
        return frozenset() if is_on else frozenset({Capability.SNAPSHOT_CONFLICTS})
