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
from hdbkit.build import build
from hdbkit.config import Load, WorkloadSpec
from hdbkit.errors import HdbkitError
from hdbkit.results.manifest import Status
from hdbkit.servers import PrivateServer, private_server
from tests.run.faults import (
    ask,
    client_pids,
    kept_orders,
    kill_server,
    schema_orders,
    supervisor_of,
    until,
    wait_for,
)

USERS = 4
LOAD = Load(virtual_users=USERS, rampup_s=0.2, duration_s=600, counter_interval_s=0.2, keep_order_ids=True)


@pytest.fixture(scope="module")
def server() -> Iterator[PrivateServer]:
    with private_server(settings={"fsync": "on", "synchronous_commit": "on"}) as server:
        build(server.target, WorkloadSpec(warehouses=2))
        yield server


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("victim", ["client", "supervisor", "server"])
def test_no_acknowledged_new_order_is_lost(server: PrivateServer, victim: str, seed: int) -> None:
    draw = random.Random(f"{victim}/{seed}")
    before = schema_orders(server)
    running = hdbkit.start(server.target, load=LOAD)
    wait_for(running, Status.MEASURING)
    time.sleep(draw.uniform(0.3, 3))
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
    of_the_run = f"SELECT count(*) FROM pg_stat_activity WHERE usename = '{server.target.user}'"
    until(lambda: ask(server, of_the_run) == [(0,)], "the server has noticed")
    kept, there = kept_orders(result), schema_orders(server) - before
    assert len(kept) > 50
    assert kept - there == set()
    assert len(there - kept) <= USERS
    assert result.checks.set_index("name").loc["schema's count bracketed by the clients", "passed"]


def test_a_run_after_all_that_is_sound(server: PrivateServer) -> None:
    result = hdbkit.run(server.target, load=LOAD.model_copy(update={"duration_s": 5}))
    failed = result.checks.query("passed == False")["name"]
    assert not [name for name in failed if name.startswith("schema")]
    with pytest.raises(HdbkitError):
        hdbkit.attach(result.run_id).recover()
