"""A disk that is full under the binary log of MariaDB: the server waits for space, and so do its clients."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import hdbkit
from hdbkit.config import TprocCLoad, TprocCSpec
from hdbkit.loading import build
from hdbkit.results.manifest import Status
from hdbkit.servers import PrivateServer, find_binaries, private_server
from tests.run.faults import full, kept_orders, schema_orders, until, wait_for

pytestmark = [pytest.mark.long, pytest.mark.timeout(3600)]
USERS = 4
LOAD = TprocCLoad(virtual_users=USERS, rampup_s=0.2, duration_s=600, counter_interval_s=0.5, keep_order_ids=True)


@pytest.fixture
def log() -> Iterator[Path]:
    """The folder of a small file system, where the server's account may write."""
    mount = Path("/tmp") / f"hdbkit-small-log-{os.getpid()}"
    mount.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=192m,mode=777", "tmpfs", mount], check=False).returncode:
        mount.rmdir()
        pytest.skip("only root may mount a small file system")
    yield mount
    subprocess.run(["umount", "-l", mount], check=True)
    mount.rmdir()


@pytest.fixture
def server(log: Path) -> Iterator[PrivateServer]:
    if "mariadb" not in {one.kind for one in find_binaries()}:
        pytest.skip("no server of mariadb here; see: hdbkit doctor")
    with private_server("mariadb", settings={"log_bin": str(log / "bin"), "sync_binlog": "1"}) as server:
        build(server.target, TprocCSpec(warehouses=1))
        yield server


def test_clients_wait_with_a_server_that_waits_for_space(server: PrivateServer, log: Path) -> None:
    before = schema_orders(server)
    running = hdbkit.start(server.target, load=LOAD)
    wait_for(running, Status.MEASURING)
    time.sleep(1)
    view = running.live()
    with full(log):
        until(lambda: view.tick().silent_s > 3, "no transaction succeeds")
        assert not running.status.ended
    until(lambda: view.tick().operations_per_s > 20, "it works again", timeout_s=150)
    view.close()
    running.stop()
    result = running.wait()
    kept, there = kept_orders(result), schema_orders(server) - before
    assert len(kept) > 20
    assert kept - there == set()
    assert len(there - kept) <= USERS
    assert list(result.table("clients")["ended"]) == ["done"] * USERS
