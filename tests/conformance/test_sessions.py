"""Who commits, and the state of a session after a failure (hdbkit.contracts)."""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import closing
from decimal import Decimal
from pathlib import Path

import pytest

from hdbkit.config import Target
from hdbkit.contracts import Database, Scope, SqlSession, Table
from hdbkit.databases import sql_session
from hdbkit.errors import InputError
from hdbkit.execution.network import network_facts
from hdbkit.sql import lexer_of, made
from hdbkit.statement import Statement
from hdbkit.workloads.tproc_c.conformance.rules import Small
from tests.sources import OF_SOURCES

PAY = "client_update_warehouse_ytd"


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


def test_a_query_inside_a_transaction_belongs_to_it(db: SqlSession, small: Small) -> None:
    db.begin()
    db.query("client_number_order", w_id=1, d_id=1)
    db.rollback()
    assert small.row("district", d_w_id=1, d_id=1)["d_next_o_id"] == 3001


def test_an_operation_that_is_asked_is_the_statement_of_that_name(db: SqlSession, small: Small) -> None:
    assert db.ask("count_item") == db.query("count_item") == [(20,)]
    db.ask("client_number_order", w_id=1, d_id=1)
    assert small.row("district", d_w_id=1, d_id=1)["d_next_o_id"] == 3002


def test_a_statement_may_be_named_by_a_word_of_sql(target: Target, small: Small) -> None:
    read = Statement("read", "SELECT i_price FROM item WHERE i_id = :i_id", Path("own.sql"), "")
    with closing(sql_session(target, Scope("tproc_c", {"read": read}))) as session:
        session.prepare(["read"])
        for i_id, count in ((100_000, 0), (1, 1)):
            raw = session.perform(session.bind("read", (i_id,)))
            assert len(session.rows(raw)) == session.row_count(raw) == count


LITERALS: dict[str, Callable[[str], str]] = {
    "text": lambda text: "'" + text.replace("'", "''") + "'",
    "backslash_text": lambda text: "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'",
    "escape_text": lambda text: "E'" + text.replace("\\", "\\\\").replace("'", "''") + "'",
    "dollar_text": lambda text: f"$q${text}$q$",
}
COMMENTS = {
    "line_comment": "-- it's :x {y};\n",
    "spaced_comment": "--\tit's :x {y};\n--\n",
    "hash_comment": "# it's :x {y};\n",
    "block_comment": "/* it's :x {y}; */",
    "nested_comment": "/* /* it's */ :x {y}; */",
    "executable_comment": "/*!40001 */",
    "executable_comment_of_two": "/*M!100100 */ /*!50700 it's :x */",
}


def test_the_server_gets_texts_and_comments_as_they_are_written(
    engine: Database, target: Target, small: Small
) -> None:
    lexer, source = lexer_of(engine.dialects), random.Random(1)
    texts = [
        "it's :i_id {i_id} \\{i_id} 100 % %s ? ; -- # /* $$ \\n \" ` [",
        *("".join(source.choices("':{}a$?%#-/*\\\"`;\n E[]", k=20)) for _ in range(20)),
    ]
    comments = " ".join(COMMENTS[one] for one in lexer.forms if one in COMMENTS and engine.kind not in OF_SOURCES)
    forms = [LITERALS[one] for one in lexer.forms if one in LITERALS]
    texts += [text.replace("\\", "") for text in texts]  # a server may read backslashes in plain texts, or may not
    pairs = [(text, form) for text in texts for form in forms if "\\" not in text or form is not LITERALS["text"]]
    written = [form(text) for text, form in pairs]
    text = f"SELECT {', '.join(written)} {comments}\nFROM item WHERE i_id = :i_id {comments}"
    own = {"look": made("look", text, Path("own.sql"), lexer)}
    with closing(sql_session(target, Scope("tproc_c", own))) as session:
        session.prepare(["look"])
        (row,) = session.rows(session.perform(session.bind("look", (1,))))
    assert list(row) == [text for text, _ in pairs]


def test_a_session_names_the_code_that_carries_its_calls(db: SqlSession) -> None:
    assert db.client_path()


def test_an_unknown_statement_is_named(db: SqlSession) -> None:
    with pytest.raises(InputError, match="no statement 'count_wharehouse'"):
        db.query("count_wharehouse")


def test_the_server_describes_itself(engine: Database, db: SqlSession, target: Target) -> None:
    assert engine.version(db).startswith(f"{engine.title} ")
    came, network = engine.long_answer(db, 8192), network_facts(engine, db, target)
    assert came in (0, 8192)
    assert (network.bandwidth_mb_per_s is not None, network.round_trip_ms is not None) == (
        came > 0,
        engine.clock_s(db) is not None,
    )
    free = engine.free_connections(db)
    assert free is None or free > 0
    settings = engine.settings_of(db)
    assert settings
    assert all(set(about) == {"value", "unit", "default", "changed"} for about in settings.values())
