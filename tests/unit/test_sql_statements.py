"""Named statements: ANSI once, overrides by name, values and identifiers kept apart."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from hdbkit import sql
from hdbkit.errors import InputError
from hdbkit.lexer import identifier
from hdbkit.statement import Statement

ANSI = """-- Header of the file, no statement.

-- name: take_item
-- The price of an item,
-- by its number.
SELECT i_price FROM item WHERE i_id = :i_id AND i_im_id > :low AND :i_id > 0;

-- name: count_rows
SELECT count(*) FROM {table};
"""


OWN = ("ansi", "own")


@pytest.fixture
def schemas(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    for engine in ("ansi", "own"):
        (tmp_path / engine / "shop").mkdir(parents=True)
    (tmp_path / "ansi" / "shop" / "a.sql").write_text(ANSI, encoding="utf-8")
    monkeypatch.setattr(sql, "data_folder", lambda _: tmp_path)
    for known in (sql.statements, sql.fragments, sql.lexer_of, sql.lexers_of):
        known.cache_clear()
    yield tmp_path
    for known in (sql.statements, sql.fragments, sql.lexer_of, sql.lexers_of):
        known.cache_clear()


def test_a_statement_has_its_text_description_and_origin(schemas: Path) -> None:
    found = sql.find(OWN, "shop", "take_item")
    assert found.text == "SELECT i_price FROM item WHERE i_id = :i_id AND i_im_id > :low AND :i_id > 0"
    assert found.description == "The price of an item, by its number."
    assert found.origin == schemas / "ansi" / "shop" / "a.sql"


def test_an_engines_statement_replaces_the_ansi_one_of_its_name_only(schemas: Path) -> None:
    (schemas / "own" / "shop" / "b.sql").write_text("-- name: count_rows\nSELECT 1\n", encoding="utf-8")
    assert {name: one.origin.name for name, one in sql.statements(OWN, "shop").items()} == {
        "take_item": "a.sql",
        "count_rows": "b.sql",
    }


def test_a_later_dialect_replaces_an_earlier_one(schemas: Path) -> None:
    for folder in ("own", "newer"):
        (schemas / folder / "shop").mkdir(parents=True, exist_ok=True)
        text = f"-- name: count_rows\nSELECT '{folder}'\n-- name: only_{folder}\nSELECT 1\n"
        (schemas / folder / "shop" / "b.sql").write_text(text, encoding="utf-8")
    found = sql.statements(("ansi", "own", "newer"), "shop")
    assert {name: one.origin.parts[-3] for name, one in found.items()} == {
        "take_item": "ansi",
        "count_rows": "newer",
        "only_own": "own",
        "only_newer": "newer",
    }


def test_a_variant_is_read_only_with_its_dialect(schemas: Path) -> None:
    text = "-- name: count_rows\nSELECT 1;\n\n-- variant: old\n-- Of old servers.\n\n-- name: count_rows\n"
    more = "SELECT {{one}};\n\n-- variant: other\n-- name: x\nSELECT 3;\n"
    (schemas / "own" / "shop" / "b.sql").write_text(text + more, encoding="utf-8")
    fragments(schemas, "own", "-- fragment: one\n1\n-- variant: old\n-- fragment: one\n2\n")
    assert sql.find(OWN, "shop", "count_rows").text == "SELECT 1"
    found = sql.find((*OWN, "own/old"), "shop", "count_rows")
    assert (found.text, found.dialect, found.line) == ("SELECT 2", "own/old", 7)
    assert "x" not in sql.statements((*OWN, "own/old"), "shop")
    assert [sql.is_known(f"own/{name}") for name in ("old", "new")] == [True, False]
    assert sql.variants(schemas / "own" / "shop" / "b.sql") == {"", "old", "other"}


def test_values_are_numbered_by_first_use_and_each_once(schemas: Path) -> None:
    found = sql.find(OWN, "shop", "take_item")
    assert found.parameters == ("i_id", "low")
    assert found.rendered(lambda _, index: f"${index}").endswith("i_id = $1 AND i_im_id > $2 AND $1 > 0")


@pytest.mark.parametrize("text", ["a::bigint", "now()::date", "x[1:2]", "'12:30'"])
def test_a_colon_that_is_no_value_is_left_alone(text: str, tmp_path: Path) -> None:
    statement = Statement("s", text, tmp_path, "")
    assert statement.parameters == ()
    assert statement.rendered(lambda *_: "?") == text


def test_a_value_has_a_use_for_each_type_that_it_is_cast_to(tmp_path: Path) -> None:
    one = sql.made("a", "SELECT :a::text, CAST( :a AS int ), :a, :b, :a::text, 'x'::text", tmp_path)
    assert one.uses == (("a", "text"), ("a", "int"), ("a", ""), ("b", ""))
    assert one.rendered_by_use("${}".format) == (
        "SELECT $1::text, CAST( $2 AS int ), $3, $4, $1::text, 'x'::text"
    )  # fmt: skip


def test_a_word_takes_an_identifier_or_an_integer(schemas: Path) -> None:
    found = sql.find(OWN, "shop", "count_rows")
    assert found.words == {"table"}
    assert found.filled({"table": "stock"}).text == "SELECT count(*) FROM stock"
    assert found.filled({"table": 7}).text == "SELECT count(*) FROM 7"
    assert found.filled({"table": ("item", "stock")}).text == "SELECT count(*) FROM item, stock"


@pytest.mark.parametrize("word", ["stock; DROP TABLE item", "a b", "", '"x"', "1a", "-1", ("item", "a b")])
def test_a_word_that_is_no_identifier_is_refused(schemas: Path, word: object) -> None:
    with pytest.raises(InputError, match="table must be an identifier or an integer"):
        sql.find(OWN, "shop", "count_rows").filled({"table": word})


def test_an_unknown_statement_is_reported_in_a_sentence(schemas: Path) -> None:
    with pytest.raises(InputError, match=r"own has no statement 'take' in shop; see: hdbkit sql show own"):
        sql.find(OWN, "shop", "take")


def test_two_statements_of_one_name_in_a_file_are_refused(schemas: Path) -> None:
    (schemas / "own" / "shop" / "c.sql").write_text("-- name: x\nSELECT 1\n-- name: x\nSELECT 2\n", encoding="utf-8")
    with pytest.raises(InputError, match="two statements named 'x'"):
        sql.statements(OWN, "shop")


def test_a_group_inside_another_has_its_statements_and_its_own_instead(schemas: Path) -> None:
    """The outer group's dialects come before the inner group's plainest text."""
    for folder, text in (("own/shop", "SELECT 1"), ("ansi/shop/stall", "SELECT 2")):
        (schemas / folder).mkdir(parents=True, exist_ok=True)
        (schemas / folder / "b.sql").write_text(f"-- name: take_item\n{text};\n", encoding="utf-8")
    assert sql.find(OWN, "shop", "take_item").text == "SELECT 1"
    assert sql.find(OWN, "shop.stall", "take_item").text == "SELECT 2"
    assert sql.find(OWN, "shop.stall", "count_rows") == sql.find(OWN, "shop", "count_rows")


def test_a_session_finds_its_own_statements_before_its_engines(schemas: Path) -> None:
    (schemas / "own" / "server").mkdir()
    (schemas / "own" / "server" / "s.sql").write_text("-- name: take_item\nSELECT 1\n-- name: version\nSELECT 2\n")
    own = sql.statements(OWN, "shop")
    assert sql.in_scope(own, OWN, "take_item") == own["take_item"]
    assert sql.in_scope(own, OWN, "version").text == "SELECT 2"
    with pytest.raises(InputError, match="own has no statement 'nothing'; see: hdbkit sql show own"):
        sql.in_scope(own, OWN, "nothing")


def fragments(schemas: Path, engine: str, text: str) -> None:
    (schemas / engine / "fragments.sql").write_text(text, encoding="utf-8")
    sql.fragments.cache_clear()


def test_a_fragment_is_what_each_engine_writes_differently(schemas: Path) -> None:
    fragments(schemas, "ansi", "-- fragment: now\n-- The time.\nLOCALTIMESTAMP\n-- fragment: cat(a, b)\n{a} || {b}\n")
    fragments(schemas, "own", "-- fragment: cat(a, b)\nCONCAT({a}, {b})\n-- fragment: lock\n-- None.\n")
    text = "-- name: x\nSELECT {{now}}, {{cat(f(a, ', ('), {{cat(:b, {word})}})}} FROM t {{lock}};\n"
    (schemas / "ansi" / "shop" / "f.sql").write_text(text, encoding="utf-8")
    found = sql.find(OWN, "shop", "x")
    assert found.text == "SELECT LOCALTIMESTAMP, CONCAT(f(a, ', ('), CONCAT(:b, {word})) FROM t"
    assert (found.parameters, found.words) == (("b",), {"word"})


@pytest.mark.parametrize(
    ("use", "reason"),
    [("{{nothing}}", "there is no fragment 'nothing'"), ("{{cat(a)}}", "cat takes 2 arguments, not 1: a")],
)
def test_an_unknown_fragment_is_reported(schemas: Path, use: str, reason: str) -> None:
    fragments(schemas, "ansi", "-- fragment: cat(a, b)\n{a} || {b}\n")
    (schemas / "ansi" / "shop" / "f.sql").write_text(f"-- name: x\nSELECT {use};\n", encoding="utf-8")
    with pytest.raises(InputError, match=re.escape(reason)):
        sql.statements(OWN, "shop")


def test_the_only_parameter_of_a_fragment_takes_all_that_is_given(schemas: Path) -> None:
    fragments(schemas, "ansi", "-- fragment: returning(columns)\nRETURNING {columns}\n")
    (schemas / "ansi" / "shop" / "f.sql").write_text(
        "-- name: x\nUPDATE t {{returning(a, f(b, c))}};\n", encoding="utf-8"
    )
    assert sql.find(OWN, "shop", "x").text == "UPDATE t RETURNING a, f(b, c)"


def test_a_comment_between_statements_belongs_to_the_next_one(schemas: Path) -> None:
    text = "-- name: first\nSELECT 1;\n\n-- On the second.\n\n-- name: second\n-- More.\nSELECT 2\n"
    (schemas / "own" / "shop" / "b.sql").write_text(text, encoding="utf-8")
    assert sql.find(OWN, "shop", "first").text == "SELECT 1"
    assert sql.find(OWN, "shop", "second").description == "On the second. More."


def test_scripts_of_an_engine_without_sql_are_named_alike(schemas: Path) -> None:
    (schemas / "own" / "shop" / "b.lua").write_text("-- name: sell\nreturn {ok = 1}\n", encoding="utf-8")
    assert sql.find(("own",), "shop", "sell").text == "return {ok = 1}"


def test_a_statement_may_make_commands(schemas: Path) -> None:
    text = "-- commands: set\n-- Sets it.\nSELECT 'SET x'\n-- name: get\nSELECT x\n"
    (schemas / "own" / "shop" / "b.sql").write_text(text, encoding="utf-8")
    found = sql.statements(OWN, "shop")
    assert (found["set"].makes_commands, found["get"].makes_commands) == (True, False)
    assert found["set"].description == "Sets it."
    assert found["set"].filled({}).makes_commands


def test_all_statements_are_listed_once_and_can_be_selected_by_folder_and_name(schemas: Path) -> None:
    for folder in ("own/server", "own/shop/stall"):
        (schemas / folder).mkdir(parents=True)
        (schemas / folder / "c.sql").write_text("-- name: count_rows\nSELECT 1\n", encoding="utf-8")
    assert sql.folders(OWN) == ["server", "shop", "shop.stall"]

    def listed(*given: str | None) -> list[str]:
        return [f"{one.origin.relative_to(schemas)} {one.name}" for one in sql.listed_statements(OWN, *given)]

    whole = ["own/server/c.sql count_rows", "ansi/shop/a.sql take_item", "ansi/shop/a.sql count_rows"]
    assert listed() == [*whole, "own/shop/stall/c.sql count_rows"]
    assert listed("shop/stall") == ["ansi/shop/a.sql take_item", "own/shop/stall/c.sql count_rows"]
    assert listed(None, "take_item") == ["ansi/shop/a.sql take_item"]
    with pytest.raises(
        InputError, match="own has no folder 'shed' of statements; its folders: server, shop, shop/st"
    ):
        listed("shed")
    with pytest.raises(InputError, match="own has no statement 'nothing'; see: hdbkit sql show own"):
        listed(None, "nothing")


def own(text: str, dialect: str = "postgresql") -> Statement:
    return sql.made("own", text, Path("own.sql"), sql.lexer_of(("ansi", dialect)))


def test_values_and_words_in_texts_and_comments_are_plain_text() -> None:
    text = "SELECT :id, {n}, ':id {n}', $$:id {n}$$, E'\\':id', \":id {n}\" /* :id {n} */ FROM t -- :id {n}"
    found = own(text)
    assert (found.parameters, found.words) == (("id",), {"n"})
    sent = text.replace(":id", "$1", 1).replace("{n}", "7", 1)
    assert found.filled({"n": 7}).rendered(lambda _, index: f"${index}") == f"{sent}\n"
    assert found.filled({"n": 7}).rendered_by_use("${}".format) == f"{sent}\n"


def test_a_backslash_makes_a_value_or_a_word_plain() -> None:
    found = own("SELECT \\:id, \\{n}, :id")
    assert (found.parameters, found.words) == (("id",), set())
    assert found.rendered(lambda *_: "?") == "SELECT :id, {n}, ?"


def test_a_comment_at_the_end_takes_nothing_that_follows() -> None:
    assert own("SELECT 1 -- one").rendered(lambda *_: "?") + ";COMMIT" == "SELECT 1 -- one\n;COMMIT"
    assert own("SELECT 1 /* one */").rendered(lambda *_: "?") == "SELECT 1 /* one */"


def test_a_name_is_inserted_with_the_quotes_of_the_dialect() -> None:
    name = identifier('sales."Or;ders"')
    for dialect, written in (("postgresql", 'sales."Or;ders"'), ("mysql", "sales.`Or;ders`")):
        assert own("SELECT max(a) FROM {table}", dialect).filled({"table": name}).text.endswith(written)


def test_casts_are_seen_through_comments() -> None:
    found = own("SELECT :id /* a */ ::text, CAST(:id /* b */ AS text), :id")
    assert found.uses == (("id", "text"), ("id", ""))
    assert found.rendered_by_use("${}".format) == "SELECT $1 /* a */ ::text, CAST($1 /* b */ AS text), $2"
