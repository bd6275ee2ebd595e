"""The search for the commit that made a server slower, without a server."""

from __future__ import annotations

import importlib
from types import SimpleNamespace
from typing import Any

import pytest

from hdbkit.api.releases import Release, Releases, bisected

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
    verdicts: list[str], blocks: list[int], sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a slowdown that is shown there is no search; blocks are added as long as that is undecided."""
    left, asked, releases = iter(verdicts), [], importlib.import_module("hdbkit.api.releases")

    def found(_: object) -> Releases:
        ratio = SimpleNamespace(verdict=next(left), sentence="new against base: undecided", ratio=1.0)
        comparison: Any = SimpleNamespace(ratio=ratio)
        one = Release("v1", "a" * 40, "1")
        return Releases(one, (one,), (comparison,))

    monkeypatch.setattr(releases, "commits_between", lambda *_: COMMITS)
    monkeypatch.setattr(releases, "executed", lambda *_: None)
    monkeypatch.setattr(releases, "resumed", lambda *given: asked.append(given[3]))
    plan: Any = SimpleNamespace(
        commits=[SimpleNamespace(commit="a"), SimpleNamespace(commit="b")], blocks=4, checkout=None
    )
    lab: Any = SimpleNamespace(_releases=found)
    search = releases._search(lab, plan, 9, lambda _: None, None).search
    assert search is not None
    assert search.sentence.startswith(sentence)
    assert bool(search.undecided) == (verdicts[-1] == "undecided")
    assert asked == blocks
