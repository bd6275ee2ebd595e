"""Performance profiles: the definition of Dolan and More (2002), calculated by hand."""

from __future__ import annotations

import math

import pandas as pd
import pytest

from bench import published
from bench.published import profile, ratios
from hdbkit.errors import InputError

NAN = float("nan")


def test_a_ratio_is_the_time_over_the_best_of_its_problem() -> None:
    found = ratios(pd.DataFrame({"a": [1.0, 6.0], "b": [2.0, 3.0]}))
    assert found.to_numpy().tolist() == [[1, 2], [2, 1]]


def test_a_profile_is_the_share_of_problems_within_tau_of_the_best() -> None:
    found = profile(pd.DataFrame({"a": [1.0, 1.0, 1.0, 8.0], "b": [2.0, 4.0, 1.0, 2.0]}))
    assert found.index.tolist() == [1, 2, 4]
    assert found["a"].tolist() == [0.75, 0.75, 1]
    assert found["b"].tolist() == [0.5, 0.75, 1]


def test_a_failure_never_comes_within_reach() -> None:
    times = pd.DataFrame({"a": [1.0, NAN], "b": [2.0, 3.0]})
    assert math.isinf(ratios(times)["a"].iloc[1])
    assert profile(times).iloc[-1].tolist() == [0.5, 1]


def test_a_problem_that_no_solver_solved_is_omitted() -> None:
    assert len(ratios(pd.DataFrame({"a": [1.0, NAN], "b": [2.0, NAN]}))) == 1


def test_profiles_never_fall_and_end_at_the_share_that_was_solved() -> None:
    found = profile(published.cern_queries())
    assert (found.diff().iloc[1:] >= 0).all(axis=None)
    assert (found.iloc[-1] == 1).all()


def test_the_published_queries_are_won_by_the_local_disk() -> None:
    won = profile(published.cern_queries()).iloc[0]
    assert won.to_dict() == pytest.approx({"oracle local": 21 / 22, "oracle nas": 0, "timesten": 1 / 22})


@pytest.mark.parametrize("time", [0.0, -1.0])
def test_times_are_above_0(time: float) -> None:
    with pytest.raises(InputError, match="times above 0"):
        profile(pd.DataFrame({"a": [time], "b": [1.0]}))
