"""Db2's engine over its wire protocol: IBM's driver on Apache Derby, which has neither SQL PL nor arrays of rows.

With ``HDBKIT_SOAK`` the conformance suite runs on the same kind of server.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path

import pytest
from pydantic import SecretStr

import hdbkit
from hdbkit.config import Load, Target, TprocCSpec
from hdbkit.contracts import Capability, SqlSession, Table
from hdbkit.databases import database, sql_session
from hdbkit.errors import CannotConnect, ErrorClass, NothingListens, Rejected, TransactionError
from hdbkit.workloads import workload
from hdbkit.workloads.tproc_c.conformance.rules import CLIENT_WORK, Small, fill, runner
from tests.engines.db2.server import derby

WORK = workload(TprocCSpec(warehouses=1))
OWN = """name: counts
title: counts of two kinds
schema_name: counts
scale: "{rows} rows"
parameters: {rows: 200}
metric: {name: operations/s, title: operations per second, unit: operations/s}
operations:
  read: {weight: 1, reads_only: true}
  count: {weight: 1}
variables:
  id: {uniform: {min: 1, max: rows}}
tables:
  entries: {rows: rows, columns: {id: row, total: 0}}
"""
SQL = """-- name: create_entries
CREATE TABLE entries (id INTEGER NOT NULL PRIMARY KEY, total INTEGER NOT NULL);

-- name: read
SELECT total FROM entries WHERE id = :id;

