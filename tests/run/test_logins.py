"""A new connection for each operation, and operations at several addresses, in whole runs on a server."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pyarrow.parquet as pq

import hdbkit
from hdbkit.config import Load
from hdbkit.results.manifest import Status
from hdbkit.servers import PrivateServer
from tests.run.agents import remote_target
from tests.run.faults import ask, folder_of, password_of, until, wait_for
from tests.unit.own_workload import folder

NOTED = """\
-- name: here
INSERT INTO noted SELECT 'here', host(inet_server_addr());
-- name: there
INSERT INTO noted SELECT 'there', host(inet_server_addr());
-- name: both
INSERT INTO noted SELECT 'both', host(inet_server_addr());
"""


@contextmanager
def owner_of(server: PrivateServer) -> Iterator[psycopg.Connection[tuple[Any, ...]]]:
    """A session of the account that owns the database."""
    target = server.target
    place = {"host": target.host, "port": target.port, "user": target.user, "password": password_of(target)}
    with psycopg.connect(**place, dbname=target.database, autocommit=True) as own:
        yield own


def sessions_of(server: PrivateServer) -> int:
    """The number of sessions that were established with the database so far."""
    with owner_of(server) as own:
        (row,) = own.execute("SELECT sessions FROM pg_stat_database WHERE datname = current_database()").fetchall()
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


def test_a_login_that_is_refused_in_the_window_is_named_with_its_time_and_the_servers_words(
    built: PrivateServer,
) -> None:
    """Whoever connects for each operation has no failed operation then, and no lost connection."""
    load = Load(virtual_users=2, connect_per_operation=True, rampup_s=0, duration_s=60)
    running = hdbkit.start(built.target, load=load)
    wait_for(running, Status.MEASURING)
    spools = folder_of(running).spools
    user = built.target.user
    ask(built, f"ALTER ROLE {user} NOLOGIN")
    try:
        until(
            lambda: any("not permitted" in one.read_text() for one in spools.glob("*.errors.json")), "it is refused"
        )
    finally:
        ask(built, f"ALTER ROLE {user} LOGIN")
    running.stop()
    result = running.wait()
    (row,) = result.table("errors").query("error_class == 'login_refused'").itertuples()
    assert row.text == f'role "{user}" is not permitted to log in'
    failed = result.checks.set_index("name").loc["no transaction failed"]
    assert not failed["passed"]
    assert re.fullmatch(rf"\d+ logins? refused, from [\d.]+ s to .* after its start: {row.text}", failed["detail"])


def test_operations_are_performed_at_the_addresses_of_their_policies(built: PrivateServer, tmp_path: Path) -> None:
    own = folder(tmp_path, yaml="operations:\n  here: {}\n  there: {}\n  both: {}\n", sql=NOTED)
    target = remote_target(built).with_(nodes=("127.0.0.1",))
    routing = "here: first; there: last; both: round_robin"
    load = Load(virtual_users=2, rampup_s=0, duration_s=60, iterations=60, routing=routing)
    with owner_of(built) as session:
        session.execute("CREATE TABLE noted (operation text, address text)")
        try:
            result = hdbkit.run(target, own, load=load)
            found = session.execute("SELECT operation, address, count(*) FROM noted GROUP BY 1, 2").fetchall()
        finally:
            session.execute("DROP TABLE noted")
    counts = {(operation, address): n for operation, address, n in found}
    first, last = "127.0.0.2", "127.0.0.1"
    assert sum(counts.values()) == 120
    assert set(counts) == {("here", first), ("there", last), ("both", first), ("both", last)}
    assert abs(counts["both", first] - counts["both", last]) <= 2, "in turn, for each user"
    assert result.manifest.server.nodes == last
    assert f"--routing '{routing}'" in result.manifest.command
