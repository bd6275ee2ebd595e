"""What a server that speaks MySQL's protocol is and can do; see :mod:`hdbkit.databases._base.probing`."""

from __future__ import annotations

import time
from contextlib import closing
from typing import TYPE_CHECKING, Final

from hdbkit.config import Target
from hdbkit.contracts import SERVER, Capability, Table
from hdbkit.databases._base.probing import (
    NOT_OWN,
    ONE_SESSION,
    Answers,
    Product,
    lacking,
    probe_name,
    recognized,
    require_answers,
    unanswered,
)
from hdbkit.errors import ErrorClass, Rejected, TransactionError
from hdbkit.readings import answered

if TYPE_CHECKING:
    from hdbkit.databases._mysqlclient.database import MysqlclientDatabase
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
    *NEEDED,
    *("backend", "read_only", "read_only_by", "clock", "encryption", "free_connections", "footprint", "timeouts"),
    *("lift_own_timeouts", "disturbing_settings", "redo_log", "write_cycle", "process_file", "uptime", "status"),
    *(
        "read_settings",
        "control_settings",
        "running_settings",
        "session_waits_plain",
        "work_of_server",
        "list_unanalyzed",
    ),
    *("set_isolation", "set_lock_timeout", "set_statement_timeout", "advised_privileges"),
)
"""The statements that are asked for, without which the server is less than the engine."""
_DENIED: Final = frozenset({"1044", "1045", "1142", "1143", "1227", "1370"})
_ENDED_S: Final = 1.0


def probe(engine: MysqlclientDatabase, target: Target) -> Answers:
    """Ask the server. Raises the errors of ``connect``, and ``Rejected`` for one that cannot be measured."""
    with closing(engine.connect(target)) as session:
        product, title = recognized(PRODUCTS, _stated(session))
        own = (product.dialect,) if product and product.dialect else ()
        session.dialects = (*engine.dialects, *own)
        missing = unanswered(QUESTIONS, session.parse, _DENIED)
        require_answers(target, engine.title, title, NEEDED, missing)
        if not missing and not (product and product.is_foreign):
            return Answers(title, asked=QUESTIONS)
        lacks = lacking(missing, answered(lambda: engine.counters(session), {}))
        lacks |= product.lacks if product else frozenset()
        if Capability.STORED_ROUTINES not in lacks and not _has_routines(session, target):
            lacks |= {Capability.STORED_ROUTINES}
        return Answers(
            title,
            bool(product and product.is_foreign),
            QUESTIONS,
            missing,
            dialects=own,
            lacks=lacks,
            errors=product.errors if product else {},
            claims=_claims(engine, target, session),
            bulk_loads=_reports_duplicates(engine, target),
        )


def _stated(session: MysqlclientSession) -> str:
    """What the server states about itself: version, comment, and variables that only some products have."""
    comment = answered(lambda: str(session.ask("product_version")[0][0]), session.version)
    variables = answered(lambda: session.ask("product_variables"), [])
    return " ".join((comment, *(f"{name}={value}" for name, value in variables)))


def _has_routines(session: MysqlclientSession, target: Target) -> bool:
    """Whether a routine can be created, called and dropped; an account that may not is no answer."""
    if not target.database:
        return True
    name = probe_name()
    try:
        session.query("probe_create_routine", name=name)
    except TransactionError as error:
        return error.code in _DENIED
    try:
        return answered(lambda: bool(session.query("probe_call_routine", name=name)), False)
    finally:
        answered(lambda: session.query("probe_drop_routine", name=name), [])


def _claims(engine: MysqlclientDatabase, target: Target, session: MysqlclientSession) -> bool:
    """Whether a lock of another session is seen, and free when that session has ended."""
    name = probe_name()

    def taken(by: MysqlclientSession) -> bool:
        return answered(lambda: bool(by.ask("probe_lock", name=name)[0][0] == 1), False)

    with closing(engine.connect(target)) as other:
        if other.connection.thread_id() == session.connection.thread_id():
            raise Rejected(target.url, NOT_OWN, ONE_SESSION)
        if not taken(other) or taken(session):
            return False
    end = time.monotonic() + _ENDED_S
    while not (free := taken(session)) and time.monotonic() < end:
        time.sleep(0.05)
    return free


def _reports_duplicates(engine: MysqlclientDatabase, target: Target) -> bool:
    """Whether a load of two rows with one key fails, as an INSERT of them does; True if it cannot be tried."""
    table = Table(probe_name(), ("id",))
    with closing(engine.loading_session(engine.connect(target), target, SERVER)) as session:
        if not session.local_infile or not target.database:
            return True
        try:
            session.query("probe_create_table", name=table.name)
        except TransactionError as error:
            return error.code in _DENIED
        session.begin()
        try:
            session.load(table, [b"1\n1\n"])
            session.rollback()
        except TransactionError as error:
            return error.error_class is ErrorClass.CONSTRAINT
        finally:
            answered(lambda: session.query("drop_table", table=table.name), [])
        return False
