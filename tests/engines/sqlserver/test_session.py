"""Sessions of SQL Server: what is sent, values, types and commits, timeouts and plans, and what errors mean."""

from __future__ import annotations

import json
from contextlib import closing
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from hdbkit.contracts import OPERATIONS, Operation, Scope, SessionOptions, Table
from hdbkit.databases.sqlserver import SQLSERVER_ERRORS, SqlServer
from hdbkit.databases.sqlserver.session import SqlServerSession
from hdbkit.errors import ErrorClass, RolledBackByDesign, TransactionError
from hdbkit.execution.query_plans import Explainer
from hdbkit.sql import SERVER_STATEMENTS, made, statements
from hdbkit.workloads.tproc_c import client
from hdbkit.workloads.tproc_c.contract import CONTRACTS
from tests.engines.sqlserver.double import Module, failure, result
from tests.engines.sqlserver.sessions import TARGET, WHEN, WORK, connected, engine

BEGIN, COMMIT, ROLLBACK = "BEGIN TRANSACTION", "COMMIT TRANSACTION", "IF @@TRANCOUNT > 0 ROLLBACK TRANSACTION"
ARGUMENTS: dict[str, Any] = {
    **{"item_ids": (7, 3), "supply_w_ids": (1, 2), "quantities": (5, 6), "c_last": "BARBARBAR"},
    **{"h_amount": Decimal("12.50"), "amount": Decimal("12.50"), "o_entry_d": WHEN, "note": "1 2 3 | "},
    **{"dist_info": "d" * 24, "spec": "{}", "part": "stock-1", "name": "max degree of parallelism", "value": "2"},
    **{"apply_by": "reload", "table": "stock", "columns": ("s_w_id", "s_i_id"), "database_name": "tpcc"},
    **{"role": "bench", "database": "tpcc", "password": "p", "level": "SNAPSHOT"},
}
"""A value for each parameter whose name does not say that it is a number."""


def test_a_new_order_is_one_batch_with_two_results(session: SqlServerSession, pyodbc: Module) -> None:
    heading = (3001, WHEN, Decimal("0.1"), Decimal("0.05"), Decimal(0), "BAR", "GC", Decimal("23.50"))
    lines = [
        (1, "a", 20, "G", Decimal("1.00"), Decimal("5.00")),
        (2, "b", 91, "B", Decimal("2.50"), Decimal("15.00")),
    ]
    pyodbc.answers = lambda *_: [
        result("o_id at w d c last credit total", heading),
        result("line i_name s_quantity brand i_price amount", *lines),
    ]
    session.prepare(["call_new_order"])
    (row,) = session.rows(session.perform(session.bind("call_new_order", (1, 2, 3, (7, 3), (1, 2), (5, 6)))))
    assert row[:8] == heading
    assert row[8:] == (("a", "b"), (20, 91), ("G", "B"), (Decimal("1.00"), Decimal("2.50")), (5, 15))
    (sent,) = pyodbc.log
    assert sent.text == "EXEC new_order ?, ?, ?, ?, ?, ?"
    assert sent.values == (1, 2, 3, "[         7,         3]", "[         1,         2]", "[         5,         6]")


def test_an_order_without_an_answer_is_a_rollback_by_design(session: SqlServerSession, pyodbc: Module) -> None:
    session.prepare(["call_new_order"])
    with pytest.raises(RolledBackByDesign):
        session.perform(session.bind("call_new_order", (1, 2, 3, (7,), (1,), (5,))))
    assert pyodbc.texts[-1] == ROLLBACK


def test_a_delivery_of_nothing_has_empty_arrays(session: SqlServerSession, pyodbc: Module) -> None:
    pyodbc.answers = lambda *_: [result("line d_id o_id")]
    session.prepare(["call_delivery"])
    assert session.rows(session.perform(session.bind("call_delivery", (1, 7)))) == [((), ())]


def operations() -> list[Operation]:
    listed, dialects = [*OPERATIONS, *CONTRACTS["tproc_c"]], SqlServer().dialects
    known = {**statements(dialects, SERVER_STATEMENTS), **WORK.scope(dialects).statements}
    return [one for one in listed if one.name in known and not one.name.startswith("explain")]


