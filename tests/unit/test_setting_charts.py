"""The figures behind the further charts of runs, sweeps and comparisons, on data whose answers are known."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from hdbkit.analysis.comparison.by_operation import compared_quantiles
from hdbkit.analysis.comparison.replication import BASE, NEW
from hdbkit.analysis.comparison.sides import compared
from hdbkit.analysis.run.quantiles import latency_bands
from hdbkit.analysis.run.records import Window
from hdbkit.analysis.sweep.response import numeric, response_to
from hdbkit.analysis.sweep.trade_off import efficient
from hdbkit.charts.forest import forest
from hdbkit.charts.setting_charts import response_curve
from tests.unit.synthetic import METRIC, write_run


def test_a_point_is_efficient_where_none_is_faster_at_the_same_latency() -> None:
    found = efficient(pd.Series([100.0, 100.0, 120.0, 90.0]), pd.Series([1.0, 2.0, 3.0, 1.0]))
    assert found == [True, False, True, False]


def swept(noise: float = 0.0) -> pd.DataFrame:
    """Three sizes in three blocks; each doubling brings 10 %, and blocks differ by a third."""
    rows = [
        {"configuration": at, "block": block, "run_id": f"{size}-{block}", "size": size, "virtual_users": 4}
        | {"metric_value": 1000 * 1.1**at * (1 + block / 3) * (1 + noise * (-1) ** (at * block))}
        for at, size in enumerate(("128MB", "256MB", "512MB"))
        for block in range(3)
    ]
    return pd.DataFrame(rows)


def test_blocks_are_no_noise_of_the_response_to_a_setting() -> None:
    found = response_to(swept(), "size")
    assert found["value"].tolist() == ["128MB", "256MB", "512MB"]
    assert np.allclose(found["metric_value"] / found["metric_value"].shift(), [math.nan, 1.1, 1.1], equal_nan=True)
    assert np.allclose(found["low"], found["high"])
    noisy = response_to(swept(0.05), "size")
    assert (noisy["high"] / noisy["low"] > 1.05).all()
    assert (noisy["high"] / noisy["low"] < 1.6).all()
    chart = response_curve(noisy, "size", 4, METRIC)
    assert chart.question == "How does NOPM respond to size?"
    assert chart.figure.layout.yaxis.title.text == "NOPM, axis starts above 0"
    assert list(chart.figure.data[-1].x) == [2.0**power for power in (27, 28, 29)]


def test_only_three_numbers_or_sizes_make_a_curve() -> None:
    assert numeric(pd.Series(["1", "2"])) is None
    assert numeric(pd.Series(["on", "off", "remote"])) is None
    assert numeric(pd.Series(["64kB", "1MB", "8MB"])) is not None


def test_the_bands_of_a_run_hold_each_of_its_operations(tmp_path: Path) -> None:
    made = write_run(tmp_path / "run", duration_s=5)
    window = Window(0, 5_000_000)
    found = latency_bands(made.folder, window, 0)
    ends_us = made.rows["t_start_us"] + made.rows["latency_us"]
    done = made.rows[(made.rows["operation"] == 0) & (made.rows["outcome"] != 2) & ends_us.between(0, 4_999_999)]
    assert found["n"].sum() == len(done)
    assert np.allclose(found.groupby("second")["share"].sum(), 1)
    assert (found["low_ms"].min() * 1000 <= done["latency_us"].min()) and found["second"].max() == 4


@pytest.mark.parametrize(("new", "judged"), [(1200.0, "better"), (1000.0, "not shown"), (800.0, "worse")])
def test_a_change_is_judged_by_its_interval_and_direction(new: float, judged: str) -> None:
    rows = [
        (f"{side}-{block}", side, (new if side == NEW else 1000.0) * (1 + 0.01 * (-1) ** block))
        for block in range(4)
        for side in ((BASE, NEW), (NEW, BASE))[block % 2]
    ]
    runs = pd.DataFrame(rows, columns=["run_id", "side", "metric_value"]).assign(session="one", virtual_users=1)
    values = runs["metric_value"] * [1 + 0.002 * (at % 3) for at in range(len(runs))]
    runs["metric_value"] = values
    halved = np.where(runs["side"] == NEW, 500.0, 1000.0) * values.rank().map(lambda rank: 1 + 0.001 * rank)
    latencies_us = pd.DataFrame({"new_order p95_us": halved.to_numpy()}, index=runs["run_id"])
    overall = compared(runs, METRIC)
    chart = forest([overall.ratio, *compared_quantiles(runs, latencies_us, overall)], 0.02, ["a", "b"])
    assert chart.table["figure"].tolist() == ["NOPM", "new_order p95"]
    assert chart.table["judged"].tolist() == [judged, "better"]
    assert chart.table["ratio"][1] == pytest.approx(2, rel=0.02), "a latency that is halved is twice as good"
