"""A load stores exactly the generated data; dropping removes it and nothing else."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from hashlib import sha256
from typing import Any

import pytest

from hdbkit.config import Target, TprocCSpec
from hdbkit.contracts import Capability, Database, SqlSession, Table
from hdbkit.errors import SchemaProblem
from hdbkit.loading import drop
from hdbkit.workloads import workload
from hdbkit.workloads.custom.population import load_text
from hdbkit.workloads.tproc_c.conformance.rules import fill, runner
from hdbkit.workloads.tproc_c.tables import TPROC_C_TABLES
from tests.conformance.conftest import Connect, Tables

WORK = workload(TprocCSpec(warehouses=1))


@pytest.mark.needs(Capability.DECIMALS, "4.50 is read as 4.5")
def test_a_population_arrives_as_it_was_made(schema: SqlSession, connect: Connect) -> None:
    """The oracle is the text itself: items and the first chunk of each table of a warehouse, 132,000 rows."""
    session = connect()
    for key in ("item", "warehouse-1"):
        for load in WORK.part(key):
            text = next(load.chunks)
            session.begin()
            rows = session.load(load.table, [text])
            session.commit()
            content = [_line(row) for row in session.query(f"content_{load.table.name}")]
            assert (load.table.name, len(content)) == (load.table.name, rows)
            assert (load.table.name, _digest("".join(content).encode())) == (load.table.name, _digest(text))


def _digest(text: bytes) -> str:
    return sha256(text).hexdigest()


def _line(row: tuple[Any, ...]) -> str:
    return "\t".join(map(_field, row)) + "\n"


def _field(value: Any) -> str:
    if value is None:
        return r"\N"
    return value.isoformat(" ") if isinstance(value, datetime) else str(value)


def test_a_keyed_history_takes_payments_as_ever(
    schema: SqlSession, connect: Connect, engine: Database, ways: tuple[str, ...]
) -> None:
    if "key_history" not in WORK.scope(engine.dialects).statements:
        pytest.skip("this engine has no option for it")
    schema.query("key_history")
    try:
        fill(schema)
        for way in ways:
            runner(way, connect())("payment", 1, 1, 2, 1, 2, None, Decimal("1.00"))
        assert ("history_pk",) in schema.query("list_indexes")
        assert [len(row) for row in schema.query("content_history")] == [len(TPROC_C_TABLES["history"].columns)] * 2
    finally:
        schema.query("drop_table", table="history")
        schema.query("create_history")


def test_a_drop_takes_tables_and_routines(target: Target, engine: Database, tables: Tables) -> None:
    tables.emptied().close()
    dropped = drop(target, WORK.spec)
    tables.gone()
    assert {f"table {table}" for table in WORK.tables} <= set(dropped)
    routines = {f"routine {name}" for name in WORK.routines}
    assert routines <= set(dropped) or Capability.STORED_ROUTINES not in engine.capabilities
    with pytest.raises(SchemaProblem, match="nothing was dropped"):
        drop(target, WORK.spec)


def test_a_drop_leaves_what_is_somebody_elses(target: Target, tables: Tables) -> None:
    session = tables.emptied()
    session.execute("CREATE TABLE mine (a INTEGER)")
    try:
        assert not any("mine" in what for what in drop(target, WORK.spec))
        assert session.query("list_tables") == [("mine",)]
    finally:
        session.execute("DROP TABLE mine")
        session.close()
        drop_the_rest(target)
        tables.gone()


def drop_the_rest(target: Target) -> None:
    """What an engine keeps of a schema whose tables are gone."""
    try:
        drop(target, WORK.spec)
    except SchemaProblem:
        return


TEXTS = ["a\rb", "\r", "end\r\n", "two\nlines", "tab\t", "back\\slash", "\\r", "\\N", "\\.", "it's é"]


def test_a_text_with_any_character_is_loaded_as_it_is(schema: SqlSession) -> None:
    rows = [(number, 1, "name", "1.00", text) for number, text in enumerate(TEXTS)]
    table = Table("item", ("i_id", "i_im_id", "i_name", "i_price", "i_data"))
    schema.begin()
    schema.load(table, ["".join("\t".join(map(load_text, row)) + "\n" for row in rows).encode()])
    found = {row[0]: row[4] for row in schema.query("content_item")}
    schema.rollback()
    assert found == dict(enumerate(TEXTS))
