"""Processes of runs are killed at random on a real server: no finished new order is lost."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Iterator

import pytest

import hdbkit
from hdbkit.api import result as result_of
from hdbkit.config import TprocCLoad, TprocCSpec
from hdbkit.errors import HdbkitError
from hdbkit.loading import build
from hdbkit.results.manifest import Status
from hdbkit.servers import PrivateServer, find_binaries, private_server
from tests.run.faults import (
    client_pids,
    kept_orders,
    kill_server,
    schema_orders,
    sessions_of,
    supervisor_of,
    until,
    wait_for,
)

USERS = 4
LOAD = TprocCLoad(virtual_users=USERS, rampup_s=0.2, duration_s=600, counter_interval_s=0.2, keep_order_ids=True)


DURABLE = {
    "postgresql": {"fsync": "on", "synchronous_commit": "on"},
    "mariadb": {"innodb_flush_log_at_trx_commit": "1"},
    "mysql": {"innodb_flush_log_at_trx_commit": "1"},
}
SEEDS = {"postgresql": 20, "mariadb": 7, "mysql": 7}
"""Rounds of each victim, by engine."""


@pytest.fixture(scope="module")
def server(request: pytest.FixtureRequest) -> Iterator[PrivateServer]:
    if request.param not in {one.kind for one in find_binaries()}:
        pytest.skip(f"no server of {request.param} here; see: hdbkit doctor")
    with private_server(request.param, settings=DURABLE[request.param]) as server:
        build(server.target, TprocCSpec(warehouses=2))
        yield server


@pytest.mark.parametrize(
    ("server", "seed"),
    [(kind, seed) for kind, rounds in SEEDS.items() for seed in range(rounds)],
    indirect=["server"],
)
@pytest.mark.parametrize("victim", ["client", "supervisor", "server"])
def test_no_acknowledged_new_order_is_lost(server: PrivateServer, victim: str, seed: int) -> None:
    draw = random.Random(f"{victim}/{seed}")
    before = schema_orders(server)
    running = hdbkit.start(server.target, load=LOAD)
    wait_for(running, Status.MEASURING)
    until(lambda: len(schema_orders(server) - before) > 50 + USERS, "there are orders to lose")
    time.sleep(draw.uniform(0, 3))
    clients = client_pids(running)
    match victim:
        case "client":
            os.kill(draw.choice(clients), signal.SIGKILL)
            time.sleep(draw.uniform(0.2, 1))
            running.stop()
        case "supervisor":
            supervisor_of(running).kill()
        case "server":
            kill_server(server)
            time.sleep(draw.uniform(0, 2))
            server.start()
            time.sleep(2)
            running.stop()
    until(lambda: running.status.ended, "the run has ended", timeout_s=60)
    if running.status is Status.ABANDONED:
        running.recover()
    result = result_of(running.run_id)
    until(lambda: sessions_of(server) == 0, "the server has noticed")
    kept, there = kept_orders(result), schema_orders(server) - before
    assert len(kept) > 50
    assert kept - there == set()
    assert len(there - kept) <= USERS
    assert result.checks.set_index("name").loc["schema's count bracketed by the clients", "passed"]


@pytest.mark.parametrize("server", SEEDS, indirect=True)
def test_a_run_after_all_that_is_sound(server: PrivateServer) -> None:
    result = hdbkit.run(server.target, load=LOAD.model_copy(update={"duration_s": 5}))
    failed = result.checks.query("passed == False")["name"]
    assert not [name for name in failed if name.startswith("schema")]
    with pytest.raises(HdbkitError):
        hdbkit.attach(result.run_id).recover()
