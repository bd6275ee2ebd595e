"""Runs on several load hosts: dask workers in processes of their own, on the null engine and a real server."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

from hdbkit.api import Result, Running, Workspace
from hdbkit.config import Load
from hdbkit.errors import RunFailed
from hdbkit.execution.load_hosts import NotedHost, noted_hosts
from hdbkit.results.manifest import Status
from hdbkit.servers import PrivateServer
from tests.run.clusters import address_of, dask_cluster
from tests.run.conftest import NullTarget

USERS = 6


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the hosts keep their files."""
    return tmp_path_factory.mktemp("state")


@pytest.fixture(scope="module")
def cluster(state: Path) -> Iterator[Any]:
    """A scheduler with three load hosts."""
    with dask_cluster(state, 3) as cluster:
        yield cluster


@pytest.fixture
def scheduler(cluster: Any) -> str:
    """The address of the scheduler."""
    return address_of(cluster)


def check(result: Result, name: str) -> tuple[bool | None, str]:
    """A check of a result."""
    (found,) = [one for one in result.manifest.checks if one.name == name]
    return found.passed, found.detail


def test_users_of_several_hosts_are_one_run(
    scheduler: str, state: Path, null_target: NullTarget, tmp_path: Path
) -> None:
    """One folder has the records of all hosts, and the schema's count is bracketed by them."""
    load = Load(virtual_users=USERS, rampup_s=0.5, duration_s=2, cluster=scheduler)
    result = Workspace(results=tmp_path).run(null_target(latency_us=3000), load=load)
    hosts = result.manifest.load_hosts
    assert [(one.first_client, one.clients) for one in hosts] == [(0, 2), (2, 2), (4, 2)]
    assert check(result, "schema's count bracketed by the clients")[0]
    assert check(result, "every transaction accounted for")[0]
    assert check(result, "clients ended as planned")[0]
    assert check(result, "load hosts reached")[0]
    assert len({one.name for one in hosts}) == 3, "workers of one host are told apart"
    assert {(one.offset_ms, one.uncertainty_ms) for one in hosts} == {(0, 0)}, "they read the coordinator's clock"
    assert check(result, "clocks of the load hosts")[0]
    files = duckdb.sql(f"SELECT DISTINCT virtual_user FROM '{result.folder.operations}/*.parquet'").fetchall()
    assert sorted(files) == [(user,) for user in range(USERS)]
    samples = duckdb.sql(f"SELECT DISTINCT load_host FROM '{result.folder.table('load_hosts')}'").fetchall()
    assert sorted(samples) == [(0,), (1,), (2,)]
    assert not result.folder.spools.exists()
    assert not list(state.glob("hdbkit/load_hosts/*"))


def drawn(result: Result) -> list[Any]:
    """What each user executed, in order."""
    return duckdb.sql(
        "SELECT virtual_user, list((operation, w_id, d_id) ORDER BY t_start_us) "
        f"FROM '{result.folder.operations}/*.parquet' GROUP BY ALL ORDER BY 1"
    ).fetchall()


@pytest.mark.long
def test_any_number_of_hosts_draws_the_same_inputs(scheduler: str, null_target: NullTarget, tmp_path: Path) -> None:
    """One host, or three: seeds derive from the run's seed and the number of the user."""
    load = Load(virtual_users=USERS, rampup_s=0, duration_s=20, iterations=40, seed=11)
    place = Workspace(results=tmp_path)
    alone = place.run(null_target(latency_us=1000), load=load)
    together = place.run(null_target(latency_us=1000), load=load.with_(cluster=scheduler))
    assert drawn(alone) == drawn(together)
    assert len(drawn(alone)) == USERS


@pytest.mark.long
def test_the_count_of_a_real_server_is_bracketed(scheduler: str, built: PrivateServer, tmp_path: Path) -> None:
    load = Load(virtual_users=3, rampup_s=0.5, duration_s=2, cluster=scheduler)
    result = Workspace(results=tmp_path).run(built.target, load=load)
    assert check(result, "schema's count bracketed by the clients")[0]
    assert len(result.manifest.load_hosts) == 3


