"""User-defined workloads on real servers: built, checked, run, swept and reported like built-in ones."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import hdbkit
from hdbkit.config import Load, Target, TprocCLoad
from hdbkit.config.specs.definition import RoundTrips
from hdbkit.contracts import Capability
from hdbkit.databases import database
from hdbkit.errors import ConfigErrors, InputError, SchemaProblem
from hdbkit.results.columns import ERROR_CLASSES, Outcome
from hdbkit.servers import private_server, startable_kinds
from hdbkit.workloads import specification
from tests.architecture.source_tree import ROOT
from tests.conftest import HdbkitCommand
from tests.run.conftest import password_of

EXAMPLES = ROOT / "params" / "workloads"
QUICK = {"rampup_s": 0, "duration_s": 60, "iterations": 100, "seed": 5}


STARTABLE = [kind for kind in startable_kinds() if Capability.SQL in database(kind).capabilities]
KINDS = list({database(kind).preload: kind for kind in reversed(STARTABLE)}.values())[::-1]
"""The first engine of each driver; ``make soak`` runs the tests on every engine."""


@pytest.fixture(scope="module", params=STARTABLE if os.environ.get("HDBKIT_SOAK") else KINDS)
def target(request: pytest.FixtureRequest) -> Iterator[Target]:
    """A private server of each kind."""
    try:
        server = private_server(request.param)
    except InputError as missing:
        pytest.skip(str(missing))
    with server as own:
        yield own.target


def once(target: Target) -> None:
    """Skip a test in which nothing is the engine's, except on the first engine."""
    if target.kind != startable_kinds()[0]:
        pytest.skip(f"nothing in it is the engine's; it is tested on {startable_kinds()[0]}")


@pytest.fixture(scope="module")
def transfers(target: Target) -> Target:
    """A server with the tables of the TPC-B-like example."""
    built = hdbkit.connect(target).build(EXAMPLES / "tpcb-like")
    assert built.passed
    assert built.rows == 100_011
    return target


def test_a_transfer_runs_and_its_count_is_bracketed(transfers: Target) -> None:
    result = hdbkit.run(transfers, EXAMPLES / "tpcb-like", Load(virtual_users=2, **QUICK))
    checks = result.checks.set_index("name")["passed"]
    assert result.manifest.metric.name == "TPS"
    assert result.summary.metric_value > 0
    assert checks["schema's count bracketed by the clients"]
    assert checks["schema: balances"]
    assert "derived from TPC-B" in result.manifest.notice
    rows = rows_of(result)
    assert rows["aid"].between(1, 100_000).all()
    assert "TPS" in result.report().read_text("utf-8")


def test_statements_one_by_one_do_the_same_work(transfers: Target) -> None:
    spec = specification(EXAMPLES / "tpcb-like")
    each = spec.model_copy(update={"definition": spec.definition.model_copy(update={"round_trips": RoundTrips.EACH})})
    result = hdbkit.run(transfers, each, Load(virtual_users=2, **QUICK))
    assert result.passed or result.checks.set_index("name")["passed"]["schema: balances"]
    assert result.summary.committed > 0
    assert result.summary.failed == 0


@pytest.fixture(scope="module")
def mixed(transfers: Target, tmp_path_factory: pytest.TempPathFactory) -> hdbkit.Result:
    """A run of a workload on these tables: an operation that looks up keys, and one whose second statement fails."""
    folder = tmp_path_factory.mktemp("mixed")
    (folder / "workload.yaml").write_text(
        "name: mixed\nschema_name: tpcb_like\ndetails: [aid]\n"
        "operations: {look: {weight: 4}, both: {statements: [first, second]}}\n"
        "variables: {aid: {key: {table: '\"pgbench_tellers\"', column: tid}}, id: {sequence: {start: 1000000}}}\n"
    )
    (folder / "all.sql").write_text(
        "-- name: look\nSELECT CAST(:aid AS CHAR(9)), abalance FROM pgbench_accounts WHERE aid = :aid;\n"  # two types
        "-- name: first\nINSERT INTO pgbench_tellers (tid) VALUES (:id);\n"
        "-- name: second\nINSERT INTO pgbench_branches (bid) VALUES (1 + 0 * :id);\n"
        "-- name: check_tellers\nSELECT count(*) FROM pgbench_tellers WHERE tid >= 1000000;\n"
    )
    own = hdbkit.Workspace(results=tmp_path_factory.mktemp("results"))
    load = Load(virtual_users=1, rampup_s=0, duration_s=120, iterations=200)  # it ends when these are done
    return own.run(transfers, folder, load)


def rows_of(result: hdbkit.Result) -> pd.DataFrame:
    return pd.concat(pd.read_parquet(path) for path in result.folder.operations.glob("*.parquet"))


def test_a_failing_statement_is_counted_and_nothing_of_its_operation_is_left(mixed: hdbkit.Result) -> None:
    """The window may open after many of the operations, which take a fraction of a second."""
    rows = rows_of(mixed)
    assert len(rows) == 200
    failed = rows[rows["outcome"] == Outcome.FAILED]
    names = [mixed.manifest.operations[number] for number in rows["operation"]]
    assert names.count("both") == len(failed) > 5
    assert set(failed["operation"]) == {mixed.manifest.operations.index("both")}
    assert {ERROR_CLASSES[code] for code in failed["error_class"]} == {"constraint"}
    done = mixed.summary.operations
    assert (done["both"].committed, done["look"].failed) == (0, 0)
    assert done["both"].failed == mixed.summary.failed <= len(failed)
    assert mixed.checks.set_index("name")["passed"]["schema: tellers"]


