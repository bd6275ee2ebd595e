"""Sessions of Db2: what is sent, values, types and commits, and what errors mean."""

from __future__ import annotations

import re
from contextlib import closing
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from hdbkit.config import Target
from hdbkit.contracts import OPERATIONS, Operation, SessionOptions, Table
from hdbkit.databases import database
from hdbkit.databases.db2 import Db2Session
from hdbkit.databases.db2.cli import error_of
from hdbkit.databases.db2.connect import _REFUSED, _STATES, _UNREACHED, _WAITED, NO_PRIVILEGE
from hdbkit.errors import ErrorClass, RolledBackByDesign, TransactionError
from hdbkit.execution.query_plans import Explainer
from hdbkit.sql import SERVER_STATEMENTS, statements
from hdbkit.workloads.tproc_c import client
from hdbkit.workloads.tproc_c.contract import CONTRACTS
from tests.analytic import ANALYTIC, queries
from tests.engines.db2.double import Module, failure, result
from tests.engines.db2.sessions import ENGINE, TARGET, WHEN, WORK, connected

ARGUMENTS: dict[str, Any] = {
    **{"item_ids": (7, 3), "supply_w_ids": (1, 2), "quantities": (5, 6), "c_last": "BARBARBAR"},
    **{"h_amount": Decimal("12.50"), "amount": Decimal("12.50"), "o_entry_d": WHEN, "note": "1 2 3 | "},
    **{"dist_info": "d" * 24, "spec": "{}", "part": "stock-1", "name": "locklist", "value": "500"},
    **{"apply_by": "reload", "table": "stock", "columns": ("s_w_id", "s_i_id"), "database_name": "BENCH"},
}
"""A value for each parameter whose name does not say that it is a number."""
HEADING = "O_ID O_ENTRY_D W_TAX D_TAX C_DISCOUNT C_LAST C_CREDIT TOTAL"
LINES = "LINE I_NAME S_QUANTITY BRAND I_PRICE OL_AMOUNT"


def test_a_new_order_is_a_call_with_two_results_and_a_commit(session: Db2Session, ibm_db: Module) -> None:
    heading = (3001, WHEN, Decimal("0.1000"), Decimal("0.0500"), Decimal("0.0000"), "BAR", "GC", Decimal("23.50"))
    lines = [
        (1, "a", 20, "G", Decimal("1.00"), Decimal("5.00")),
        (2, "b", 91, "B", Decimal("2.50"), Decimal("15.00")),
    ]
    ibm_db.answers = lambda text, _: [result(HEADING, heading), result(LINES, *lines)] if text else None
    session.prepare(["call_new_order"])
    for _ in range(2):
        (row,) = session.rows(session.perform(session.bind("call_new_order", (1, 2, 3, (7, 3), (1, 2), (5, 6)))))
        assert row[:8] == heading
        assert row[8:] == (("a", "b"), (20, 91), ("G", "B"), (1, Decimal("2.5")), (5, 15))
        assert [str(one) for one in row[11]] == ["1.00", "2.50"]
    assert ibm_db.texts == ["CALL new_order(?, ?, ?, ?, ?, ?)", "commit"] * 2
    assert ibm_db.log[0].values == (1, 2, 3, "         7         3", "         1         2", "         5         6")


def test_an_order_without_an_answer_is_a_rollback_by_design(session: Db2Session, ibm_db: Module) -> None:
    session.prepare(["call_new_order"])
    with pytest.raises(RolledBackByDesign):
        session.perform(session.bind("call_new_order", (1, 2, 3, (7,), (1,), (5,))))
    assert ibm_db.texts[-1] == "rollback"


def test_a_delivery_of_nothing_has_empty_arrays(session: Db2Session, ibm_db: Module) -> None:
    ibm_db.answers = lambda text, _: [result("LINE D_ID O_ID")] if text else None
    session.prepare(["call_delivery"])
    assert session.rows(session.perform(session.bind("call_delivery", (1, 7)))) == [((), ())]


def test_a_routine_is_sent_whole(session: Db2Session, ibm_db: Module) -> None:
    session.query("create_routine_delivery")
    first, end = ibm_db.texts
    assert first.startswith("CREATE OR REPLACE PROCEDURE delivery (")
    assert first.endswith("OPEN answer; END")
    assert end == "commit"


def operations() -> list[Operation]:
    listed = [*OPERATIONS, *CONTRACTS["tproc_c"]]
    known = {**statements(ENGINE.dialects, SERVER_STATEMENTS), **WORK.scope(ENGINE.dialects).statements}
    return [one for one in listed if one.name in known]


@pytest.mark.parametrize("operation", operations(), ids=lambda one: one.name)
def test_every_operation_is_sent_with_a_value_for_each_marker(
    operation: Operation, session: Db2Session, ibm_db: Module
) -> None:
    """The double refuses missing and superfluous values, words not filled, and wrong ends."""
    if operation.name.startswith(("insert_row", "explain")) or operation.name.endswith("_partitioned"):
        pytest.skip("a part of a statement, or one with words of the schema's options")
    session.query(operation.name, **{name: ARGUMENTS.get(name, 1) for name in operation.parameters})
    assert ibm_db.texts[-1] == "commit"


