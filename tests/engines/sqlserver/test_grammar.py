"""Every statement of SQL Server is read by sqlfluff's grammar of T-SQL, without a server.

It reads the syntax alone, and takes a misspelt first word for the call of a procedure. The grammar of ANTLR's
collection, in Babelfish, is stricter and also reads what this one does not: ``test_on_babelfish.py``.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.engines.sqlserver.tsql_texts import own_texts

pytestmark = pytest.mark.long
UNREAD = {
    *("server.checkpoint.0", "server.flush_cache.0"),
    *("tproc_h.drop_partitions.0", "tproc_h.drop_partitions.1"),  # IF with IS NULL
    *(f"options.tproc_c.create_routine_{name}.0" for name in ("new_order", "delivery")),  # CREATE TYPE ... WITH
}
SEEDED = [
    ("WHERE w_id = @w_id", "WHERE WHERE w_id = @w_id"),
    ("WHILE @line <= @count", "WHILE @line <="),
    ("VALUES (@w_id", "VALUES @w_id"),
    ("CASE @d_id", "CASE @d_id THEN"),
    ("BEGIN ATOMIC WITH (", "BEGIN ATOMIC ("),
]
"""Errors in the natively compiled procedure, which the grammar must reject."""
Reads = Callable[[str], bool]


@pytest.fixture(scope="module")
def sqlfluff() -> Reads:
    """Whether sqlfluff reads a text."""
    core = pytest.importorskip("sqlfluff.core", reason="sqlfluff is not installed")
    linter = core.Linter(config=core.FluffConfig(overrides={"dialect": "tsql"}))
    return lambda text: not linter.parse_string(f"{text};\n").violations


def test_sqlfluff_reads_every_statement_of_sql_server(sqlfluff: Reads) -> None:
    found = own_texts()
    assert len(found) > 90
    assert {name for name, text in found.items() if not sqlfluff(text)} == UNREAD


@pytest.mark.parametrize(("good", "bad"), SEEDED)
def test_sqlfluff_rejects_seeded_errors(good: str, bad: str, sqlfluff: Reads) -> None:
    text = own_texts()["options.tproc_c.create_routine_new_order.1"]
    assert good in text
    assert not sqlfluff(text.replace(good, bad, 1))
