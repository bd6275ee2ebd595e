"""Decisions after the finished blocks of a sweep: its end at a look, and the winners' fresh blocks."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from hdbkit.api import SweepResult
from hdbkit.config import SweepSpec, Target
from hdbkit.errors import InputError
from hdbkit.experiment import experiment_progress, resume, start
from hdbkit.experiment.kinds.sweep.plan import SweepPlan, plan_sweep
from hdbkit.plan import RunPlan
from hdbkit.report.ratio_tables import winner_table
from hdbkit.results.experiment_folder import ExperimentFolder
from hdbkit.results.folder import RunFolder
from hdbkit.results.journal import Step
from hdbkit.results.manifest import Manifest
from tests.run.sweep_server import FileServer, only, runner
from tests.unit.synthetic import figures

RunOne = Callable[[RunPlan], Manifest]


pytestmark = pytest.mark.usefixtures("own_run_ids")


@pytest.fixture
def server(tmp_path: Path) -> FileServer:
    return FileServer(tmp_path / "server")


def planned(**changes: object) -> SweepPlan:
    spec = {"settings": {"flush": ["on", "off"], "memory": ["1GB", "2GB", "4GB"]}, **changes}
    return plan_sweep(Target(kind="nulldb"), SweepSpec(**spec), "sweep-1")


def noisy(run_one: RunOne, root: Path, noise: float) -> RunOne:
    """The same runs with noise of this standard deviation in their throughput, by the run's number."""

    def run(plan: RunPlan) -> Manifest:
        manifest = run_one(plan)
        assert plan.experiment
        factor = np.exp(np.random.default_rng([1, plan.experiment.number]).normal(0, noise))
        changed = manifest.model_copy(update={"result": figures(manifest.measured.metric_value * factor)})
        RunFolder(root / plan.run_id).write(changed)
        return changed

    return run


def looks(folder: ExperimentFolder) -> list[tuple[int, int]]:
    """Blocks and how many were undecided, of each look."""
    state = folder.journal.state
    return [
        (line.details["blocks"], line.details["undecided"]) for line in state.decisions if line.step is Step.LOOKED
    ]


def test_a_sweep_ends_at_the_first_look_that_decides_all(server: FileServer, results: Path) -> None:
    folder = start(planned(looks=[4, 8, 12]), results, only(server), runner(server, results))
    plan = folder.read_plan(SweepPlan)
    assert looks(folder) == [(4, 0)]
    assert (plan.ended_after, len(plan.runs)) == (4, 4 * 7)
    done = SweepResult(folder)
    assert done.failed == 0
    assert "everything was decided after 4: the intervals are computed at 99.95 %" in done.advice
    assert experiment_progress(folder).total == 28
    with pytest.raises(InputError, match="everything was decided"):
        resume(folder, only(server), runner(server, results), blocks=16)


def test_what_is_undecided_at_a_look_continues_to_the_next(server: FileServer, results: Path) -> None:
    run_one = noisy(runner(server, results), results, 0.05)
    folder = start(planned(looks=[2, 3, 4]), results, only(server), run_one)
    assert [blocks for blocks, undecided in looks(folder) if undecided] == [2, 3, 4]
    plan, done = folder.read_plan(SweepPlan), SweepResult(folder)
    assert plan.decided_after == {(4, one): 2 for one in (3, 4, 5)}, "flush=off is twice as fast"
    later = [(one.block, one.configuration) for one in plan.runs if one.block > 2]
    assert sorted(later) == [(block, one) for block in (3, 4) for one in (0, 1, 2)]
    decided = [line for line in folder.journal.lines if line.step is Step.DECIDED]
    assert [line.details["decided_after"] for line in decided] == [2]
    assert decided[0].note.startswith("decided after 2 blocks: flush=off;")
    assert done.verdicts["decided_after"].fillna(0).tolist() == [0, 0, 0, 2, 2, 2]
    assert "3 comparisons decided early and not run again (3 after 2 blocks)" in done.advice
    assert "faster after 2 blocks<" in done.report().read_text()
    assert "faster after 2 blocks<" in done._repr_html_()
    assert (done.failed, done.verdicts["runs"].tolist()) == (0, [6, 4, 4, 2, 2, 2])
    assert SweepResult(folder).level == pytest.approx(0.979, abs=0.005)


def test_a_sweep_may_run_everything_to_its_end(server: FileServer, results: Path) -> None:
    run_one = noisy(runner(server, results), results, 0.05)
    folder = start(planned(looks=[2, 3], drop_decided=False), results, only(server), run_one)
    assert len(folder.read_plan(SweepPlan).runs) == 3 * 7
    assert SweepResult(folder).verdicts["decided_after"].isna().all()


