"""A new connection for each operation, in whole runs on a server."""

from __future__ import annotations

import psycopg
import pyarrow.parquet as pq

import hdbkit
from hdbkit.config import Load
from hdbkit.servers import PrivateServer
from tests.run.faults import password_of


def sessions_of(server: PrivateServer) -> int:
    """The number of sessions that were established with the database so far."""
    query = "SELECT sessions FROM pg_stat_database WHERE datname = current_database()"
    target = server.target
    place = {"host": target.host, "port": target.port, "user": target.user, "password": password_of(target)}
    with psycopg.connect(**place, dbname=target.database) as own:
        (row,) = own.execute(query).fetchall()
    return int(row[0])


def test_each_operation_logs_in_and_nothing_is_lost(built: PrivateServer) -> None:
    before = sessions_of(built)
    load = Load(virtual_users=2, connect_per_operation=True, rampup_s=0, duration_s=60, iterations=30)
    result = hdbkit.run(built.target, load=load)
    rows = pq.read_table(result.folder.operations).to_pandas()
    assert rows.groupby("virtual_user").size().to_dict() == {0: 30, 1: 30}
    assert 60 <= sessions_of(built) - before <= 80, "and few more for the checks and the counters"
    assert (rows["wait_us"] > 0).all(), "the login is in the response time"
    assert not (result.checks["passed"] == False).any()  # noqa: E712
    assert "--connect-per-operation" in result.manifest.command
