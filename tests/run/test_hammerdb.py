"""Runs on a schema of HammerDB's: its routines in each form are run, counted and checked, and nothing of it is changed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pandas as pd
import pytest

import hdbkit
from hdbkit.build import build
from hdbkit.config import InputRules, Load, SchemaFrom, Target, WorkloadSpec
from hdbkit.errors import InputError, SchemaProblem
from hdbkit.servers import PrivateServer, private_server
from tests.hammerdb_like import connect, converted, copied, definitions, execute, rows

HAMMERDB = WorkloadSpec(schema_from=SchemaFrom.HAMMERDB)
QUICK = {"innodb_flush_log_at_trx_commit": "0", "innodb_fast_shutdown": "2", "innodb_doublewrite": "0"}
UNDECIDED = ["condition 10", "condition 11", "condition 12", "stock"]


@pytest.fixture(scope="session")
def procedures(built: PrivateServer) -> Target:
    return copied(built, "hammerdb_procedures")


@pytest.fixture(scope="session")
def functions(built: PrivateServer) -> Target:
    return copied(built, "hammerdb_functions", functions=True)


def filled(kind: str) -> Iterator[Target]:
    try:
        server = private_server(kind, settings=QUICK)
    except InputError as error:
        pytest.skip(f"no server: {error}")
    with server:
        build(server.target, WorkloadSpec())
        yield converted(server.target)


@pytest.fixture(scope="session")
def mariadb() -> Iterator[Target]:
    yield from filled("mariadb")


@pytest.fixture(scope="session")
def mysql() -> Iterator[Target]:
    yield from filled("mysql")


@pytest.fixture(params=["procedures", "functions", "mariadb", "mysql"])
def target(request: pytest.FixtureRequest) -> Target:
    found: Target = request.getfixturevalue(request.param)
    return found


def checks(result: hdbkit.Result) -> pd.Series:
    return result.checks.set_index("name")["passed"]


def test_a_run_counts_the_new_orders_of_the_schema_and_changes_no_definition(target: Target) -> None:
    before = definitions(target)
    load = Load(virtual_users=2, rampup_s=0.3, duration_s=1.5, keep_order_ids=True)
    result = hdbkit.run(target, HAMMERDB, load)
    assert definitions(target) == before
    assert result.nopm > 0
    plan = result.manifest.plan
    assert plan["workload"]["schema_from"] == "hammerdb"
    assert plan["load"]["input_rules"] == "hammerdb"
    passed = checks(result)
    assert passed["schema's count bracketed by the clients"] is True
    assert passed["no transaction failed"] is True, result.checks
    assert passed["mix as asked"] is True
    assert passed[[f"schema: {name}" for name in UNDECIDED]].isna().all()
    decided = passed[[name for name in passed.index if name.startswith("schema: ") and name[8:] not in UNDECIDED]]
    assert decided.index.size == 9 + 2 + 9
    assert decided.map(lambda one: one is True).all(), decided
