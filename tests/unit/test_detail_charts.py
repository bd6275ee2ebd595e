"""The detail charts of a sweep: medians over runs, few points, always with the baseline."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from hdbkit.analysis.run.courses import courses, latencies
from hdbkit.analysis.run.summary import summarize
from hdbkit.analysis.run.timeline import throughput
from hdbkit.analysis.sweep.verdicts import judge
from hdbkit.charts import style
from hdbkit.charts.chart import Chart
from hdbkit.charts.detail_charts import detail_charts
from hdbkit.results.manifest import Manifest, Status
from tests.unit.sweeps import synthetic_runs
from tests.unit.synthetic import METRIC, NAMES, Synthetic, plan_of, write_run

FIRST = Manifest(
    run_id="run-0", notice="", status=Status.DONE, plan=plan_of(), operations=NAMES, metric=METRIC, noun="transaction"
)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Synthetic:
    made = write_run(tmp_path_factory.mktemp("runs") / "a-run", duration_s=6)
    result = summarize(made.folder, made.manifest)
    return Synthetic(made.folder, made.manifest.model_copy(update={"result": result}), made.rows)


def of(effects: list[float], seconds: int = 12, rampup_s: int = 2) -> tuple[list[Chart], pd.DataFrame]:
    """Both charts of a sweep whose runs have the throughput and latency of their effect, and its runs."""
    runs = synthetic_runs(effects)
    runs["run_id"] = [f"run-{number}" for number in range(len(runs))]
    runs["memory"] = runs["configuration"].map(lambda one: f"{one + 1}GB")
    strength = runs["configuration"].map(dict(enumerate(effects)))
    course = pd.concat(
        pd.DataFrame({
            "run_id": name, "second": range(seconds), "rate": 1000 * effect * (1 + 0.1 * (block - 1)),
            "inside": np.arange(seconds) >= rampup_s,
        })
        for name, effect, block in zip(runs["run_id"], strength, runs["block"], strict=True)
    )  # fmt: skip
    figures = {f"{name}_us": 1000.0 * i for i, name in enumerate(("p50", "p90", "p95", "p99", "p999"), 1)}
    slow = [
        {"run_id": name, "operation": operation, **{one: value / effect for one, value in figures.items()}}
        for name, effect in zip(runs["run_id"], strength, strict=True)
        for operation in ("new_order", "payment")
    ]
    return detail_charts(runs, judge(runs, METRIC), course, pd.DataFrame(slow), FIRST), runs


def test_a_course_counts_the_committed_orders_of_each_second(run: Synthetic) -> None:
    found = courses([(run.folder, run.manifest)])
    assert found["rate"].tolist() == throughput(run.folder, run.manifest)["rate"].tolist()[:8]
    assert found["inside"].tolist() == [False] * 2 + [True] * 6


def test_a_long_course_is_reported_in_steps(run: Synthetic, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hdbkit.analysis.run.courses._MAX_STEPS", 4)
    found = courses([(run.folder, run.manifest)])
    assert found["second"].tolist() == [0, 2, 4, 6]
    assert found["rate"].tolist() == throughput(run.folder, run.manifest, 2)["rate"].tolist()[:4]


def test_a_run_without_seconds_or_window_has_no_course(run: Synthetic, tmp_path: Path) -> None:
    other = write_run(tmp_path / "other", duration_s=1)
    other.folder.table("seconds").unlink()
    torn = write_run(tmp_path / "torn", duration_s=1)
    torn.folder.table("seconds").write_bytes(b"PAR1")
    brief = write_run(tmp_path / "brief", rampup_s=0.3, duration_s=0.9)
    assert courses([(brief.folder, brief.manifest)]).empty
    early = run.manifest.model_copy(update={"clock": None})
    assert courses([(run.folder, early), (other.folder, other.manifest), (torn.folder, torn.manifest)]).empty


def test_latencies_are_the_exact_ones_of_the_manifest(run: Synthetic) -> None:
    found = latencies([run.manifest]).set_index("operation")
    for name, line in run.manifest.measured.operations.items():
        known = found.loc[name, ["p50_us", "p95_us", "p999_us"]].astype(object)
        assert known.where(known.notna(), None).tolist() == [line.p50_us, line.p95_us, line.p999_us]


def test_a_line_is_the_median_over_the_runs_and_its_band_spans_them() -> None:
    (chart, _), runs = of([1, 2])
    band, median = chart.figure.data[:2]
    blocks = runs["block"].nunique()
    assert set(median.y) == {round(1000 * (1 + 0.1 * (blocks - 1) / 2))}
    assert (min(band.y), max(band.y)) == (1000, round(1000 * (1 + 0.1 * (blocks - 1))))
    assert chart.figure.layout.shapes[0].x1 == 2


def test_without_a_rampup_nothing_is_shaded() -> None:
    (chart, _), _ = of([1, 2], rampup_s=0)
    assert not chart.figure.layout.shapes


def test_the_drift_within_the_window_is_reported_for_each_configuration() -> None:
    (chart, _), _ = of([1, 2])
    assert "baseline +0.0 %; " in chart.alternative
    assert len(chart.table) == 2


def test_a_configuration_is_as_fast_as_the_figures_of_its_runs() -> None:
    (_, chart), _ = of([1, 2])
    lines = chart.figure.data
    assert list(lines[0].x[:5]) == [1, 3, 4, 5, None]
    assert list(lines[1].x[:5]) == [0.5, 1.5, 2, 2.5, None]
    assert "baseline 3 ms" in chart.alternative
    assert "1.5 ms" in chart.alternative


def test_of_many_configurations_the_baseline_and_the_fastest_are_drawn_and_all_tabled() -> None:
    charts, _ = of([1, 1.1, 3, 1.2, 0.5, 1.4, 0.9, 1.3, 1.5])
    course, latency = charts
    names = [trace.name for trace in course.figure.data if trace.showlegend is not False]
    assert len(names) == 5
    assert names[0] == "baseline"
    assert [trace.name for trace in latency.figure.data] == names[:2]
    assert (len(course.table), len(latency.table)) == (9, 18)
    assert all("the table has all 9" in chart.alternative for chart in charts)
    colours = [next(one.line.color for one in chart.figure.data if one.name == names[1]) for chart in charts]
    assert colours[0] == colours[1]


def test_a_hundred_runs_stay_some_thousand_points() -> None:
    charts, runs = of([1 + i / 20 for i in range(25)], seconds=120)
    assert len(runs) >= 100
    assert sum(len(trace.x) for chart in charts for trace in chart.figure.data) < 3000


def test_every_colour_has_its_dark_counterpart_and_a_figure_is_json() -> None:
    charts, _ = of([1, 2, 3, 4])
    known = {colour.light for colour in style.COLOURS.values()}
    text = json.dumps([chart.figure.to_plotly_json() for chart in charts], allow_nan=False)
    assert {piece[:7] for piece in text.split('"') if piece.startswith("#")} <= known
    assert all(chart.question.endswith("?") and chart.alternative.endswith(".") for chart in charts)


def test_what_is_not_there_is_not_drawn() -> None:
    runs = synthetic_runs([1, 2])
    runs["run_id"] = "none"
    assert detail_charts(runs, judge(runs, METRIC), courses([]), latencies([]), FIRST) == []
