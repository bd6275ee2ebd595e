"""Runs on a HammerDB schema: its routines are run, counted and checked in each form; nothing is changed."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml

import hdbkit
from hdbkit.config import Load, Target, TprocCLoad, TprocCSpec
from hdbkit.config.specs.tproc_c import InputRules, Routines
from hdbkit.config.workload_spec import SchemaFrom
from hdbkit.contracts import Session, UserPlan
from hdbkit.errors import ErrorClass, InputError, NoAccess, RolledBackByDesign, SchemaProblem, TransactionError
from hdbkit.loading import build
from hdbkit.results.spool import head_type
from hdbkit.servers import PrivateServer, private_server
from hdbkit.workloads import workload
from tests.conftest import HdbkitCommand, login_options
from tests.hammerdb_like import GROUP, connect, converted, copied, definitions, execute, rows

HAMMERDB = TprocCSpec(schema_from=SchemaFrom.HAMMERDB)
QUICK = {"innodb_flush_log_at_trx_commit": "0", "innodb_doublewrite": "0"}
WORK = workload(HAMMERDB)


def total(session: Session) -> int:
    """The schema's own count of new orders."""
    return int(session.ask(WORK.metric.counter or "")[0][0])


UNDECIDED = ["condition 10", "condition 11", "condition 12", "stock"]


@pytest.fixture(scope="session")
def procedures(built: PrivateServer) -> Target:
    return copied(built, "hammerdb_procedures")


@pytest.fixture(scope="session")
def functions(built: PrivateServer) -> Target:
    return copied(built, "hammerdb_functions", functions=True)


def filled(kind: str) -> Iterator[PrivateServer]:
    try:
        server = private_server(kind, settings=QUICK)
    except InputError as error:
        pytest.skip(f"no server: {error}")
    with server:
        build(server.target, TprocCSpec())
        converted(server.target)
        yield server


@pytest.fixture(scope="session")
def mariadb_server() -> Iterator[PrivateServer]:
    yield from filled("mariadb")


@pytest.fixture(scope="session")
def mysql_server() -> Iterator[PrivateServer]:
    yield from filled("mysql")


@pytest.fixture(scope="session")
def mariadb(mariadb_server: PrivateServer) -> Target:
    return mariadb_server.target


@pytest.fixture(scope="session")
def mysql(mysql_server: PrivateServer) -> Target:
    return mysql_server.target


@pytest.fixture(params=["procedures", "functions", "mariadb", *(["mysql"] if os.environ.get("HDBKIT_SOAK") else [])])
def target(request: pytest.FixtureRequest) -> Target:
    found: Target = request.getfixturevalue(request.param)
    return found


def checks(result: hdbkit.Result) -> pd.Series:
    return result.checks.set_index("name")["passed"]


def test_a_run_counts_the_new_orders_of_the_schema_and_changes_no_definition(target: Target) -> None:
    before = definitions(target)
    load = TprocCLoad(virtual_users=2, rampup_s=0, duration_s=60, iterations=300, keep_order_ids=True)
    result = hdbkit.run(target, HAMMERDB, load)
    assert definitions(target) == before
    assert result.metric_value > 0
    plan = result.manifest.plan
    assert plan.workload.schema_from == "hammerdb"
    assert plan.load.input_rules == "hammerdb"
    assert plan.load.start_delay_ms == 500
    passed = checks(result)
    assert passed["schema's count bracketed by the clients"] is True
    assert passed["no transaction failed"] is True, result.checks
    assert passed["mix as asked"] is True
    assert passed[[f"schema: {name}" for name in UNDECIDED]].isna().all()
    decided = passed[[name for name in passed.index if name.startswith("schema: ") and name[8:] not in UNDECIDED]]
    assert decided.index.size == 9 + 2 + 9
    assert decided.map(lambda one: one is True).all(), decided


@pytest.fixture
def item_gaps(target: Target) -> Iterator[None]:
    """Items 95001 and up are not found, so that many new orders meet what only the unused item should be."""
    execute(target, GROUP, "UPDATE item SET i_id = i_id + 100000 WHERE i_id > 95000")
    yield
    execute(target, GROUP, "UPDATE item SET i_id = i_id - 100000 WHERE i_id > 100000")


