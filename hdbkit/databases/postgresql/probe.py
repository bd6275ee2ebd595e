"""What a server that speaks PostgreSQL's protocol is and can do; see :mod:`hdbkit.databases._base.probing`."""

from __future__ import annotations

import time
from contextlib import closing
from typing import TYPE_CHECKING, Final

from hdbkit.config import Target
from hdbkit.contracts import Capability, Table
from hdbkit.databases._base.probing import (
    NO_ENGINE,
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
from hdbkit.databases.postgresql.pooled import answers, is_pooled
from hdbkit.errors import CannotConnect, ErrorClass, Rejected, TransactionError
from hdbkit.readings import answered

if TYPE_CHECKING:
    from hdbkit.databases.postgresql import PostgreSQL
    from hdbkit.databases.postgresql.session import PsycopgSession

PRODUCTS: Final = (
    Product("QuestDB", r"QuestDB ?([\d.]+)?", hindrance="it has no transactions", tried="9.3.4"),
    Product("H2", r"using H2 ([\d.]+)", tried="2.5.252: refused, it cannot answer"),
    Product("CrateDB", r"CrateDB ([\d.]+)", hindrance="it has no transactions"),
    Product("Redshift", r"Redshift ([\d.]+)"),
    Product("CockroachDB", r"CockroachDB \w* ?v([\d.]+)"),
    Product("Greenplum", r"Greenplum Database ([\d.]+)"),
    Product("YugabyteDB", r"-YB-([\d.]+)"),
    Product("PGlite", r"PGlite ?([\d.]+)?|emcc|emscripten", tried="0.5.14: refused, its connections are one session"),
    Product("EDB Postgres Advanced Server", r"EnterpriseDB Advanced Server ([\d.]+)?", is_foreign=False),
    Product("Citus", r"citus=([\d.]+)", is_foreign=False),
    Product("TimescaleDB", r"timescaledb=([\d.]+)", is_foreign=False, tried="2.19.3"),
    Product("AlloyDB", r"\balloydb\.", is_foreign=False),
    Product("Neon", r"\bneon[.=]", is_foreign=False),
    Product("Aurora PostgreSQL", r"\b(?:apg|aurora)\w*\.", is_foreign=False),
    Product("Supabase", r"\bsupautils\.", is_foreign=False),
)
"""By what they state in their version, extensions and settings; the first that applies counts."""
NEEDED: Final = ("backend", "schema_exists", "list_tables", "list_indexes", "server_version")
QUESTIONS: Final = (
    *NEEDED,
    *("claim_schema", "role", "read_only_by", "clock", "encryption", "free_connections", "footprint", "timeouts"),
    *("lift_own_timeouts", "disturbing_settings", "write_cycle", "counters", "counters_of_log", "counters_of_tables"),
    *("waiting_locks", "replication_lag", "read_settings", "control_settings", "running_settings", "session_waits"),
    *("advised_grants", "grants_for", "list_unanalyzed", "work_of_server"),
)
"""The statements that are asked for, without which the server is less than the engine."""
_DENIED: Final = frozenset({"42501"})
_ANSWER_S: Final = 2.0
_ENDED_S: Final = 1.0
_TABLE: Final = Table("hdbkit_probe", ("id",))


def probe(engine: PostgreSQL, target: Target) -> Answers:
    """Ask the server. Raises the errors of ``connect``, and ``Rejected`` for one that cannot be measured."""
    with closing(engine.connect(target)) as session:
        product, title = recognized(PRODUCTS, _stated(session))
        if product and product.hindrance:
            raise Rejected(target.url, f"the server is {title}, and {product.hindrance}", NO_ENGINE)
        is_direct = not is_pooled(session)
        if is_direct and _shares_session(engine, target, session):
            raise Rejected(target.url, NOT_OWN, ONE_SESSION)
        missing = unanswered(QUESTIONS, session.parse, _DENIED)
        require_answers(target, engine.title, title, NEEDED, missing)
        if not missing and not (product and product.is_foreign):
            return Answers(title, asked=QUESTIONS)
        lacks = lacking(missing, answered(lambda: engine.counters(session), {}))
        lacks |= product.lacks if product else frozenset()
        if not _has_routines(session):
            lacks |= {Capability.STORED_ROUTINES}
        return Answers(
            title,
            bool(product and product.is_foreign),
            QUESTIONS,
            missing,
            _obstacle(session),
            lacks=lacks,
            claims="claim_schema" not in missing and (not is_direct or _claims(engine, target, session)),
        )


def _stated(session: PsycopgSession) -> str:
    """What the server states about itself: version, extensions, and settings that only some products have."""
    version = answered(lambda: [str(session.ask("product_version")[0][0])], [])
    extensions = answered(lambda: [f"{name}={number}" for name, number in session.ask("product_extensions")], [])
    settings = answered(lambda: [str(name) for (name,) in session.ask("product_settings")], [])
    return " ".join((*version, *extensions, *settings))


def _shares_session(engine: PostgreSQL, target: Target, session: PsycopgSession) -> bool:
    """Whether a second connection has no session of its own, or none that answers during a transaction."""
    try:
        other = engine.connect(target)
    except CannotConnect:  # the account has no second connection
        return False
    with closing(other):
        if other.connection.backend_pid == session.connection.backend_pid:
            return True
        session.begin()
        try:
            answered(lambda: session.ask("backend"), [])
            return not answers(other, other.connection.send_query_params, b"SELECT 1", _ANSWER_S)
        finally:
            session.rollback()


def _has_routines(session: PsycopgSession) -> bool:
    """Whether a routine can be created and called; it ends with the transaction."""
    name = probe_name()
    session.begin()
    try:
        session.query("probe_create_routine", name=name)
        return session.query("probe_call_routine", name=name) == [(1,)]
    except TransactionError as error:
        return error.code in _DENIED
    finally:
        session.rollback()


def _claims(engine: PostgreSQL, target: Target, session: PsycopgSession) -> bool:
    """Whether another transaction sees the lock of one, and gets it when that has ended."""

    def taken(by: PsycopgSession) -> bool:
        return answered(lambda: bool(by.query("claim_schema")[0][0]), False)

    with closing(engine.connect(target)) as other:
        other.begin()
        session.begin()
        try:
            if not taken(other) or taken(session):
                return False
            other.close()
            end = time.monotonic() + _ENDED_S
            while not (free := taken(session)) and time.monotonic() < end:
                time.sleep(0.05)
            return free
        finally:
            session.rollback()


def _obstacle(session: PsycopgSession) -> str:
    """Why rows cannot be loaded: COPY does not work, or accepts a key that is there twice; empty if neither."""
    session.begin()
    try:
        session.query("probe_create_table")
        session.load(_TABLE, [b"1\n1\n"])
    except TransactionError as error:
        is_right = error.error_class is ErrorClass.CONSTRAINT
        return "" if is_right else f"rows cannot be loaded: {error.text}"
    finally:
        session.rollback()
    return "its COPY accepts a key that is there twice"
