"""Who commits, and the state of a session after a failure (hdbkit.contracts)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from decimal import Decimal
from pathlib import Path

import pytest

from hdbkit.config import Target
from hdbkit.contracts import Database, Scope, SqlSession, Table
from hdbkit.databases import sql_session
from hdbkit.errors import ErrorClass, InputError, TransactionError
from hdbkit.sql import Statement
from hdbkit.workloads.tproc_c.tables import TABLES
from tests.conformance.small import Small, item, load

PAY = "client_update_warehouse_ytd"


def test_what_is_committed_stays(db: SqlSession, small: Small) -> None:
    db.begin()
    db.call(PAY, Decimal("1.50"), 1)
    assert small.row("warehouse", w_id=1)["w_ytd"] == Decimal(0)
    db.commit()
    assert small.row("warehouse", w_id=1)["w_ytd"] == Decimal("1.50")


def test_what_is_rolled_back_is_gone(db: SqlSession, small: Small) -> None:
    db.begin()
    db.call(PAY, Decimal("1.50"), 1)
    db.rollback()
    assert small.row("warehouse", w_id=1)["w_ytd"] == Decimal(0)


def test_a_rollback_outside_a_transaction_does_nothing(db: SqlSession) -> None:
    db.rollback()
    assert db.query("count_warehouse") == [(2,)]


def test_an_empty_transaction_commits(db: SqlSession) -> None:
    db.begin()
    db.commit()
    db.begin()
    db.rollback()


@pytest.mark.parametrize(
    "misuse",
    [
        lambda db: db.call(PAY, Decimal(1), 1),
        lambda db: db.batch([(PAY, (Decimal(1), 1))]),
        lambda db: db.load(Table("item", ("i_id",)), [b"1\n"]),
        lambda db: db.commit(),
    ],
    ids=["call", "batch", "load", "commit"],
)
def test_work_outside_a_transaction_is_an_error(db: SqlSession, misuse: Callable[[SqlSession], object]) -> None:
    db.prepare([PAY])
    with pytest.raises(AssertionError):
        misuse(db)


def test_a_query_outside_a_transaction_commits_by_itself(db: SqlSession, small: Small) -> None:
    db.query("client_number_order", w_id=1, d_id=1)
    assert small.row("district", d_w_id=1, d_id=1)["d_next_o_id"] == 3002


def test_a_query_inside_a_transaction_belongs_to_it(db: SqlSession, small: Small) -> None:
    db.begin()
    db.query("client_number_order", w_id=1, d_id=1)
    db.rollback()
    assert small.row("district", d_w_id=1, d_id=1)["d_next_o_id"] == 3001


def test_a_batch_answers_in_its_order(db: SqlSession) -> None:
    db.begin()
    replies = db.batch(
        [
            ("client_select_quantity", (1, 7)),
            ("client_update_stock", (3, 0, 1, 7)),
            ("client_select_quantity", (1, 7)),
            ("client_select_quantity", (9, 7)),
        ]
    )
    db.commit()
    assert replies == [[(12,)], [(100,)] if db.returns_changed else [], [(100,)], []]


def test_a_refused_batch_leaves_nothing_and_the_session_continues(db: SqlSession, small: Small) -> None:
    db.begin()
    with pytest.raises(TransactionError) as refused:
        db.batch([(PAY, (Decimal(5), 1)), ("client_insert_new_order", (None, 1, 1)), (PAY, (Decimal(5), 2))])
    assert refused.value.error_class is ErrorClass.CONSTRAINT
    assert [row["w_ytd"] for row in small.rows("warehouse")] == [Decimal(0), Decimal(0)]
    db.begin()
    db.call(PAY, Decimal(5), 1)
    db.commit()
    assert small.row("warehouse", w_id=1)["w_ytd"] == Decimal(5)


def test_values_come_back_as_they_were_given(db: SqlSession, small: Small) -> None:
    name = 'a\\b"{c},é'
    db.begin()
    loaded = load(db, "item", [{**item(30), "i_name": name.replace("\\", r"\\"), "i_price": "99.99"}])
    db.commit()
    assert loaded == 1
    found = small.row("item", i_id=30)
    assert (found["i_name"], found["i_price"]) == (name, Decimal("99.99"))


def test_a_refused_load_leaves_nothing_and_the_session_continues(db: SqlSession, small: Small) -> None:
    db.begin()
    with pytest.raises(TransactionError) as refused:
        load(db, "item", [item(40), item(41), item(40)])
    assert refused.value.error_class is ErrorClass.CONSTRAINT
    assert len(small.rows("item")) == 20
    db.begin()
    assert load(db, "item", [item(40), item(41)]) == 2
    db.commit()
    assert len(small.rows("item")) == 22


def test_a_load_whose_source_fails_leaves_nothing_and_the_session_continues(db: SqlSession, small: Small) -> None:
    def source() -> Iterator[bytes]:
        yield b"50\t1\tx\t1.00\tdata\n"
        raise KeyError("the source")

    db.begin()
    with pytest.raises(KeyError):
        db.load(TABLES["item"], source())
    assert len(small.rows("item")) == 20
    assert db.query("count_item") == [(20,)]


def test_an_operation_that_is_asked_is_the_statement_of_that_name(db: SqlSession, small: Small) -> None:
    assert db.ask("count_item") == db.query("count_item") == [(20,)]
    db.ask("client_number_order", w_id=1, d_id=1)
    assert small.row("district", d_w_id=1, d_id=1)["d_next_o_id"] == 3002


def test_a_statement_may_be_named_by_a_word_of_sql(target: Target, small: Small) -> None:
    read = Statement("read", "SELECT i_price FROM item WHERE i_id = :i_id", Path("own.sql"), "")
    with closing(sql_session(target, Scope("tproc_c", {"read": read}))) as session:
        session.prepare(["read"])
        assert session.rows(session.perform(session.bind("read", (100_000,)))) == []


def test_a_session_names_the_code_that_carries_its_calls(db: SqlSession) -> None:
    assert db.client_path(frozenset())


def test_an_unknown_statement_is_named(db: SqlSession) -> None:
    with pytest.raises(InputError, match="no statement 'count_wharehouse'"):
        db.query("count_wharehouse")


def test_a_closed_session_is_a_lost_connection(db: SqlSession) -> None:
    db.close()
    with pytest.raises(TransactionError) as lost:
        db.query("count_item")
    assert lost.value.error_class is ErrorClass.CONNECTION_LOST
    db.rollback()
    db.close()


def test_the_server_describes_itself(engine: Database, db: SqlSession) -> None:
    assert engine.version(db).startswith(f"{engine.title} ")
    free = engine.free_connections(db)
    assert free is None or free > 0
    settings = engine.settings_of(db)
    assert settings
    assert all(set(about) == {"value", "unit", "default", "changed"} for about in settings.values())
