"""Charts of operations that are measured one by one."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from hdbkit.charts.intervals import Limits, ratio_axis
from hdbkit.charts.operation_charts import profile, ratio_chart
from hdbkit.results.finding import Of, Ratio, Verdict
from tests.unit.sweeps import TIME


def of(
    figure: str, ratio: float, low: float | None, high: float | None, verdict: Verdict = Verdict.UNDECIDED
) -> Ratio:
    """The ratio of ``new`` by the metric or an operation."""
    kind = Of.METRIC if figure == TIME.name else Of.OPERATION
    return Ratio(
        of=kind, figure=figure, label="new", against="base", virtual_users=None,
        ratio=ratio, low=low, high=high, verdict=verdict,
    )  # fmt: skip


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


def test_ratios_are_those_of_the_table_and_the_metric_is_on_top() -> None:
    found = [of("q01", 2.0, 1.6, 2.5, Verdict.FASTER), of("q02", 0.5, None, None)]
    chart = ratio_chart(found, [of(TIME.name, 1.0, 0.8, 1.25)], "base", "query", TIME, 0.02)
    (marks,) = chart.figure.data
    assert list(marks.x) == chart.table["ratio"].tolist() == [1.0, 2.0, 0.5] and list(marks.y) == [2, 1, 0]
    assert list(marks.error_x.arrayminus) == pytest.approx([0.2, 0.4, 0])
    assert list(marks.error_x.array) == pytest.approx([0.25, 0.5, 0])
    assert list(chart.figure.layout.yaxis.ticktext) == ["q02", "q01", TIME.name][::-1]
    assert {"x0.5", "x1", "x2"} <= set(chart.figure.layout.xaxis.ticktext)
    assert "new: of 2 queries 1 faster, 1 undecided (the ends: q01 -50.0 %)." in chart.alternative


def test_intervals_of_few_runs_leave_the_ratios_apart() -> None:
    """The domain is of the data; an interval is clipped at an arrow, and one that says nothing is not drawn."""
    found = [of("q01", 4.0, 1e-20, 1e20), of("q02", 0.5, 0.4, 30.0)]
    overall = of(TIME.name, 1.4, 1.2, 1.6, Verdict.FASTER)
    chart = ratio_chart(found, [overall], "base", "query", TIME, 0.02)
    (marks,) = chart.figure.data
    assert [10**end for end in chart.figure.layout.xaxis.range] == pytest.approx([0.4, 50], rel=0.2)
    assert marks.text[1] == "q01: -75.0 % (too few runs)" and marks.error_x.array[1] == 0
    assert [one.text for one in chart.figure.layout.annotations] == ["too few runs"]


def test_a_domain_is_three_times_the_range_of_the_data() -> None:
    limits = Limits.of_ratios([1.1, 0.5])
    assert (limits.low, limits.high) == (pytest.approx(0.5 / 2.2), pytest.approx(1.1 * 2.2))
    ends = pd.DataFrame({"low": [0.9, 0.01, 0.6], "high": [1.2, 50.0, 1e40]}, dtype=float)
    drawn = limits.clip(ends)
    assert drawn.to_numpy()[0].tolist() == [0.9, 1.2]
    assert drawn.iloc[1:].isna().all(axis=None)
    assert limits.clip(pd.DataFrame({"low": [0.3], "high": [8.0]})).to_numpy()[0].tolist() == [0.3, limits.high]


@pytest.mark.parametrize(
    ("values", "first", "last"), [([0.97, 1.04], 0.95, 1.05), ([0.45, 1.1], 0.4, 1.1), ([0.03, 40], 0.02, 50)]
)
def test_an_axis_of_ratios_has_1_and_decimal_ticks_around_the_values(
    values: list[float], first: float, last: float
) -> None:
    axis = ratio_axis(values)
    assert 1.0 in axis["tickvals"] and 3 <= len(axis["tickvals"]) <= 11
    low, high = (10**end for end in axis["range"])
    assert (low, high) == (pytest.approx(first, rel=0.15), pytest.approx(last, rel=0.2))
    assert all(low <= tick <= high for tick in axis["tickvals"])
