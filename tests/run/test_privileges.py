"""What an account lacks is reported before a run, with the commands that grant it; the run would only fail."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pandas as pd
import pytest
from pydantic import SecretStr

import hdbkit
from hdbkit.config import Load, SweepSpec, Target
from hdbkit.contracts import Access
from hdbkit.databases import database, sql_session
from hdbkit.errors import InputError, NoAccess
from hdbkit.servers import PrivateServer
from tests.conftest import HdbkitCommand, execute

QUICK = Load(virtual_users=1, rampup_s=0, duration_s=0.3)


def found(target: Target, subject: str) -> pd.DataFrame:
    return hdbkit.doctor(target).query("subject == @subject")


@pytest.fixture
def reader(built: PrivateServer) -> Iterator[Target]:
    """An account that may read the schema, and nothing else."""
    may_read = "GRANT SELECT ON ALL TABLES IN SCHEMA tproc_c TO reader"
    execute(built.admin, "CREATE ROLE reader LOGIN PASSWORD 'of-the-test'", "GRANT USAGE ON SCHEMA tproc_c TO reader")
    execute(built.admin, may_read)
    yield built.target.with_(
        user="reader",
        password=SecretStr("of-the-test"),
        server_folder=None,
        password_file=None,
        may_change_settings=False,
    )
    execute(built.admin, "DROP OWNED BY reader", "DROP ROLE reader")


def test_an_account_that_may_not_analyze_is_refused_with_the_grant(built: PrivateServer, reader: Target) -> None:
    load = QUICK.model_copy(update={"analyze": True, "read_only": True})
    said = (
        r"^account reader may not analyze customer, .*; omit --analyze, or run as an administrator in .*: (GRANT .*)"
    )
    with pytest.raises(InputError, match=said) as refused:
        hdbkit.run(reader, load=load)
    execute(built.admin, str(refused.value).partition("hdbkit: ")[2])
    hdbkit.run(reader, load=load)


def test_an_account_that_may_not_change_the_tables_is_refused_with_grants_that_suffice(
    built: PrivateServer, reader: Target
) -> None:
    hdbkit.run(reader, load=QUICK.model_copy(update={"read_only": True}))
    with pytest.raises(InputError) as refused:
        hdbkit.run(reader, load=QUICK)
    head, _, grants = str(refused.value).partition("; run as an administrator in database hdbkit: ")
    assert head == f"account reader lacks privileges on the schema in {reader.url}"
    advised = found(reader, "privileges")["advice"].str.removesuffix(";")
    assert set(grants.split("; ")) <= set(advised)
    execute(built.admin, *grants.split("; "))
    result = hdbkit.run(reader, load=QUICK)
    assert (result.summary.failed, result.summary.completed > 0) == (0, True)


@pytest.fixture
def moves(tmp_path: Path, built: PrivateServer) -> Iterator[Path]:
    """A workload on tables that it did not build, with a function that not everybody may call."""
    (tmp_path / "workload.yaml").write_text(
        "name: moves\nschema_name: tproc_c\n"
        "operations: {look: {weight: 3}, move: {statements: [take, put]}, never: {weight: 0}}\n"
        "variables: {id: {key: {table: item, column: i_id}}}\n"
    )
    (tmp_path / "all.sql").write_text(
        "-- name: look\nSELECT doubled(w_id), i_name FROM warehouse, item WHERE i_id = :id\n"
        "-- name: take\nSELECT w_ytd FROM warehouse FOR UPDATE;\n"
        "-- name: put\nINSERT INTO history SELECT 1, 1, 1, 1, 1, now(), 1, 'FROM stock' FROM item WHERE i_id = :id;\n"
        "-- name: never\nDELETE FROM stock WHERE s_i_id = 1;\n"
    )
    doubled = "tproc_c.doubled(n integer)"
    execute(built.admin, f"CREATE FUNCTION {doubled} RETURNS integer LANGUAGE sql AS 'SELECT 2 * n'")
    execute(built.admin, f"REVOKE EXECUTE ON FUNCTION {doubled} FROM PUBLIC")
    yield tmp_path
    execute(built.admin, f"DROP FUNCTION {doubled}", "DELETE FROM tproc_c.history WHERE h_data = 'FROM stock'")


def test_a_users_own_workload_needs_what_its_statements_use(
    built: PrivateServer, reader: Target, moves: Path, command: HdbkitCommand, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HDBKIT_PASSWORD", "of-the-test")
    said = command("run", reader.url, "--workload", moves, "-u", 1, "--rampup-s", 0, "--duration-s", 0.3)
    assert (said.code, said.err.count("\n")) == (2, 1)
    head, _, grants = said.err.strip().partition("; run as an administrator in database hdbkit: ")
    assert head == (
        f"hdbkit: account reader lacks privileges in {reader.url} ("
        "operation look, statement look: permission denied for function doubled; "
        "operation move, statement take: permission denied for table warehouse; "
        "operation move, statement put: permission denied for table history)"
    )
    assert grants.split("; ") == [
        "GRANT EXECUTE ON ROUTINE tproc_c.doubled(n integer) TO reader",
        "GRANT UPDATE ON tproc_c.warehouse TO reader",
        "GRANT INSERT ON tproc_c.history TO reader",
    ]
    advised = hdbkit.doctor(reader, workload=moves).query("subject == 'privileges'")["advice"].str.removesuffix(";")
    assert set(grants.split("; ")) <= set(advised)
    execute(built.admin, *grants.split("; "))
    result = hdbkit.run(reader, moves, QUICK)
    assert (result.summary.failed, result.summary.completed > 0) == (0, True)


@pytest.mark.long
def test_a_sweep_is_refused_before_it_begins(reader: Target, results: Path) -> None:
    load = Load(rampup_s=0, duration_s=0.3, read_only=True)
    tried = {"isolation": ["read_committed", "serializable"]}
    changing = SweepSpec(
        factors={**tried, "mix": ["stock_level=1", "payment=1"]}, blocks=2, load=Load(duration_s=0.3)
    )
    with pytest.raises(NoAccess, match=r"GRANT INSERT ON tproc_c\.history TO reader"):
        hdbkit.sweep(reader, changing)
    assert not any(results.iterdir())
    assert len(hdbkit.sweep(reader, SweepSpec(factors=tried, blocks=2, load=load)).runs) == 4


def test_names_are_looked_up_as_the_server_does(built: PrivateServer, reader: Target) -> None:
    schema = 'CREATE SCHEMA "Other"', 'CREATE TABLE "Other"."My Table" (a int)', 'CREATE VIEW "Other".v AS SELECT 1'
    execute(built.admin, *schema, "CREATE TABLE public.warehouse (a int)")
    tables = {
        "SELECT": {'"Other"."My Table"', "Other.v", "no_such_table", "no_such.table", "pg_class"},
        **{"DELETE": {'"Other".V'}, "UPDATE": {"Warehouse"}},
    }
    asked = Access({one: frozenset(names) for one, names in tables.items()}, routines=frozenset({"abs", "no_such"}))
    try:
        with closing(sql_session(reader)) as session:
            assert database("postgresql").grants_for(session, asked) == [
                'GRANT USAGE ON SCHEMA "Other" TO reader',
                'GRANT DELETE ON "Other".v TO reader',
                'GRANT SELECT ON "Other"."My Table" TO reader',
                "GRANT UPDATE ON public.warehouse TO reader",
            ]
            assert database("postgresql").grants_for(session, Access()) == []
    finally:
        execute(built.admin, 'DROP SCHEMA "Other" CASCADE', "DROP TABLE public.warehouse")


def test_an_account_that_may_not_read_the_schema_is_told_the_grants(built: PrivateServer, reader: Target) -> None:
    execute(built.admin, "REVOKE USAGE ON SCHEMA tproc_c FROM reader")
    with pytest.raises(InputError, match="in database hdbkit: GRANT USAGE ON SCHEMA tproc_c TO reader"):
        hdbkit.run(reader, load=QUICK)
    (finding,) = found(reader, "schema").to_dict("records")
    assert (finding["state"], "GRANT USAGE ON SCHEMA tproc_c" in finding["advice"]) == ("problem", True)
