"""Scripts and commands of engines without SQL: what they state, and how values are stored."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from pathlib import Path

from hdbkit.databases.redis.load import encoded, readers, storer
from hdbkit.sql import parsed


def test_a_script_states_its_parameters_and_its_result(tmp_path: Path) -> None:
    """In a script a colon is no parameter, and a script without that line has none."""
    file = tmp_path / "some.lua"
    file.write_text(
        "-- name: one\n-- What it does.\n-- parameters: a, b\n-- returns: x(100), y\nreturn text:match(':c')\n\n"
        "-- name: two\nreturn ':d'\n"
    )
    one, two = parsed(file)["one"], parsed(file)["two"]
    assert (one.parameters, one.returns, one.description) == (("a", "b"), ("x(100)", "y"), "What it does.")
    assert one.text == "return text:match(':c')"
    assert (two.parameters, two.returns) == ((), ())


def test_a_value_is_stored_in_its_form_and_read_back() -> None:
    read = readers(("a(100)", "b(10000)", "c(integer)", "d(time)", "e"))
    stored = [storer(form) for form in ("100", "10000", None, "time", None)]
    texts = [b"-1234567.05", b"0.0500", b"7", b"2026-01-02 03:04:05", b"x"]
    kept = [store(text) if store else text for store, text in zip(stored, texts, strict=True)]
    assert kept == [b"-123456705", b"500", b"7", b"1767323045000000", b"x"]
    assert [convert(one.decode()) for convert, one in zip(read, kept, strict=True)] == [
        *(Decimal("-1234567.05"), Decimal("0.0500"), 7, datetime(2026, 1, 2, 3, 4, 5), "x")
    ]


def test_null_is_an_empty_text_and_an_array_is_a_tuple() -> None:
    amount, text = readers(("a(100)", "b"))
    assert [amount(None), amount(""), amount([]), amount({}), amount([100, ""])] == [None, None, (), (), (1, None)]
    assert [text(None), text(""), text(["a", None])] == [None, "", ("a", None)]
    assert [storer(form)(b"") for form in ("100", "time")] == [b"", b""]  # type: ignore[misc]
    assert [encoded(value) for value in (None, (1, 2), (), Decimal("1.50"), "é")] == [
        b"",
        b"1,2",
        b"",
        b"1.50",
        b"\xc3\xa9",
    ]
