"""Two sides compared after any number of blocks: each user count by its own differences within blocks."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from hdbkit.analysis.comparison.sides import compared
from hdbkit.analysis.statistics.sequential import Anytime
from hdbkit.config.metric import Metric
from hdbkit.results.finding import Verdict

METRIC = Metric(name="throughput", title="operations per second", unit="operations/s")
BLOCKS = 8


def runs(effects: dict[int, float]) -> pd.DataFrame:
    """Blocks of both sides at each user count, whose second half is another session; ``new`` has these effects."""
    draw = np.random.default_rng(7)
    rows = []
    for block in range(1, BLOCKS + 1):
        for users, effect in effects.items():
            base, new = 1000 * np.exp(draw.normal(0, 0.03, 2) + np.array([0, effect]))
            session = f"session {block > BLOCKS / 2}"
            of_both = [("base", users, block, session, base), ("new", users, block, session, new)]
            rows += of_both[:: draw.choice([-1, 1])]
    return pd.DataFrame(rows, columns=["side", "virtual_users", "block", "session", "metric_value"])


def test_each_user_count_has_the_interval_of_its_own_differences() -> None:
    anytime, measured = Anytime(3), runs({1: 0.0, 8: 0.3})
    found = compared(measured, METRIC, anytime=anytime)
    logs = np.log(measured.pivot_table(index=["virtual_users", "block"], columns="side", values="metric_value"))
    for ratio in found.by_users:
        apart = (logs["new"] - logs["base"])[ratio.virtual_users]
        half = anytime.critical(BLOCKS) * apart.std(ddof=1) / BLOCKS**0.5
        low, high = np.log(ratio.interval)
        assert low <= apart.mean() - half < apart.mean() + half <= high, "also by what each run followed"
        assert np.log(ratio.ratio) == pytest.approx(apart.mean())
    assert [ratio.verdict for ratio in found.by_users] == [Verdict.UNDECIDED, Verdict.FASTER]
    assert found.basis.startswith("8 blocks, of which each difference is one value; how the sides compare in other")
    assert found.level == anytime.level(BLOCKS)


def test_four_blocks_decide_nothing() -> None:
    measured = runs({1: 0.5})
    found = compared(measured[measured["block"] <= 4], METRIC, anytime=Anytime())
    assert (found.ratio.verdict, "too few runs" in found.ratio.sentence) == (Verdict.UNDECIDED, True)