@pytest.mark.new_interpreters
def test_a_host_with_another_version_is_refused(
    scheduler: str, null_target: NullTarget, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The difference is found before a user is started."""
    monkeypatch.setenv("PYTHONPATH", str(altered(tmp_path)))
    load = Load(virtual_users=3, rampup_s=0, duration_s=1, cluster=scheduler)
    with pytest.raises(RunFailed, match=r"has distributed .+, but this host has 0\.1;"):
        Workspace(results=tmp_path / "results").run(null_target(), load=load)


def altered(folder: Path) -> Path:
    """A folder whose ``sitecustomize`` gives another version of dask to programs started from now on."""
    (folder / "sitecustomize.py").write_text(
        "from importlib import metadata\n"
        "kept = metadata.version\n"
        "metadata.version = lambda name: '0.1' if name == 'distributed' else kept(name)\n"
    )
    return folder


def worker_of(result_folder: Path, cluster: Any, number: int) -> int:
    """The process of the worker that serves a load host."""
    return next(
        one.pid for one in cluster.workers.values() if one.worker_address == host_of(result_folder, number).worker
    )


def host_of(folder: Path, number: int) -> NotedHost:
    """What the coordinator knows of a load host."""
    return noted_hosts(folder / "spools")[number]


def after(running: Running, seconds: float) -> None:
    """Wait until a run has been measuring for so long."""
    while running.status is not Status.MEASURING:
        time.sleep(0.05)
    time.sleep(seconds)


def users_process(state: Path, run_id: str, number: int) -> int:
    """The process of the users of a load host."""
    return int((state / "hdbkit/load_hosts" / run_id / f"{number:03d}" / "process").read_text().split()[0])


def test_a_host_that_is_cut_off_and_returns_loses_nothing(
    cluster: Any, null_target: NullTarget, tmp_path: Path
) -> None:
    """Its users continue, and what they recorded meanwhile is collected."""
    load = Load(virtual_users=3, rampup_s=0, duration_s=12, cluster=address_of(cluster))
    running = Workspace(results=tmp_path).start(null_target(latency_us=20_000), load=load)
    after(running, 0.5)
    pid = worker_of(tmp_path / running.run_id, cluster, 1)
    os.kill(pid, signal.SIGSTOP)
    try:
        while not host_of(tmp_path / running.run_id, 1).cut_offs:
            time.sleep(0.1)
        time.sleep(1)
    finally:
        os.kill(pid, signal.SIGCONT)
    result = running.wait()
    one = result.manifest.load_hosts[1]
    assert (one.cut_offs, one.is_complete, one.is_cut_off) == (1, True, False)
    passed, detail = check(result, "load hosts reached")
    assert passed is False
    assert detail.startswith("1 of 3 virtual users affected")
    assert check(result, "schema's count bracketed by the clients")[0]
    of_user = (
        f"SELECT DISTINCT t_start_us // 1000000 FROM '{result.folder.operations}/*.parquet' WHERE virtual_user = 1"
    )
    assert len(duckdb.sql(of_user).fetchall()) >= 12


@pytest.mark.long
@pytest.mark.new_interpreters
def test_a_host_that_is_cut_off_before_the_start_is_the_reason_that_is_given(
    cluster: Any, null_target: NullTarget, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last user logs in four seconds after the first, and its host is cut off before that."""
    (tmp_path / "sitecustomize.py").write_text("from hdbkit.execution import supervisor\nsupervisor._READY_S = 2.0\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    load = Load(virtual_users=3, rampup_s=0, duration_s=1, connect_rate=0.5, cluster=address_of(cluster))
    running = Workspace(results=tmp_path).start(null_target(), load=load)
    while len(noted_hosts(tmp_path / running.run_id / "spools")) < 3:
        time.sleep(0.05)
    pid = worker_of(tmp_path / running.run_id, cluster, 2)
    os.kill(pid, signal.SIGSTOP)
    try:
        with pytest.raises(RunFailed, match=r"only 2 of 3 clients were ready in 8 s: the load host .+ #2 .+ cut off"):
            running.wait()
    finally:
        os.kill(pid, signal.SIGCONT)


@pytest.mark.long
def test_a_dead_host_degrades_the_run_and_is_collected_once_it_is_back(
    cluster: Any, state: Path, null_target: NullTarget, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The others continue; its users are counted, and ``recover`` adds what its disk still has."""
    monkeypatch.setenv("XDG_STATE_HOME", str(state))
    load = Load(virtual_users=3, rampup_s=0, duration_s=4, cluster=address_of(cluster))
    running = Workspace(results=tmp_path).start(null_target(latency_us=20_000), load=load)
    after(running, 1)
    folder, pid = state / "hdbkit/load_hosts" / running.run_id, worker_of(tmp_path / running.run_id, cluster, 2)
    os.kill(users_process(state, running.run_id, 2), signal.SIGKILL)
    os.kill(pid, signal.SIGKILL)
    (folder / "002").rename(tmp_path / "disk")
    result = running.wait()
    assert [one.is_complete for one in result.manifest.load_hosts] == [True, True, False]
    assert "did not deliver their records" in result.manifest.warnings[-1]
    assert check(result, "schema's count bracketed by the clients")[0] is None
    assert "1 killed" in check(result, "clients ended as planned")[1]
    (folder).mkdir(exist_ok=True)
    (tmp_path / "disk").rename(folder / "002")
    again = Workspace(results=tmp_path).attach(running.run_id).recover()
    assert all(one.is_complete for one in again.manifest.load_hosts)
    assert check(again, "every transaction accounted for")[0]
    assert check(again, "schema's count bracketed by the clients")[0]
    assert again.manifest.warnings == result.manifest.warnings[:-1]
    names = [one.name for one in again.manifest.checks]
    assert len(names) == len(set(names))
    assert not again.folder.spools.exists()
