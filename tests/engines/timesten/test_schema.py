"""Tables and cache groups of TimesTen."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from hdbkit.config import spec_from
from hdbkit.contracts import Table, TableLoad
from hdbkit.databases.timesten import TimesTenSchema
from hdbkit.errors import InputError
from hdbkit.workloads import workload
from tests.engines.oracle.double import Answer, Module
from tests.engines.timesten.sessions import ENGINE, TARGET

FULL_C = {"item": ["item"], "warehouse": ["warehouse", "district", "customer", "stock"]} | {
    "orders": ["orders", "new_order", "order_line"],
    "history": ["history"],
}
FULL_H = {
    "region": ["region", "nation", "supplier", "customer"],
    "part": ["part", "partsupp"],
    "orders": ["orders", "lineitem"],
}
GROWING = {"orders", "history"}


def answers(text: str, _: Any) -> Answer:
    return Answer([] if text.startswith("SELECT") else None)


def schema_of(kind: str = "tproc_c", **storage: object) -> TimesTenSchema:
    size = {"warehouses": 2} if kind == "tproc_c" else {"kind": kind, "scale_factor": 1}
    made = ENGINE.schema(TARGET, workload(spec_from({**size, "storage": storage})))
    assert isinstance(made, TimesTenSchema)
    return made


def built(oracledb: Module, kind: str = "tproc_c", **storage: object) -> list[str]:
    """What is sent from the creation of the tables to the end of a build."""
    oracledb.answers = answers
    with closing(schema_of(kind, **storage)) as schema:
        oracledb.forget()
        schema.create("{}")
        for step in schema.after_load():
            schema.do(step)
        schema.routines()
        schema.finish()
    return oracledb.texts


def test_tables_without_cache_groups_are_tables_of_timesten(oracledb: Module) -> None:
    texts = built(oracledb)
    tables = [text.split()[2] for text in texts if text.startswith("CREATE TABLE")]
    assert len([name for name in tables if not name.startswith("build_")]) == 9
    assert texts.count("CREATE SEQUENCE history_ids") == 1
    assert not [text for text in texts if "CACHE" in text or "ttRep" in text]
    assert len([text for text in texts if text.startswith("CREATE OR REPLACE PACKAGE BODY")]) == 5


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("awt", "CREATE ASYNCHRONOUS WRITETHROUGH CACHE GROUP"),
        ("swt", "CREATE SYNCHRONOUS WRITETHROUGH CACHE GROUP"),
        ("propagate", "CREATE USERMANAGED CACHE GROUP"),
        ("flush", "CREATE USERMANAGED CACHE GROUP"),
    ],
)
@pytest.mark.parametrize("part", ["full", "partial"])
def test_tables_are_in_groups_of_their_kind_which_are_loaded(
    kind: str, words: str, part: str, oracledb: Module
) -> None:
    texts = built(oracledb, cache_groups=kind, cached_tables=part)
    expected = {root: tables for root, tables in FULL_C.items() if part == "full" or root not in GROWING}
    created = {text.split("GROUP ")[1].split("_cache")[0]: text for text in texts if text.startswith(words)}
    assert created.keys() == expected.keys()
    tables = {text.split()[2] for text in texts if text.startswith("CREATE TABLE")} - {"build_spec", "build_part"}
    assert tables == {one for group in FULL_C.values() for one in group} - {t for g in expected.values() for t in g}
    loaded = [text for text in texts if text.startswith("LOAD CACHE GROUP")]
    end = "_cache_flush" if kind == "flush" else "_cache"
    assert sorted(text.split()[3] for text in loaded) == sorted(f"{root}{end}" for root in created)
    propagated = sum(text.count(", PROPAGATE") for text in created.values())
    assert propagated == (sum(map(len, expected.values())) if kind == "propagate" else 0)
    assert min(map(texts.index, loaded)) > max(map(texts.index, created.values()))
    asynchronous = kind == "awt"
    stops, starts = ([text for text in texts if name in text] for name in ("ttRepStop", "ttRepStart"))
    assert (len(stops), len(starts)) == (asynchronous, asynchronous), "only these need the replication agent"


@pytest.mark.parametrize(("kind", "groups"), [("tproc_c", FULL_C), ("tproc_h", FULL_H)])
def test_each_group_is_a_tree_and_each_table_has_its_primary_key(
    kind: str, groups: dict[str, list[str]], oracledb: Module
) -> None:
    """A root refers to nothing, each other table to exactly one table of its group that is defined before."""
    with closing(schema_of(kind, cache_groups="swt")) as schema:
        scope, work = schema._scope, schema._workload
    assert TimesTenSchema._groups_of(scope) == groups
    assert {table for tables in groups.values() for table in tables} == set(work.tables)
    for root, tables in groups.items():
        parts = scope.statements[f"create_cache_group_{root}"].text.split("\n),\n")
        for place, (table, text) in enumerate(zip(tables, parts, strict=True)):
            assert text.count("PRIMARY KEY (") == 1
            referred = [line.split("REFERENCES ")[1].split()[0] for line in text.splitlines() if "REFERENCES" in line]
            assert len(referred) == bool(place)
            assert set(referred) <= set(tables[:place]), table


@pytest.mark.parametrize(("kind", "groups"), [("tproc_c", FULL_C), ("tproc_h", FULL_H)])
def test_a_cached_table_has_the_columns_and_the_key_of_the_table(
    kind: str, groups: dict[str, list[str]], oracledb: Module
) -> None:
    with closing(schema_of(kind, cache_groups="awt")) as schema:
        known = schema._scope.statements
    for root, tables in groups.items():
        whole = known[f"create_cache_group_{root}"].text
        for table, text in zip(tables, whole.split("\n),\n"), strict=True):
            plain = known[f"create_{table}"].text.partition("(\n")[2].rpartition("\n)")[0]
            columns = [" ".join(line.strip(" ,").split()) for line in plain.splitlines()]
            lines = [" ".join(line.strip(" ,").split()) for line in text.splitlines()]
            cached = [line for line in lines if line.split()[0] in {one.split()[0] for one in columns}]
            own_key = {"h_id NUMBER(19)": "h_id NUMBER(19) NOT NULL"}
            assert cached == [own_key.get(line, line) for line in columns], table
            key = next(line.removeprefix("PRIMARY KEY ") for line in lines if line.startswith("PRIMARY KEY"))
            if table != "history":
                assert known[f"index_{table}_pk"].text.endswith(f"PRIMARY KEY {key}"), table


def test_indexes_are_created_and_the_keys_that_groups_have_are_not(oracledb: Module) -> None:
    found = [("warehouse_pk",), ("item_pk",)]
    oracledb.answers = lambda text, _: Answer(
        found if "sys.indexes" in text else [] if text.startswith("SEL") else None
    )
    with closing(schema_of(cache_groups="awt")) as schema:
        steps = schema.after_load()
    assert "index_warehouse_pk" not in steps
    assert "index_customer_by_name" in steps


def test_rows_of_cached_tables_come_from_oracle_database_alone(oracledb: Module) -> None:
    def rows() -> Iterator[bytes]:
        yield b"1\t2\n"

    oracledb.answers = answers
    sent: list[int] = []
    loads = [TableLoad(Table(name, ("a", "b"), types=("integer", "integer")), rows()) for name in ("stock", "orders")]
    with closing(schema_of(cache_groups="awt", cached_tables="partial")) as schema:
        oracledb.forget()
        schema.load("w1", loads, lambda rows, _: sent.append(rows))
    (arrays,) = [one for one in oracledb.log if one.what == "executemany"]
    assert arrays.text.startswith("INSERT INTO orders")
    assert sent == [1]
    assert next(one for one in oracledb.log if "build_part" in one.text).values["rows_"] == 1


def test_the_sequence_of_a_cached_history_continues_behind_its_rows(oracledb: Module) -> None:
    command = "CREATE SEQUENCE history_ids START WITH 60001"
    oracledb.answers = lambda text, _: Answer([(command,)]) if "|| TO_CHAR(n)" in text else answers(text, None)
    with closing(schema_of(cache_groups="swt")) as schema:
        schema.create("{}")
    assert oracledb.texts[-1] == command
    assert "CREATE SEQUENCE history_ids" not in oracledb.texts


def test_read_only_groups_are_for_workloads_that_change_nothing(oracledb: Module) -> None:
    with pytest.raises(InputError, match=r"TPROC-C changes or locks customer, district, history, .*; use awt or swt"):
        schema_of(cache_groups="read_only")
    texts = built(oracledb, "tproc_h", cache_groups="read_only")
    assert len([text for text in texts if text.startswith("CREATE READONLY CACHE GROUP")]) == 3
    texts = built(oracledb, "tproc_h", cache_groups="read_only", dynamic_cache=True, cache_refresh_s=5)
    part = "CREATE DYNAMIC READONLY CACHE GROUP part_cache AUTOREFRESH INTERVAL 5 SECONDS FROM"
    assert next(text for text in texts if "part_cache" in text).startswith(part)


def test_drop_removes_own_groups_and_the_sequence_and_no_others(oracledb: Module) -> None:
    groups, sequences = (
        [("warehouse_cache",), ("item_cache_flush",), ("sales_cache",)],
        [("history_ids",), ("invoice_ids",)],
    )
    found = {"sys.cache_group": groups, "sys.sequences": sequences}
    oracledb.answers = lambda text, _: next(
        (Answer(rows) for view, rows in found.items() if view in text), answers(text, None)
    )
    with closing(schema_of()) as schema:
        oracledb.forget()
        assert schema.drop() == [
            *("cache group warehouse_cache", "cache group item_cache_flush"),
            "sequence history_ids",
        ]
    assert [text for text in oracledb.texts if text.startswith("DROP")] == [
        *("DROP CACHE GROUP warehouse_cache", "DROP CACHE GROUP item_cache_flush"),
        "DROP SEQUENCE history_ids",
    ]


def test_partitions_are_no_option(oracledb: Module) -> None:
    with pytest.raises(
        InputError, match=r"no schema option 'partitions' \(it has: cache_groups, .*, cache_refresh_s\)"
    ):
        schema_of(partitions=4)
