"""A sweep through an agent: two "hosts", an agent that goes and comes back, and the settings as they were."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

import hdbkit
from hdbkit.api import sweep_result
from hdbkit.config import Load, SweepSpec, Target
from hdbkit.errors import AgentLost
from hdbkit.results.sweep_folder import Step, find_sweep
from hdbkit.servers import PrivateServer, control
from hdbkit.sweep_runner import Kind, Progress
from tests.run.agents import HOST, TOKEN, own_target, running_agent, start_agent
from tests.run.conftest import NullTarget

NULL_SWEEP = SweepSpec(
    name="away",
    settings={"speed": ("1", "2")},
    virtual_users=(1,),
    blocks=2,
    load=Load(rampup_s=0, duration_s=0.3),
)


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
        load=Load(rampup_s=0, duration_s=2.5),
    )
    with running_agent(own_target(built, config_file=config), tmp_path) as agent:
        target = agent.target(built)
        before = control(target).settings()
        done = hdbkit.sweep(target, spec)
        assert control(target).settings() == before
        verbs = [line["path"] for line in agent.audit()]
    assert (config.read_bytes(), config.stat().st_mode) == (content, mode)
    assert sorted(done.runs["status"]) == ["done", "done", "failed", "failed"]
    (told,) = set(done.runs.loc[done.runs["status"] == "failed", "note"])
    assert "Cannot allocate memory" in told
    assert verbs.count("/apply") == 4
    assert verbs.index("/snapshot") < verbs.index("/apply")
    (first, *_) = done.runs.loc[done.runs["status"] == "done", "run_id"]
    seen = duckdb.read_parquet(str(results / first / "server_host.parquet"))
    busy = seen.filter("name = 'cpu_user_s' AND t_us BETWEEN 0 AND 3000000")
    assert busy.count("value").fetchone()[0] >= 2
    text = "".join(path.read_text(errors="replace") for path in results.rglob("*.json"))
    assert TOKEN not in text
    assert HOST in text


@pytest.fixture
def own(null_target: NullTarget) -> Target:
    """A server of settings without a server, as its own host sees it."""
    return null_target(latency_us=1000).with_(may_change_settings=True)


class Faults:
    """Kills the agent before the second run, and starts it again where it was after a while, if at all."""

    def __init__(self, own: Target, folder: Path, back_after_s: float | None) -> None:
        self._own, self._folder, self._back_after_s = own, folder, back_after_s
        self.agent = start_agent(own, folder)
        self.told: list[str] = []

    def __call__(self, step: Progress) -> None:
        if step.kind is Kind.WAITING:
            self.told.append(step.note)
        elif step.kind is Kind.FINISHED and step.planned and step.planned.number == 1:
            self.agent.kill()
            if self._back_after_s is not None:
                threading.Timer(self._back_after_s, self.again).start()

    def again(self) -> None:
        self.close()
        self.agent = start_agent(self._own, self._folder, self.agent.url.removeprefix("https://"))

    def close(self) -> None:
        self.agent.kill()
        assert self.agent.process.stdout is not None
        self.agent.process.stdout.close()

    def target(self, wait_s: float) -> Target:
        given = {"agent": self.agent.url, "fingerprint": self.agent.fingerprint, "wait_s": wait_s}
        return Target(**{**self._own.model_dump(), "control": given})


@pytest.fixture
def faults(own: Target, tmp_path: Path) -> Iterator[Faults]:
    made = Faults(own, tmp_path, back_after_s=0.5)
    yield made
    made.close()


def test_an_agent_that_was_killed_is_waited_for_and_the_sweep_goes_on(faults: Faults, own: Target) -> None:
    before = control(own).settings()
    done = hdbkit.sweep(faults.target(wait_s=120), NULL_SWEEP, watch=faults)
    assert list(done.runs["status"]) == ["done"] * 4
    assert control(own).settings() == before
    away, back = faults.told
    assert "does not answer" in away
    assert "at most 120 s" in away
    assert "is back after" in back
    assert [line.note for line in done.folder.journal() if line.step is Step.NOTED] == [away, back]


def test_a_sweep_that_an_agent_left_for_too_long_is_resumed(own: Target, tmp_path: Path, results: Path) -> None:
    faults = Faults(own, tmp_path, back_after_s=None)
    before = control(own).settings()
    target = faults.target(wait_s=0.5)
    with pytest.raises(AgentLost, match=r"did not answer for 0 s.*hdbkit sweep --resume last"):
        hdbkit.sweep(target, NULL_SWEEP, watch=faults)
    folder = find_sweep(results, "last")
    assert [line.step for line in folder.journal()].count(Step.RUN_FINISHED) == 1
    assert not [line for line in folder.journal() if line.step is Step.RUN_FAILED], "no run pays for it"
    faults.again()
    try:
        hdbkit.sweep(resume_id="last")
    finally:
        faults.close()
    done = sweep_result("last")
    assert list(done.runs["status"]) == ["done"] * 4
    assert done.runs["run_id"].nunique() == 4
    assert control(own).settings() == before