@pytest.mark.parametrize("operation", operations(), ids=lambda one: one.name)
def test_every_operation_is_sent_with_a_value_for_each_marker(
    operation: Operation, session: SqlServerSession, pyodbc: Module
) -> None:
    """The double refuses missing and superfluous values, unknown types, and words not filled."""
    if operation.name == "insert_row" or operation.name.endswith("_partitioned"):
        pytest.skip("a part of a statement, or one with words of the schema's options")
    session.query(operation.name, **{name: ARGUMENTS.get(name, 1) for name in operation.parameters})
    assert pyodbc.log


def test_statements_of_a_client_are_one_transaction(session: SqlServerSession, pyodbc: Module) -> None:
    pyodbc.answers = lambda text, _: (
        [result("a b c d e f g h i j k", (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11))]
        if "OUTPUT" in text or "SELECT" in text
        else None
    )
    client.payment(session, (1, 2, 1, 2, 3, None, Decimal("12.50")))
    sent = [text.split()[0] for text in pyodbc.texts]
    assert sent == ["BEGIN", "UPDATE", "UPDATE", "UPDATE", "SELECT", "INSERT", "COMMIT"]
    assert pyodbc.log[1].values[2] == "3 2 1 2 1 12.50 | "


TABLE = Table("t", ("id", "amount", "day"), types=("integer", "decimal", "date"))


def test_a_load_is_one_json_text_for_thousands_of_rows(session: SqlServerSession, pyodbc: Module) -> None:
    session.rows_per_call = 2
    session.begin()
    assert session.load(TABLE, [b"1\t2.50\t2026-03-04\n2\t\\N\t\\N\n", b"3\t0.10\t\\N\n"]) == 3
    session.commit()
    begin, first, second, commit = pyodbc.log
    assert (begin.text, commit.text) == (BEGIN, COMMIT)
    assert "FROM OPENJSON(CAST(? AS NVARCHAR(MAX))) WITH (id NVARCHAR(MAX) '$[0]'" in first.text
    assert json.loads(first.values[0]) == [["1", "2.50", "2026-03-04"], ["2", None, None]]
    assert json.loads(second.values[0]) == [["3", "0.10", None]]


# -- timeouts, workers, plans --------------------------------------------------------------------------


def test_a_new_session_has_isolation_timeouts_and_workers(pyodbc: Module) -> None:
    pyodbc.answers = lambda text, values: [result("command", (f"SET {values[0]}",))] if "CONCAT" in text else None
    options = SessionOptions(lock_timeout_ms=1500, statement_timeout_ms=2500, parallel_workers=0)
    with closing(connected(pyodbc, options)) as made:
        assert pyodbc.texts == ["SET NOCOUNT ON SET XACT_ABORT ON", "SET LOCK_TIMEOUT 1500"]
        pyodbc.forget()
        made.query("count_item")
        (sent,) = pyodbc.log
        assert sent.text.endswith("\nOPTION (MAXDOP 1)")
        assert sent.timeout_s == 3
        pyodbc.answers = lambda *_: [result("ends ms setter", ("waits for a lock", 1500, "hdbkit or the account"))]
        found = [(one.ends, one.seconds) for one in made.engine.timeouts(made)]
    assert found == [("statements", 3.0), ("waits for a lock", 1.5)]


def test_a_timeout_that_the_server_answers_leaves_the_connection(session: SqlServerSession, pyodbc: Module) -> None:
    pyodbc.answers = lambda text, _: failure("HYT00") if text.startswith("SELECT") else None
    with pytest.raises(TransactionError) as caught:
        session.query("count_item")
    assert (caught.value.error_class, caught.value.lost) == (ErrorClass.STATEMENT_TIMEOUT, False)
    assert pyodbc.texts[-1] == ROLLBACK
    assert not pyodbc.connections[-1].closed


def test_a_timeout_that_ends_the_connection_is_still_a_timeout(session: SqlServerSession, pyodbc: Module) -> None:
    """FreeTDS, and a server that does not answer the cancellation: the next command finds the connection broken."""
    pyodbc.answers = lambda text, _: failure("HYT00" if text.startswith("SELECT") else "08S01")
    with pytest.raises(TransactionError) as caught:
        session.query("count_item")
    assert (caught.value.error_class, caught.value.lost) == (ErrorClass.STATEMENT_TIMEOUT, True)
    assert pyodbc.connections[-1].closed


