"""The check of a schema reports what is missing; what its conditions find is in the rules (test_rules.py)."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from hdbkit.config.specs.tproc_c import TprocCSpec
from hdbkit.contracts import Capability, Check, SqlSession
from hdbkit.workloads.checking import run_checks
from hdbkit.workloads.tproc_c.conformance.rules import Small
from hdbkit.workloads.tproc_c.consistency import checks, sample

SPEC = TprocCSpec(warehouses=1)


def check(session: SqlSession, *has: Capability) -> list[Check]:
    """The result of every check on an engine with these capabilities."""
    return list(run_checks(checks(SPEC), cast(Any, SimpleNamespace(capabilities=has)), session))


def named(lines: list[Check], name: str) -> Check:
    (found,) = [line for line in lines if line.name == name]
    return found


def test_missing_rows_are_reported_and_indexes_are_there(small: Small, db: SqlSession) -> None:
    lines = check(db)
    assert named(lines, "indexes").passed
    assert named(lines, "rows of item") == Check("rows of item", False, "20, 100000 expected")


@pytest.mark.needs(Capability.STORED_ROUTINES, "none can be missing")
def test_a_missing_routine_is_reported(small: Small, db: SqlSession) -> None:
    db.query("drop_routine_payment")
    try:
        lines = check(db, Capability.STORED_ROUTINES)
    finally:
        db.query("create_routine_payment")
    assert named(lines, "routines") == Check("routines", False, "missing: payment")


def test_a_missing_table_is_reported(schema: SqlSession) -> None:
    schema.query("drop_table", table="history")
    try:
        assert check(schema) == [Check("tables", False, "missing: history")]
    finally:
        schema.query("create_history")


@pytest.mark.parametrize(
    ("warehouses", "ranges"),
    [(1, [(1, 1)]), (20, [(1, 20)]), (21, [(1, 7), (8, 14), (15, 21)]), (100, [(1, 7), (47, 53), (94, 100)])],
)
def test_the_sample_of_warehouses(warehouses: int, ranges: list[tuple[int, int]]) -> None:
    assert sample(warehouses) == ranges
