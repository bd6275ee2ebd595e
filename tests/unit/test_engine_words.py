"""What engines are asked and what they answer, without a server: the redo log, TLS, a build in progress."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import duckdb
import pytest

from hdbkit import sql
from hdbkit.config import Target
from hdbkit.config.fault import Faults
from hdbkit.databases import database
from hdbkit.databases._mysqlclient import connect as mysqlclient
from hdbkit.databases.postgresql.connect_errors import connect_error
from hdbkit.errors import HalfBuilt, InputError, Rejected
from hdbkit.faults.actions import check_faults
from hdbkit.workloads.present import advised_build

MIB = 1 << 20
NULL_SESSION: Any = None


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
        found = server.execute(sql.find(("ansi", "mysql"), "server", "redo_log").text).fetchall()
    assert [(name, float(size.removesuffix(" MiB"))) for name, size, _ in found] == ([expected] if expected else [])


REFUSED = 'FATAL:  no pg_hba.conf entry for host "10.0.0.1", user "bench", database "x"'


@pytest.mark.parametrize("addition", ["no encryption", "SSL off"])
def test_a_server_that_requires_tls_is_no_matter_of_pg_hba_conf_for_a_target_that_disables_it(addition: str) -> None:
    target = Target.parse("postgresql://bench@db1/x?sslmode=disable")
    error = connect_error(target, f"{REFUSED}, {addition}")
    assert error.reason == "the server does not allow this connection without TLS"
    assert error.advice == "set the option sslmode of the target to prefer or require"
    assert "pg_hba.conf" in connect_error(target.with_(options={}), f"{REFUSED}, {addition}").advice


def test_a_pooler_that_rejects_a_password_is_no_matter_of_pg_hba_conf() -> None:
    error = connect_error(Target.parse("postgresql://bench@db1:6432/x"), "FATAL:  SASL authentication failed")
    assert (type(error), error.reason) == (Rejected, "wrong user 'bench' or password")


def test_only_what_a_running_server_says_is_a_rejection() -> None:
    """Not what a pooler, a router or the network says while the server is down."""
    target = Target.parse("postgresql://bench@db1/x")
    rejections = (
        f"{REFUSED}",
        'FATAL: password authentication failed for user "bench"',
        'FATAL: role "x" is missing',
    )
    for text in (*rejections, 'FATAL: database "x" does not exist', "session is read-only"):
        assert type(connect_error(target, text)) is Rejected
    down = (
        "server closed the connection unexpectedly",
        "timeout expired",
        "Connection refused",
        "query_wait_timeout",
    )
    for text in (*down, "FATAL: pgbouncer cannot connect to server", "FATAL: server login has been failing"):
        assert not isinstance(connect_error(target, text), Rejected)
    target = Target.parse("mysql://bench@db1/x")
    for code in (1045, 1049, 3118):
        assert type(mysqlclient._connect_error(target, code, "")) is Rejected
    for code in (1053, 2003, 2013, 2055, 9001):
        assert not isinstance(mysqlclient._connect_error(target, code, ""), Rejected)


@pytest.mark.parametrize("claimed", [True, False])
def test_a_schema_that_another_process_builds_is_neither_to_be_resumed_nor_dropped(claimed: bool) -> None:
    schema = SimpleNamespace(target=Target.parse("nulldb:///x"), session=None, claim=lambda: claimed)
    problem = HalfBuilt("schema tproc_c is incomplete", "to resume, run: hdbkit build")
    found = advised_build(problem, schema)  # type: ignore[arg-type]
    assert isinstance(found, HalfBuilt)
    wait = "schema tproc_c is incomplete, and another process builds or drops it; wait until it has ended, or stop it"
    assert str(found) == (str(problem) if claimed else wait)


def test_a_server_behind_the_proxy_of_network_faults_keeps_the_name_that_is_verified() -> None:
    target = Target.parse("postgresql://bench@db1:5432/x?sslmode=verify-full")
    found = database("postgresql").behind_proxy(target, 40000)
    assert (found.host, found.port, found.options["hostaddr"]) == ("db1", 40000, "127.0.0.1")
    target = Target.parse("mysql://bench@db1:3306/x?ssl_mode=verify_ca")
    found = database("mysql").behind_proxy(target, 40000)
    assert (found.host, found.port) == ("127.0.0.1", 40000)


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("postgresql://bench@db1:5432/x?service=lab", "would bypass the proxy; remove the option service"),
        ("postgresql://bench@db1:5432/x?hostaddr=10.0.0.1", "would bypass the proxy; remove the option hostaddr"),
        ("postgresql://bench@:5432/x?host=db1%2Cdb2", "needs a target with one address"),
        ("mysql://bench@db1:3306/x?socket=/run/mysqld.sock", "would bypass the proxy; remove the option socket"),
        ("mysql://bench@db1:3306/x?ssl_mode=verify_identity", "verifies the name of the proxy instead of db1"),
        ("postgresql://bench@:5432/x?host=/run/postgresql", "needs host and port in the target, and not a socket"),
    ],
)
def test_what_would_bypass_the_proxy_of_network_faults_is_refused(url: str, reason: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=f"'cut network at 1 s for 1 s'.*{reason}"):
        check_faults(Target.parse(url), Faults.parse("cut network at 1 s for 1 s").each, 1, NULL_SESSION, tmp_path)


@pytest.mark.parametrize(("kind", "column"), [("postgresql", 2), ("mariadb", 3), ("mysql", 3)])
def test_the_documented_privileges_of_each_verb_are_those_of_the_engine(kind: str, column: int) -> None:
    lines = Path("docs/servers.md").read_text("utf-8").partition("**Minimum privileges**")[2].splitlines()
    rows = [[cell.strip() for cell in line.split("|")] for line in lines if line.startswith("| `")]
    stated = {
        row[1].strip("`"): row[column]
        for row in rows
        if re.fullmatch("(?:(?:`[A-Z ]+`, )*`[A-Z ]+` on `[^`]+`(?:, |$))+", row[column])
    }
    assert stated == {
        verb: ", ".join(f"{', '.join(f'`{name}`' for name in names)} on `{on}`" for on, names in needed.items())
        for verb, needed in database(kind).privileges.items()
    }
