"""Comparison of groups of runs: means with intervals, time series, distributions, and failures."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy

from hdbkit.analysis.comparison.groups import Groups, distributions, metric_values, overlaid, values_by_users
from hdbkit.analysis.run.failures import RETRIES, failures, samples
from hdbkit.analysis.run.latency_tail import shares_ms, slow_end
from hdbkit.charts import marks
from hdbkit.charts.compare_charts import compare_charts
from hdbkit.results.columns import ERROR_CLASSES
from hdbkit.text import number
from tests.unit.every_chart import finished
from tests.unit.synthetic import write_run


@pytest.fixture(scope="module")
def groups(tmp_path_factory: pytest.TempPathFactory) -> Groups:
    root = tmp_path_factory.mktemp("runs")
    return {
        "z-old": [finished(root / "a", seed=1), finished(root / "b", seed=2)],
        "new": [finished(root / "c", users=2)],
    }


def of(rows: list[tuple[str, int, float]]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["group", "virtual_users", "metric_value"])


def test_a_run_is_a_row_in_the_order_of_the_groups(groups: Groups) -> None:
    found = metric_values(groups)
    assert found["group"].tolist() == ["z-old", "z-old", "new"]
    assert found["virtual_users"].tolist() == [4, 4, 2]
    assert found["metric_value"].tolist() == [m.measured.metric_value for side in groups.values() for _, m in side]


def test_a_level_is_the_geometric_mean_with_students_interval() -> None:
    """With one cell, pooling is nothing: the textbook's interval on the log scale."""
    logs = np.log([90.0, 100.0, 130.0])
    row = values_by_users(of([("a", 4, metric_value) for metric_value in np.exp(logs)])).iloc[0]
    half = scipy.stats.t.ppf(0.975, 2) * logs.std(ddof=1) / np.sqrt(3)
    assert row["metric_value"] == pytest.approx(np.exp(logs.mean()))
    assert (row["low"], row["high"]) == pytest.approx((np.exp(logs.mean() - half), np.exp(logs.mean() + half)))


def test_noise_is_pooled_so_that_a_single_run_has_an_interval_too() -> None:
    found = values_by_users(of([("a", 1, 100.0), ("a", 1, 110.0), ("b", 1, 50.0)]))
    assert found["runs"].tolist() == [2, 1]
    widths = np.log(found["high"] / found["low"])
    assert widths[1] == pytest.approx(np.sqrt(2) * widths[0])


def test_95_of_100_intervals_hold_the_truth() -> None:
    draw = np.random.default_rng(7)
    held = []
    for _ in range(150):
        found = values_by_users(of([(name, 1, float(np.exp(draw.normal(0, 0.05)))) for name in "aabbcc"]))
        held += [low <= 1 <= high for low, high in zip(found["low"], found["high"], strict=True)]
    assert np.mean(held) == pytest.approx(0.95, abs=0.02)


def test_without_a_repeated_run_there_is_no_interval() -> None:
    assert values_by_users(of([("a", 1, 100.0), ("b", 1, 50.0)]))[["low", "high"]].isna().all().all()


def test_courses_are_aligned_at_the_start_of_their_windows(groups: Groups, tmp_path: Path) -> None:
    long = write_run(tmp_path / "long", rampup_s=5, duration_s=3)
    found = overlaid({**groups, "long": [(long.folder, long.manifest)]})
    for name, rampup_s in (("z-old", 2), ("new", 2), ("long", 5)):
        rows = found[found["group"] == name]
        assert rows["second"].min() == -rampup_s
        assert (rows["inside"] == (rows["second"] >= 0)).all()


def test_a_run_may_stand_in_two_groups(groups: Groups) -> None:
    found = overlaid({"one": groups["new"], "two": groups["new"]})
    assert found.groupby("group")["second"].count().to_dict() == {"one": 10, "two": 10}


