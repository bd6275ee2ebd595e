"""The tail latencies of one run have intervals that allow for how a run varies."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from hdbkit.analysis.run.records import window_of
from hdbkit.analysis.run.tail_intervals import tail_intervals, tail_of
from hdbkit.report.run_tables import tail_table
from tests.unit.synthetic import write_run


def seen(levels: np.ndarray, per_stretch: int = 500, seed: int = 1) -> pd.DataFrame:
    """Latencies of stretches with these levels."""
    draw = np.random.default_rng(seed)
    us = (1000 * np.repeat(levels, per_stretch) * draw.lognormal(0, 0.5, len(levels) * per_stretch)).astype(int)
    return pd.crosstab(us, np.repeat(np.arange(len(levels)), per_stretch))


def test_a_run_that_varies_has_wider_intervals_than_a_steady_one() -> None:
    steady, mixed, slow_half = (
        tail_of(seen(levels), 0.95) for levels in (np.ones(20), np.tile([0.8, 1.2], 10), np.repeat([0.8, 1.2], 10))
    )
    assert steady is not None and mixed is not None and slow_half is not None
    assert steady.low_us < steady.us < steady.high_us
    assert steady.beyond == 500
    assert steady.high_us - steady.low_us < 0.1 * steady.us
    assert slow_half.high_us is None or slow_half.high_us - slow_half.low_us > 1.5 * (mixed.high_us - mixed.low_us)


def test_few_operations_beyond_have_no_interval() -> None:
    assert tail_of(seen(np.ones(20), per_stretch=5), 0.95) is None
    assert tail_of(seen(np.ones(20), per_stretch=20), 0.95) is not None


def test_the_tails_of_a_run_are_read_from_its_records(tmp_path: Path) -> None:
    run = write_run(tmp_path / "a", duration_s=20)
    tails = tail_intervals(run.folder, window_of(run.manifest), list(run.manifest.operations))
    of_first = tails["new_order"]["p95"]
    assert of_first.low_us <= of_first.us
    (table,) = tail_table(tails, "transaction")
    assert table.head == ["latency (ms)", "quantile", "from", "to", "transactions beyond"]
    assert table.rows[0][0] == "new_order p95"
    assert tail_table({}, "transaction") == []
