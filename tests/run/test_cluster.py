"""Runs on several load hosts: dask workers in processes of their own, on the null engine and a real server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

import hdbkit
from hdbkit.api import Result
from hdbkit.config import Load
from hdbkit.errors import RunFailed
from hdbkit.servers import PrivateServer
from hdbkit.workspace import Workspace
from tests.run.clusters import dask_cluster
from tests.run.conftest import NullTarget

USERS = 6


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the hosts keep their files."""
    return tmp_path_factory.mktemp("state")


@pytest.fixture(scope="module")
def scheduler(state: Path) -> Iterator[str]:
    """The address of a scheduler with three load hosts."""
    with dask_cluster(state, 3) as cluster:
        yield cluster.scheduler_address


def check(result: Result, name: str) -> tuple[bool | None, str]:
    """A check of a result."""
    (found,) = [one for one in result.manifest.checks if one.name == name]
    return found.passed, found.detail


def test_users_of_several_hosts_are_one_run(
    scheduler: str, state: Path, null_target: NullTarget, tmp_path: Path
) -> None:
    """One folder has the records of all hosts, and the schema's count is bracketed by them."""
    load = Load(virtual_users=USERS, rampup_s=0.5, duration_s=2, cluster=scheduler)
    result = hdbkit.run(null_target(latency_us=3000), load=load, workspace=Workspace(results=tmp_path))
    hosts = result.manifest.load_hosts
    assert [(one.first_client, one.clients) for one in hosts] == [(0, 2), (2, 2), (4, 2)]
    assert check(result, "schema's count bracketed by the clients")[0]
    assert check(result, "every transaction accounted for")[0]
    assert check(result, "clients ended as planned")[0]
    assert check(result, "load hosts reached")[0]
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


def test_any_number_of_hosts_draws_the_same_inputs(scheduler: str, null_target: NullTarget, tmp_path: Path) -> None:
    """One host, or three: seeds derive from the run's seed and the number of the user."""
    load = Load(virtual_users=USERS, rampup_s=0, duration_s=20, iterations=40, seed=11)
    place = Workspace(results=tmp_path)
    alone = hdbkit.run(null_target(latency_us=1000), load=load, workspace=place)
    together = hdbkit.run(null_target(latency_us=1000), load=load.with_(cluster=scheduler), workspace=place)
    assert drawn(alone) == drawn(together)
    assert len(drawn(alone)) == USERS


def test_the_count_of_a_real_server_is_bracketed(scheduler: str, built: PrivateServer, tmp_path: Path) -> None:
    load = Load(virtual_users=3, rampup_s=0.5, duration_s=2, cluster=scheduler)
    result = hdbkit.run(built.target, load=load, workspace=Workspace(results=tmp_path))
    assert check(result, "schema's count bracketed by the clients")[0]
    assert len(result.manifest.load_hosts) == 3


def test_a_host_with_another_version_is_refused(
    scheduler: str, null_target: NullTarget, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The difference is found before a user is started."""
    monkeypatch.setenv("PYTHONPATH", str(altered(tmp_path)))
    load = Load(virtual_users=3, rampup_s=0, duration_s=1, cluster=scheduler)
    with pytest.raises(RunFailed, match=r"has distributed .+, but this host has 0\.1;"):
        hdbkit.run(null_target(), load=load, workspace=Workspace(results=tmp_path / "results"))


def altered(folder: Path) -> Path:
    """A folder whose ``sitecustomize`` gives another version of dask to programs started from now on."""
    (folder / "sitecustomize.py").write_text(
        "from importlib import metadata\n"
        "kept = metadata.version\n"
        "metadata.version = lambda name: '0.1' if name == 'distributed' else kept(name)\n"
    )
    return folder