def test_the_statements_of_a_users_workload_have_plans(mixed: hdbkit.Result) -> None:
    if Capability.PLANS in database(mixed.manifest.plan.target).capabilities:
        assert "pgbench_tellers" in mixed.plans["both first"].text
        assert mixed.plans["both first"].arguments == {"id": "1000001"}


def test_keys_are_drawn_from_the_range_of_a_table(mixed: hdbkit.Result) -> None:
    assert set(rows_of(mixed).query("operation == 0")["aid"]) == set(range(1, 11))


def test_a_statement_that_loads_finds_the_rows_of_all_tables(target: Target, tmp_path: Path) -> None:
    once(target)
    (tmp_path / "workload.yaml").write_text(
        "name: copied\nschema_name: copied\noperations: {look: {}}\n"
        "tables: {things: {rows: 250000, columns: {id: row}}, copies: {rows: 0, columns: {id: row}}}\n"
    )
    (tmp_path / "all.sql").write_text(
        "-- name: create_things\nCREATE TABLE things (id INTEGER);\n"
        "-- name: create_copies\nCREATE TABLE copies (id INTEGER);\n"
        "-- name: load_copies\nINSERT INTO copies SELECT id FROM things;\n"
        "-- name: check_copies\nSELECT 250000 - count(*) FROM copies;\n"
        "-- name: look\nSELECT count(*) FROM copies;\n"
    )
    connection = hdbkit.connect(target)
    built = connection.build(tmp_path, loaders=4)
    connection.drop(tmp_path)
    assert {check.name: check.passed for check in built.checks}["copies"]


def test_another_workload_s_schema_and_a_wrong_option_are_refused(transfers: Target, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    for path in (EXAMPLES / "tpcb-like").iterdir():
        (other / path.name).write_text(path.read_text().replace("name: tpcb-like", "name: other"))
    with pytest.raises(SchemaProblem, match=r"schema tpcb_like is of another workload \(tpcb-like\)"):
        hdbkit.run(transfers, other, Load(**QUICK))
    for workload, place in ((other, "belongs to the workload custom tpcb-like"), (None, "schema tproc_c in")):
        with pytest.raises(SchemaProblem, match=f"{place}.* nothing was dropped"):
            hdbkit.connect(transfers).drop(workload)
    assert hdbkit.connect(transfers).check(EXAMPLES / "tpcb-like")["passed"].all()
    with pytest.raises(ConfigErrors, match="routines: unknown key"):
        hdbkit.run(transfers, EXAMPLES / "tpcb-like", TprocCLoad(routines="client"))


def test_it_is_run_listed_and_compared_from_the_command_line_with_several_users_in_a_process(
    transfers: Target, command: HdbkitCommand, monkeypatch: pytest.MonkeyPatch
) -> None:
    once(transfers)
    monkeypatch.setenv("HDBKIT_PASSWORD", password_of(transfers))
    options = [word for name, value in QUICK.items() for word in (f"--{name.replace('_', '-')}", value)]
    users = ["--virtual-users", 3, "--users-per-process", 2]
    said = command("run", transfers.url, "--workload", EXAMPLES / "tpcb-like", *users, *options, "--json")
    assert said.code in (0, 1), said.err
    assert said.json["result"]["metric_value"] > 0
    assert "TPS" in command("compare", said.json["run_id"], said.json["run_id"]).out
    (found,) = command("runs", "list", "--where", "tps > 0 and scale = 'scale 1'", "--json").json
    assert np.isfinite(found["metric_value"])
    result = hdbkit.result(said.json["run_id"])
    assert sorted(rows_of(result)["virtual_user"].unique()) == [0, 1, 2]
    assert len(result.table("clients")) == 2
    assert result.checks.set_index("name")["passed"]["schema's count bracketed by the clients"]


@pytest.fixture
def empty(target: Target) -> Iterator[Target]:
    """Another server of the kind: on MariaDB and MySQL, a target's database is the schema of one workload."""
    with private_server(target.kind) as own:
        yield own.target


def test_a_new_workload_is_built_and_run_as_it_is_and_a_wrong_statement_is_named_without_a_run(
    empty: Target, tmp_path: Path, command: HdbkitCommand
) -> None:
    folder = tmp_path / "My Orders 2"
    assert command("workload", "new", folder, "--json").json["files"] == [
        str(folder / "workload.yaml"), str(folder / "statements.sql")
    ]  # fmt: skip
    assert command("workload", "new", folder).code == 2
    assert (
        "there is no schema of reads and updates of entries"
        in command("workload", "check", folder, empty.server_folder).err
    )
    assert hdbkit.connect(empty).build(folder).passed
    accepted = command("workload", "check", folder, empty.server_folder, "--json")
    assert accepted.code == 0, accepted.err
    assert {row["state"] for row in accepted.json} == {"accepted"}
    assert hdbkit.run(empty, folder, Load(virtual_users=1, **QUICK)).summary.failed == 0

    texts = folder / "statements.sql"
    texts.write_text(texts.read_text().replace("SET amount = :amount", "SET total = :amount"))
    rejected = command("workload", "check", folder, empty.server_folder, "--json")
    assert rejected.code == 1
    found = {row["statement"]: (row["state"], row["detail"]) for row in rejected.json}
    assert found["read_entry"] == ("accepted", "")
    assert found["update_entry"][0] == "rejected"
    assert "total" in found["update_entry"][1]
    with pytest.raises(ConfigErrors) as refused:
        hdbkit.Workspace(results=tmp_path / "results").run(empty, folder, Load(virtual_users=1, **QUICK))
    (problem,) = refused.value.problems
    line = texts.read_text().partition("-- name: update_entry")[0].count("\n") + 1
    assert (problem.where, problem.line) == ("statements.sql: update_entry", line)
    assert problem.what.startswith("operation change_entry: ")
    assert not list(tmp_path.glob("results/*/manifest.json"))
