"""What a server answers about itself, on a real one whose catalog is changed in databases of its own."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import hdbkit
from hdbkit.config import Target
from hdbkit.contracts import Capability
from hdbkit.databases import database, save_lacks, sql_session
from hdbkit.databases._base.file_lock import HostSchema
from hdbkit.databases._base.probing import Probe, Product, recognized
from hdbkit.databases._mysqlclient.probe import PRODUCTS as OF_MYSQL
from hdbkit.databases.postgresql import PRODUCTS as OF_POSTGRESQL
from hdbkit.databases.postgresql import PostgreSQL, PostgreSQLProbe
from hdbkit.errors import CannotConnect, Rejected
from hdbkit.servers import find_binaries, private_server
from hdbkit.workloads import specification, workload
from tests.architecture.source_tree import ROOT

Changed = Callable[..., Target]


@pytest.fixture(scope="module")
def changed() -> Iterator[Changed]:
    """A target whose catalog these commands changed."""
    if not find_binaries():
        pytest.skip("no server binaries here; see: hdbkit doctor")
    with private_server() as server:
        made: list[str] = []

        def of(*commands: str) -> Target:
            name = f"changed_{len(made)}"
            made.append(name)
            with closing(sql_session(server.admin)) as session:
                session.execute(f'CREATE DATABASE {name} OWNER "{server.target.user}"')
            with closing(sql_session(server.admin.with_(database=name))) as session:
                session.execute("SET allow_system_table_mods = on")
                for command in commands:
                    session.execute(command)
            return server.target.with_(database=name)

        yield of


def test_a_server_that_answers_everything_is_the_engine_itself(changed: Changed) -> None:
    target = changed()
    engine = database(target)
    assert engine.probed.asked and not engine.probed.unanswered
    assert (engine.dialects, engine.capabilities) == (
        database(target.kind).dialects,
        database(target.kind).capabilities,
    )


def test_a_missing_view_costs_its_own_counters_alone(changed: Changed) -> None:
    target = changed("DROP VIEW pg_stat_wal")
    engine = database(target)
    assert engine.probed.unanswered == ("counters_of_log",)
    with closing(engine.connect(target)) as session:
        counters = engine.counters(session)
    assert "wal_bytes" not in counters and {"commits", "waiting_locks", "scanned_rows"} <= counters.keys()
    found = hdbkit.doctor(target).query("subject == 'product'")
    assert found.state.tolist() == ["warning"] and "counters_of_log" in found.detail.item()


def test_a_build_without_optional_answers_makes_no_routines_and_has_a_claim(changed: Changed) -> None:
    """Number of free connections, locks for the claim and stored routines are missing."""
    target = changed(
        "ALTER FUNCTION pg_catalog.pg_try_advisory_xact_lock(integer, integer) RENAME TO no_lock",
        "ALTER VIEW pg_catalog.pg_stat_database RENAME TO no_statistics",
        "UPDATE pg_language SET lanname = 'none' WHERE lanname = 'plpgsql'",
    )
    engine = database(target)
    assert {"claim_schema", "free_connections", "counters"} <= {*engine.probed.unanswered}
    assert not engine.capabilities & {Capability.STORED_ROUTINES, Capability.COUNTS_COMMITS}
    work = workload(specification(None))
    with closing(engine.schema(target, work)) as schema, closing(engine.schema(target, work)) as other:
        assert isinstance(schema, HostSchema) and schema.claim() and not other.claim()
        schema.create(work.record)
        schema.routines()
        assert schema.log().tables and not schema.session.query("list_routines")


def test_what_a_check_shows_about_locks_is_used_while_the_server_states_the_same(
    changed: Changed, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    target = changed()
    save_lacks(database(target), frozenset({Capability.ROW_LOCKS}))
    assert Capability.ROW_LOCKS not in database(target).capabilities
    other = changed("CREATE EXTENSION IF NOT EXISTS plpgsql", "DELETE FROM pg_extension")
    assert Capability.ROW_LOCKS in database(other).capabilities
    save_lacks(database(target), frozenset())
    assert Capability.ROW_LOCKS in database(target).capabilities


@pytest.mark.parametrize(
    "more",
    [
        (),
        (
            "CREATE FUNCTION pg_catalog.pg_postmaster_start_time() RETURNS timestamptz LANGUAGE plpgsql "
            "AS $$BEGIN RAISE 'it can be prepared alone'; END$$",
        ),
    ],
)
def test_a_server_that_cannot_be_measured_is_one_sentence(changed: Changed, more: tuple[str, ...]) -> None:
    h2 = "PostgreSQL 8.2.23 server protocol using H2 2.5.252"
    target = changed(
        f"CREATE OR REPLACE FUNCTION pg_catalog.version() RETURNS text LANGUAGE sql AS $$SELECT '{h2}'$$",
        "ALTER FUNCTION pg_catalog.pg_postmaster_start_time() RENAME TO no_start_time",
        *more,
    )
    with pytest.raises(CannotConnect, match=r"the server is H2 2.5.252, and cannot answer .*: backend; it needs"):
        hdbkit.connect(target).build(warehouses=1)
    found = hdbkit.doctor(target).query("subject == 'connection'")
    assert found.state.tolist() == ["problem"] and "H2 2.5.252" in found.detail.item()


def test_the_second_session_of_a_server_that_serves_one_at_a_time_is_given_up(
    changed: Changed, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = changed("CREATE FUNCTION waits() RETURNS integer LANGUAGE sql AS 'SELECT 1 FROM pg_sleep(30)'")
    monkeypatch.setattr("hdbkit.databases._base.probing._ANSWER_S", 1)
    monkeypatch.setattr(Probe, "_second", lambda probe: Waiting(probe._engine.connect(target)))
    with pytest.raises(Rejected, match="all one session"):
        database(target).capabilities  # noqa: B018


class Waiting:
    """A session whose answers wait."""

    def __init__(self, session: Any) -> None:
        self.close, self.fileno, self._session = session.close, session.fileno, session

    def ask(self, _: str) -> Any:
        return self._session.execute("SELECT waits()")


def test_forked_processes_do_not_ask_again(changed: Changed, monkeypatch: pytest.MonkeyPatch) -> None:
    target = changed()
    assert database(target).capabilities
    monkeypatch.setattr(type(database(target.kind)), "probe", None)
    if pid := os.fork():
        assert os.waitpid(pid, 0)[1] == 0
    else:
        os._exit(0 if database(target).dialects else 1)


@pytest.mark.parametrize(
    ("products", "stated", "title"),
    [
        (OF_MYSQL, "5.7.25-OceanBase seekdb-v1.4.0.0 OceanBase 4.3.5.3 seekdb (r1.4.0.0)", "OceanBase seekdb 1.4.0"),
        (OF_MYSQL, "5.7.25-OceanBase_CE-v4.3.5.1 OceanBase_CE 4.3.5.1 (r101)", "OceanBase 4.3.5.1"),
        (OF_MYSQL, "8.0.11-TiDB-v8.5.1 TiDB Server (Apache License 2.0) Community Edition", "TiDB 8.5.1"),
        (OF_MYSQL, "8.0.31 Dolt", "Dolt"),
        (OF_MYSQL, "8.0.39 Source distribution aurora_version=3.08.0", "Aurora MySQL 3.08.0"),
        (OF_MYSQL, "8.0.39-30 Percona XtraDB Cluster (GPL), Release rel30 wsrep_on=ON", "Percona XtraDB Cluster"),
        (OF_MYSQL, "10.11.19-MariaDB-0+deb12u1 Debian 12 wsrep_on=OFF", ""),
        (OF_MYSQL, "8.4.3 MySQL Community Server - GPL", ""),
        (OF_POSTGRESQL, "PostgreSQL 12.3, compiled by Visual C++ build 1914, 64-bit, QuestDB", "QuestDB"),
        (OF_POSTGRESQL, "PostgreSQL 8.0.2 on i686-pc-linux-gnu, Redshift 1.0.77467", "Redshift 1.0.77467"),
        (OF_POSTGRESQL, "CockroachDB CCL v24.1.3 (x86_64-pc-linux-gnu)", "CockroachDB 24.1.3"),
        (OF_POSTGRESQL, "PostgreSQL 11.2-YB-2.20.1.3-b0 on x86_64-pc-linux-gnu", "YugabyteDB 2.20.1.3"),
        (OF_POSTGRESQL, "PostgreSQL 17.2 plpgsql=1.0 citus=13.0-1", "Citus 13.0"),
        (OF_POSTGRESQL, "PostgreSQL 17.2 on x86_64-pc-linux-gnu, compiled by gcc plpgsql=1.0", ""),
    ],
)
def test_products_are_recognized_by_what_they_state(products: tuple[str, ...], stated: str, title: str) -> None:
    assert recognized(products, stated)[1] == title  # type: ignore[arg-type]


def test_the_table_of_products_in_the_docs_is_that_of_the_code() -> None:
    listed = [
        f"| {one.title} | {protocol} | {_kind(one)} | {one.tried or 'no'} |"
        for protocol, products in (("PostgreSQL", OF_POSTGRESQL), ("MySQL", OF_MYSQL))
        for one in products
    ]
    page = (ROOT / "docs" / "engines.md").read_text(encoding="utf-8")
    assert "\n".join(listed) in page


def _kind(one: Product) -> str:
    if one.hindrance:
        return f"refused: {one.hindrance}"
    return "another implementation" if one.is_foreign else "addition"


def test_a_variant_of_another_package_is_a_class_with_its_own_dialect(
    changed: Changed, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Variant(PostgreSQL):
        kind = "variant"
        title = "Variant"
        dialects = (*PostgreSQL.dialects, "product", "variant")
        capabilities = PostgreSQL.capabilities - {Capability.PLANS}

    target = changed()
    engine = Variant().at(target)
    with closing(engine.connect(target)) as session:
        assert engine.version(session).startswith("Variant, speaks PostgreSQL 1")
    assert engine.capabilities == Variant.capabilities
    product = Product("Product", "PostgreSQL ([0-9]+)", dialect="product")
    monkeypatch.setattr(PostgreSQLProbe, "products", (product,))
    engine = Variant().at(changed())
    assert engine.probed.product.startswith("Product 1") and engine.dialects == Variant.dialects
