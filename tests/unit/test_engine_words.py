"""What engines are asked and what they answer, without a server: the redo log, TLS, a build in progress."""

from __future__ import annotations

from types import SimpleNamespace

import duckdb
import pytest

from hdbkit import sql
from hdbkit.config import Target
from hdbkit.databases._psycopg_connect import _connect_error
from hdbkit.errors import HalfBuilt
from hdbkit.workloads.present import advised

MIB = 1 << 20


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        (
            {"innodb_redo_log_capacity": 100 * MIB, "innodb_log_file_size": 4096 * MIB},
            ("innodb_redo_log_capacity", 100),
        ),
        ({"innodb_redo_log_capacity": 2048 * MIB, "innodb_log_file_size": 48 * MIB}, None),
        (
            {"innodb_log_file_size": 48 * MIB, "innodb_log_files_in_group": 2},
            ("innodb_log_file_size x innodb_log_files_in_group", 96),
        ),
        ({"innodb_log_file_size": 1024 * MIB, "innodb_log_files_in_group": 2}, None),
    ],
)
def test_a_redo_log_before_mysql_8_0_30_is_measured_by_its_files(
    variables: dict[str, int], expected: tuple[str, int] | None
) -> None:
    with duckdb.connect() as server:
        server.execute("CREATE SCHEMA performance_schema")
        server.execute(
            "CREATE TABLE performance_schema.global_variables (VARIABLE_NAME VARCHAR, VARIABLE_VALUE VARCHAR)"
        )
        rows = [[name, str(value)] for name, value in variables.items()]
        server.executemany("INSERT INTO performance_schema.global_variables VALUES (?, ?)", rows)
        found = server.execute(sql.find(("mysql",), "server", "redo_log").text).fetchall()
    assert [(name, float(size.removesuffix(" MiB"))) for name, size, _ in found] == ([expected] if expected else [])


REFUSED = 'FATAL:  no pg_hba.conf entry for host "10.0.0.1", user "bench", database "x"'


@pytest.mark.parametrize("addition", ["no encryption", "SSL off"])
def test_a_server_that_requires_tls_is_no_matter_of_pg_hba_conf_for_a_target_that_disables_it(addition: str) -> None:
    target = Target.parse("postgresql://bench@db1/x?sslmode=disable")
    error = _connect_error(target, f"{REFUSED}, {addition}")
    assert error.reason == "the server does not allow this connection without TLS"
    assert error.advice == "set the option sslmode of the target to prefer or require"
    assert "pg_hba.conf" in _connect_error(target.with_(options={}), f"{REFUSED}, {addition}").advice


@pytest.mark.parametrize("claimed", [True, False])
def test_a_schema_that_another_process_builds_is_neither_to_be_resumed_nor_dropped(claimed: bool) -> None:
    schema = SimpleNamespace(target=Target.parse("nulldb:///x"), session=None, claim=lambda: claimed)
    problem = HalfBuilt("schema tproc_c is incomplete", "to resume, run: hdbkit build")
    found = advised(problem, schema)  # type: ignore[arg-type]
    assert isinstance(found, HalfBuilt)
    wait = "schema tproc_c is incomplete, and another process builds or drops it; wait until it has ended, or stop it"
    assert str(found) == (str(problem) if claimed else wait)