-- name: count
UPDATE entries SET total = total + 1 WHERE id = :id;
"""


@pytest.fixture(scope="module")
def server() -> Iterator[Target]:
    pytest.importorskip("ibm_db", exc_type=ImportError, reason="ibm_db is not installed")
    with derby() as target:
        yield target


@pytest.fixture(scope="module")
def tables(server: Target) -> Iterator[Target]:
    """The tables of TPROC-C with the small database of the conformance suite."""
    with closing(database(server).schema(server, WORK)) as schema:
        schema.create(WORK.spec.model_dump_json())
        for step in schema.after_load():
            schema.do(step)
        with closing(connected(server)) as session:
            fill(session)
        yield server
        schema.drop()


def connected(target: Target) -> SqlSession:
    return sql_session(target, WORK.scope(database(target).dialects))


def test_the_probe_finds_derby_and_its_statements(server: Target) -> None:
    engine = database(server)
    assert engine.dialects[-1] == "db2_derby"
    assert Capability.STORED_ROUTINES not in engine.capabilities
    with closing(sql_session(server)) as session:
        assert engine.version(session) == "Db2 10.7 (Apache Derby)"
        assert engine.counters(session) == {}
        assert "derby.locks.waitTimeout" in engine.settings_of(session)


def test_values_of_every_type_come_back(server: Target) -> None:
    columns = ("n", "big", "amount", "moment", "due", "fixed", "note")
    types = ("integer", "integer", "decimal", "timestamp", "date", "text", "text")
    lines = (
        b"1\t1099511627776\t2.50\t2026-03-04 05:06:07.5\t2026-03-04\tab\tgr\xc3\xbc\xc3\x9f\n2" + rb"\t\N" * 6 + b"\n"
    )
    with closing(sql_session(server)) as session:
        session.execute(
            "CREATE TABLE kinds (n INTEGER NOT NULL, big BIGINT, amount NUMERIC(12,2), moment TIMESTAMP, due DATE, "
            "fixed CHAR(4), note VARCHAR(20))"
        )
        session.begin()
        assert session.load(Table("kinds", columns, types=types), [lines.replace(rb"\t", b"\t")]) == 2
        session.commit()
        cursor = session.connection.cursor()  # type: ignore[attr-defined]
        cursor.execute("SELECT n, big, amount, moment, due, fixed, note FROM kinds ORDER BY n")
        at = datetime(2026, 3, 4, 5, 6, 7, 500_000)
        assert cursor.fetchall() == [
            (1, 2**40, Decimal("2.50"), at, date(2026, 3, 4), "ab  ", "grüß"),
            (2, None, None, None, None, None, None),
        ]
        cursor.close()
        session.execute("DROP TABLE kinds")


def test_the_five_transactions_are_done_by_several_connections_at_once(tables: Target) -> None:
    def done(run: Callable[..., object], *call: object) -> None:
        """Repeat what was rolled back: scans of small tables lock rows of others there."""
        while found := met(lambda: run(*call)):
            assert found[0] in (ErrorClass.DEADLOCK, ErrorClass.LOCK_TIMEOUT)

    def work(w_id: int) -> None:
        with closing(connected(tables)) as session:
            run = runner(CLIENT_WORK, session)
            for turn in range(5):
                done(run, "new_order", w_id, 1 + turn % 2, 1 + turn, (7, 3, 5), (1, 2, w_id), (5, 6, 7))
                done(run, "payment", w_id, 1, w_id, 1, 5, None, Decimal("1.00"))
            done(run, "delivery", w_id, 3)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, (1, 2, 1, 2)))
    with closing(connected(tables)) as session:
        small = Small(session)
        assert sum(row["d_next_o_id"] - 3001 for row in small.rows("district")) == 20
        assert sum(row["w_ytd"] for row in small.rows("warehouse")) == Decimal("20.00")
        assert session.query("count_order_line") == [(60,)]
        for name in ("consistency_02", "consistency_03", "consistency_04", "consistency_05", "consistency_06"):
            assert session.query(name, w_low=1, w_high=2) == [(0,)], name


def test_one_process_at_a_time_builds_or_drops_a_schema() -> None:
    pytest.importorskip("ibm_db", exc_type=ImportError, reason="ibm_db is not installed")
    with derby() as server:  # of its own: other tests build a schema
        engine = database(server)
        with closing(engine.schema(server, WORK)) as other:
            with closing(engine.schema(server, WORK)) as one:
                assert one.claim()
                assert one.claim()
                assert not other.claim()
                assert not one.log().exists
            assert other.claim()
            assert other.drop() == []
            with closing(sql_session(server)) as session:
                assert session.query("claim_exists") == [(0,)]
        with closing(engine.schema(server, WORK)) as last:
            assert last.claim()
            last.drop()


def test_what_is_rolled_back_is_gone(tables: Target) -> None:
    with closing(connected(tables)) as session:
        before = session.query("count_item")
        session.begin()
        session.execute("DELETE FROM item WHERE i_id > 10")
        assert session.query("count_item") != before
        session.rollback()
        assert session.query("count_item") == before


def met(work: Callable[[], object]) -> tuple[ErrorClass, str] | None:
    try:
        work()
    except TransactionError as error:
        return error.error_class, error.code
    return None


def test_errors_have_classes_by_their_states(tables: Target) -> None:
    pay = "UPDATE warehouse SET w_ytd = w_ytd + 0 WHERE w_id = {}"
    with closing(connected(tables)) as one, closing(connected(tables)) as other:
        assert met(lambda: one.execute("INSERT INTO item (i_id) VALUES (1)")) == (ErrorClass.CONSTRAINT, "23502")
        double = "INSERT INTO new_order VALUES (9, 9, 9), (9, 9, 9)"
        assert met(lambda: one.execute(double)) == (ErrorClass.CONSTRAINT, "23505")
        for session, w_id in ((one, 1), (other, 2)):
            session.begin()
            session.execute(pay.format(w_id))
        with ThreadPoolExecutor() as pool:
            waits = [pool.submit(met, lambda s=s, w=w: s.execute(pay.format(w))) for s, w in ((one, 2), (other, 1))]  # type: ignore[misc]
            assert sorted([wait.result() for wait in waits], key=str) == [(ErrorClass.DEADLOCK, "40001"), None]
        one.rollback()
        other.rollback()
        one.begin()
        one.execute(pay.format(1))
        assert met(lambda: other.execute(pay.format(1))) == (ErrorClass.LOCK_TIMEOUT, "40XL1")


@contextmanager
def relay(target: Target) -> Iterator[tuple[Target, Callable[[], None]]]:
    """The target through a relay, and what breaks its connections."""
    listener = socket.create_server(("127.0.0.1", 0))
    ends: list[socket.socket] = []

    def copy(source: socket.socket, to: socket.socket) -> None:
        with suppress(OSError):
            while part := source.recv(65536):
                to.sendall(part)

    def accept() -> None:
        with suppress(OSError):
            while True:
                near, far = listener.accept()[0], socket.create_connection((str(target.host), int(target.port or 0)))
                ends.extend((near, far))
                for source, to in ((near, far), (far, near)):
                    threading.Thread(target=copy, args=(source, to), daemon=True).start()

    def broken() -> None:
        for one in ends:
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()
        ends.clear()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield target.with_(port=listener.getsockname()[1]), broken
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        broken()


def test_a_broken_connection_is_lost_and_its_transaction_is_gone(tables: Target) -> None:
    with relay(tables) as (target, broken), closing(connected(target)) as session:
        session.begin()
        session.execute("DELETE FROM new_order")
        broken()
        assert met(lambda: session.query("count_item"))[0] is ErrorClass.CONNECTION_LOST  # type: ignore[index]
        assert met(lambda: session.query("count_item"))[0] is ErrorClass.CONNECTION_LOST  # type: ignore[index]


@pytest.mark.parametrize(
    ("command", "fails"), [("DELETE FROM new_order", False), ("DELETE FROM a_table_of_another_schema", True)]
)
def test_a_connection_that_the_driver_replaced_between_transactions_is_lost(
    command: str, fails: bool, tables: Target
) -> None:
    """What was done on the new one is rolled back; what fails there may do so because it is another one."""
    with relay(tables) as (target, broken), closing(connected(target)) as session:
        before = session.query("count_new_order")
        broken()
        session.begin()
        if not fails:
            session.execute(command)
        assert met(lambda: session.execute(command) if fails else session.commit())[0] is ErrorClass.CONNECTION_LOST  # type: ignore[index]
        assert met(session.begin)[0] is ErrorClass.CONNECTION_LOST  # type: ignore[index]
        with closing(connected(tables)) as other:
            assert other.query("count_new_order") == before


@pytest.mark.parametrize(
    ("changes", "kind", "said"),
    [
        ({"password": SecretStr("not-this-one")}, Rejected, "the server refuses the user or password"),
        ({"database": "NOPE"}, Rejected, "there is no database 'NOPE'"),
        ({"port": 1}, NothingListens, "nothing listens on 127.0.0.1:1"),
        ({"options": {}}, Rejected, "option authentication"),
    ],
)
def test_a_refused_connection_is_one_sentence(
    server: Target, changes: dict[str, object], kind: type[CannotConnect], said: str
) -> None:
    with pytest.raises(CannotConnect, match=said) as caught:
        database(server.kind).connect(server.with_(**changes))
    assert type(caught.value) is kind
    assert "not-this-one" not in str(caught.value)


def test_a_workload_is_built_checked_and_run_by_several_processes(server: Target, tmp_path: Path) -> None:
    folder = tmp_path / "counts"
    folder.mkdir()
    (folder / "workload.yaml").write_text(OWN, encoding="utf-8")
    (folder / "statements.sql").write_text(SQL, encoding="utf-8")
    with closing(sql_session(server)) as session:
        session.execute("CREATE SCHEMA counts")
    own = server.with_(options={**server.options, "schema": "COUNTS"})
    assert hdbkit.connect(own).build(folder).passed
    result = hdbkit.run(own, folder, Load(virtual_users=2, rampup_s=0, duration_s=60, iterations=50, seed=5))
    checks = result.checks.set_index("name")["passed"]
    assert checks["clients ended as planned"]
    assert checks["no operation failed"]
    assert hdbkit.connect(own).drop(folder).dropped == ("table entries",)
