"""Load hosts and whole builds are killed at random during a load: every part is loaded exactly once."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import psutil
import pytest

import hdbkit
from hdbkit.cluster.loading import cluster_loaders
from hdbkit.config import Target, TprocCSpec
from hdbkit.config.cluster import Cluster
from hdbkit.databases import database
from hdbkit.errors import BuildFailed
from hdbkit.loading import build, drop
from hdbkit.loading.loaders import Hosts
from hdbkit.servers import find_binaries, private_server
from hdbkit.workloads import workload
from tests.run.clusters import address_of, dask_cluster
from tests.run.conftest import password_of

SPEC = TprocCSpec(warehouses=4)
BUILD = """
import sys
import hdbkit
hdbkit.connect(sys.argv[1]).build(warehouses=4, loaders=1, cluster=sys.argv[2])
"""


def loaders_of(cluster: Any) -> Hosts:
    return cluster_loaders(Cluster.parse(address_of(cluster)), 1)


@pytest.fixture(scope="module", params=["postgresql", "mariadb", "mysql"])
def target(request: pytest.FixtureRequest) -> Iterator[Target]:
    if request.param not in {one.kind for one in find_binaries()}:
        pytest.skip(f"no server of {request.param} here; see: hdbkit doctor")
    with private_server(request.param) as server:
        yield server.target


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A scheduler with three load hosts; a worker that is killed is started again, at another address."""
    with dask_cluster(tmp_path_factory.mktemp("state"), 3) as cluster:
        yield cluster


class Killing:
    """Kills workers as rows arrive: all of them at the end, if ``all_of_them``."""

    def __init__(self, cluster: Any, draw: random.Random, all_of_them: bool = False) -> None:
        self._cluster, self._draw, self._all = cluster, draw, all_of_them
        self._killed = 0

    def stage(self, stage: object) -> None:
        pass

    def loaded(self, rows: int, total_rows: int, size_bytes: int) -> None:
        there = list(self._cluster.workers.values())
        for one in there if self._all and rows else self._draw.sample(there, int(rows > 0 and self._killed < 2)):
            self._killed += 1
            os.kill(one.pid, signal.SIGKILL)

    def checking(self, what: str) -> None:
        pass


def require_each_part_once(target: Target) -> None:
    """The schema is complete, and its checks count every row."""
    with closing(database(target).schema(target, workload(SPEC))) as schema:
        assert schema.log().parts.keys() == {part.key for part in workload(SPEC).parts(database(target).dialects)}
    checks = hdbkit.connect(target).check()
    assert checks["passed"].all(), checks[~checks["passed"]]
    drop(target, SPEC)


@pytest.mark.parametrize("seed", range(5))
def test_workers_are_killed(target: Target, cluster: Any, seed: int) -> None:
    """Two of three die; the parts of the dead ones are loaded by what is left."""
    hosts = loaders_of(cluster)
    build(target, SPEC, 1, Killing(cluster, random.Random(seed)), hosts=hosts)
    require_each_part_once(target)


def test_all_workers_are_killed(target: Target, cluster: Any) -> None:
    """The build states that; it continues on this host alone."""
    hosts = loaders_of(cluster)
    with pytest.raises(BuildFailed, match=r"all load hosts .+ were lost.+to resume"):
        build(target, SPEC, 1, Killing(cluster, random.Random(0), all_of_them=True), hosts=hosts)
    assert build(target, SPEC, 2).parts_kept
    require_each_part_once(target)


@pytest.mark.parametrize("seed", range(5))
def test_the_building_process_is_killed(target: Target, cluster: Any, seed: int, tmp_path: Path) -> None:
    """What hosts were loading is rolled back or committed; the next build continues at once."""
    environment = {**os.environ, "HDBKIT_PASSWORD": password_of(target)}
    words = [sys.executable, "-c", BUILD, target.url, address_of(cluster)]
    with subprocess.Popen(words, env=environment, cwd=tmp_path) as process:
        time.sleep(random.Random(seed).uniform(3, 9))
        process.kill()
    if process.returncode == 0:
        drop(target, SPEC)
        pytest.skip("the host built the schema before it was killed")
    build(target, SPEC, 1, hosts=loaders_of(cluster))
    require_each_part_once(target)


def test_a_host_that_hangs_is_not_awaited(target: Target, cluster: Any) -> None:
    """Its worker is stopped, and its loader, which lives, commits its part or not."""
    frozen: list[psutil.Process] = []

    class Freezing(Killing):
        def loaded(self, rows: int, total_rows: int, size_bytes: int) -> None:
            if rows and not frozen:
                frozen.append(psutil.Process(next(iter(cluster.workers.values())).pid))
                frozen[0].suspend()

    try:
        build(target, SPEC, 1, Freezing(cluster, random.Random(0)), hosts=loaders_of(cluster))
    finally:
        for one in frozen:
            one.resume()
    require_each_part_once(target)
