"""Commands that wait in a server for a lock: a signal ends them, and the server does not go on later."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

import hdbkit
from hdbkit.api import connect
from hdbkit.config import Load
from hdbkit.programs import start_program
from hdbkit.results.manifest import Status
from hdbkit.servers import PrivateServer
from tests.run.conftest import password_of, wait_for
from tests.run.faults import answered

WAITING = "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND application_name LIKE 'hdbkit%'"
TABLES = "SELECT relname FROM pg_class WHERE relname IN ('kept', 'locked') AND relkind = 'r' ORDER BY 1"


@pytest.fixture
def folder(built: PrivateServer, tmp_path: Path) -> Iterator[Path]:
    """A workload of two tables, which is built."""
    columns = "{rows: 10, columns: {id: row}}"
    words = f"schema_name: stops\noperations: {{r: {{}}, u: {{}}}}\ntables: {{kept: {columns}, locked: {columns}}}\n"
    created = "".join(
        f"-- name: create_{one}\nCREATE TABLE {one} (id int PRIMARY KEY);\n" for one in ("kept", "locked")
    )
    (tmp_path / "workload.yaml").write_text(words)
    used = "-- name: r\nSELECT count(*) FROM locked;\n-- name: u\nUPDATE locked SET id = id WHERE id = 1;\n"
    (tmp_path / "s.sql").write_text(created + used)
    connect(built.target).build(tmp_path, loaders=1)
    yield tmp_path
    answered(built.admin, "DROP SCHEMA IF EXISTS stops CASCADE")


@pytest.fixture
def lock(built: PrivateServer, folder: Path) -> Iterator[psycopg.Connection]:
    """A transaction that reads a table, as a backup does."""
    place = built.admin
    account = {"host": place.host, "port": place.port, "user": place.user, "password": password_of(place)}
    with psycopg.connect(**account, dbname=place.database, application_name="a backup") as holder:  # type: ignore[arg-type]
        holder.execute("LOCK TABLE stops.locked IN ACCESS SHARE MODE")
        yield holder


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_drop_that_is_stopped_is_not_executed_later(
    built: PrivateServer, folder: Path, lock: psycopg.Connection, number: signal.Signals, code: int
) -> None:
    reading, writing = os.pipe()
    words = ("drop", built.target.url, "--workload", str(folder), "--yes")
    environment = {**os.environ, "HDBKIT_PASSWORD": password_of(built.target)}
    program = start_program("hdbkit.cli", *words, stderr=writing, environment=environment, starts_programs=True)
    os.close(writing)
    wait_for(lambda: bool(answered(built.admin, WAITING)))
    os.kill(program.pid, number)
    with os.fdopen(reading) as said:
        assert program.wait(60) == code
        text = " ".join(said.read().split())
    assert "stopped; the DROP of table locked was cancelled in the server: dropped: table kept; not" in text
    assert not answered(built.admin, WAITING)
    lock.rollback()
    assert answered(built.admin, TABLES) == [("locked",)]


def test_what_a_killed_client_had_sent_is_cancelled_in_the_server(
    built: PrivateServer, folder: Path, lock: psycopg.Connection
) -> None:
    lock.rollback()
    running = hdbkit.start(built.target, folder, Load(virtual_users=1, rampup_s=0, duration_s=600))
    wait_for(lambda: running.status is Status.MEASURING)
    lock.execute("LOCK TABLE stops.locked IN SHARE MODE")
    wait_for(lambda: bool(answered(built.admin, WAITING)))
    running.stop(at_once=True)
    wait_for(lambda: not answered(built.admin, WAITING))  # the lock is still held