def test_the_runs_of_a_group_are_taken_together(groups: Groups) -> None:
    seen = distributions(groups, "payment")
    for name, side in groups.items():
        lines = [manifest.measured.operations["payment"] for _, manifest in side]
        assert int(seen[name].sum()) == sum(line.count - line.failed for line in lines)
        assert seen[name].index.max() == max(line.max_us for line in lines)
    line = groups["new"][0][1].measured.operations["payment"]
    assert shares_ms(seen["new"])["p99 (ms)"] == line.p99_us / 1000


def test_the_slow_end_reads_off_the_exact_quantiles() -> None:
    points = slow_end(pd.Series(1, index=range(1, 1001))).set_index("slower")["latency_us"]
    assert (points[2.0], points.iloc[-1]) == (500, 999), "one of a thousand was slower than the 999th"
    assert points.is_monotonic_increasing


def test_failures_are_reported_by_second_and_class(groups: Groups) -> None:
    folder, _ = groups["new"][0]
    found = failures(folder)
    rows = pd.concat(pd.read_parquet(path) for path in folder.operations.glob("*.parquet"))
    rows = rows.assign(second=(rows["t_start_us"] + rows["latency_us"]) // 1_000_000)
    failed = rows[rows["outcome"] == 2]
    for code, name in enumerate(ERROR_CLASSES):
        expected = failed[failed["error_class"] == code].groupby("second").size()
        of_class = found[found["error_class"] == name].set_index("second")["count"]
        assert of_class.to_dict() == expected.to_dict()
    assert found.loc[found["error_class"] == RETRIES, "count"].sum() == rows["retries"].sum()
    assert failures(folder, 4)["count"].sum() == found["count"].sum()
    assert set(failures(folder, 4)["second"]) <= {0, 4, 8}


def test_a_run_without_failures_has_no_row_and_no_sample(tmp_path: Path) -> None:
    clean = write_run(tmp_path / "clean", duration_s=1)
    rows = pd.concat(pd.read_parquet(path) for path in clean.folder.operations.glob("*.parquet"))
    again = write_run(tmp_path / "again", duration_s=1, rows=rows.assign(retries=0))
    assert failures(again.folder).empty
    assert samples(again.folder).empty


def test_a_failure_of_no_class_is_other(tmp_path: Path) -> None:
    made = write_run(tmp_path / "made", duration_s=1)
    rows = made.rows.assign(outcome=2, error_class=0, retries=0)
    odd = write_run(tmp_path / "odd", duration_s=1, rows=rows)
    assert set(failures(odd.folder)["error_class"]) == {"other"}


def test_samples_keep_the_texts_the_most_frequent_first(groups: Groups) -> None:
    found = samples(groups["new"][0][0])
    assert found["text"].tolist() == ["something else", "deadlock detected"]
    assert found["first_s"].tolist() == [2.5, 1.5]


def test_one_count_of_users_is_drawn_in_rows_and_several_over_users(groups: Groups) -> None:
    several, one = compare_charts(groups), compare_charts({"new": groups["new"]})
    assert [chart.key for chart in several] == ["users", "throughput", "latency"]
    assert several[0].figure.layout.xaxis.title.text == "virtual users"
    assert one[0].figure.layout.xaxis.title.text == "NOPM (new orders per minute), axis starts above 0"


def test_of_many_groups_some_are_drawn_and_all_are_tabled(groups: Groups) -> None:
    for chart in compare_charts({f"group {i}": groups["new"] for i in range(12)}):
        assert "The first 10 are drawn; the table has all 12." in chart.alternative
        assert chart.table["group"].nunique() == 12


def test_an_axis_starts_at_zero_or_says_that_it_does_not() -> None:
    above = (", axis starts above 0", "normal")
    assert marks.from_where(pd.Series([900.0, 1000.0]), pd.Series([np.nan])) == above
    assert marks.from_where(pd.Series([5.0, 1000.0])) == ("", "tozero")
    assert marks.from_where(pd.Series([np.nan])) == ("", "tozero")


def test_figures_of_words_have_no_exponent() -> None:
    assert [number(value, 3) for value in (0.6312, 99.96, 630.96, 12589.3)] == ["0.631", "100", "631", "12,589"]
