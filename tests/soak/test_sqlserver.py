"""SQL Server's engine on Babelfish: queries that take too long, and encrypted connections."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

import hdbkit
from hdbkit.build import build
from hdbkit.config import Load, Target
from hdbkit.databases import database, sql_session
from hdbkit.databases._sqlserver_connect import chosen_driver, installed_drivers, is_freetds
from hdbkit.errors import CannotConnect
from hdbkit.results.columns import ERROR_CLASSES, Outcome
from hdbkit.servers.place import SERVER_UID
from hdbkit.workloads import workload
from hdbkit.workloads.tproc_h.spec import QUERIES, TprocHSpec
from tests.babelfish import Babelfish, babelfish_server
from tests.run.certificates import write_certificates
from tests.run.faults import rows

BLOCKED = "nation"
OUTCOMES = "select operation, outcome, error_class from {t}"
pytestmark = pytest.mark.timeout(3600)
pytest.importorskip("pyodbc", exc_type=ImportError, reason="pyodbc or unixODBC is not installed")


@pytest.fixture(scope="module")
def server() -> Iterator[Babelfish]:
    with babelfish_server("synchronous_commit = on") as server:
        yield server


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