def test_a_plan_is_asked_with_the_values_in_the_text(pyodbc: Module, tmp_path: Path) -> None:
    of = engine(pyodbc)
    text = "SELECT a FROM t WHERE a < :most AND day >= :day AND note <> '?' AND name = :name"
    scope = Scope("", {"find": made("find", text, tmp_path)})
    pyodbc.answers = lambda sent, _: (
        [result("StmtText", ("SELECT",)), result("StmtText", ("  |--Clustered Index Scan",), ("  |--Sort",))]
        if sent.startswith("SELECT")
        else None
    )
    given = {"most": Decimal("2.5"), "day": date(1996, 1, 1), "name": "it's"}
    with closing(Explainer(of, TARGET, scope, SessionOptions(parallel_workers=2), {"find": given})) as explainer:
        found = explainer.plans()["find"]
    assert found.text == "  |--Clustered Index Scan\n  |--Sort"
    assert found.content == "  |--Clustered Index Scan"
    literal = (
        "SELECT a FROM t WHERE a < 2.5 AND day >= '1996-01-01' AND note <> '?' AND name = 'it''s' OPTION (MAXDOP 2)"
    )
    assert pyodbc.texts[-6:] == [
        *("SET SHOWPLAN_TEXT ON", literal, "SET SHOWPLAN_TEXT OFF"),
        *("SET SHOWPLAN_XML ON", literal, "SET SHOWPLAN_XML OFF"),
    ]


# -- errors --------------------------------------------------------------------------------------------

_LIST = "relational-databases/errors-events/database-engine-events-and-errors"
_MEMORY = "relational-databases/in-memory-oltp/transactions-with-memory-optimized-tables"
SOURCES = {
    **dict.fromkeys((64, 233, 515, 547, 596, 701, 802), f"{_LIST}-0-to-999"),
    **dict.fromkeys((1105, 1205, 1222), f"{_LIST}-1000-to-1999"),
    **dict.fromkeys((2601, 2627), f"{_LIST}-2000-to-2999"),
    **dict.fromkeys((3960,), f"{_LIST}-3000-to-3999"),
    **dict.fromkeys((8645,), f"{_LIST}-8000-to-8999"),
    **dict.fromkeys((9002,), f"{_LIST}-9000-to-9999"),
    **dict.fromkeys((10053, 10054, 10060), f"{_LIST}-10000-to-10999"),
    **dict.fromkeys((41301, 41302, 41305, 41325, 41823, 41839, 41840), _MEMORY),
}
"""The page of Microsoft's documentation (learn.microsoft.com/sql) that has each number."""


@pytest.mark.parametrize("number", sorted(SQLSERVER_ERRORS))
def test_an_error_has_the_class_of_its_number(number: int, session: SqlServerSession, pyodbc: Module) -> None:
    pyodbc.answers = lambda text, _: failure("42000", number) if text.startswith("SELECT") else None
    session.begin()
    with pytest.raises(TransactionError) as caught:
        session.query("count_item")
    assert (caught.value.error_class, caught.value.code) == (SQLSERVER_ERRORS[number], str(number))
    lost = SQLSERVER_ERRORS[number] is ErrorClass.CONNECTION_LOST
    assert caught.value.lost is lost
    assert pyodbc.connections[-1].closed is lost
    assert (pyodbc.texts[-1] == ROLLBACK) is not lost


def test_each_number_has_its_source() -> None:
    assert SOURCES.keys() == SQLSERVER_ERRORS.keys()


@pytest.mark.parametrize("state", ["08S01", "08003", "IMC06"])
def test_a_broken_connection_is_lost(state: str, session: SqlServerSession, pyodbc: Module) -> None:
    pyodbc.answers = lambda *_: failure(state)
    with pytest.raises(TransactionError) as caught:
        session.query("count_item")
    assert caught.value.lost
    with pytest.raises(TransactionError, match="the connection was closed"):
        session.query("count_item")


def test_a_failed_commit_leaves_nothing_open(session: SqlServerSession, pyodbc: Module) -> None:
    pyodbc.answers = lambda text, _: failure("40001", 1205) if text == COMMIT else None
    session.begin()
    with pytest.raises(TransactionError):
        session.commit()
    assert pyodbc.texts == [BEGIN, COMMIT, ROLLBACK]
