"""Sweeps over options of the load and the schema, and runs that break an abort rule."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from multiprocessing import forkserver
from pathlib import Path

import pytest

import hdbkit
from hdbkit import api
from hdbkit.api import executing
from hdbkit.config import Load, SweepSpec, Target, TprocCSpec, WorkloadSpec
from hdbkit.config.sweep_spec import AbortRules
from hdbkit.contracts import Session
from hdbkit.databases import database
from hdbkit.errors import BuildFailed, ConfigErrors, InputError
from hdbkit.experiment import run_data, start
from hdbkit.experiment.course import rule_broken
from hdbkit.experiment.kinds.sweep.plan import plan_sweep
from hdbkit.plan import RunPlan
from hdbkit.results.experiment_runs import runs_frame
from hdbkit.results.folder import RunFolder
from hdbkit.results.journal import Step
from hdbkit.results.manifest import Event, Manifest, Status
from hdbkit.servers import find_binaries, private_server
from hdbkit.workloads import specification, workload
from hdbkit.workloads.present import present_schema
from hdbkit.workloads.tproc_c import NOPM
from tests.run.conftest import NullTarget
from tests.run.sweep_server import FileServer, begun, runner
from tests.unit.synthetic import changed, figures, operation, plan_of

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
    assert {run.manifest.plan.load.mix["new_order"] for run in map(api.result, done.runs["run_id"])} == {1.0}
    assert done.report().stat().st_size > 0


def test_a_sweep_varies_options_of_the_target_that_name_no_file_and_no_other_server(null_target: NullTarget) -> None:
    target, option = null_target(error_rate=0.01, latency_us=500), "target.error_class"
    spec = SweepSpec(factors={option: ["constraint", "lock_timeout"]}, blocks=2, load=SHORT)
    done = hdbkit.sweep(target, spec)
    used = {run.manifest.plan.target.options["error_class"] for run in map(api.result, done.runs["run_id"])}
    assert used == set(done.runs[option]) == {"constraint", "lock_timeout"}
    assert done.report().stat().st_size > 0
    for wrong in ("target.latency_us", "target.key"):
        with pytest.raises(InputError, match="cannot vary the target's option"):
            api.plan_sweep(target, spec.with_(factors={wrong: ["1", "2"]}))


def test_a_schema_is_rebuilt_only_where_the_data_can_be_kept(null_target: NullTarget) -> None:
    with pytest.raises(ConfigErrors, match="factors: partitions need the schema to be rebuilt, but the data"):
        hdbkit.sweep(null_target(), SweepSpec(factors={"partitions": [0, 2]}, blocks=2, load=SHORT))


def test_the_advice_after_a_failed_build_is_that_of_the_sweep(
    null_target: NullTarget, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failed(*_: object, **__: object) -> None:
        raise BuildFailed("part 7", "the disk is full", "continue it with: hdbkit build")

    monkeypatch.setattr(run_data, "build", failed)
    with pytest.raises(BuildFailed) as said:
        run_data._build(null_target(), TprocCSpec(warehouses=2), FileServer(tmp_path / "server"))
    assert str(said.value) == (
        "the build failed at part 7: the disk is full; the next run that needs this schema builds it anew"
    )


@pytest.fixture
def small(tmp_path: Path) -> Iterator[tuple[Target, WorkloadSpec]]:
    """A server of its own with a workload of ten rows, to which one was added after the build."""
    folder = tmp_path / "small"
    folder.mkdir()
    (folder / "workload.yaml").write_text(
        "name: small\nschema_name: small\nparameters: {rows: 10}\noperations: {count_things: {}, add_thing: {}}\n"
        "tables: {things: {rows: rows, columns: {id: row}}}\n"
    )
    (folder / "all.sql").write_text(
        "-- name: create_things\nCREATE TABLE things (id INTEGER);\n"
        "-- name: count_things\nSELECT count(*) FROM things;\n"
        "-- name: add_thing\nINSERT INTO things VALUES (0);\n"
    )
    if not any(one.kind == "postgresql" for one in find_binaries()):
        pytest.skip("no server binaries here; see: hdbkit doctor")
    with private_server("postgresql", settings={"fsync": "off"}) as server:
        spec = specification(folder)
        assert hdbkit.connect(server.target).build(spec).passed
        with session_of(server.target, spec) as session:
            session.ask("add_thing")
        yield server.target, spec


@contextmanager
def session_of(target: Target, spec: WorkloadSpec) -> Iterator[Session]:
    engine = database(target)
    with closing(engine.connect(target, workload(spec).scope(engine.dialects))) as session:
        yield session


def rows_of(target: Target, spec: WorkloadSpec) -> int:
    with session_of(target, spec) as session:
        return int(session.ask("count_things")[0][0])


@pytest.mark.long
def test_schemas_are_built_for_their_runs_and_a_killed_sweep_brings_the_data_back(
    small: tuple[Target, WorkloadSpec], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A kill -9 while a schema that was built is there loses neither a run nor the data as they were."""
    target, of = small
    spec = SweepSpec(factors={"parameters": ["rows=10", "rows=20"]}, workload=of, blocks=2, load=SHORT)

    def run_one(plan: RunPlan, root: Path, _: object) -> Manifest:
        """A run that looks at the data that it was promised."""
        planned = dict(plan.workload)["parameters"]["rows"]
        assert rows_of(target, plan.workload) == {10: 11, 20: 20}[planned]
        done = begun(plan).model_copy(update={"result": figures(1000.0)}).moved_to(Status.DONE)
        folder = RunFolder(root / plan.run_id)
        folder.path.mkdir()
        folder.write(done)
        return done

    def killed(plan: RunPlan, root: Path, watch: object) -> Manifest:
        if rows_of(target, plan.workload) == 20:
            os.kill(os.getpid(), signal.SIGKILL)
        return run_one(plan, root, watch)

    if not (child := os.fork()):
        monkeypatch.setattr(forkserver._forkserver, "_forkserver_pid", None)  # that of the parent is no child of ours
        monkeypatch.setattr(executing, "execute", killed)
        try:
            hdbkit.sweep(target, spec)
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    assert rows_of(target, of) == 20
    monkeypatch.setattr(executing, "execute", run_one)
    done = hdbkit.resume_experiment("last", target)
    assert list(done.runs["status"]) == ["done"] * 4, list(done.runs["note"])
    assert done.runs["run_id"].nunique() == 4
    assert sorted(done.runs["parameters"]) == ["rows=10"] * 2 + ["rows=20"] * 2
    assert (present_schema(target, of), rows_of(target, of)) == (of, 11)