@pytest.mark.usefixtures("item_gaps")
def test_what_returns_is_committed_and_what_is_rolled_back_says_so(target: Target) -> None:
    """MariaDB's and MySQL's routines roll an order back without a word, PostgreSQL's commit it."""
    session = connect(target)
    plan = UserPlan(index=0, seed=4)
    user = WORK.user(session, WORK.load(Load()), plan)
    before, outcomes, ids = total(session), Counter(), []
    for prepared in user.next_batch()[:200]:
        if WORK.operations[prepared.operation] != "new_order":
            prepared.perform(prepared.bound)
            continue
        try:
            raw = prepared.perform(prepared.bound)
            outcomes["committed"] += 1
            record = np.frombuffer(user.head(prepared, raw), head_type(WORK.details))[0]
            ids.append((int(record["d_id"]), int(record["o_id"])))
        except RolledBackByDesign:
            outcomes["rolled back"] += 1
    assert outcomes["committed"] == total(session) - before > 10
    assert (outcomes["rolled back"] > 10) is (target.kind in ("mariadb", "mysql"))
    known = {(d_id, o_id) for d_id, o_id in rows(session, "SELECT o_d_id, o_id FROM orders WHERE o_id > 3000")}
    reported = [one for one in ids if one[1]]
    assert known.issuperset(reported)
    assert len(set(reported)) == (0 if target.database == "hammerdb_functions" else outcomes["committed"])
    session.close()


def test_the_variables_of_a_routine_are_read(mariadb: Target) -> None:
    session, read = connect(mariadb), {}
    for prepared in WORK.user(session, WORK.load(Load()), UserPlan(index=0, seed=4)).next_batch():
        name = WORK.operations[prepared.operation]
        if name not in ("delivery", *read):
            with suppress(RolledBackByDesign):  # the routine draws it: one of a hundred new orders
                read[name] = [len(row) for row in session.rows(prepared.perform(prepared.bound))]
    session.close()
    assert read == {"new_order": [6], "payment": [26], "order_status": [8], "stock_level": [1]}


@pytest.mark.parametrize("form", ["procedures", "functions"])
def test_a_deadlock_is_reported_though_a_procedure_that_met_one_rolls_back_in_silence(
    form: str, built: PrivateServer, request: pytest.FixtureRequest
) -> None:
    target: Target = request.getfixturevalue(form)
    session, other = connect(target), connect(built.admin.with_(database=target.database))
    user = WORK.user(session, WORK.load(Load()), UserPlan(index=0, seed=4))
    order = next(one for one in user.next_batch() if WORK.operations[one.operation] == "new_order")
    d_id = np.frombuffer(order.head, head_type(WORK.details))[0]["d_id"]
    before = total(session)
    rows(other, "SET deadlock_timeout = '1min'")
    rows(other, "BEGIN; LOCK TABLE stock IN EXCLUSIVE MODE")
    with ThreadPoolExecutor(1) as pool:
        performed = pool.submit(order.perform, order.bound)
        waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = 'stock'::regclass"
        while rows(other, waiting)[0][0] == 0:
            time.sleep(0.01)
        rows(other, f"UPDATE district SET d_tax = d_tax WHERE d_w_id = 1 AND d_id = {d_id}")
        rows(other, "ROLLBACK")
        with pytest.raises(TransactionError) as refused:
            performed.result()
    assert refused.value.error_class is ErrorClass.DEADLOCK
    assert total(session) == before
    order.perform(order.bound)
    assert total(session) == before + 1
    session.close()
    other.close()


def changed(target: Target, away: str, back: str, words: str) -> None:
    """After the SQL ``away`` the schema is refused with ``words``; ``back`` undoes it."""
    execute(target, GROUP, away)
    try:
        with pytest.raises(SchemaProblem, match=words):
            hdbkit.run(target, HAMMERDB)
    finally:
        execute(target, GROUP, back)


def test_what_is_no_whole_schema_of_hammerdb_s_is_refused(mariadb: Target, procedures: Target) -> None:
    rename = "ALTER TABLE {} RENAME TO {}"
    for target in (mariadb, procedures):
        away, back = rename.format("history", "elsewhere"), rename.format("elsewhere", "history")
        changed(target, away, back, "lacks the tables history; create them with HammerDB")
        logs = ("build_spec", "build_part")
        make, drop = (
            "; ".join(f"{verb} TABLE {log}{rest}" for log in logs)
            for verb, rest in (("CREATE", " (x INT)"), ("DROP", ""))
        )
        changed(target, make, drop, "hdbkit itself built this schema, not HammerDB; omit schema_from")


def test_a_routine_that_is_missing_or_another_s_is_named(
    functions: Target, procedures: Target, built: PrivateServer
) -> None:
    away, back = "ALTER ROUTINE slev RENAME TO gone", "ALTER ROUTINE gone RENAME TO slev"
    changed(procedures, away, back, "lacks the routines slev; create them with HammerDB")
    other = "CREATE FUNCTION slev(text) RETURNS text LANGUAGE sql AS 'SELECT $1'"
    changed(functions, f"{away}; {other}", f"DROP FUNCTION slev(text); {back}", r"function slev\(.*\) does not exist")
    with pytest.raises(SchemaProblem, match="no schema of TPROC-C of HammerDB"):
        hdbkit.run(built.target, HAMMERDB)


