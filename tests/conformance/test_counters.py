"""Counters: new orders by the schema, commits and rollbacks by the engine, and its gauges."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal

import pytest

from hdbkit.analysis.run.server_work import WAITING
from hdbkit.config import Target
from hdbkit.contracts import Capability, Database, SqlSession
from hdbkit.errors import RolledBackByDesign
from hdbkit.readings import LAG
from hdbkit.sql import SERVER_STATEMENTS, statements
from hdbkit.workloads.tproc_c import NOPM
from hdbkit.workloads.tproc_c.conformance.rules import RuleRun, runner
from tests.conformance.conftest import Connect

PAY = "client_update_warehouse_ytd"
PATIENCE_S = 60.0
"""Some engines tell what a session did only after it ended, or after a while."""


def grown(engine: Database, session: SqlSession, before: dict[str, float]) -> dict[str, float]:
    now = engine.counters(session)
    return {name: now[name] - value for name, value in before.items()}


def orders_of(session: SqlSession) -> int:
    """The schema's own total of new orders."""
    assert NOPM.counter is not None
    return int(session.ask(NOPM.counter)[0][0])


def wait_for(reached: Callable[[], bool]) -> bool:
    end = time.monotonic() + PATIENCE_S
    while not reached() and time.monotonic() < end:
        time.sleep(0.1)
    return reached()


def test_the_schema_counts_new_orders_and_none_that_was_rolled_back(run: RuleRun, db: SqlSession) -> None:
    before = orders_of(db)
    for d_id in (1, 1, 2):
        run("new_order", 1, d_id, 1, (1, 2), (1, 1), (1, 1))
    with pytest.raises(RolledBackByDesign):
        run("new_order", 1, 1, 1, (1, 100_001), (1, 1), (1, 1))
    run("payment", 1, 1, 1, 1, 2, None, Decimal("1.00"))
    run("delivery", 1, 3)
    assert orders_of(db) - before == 3


@pytest.mark.needs(Capability.COUNTS_COMMITS, "its counters are empty")
@pytest.mark.parametrize("way", ["stored", "client"])
def test_the_engine_counts_commits_and_rollbacks(
    engine: Database, db: SqlSession, connect: Connect, way: str
) -> None:
    before = engine.counters(db)
    session = connect()
    run = runner(way, session)
    for _ in range(10):
        run("payment", 1, 1, 1, 1, 2, None, Decimal("1.00"))
    for _ in range(5):
        with pytest.raises(RolledBackByDesign):
            run("new_order", 1, 1, 1, (1, 100_001), (1, 1), (1, 1))
    session.close()
    assert wait_for(lambda: grown(engine, db, before)["commits"] >= 10)
    ended = ("commits", "rollbacks")  # a routine that reports its rollback as a result ends with a commit
    if Capability.COUNTS_ROLLBACKS not in engine.capabilities:
        return
    assert wait_for(lambda: sum(grown(engine, db, before)[name] for name in ended) >= 15)
    assert way == "stored" or wait_for(lambda: grown(engine, db, before)["rollbacks"] >= 5)


def test_totals_only_grow_and_gauges_are_among_the_counters(target: Target, engine: Database, db: SqlSession) -> None:
    before = engine.counters(db)
    db.query("client_number_order", w_id=1, d_id=1)
    after = grown(engine, db, before)
    assert not [name for name, grew in after.items() if grew < 0 and name not in engine.gauges]
    if target.server_folder is not None:  # elsewhere an account may not be let see all
        assert {"commits", "rollbacks", "uptime_s"} | (engine.gauges - {LAG}) <= set(before)


@pytest.mark.needs(Capability.COUNTS_WAITS, "nobody counts them", tried=False)
def test_a_session_that_waits_for_a_lock_is_counted_while_it_waits(
    engine: Database, db: SqlSession, connect: Connect
) -> None:
    holding, waiting = connect(), connect()
    reports = "session_waits" in statements(engine.dialects, SERVER_STATEMENTS)
    blocked = [waiting.ask("session_number")[0][0], holding.ask("session_number")[0][0]] if reports else []
    holding.begin()
    holding.call(PAY, Decimal(1), 1)
    waiting.begin()
    with ThreadPoolExecutor() as pool:
        paid = pool.submit(waiting.call, PAY, Decimal(1), 1)
        seen = wait_for(lambda: engine.counters(db)[WAITING] >= 1)
        waits = [(row[0], row[4], row[1], row[3]) for row in db.ask("session_waits")] if reports else []
        holding.rollback()
        paid.result(timeout=180)
    waiting.rollback()
    assert seen
    assert not reports or (*blocked, "lock", "warehouse") in waits


@pytest.mark.needs(Capability.COUNTS_SCANS, "nobody counts them")
def test_the_engine_counts_the_rows_of_full_scans(engine: Database, db: SqlSession) -> None:
    """A plan that changes to a full scan shows in them."""
    before = engine.counters(db)
    districts = int(db.query("count_district")[0][0])
    for _ in range(5):
        orders_of(db)
    assert wait_for(lambda: grown(engine, db, before)["scanned_rows"] >= 5 * districts)