def test_statements_of_a_client_return_what_they_changed(session: Db2Session, ibm_db: Module) -> None:
    ibm_db.answers = lambda text, _: (
        [result("A B C D E F G H I J K", (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11))] if text.startswith("SELECT") else None
    )
    client.payment(session, (1, 2, 1, 2, 3, None, Decimal("12.50")))
    assert [text.split()[0] for text in ibm_db.texts] == ["SELECT", "UPDATE", "UPDATE", "SELECT", "INSERT", "commit"]
    assert "FROM FINAL TABLE ( UPDATE customer" in ibm_db.texts[0]


def test_a_statement_is_prepared_once_with_its_timeout(session: Db2Session, ibm_db: Module) -> None:
    session.connection.statement_timeout_s = 3
    session.prepare(["client_select_quantity"])
    cursor = session._prepared["client_select_quantity"][1]
    for item in (1, 2):
        session.perform(session.bind("client_select_quantity", (1, item)))
    (known,) = cursor._known.values()
    assert known.handle.options == {ibm_db.SQL_ATTR_QUERY_TIMEOUT: 3}
    assert [one.values for one in ibm_db.log if one.text] == [(1, 1), (1, 2)]


TABLE = Table("t", ("id", "amount", "at", "day", "note"), types=("integer", "decimal", "timestamp", "date", "text"))
ROWS = [b"1\t2.50\t2026-03-04 05:06:07\t2026-03-04\ta\n2\t\\N\t\\N\t\\N\tb\n", b"3\t0.10\t\\N\t\\N\tc\\td\n"]


def test_a_load_is_arrays_of_rows(session: Db2Session, ibm_db: Module) -> None:
    session.rows_per_call = 2
    session.begin()
    assert session.load(TABLE, ROWS) == 3
    session.commit()
    first, second, end = ibm_db.log
    assert first.text == "INSERT INTO t (id, amount, at, day, note) VALUES (?, ?, ?, ?, ?)"
    assert (first.what, end.what) == ("execute_many", "commit")
    assert first.values == ((1, Decimal("2.50"), WHEN, date(2026, 3, 4), "a"), (2, None, None, None, "b"))
    assert second.values == ((3, Decimal("0.10"), None, None, "c\td"),)


@pytest.mark.parametrize(
    ("state", "code", "text", "expected", "shown"),
    [
        ("23505", -803, "SQL0803N", ErrorClass.CONSTRAINT, "23505"),
        ("23502", -407, "SQL0407N", ErrorClass.CONSTRAINT, "23502"),
        ("22001", -433, "SQL0433N", ErrorClass.CONSTRAINT, "22001"),
        ("40001", -911, 'SQL0911N  ... Reason code "2".', ErrorClass.DEADLOCK, "40001 (2)"),
        ("40001", -911, 'SQL0911N  ... Reason code "68".', ErrorClass.LOCK_TIMEOUT, "40001 (68)"),
        ("57033", -913, 'SQL0913N  ... Reason code "68".', ErrorClass.LOCK_TIMEOUT, "57033 (68)"),
        ("57014", -952, "SQL0952N", ErrorClass.STATEMENT_TIMEOUT, "57014"),
        ("57011", -964, "SQL0964C", ErrorClass.RESOURCES, "57011"),
        ("08001", -30081, "SQL30081N", ErrorClass.CONNECTION_LOST, "08001"),
        ("55032", -1224, "SQL1224N", ErrorClass.CONNECTION_LOST, "55032"),
        ("40003", -99999, "CLI0108E", ErrorClass.CONNECTION_LOST, "40003"),
        ("42501", -551, "SQL0551N", ErrorClass.OTHER, "42501"),
        ("42704", -204, "SQL0204N", ErrorClass.OTHER, "42704"),
    ],
)
def test_an_error_has_a_class_by_its_state_and_reason(
    state: str, code: int, text: str, expected: ErrorClass, shown: str, session: Db2Session, ibm_db: Module
) -> None:
    session.is_own = False  # of a load, whose errors stay as the server words them
    ibm_db.answers = lambda sent, _: failure(state, code, text) if sent else None
    session.begin()
    with pytest.raises(TransactionError) as caught:
        session.query("count_item")
    assert (caught.value.error_class, caught.value.code) == (expected, shown)
    assert caught.value.text == " ".join(text.split())
    lost = expected is ErrorClass.CONNECTION_LOST
    assert ibm_db.connections[-1].closed is lost
    assert (ibm_db.texts[-1] == "rollback") is not lost


def test_a_failed_commit_leaves_nothing_open(session: Db2Session, ibm_db: Module) -> None:
    ibm_db.answers = lambda _, what: failure("40001", -911, 'Reason code "2".') if what == "commit" else None
    session.begin()
    with pytest.raises(TransactionError):
        session.commit()
    assert ibm_db.texts == ["commit", "rollback"]


