"""Steps of transactions that a Redis client sends: commands in the protocol, and rows of the replies."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from hdbkit.databases.redis.commands import CommandStep
from hdbkit.databases.redis.replies import Failure, read_reply
from hdbkit.sql import made


def step(text: str, parameters: str = "", returns: str = "") -> CommandStep:
    declared = f"-- parameters: {parameters}\n-- returns: {returns}\n"
    return CommandStep(made("step", declared + text, Path("steps.commands")), "app:")


def words(text: bytes) -> list[list[Any]]:
    """The commands in a text of the protocol."""
    stream, found = BytesIO(text), []
    while stream.tell() < len(text):
        found.append(read_reply(stream))
    return found


def test_a_step_is_its_commands_with_values_in_their_stored_form() -> None:
    one = step("WATCH a:$id\nHSET a:$id price $price(100) at $at(time) x|$note\nTIME", "id, price, at, note")
    sent = one.encoded((7, Decimal("12.30"), datetime(1970, 1, 2), None))
    assert words(sent) == [
        ["WATCH", "app:a:7"],
        ["HSET", "app:a:7", "price", "1230", "at", "86400000000", "x|"],
        ["TIME"],
    ]
    assert (one.commands, one.watches) == (3, True)


@pytest.mark.parametrize(
    ("returns", "replies", "rows"),
    [
        ("price(100), name", ["OK", ["1230", "soap"], None], [(Decimal("12.30"), "soap")]),
        ("price(100), name, left(integer)", ["OK", [None, None], "5"], [(None, None, 5)]),
        ("price(100), name, left(integer)", ["OK", [None, None], None], []),
        ("number(last)", ["OK", ["a,b,1", "c,2"], []], [(1,), (2,)]),
        (
            "id(integer)|at(time)|note",
            ["OK", ["1||x|y", None], "2|0|"],
            [(1, None, "x|y"), (2, datetime(1970, 1, 1), "")],
        ),
        ("", ["OK", [], []], []),
    ],
)
def test_the_values_in_replies_are_cut_into_rows(returns: str, replies: list[Any], rows: list[Any]) -> None:
    assert step("WATCH a\nHMGET a b\nGET c", returns=returns).rows(replies) == rows


def test_replies_are_read_to_their_ends() -> None:
    stream = BytesIO(b"*4\r\n$2\r\n\r\n\r\n:5\r\n$-1\r\n*-1\r\n+OK\r\n-ERR no\r\n*1\r\n$5\r\nab")
    assert [read_reply(stream) for _ in range(2)] == [["\r\n", "5", None, None], "OK"]
    failed = read_reply(stream)
    assert (failed, type(failed)) == ("ERR no", Failure)
    with pytest.raises(EOFError):
        read_reply(stream)
