"""The base of DB-API engines: placeholders of each style, commands of a text, classes of errors."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from datetime import date, datetime
from pathlib import Path
from typing import Any, cast

import pytest

from hdbkit.config import Target
from hdbkit.contracts import Scope, Table
from hdbkit.databases import database
from hdbkit.databases._base.dbapi import DbapiDatabase, class_of
from hdbkit.databases._base.dbapi_session import DbapiSession
from hdbkit.databases._base.dbapi_statements import compiled, numbered, pieces_of
from hdbkit.errors import ErrorClass
from hdbkit.statement import Statement

PARAMETERS, VALUES = ("a", "b"), (1, 2)


def statement(text: str, name: str = "s") -> Statement:
    return Statement(name, text, Path("own.sql"), "")


@pytest.mark.parametrize(
    ("paramstyle", "text", "given"),
    [
        ("qmark", "SELECT a % 2 WHERE a = ? AND b = ? OR a > ?", [1, 2, 1]),
        ("format", "SELECT a %% 2 WHERE a = %s AND b = %s OR a > %s", [1, 2, 1]),
        ("numeric", "SELECT a % 2 WHERE a = :1 AND b = :2 OR a > :1", [1, 2]),
        ("named", "SELECT a % 2 WHERE a = :a_ AND b = :b_ OR a > :a_", {"a_": 1, "b_": 2}),
        ("pyformat", "SELECT a %% 2 WHERE a = %(a_)s AND b = %(b_)s OR a > %(a_)s", {"a_": 1, "b_": 2}),
    ],
)
def test_values_are_passed_in_the_style_of_the_driver(paramstyle: str, text: str, given: object) -> None:
    (piece,) = compiled(statement("SELECT a % 2 WHERE a = :a AND b = :b OR a > :a"), paramstyle).pieces
    taken = piece.picker(PARAMETERS)(VALUES)
    assert (piece.text, taken if isinstance(given, dict) else list(taken)) == (text, given)


@pytest.mark.parametrize("paramstyle", ["format", "pyformat"])
def test_a_percent_sign_is_doubled_even_where_no_value_is_passed(paramstyle: str) -> None:
    (piece,) = compiled(statement("SELECT '%' WHERE a LIKE 'x%'"), paramstyle).pieces
    assert piece.picker(PARAMETERS)(VALUES) in ([], {})
    assert piece.text == "SELECT '%%' WHERE a LIKE 'x%%'"


def test_a_text_is_divided_at_semicolons_outside_of_quotes_and_comments() -> None:
    text = "INSERT INTO t VALUES (';', ':a');\n-- no; end\nUPDATE \"a;b\" SET x = 'it''s;' /* ; */;\n"
    assert pieces_of(text) == [
        "INSERT INTO t VALUES (';', ':a')",
        "-- no; end\nUPDATE \"a;b\" SET x = 'it''s;' /* ; */",
    ]


def test_a_comment_alone_is_no_command() -> None:
    assert pieces_of("DELETE FROM t; -- all of them\n/* and no more */") == ["DELETE FROM t"]


def test_question_marks_become_numbers_outside_of_texts_and_comments() -> None:
    assert numbered("SELECT '?', \"a?\", ? -- why?\nFROM t /* ? */ WHERE b = ?") == (
        "SELECT '?', \"a?\", $1 -- why?\nFROM t /* ? */ WHERE b = $2",
        2,
    )


def test_each_command_of_a_text_takes_its_own_values() -> None:
    both = compiled(statement("DELETE FROM t WHERE a = :b; INSERT INTO t VALUES (:a, :b)"), "qmark")
    assert both.parameters == ("b", "a")
    assert both.calls((2, 1)) == (("DELETE FROM t WHERE a = ?", [2]), ("INSERT INTO t VALUES (?, ?)", (1, 2)))


def test_the_body_of_a_routine_is_one_command() -> None:
    text = "CREATE PROCEDURE p AS BEGIN x; y; END"
    (piece,) = compiled(statement(text, "create_routine_p"), "qmark").pieces
    assert piece.text == text


@pytest.mark.parametrize(
    ("sqlstate", "error_class"),
    [
        ("40001", ErrorClass.SERIALIZATION),
        ("40P01", ErrorClass.DEADLOCK),
        ("23505", ErrorClass.CONSTRAINT),
        ("08S01", ErrorClass.CONNECTION_LOST),
        ("57P01", ErrorClass.CONNECTION_LOST),
        ("57014", ErrorClass.STATEMENT_TIMEOUT),
        ("42601", ErrorClass.OTHER),
    ],
)
def test_an_error_is_classed_by_its_sqlstate(sqlstate: str, error_class: ErrorClass) -> None:
    assert class_of(sqlstate) is error_class


class Recorder:
    """A driver's connection and cursor that writes down what it is given."""

    description = None

    def __init__(self) -> None:
        self.sent: list[tuple[str, Any]] = []

    def cursor(self) -> Recorder:
        return self

    def execute(self, text: str, values: Any) -> None:
        self.sent.append((text, values))

    executemany = execute

    def commit(self) -> None:
        self.sent.append(("commit", ()))

    rollback = close = commit