def test_codes_are_those_of_the_catalogue_of_messages_in_the_driver() -> None:
    """IBM's own: each message, and the SQLSTATEs in its help; those of Apache Derby are in another."""
    pytest.importorskip("ibm_db", exc_type=ImportError, reason="the driver is not installed")
    folder = Path(str(pytest.importorskip("clidriver").__path__[0])) / "msg" / "en_US.iso88591"
    if not folder.is_dir():
        pytest.skip(f"the driver has no catalogue of messages in {folder}")
    messages, helps = ((folder / name).read_bytes().decode("latin-1") for name in ("db2sql.mo", "db2sqlh.mo"))
    codes = [*_REFUSED, *_UNREACHED, *_WAITED]
    assert not [code for code in codes if not re.search(rf"SQL0*{-code}[NC]\b", messages)]
    states = [state for state in (*_STATES, *NO_PRIVILEGE) if not state.startswith(("40XL", "X0"))]
    assert len(states) > 10
    assert not [state for state in states if not re.search(rf"sqlstate:.*\b{state}\b", helps)]


@pytest.mark.parametrize("operation", queries(ENGINE.dialects), ids=lambda one: one[0])
def test_every_operation_of_the_analytic_workload_is_sent_with_its_values(
    operation: tuple[str, dict[str, Any]], ibm_db: Module
) -> None:
    name, given = operation
    if name.endswith("_partitioned"):
        pytest.skip("it has words of the schema's options")
    engine = database(TARGET)
    with closing(engine.connect(TARGET, ANALYTIC.scope(engine.dialects))) as session:
        ibm_db.forget()
        session.query(name, **given)
    assert {*ibm_db.log[0].values} == {*given.values()}


def test_an_error_that_hides_another_is_that() -> None:
    hidden = SystemError("<built-in function field_type> returned a result with an exception set")
    hidden.__cause__ = failure("58009", -30020)
    assert error_of(hidden).state == "58009"
    assert error_of(Exception("Connection is not active")).state == "08003"


@pytest.mark.parametrize("state", ["42501", "42704"])
def test_a_question_without_its_privilege_has_no_answer(state: str, session: Db2Session, ibm_db: Module) -> None:
    ibm_db.answers = lambda text, _: failure(state, -551) if text else None
    assert session.engine.counters(session) == {}
    assert session.engine.footprint(session) is None


def test_percentages_of_the_summary_are_added_on_request(ibm_db: Module) -> None:
    asked = []
    for url in ("db2://bench@db1/BENCH", "db2://bench@db1/BENCH?summary=on"):
        target = Target.parse(url)
        ibm_db.answers = lambda text, _: (
            [result("N V", ("lock_wait_percent", Decimal("12.50")))] if "MON_DB_SUMMARY" in text else None
        )
        with closing(connected(target=target)) as session:
            asked.append(session.engine.counters(session))
    assert asked == [{}, {"lock_wait_percent": 12.5}]
    assert "lock_wait_percent" in ENGINE.gauges


def test_a_plan_is_explained_read_and_removed(ibm_db: Module) -> None:
    def answers(text: str, _: Any) -> Any:
        if "LISTAGG" in text:
            return [result("J", ('[{"id": 1, "parent": null, "operation": "RETURN"}]',))]
        return (
            [result("L", ("RETURN (rows 1.0, cost 9.0)",), ("  TBSCAN ITEM (rows 1.0, cost 8.0)",))]
            if "tree" in text
            else None
        )

    ibm_db.answers = answers
    engine = database(TARGET)
    calls = {"client_select_quantity": {"supply_w_id": 1, "i_id": 7}}
    with closing(Explainer(engine, TARGET, WORK.scope(engine.dialects), SessionOptions(), calls)) as explainer:
        (plan,) = explainer.plans().values()
    assert plan.text == "RETURN (rows 1.0, cost 9.0)\n  TBSCAN ITEM (rows 1.0, cost 8.0)"
    assert plan.content == [{"id": 1, "parent": None, "operation": "RETURN"}]
    sent = [one for one in ibm_db.log if one.text.startswith("EXPLAIN")]
    assert [one.values for one in sent] == [(1, 7)] * 2
    assert sent[0].text.startswith("EXPLAIN PLAN FOR SELECT s_quantity FROM stock")
    assert len([text for text in ibm_db.texts if text.startswith("DELETE FROM SYSTOOLS.EXPLAIN_INSTANCE")]) == 2


def test_counters_are_those_of_the_database_over_all_members(session: Db2Session, ibm_db: Module) -> None:
    ibm_db.answers = lambda text, _: [result("N V", ("commits", 12), ("waiting_locks", 1))] if text else None
    assert session.engine.counters(session) == {"commits": 12.0, "waiting_locks": 1.0}
    assert "MON_GET_DATABASE(-2)" in ibm_db.texts[0]