@pytest.fixture
def visitor(target: Target, request: pytest.FixtureRequest) -> Iterator[tuple[Target, Target]]:
    """An account that may connect, and the administrator of the same database."""
    word, on_postgresql = "of-the-test", target.kind == "postgresql"
    server: PrivateServer = request.getfixturevalue("built" if on_postgresql else f"{target.kind}_server")
    admin, database = server.admin.with_(database=target.database), target.database
    role = "visitor" if on_postgresql else "'visitor'@'localhost'"
    login = f"LOGIN PASSWORD '{word}'" if on_postgresql else f"IDENTIFIED BY '{word}'"
    execute(admin, GROUP, f"CREATE {'ROLE' if on_postgresql else 'USER'} {role} {login}")
    if not on_postgresql:
        execute(admin, GROUP, f"GRANT CREATE TEMPORARY TABLES ON {database}.* TO {role}")
    if request.node.callspec.params["target"] == "functions":
        execute(admin, GROUP, f"GRANT USAGE ON SCHEMA behind TO {role}")  # what only the imitation has
    options = login_options(target)
    yield target.with_(user="visitor", password=word, server_folder=None, password_file=None, options=options), admin
    if on_postgresql:
        execute(admin, GROUP, f"DROP OWNED BY {role}")
    execute(admin, GROUP, f"DROP {'ROLE' if on_postgresql else 'USER'} {role}")


def test_an_account_without_privileges_is_refused_with_grants_that_suffice(visitor: tuple[Target, Target]) -> None:
    target, admin = visitor
    load = Load(virtual_users=1, rampup_s=0, duration_s=60, iterations=100, start_delay_ms=0)
    with pytest.raises(NoAccess, match="account visitor lacks privileges on the schema") as refused:
        hdbkit.run(target, HAMMERDB, load)
    grants = refused.value.advice.partition(": ")[2].split("; ")
    for grant in grants:
        execute(admin, GROUP, grant)
    result = hdbkit.run(target, HAMMERDB, load)
    assert (result.summary.failed, result.summary.completed > 0) == (0, True)
    advised = hdbkit.doctor(target, workload=HAMMERDB).query("subject == 'privileges' and detail.str.contains('mix')")
    assert advised.empty


def test_another_scale_and_other_ways_are_refused(procedures: Target) -> None:
    with pytest.raises(SchemaProblem, match="warehouses 1, but the plan needs 3"):
        hdbkit.run(procedures, TprocCSpec(warehouses=3, schema_from=SchemaFrom.HAMMERDB))
    for load in (TprocCLoad(routines=Routines.CLIENT), TprocCLoad(input_rules=InputRules.SPEC)):
        with pytest.raises(InputError, match=r"a schema of HammerDB requires \w+ (stored|hammerdb), not"):
            hdbkit.run(procedures, HAMMERDB, load)


def test_a_schema_of_hammerdb_s_is_recognized_where_one_of_ours_is_asked_for(target: Target) -> None:
    with pytest.raises(SchemaProblem, match="--schema-from hammerdb"):
        hdbkit.run(target, TprocCSpec(), Load(rampup_s=0, duration_s=1))


def test_nothing_is_built_or_dropped(target: Target) -> None:
    before = definitions(target)
    connection = hdbkit.connect(target)
    with pytest.raises(SchemaProblem, match="hdbkit builds no schema for TPROC-C of HammerDB"):
        connection.build(workload=HAMMERDB)
    with pytest.raises(InputError, match="nothing was dropped"):
        connection.drop()
    assert definitions(target) == before


def test_tables_of_hammerdb_s_are_not_built_upon(mariadb: Target) -> None:
    """There a database is the schema; the sentence says how to run what is in it."""
    before = definitions(mariadb)
    for attempt in (hdbkit.connect(mariadb).build, partial(hdbkit.run, mariadb)):
        with pytest.raises(
            SchemaProblem, match="use another database, or use --schema-from hammerdb if HammerDB created"
        ):
            attempt()
    assert definitions(mariadb) == before


def test_the_command_line_checks_it_and_shows_it_in_a_plan(
    procedures: Target, command: HdbkitCommand, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "targets.yaml"
    path.write_text(yaml.safe_dump({"lab": procedures.model_dump(mode="json", exclude_defaults=True)}))
    monkeypatch.setenv("HDBKIT_TARGETS", str(path))
    said = command("check", "lab", "--schema-from", "hammerdb", "--json")
    assert (said.code, len(said.json)) == (0, 9 + 2 + 12 + 1)
    sweep = tmp_path / "sweep.yaml"
    sweep.write_text("settings: {work_mem: [4MB, 8MB]}\nworkload: {schema_from: hammerdb}\n")
    assert "TPROC-C of HammerDB" in command("plan", "lab", sweep).out
    said = command("run", "lab", "--schema-from", "hammerdb", "--warehouses", "3")
    assert said.code == 2
    assert "needs 3; omit warehouses, or " in said.err and "hdbkit build" not in said.err
    assert "hammerdb/routines.sql" in command("sql", "show", procedures.kind, "--folder", "tproc_c/hammerdb").out
