"""Oracle Database on a double of its driver: what is sent, values, types and commits, and what errors mean."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import closing
from datetime import date, datetime
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import pytest

from hdbkit.config import Isolation, Target, WorkloadSpec
from hdbkit.contracts import OPERATIONS, Operation, SessionOptions, Table
from hdbkit.databases import database
from hdbkit.databases._oracle_connect import CLASS_OF, parameters
from hdbkit.databases._oracle_session import OracleSession
from hdbkit.errors import (
    CannotConnect,
    ErrorClass,
    InputError,
    NoneFree,
    NothingListens,
    Rejected,
    RolledBackByDesign,
    TransactionError,
)
from hdbkit.sql import SERVER_STATEMENTS, statements
from hdbkit.workloads import workload
from hdbkit.workloads.tproc_c import client
from hdbkit.workloads.tproc_c.contract import CONTRACTS
from tests.oracle_double import Answer, Module, failure

TARGET = Target.parse("oracle://bench@db1/FREEPDB1")
WORK = workload(WorkloadSpec(warehouses=2))
ENGINE = database("oracle")
WHEN = datetime(2026, 3, 4, 5, 6, 7)
ARGUMENTS: dict[str, Any] = {
    "item_ids": (7, 3),
    "supply_w_ids": (1, 2),
    "quantities": (5, 6),
    "c_last": "BARBARBAR",
    "h_amount": Decimal("12.50"),
    "amount": Decimal("12.50"),
    "o_entry_d": WHEN,
    "note": "1 2 3 | ",
    "dist_info": "d" * 24,
    "spec": "{}",
    "part": "stock-1",
    "name": "open_cursors",
    "value": "500",
    "apply_by": "session",
    "table": "stock",
    "columns": ("s_w_id", "s_i_id"),
    "statement": "x",
}
"""A value for each parameter whose name does not say that it is a number."""


@pytest.fixture
def oracledb(monkeypatch: pytest.MonkeyPatch) -> Iterator[Module]:
    module = Module()
    monkeypatch.setitem(sys.modules, "oracledb", module)
    monkeypatch.setenv("HDBKIT_PASSWORD", "s3cret")
    yield module


@pytest.fixture
def session(oracledb: Module) -> Iterator[OracleSession]:
    with closing(connected()) as made:
        oracledb.forget()
        yield made


def connected(options: SessionOptions | None = None, target: Target = TARGET) -> OracleSession:
    made = ENGINE.connect(target, WORK.scope(ENGINE.dialects), options)
    assert isinstance(made, OracleSession)
    return made


# -- connecting ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("oracle://bench@db1:1522/PDB1", {"host": "db1", "port": 1522, "service_name": "PDB1"}),
        ("oracle://bench@db1/PDB1", {"host": "db1", "port": 1521, "service_name": "PDB1"}),
        ("oracle://bench@db1/?sid=ORCL", {"host": "db1", "port": 1521, "sid": "ORCL"}),
        ("oracle://bench@/SALES?config_dir=/etc/tns", {"dsn": "SALES", "config_dir": "/etc/tns"}),
        (
            "oracle://bench@db1/P?protocol=tcps&wallet=/w&server_dn_match=off&server=pooled&sdu=65535",
            {
                **{"host": "db1", "port": 1521, "service_name": "P", "protocol": "tcps", "wallet_location": "/w"},
                **{"ssl_server_dn_match": False, "server_type": "pooled", "sdu": 65535},
            },
        ),
    ],
)
def test_a_target_is_a_place_and_options_of_the_driver(url: str, expected: dict[str, Any], oracledb: Module) -> None:
    given = parameters(Target.parse(url), SessionOptions(application="hdbkit run"))
    always = {"user": "bench", "password": "s3cret", "tcp_connect_timeout": 10.0, "program": "hdbkit run"}
    assert given == {**always, **expected}


def test_the_password_of_a_wallet_is_in_its_own_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HDBKIT_WALLET_PASSWORD", "w")
    assert parameters(TARGET, SessionOptions())["wallet_password"] == "w"


def test_a_target_without_a_place_is_refused(oracledb: Module) -> None:
    with pytest.raises(InputError, match="names no place"):
        ENGINE.connect(Target.parse("oracle://bench@/"))


def test_thick_mode_loads_the_client_library_once(oracledb: Module) -> None:
    target = Target.parse("oracle://bench@db1/P?mode=thick&client_lib=/opt/ic&config_dir=/etc/tns")
    for _ in range(2):
        connected(target=target).close()
    assert oracledb.client == {"lib_dir": "/opt/ic", "config_dir": "/etc/tns"}
    assert ENGINE.driver_version() == "python-oracledb 26.1.0 (thick, client library 23.26.0.0.0)"


def test_thick_mode_after_thin_is_one_sentence(oracledb: Module) -> None:
    connected().close()
    with pytest.raises(CannotConnect, match="start a new one for mode=thick"):
        connected(target=Target.parse("oracle://bench@db1/P?mode=thick"))


@pytest.mark.parametrize(
    ("code", "kind", "advice"),
    [
        ("ORA-01017", Rejected, "check account and password"),
        ("ORA-28000", Rejected, "unlock it"),
        ("ORA-01045", Rejected, "GRANT CREATE SESSION"),
        ("DPY-6001", CannotConnect, "a service that the listener has"),
        ("ORA-12514", CannotConnect, "a service that the listener has"),
        ("ORA-12541", NothingListens, "that the listener runs"),
        ("DPY-4026", CannotConnect, "config_dir"),
        ("ORA-12519", NoneFree, "processes"),
        ("DPI-1047", CannotConnect, "Instant Client"),
        ("DPY-9999", CannotConnect, "check host and port"),
    ],
)
def test_a_refused_connection_is_one_sentence_with_advice(
    code: str, kind: type[CannotConnect], advice: str, oracledb: Module
) -> None:
    oracledb.refusal = failure(code, "no, s3cret is wrong")
    with pytest.raises(CannotConnect) as caught:
        connected()
    assert type(caught.value) is kind
    assert caught.value.reason == f"{code}: no, ... is wrong"
    assert advice in caught.value.advice


def test_an_unknown_name_of_a_host_is_a_refused_connection(oracledb: Module) -> None:
    oracledb.refusal = OSError(-2, "Name or service not known")
    with pytest.raises(CannotConnect, match="Name or service not known; check host and port"):
        connected()


def test_the_real_driver_at_a_closed_port_and_without_a_client_library(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("oracledb", reason="the driver is not installed")
    monkeypatch.setenv("HDBKIT_PASSWORD", "s3cret")
    with pytest.raises(NothingListens, match=r"DPY-6005.*Connection refused; check host and port"):
        ENGINE.connect(Target.parse("oracle://bench@127.0.0.1:1/P"))
    with pytest.raises(CannotConnect, match=r"DPY-4026.*config_dir"):
        ENGINE.connect(Target.parse("oracle://bench@/NAME?config_dir=/no/such/folder"))
    with pytest.raises(CannotConnect, match="check host and port"):
        ENGINE.connect(Target.parse("oracle://bench@no.such.host.invalid/P"))


def test_a_new_session_has_formats_isolation_workers_and_a_timeout(oracledb: Module) -> None:
    options = SessionOptions(isolation=Isolation.SERIALIZABLE, parallel_workers=4, statement_timeout_ms=1500)
    with closing(connected(options)) as made:
        assert oracledb.texts == [
            "ALTER SESSION SET NLS_DATE_FORMAT = 'YYYY-MM-DD HH24:MI:SS' NLS_NUMERIC_CHARACTERS = '.,'",
            "ALTER SESSION SET ISOLATION_LEVEL = SERIALIZABLE",
            "ALTER SESSION FORCE PARALLEL QUERY PARALLEL 4",
        ]
        assert made.connection.call_timeout == 1500
        oracledb.answers = lambda *_: Answer([])
        assert [(one.ends, one.seconds, one.setter) for one in ENGINE.timeouts(made)] == [
            ("statements", 1.5, "hdbkit")
        ]
    assert oracledb.connections[0].closed


# -- routines ------------------------------------------------------------------------------------------


def test_a_new_order_is_one_round_trip_that_commits_itself(session: OracleSession, oracledb: Module) -> None:
    sets = {
        **{"o_id_": 3001, "o_entry_d_": WHEN, "w_tax_": Decimal("0.1"), "d_tax_": Decimal("0.05")},
        **{"c_discount_": Decimal(0), "c_last_": "BAR", "c_credit_": "GC", "total_": Decimal("23.5")},
        **{"i_names_": ["a", "b"], "left_over_": [20, 91], "brands_": ["G", "B"]},
        **{"prices_": [Decimal(1), Decimal("2.5")], "amounts_": [Decimal(5), Decimal(15)]},
    }
    oracledb.answers = lambda *_: Answer(sets=sets)
    session.prepare(["call_new_order"])
    bound = session.bind("call_new_order", (1, 2, 3, (7, 3), (1, 2), (5, 6)))
    (row,) = session.rows(session.perform(bound))
    assert row[:8] == (3001, WHEN, *map(Decimal, ("0.1000", "0.0500", "0.0000")), "BAR", "GC", Decimal("23.50"))
    assert row[8:] == (("a", "b"), (20, 91), ("G", "B"), (1, Decimal("2.5")), (5, 15))
    assert str(row[7]) == "23.50"
    assert [str(one) for one in row[11]] == ["1.00", "2.50"]
    (sent,) = oracledb.log
    assert sent.autocommit
    assert sent.text.startswith("BEGIN\n    new_order_routine.perform(\n        :w_id_, :d_id_,")
    taken = {name: sent.values[f"{name}_"] for name in ("w_id", "d_id", "c_id", "item_ids", "supply_w_ids")}
    assert taken == {"w_id": 1, "d_id": 2, "c_id": 3, "item_ids": [7, 3], "supply_w_ids": [1, 2]}


def test_values_of_one_call_do_not_reach_the_next(session: OracleSession, oracledb: Module) -> None:
    session.prepare(["call_new_order"])
    first, second = (session.bind("call_new_order", (1, 2, 3, one, one, one)) for one in ((1, 2, 3), (9,)))
    session.perform(first)
    session.perform(second)
    assert [one.values["item_ids_"] for one in oracledb.log] == [[1, 2, 3], [9]]


def test_an_unknown_item_is_a_rollback_by_design(session: OracleSession, oracledb: Module) -> None:
    oracledb.answers = lambda text, _: failure("ORA-20001", "item number is not valid") if text else None
    session.prepare(["call_new_order"])
    with pytest.raises(RolledBackByDesign):
        session.perform(session.bind("call_new_order", (1, 2, 3, (7,), (1,), (5,))))
    assert oracledb.texts[-1] == "rollback"
    assert session.connection.autocommit


def test_a_null_that_a_block_sets_stays_null(session: OracleSession, oracledb: Module) -> None:
    oracledb.answers = lambda *_: Answer(sets={"delivered_": [None, WHEN], "o_carrier_id_": None})
    session.prepare(["call_order_status"])
    (row,) = session.perform(session.bind("call_order_status", (1, 2, None, "BAR")))
    assert (row[7], row[12]) == (None, (None, WHEN))


def test_a_package_with_errors_fails_with_the_first_of_them(session: OracleSession, oracledb: Module) -> None:
    warning = SimpleNamespace(full_code="DPY-7000")
    oracledb.answers = lambda text, _: (
        Answer([("NEW_ORDER_ROUTINE, line 3: PLS-00201",)]) if "user_errors" in text else Answer(warning=warning)
    )
    with pytest.raises(TransactionError, match="line 3: PLS-00201") as caught:
        session.query("create_routine_new_order")
    assert (caught.value.error_class, caught.value.code) == (ErrorClass.OTHER, "ORA-24344")


def test_a_routine_is_its_package_and_its_body(session: OracleSession, oracledb: Module) -> None:
    session.query("create_routine_delivery")
    starts = ("CREATE OR REPLACE PACKAGE delivery_routine", "CREATE OR REPLACE PACKAGE BODY delivery_routine")
    assert len(oracledb.texts) == len(starts)
    assert all(
        text.startswith(start) and text.endswith("END delivery_routine;")
        for text, start in zip(oracledb.texts, starts, strict=True)
    )


# -- statements and transactions -----------------------------------------------------------------------


def operations() -> list[Operation]:
    listed = [*OPERATIONS, *CONTRACTS["tproc_c"]]
    known = {**statements(ENGINE.dialects, SERVER_STATEMENTS), **WORK.scope(ENGINE.dialects).statements}
    return [one for one in listed if one.name in known and not one.name.startswith("explain")]


@pytest.mark.parametrize("operation", operations(), ids=lambda one: one.name)
def test_every_operation_is_sent_with_a_value_for_each_placeholder(
    operation: Operation, session: OracleSession, oracledb: Module
) -> None:
    """The double refuses missing and superfluous values, reserved words, words not filled, and wrong ends."""
    if operation.name == "insert_row":
        pytest.skip("the beginning of a statement")
    session.query(operation.name, **{name: ARGUMENTS.get(name, 1) for name in operation.parameters})
    assert oracledb.log
    assert all(one.autocommit for one in oracledb.log)


def test_statements_of_a_client_are_one_transaction(session: OracleSession, oracledb: Module) -> None:
    oracledb.answers = lambda text, _: Answer([(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11)] if "SELECT" in text else None)
    client.payment(session, (1, 2, 1, 2, 3, None, Decimal("12.50")))
    sent = [text.split()[0] for text in oracledb.texts]
    assert sent == ["BEGIN", "UPDATE", "UPDATE", "SELECT", "INSERT", "commit"]
    assert not any(one.autocommit for one in oracledb.log[:-1])
    assert oracledb.log[0].values["note_"] == "3 2 1 2 1 12.50 | "
    assert session.connection.autocommit


def test_lines_of_an_order_are_one_array(session: OracleSession, oracledb: Module) -> None:
    heading = (3001, WHEN, Decimal("0.1"), Decimal("0.1"), Decimal(0), "BAR", "GC")
    item = ("name", Decimal("2.50"), "data", "data", "d" * 24)
    oracledb.answers = lambda text, _: Answer(
        [item] if "i_name" in text else [heading] if "w_tax" in text else None,
        sets={"s_quantity_": 91} if "s_quantity_" in text else {},
    )
    (row,) = client.new_order(session, (1, 2, 3, (7, 3, 5), (1, 1, 1), (5, 6, 7)))
    assert row[12] == (Decimal("12.50"), Decimal("15.00"), Decimal("17.50"))
    (lines,) = [one for one in oracledb.log if one.what == "executemany"]
    assert sorted(one["i_id_"] for one in lines.values) == [3, 5, 7]
    assert lines.text.startswith("INSERT INTO order_line")
    assert not lines.autocommit
    assert oracledb.texts[-1] == "commit"


def test_an_error_in_a_transaction_rolls_it_back(session: OracleSession, oracledb: Module) -> None:
    oracledb.answers = lambda text, _: failure("ORA-00060") if "d_ytd" in text else Answer([(1,) * 11])
    with pytest.raises(TransactionError) as caught:
        client.payment(session, (1, 2, 1, 2, 3, None, Decimal(1)))
    assert caught.value.error_class is ErrorClass.DEADLOCK
    assert oracledb.texts[-1] == "rollback"
    assert session.connection.autocommit


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("ORA-00001", ErrorClass.CONSTRAINT),
        ("ORA-01400", ErrorClass.CONSTRAINT),
        ("ORA-00060", ErrorClass.DEADLOCK),
        ("ORA-08177", ErrorClass.SERIALIZATION),
        ("ORA-00054", ErrorClass.LOCK_TIMEOUT),
        ("ORA-30006", ErrorClass.LOCK_TIMEOUT),
        ("DPY-4024", ErrorClass.STATEMENT_TIMEOUT),
        ("ORA-01013", ErrorClass.STATEMENT_TIMEOUT),
        ("ORA-01653", ErrorClass.RESOURCES),
        ("ORA-01555", ErrorClass.RESOURCES),
        ("ORA-00942", ErrorClass.OTHER),
        ("ORA-01031", ErrorClass.OTHER),
        ("ORA-03113", ErrorClass.CONNECTION_LOST),
        ("ORA-03114", ErrorClass.CONNECTION_LOST),
        ("DPY-4011", ErrorClass.CONNECTION_LOST),
        ("ORA-00028", ErrorClass.CONNECTION_LOST),
    ],
)
def test_an_error_has_a_class_by_its_code(
    code: str, expected: ErrorClass, session: OracleSession, oracledb: Module
) -> None:
    oracledb.answers = lambda text, _: failure(code) if text else None
    session.begin()
    with pytest.raises(TransactionError) as caught:
        session.query("count_item")
    assert (caught.value.error_class, caught.value.code) == (expected, code)
    assert caught.value.text == f"{code}: something is wrong"
    lost = expected is ErrorClass.CONNECTION_LOST
    assert oracledb.connections[0].closed is lost
    assert (oracledb.texts[-1] == "rollback") is not lost


def test_an_error_of_the_network_is_a_lost_connection(session: OracleSession, oracledb: Module) -> None:
    oracledb.answers = lambda *_: ConnectionResetError(104, "reset")
    with pytest.raises(TransactionError) as caught:
        session.query("count_item")
    assert caught.value.error_class is ErrorClass.CONNECTION_LOST


def test_codes_are_those_of_the_server_the_driver_and_its_layer_over_the_library() -> None:
    assert len(CLASS_OF) > 60
    assert all(code[:4] in ("ORA-", "DPY-", "DPI-") and code[4:].isdigit() for code in CLASS_OF)


# -- loads ---------------------------------------------------------------------------------------------

TABLE = Table("t", ("id", "amount", "at", "day", "note"), types=("integer", "decimal", "timestamp", "date", "text"))
LINES = [b"1\t2.50\t2026-03-04 05:06:07\t2026-03-04\ta\n2\t\\N\t\\N\t\\N\tb\n", b"3\t0.10\t\\N\t\\N\tc\\td\n"]


def test_a_load_is_arrays_with_known_types(session: OracleSession, oracledb: Module) -> None:
    session.rows_per_call = 2
    session.begin()
    assert session.load(TABLE, LINES) == 3
    session.commit()
    first, second, end = oracledb.log
    assert " ".join(first.text.split()) == (
        "INSERT INTO t (id, amount, at, day, note) VALUES (:id_, :amount_, :at_, :day_, :note_)"
    )
    assert first.types == (int, Decimal, datetime, datetime, None)
    assert first.values == [[1, Decimal("2.50"), WHEN, date(2026, 3, 4), "a"], [2, None, None, None, "b"]]
    assert second.values == [[3, Decimal("0.10"), None, None, "c\td"]]
    assert (first.autocommit, end.what) == (False, "commit")


def test_direct_path_is_one_insert_for_each_table(oracledb: Module) -> None:
    with closing(connected(target=Target.parse("oracle://bench@db1/P?load=direct"))) as made:
        oracledb.forget()
        made.begin()
        made.load(TABLE, LINES * 20_000)
    (sent,) = oracledb.log
    assert sent.text.startswith("INSERT /*+ APPEND_VALUES */ INTO t (")
    assert len(sent.values) == 60_000


def test_a_failed_load_rolls_back(session: OracleSession, oracledb: Module) -> None:
    oracledb.answers = lambda text, _: failure("ORA-01653", "unable to extend table") if text else None
    session.begin()
    with pytest.raises(TransactionError) as caught:
        session.load(TABLE, LINES)
    assert caught.value.error_class is ErrorClass.RESOURCES
    assert "rollback" in oracledb.texts


# -- reading -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("precision", "scale", "given", "expected"),
    [
        (12, 2, Decimal(5), "5.00"),
        (4, 4, Decimal("0.1"), "0.1000"),
        (0, -127, Decimal(7), "7"),
        (0, -127, Decimal("7.5"), "7.5"),
    ],
)
def test_a_number_has_all_places_of_its_column(
    precision: int, scale: int, given: Decimal, expected: str, session: OracleSession, oracledb: Module
) -> None:
    column = SimpleNamespace(type_code=oracledb.DB_TYPE_NUMBER, precision=precision, scale=scale)
    made = session.connection.outputtypehandler(session.connection.cursor(), column)
    assert str(made.outconverter(given)) == expected


def test_whole_numbers_and_other_types_are_read_as_they_are(session: OracleSession, oracledb: Module) -> None:
    handler, cursor = session.connection.outputtypehandler, session.connection.cursor()
    assert handler(cursor, SimpleNamespace(type_code=oracledb.DB_TYPE_NUMBER, precision=10, scale=0)).type is int
    assert handler(cursor, SimpleNamespace(type_code=oracledb.DB_TYPE_DATE, precision=0, scale=0)) is None
    assert oracledb.defaults.fetch_lobs is False


def test_small_results_come_with_the_answer(session: OracleSession) -> None:
    assert session._cursor().prefetchrows > session._cursor().arraysize


# -- the server ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("code", ["ORA-00942", "ORA-01031"])
def test_a_question_without_its_privilege_has_no_answer(code: str, session: OracleSession, oracledb: Module) -> None:
    oracledb.answers = lambda text, _: failure(code) if text else None
    assert ENGINE.counters(session) == {}
    assert ENGINE.footprint(session) is None
    assert ENGINE.free_connections(session) is None


def test_another_error_of_a_question_is_an_error(session: OracleSession, oracledb: Module) -> None:
    oracledb.answers = lambda text, _: failure("ORA-04031") if text else None
    with pytest.raises(TransactionError):
        ENGINE.counters(session)


def test_counters_are_of_all_instances_and_of_no_view_of_the_diagnostics_pack(
    session: OracleSession, oracledb: Module
) -> None:
    oracledb.answers = lambda *_: Answer([("commits", 12), ("rollbacks", 1), ("instances", 2)])
    assert ENGINE.counters(session) == {"commits": 12.0, "rollbacks": 1.0, "instances": 2.0}
    assert "gv$sysstat" in oracledb.texts[0]
    texts = " ".join(one.text for one in statements(ENGINE.dialects, SERVER_STATEMENTS).values()).lower()
    assert not [word for word in ("dba_hist", "dbms_workload", "v$active_session") if word in texts]


def test_the_version_names_the_pluggable_database(session: OracleSession, oracledb: Module) -> None:
    oracledb.answers = lambda text, _: Answer([("FREEPDB1",)] if "CON_NAME" in text else [("23.9.0.25.07",)])
    assert ENGINE.version(session) == "Oracle Database 23.9.0.25.07 (PDB FREEPDB1)"


def test_a_schema_is_reserved_by_a_lock_of_the_server(session: OracleSession, oracledb: Module) -> None:
    oracledb.answers = lambda *_: Answer(sets={"claimed_": 1})
    assert session.query("claim_schema") == [(1,)]


@pytest.mark.parametrize(("pluggable", "switched"), [(None, True), ("FREEPDB1", False)])
def test_a_checkpoint_and_a_new_log_file_end_a_build_on_request(
    pluggable: str | None, switched: bool, oracledb: Module
) -> None:
    oracledb.answers = lambda text, _: Answer([(pluggable,)] if "CON_ID" in text else None)
    work = workload(WorkloadSpec(warehouses=1, storage={"checkpoint": True}))
    with closing(ENGINE.schema(TARGET, work)) as schema:
        oracledb.forget()
        schema.finish()
    assert ("ALTER SYSTEM CHECKPOINT GLOBAL" in oracledb.texts, "ALTER SYSTEM SWITCH LOGFILE" in oracledb.texts) == (
        True,
        switched,
    )


def test_a_build_that_may_not_do_its_checkpoint_does_not_begin(oracledb: Module) -> None:
    oracledb.answers = lambda *_: Answer([("GRANT ALTER SYSTEM TO BENCH",)])
    work = workload(WorkloadSpec(warehouses=1, storage={"checkpoint": True}))
    with (
        closing(ENGINE.schema(TARGET, work)) as schema,
        pytest.raises(InputError, match="GRANT ALTER SYSTEM TO BENCH"),
    ):
        schema.create("{}")


STORED: dict[str, object] = {
    "partitions": 8,
    "tablespace": "fast",
    "index_tablespace": "fast_ix",
    "hash_clusters": True,
}


def built(oracledb: Module, **storage: object) -> list[str]:
    """What the creation of the tables and then of the indexes sends."""
    work = workload(WorkloadSpec(warehouses=20, storage=storage))
    oracledb.answers = lambda text, _: Answer([] if text.startswith("SELECT") else None)
    with closing(ENGINE.schema(TARGET, work)) as schema:
        oracledb.forget()
        schema.create("{}")
        for step in schema.after_load():
            schema.do(step)
    return oracledb.texts


def test_tables_and_indexes_are_in_their_tablespaces(oracledb: Module) -> None:
    texts = built(oracledb, tablespace="fast", index_tablespace="fast_ix")
    tables = [text for text in texts if text.startswith("CREATE TABLE") and "build_" not in text]
    indexes = [text for text in texts if text.startswith(("CREATE INDEX", "ALTER TABLE"))]
    assert (len(tables), len(indexes)) == (9, 10)
    assert all(text.endswith("TABLESPACE fast") for text in tables)
    assert all(text.endswith("TABLESPACE fast_ix") for text in indexes)


def test_partitions_are_by_warehouse_and_their_indexes_too(oracledb: Module) -> None:
    texts = built(oracledb, partitions=8)
    parted = [text.split()[2] for text in texts if text.endswith("PARTITIONS 8")]
    assert sorted(parted) == ["history", "order_line", "orders"]
    assert len([text for text in texts if text.endswith("LOCAL")]) == 3


def test_hash_clusters_are_sized_for_the_scale(oracledb: Module) -> None:
    texts = built(oracledb, **STORED)
    clusters = {text.split()[2]: text for text in texts if text.startswith("CREATE CLUSTER")}
    keys = {name: int(text.partition("HASHKEYS ")[2].split()[0]) for name, text in clusters.items()}
    assert keys == {
        **{"item_cluster": 100_000, "warehouse_cluster": 20, "district_cluster": 200},
        **{"customer_cluster": 600_000, "stock_cluster": 2_000_000},
    }
    assert all("TABLESPACE fast " in text for text in clusters.values())
    assert len([text for text in texts if text.startswith("CREATE TABLE") and " CLUSTER " in text]) == 5


def test_clusters_of_a_killed_build_are_dropped_and_no_others(oracledb: Module) -> None:
    found = [("stock_cluster",), ("emp_dept_cluster",)]
    oracledb.answers = lambda text, _: Answer(found if "user_clusters" in text else [])
    with closing(ENGINE.schema(TARGET, workload(WorkloadSpec(warehouses=1)))) as schema:
        assert schema.drop() == ["cluster stock_cluster"]
        schema.create("{}")
    assert [text for text in oracledb.texts if "DROP" in text] == ["DROP CLUSTER stock_cluster"] * 2


def test_a_missing_account_is_created_with_what_a_build_needs(oracledb: Module) -> None:
    oracledb.answers = lambda text, _: Answer(
        [(0,)] if "all_users" in text else [("CREATE x",)] if "CREATE USER" in text else None
    )
    assert ENGINE.provision(Target.parse("oracle://system@db1/P"), TARGET) == ["account bench"]
    assert oracledb.texts[-1] == "CREATE x"


def test_the_proxy_needs_a_host_and_no_verified_name() -> None:
    assert ENGINE.behind_proxy(TARGET, 7).url == "oracle://bench@127.0.0.1:7/FREEPDB1"
    for url in ("oracle://bench@/SALES", "oracle://bench@db1/P?protocol=tcps"):
        with pytest.raises(InputError, match="proxy"):
            ENGINE.behind_proxy(Target.parse(url), 7)
