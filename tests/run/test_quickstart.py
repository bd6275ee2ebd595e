"""The quickstart over the null engine: its steps, their states and times, and what stays after a stop."""

from __future__ import annotations

import dataclasses
import uuid
from pathlib import Path

import pytest

import hdbkit
from hdbkit import api
from hdbkit.api import DEFAULT, Quickstart, QuickStep, StepState
from hdbkit.api.first_result import OnStep
from hdbkit.config import Load, SweepSpec, Target, WorkloadSpec
from hdbkit.contracts import Check
from hdbkit.errors import HdbkitError, InputError
from hdbkit.loading import BuildProgress, BuildResult, Stage
from hdbkit.results.manifest import Status
from hdbkit.text import duration_text
from tests.widgets.conftest import build_null

WAITING, RUNNING, DONE, FAILED = StepState
SHORT = Load(virtual_users=2, rampup_s=0, duration_s=0.4)
SWEEP = SweepSpec(
    name="speed", settings={"speed": ("1", "2")}, virtual_users=(2,), blocks=2, load=Load(rampup_s=0, duration_s=0.3)
)


@pytest.fixture
def target() -> Target:
    """A null database without a schema, whose settings may be changed."""
    options = {"latency_us": "1000"}
    return Target(kind="nulldb", database=f"q{uuid.uuid4().hex[:12]}", options=options, may_change_settings=True)


def states(of: Quickstart) -> list[StepState]:
    return [step.state for step in of.steps]


def built_at_once(
    connection: api.Connection, spec: WorkloadSpec, *, progress: BuildProgress, **_: object
) -> BuildResult:
    """A build whose loading takes no time."""
    progress.stage(Stage.LOAD)
    progress.loaded(3, 4, 100)
    build_null(connection.target)
    return BuildResult(4, 100, 0, 0.0, (Check("rows", True, ""),))


def test_each_step_is_told_when_it_begins_and_ends_and_the_results_are_kept(
    target: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[QuickStep] = []
    monkeypatch.setattr(api.Connection, "build", built_at_once)
    done = hdbkit.quickstart(target, load=SHORT, spec=SWEEP, watch=seen.append)
    changes = list(dict.fromkeys((step.number, step.state) for step in seen))
    assert changes == [(number, state) for number in range(1, 6) for state in (RUNNING, DONE)]
    ends = {step.number: step for step in seen if step.state is DONE}
    assert all(step.detail and step.spent_s == step.ended_s - step.begun_s > 0 for step in ends.values())
    assert [step.detail for step in seen if step.number == 2] == [
        "",
        "load",
        "3 of 4 rows",
        *["4 rows, 1 checks passed"] * 2,
    ]
    assert ends[3].detail == done.run.metric.text(done.run.metric_value)
    assert ends[4].detail == done.sweep.answer
    assert (done.run.manifest.plan.label, done.sweep.failed) == ("quickstart", 0)
    assert done.report.read_text(encoding="utf-8").startswith("<!")


def test_a_script_sees_the_expected_time_first_and_then_each_step(
    target: Target, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(_: Quickstart, watch: OnStep) -> None:
        step = QuickStep(1, "Connect", 1.0, RUNNING)
        for one in (
            step,
            dataclasses.replace(step, detail="half"),
            dataclasses.replace(step, state=DONE, detail="x"),
        ):
            watch(one)

    monkeypatch.setattr(Quickstart, "run", run)
    hdbkit.quickstart(target, load=SHORT, spec=SWEEP)
    first, *others = capsys.readouterr().out.splitlines()
    assert first == f"5 steps, about {duration_text(Quickstart(DEFAULT, target, load=SHORT, spec=SWEEP).expected_s)}"
    assert others[0] == "1. Connect" and others[1].startswith("   done: x (") and len(others) == 2


def test_a_stop_ends_the_run_in_progress_and_nothing_is_done_after_it(target: Target) -> None:
    build_null(target)
    made = Quickstart(DEFAULT, target, load=SHORT.model_copy(update={"duration_s": 600.0}), spec=SWEEP)

    def stop(step: QuickStep) -> None:
        if step.detail.startswith("measuring"):
            made.stop()

    with pytest.raises(HdbkitError, match="was stopped"):
        made.run(stop)
    assert states(made) == [DONE, DONE, FAILED, WAITING, WAITING]
    assert (made.steps[1].detail, made.steps[2].detail) == ("1 warehouse is already there", "stopped")
    assert api.result().manifest.status is Status.STOPPED
    assert api.running_runs() == []


def test_a_failed_step_states_why(target: Target) -> None:
    made = Quickstart(DEFAULT, build_null(target).with_(may_change_settings=False), load=SHORT, spec=SWEEP)
    with pytest.raises(InputError) as error:
        made.run()
    assert states(made) == [DONE, DONE, DONE, FAILED, WAITING]
    assert made.steps[3].detail == str(error.value)


def test_a_private_server_is_used_for_seconds_and_a_target_of_your_own_for_minutes(target: Target) -> None:
    private = target.with_(server_folder=Path("folder"))
    assert (api.default_load(private).rampup_s, api.default_load(private).duration_s) == (2, 20)
    assert api.default_load(target) == Load()
    quick = SWEEP.with_(load=Load(rampup_s=1, duration_s=5))
    run_s = {Quickstart(DEFAULT, one, spec=quick).steps[2].expected_s for one in (private, target)}
    assert len(run_s) == 1, "the first run has the load of the sweep that was given"
    assert 6 < run_s.pop() < 60


def test_the_first_kind_with_binaries_is_started(monkeypatch: pytest.MonkeyPatch) -> None:
    @dataclasses.dataclass
    class Found:
        kind: str

    monkeypatch.setattr("hdbkit.api.first_result.find_binaries", lambda: [Found("mariadb"), Found("postgresql")])
    made = Quickstart(DEFAULT)
    assert made.steps[0].title == "Start a private MariaDB server"
    assert "innodb_flush_log_at_trx_commit" in made.steps[3].title
    assert 30 < made.expected_s < 300
    monkeypatch.setattr("hdbkit.api.first_result.find_binaries", list)
    with pytest.raises(InputError, match="can start no server on this machine"):
        Quickstart(DEFAULT)
