"""The search for a slow commit in the runner: one experiment, whose servers and results are made up."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import pandas as pd
import pytest

from hdbkit.api import Releases, Workspace, documents, executing
from hdbkit.config import Load, Target, preparation
from hdbkit.errors import InputError
from hdbkit.experiment import own_servers
from hdbkit.experiment.kinds import releases
from hdbkit.experiment.kinds.slow_commit import SlowCommitPlan, ratio_of
from hdbkit.plan import RunPlan
from hdbkit.results import columns
from hdbkit.results.experiment_folder import ExperimentFolder, experiment_folder, experiment_folders
from hdbkit.results.experiment_runs import runs_frame
from hdbkit.results.journal import RUN_ENDS, Step
from hdbkit.results.manifest import Manifest
from hdbkit.servers.source_builds import short
from hdbkit.widgets.parts.experiment_view import grid_html
from tests.sources_of_servers import Checkout
from tests.unit.synthetic import DETAILS, figures, write_run

COUNT, FIRST_SLOW = 6, 4
ONE = pd.DataFrame(dict.fromkeys((*columns.OPERATIONS, *DETAILS), 0), index=[0])
Lab = tuple[SlowCommitPlan, list[str]]


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lab:
    """A planned search among commits of which the last ones are slow, and the servers that ran, in order."""
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    checkout, servers = Checkout(tmp_path / "checkout"), list[str]()
    commits = [short(checkout.commit("", f"v{number}")) for number in range(1, COUNT + 1)]
    rates = {commit: 100.0 if number < FIRST_SLOW else 60.0 for number, commit in enumerate(commits, 1)}

    def started(plan: releases.CommitsPlan, commit: releases.Commit, *_: object) -> Target:
        servers.append(short(commit.commit))
        return Target(kind="nulldb", database=f"{short(commit.commit)}-{len(servers)}")

    def run(plan: RunPlan, root: Path, _: object) -> Manifest:
        commit, server = str(plan.target.database).split("-")
        assert int(server) in (len(servers), len(servers) - 1), "the servers of earlier steps have ended"
        assert plan.experiment
        number = plan.experiment.number
        made = write_run(root / plan.run_id, plan=plan, rows=ONE)
        clock = made.manifest.clock
        assert clock
        at = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(minutes=number)
        noise = 1 + 0.01 * (number * 7 % 5 - 2)
        result = figures(rates[commit] * noise, completed=1)
        facts = {"result": result, "clock": clock.model_copy(update={"start_wall": at})}
        done = made.manifest.model_copy(update=facts)
        made.folder.write(done)
        return done

    monkeypatch.setattr(releases, "_started", started)
    monkeypatch.setattr(own_servers, "build", lambda *_, **__: _Sound())
    monkeypatch.setattr(executing, "execute", run)
    monkeypatch.setattr(preparation, "REST_S", 0.0)
    place = Workspace(results=tmp_path / "results")
    first = place.plan_releases(checkout.folder, ["v1", f"v{COUNT}"], database="postgresql", blocks=3,
                                load=Load(virtual_users=1, rampup_s=0, duration_s=1))  # fmt: skip
    return place.plan_slow_commit(first), servers


class _Sound:
    def require_sound(self) -> None:
        """It is."""


def test_a_search_is_one_experiment_whose_steps_have_new_servers(lab: Lab, tmp_path: Path) -> None:
    planned, servers = lab
    notes: list[str] = []
    place = Workspace(results=tmp_path / "results")
    found = place.run_experiment(planned, watch=lambda event: notes.append(event.note))
    (folder,) = experiment_folders(place.results)
    plan = folder.read_plan(SlowCommitPlan)
    assert isinstance(found, Releases)
    assert found.search
    assert found.search.left == (plan.between[FIRST_SLOW - 2],)
    assert f"(v{FIRST_SLOW}: Subject of v{FIRST_SLOW})" in found.search.sentence
    assert len(found.search.steps) == len(plan.steps) - 1 == 2
    base, *others = [short(one.commit) for one in plan.commits]
    assert servers == [one for commit in others for one in (base, commit)]
    for number, step in enumerate((found, *found.search.steps)):
        assert step.pairs[0].ratio.ratio == ratio_of(plan.step(number), folder).ratio, "it was decided by its result"
        assert step.pairs[0].ratio.low == ratio_of(plan.step(number), folder).low
    assert found.finding.kind == planned.kind
    compared = documents.of_result(found, None)["ratios"]
    steps = {one["label"]: one["ratio"] for one in compared if one["of"] == "metric"}
    assert list(steps) == [str(commit) for commit in plan.commits[1:]]
    assert [*steps.values()][1:] == [step.pairs[0].ratio.ratio for step in found.search.steps]
    assert sum("commits left; next is the comparison of v1" in note for note in notes) == 2
    assert [line.step for line in folder.journal.lines].count(Step.FINISHED) == 1
    grid = grid_html(place.attach_experiment())
    assert grid.count("<tr>") == 1 + len(plan.commits), "a row for each commit"


def test_a_search_that_is_killed_in_any_run_continues_with_it_and_finds_the_same(lab: Lab, tmp_path: Path) -> None:
    planned, _ = lab
    whole = Workspace(results=tmp_path / "whole")
    whole.run_experiment(planned)
    expected = experiment_folder(whole.results, planned.experiment_id)
    for number in (1, 7, 14):
        place = Workspace(results=tmp_path / f"killed-{number}")
        assert killed(partial(place.run_experiment, planned), number)
        with pytest.raises(InputError, match=r"not found the commit yet; .* hdbkit resume 2\S+-slow-commit-"):
            place.experiment_result()
        found = place.resume_experiment()
        folder = experiment_folder(place.results, planned.experiment_id)
        assert steps_of(folder) == steps_of(expected)
        assert found.answer == whole.experiment_result().answer
        ended = [line.number for line in folder.journal.lines if line.step in RUN_ENDS]
        assert sorted(ended) == [run.number for run in folder.read_plan(SlowCommitPlan).runs], "each exists once"
        assert runs_frame(folder)["run_id"].nunique() == len(ended)


def test_the_result_of_a_search_from_elsewhere_runs_no_git(lab: Lab, tmp_path: Path) -> None:
    """Its plan names the checkout and the commits; git runs programs of a checkout, and writes files by options."""
    planned, _ = lab
    place = Workspace(results=tmp_path / "results")
    place.run_experiment(planned)
    folder = experiment_folder(place.results, planned.experiment_id)
    written = tmp_path / "written"
    plan = folder.path / "plan.json"
    slow = folder.read_plan(SlowCommitPlan).between[FIRST_SLOW - 2]
    plan.write_text(plan.read_text().replace(f'"{slow}"', f'"--output={written}"'))
    found = Workspace(results=place.results).experiment_result()
    assert isinstance(found, Releases)
    assert found.search
    assert found.search.left == (f"--output={written}",)
    assert found.search.subjects == ("not described, as this account did not write the experiment",)
    assert not written.exists()


def steps_of(folder: ExperimentFolder) -> object:
    plan = folder.read_plan(SlowCommitPlan)
    return plan.steps, plan.commits, plan.runs


def killed(work: Callable[[], object], number: int) -> bool:
    """Do this in a process of its own, which is killed in the run of this number; whether it was."""
    if child := os.fork():
        return os.WIFSIGNALED(os.waitpid(child, 0)[1])
    execute = executing.execute

    def doomed(plan: RunPlan, root: Path, watch: object) -> Manifest:
        if plan.experiment and plan.experiment.number == number:
            os.kill(os.getpid(), signal.SIGKILL)
        return execute(plan, root, watch)  # type: ignore[arg-type]

    executing.execute = doomed
    try:
        work()
    finally:
        os._exit(0)


def test_more_blocks_continue_an_undecided_search(lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    planned, _ = lab
    unlike = executing.execute

    def alike(plan: RunPlan, root: Path, watch: object) -> Manifest:
        done = unlike(plan, root, watch)  # type: ignore[arg-type]
        assert plan.experiment
        number, block = plan.experiment.number, plan.experiment.block
        slow = plan.experiment.configuration and block > 3
        done = done.model_copy(update={"result": figures((50.0 if slow else 100.0) * (1 + number % 3), completed=1)})
        (root / plan.run_id / "manifest.json").write_text(done.model_dump_json())
        return done

    monkeypatch.setattr(executing, "execute", alike)
    place = Workspace(results=tmp_path / "results")
    short_search = planned.model_copy(update={"max_blocks": 3})
    found = place.run_experiment(short_search)
    assert isinstance(found, Releases)
    assert found.search
    assert found.search.undecided.startswith("it is not known whether the last commit is slower than the first")
    assert "hdbkit resume" in found.search.undecided
    place.resume_experiment(blocks=6)
    plan = experiment_folder(place.results, planned.experiment_id).read_plan(SlowCommitPlan)
    assert plan.steps[0] == (3, 6)
    assert plan.step(0).confidence == planned.with_blocks(6).step(0).confidence
