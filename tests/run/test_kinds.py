"""A kind of experiment of another package: a class of plans and a ``Kind``, and all else works with it."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal

import pytest

import hdbkit
from hdbkit.api.experiment_result import ExperimentResult
from hdbkit.config import Load, Preparation, TprocCSpec
from hdbkit.config.specs import AnyLoad, AnyWorkload
from hdbkit.errors import DamagedResult, InputError
from hdbkit.experiment import EventKind, ExperimentEvent, kinds
from hdbkit.experiment.kind import Figure, Kind
from hdbkit.experiment.kinds.comparison import ComparisonPlan
from hdbkit.experiment.plan import Cell, OneTargetPlan, PlannedRun
from hdbkit.results.experiment_folder import ExperimentFolder, find_experiment
from hdbkit.results.journal import RUN_ENDS
from hdbkit.service.results import Experiments
from hdbkit.widgets import ComparePanel
from hdbkit.widgets.parts.experiment_view import grid_html
from tests.conftest import HdbkitCommand
from tests.run.conftest import NullTarget

RUNS = 3


class StairsPlan(OneTargetPlan):
    """The plan of a load that has one more virtual user in each block, as long as runs finish."""

    kind: Literal["stairs"] = "stairs"
    workload: AnyWorkload
    load: AnyLoad

    @property
    def title(self) -> str:
        return "the stairs"

    @property
    def preparation(self) -> Preparation:
        return Preparation(cooldown_s=0)

    def cell(self, planned: PlannedRun) -> Cell:
        return Cell(self.target, self.workload, self.load.with_(virtual_users=planned.virtual_users))

    def risen(self) -> StairsPlan:
        step = len(self.runs) + 1
        run = PlannedRun(number=step, block=step, configuration=0, virtual_users=step, seed=step)
        return self.model_copy(update={"runs": (*self.runs, run)})


class _Stairs(Kind[StairsPlan]):
    def following(self, plan: StairsPlan, folder: ExperimentFolder) -> StairsPlan:
        if folder.journal.state.next_number <= len(plan.runs) or len(plan.runs) == RUNS:
            return plan
        folder.write_plan(longer := plan.risen())
        return longer

    def figure(self, plan: StairsPlan) -> Figure:
        return Figure("steps", lambda run, _: f"climbed by {run.read().plan.load.virtual_users}")


@pytest.fixture
def stairs(monkeypatch: pytest.MonkeyPatch, null_target: NullTarget) -> StairsPlan:
    """A plan of this kind, which is registered for the test."""
    monkeypatch.setattr(kinds, "_known", {})
    kinds.register(_Stairs(StairsPlan))
    target, load = null_target(latency_us=1000), Load(rampup_s=0, duration_s=0.3)
    plan = StairsPlan(experiment_id="stairs-1", configurations=({"floor": "ground"},), runs=(), target=target,
                      workload=TprocCSpec(warehouses=2), load=load)  # fmt: skip
    return plan.risen()


def test_it_is_killed_resumed_listed_and_shown(stairs: StairsPlan, results: Path, command: HdbkitCommand) -> None:
    def doomed(event: ExperimentEvent) -> None:
        if event.kind is EventKind.PREPARING and event.planned and event.planned.number == 2:
            os.kill(os.getpid(), signal.SIGKILL)

    if not (child := os.fork()):
        hdbkit.run_experiment(stairs, watch=doomed)
        os._exit(0)
    assert os.WIFSIGNALED(os.waitpid(child, 0)[1])
    with pytest.raises(InputError, match="stairs-1 has no result but its runs"):
        hdbkit.resume_experiment("stairs-1")
    folder = find_experiment(results, "stairs-1")
    assert [line.number for line in folder.journal.lines if line.step in RUN_ENDS] == [1, 2, 3], "each exists once"
    (listed,) = command("experiments", "--json").json
    assert (listed["kind"], listed["status"], listed["ended"]) == ("stairs", "done", RUNS)
    document = Experiments(hdbkit.Workspace(results=results)).find("stairs-1")
    assert (document.kind, document.title, document.done) == ("stairs", "the stairs", RUNS)
    grid = grid_html(hdbkit.attach_experiment("stairs-1"))
    assert all(f"climbed by {users}" in grid for users in range(1, RUNS + 1))
    panel = ComparePanel().attach("stairs-1")
    with pytest.raises(InputError, match="no result but its runs"):
        panel.wait()
    assert "climbed by 3" in panel.view.grid.value
    panel.close()
    kinds._known.clear()
    with pytest.raises(DamagedResult, match="there is no kind of experiment 'stairs' here; install the package"):
        kinds.read_plan(folder)


def test_a_result_is_read_by_its_kind(stairs: StairsPlan, monkeypatch: pytest.MonkeyPatch) -> None:
    def result(_: Any, __: Any, folder: ExperimentFolder) -> ExperimentResult:
        return folder.experiment_id  # type: ignore[return-value]

    monkeypatch.setattr(_Stairs, "result", result)
    assert hdbkit.run_experiment(stairs) == "stairs-1"


def test_a_name_belongs_to_one_kind(stairs: StairsPlan) -> None:
    with pytest.raises(InputError, match="there is a kind of experiment 'comparison' already"):
        kinds.register(Kind(ComparisonPlan))


def test_every_module_of_kinds_is_named_as_its_kind() -> None:
    assert {kinds.kind_named(name).name for name in kinds.built_in()} == set(kinds.built_in())


def test_a_kind_of_another_package_is_an_entry_point(stairs: StairsPlan, monkeypatch: pytest.MonkeyPatch) -> None:
    kinds._known.clear()
    kind = _Stairs(StairsPlan)
    packages = {"stairs": SimpleNamespace(load=lambda: kind, module="stairs_of_others"),
                "broken": SimpleNamespace(load=lambda: kind, module="broken_kinds")}  # fmt: skip
    monkeypatch.setattr(kinds, "entry_points", lambda name, **_: [packages[name]] if name in packages else [])
    assert kinds.kind_of(stairs) is kind
    with pytest.raises(InputError, match=r"'broken' cannot be used .*it is no Kind .*; correct broken_kinds"):
        kinds.kind_named("broken")
