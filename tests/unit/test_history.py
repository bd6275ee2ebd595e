"""Segments of a profile's history: sessions, boundaries of the environment, and change points between sessions."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import pandas as pd
import pytest

from hdbkit.analysis.comparison.history import segments
from tests.unit.sweeps import RATE

BEGAN = datetime(2026, 1, 1, 3, tzinfo=UTC)


def nights(
    levels: list[float], runs: int = 3, night_noise: float = 0.0, users: int = 1, seed: int = 1
) -> pd.DataFrame:
    """So many runs each night; a night's runs share its level and a deviation."""
    draw, rows = np.random.default_rng(seed), []
    for night, level in enumerate(levels):
        shared = draw.normal(0, night_noise)
        for run in range(runs):
            at = BEGAN + timedelta(days=night, minutes=5 * run + users)
            rows.append(
                {
                    "run_id": f"{at:%Y%m%d-%H%M}-u{users}",
                    "started": at.isoformat(),
                    "virtual_users": users,
                    "metric_value": 1000 * np.exp(level + shared + draw.normal(0, 0.01)),
                    "operations_per_s": 100.0,
                }
            )
    return pd.DataFrame(rows)


def causes(runs: pd.DataFrame) -> list[str]:
    return segments(runs, RATE, {key: {} for key in runs["run_id"]})["cause"].tolist()


def test_what_the_runs_of_one_night_share_is_no_change_point() -> None:
    found = [causes(nights([0.0] * 12, night_noise=0.03, seed=seed)) for seed in range(60)]
    assert sum("change point" in one for one in found) <= 6


def test_a_change_is_found_between_two_nights() -> None:
    runs = nights([0.0] * 8 + [-0.1] * 6, night_noise=0.01)
    found = segments(runs, RATE, {key: {} for key in runs["run_id"]})
    assert found["cause"].tolist() == ["first", "change point"]
    assert found["runs"].tolist() == [24, 18]
    assert found["run_id"].tolist()[1] == runs["run_id"][24]
    assert found["ratio"].iloc[1] == pytest.approx(0.9, rel=0.02)


def test_the_runs_of_one_session_are_a_series_of_their_own() -> None:
    runs = nights([0.0], runs=12)
    changed = runs.assign(metric_value=runs["metric_value"] * np.where(np.arange(12) < 6, 1, 0.8))
    assert causes(changed) == ["first", "change point"]


def test_a_change_is_found_at_one_of_many_counts_of_users() -> None:
    quiet = [nights([0.0] * 8, runs=1, users=users, seed=users) for users in range(1, 60)]
    fallen = nights([0.0] * 6 + [np.log(0.6)] * 6, runs=1, users=60, seed=60)
    runs = pd.concat([*quiet, fallen], ignore_index=True)
    found = segments(runs, RATE, {key: {} for key in runs["run_id"]})
    assert found.loc[found["cause"] == "change point", "virtual_users"].tolist() == [60]
