"""The search for the commit that made a server slower, without a server."""

from __future__ import annotations

import pytest

from hdbkit.api.releases import bisected

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
