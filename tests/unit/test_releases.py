"""The search for the commit that made a server slower, without a server."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from hdbkit.api.executing import reader_of
from hdbkit.api.releases import Release, Releases, bisected, planned_sides
from hdbkit.config import Load, TprocCSpec
from hdbkit.errors import InputError
from hdbkit.experiment import ExperimentStatus, experiment_progress
from hdbkit.experiment.kinds.releases import Commit, ReleasesPlan
from hdbkit.experiment.kinds.slow_commit import SlowCommitPlan
from hdbkit.results.experiment_folder import ExperimentFolder, experiment_folder

releases = import_module("hdbkit.api.releases")  # the package has a verb of this name

COMMITS = [f"commit-{number}" for number in range(1, 12)]


@pytest.mark.parametrize("first_slow", range(len(COMMITS)))
def test_the_first_slow_commit_is_found_with_few_measurements(first_slow: int) -> None:
    asked: list[str] = []

    def is_slow(commit: str) -> bool:
        asked.append(commit)
        return COMMITS.index(commit) >= first_slow

    assert bisected(COMMITS, is_slow) == [COMMITS[first_slow]]
    assert len(asked) <= 4
    assert COMMITS[-1] not in asked, "it is known to be slow"


def test_where_a_comparison_stays_undecided_all_commits_that_may_be_it_are_left() -> None:
    known = {COMMITS[4]: True, COMMITS[1]: None}
    assert bisected(COMMITS, known.__getitem__) == COMMITS[:5]


def test_the_only_commit_after_the_base_needs_no_measurement() -> None:
    assert bisected(["one"], lambda _: pytest.fail("it was measured")) == ["one"]


@pytest.mark.parametrize(
    ("verdicts", "blocks", "sentence"),
    [
        (["undecided", "undecided", "undecided"], [8, 9], "it is not known whether the last commit is slower"),
        (
            ["undecided", "equivalent"],
            [8],
            "the last commit is not slower than the first; there is nothing to search",
        ),
        (["faster"], [], "the last commit is not slower than the first; there is nothing to search"),
    ],
)
def test_an_undecided_whole_gets_more_blocks_and_is_not_nothing(
    verdicts: list[str], blocks: list[int], sentence: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Without a slowdown that is shown there is no search; blocks are added as long as that is undecided."""
    left, asked = iter(verdicts), []

    def found(_: object) -> Releases:
        ratio = SimpleNamespace(verdict=next(left), sentence="new against base: undecided", ratio=1.0)
        comparison: Any = SimpleNamespace(ratio=ratio)
        one = Release("v1", "a" * 40, "1")
        return Releases(one, (one,), (comparison,))

    made = write_search(tmp_path)
    lab: Any = SimpleNamespace()
    monkeypatch.setattr(releases, "_read_releases", lambda _, step: found(step))
    monkeypatch.setattr(releases, "commits_between", lambda *_: COMMITS)
    monkeypatch.setattr(
        releases, "executed", lambda _, step, *__: experiment_folder(tmp_path, step.experiment_id).write_plan(step)
    )
    monkeypatch.setattr(releases, "resumed", lambda *given: asked.append(given[3]))
    with pytest.raises(InputError, match=r"not found the commit yet; .* hdbkit resume 2026\S+-slow-commit-a"):
        reader_of(releases.ReleaseVerbs.find_slow_commit)(lab, made)
    releases.searched(lab, made, lambda _: None, None)
    assert asked == blocks
    assert experiment_progress(made).status is ExperimentStatus.DONE
    left = iter(verdicts[-1:])
    result = reader_of(releases.ReleaseVerbs.find_slow_commit)(lab, made).search
    assert result is not None
    assert result.sentence.startswith(sentence)
    assert bool(result.undecided) == (verdicts[-1] == "undecided")


def write_search(root: Path) -> ExperimentFolder:
    """A search between two commits, planned."""
    commits = tuple(Commit(ref=name, commit=name * 20) for name in ("aa", "bb"))
    planned = ReleasesPlan(
        experiment_id="one", configurations=(), runs=(), sides=(), virtual_users=(1,), blocks=4, seed="one",
        checkout=root, database="nulldb", commits=commits, smallest_effect=0.02,
    )  # fmt: skip
    first = planned_sides(planned, TprocCSpec(warehouses=1), Load())
    plan = SlowCommitPlan(
        experiment_id="20261128-000000-slow-commit-a", configurations=first.configurations, runs=first.runs,
        first=first, max_blocks=9,
    )  # fmt: skip
    folder = experiment_folder(root, plan.experiment_id)
    folder.write_plan(plan)
    return folder
