"""Little's law as a check of results, on published and synthetic tables."""

from __future__ import annotations

import pandas as pd
import pytest

from bench import little, published


def results(*rows: tuple[int, float, float]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["virtual_users", "tpm", "avg_response_ms"])


def test_it_holds_where_users_are_throughput_times_response_time() -> None:
    found = little.examine(results((1, 6_000, 10), (8, 24_000, 20.2)))
    assert found.holds
    assert not found.reciprocal
    assert found.table["users_by_law"].tolist() == pytest.approx([1, 8.08])
    assert found.sentence == "Little's law holds in all 2 rows: throughput and response times belong together."


def test_published_response_times_are_found_to_be_the_time_between_two_ends() -> None:
    """The report prints 60000 / tpm as the response time, whatever the number of virtual users."""
    found = little.examine(published.cern_oltp())
    assert found.reciprocal
    assert not found.holds
    assert found.table.loc[found.table["holds"], "virtual_users"].unique().tolist() == [1]
    assert "All 54 response times are 60000 / tpm, whatever the number of virtual users" in found.sentence
    assert "64 users 2,466.3 ms instead of 38.5 ms" in found.sentence


def test_the_mean_response_time_by_law_is_users_over_throughput() -> None:
    found = little.examine(results((64, 1_557, 38.536)))
    assert found.table["response_by_law_ms"].tolist() == pytest.approx([64 * 60_000 / 1_557])


def test_another_misfit_is_reported_without_a_cause() -> None:
    found = little.examine(results((4, 6_000, 40), (8, 24_000, 3)))
    assert not found.reciprocal
    assert found.sentence.startswith("Little's law holds in 1 of 2 rows; in the others")


def test_one_user_alone_says_nothing_of_a_reciprocal() -> None:
    found = little.examine(results((1, 6_000, 10)))
    assert found.holds
    assert not found.reciprocal


def test_the_tolerance_is_relative() -> None:
    near = results((4, 6_000, 41.9))
    assert little.examine(near).holds
    assert not little.examine(near, tolerance=0.04).holds


def test_columns_may_have_other_names() -> None:
    named = results((1, 6_000, 10)).set_axis(["n", "x", "r"], axis=1)
    assert little.examine(named, users="n", tpm="x", response_ms="r").holds
