"""A population that is loaded by several load hosts, on a real server: each part once, whatever is lost."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from threading import Event, Timer
from typing import Any

import pytest

import hdbkit
from hdbkit.cluster.loading import ClusterLoaders, Order
from hdbkit.config import Target, WorkloadSpec
from hdbkit.config.cluster import Cluster
from hdbkit.contracts import Schema
from hdbkit.databases import database, sql_session
from hdbkit.errors import InputError
from hdbkit.loading.loaders import LoadPart, Sent
from hdbkit.servers import PrivateServer
from hdbkit.workloads import specification, workload
from tests.conftest import HdbkitCommand
from tests.run.clusters import address_of, dask_cluster
from tests.run.faults import until
from tests.unit.own_workload import folder

ROWS = 450_000
LOCKED_S = 4
PARTS = {f"things-{number}" for number in range(5)}
YAML = f"""\
schema_name: loaded_by_hosts
operations: {{look: {{}}}}
variables: {{id: {{uniform: {{max: {ROWS}}}}}}}
tables: {{things: {{rows: {ROWS}, columns: {{id: row, content: 7}}}}}}
"""
SQL = """\
-- name: create_things
CREATE TABLE things (id INTEGER NOT NULL, content INTEGER NOT NULL);
-- name: look
SELECT content FROM things WHERE id = :id;
-- name: count_different
SELECT COUNT(*), COUNT(DISTINCT id) FROM things;
"""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A scheduler with two load hosts."""
    with dask_cluster(tmp_path_factory.mktemp("state"), 2) as cluster:
        yield cluster


@pytest.fixture
def spec(tmp_path: Path) -> WorkloadSpec:
    return specification(folder(tmp_path, YAML, SQL))


@pytest.fixture
def target(built: PrivateServer, spec: WorkloadSpec) -> Iterator[Target]:
    yield built.target
    hdbkit.connect(built.target).drop(spec)


@pytest.fixture
def schema(target: Target, spec: WorkloadSpec) -> Iterator[Schema]:
    """The tables, which are empty."""
    with closing(database(target).schema(target, workload(spec))) as schema:
        schema.create(workload(spec).record)
        yield schema


def rows_in(target: Target, spec: WorkloadSpec) -> tuple[int, int]:
    """The rows in the table, and how many of them differ."""
    with closing(sql_session(target, workload(spec).scope(database(target).dialects))) as session:
        ((rows, different),) = session.query("count_different")
    return rows, different


def loaders_of(cluster: Any, target: Target, spec: WorkloadSpec, schema: Schema) -> ClusterLoaders:
    """The loaders of both hosts; a worker that was killed is started again."""
    cluster.wait_for_workers(2, timeout=60)
    order = Order(target, spec, 0)
    return ClusterLoaders(Cluster.parse(address_of(cluster)), 1, order, Event(), lambda: schema.log().parts)


def test_hosts_load_each_part_once(cluster: Any, target: Target, spec: WorkloadSpec) -> None:
    with pytest.warns(UserWarning, match="has no encryption"):
        result = hdbkit.connect(target).build(spec, loaders=1, cluster=address_of(cluster))
    assert (result.rows, result.passed) == (ROWS, True)
    assert rows_in(target, spec) == (ROWS, ROWS)


def test_the_parts_of_a_lost_host_are_loaded_by_others(
    cluster: Any, target: Target, spec: WorkloadSpec, schema: Schema
) -> None:
    """Its worker is killed while parts are loaded."""
    sent: list[Sent] = []

    def kill_one(report: Sent) -> None:
        if not sent:
            os.kill(next(iter(cluster.workers.values())).pid, signal.SIGKILL)
        sent.append(report)

    with loaders_of(cluster, target, spec, schema) as hosts:
        assert hosts.count == 2
        hosts.do([LoadPart(key) for key in sorted(PARTS)], kill_one)
    assert sum(one.rows for one in sent) == ROWS
    assert schema.log().parts.keys() == PARTS
    assert rows_in(target, spec) == (ROWS, ROWS)


def test_a_host_that_is_lost_while_every_host_has_parts_leaves_them_to_the_others(
    cluster: Any, target: Target, spec: WorkloadSpec, schema: Schema
) -> None:
    """No part is loaded until the loss has been noticed, since the table is locked."""
    sent: list[Sent] = []
    scope = workload(spec).scope(database(target).dialects)
    with closing(sql_session(target, scope)) as locking, loaders_of(cluster, target, spec, schema) as hosts:
        locking.execute("BEGIN")
        locking.execute("LOCK TABLE things IN SHARE MODE")
        (lost,) = [one for one in cluster.workers.values() if one.worker_address == hosts._workers[0]]
        os.kill(lost.pid, signal.SIGKILL)
        until(lambda: hosts._workers[0] not in hosts._connection.workers(), "the scheduler has noticed it")
        unlock = Timer(LOCKED_S, lambda: locking.execute("COMMIT"))
        unlock.start()
        hosts.do([LoadPart(key) for key in sorted(PARTS)], sent.append)
        unlock.join()
    assert sum(one.rows for one in sent) == ROWS
    assert rows_in(target, spec) == (ROWS, ROWS)


@pytest.mark.long
def test_a_part_that_a_lost_host_had_committed_counts_as_loaded(
    cluster: Any, target: Target, spec: WorkloadSpec, schema: Schema
) -> None:
    """Its record arrived, and its answer did not: another host tries it and finds it there."""
    sent: list[Sent] = []
    with loaders_of(cluster, target, spec, schema) as hosts:
        hosts.do([LoadPart("things-4")])
        hosts.do([LoadPart("things-4")], sent.append)
    assert [one.rows for one in sent] == [50_000]
    assert rows_in(target, spec) == (50_000, 50_000)


def test_what_is_no_cluster_is_refused(built: PrivateServer, spec: WorkloadSpec, command: HdbkitCommand) -> None:
    with pytest.raises(InputError, match="is no cluster"):
        hdbkit.connect(built.target).build(spec, cluster="load0")
    said = command("build", built.target.url, "--cluster", "load0")
    assert (said.code, "is no cluster" in said.err) == (2, True)
