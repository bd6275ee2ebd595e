"""SQL Server's engine on Babelfish: faults, random kills, and queries that take too long."""

from __future__ import annotations

import os
import random
import signal
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

import hdbkit
from hdbkit.api import result as result_of
from hdbkit.config import Load, Target, TprocCLoad, TprocCSpec
from hdbkit.config.specs.tproc_h import QUERIES, TprocHSpec
from hdbkit.databases import database, sql_session
from hdbkit.databases.sqlserver.connect import chosen_driver, installed_drivers, is_freetds
from hdbkit.errors import CannotConnect
from hdbkit.loading import build
from hdbkit.results.columns import ERROR_CLASSES, Outcome
from hdbkit.results.manifest import Status
from hdbkit.servers.place import SERVER_UID
from hdbkit.workloads import workload
from tests.engines.sqlserver.server import Babelfish, babelfish_server
from tests.run.certificates import write_certificates
from tests.run.faults import client_pids, kept_orders, passed, rows, supervisor_of, until, wait_for

USERS, AT_WORK = 2, 10
LOAD = TprocCLoad(virtual_users=USERS, rampup_s=0.2, duration_s=600, counter_interval_s=0.5, keep_order_ids=True)
BLOCKED = "nation"
OUTCOMES = "select operation, outcome, error_class from {t}"
pytestmark = [pytest.mark.long, pytest.mark.timeout(3600)]
pytest.importorskip("pyodbc", exc_type=ImportError, reason="pyodbc or unixODBC is not installed")


@pytest.fixture(scope="module")
def server() -> Iterator[Babelfish]:
    with babelfish_server("synchronous_commit = on") as server:
        yield server


@pytest.fixture(scope="module")
def built(server: Babelfish) -> Babelfish:
    build(server.target, TprocCSpec(warehouses=1))
    return server


def orders(target: Target) -> set[tuple[int, int, int]]:
    with closing(sql_session(target)) as session:
        cursor = session.connection.execute("SELECT o_w_id, o_d_id, o_id FROM orders")  # type: ignore[attr-defined]
        return set(map(tuple, cursor.fetchall()))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("victim", ["client", "supervisor", "server"])
def test_no_acknowledged_new_order_is_lost(built: Babelfish, victim: str, seed: int) -> None:
    server = built
    draw = random.Random(f"{victim}/{seed}")
    before = orders(server.target)
    running = hdbkit.start(server.target, load=LOAD)
    wait_for(running, Status.MEASURING)
    until(lambda: len(orders(server.target) - before) >= AT_WORK, "orders are made")
    time.sleep(draw.uniform(0, 3))
    match victim:
        case "client":
            os.kill(draw.choice(client_pids(running)), signal.SIGKILL)
            time.sleep(draw.uniform(0.2, 1))
            running.stop()
        case "supervisor":
            supervisor_of(running).kill()
        case "server":
            server.kill()
            time.sleep(draw.uniform(0, 2))
            server.start()
            again = orders(server.target)
            until(lambda: len(orders(server.target) - again) >= AT_WORK, "orders are made again")
            running.stop()
    until(lambda: running.status.ended, "the run has ended", timeout_s=120)
    if running.status is Status.ABANDONED:
        running.recover()
    result = result_of(running.run_id)
    kept, there = kept_orders(result), orders(server.target) - before
    assert kept
    assert kept - there == set()
    assert len(there - kept) <= USERS
    assert passed(result, "schema's count bracketed by the clients")


def test_faults_are_caused_and_undone_and_no_acknowledged_commit_is_lost(built: Babelfish) -> None:
    server = built
    target = server.target.with_(may_restart=True, control={"commands": server.commands})
    faults = "reset network at 2 s; kill client at 6 s; restart server at 10 s; cut network at 20 s for 1 s"
    load = TprocCLoad(virtual_users=USERS, rampup_s=0, duration_s=30, fault=faults, keep_order_ids=True)
    result = hdbkit.run(target, load=load)
    assert passed(result, "faults caused"), result.checks.to_string()
    assert passed(result, "acknowledged commits kept"), result.checks.to_string()


def test_a_query_that_takes_too_long_is_a_failure_and_its_stream_continues(server: Babelfish) -> None:
    """A lock of PostgreSQL's makes every query of one table wait."""
    other = server.target.with_(database="queries")
    with closing(sql_session(server.target)) as session:
        session.query("create_database", database="queries")
    spec = TprocHSpec(scale_factor=0.01)
    build(other, spec)
    texts = workload(spec).scope(database(other).dialects).statements
    waiting = {name for name in QUERIES if BLOCKED in texts[name].text}
    assert 5 < len(waiting) < 15
    place = {"host": str(server.data), "port": server.postgres_port, "user": "postgres", "dbname": "babelfish_db"}
    with psycopg.connect(**place) as locking:  # type: ignore[arg-type]
        (schema,) = locking.execute("SELECT table_schema FROM information_schema.tables WHERE table_name = 'nation'")
        locking.execute(f"LOCK TABLE {schema[0]}.{BLOCKED} IN ACCESS EXCLUSIVE MODE")
        result = hdbkit.run(other, spec, Load(virtual_users=1, statement_timeout_ms=10_000))
    done = {QUERIES[number]: (outcome, why) for number, outcome, why in rows(result, OUTCOMES)}
    assert len(done) == len(QUERIES)
    assert {name for name, (outcome, _) in done.items() if outcome == Outcome.FAILED} == waiting
    assert {ERROR_CLASSES[done[name][1]] for name in waiting} == {"statement_timeout"}


@pytest.fixture
def encrypting() -> Iterator[Target]:
    """A server with a certificate whose authority this host does not know."""
    with tempfile.TemporaryDirectory(prefix="hdbkit-tls-", dir="/var/tmp") as folder:
        place = Path(folder)
        write_certificates(place)
        for one in (place, *place.iterdir()):
            os.chown(one, SERVER_UID, SERVER_UID)
        files = f"ssl_cert_file = '{place}/server.pem'\nssl_key_file = '{place}/server.key'"
        with babelfish_server(f"fsync = off\nssl = on\n{files}") as server:
            yield server.target


@pytest.mark.skipif(os.getuid() != 0, reason="the server runs as another account, which must own its key")
def test_a_connection_is_encrypted_as_its_options_say(encrypting: Target) -> None:
    engine, found = database(encrypting), {}
    for encrypt in ("no", "yes"):
        target = encrypting.with_(options={"encrypt": encrypt, "trust_server_certificate": "yes"})
        with closing(sql_session(target)) as session:
            found[encrypt] = engine.encryption(session, target).protocol
    assert found == {"no": "", "yes": "TLS"}
    if not is_freetds(chosen_driver(encrypting, installed_drivers(pytest.importorskip("pyodbc")))):
        with pytest.raises(CannotConnect, match="the server's certificate is not trusted"):
            sql_session(encrypting.with_(options={"encrypt": "yes"}))
