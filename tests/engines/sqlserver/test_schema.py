"""Schemas of SQL Server: in memory, in partitions, by columns; and what is refused."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import closing
from typing import Any

import pytest

from hdbkit.config import TprocCSpec, TprocHSpec, WorkloadSpec, spec_from
from hdbkit.contracts import Schema
from hdbkit.databases.sqlserver import SqlServer
from hdbkit.errors import InputError, RolledBackByDesign
from hdbkit.workloads import workload
from tests.engines.sqlserver.double import Module, Result, failure, result
from tests.engines.sqlserver.sessions import TARGET, connected, engine

PLACE = "sys.filegroups"
MEMORY = {"memory_optimized": "SCHEMA_AND_DATA"}


def answers(text: str, _: Sequence[Any], filegroup: int = 1, schema: str = "dbo") -> list[Result] | None:
    """A database with a filegroup for memory, and without tables."""
    if PLACE in text:
        return [result("filegroup schema name", (filegroup, schema, "tpcc"))]
    if "ELEVATE_TO_SNAPSHOT" in text and text.startswith("SELECT"):
        return [result("command", ("ALTER DATABASE CURRENT SET MEMORY_OPTIMIZED_ELEVATE_TO_SNAPSHOT = ON",))]
    return [result("name")] if text.startswith("SELECT") else None


def schema_of(of: SqlServer, pyodbc: Module, spec: WorkloadSpec) -> Schema:
    pyodbc.answers = answers
    return of.schema(TARGET, workload(spec))


@pytest.fixture
def of(pyodbc: Module, monkeypatch: pytest.MonkeyPatch) -> SqlServer:
    found = engine(pyodbc)
    monkeypatch.setattr("hdbkit.databases._base.explored.engine_at", lambda *_: found)
    return found


def test_tables_in_memory_have_their_keys_with_buckets_for_the_scale(of: SqlServer, pyodbc: Module) -> None:
    """The double refuses them inside a transaction."""
    with closing(schema_of(of, pyodbc, TprocCSpec(warehouses=3, storage={**MEMORY, "bucket_factor": 2}))) as schema:
        schema.create("{}")
        sent = pyodbc.texts
        assert sent.index("ALTER DATABASE CURRENT SET MEMORY_OPTIMIZED_ELEVATE_TO_SNAPSHOT = ON") < min(
            at for at, text in enumerate(sent) if "MEMORY_OPTIMIZED = ON" in text
        )
        tables = {text.split()[2]: text for text in sent if text.startswith("CREATE TABLE") and "DURABILITY" in text}
        assert len(tables) == 9
        assert all(
            "PRIMARY KEY NONCLUSTERED" in one and "DURABILITY = SCHEMA_AND_DATA" in one for one in tables.values()
        )
        assert "HASH (s_w_id, s_i_id) WITH (BUCKET_COUNT = 600000)" in tables["stock"]
        assert "HASH (w_id) WITH (BUCKET_COUNT = 6)" in tables["warehouse"]
        pyodbc.forget()
        schema.routines()
        made = [text for text in pyodbc.texts if text.startswith("CREATE PROCEDURE dbo.")]
        assert len(made) == 5
        assert all("WITH NATIVE_COMPILATION, SCHEMABINDING AS BEGIN ATOMIC WITH" in text for text in made)


def test_keys_in_memory_have_the_names_of_those_that_are_created_after_a_load(of: SqlServer, pyodbc: Module) -> None:
    with closing(schema_of(of, pyodbc, TprocCSpec(warehouses=1, storage=MEMORY))) as schema:
        wanted = {name.removeprefix("index_") for name in schema.after_load()}
        schema.create("{}")
    tables = " ".join(text for text in pyodbc.texts if "MEMORY_OPTIMIZED = ON" in text)
    there = set(re.findall(r"(?:CONSTRAINT|INDEX) (\w+)", tables))
    assert there - wanted == {"history_pk"}
    assert not wanted - there


@pytest.mark.parametrize(
    ("found", "said"),
    [
        ({"filegroup": 0}, "needs a filegroup for memory-optimized data, and the database tpcc has none"),
        ({"schema": "bench"}, "default schema is dbo, not bench"),
    ],
)
def test_a_database_without_place_for_tables_in_memory_is_one_sentence(
    found: dict[str, Any], said: str, of: SqlServer, pyodbc: Module
) -> None:
    pyodbc.answers = lambda text, values: answers(text, values, **found)
    with pytest.raises(InputError, match=said):
        of.schema(TARGET, workload(TprocCSpec(warehouses=1, storage=MEMORY)))
    assert not any(text.startswith(("CREATE", "ALTER")) for text in pyodbc.texts)


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ({"warehouses": 1, "storage": {**MEMORY, "columnstore": True}}, "exclude each other"),
        ({"warehouses": 1, "storage": {"partitions": 4}}, "no partitions for this workload"),
        ({"kind": "tproc_h", "scale_factor": 1, "storage": MEMORY}, "has no memory-optimized tables"),
    ],
)
def test_options_that_a_workload_cannot_have_are_refused(
    spec: dict[str, Any], said: str, of: SqlServer, pyodbc: Module
) -> None:
    with pytest.raises(InputError, match=said):
        schema_of(of, pyodbc, spec_from(spec))


def test_an_account_that_may_not_alter_the_database_is_one_sentence(of: SqlServer, pyodbc: Module) -> None:
    with closing(schema_of(of, pyodbc, TprocCSpec(warehouses=1, storage=MEMORY))) as schema:
        pyodbc.answers = lambda text, values: (
            failure("42000", 5011, "User does not have permission")
            if text.startswith("ALTER")
            else answers(text, values)
        )
        with pytest.raises(InputError, match=r"memory_optimized cannot be used: .*5011"):
            schema.create("{}")
    assert not any(text.startswith("CREATE TABLE") for text in pyodbc.texts)


def test_orders_and_lines_are_in_ranges_of_keys_for_the_scale(of: SqlServer, pyodbc: Module) -> None:
    spec = TprocHSpec(scale_factor=1, storage={"partitions": 4, "columnstore": True})  # type: ignore[call-arg]
    with closing(schema_of(of, pyodbc, spec)) as schema:
        schema.create("{}")
        assert any("RANGE RIGHT FOR VALUES (1500001, 3000001, 4500001)" in text for text in pyodbc.texts)
        (table,) = (text for text in pyodbc.texts if text.startswith("CREATE TABLE lineitem"))
        assert table.endswith("ON order_keys (l_orderkey)")
        assert "CREATE CLUSTERED COLUMNSTORE INDEX lineitem_columns ON lineitem" in pyodbc.texts
        pyodbc.forget()
        schema.drop()
        assert pyodbc.texts[-1].endswith("DROP PARTITION FUNCTION order_keys")


def test_the_unused_item_of_a_native_procedure_is_a_rollback_by_design(pyodbc: Module) -> None:
    with closing(connected(pyodbc)) as session:
        session.prepare(["call_new_order"])
        pyodbc.answers = lambda text, _: (
            failure("42000", 50001, "item number is not valid") if "EXEC" in text else None
        )
        with pytest.raises(RolledBackByDesign):
            session.perform(session.bind("call_new_order", (1, 2, 3, (7,), (1,), (5,))))
