"""Sessions of Oracle Database: what is sent, values, types and commits, and what errors mean."""

from __future__ import annotations

from contextlib import closing
from decimal import Decimal
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import pytest

from hdbkit.config.specs.tproc_h import QUERIES
from hdbkit.contracts import OPERATIONS, Operation, SessionOptions
from hdbkit.databases._oracledb.connect import _REFUSED, CLASS_OF
from hdbkit.databases._oracledb.session import OracleSession
from hdbkit.errors import ErrorClass, RolledBackByDesign, TransactionError
from hdbkit.execution.query_plans import Explainer
from hdbkit.sql import SERVER_STATEMENTS, statements
from hdbkit.workloads.tproc_c import client
from hdbkit.workloads.tproc_c.contract import CONTRACTS
from tests.analytic import ANALYTIC, WORDS, queries
from tests.engines.oracle.double import Answer, Module, failure
from tests.engines.oracle.sessions import ARGUMENTS, ENGINE, TARGET, WHEN, WORK

# -- routines -----------------------------------------------------------------------------------------


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


# -- statements and transactions ----------------------------------------------------------------------


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
    session.is_own = False  # of a load, whose errors stay as the server words them
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


def test_codes_of_the_driver_are_its_own_and_what_it_takes_for_a_lost_connection_is_one() -> None:
    """By the tables of the driver itself."""
    errors = pytest.importorskip("oracledb.errors", reason="the driver is not installed")
    known = {value for name, value in vars(errors).items() if name.startswith("ERR_") and isinstance(value, int)}
    own = [code for code in (*CLASS_OF, *_REFUSED) if code.startswith("DPY")]
    assert len(own) > 10
    assert not [code for code in own if int(code[4:]) not in known]
    taken = errors.ERR_ORACLE_ERROR_XREF.items()
    closed = [f"ORA-{number:05d}" for number, by in taken if by == errors.ERR_CONNECTION_CLOSED]
    assert len(closed) > 20
    assert {CLASS_OF[code] for code in closed} == {ErrorClass.CONNECTION_LOST}


@pytest.mark.parametrize("operation", queries(ENGINE.dialects), ids=lambda one: one[0])
def test_every_operation_of_the_analytic_workload_is_sent_with_its_values(
    operation: tuple[str, dict[str, Any]], oracledb: Module
) -> None:
    name, given = operation
    with closing(ENGINE.connect(TARGET, ANALYTIC.scope(ENGINE.dialects))) as session:
        oracledb.forget()
        session.query(name, **given)
    assert {*oracledb.log[0].values} == {f"{one}_" for one in given if one not in WORDS}


def test_every_query_has_a_plan_as_text_and_for_programs(oracledb: Module) -> None:
    """Each is explained with the values of its own places, and read in the session that explained it."""

    def answers(text: str, _: Any) -> Answer | None:
        if "JSON_ARRAYAGG" in text:
            return Answer([('[{"id": 0, "operation": "SELECT STATEMENT"}]',)])
        return Answer([("| Id |",), ("|  0 |",)]) if "DBMS_XPLAN.DISPLAY" in text else None

    oracledb.answers = answers
    given = {name: values for name, values in queries(ENGINE.dialects) if name in QUERIES}
    assert {*given} == {*QUERIES}
    with closing(Explainer(ENGINE, TARGET, ANALYTIC.scope(ENGINE.dialects), SessionOptions(), given)) as explainer:
        plans = explainer.plans()
    assert len(oracledb.connections) == 1
    for name, plan in plans.items():
        assert plan.text == "| Id |\n|  0 |", name
        assert plan.content == [{"id": 0, "operation": "SELECT STATEMENT"}], name
    sent = [one for one in oracledb.log if one.text.startswith("EXPLAIN PLAN FOR")]
    expected = [{f"{word}_" for word in values} for values in given.values() for _ in range(2)]
    assert [{*one.values} for one in sent] == expected
    following = [after.text for one, after in pairwise(oracledb.log) if one in sent]
    assert all(text.startswith("SELECT ") and "plan_table" in text for text in following)
    assert len(following) == len(sent) == 2 * len(QUERIES)


def test_codes_are_those_of_the_server_the_driver_and_its_layer_over_the_library() -> None:
    assert len(CLASS_OF) > 60
    assert all(code[:4] in ("ORA-", "DPY-", "DPI-") and code[4:].isdigit() for code in CLASS_OF)


# -- reading ------------------------------------------------------------------------------------------


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