class Engine(DbapiDatabase):
    errors = (OSError,)


def session_on(recorder: Recorder, paramstyle: str = "qmark", statements: Sequence[Statement] = ()) -> DbapiSession:
    engine = Engine()
    engine.paramstyle = paramstyle
    return DbapiSession(recorder, engine, Scope("", {one.name: one for one in statements}))


T = Table("t", ("a", "b"), types=("integer", "text"))
CHUNKS = [b"1\tx\n2\t\\N\n", b"", b"3\tz\n4\tu\n5\tv\n"]
"""Two chunks with five rows, and an empty one."""


def test_rows_are_loaded_in_groups_whatever_the_chunks() -> None:
    recorder = Recorder()
    session = session_on(recorder)
    session.rows_per_call = 3
    session.begin()
    assert session.load(T, CHUNKS) == 5
    text = "INSERT INTO t (a, b) VALUES (?, ?)"
    first, second = [[1, "x"], [2, None], [3, "z"]], [[4, "u"], [5, "v"]]
    assert recorder.sent[:2] == [(text, first), (text, second)]


def test_rows_are_loaded_by_inserts_of_as_many_rows_as_the_values_allow() -> None:
    recorder = Recorder()
    session = session_on(recorder)
    session.values_per_insert = 5
    session.begin()
    assert session.load(T, CHUNKS) == 5
    two, one = "INSERT INTO t (a, b) VALUES (?, ?), (?, ?)", "INSERT INTO t (a, b) VALUES (?, ?)"
    assert recorder.sent[:3] == [(two, [1, "x", 2, None]), (two, [3, "z", 4, "u"]), (one, [5, "v"])]


INSERT = statement("INSERT INTO t (a, b) VALUES (:a, :b)", "insert_t")
CHANGE = statement("UPDATE t SET a = a + 1 WHERE b = :b", "change_t")


@pytest.mark.parametrize(
    ("values", "inserts"),
    [
        (6, [("INSERT INTO t (a, b) VALUES (?, ?), (?, ?), (?, ?)", [1, 2, 3, 4, 5, 6])]),
        (
            5,
            [
                ("INSERT INTO t (a, b) VALUES (?, ?), (?, ?)", [1, 2, 3, 4]),
                ("INSERT INTO t (a, b) VALUES (?, ?)", [5, 6]),
            ],
        ),
        (0, [("INSERT INTO t (a, b) VALUES (?, ?)", row) for row in [[1, 2], [3, 4], [5, 6]]]),
    ],
)
def test_inserts_of_a_row_that_follow_each_other_are_sent_as_one(values: int, inserts: list[tuple[str, Any]]) -> None:
    """Up to the number of values that one may have; each of them has its answer."""
    recorder = Recorder()
    session = session_on(recorder, statements=(INSERT, CHANGE))
    session.values_per_insert = values
    session.begin()
    change = ("change_t", (9,))
    answers = session.batch([change, change, *(("insert_t", row) for row in [(1, 2), (3, 4), (5, 6)]), change])
    sent = ("UPDATE t SET a = a + 1 WHERE b = ?", [9])
    assert recorder.sent == [sent, sent, *inserts, sent]
    assert answers == [[]] * 6


@pytest.mark.parametrize(
    "text",
    [
        "INSERT INTO t (a, b) VALUES (:a, :b) RETURNING a",
        "INSERT INTO t (a, b) VALUES (:a, 1)",
        "INSERT INTO t (a) SELECT :a",
        "INSERT INTO t (a) VALUES (:a); DELETE FROM u",
    ],
)
def test_only_an_insert_of_values_alone_can_have_more_rows(text: str) -> None:
    """Others have an answer, or something besides the values of a row."""
    assert compiled(statement(text), "qmark").width == 0


@pytest.mark.parametrize(
    ("paramstyle", "sent"),
    [("qmark", ("LIKE 'x%'", [])), ("format", ("LIKE 'x%%'", [])), ("pyformat", ("LIKE 'x%%'", {}))],
)
def test_a_command_as_text_is_sent_as_it_is(paramstyle: str, sent: tuple[str, Any]) -> None:
    recorder = Recorder()
    session_on(recorder, paramstyle).execute("LIKE 'x%'")
    assert recorder.sent[0] == sent


def test_a_date_of_sqlite_is_read_as_one_and_any_other_value_in_its_place_as_text(tmp_path: Path) -> None:
    file = tmp_path / "data"
    file.touch()
    read = statement("SELECT d, t FROM dates WHERE d = :a OR d = 2450000.5", "read")
    target, scope = Target(kind="sqlite", database=str(file)), Scope("x", {"read": read})
    with closing(cast(DbapiSession, database("sqlite").connect(target, scope))) as session:
        session.execute("CREATE TABLE dates (d DATE, t TIMESTAMP)")
        session.execute("INSERT INTO dates VALUES ('2020-02-29', '2020-02-29 12:30:00'), (2450000.5, 'soon')")
        found = session.query("read", a=date(2020, 2, 29))
    assert found == [(date(2020, 2, 29), datetime(2020, 2, 29, 12, 30)), ("2450000.5", "soon")]
