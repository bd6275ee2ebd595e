"""Charts of operations that are measured one by one."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from hdbkit.charts.operation_charts import profile, ratio_axis, ratios
from tests.unit.sweeps import TIME


def test_bars_of_groups_stand_side_by_side_at_their_geometric_means() -> None:
    rows = [(group, name, seconds) for group in ("a", "b") for name in ("q01", "q02") for seconds in (1.0, 4.0)]
    chart = profile(pd.DataFrame(rows, columns=["group", "operation", "seconds"]), "query", "run")
    first, second = (one for one in chart.figure.data if one.type == "bar")
    assert (list(first.x), list(second.x)) == (pytest.approx([-0.2, 0.8]), pytest.approx([0.2, 1.2]))
    assert list(first.y) == list(second.y) == [2.0, 2.0]
    dots = [one for one in chart.figure.data if one.type == "scatter"]
    assert [list(one.y) for one in dots] == [[1.0, 4.0] * 2] * 2
    assert "a: 4 s for 2 queries, 50 % of it for q01." in chart.alternative


def test_an_operation_that_a_group_never_completed_has_no_bar() -> None:
    times = pd.DataFrame({"group": ["a", "a", "b"], "operation": ["q01", "q02", "q01"], "seconds": [1.0, 2.0, 3.0]})
    chart = profile(times, "query", "run")
    assert list(chart.figure.data[1].y) == [3.0, 0.0]
    assert np.isnan(chart.table["b (s)"].tolist()[1])


def test_ratios_are_those_of_times_and_the_metric_is_on_top() -> None:
    found = pd.DataFrame(
        {"group": "new", "operation": ["q01", "q02"], "ratio": [2.0, 0.5], "low": [1.6, np.nan],
         "high": [2.5, np.nan], "verdict": ["faster", "undecided"]}
    )  # fmt: skip
    overall = pd.DataFrame([{"group": "new", "ratio": 1.0, "low": 0.8, "high": 1.25, "verdict": "undecided"}])
    chart = ratios(found, overall, "base", "query", TIME, 0.02)
    (marks,) = chart.figure.data
    assert list(marks.x) == [1.0, 0.5, 2.0] and list(marks.y) == [2, 1, 0]
    assert list(marks.error_x.arrayminus) == pytest.approx([0.2, 0.1, 0])
    assert list(marks.error_x.array) == pytest.approx([0.25, 0.125, 0])
    assert list(chart.figure.layout.yaxis.ticktext) == ["q02", "q01", TIME.name][::-1]
    assert "new: of 2 queries 1 faster, 1 undecided (the ends: q01 -50.0 %)." in chart.alternative


def test_intervals_of_few_runs_leave_the_ratios_apart() -> None:
    wide = {"group": "new", "low": 1e-20, "high": 1e20, "verdict": "undecided"}
    found = pd.DataFrame(
        [{**wide, "operation": name, "ratio": ratio} for name, ratio in (("q01", 4.0), ("q02", 0.5))]
    )
    overall = pd.DataFrame([{**wide, "ratio": 1.4, "low": 1.2, "high": 1.6}])
    chart = ratios(found, overall, "base", "query", TIME, 0.02)
    assert [10**end for end in chart.figure.layout.xaxis.range] == pytest.approx([0.01, 50], rel=0.1)
    assert "Lines that reach the edge continue beyond it." in chart.alternative
    (marks,) = chart.figure.data
    assert marks.text[1] == "q01: -75.0 % (-100.0 % to over +100,000 %)"


@pytest.mark.parametrize(
    ("values", "first", "last"), [([0.97, 1.04], 0.95, 1.05), ([0.45, 1.1], 0.4, 1.1), ([0.03, 40], 0.02, 50)]
)
def test_an_axis_of_ratios_has_1_and_decimal_ticks_around_the_values(
    values: list[float], first: float, last: float
) -> None:
    axis = ratio_axis(values)
    assert 1.0 in axis["tickvals"] and 3 <= len(axis["tickvals"]) <= 11
    low, high = (10**end for end in axis["range"])
    assert (low, high) == (pytest.approx(first, rel=0.02), pytest.approx(last, rel=0.02))
    assert all(low <= tick <= high for tick in axis["tickvals"])
