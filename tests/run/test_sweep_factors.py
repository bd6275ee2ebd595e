"""Sweeps over options of the load and the schema, and runs that break an abort rule."""

from __future__ import annotations

import os
import signal
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

import hdbkit
from hdbkit import api
from hdbkit.config import Load, SweepSpec, Target
from hdbkit.config.sweep_spec import AbortRules
from hdbkit.databases import database
from hdbkit.errors import ConfigErrors, SweepFailed
from hdbkit.plan import RunPlan
from hdbkit.results.journal import Step
from hdbkit.results.manifest import Event, Manifest, Status
from hdbkit.results.sweep_folder import runs_frame
from hdbkit.servers import PrivateServer
from hdbkit.sweep_plan import plan_sweep
from hdbkit.sweep_runner import start
from hdbkit.sweep_runner.outcomes import rule_broken
from hdbkit.workloads import workload
from hdbkit.workloads.present import present_schema
from hdbkit.workloads.tproc_c import NOPM
from tests.run.conftest import NullTarget
from tests.run.sweep_server import FileServer, runner

SHORT = Load(rampup_s=0, duration_s=0.5)


@pytest.mark.alone
def test_a_sweep_of_factors_alone_needs_no_leave_and_finds_their_effect(null_target: NullTarget) -> None:
    target = null_target(latency_us=3000)
    mixes = ["new_order=1", "new_order=1,payment=3"]
    spec = SweepSpec(factors={"mix": mixes}, virtual_users=(2,), blocks=2, load=SHORT)
    done = hdbkit.sweep(target, spec)
    assert list(done.runs["status"]) == ["done"] * 4
    assert set(done.runs["mix"]) == set(mixes)
    assert done.effects.iloc[0]["ratio"] < 0.5
    assert {run.manifest.plan["load"]["mix"]["new_order"] for run in map(api.result, done.runs["run_id"])} == {1.0}
    assert done.report().stat().st_size > 0


def test_a_schema_is_rebuilt_only_where_the_data_can_be_kept(null_target: NullTarget) -> None:
    with pytest.raises(ConfigErrors, match="factors: partitions need the schema to be rebuilt, but the data"):
        hdbkit.sweep(null_target(), SweepSpec(factors={"partitions": [0, 2]}, blocks=2, load=SHORT))


def test_schemas_are_built_for_their_runs_and_a_killed_sweep_brings_the_data_back(built: PrivateServer) -> None:
    """A kill -9 while a schema that was built is there loses neither a run nor the data as they were."""
    target = built.target
    before, content = present_schema(target), orders(target)
    spec = SweepSpec(factors={"partitions": [0, 2]}, blocks=2, load=SHORT)

    running = hdbkit.start_sweep(target, spec)
    while not any(line.details.get("rebuilt_s") for line in running.folder.journal.lines):
        assert not running.status.ended, running.progress().note
        time.sleep(0.02)
    process = running.folder.journal.state.executed_by
    assert process
    os.kill(process, signal.SIGKILL)
    with pytest.raises(SweepFailed, match="was killed"):
        running.wait()
    assert present_schema(target).storage["partitions"] == 2
    done = hdbkit.sweep(target, resume_id=running.sweep_id)
    assert list(done.runs["status"]) == ["done"] * 4
    assert done.runs["run_id"].nunique() == 4
    of_each = {
        api.result(run_id).manifest.schema_facts.get("partitions", 0) == int(partitions)
        for run_id, partitions in zip(done.runs["run_id"], done.runs["partitions"], strict=True)
    }
    assert of_each == {True}
    assert (present_schema(target), orders(target)) == (before, content)


def orders(target: Target) -> int:
    engine = database(target.kind)
    session = engine.connect(target, workload(present_schema(target)).scope(engine.dialects))
    try:
        return int(session.query("count_new_orders")[0][0])
    finally:
        session.close()


def ended(failed: int, p95_us: int) -> Manifest:
    result = {"failed": failed, "completed": 100 - failed, "operations": {"new_order": {"p95_us": p95_us}}}
    begun = Event(status=Status.DONE, at=datetime.now(UTC))
    return Manifest(
        run_id="r", notice="", status=Status.DONE, history=[begun], plan={}, operations=["new_order"],
        metric=NOPM, noun="query", result=result,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("rules", "said"),
    [
        (AbortRules(), ""),
        (AbortRules(failed_share=0.03, latency_p95_ms=51), ""),
        (AbortRules(failed_share=0.01), "abort rule: 2.00% of its queries failed, more than 1.00%"),
        (AbortRules(latency_p95_ms=49), "95 % quantile of new_order was 50.0 ms, more than 49 ms"),
    ],
)
def test_a_rule_is_broken_or_kept(rules: AbortRules, said: str) -> None:
    assert said in rule_broken(rules, ended(failed=2, p95_us=50_000))
    assert bool(rule_broken(rules, ended(failed=2, p95_us=50_000))) == bool(said)


def test_a_run_that_breaks_a_rule_is_failed_and_its_configuration_not_run_again(tmp_path: Path) -> None:
    server, results = FileServer(tmp_path / "server"), tmp_path / "results"
    results.mkdir()
    done = runner(server, results)

    def run_one(plan: RunPlan) -> Manifest:
        manifest = done(plan)
        assert plan.sweep is not None
        failed = 50 if plan.sweep.settings["flush"] == "off" else 0
        return manifest.model_copy(update={"result": {**manifest.result, "failed": failed, "completed": 50}})

    spec = SweepSpec(settings={"flush": ["on", "off"]}, blocks=3, virtual_users=(1, 2), abort={"failed_share": 0.1})
    folder = start(plan_sweep(Target(kind="nulldb"), spec, "s"), results, server, run_one)
    frame = runs_frame(folder)
    assert set(frame[frame["configuration"] == 0]["status"]) == {"done"}
    worse = frame[frame["configuration"] == 1]
    assert set(worse["status"]) == {"failed"}
    assert (worse["run_id"] != "").sum() == 2, "once at each count of virtual users"
    assert worse["note"].str.contains("50.00% of its operations failed").all()
    assert worse["note"].str.startswith("not run, since run").sum() == 4
    assert sum(line.step is Step.RUN_STARTED for line in folder.journal.lines) == 8
