"""The expressions of a sweep file: their values, and that they can access nothing else."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hdbkit.config.expressions import Expression, ExpressionError, value_of
from hdbkit.config.quantities import Dimension, Quantity, quantity, quantity_text

NAMES = {
    name: value_of(text)
    for name, text in {
        "ram": "64GB",
        "cpus": "16",
        "shared_buffers": "16GB",
        "wal_compression": "lz4",
        "jit": "off",
        "timeout": "5min",
        "ext.limit": "3",
    }.items()
}


@pytest.mark.parametrize(
    ("text", "truth"),
    [
        ("shared_buffers <= 0.25 * ram", True),
        ("shared_buffers < 0.25 * ram", False),
        ("1GB < shared_buffers <= 16384MB", True),
        ("min(shared_buffers, 8GB) == 8GB and max(1, cpus, 3) == 16", True),
        ("wal_compression == 'lz4' or cpus / 0 > 1", True),
        ("wal_compression == 'on'", False),
        ("jit == off and not jit == on", True),
        ("timeout == 300s", True),
        ("round(cpus / 3) == 5", True),
        ("-cpus + 17 == 1", True),
        ("ram / shared_buffers == 4", True),
        ("ram > 0", True),
        ("ext.limit * 2 == 6", True),
    ],
)
def test_a_condition_holds_or_not(text: str, truth: bool) -> None:
    assert Expression(text).truth(NAMES) is truth


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("shared_buffers <= cpus", "compares a size and a number without unit"),
        ("shared_buffers + timeout > 1GB", "adds a size and a time"),
        ("ram * ram > 1", "multiplies a size and a size"),
        ("cpus / ram > 1", "divides a number without unit by a size"),
        ("cpus / (cpus - 16) > 1", "divides by zero"),
        ("wal_compression < 3", "compares 'lz4' and a number without unit"),
        ("wal_compression + 1 > 3", "needs a number instead of 'lz4'"),
        ("not cpus", "needs a condition instead of a number without unit"),
    ],
)
def test_what_makes_no_sense_with_the_values_is_reported(text: str, sentence: str) -> None:
    with pytest.raises(ExpressionError, match=sentence):
        Expression(text).truth(NAMES)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "ram <=",
        "__import__('os').system('true')",
        "ram.__class__()",
        "(1).real",
        "open('/etc/passwd')",
        "[1, 2]",
        "{1: 2}",
        "lambda: 1",
        "ram if cpus else 1",
        "ram ** 9",
        "ram % 3",
        "ram // 2",
        "1 in ram",
        "f'{ram}'",
        "min(*ram)",
        "max(ram, key=cpus)",
        "round(ram, 2)",
        "ram; cpus",
        "(x := 3)",
        "128XB < ram",
        "0x10 < ram",
        "a\\b",
        "ram < " + "9" * 400,
        "(" * 150 + "1" + ")" * 140,
    ],
)
def test_all_else_is_refused_with_a_message(text: str) -> None:
    with pytest.raises(ExpressionError):
        Expression(text)


def test_a_name_with_dots_is_a_name_and_never_an_attribute() -> None:
    assert Expression("ram.__class__ > 1").names == {"ram.__class__"}


@given(st.text(max_size=60) | st.text("0123456789.+-*/()<>=! arm'minxkMGB_", max_size=60))
def test_any_text_is_understood_or_refused(text: str) -> None:
    try:
        found = Expression(text)
        found.value(dict.fromkeys(found.names, Quantity(Fraction(3))))
    except ExpressionError:
        pass


@pytest.mark.parametrize(
    ("text", "dimension", "amount"),
    [
        ("128MB", Dimension.SIZE, 128 * 2**20),
        ("16G", Dimension.SIZE, 16 * 2**30),
        ("1.5 GB", Dimension.SIZE, 3 * 2**29),
        ("64KiB", Dimension.SIZE, 2**16),
        ("30s", Dimension.TIME, 30),
        ("5min", Dimension.TIME, 300),
        ("250ms", Dimension.TIME, Fraction(1, 4)),
        ("-1", Dimension.PLAIN, -1),
        ("1e3", Dimension.PLAIN, 1000),
    ],
)
def test_numbers_are_read_with_their_units(text: str, dimension: Dimension, amount: object) -> None:
    found = quantity(text)
    assert found is not None
    assert (found.dimension, found.amount) == (dimension, amount)


@pytest.mark.parametrize("text", ["auto", "on", "lz4", "4 apples", "", "MB", "1.2.3GB"])
def test_a_text_is_no_number(text: str) -> None:
    assert quantity(text) is None


@pytest.mark.parametrize(
    ("amount", "text"),
    [(2**30, "1GB"), (3 * 2**29, "1536MB"), (67414597632 // 4, "16072MB"), (16384, "16kB"), (0, "0TB")],
)
def test_a_size_is_written_in_the_largest_unit_that_fits(amount: int, text: str) -> None:
    assert quantity_text(Quantity(Fraction(amount), Dimension.SIZE)) == text
