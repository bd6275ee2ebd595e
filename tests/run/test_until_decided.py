"""Experiments that end when they are decided, and those of a number of blocks before their end."""

from __future__ import annotations

import itertools
import os
import signal
from contextlib import suppress
from pathlib import Path

import pytest

import hdbkit
from hdbkit.api import SweepResult
from hdbkit.errors import InputError
from hdbkit.experiment import resume, start
from hdbkit.experiment.kinds import read_plan
from hdbkit.experiment.kinds.sweep.plan import SweepPlan
from hdbkit.plan import RunPlan
from hdbkit.results.experiment_folder import ExperimentFolder
from hdbkit.results.finding import Verdict
from hdbkit.results.journal import Step
from hdbkit.results.manifest import Manifest
from tests.conftest import HdbkitCommand
from tests.run.conftest import NullTarget, wait_for
from tests.run.sweep_server import FileServer, only, runner
from tests.run.test_deciding import looks, noisy, planned

pytestmark = pytest.mark.usefixtures("own_run_ids")


@pytest.fixture
def server(tmp_path: Path) -> FileServer:
    return FileServer(tmp_path / "server")


def test_a_sweep_drops_what_is_decided_and_ends_when_all_is(server: FileServer, results: Path) -> None:
    spec = {"settings": {"flush": ["on", "off"], "memory": ["1GB", "2GB"]}, "until_decided": True, "blocks": 40}
    folder = start(planned(**spec), results, only(server), noisy(runner(server, results), results, 0.004))
    plan, done = folder.read_plan(SweepPlan), SweepResult(folder)
    assert plan.ended_after is not None
    assert 5 < plan.ended_after < 40, "five blocks decide nothing at any noise"
    assert [blocks for blocks, _ in looks(folder)] == list(range(2, plan.ended_after + 1))
    assert all(ratio.verdict.is_decided for ratio in done.cell_ratios[1:])
    assert "interval" in done.cell_ratios[2].sentence
    assert "which holds at every number of blocks" in done.cell_ratios[2].sentence
    assert f"everything was decided after {plan.ended_after} blocks" in done.advice
    with pytest.raises(InputError, match="everything was decided"):
        resume(folder, only(server), runner(server, results), blocks=60)


def test_a_sweep_ends_when_its_time_is_over_and_takes_more_blocks(server: FileServer, results: Path) -> None:
    spec = {"settings": {"flush": ["on"], "memory": ["1GB", "2GB"]}, "until_decided": True, "time_budget_s": 0.001}
    run_one = noisy(runner(server, results), results, 0.05)
    folder = start(planned(**spec), results, only(server), run_one)
    plan = folder.read_plan(SweepPlan)
    assert (plan.ended_after, plan.spec.blocks, len(plan.runs)) == (None, 2, 4)
    assert folder.journal.state.decisions[-1].note == "the time is over after 2 blocks"
    assert SweepResult(folder).next_step == "to give it more time: hdbkit resume sweep-1 --blocks 4"
    resume(folder, only(server), run_one, blocks=4)
    assert len(folder.read_plan(SweepPlan).runs) == 8
    assert [ratio.verdict for ratio in SweepResult(folder).cell_ratios] == [Verdict.BASELINE, Verdict.UNDECIDED]


@pytest.mark.parametrize(
    ("runs", "interim"), [(13, "interim: 1 of 3 blocks"), (15, "interim: 2 of 3 blocks"), (21, "")]
)
def test_a_sweep_of_a_number_of_blocks_has_no_verdict_before_its_end(
    server: FileServer, results: Path, runs: int, interim: str
) -> None:
    run_one, count = noisy(runner(server, results), results, 0.001), itertools.count(1)

    def stopped(plan: RunPlan) -> Manifest:
        if next(count) > runs:
            raise KeyboardInterrupt
        return run_one(plan)

    with suppress(KeyboardInterrupt):
        start(planned(blocks=3), results, only(server), stopped)
    done = SweepResult(ExperimentFolder(results / "experiments" / "sweep-1"))
    verdicts = {ratio.verdict for ratio in done.ratios if ratio.is_known and ratio.verdict is not Verdict.BASELINE}
    assert done.finding.interim == interim
    assert (verdicts == {Verdict.UNDECIDED}) is bool(interim)
    assert (interim in done._repr_html_()) or not interim
    assert (f"{interim.capitalize()}; the next look gives verdicts." == done.answer) is bool(interim)


def test_a_comparison_that_is_killed_and_resumed_keeps_its_rule(
    command: HdbkitCommand, null_target: NullTarget
) -> None:
    fast, slow = (null_target(latency_us=latency).url for latency in (1000, 20_000))
    at = ("compare", fast, slow, "--run", "--rampup-s", 0, "--duration-s", 0.4, "--cooldown-s", 0, "-u", 1)
    name = command(*at, "--until-decided", "--within", "10m", "--detach").out.strip()
    running = hdbkit.attach_experiment(name)
    wait_for(lambda: running.progress().done >= 3)
    os.kill(running.folder.journal.state.executed_by or 0, signal.SIGKILL)
    wait_for(lambda: running.status is hdbkit.ExperimentStatus.KILLED)
    said = command("resume", name, "--json")
    plan = read_plan(running.folder)
    assert (said.code, plan.ended_after) == (0, len(plan.runs) // 2)
    assert 5 <= (plan.ended_after or 0) < 20
    looked = [line.details for line in running.folder.journal.lines if line.step is Step.LOOKED]
    assert [one["blocks"] for one in looked] == list(range(2, len(plan.runs) // 2 + 1))
    assert "which holds at every number of blocks" in said.json["answer"]
    assert "the intervals hold at every number of blocks with 95 %, whenever it ends" in said.json["basis"]
    more = command("resume", name, "--blocks", 30)
    assert (more.code, "everything was decided" in more.err) == (2, True)


def test_a_comparison_whose_time_is_over_is_undecided_and_says_how_to_continue(
    command: HdbkitCommand, null_target: NullTarget
) -> None:
    at = null_target(latency_us=1000).url
    typed = ("compare", at, at, "--run", "--rampup-s", 0, "--duration-s", 0.4, "--cooldown-s", 0, "-u", 1)
    found = command(*typed, "--until-decided", "--within", "1s", "--json").json
    assert found["best"]["verdict"] == "undecided"
    assert found["advice"].startswith("more blocks may decide: hdbkit resume ")
    assert found["advice"].endswith("--blocks 4")
    assert hdbkit.runs()["run_id"].size == 4


@pytest.mark.parametrize(
    ("typed", "wrong"),
    [
        (("--run", "--within", "10m"), "a maximum duration needs until_decided"),
        (("--run", "--until-decided", "--within", "soon"), "--within must be a duration such as 10m"),
        (("--run", "--until-decided", "--together"), "both sides are measured in turn"),
        (("--until-decided",), "need --run"),
    ],
)
def test_what_does_not_go_with_it_is_refused(
    command: HdbkitCommand, null_target: NullTarget, typed: tuple[str, ...], wrong: str
) -> None:
    fast, slow = (null_target(latency_us=latency).url for latency in (1000, 2000))
    said = command("compare", fast, slow, *typed)
    assert (said.code, wrong in said.err) == (2, True)
