"""A sweep over partitions of TPROC-C on a real server, killed while a schema that was built is there."""

from __future__ import annotations

import os
import signal
import time

import pytest

import hdbkit
from hdbkit import api
from hdbkit.config import Load, SweepSpec, Target, TprocCSpec
from hdbkit.databases import database
from hdbkit.errors import ExperimentFailed
from hdbkit.loading import build
from hdbkit.servers import private_server
from hdbkit.workloads import workload
from hdbkit.workloads.present import present_schema


def test_partitioned_schemas_are_built_for_their_runs_and_a_killed_sweep_brings_the_data_back() -> None:
    with private_server(settings={"fsync": "off"}) as server:
        target = server.target
        build(target, TprocCSpec(warehouses=1))
        before, content = present_schema(target), orders(target)
        spec = SweepSpec(factors={"partitions": [0, 2]}, blocks=2, load=Load(rampup_s=0, duration_s=0.5))
        running = hdbkit.start_sweep(target, spec)
        while not any(line.details.get("rebuilt_s") for line in running.folder.journal.lines):
            assert not running.status.ended, running.progress().note
            time.sleep(0.02)
        process = running.folder.journal.state.executed_by
        assert process
        os.kill(process, signal.SIGKILL)
        with pytest.raises(ExperimentFailed, match="was killed"):
            running.wait()
        assert present_schema(target).storage["partitions"] == 2
        done = hdbkit.resume_experiment(running.experiment_id, target)
        assert list(done.runs["status"]) == ["done"] * 4
        assert done.runs["run_id"].nunique() == 4
        of_each = {
            api.result(run_id).manifest.schema_facts.get("partitions", 0) == int(partitions)
            for run_id, partitions in zip(done.runs["run_id"], done.runs["partitions"], strict=True)
        }
        assert of_each == {True}
        assert (present_schema(target), orders(target)) == (before, content)


def orders(target: Target) -> int:
    engine = database(target)
    session = engine.connect(target, workload(present_schema(target)).scope(engine.dialects))
    try:
        return int(session.query("count_new_orders")[0][0])
    finally:
        session.close()