def ended(failed: int, p95_us: int) -> Manifest:
    result = figures(1.0, failed=failed, completed=100 - failed, operations={"new_order": operation(p95_us=p95_us)})
    begun = Event(status=Status.DONE, at=datetime.now(UTC))
    return Manifest(
        run_id="r", notice="", status=Status.DONE, history=[begun], plan=plan_of(), operations=["new_order"],
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


def test_in_an_open_loop_the_rule_is_about_response_time() -> None:
    run = ended(failed=0, p95_us=50_000).model_copy(update={"rate_per_s": 10.0})
    response = {"response": {"p95_us": 70_000}}
    run = changed(run, operations={"new_order": dict(run.measured.operations["new_order"]) | response})
    assert "95 % quantile of new_order was 70.0 ms" in rule_broken(AbortRules(latency_p95_ms=60), run)


def test_a_run_that_breaks_a_rule_is_failed_and_its_configuration_not_run_again(tmp_path: Path) -> None:
    server, results = FileServer(tmp_path / "server"), tmp_path / "results"
    results.mkdir()
    done = runner(server, results)

    def run_one(plan: RunPlan) -> Manifest:
        manifest = done(plan)
        assert plan.experiment is not None
        failed = 50 if plan.experiment.settings["flush"] == "off" else 0
        return changed(manifest, failed=failed, completed=50)

    spec = SweepSpec(settings={"flush": ["on", "off"]}, blocks=3, virtual_users=(1, 2), abort={"failed_share": 0.1})
    folder = start(plan_sweep(Target(kind="nulldb"), spec, "s"), results, lambda _: server, run_one)
    frame = runs_frame(folder)
    assert set(frame[frame["configuration"] == 0]["status"]) == {"done"}
    worse = frame[frame["configuration"] == 1]
    assert set(worse["status"]) == {"failed"}
    assert (worse["run_id"] != "").sum() == 2, "once at each count of virtual users"
    assert worse["note"].str.contains("50.00% of its operations failed").all()
    assert worse["note"].str.startswith("not run, since run").sum() == 4
    assert sum(line.step is Step.RUN_STARTED for line in folder.journal.lines) == 8
