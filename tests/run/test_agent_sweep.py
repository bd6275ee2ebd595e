"""A sweep through an agent: two "hosts", an agent that restarts, and restored settings."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import pandas as pd
import pytest

import hdbkit
from hdbkit.config import Load, SweepSpec, Target
from hdbkit.errors import AgentLost
from hdbkit.experiment import EventKind, ExperimentEvent, resume, start
from hdbkit.experiment.kinds.sweep.plan import plan_sweep
from hdbkit.plan import RunPlan
from hdbkit.results.experiment_folder import ExperimentFolder, experiment_folder
from hdbkit.results.experiment_runs import runs_frame
from hdbkit.results.folder import RunFolder
from hdbkit.results.journal import Step
from hdbkit.results.manifest import Manifest, Status
from hdbkit.servers import PrivateServer, control
from tests.run.agents import HOST, TOKEN, own_target, running_agent, start_agent
from tests.run.conftest import NullTarget
from tests.run.sweep_server import begun
from tests.unit.synthetic import figures


@pytest.fixture(autouse=True)
def token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HDBKIT_AGENT_TOKEN", TOKEN)


def test_a_sweep_through_an_agent_leaves_the_server_as_it_was(
    built: PrivateServer, tmp_path: Path, results: Path
) -> None:
    """On the real server, with a setting that keeps it from starting: told, rolled back, and the sweep goes on."""
    config = built.place.data / "postgresql.conf"
    content, mode = config.read_bytes(), config.stat().st_mode
    spec = SweepSpec(
        name="through",
        settings={"shared_buffers": ("64MB", "4TB"), "work_mem": ("4MB",)},
        virtual_users=(2,),
        blocks=2,
        load=Load(rampup_s=0, duration_s=60, iterations=100),
    )
    with running_agent(own_target(built, config_file=config), tmp_path) as agent:
        target = agent.target(built)
        before = control(target).settings()
        done = hdbkit.sweep(target, spec)
        assert control(target).settings() == before
        verbs = [line["path"] for line in agent.audit()]
    assert (config.read_bytes(), config.stat().st_mode) == (content, mode)
    assert sorted(done.runs["status"]) == ["done", "done", "failed", "failed"]
    reported = done.runs.loc[done.runs["status"] == "failed", "note"]
    assert ["Cannot allocate memory" in note for note in reported] == [True, True]
    assert verbs.count("/apply") == 4
    assert verbs.index("/snapshot") < verbs.index("/apply")
    (first, *_) = done.runs.loc[done.runs["status"] == "done", "run_id"]
    seen = pd.read_parquet(results / first / "server_host.parquet")
    assert {"cpu_user_s", "memory_used_bytes", "net_sent_bytes", "context_switches"} <= set(seen["name"])
    assert set(seen.loc[seen["name"] == "cores_busy_s", "by_core"].map(len)) == {os.cpu_count()}
    kept = [path.read_bytes() for path in results.rglob("*") if path.is_file()]
    assert any(HOST.encode() in content for content in kept)
    assert not any(TOKEN.encode() in content for content in kept)


@pytest.fixture
def own(null_target: NullTarget) -> Target:
    """A server of settings without a server, as its own host sees it."""
    return null_target().with_(may_change_settings=True)


Kill = tuple[EventKind, int]


class Sweep:
    """Four runs, which take no time, through an agent that is killed at these steps, each with the number of its run.

    Where ``comes_back``, the agent is started again where it was, once the sweep has reported that it waits for it.
    """

    def __init__(
        self,
        own: Target,
        folder: Path,
        results: Path,
        killed_at: Sequence[Kill],
        wait_s: float,
        comes_back: bool = False,
    ) -> None:
        self._own, self._results, self._killed_at, self._comes_back = own, results, list(killed_at), comes_back
        self.agent = start_agent(own, folder)
        self.reported: list[str] = []
        self.values: list[str] = []
        target = Target(**{**own.model_dump(), "control": {**self.agent.address, "wait_s": wait_s}})
        spec = SweepSpec(settings={"speed": ("1", "2")}, virtual_users=(1,), blocks=2)
        self.plan = plan_sweep(target, spec, "sweep-1")

    def start(self) -> ExperimentFolder:
        return start(self.plan, self._results, control, self._run, self._watch)

    def resume(self) -> ExperimentFolder:
        folder = experiment_folder(self._results, "sweep-1")
        return resume(folder, control, self._run, self._watch)

    def _run(self, plan: RunPlan) -> Manifest:
        assert plan.experiment is not None
        self.values.append(speed(self._own))
        assert self.values[-1] == plan.experiment.settings["speed"]
        folder = RunFolder(self._results / plan.run_id)
        folder.path.mkdir()
        done = begun(plan).model_copy(update={"result": figures(1000.0)}).moved_to(Status.DONE)
        folder.write(done)
        return done

    def _watch(self, step: ExperimentEvent) -> None:
        if step.kind is EventKind.WAITING:
            self.reported.append(step.note)
            if self._comes_back and "does not answer" in step.note:
                self.agent.again()
        elif self._killed_at[:1] == [(step.kind, step.planned.number if step.planned else 0)]:
            self._killed_at.pop(0)
            self.agent.kill()


def speed(own: Target) -> str:
    return control(own).settings()["speed"].value


def test_an_agent_that_was_killed_is_waited_for_and_the_sweep_continues(
    own: Target, tmp_path: Path, results: Path
) -> None:
    """Killed before the first run, and before, during and after another."""
    kills = [(EventKind.SAVED, 0), (EventKind.PREPARING, 2), (EventKind.STARTED, 3), (EventKind.FINISHED, 4)]
    sweep = Sweep(own, tmp_path, results, kills, wait_s=120, comes_back=True)
    try:
        folder = sweep.start()
    finally:
        sweep.agent.end()
    assert list(runs_frame(folder)["status"]) == ["done"] * 4
    assert speed(own) == "1"
    assert len(sweep.reported) == 2 * len(kills)
    for away, back in zip(sweep.reported[::2], sweep.reported[1::2], strict=True):
        assert "does not answer" in away
        assert "at most 120 s" in away
        assert "answers again after" in back
    assert [line.note for line in folder.journal.lines if line.step is Step.NOTED] == sweep.reported


@pytest.mark.long
def test_a_sweep_that_an_agent_left_for_too_long_is_resumed(own: Target, tmp_path: Path, results: Path) -> None:
    """Before the first run, and during the second."""
    sweep = Sweep(own, tmp_path, results, [(EventKind.SAVED, 0), (EventKind.STARTED, 2)], wait_s=0.5)
    go_on = sweep.start
    try:
        for runs in (0, 2):
            with pytest.raises(AgentLost, match=r"did not answer.*hdbkit resume sweep-1$"):
                go_on()
            steps = [line.step for line in experiment_folder(results, "sweep-1").journal.lines]
            assert (steps.count(Step.RUN_FINISHED), steps.count(Step.RUN_FAILED)) == (runs, 0), "no run pays for it"
            sweep.agent.again()
            go_on = sweep.resume
        frame = runs_frame(go_on())
    finally:
        sweep.agent.end()
    assert list(frame["status"]) == ["done"] * 4
    assert frame["run_id"].nunique() == 4
    assert speed(own) == "1"