def test_added_blocks_run_what_is_undecided(server: FileServer, results: Path) -> None:
    run_one = noisy(runner(server, results), results, 0.05)
    folder = start(planned(looks=[2, 3]), results, only(server), run_one)
    resume(folder, only(server), run_one, blocks=5)
    added = [(one.block, one.configuration) for one in folder.read_plan(SweepPlan).runs if one.block > 3]
    assert sorted(added) == [(block, one) for block in (4, 5) for one in (0, 1, 2)]


def test_blocks_that_are_added_are_a_look_of_their_own(server: FileServer, results: Path) -> None:
    run_one = noisy(runner(server, results), results, 0.05)
    folder = start(planned(blocks=3), results, only(server), run_one)
    assert SweepResult(folder).level == pytest.approx(1 - 0.05 * 0.8)
    resume(folder, only(server), run_one, blocks=6)
    resume(folder, only(server), run_one)
    taken = [line.details for line in folder.journal.state.decisions]
    assert [(one["blocks"], one["level"], one["spent"]) for one in taken] == [(3, 0.96, 0.04), (6, 0.995, 0.045)]
    assert SweepResult(folder).level == pytest.approx(0.995)
    assert "Looks after 3 and 6 blocks: the intervals are computed at 99.50 %" in SweepResult(folder).advice


def test_the_three_fastest_and_the_baseline_get_fresh_blocks(server: FileServer, results: Path) -> None:
    run_one = noisy(runner(server, results), results, 0.01)
    folder = start(planned(blocks=3, winner_blocks=2), results, only(server), run_one)
    plan, done = folder.read_plan(SweepPlan), SweepResult(folder)
    fresh = done.runs[done.runs["fresh"]]
    assert set(fresh["block"]) == {4, 5}
    assert set(fresh["configuration"]) == {0, *plan.winners}
    assert {plan.configurations[one]["flush"] for one in plan.winners} == {"off"}
    assert set(done.winners["configuration"]) == set(plan.winners)
    assert done.verdicts["runs"].tolist() == [6, 3, 3, 3, 3, 3]
    best = done.winners.iloc[0]
    logs = fresh.assign(log=np.log(fresh["metric_value"].astype(float)))
    again = logs.pivot_table(index="block", columns="configuration", values="log")
    assert np.log(best["ratio"]) == pytest.approx((again[best["configuration"]] - again[0]).mean())
    assert "In 2 fresh blocks that were not used for the choice: " in done.answer
    (table,) = winner_table(done.winner_ratios, done.metric)
    assert [row[0] for row in table.rows] == list(done.winners["label"])
    with pytest.raises(InputError, match="has chosen its fastest"):
        resume(folder, only(server), run_one, blocks=5)


@pytest.mark.parametrize("after", [Step.LOOKED, Step.DECIDED, Step.WINNERS_CHOSEN])
def test_killed_between_journal_and_plan_it_decides_the_same(
    tmp_path: Path, results: Path, monkeypatch: pytest.MonkeyPatch, after: Step
) -> None:
    ends = {"settings": {"flush": ["on", "off"]}, "looks": [3, 6], "winner_blocks": 2}
    spec, noise = ({"looks": [2, 3]}, 0.05) if after is Step.DECIDED else (ends, 0.0)
    whole, other = FileServer(tmp_path / "whole"), tmp_path / "other"
    undisturbed = start(planned(**spec), other, only(whole), noisy(runner(whole, other), other, noise))

    def killed(folder: ExperimentFolder, plan: SweepPlan) -> None:
        if any(line.step is after for line in folder.journal.lines):
            raise SystemExit
        write(folder, plan)

    write, server = ExperimentFolder.write_plan, FileServer(tmp_path / "server")
    monkeypatch.setattr(ExperimentFolder, "write_plan", killed)
    with pytest.raises(SystemExit):
        start(planned(**spec), results, only(server), noisy(runner(server, results), results, noise))
    monkeypatch.undo()
    folder = ExperimentFolder(results / "experiments" / "sweep-1")
    resume(folder, only(server), noisy(runner(server, results), results, noise))
    assert folder.read_plan(SweepPlan) == undisturbed.read_plan(SweepPlan)
    once, again = (list(one.journal.state.decisions) for one in (undisturbed, folder))
    assert [(line.step, line.details, line.note) for line in again] == [
        (line.step, line.details, line.note) for line in once
    ]
    assert after in [line.step for line in again]
    assert SweepResult(folder).failed == 0
