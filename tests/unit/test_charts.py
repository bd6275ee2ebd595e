"""Charts: figure, text and table agree, and stay small."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import plotly.io as pio
import pytest

from hdbkit.analysis.run.records import Window, window_of
from hdbkit.analysis.run.summary import summarize
from hdbkit.analysis.run.timeline import halved_s, throughput
from hdbkit.analysis.sweep.effects import main_effects
from hdbkit.analysis.sweep.verdicts import judge
from hdbkit.charts import run_charts, style
from hdbkit.charts.chart import Chart
from hdbkit.charts.configuration_charts import configurations, grid
from hdbkit.charts.effect_chart import matched_pairs
from hdbkit.charts.marks import by_worth
from hdbkit.charts.sweep_charts import first_charts
from hdbkit.results.finding import Verdict
from tests.unit.every_chart import open_loop
from tests.unit.sweeps import synthetic_runs
from tests.unit.synthetic import METRIC, Synthetic, sweep_of, sweep_runs, write_run


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Synthetic:
    made = write_run(tmp_path_factory.mktemp("runs") / "a-run", duration_s=12, failed=0.001)
    result = summarize(made.folder, made.manifest)
    return Synthetic(made.folder, made.manifest.model_copy(update={"result": result}), made.rows)


@pytest.fixture(scope="module")
def of_run(run: Synthetic) -> list[Chart]:
    return run_charts.run_charts(run.folder, run.manifest)


@pytest.fixture
def of_sweep(tmp_path: Path) -> Callable[[pd.DataFrame], list[Chart]]:
    """The charts of a sweep with these runs that read no single operations."""
    return lambda runs: first_charts(sweep_of(tmp_path / f"sweep-{len(runs)}", runs))


def test_the_highest_mean_is_called_best_by_no_undecided_verdict() -> None:
    runs = sweep_runs()
    undecided = [
        ratio.model_copy(update={"verdict": Verdict.UNDECIDED}) if ratio.verdict is Verdict.FASTER else ratio
        for ratio in judge(runs, METRIC)
    ]
    words = configurations(runs, undecided, METRIC).alternative
    assert words.startswith("Highest mean (undecided): buffers=256MB, durable=off with ")
    assert "Best" not in words


def test_every_chart_has_a_question_words_a_table_and_named_axes(
    of_run: list[Chart], of_sweep: Callable[[pd.DataFrame], list[Chart]]
) -> None:
    for chart in [*of_run, *of_sweep(sweep_runs()), *of_sweep(sweep_runs(users=(1, 4)))]:
        assert chart.question.endswith("?")
        assert chart.alternative.endswith(".")
        assert len(chart.table) > 0
        assert chart.figure.layout.xaxis.title.text
        assert chart.figure.layout.paper_bgcolor == "rgba(0,0,0,0)"


def test_every_colour_of_a_figure_has_its_dark_counterpart(
    of_run: list[Chart], of_sweep: Callable[[pd.DataFrame], list[Chart]]
) -> None:
    known = {colour.light for colour in style.COLOURS.values()}
    for chart in [*of_run, *of_sweep(sweep_runs()), *of_sweep(sweep_runs(users=(1, 4)))]:
        used = {piece[:7] for piece in json.dumps(chart.figure.to_plotly_json()).split('"') if piece.startswith("#")}
        assert used <= known


def luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("end", ["heat-low", "heat-high"])
def test_the_numbers_of_a_heat_map_can_be_read_on_its_colours(end: str, theme: str) -> None:
    """WCAG 2.1, 1.4.3: at least 4.5:1."""
    ink, ground = (luminance(getattr(style.COLOURS[name], theme)) for name in ("ink", end))
    assert (max(ink, ground) + 0.05) / (min(ink, ground) + 0.05) >= 4.5


@pytest.mark.parametrize("name", [*style.SERIES, "muted", "ink"])
def test_lines_and_text_stand_out_from_both_grounds(name: str) -> None:
    """WCAG 1.4.11: at least 3:1; text (1.4.3) 4.5:1."""
    least = 3 if name in style.SERIES else 4.5
    colour = style.COLOURS[name]
    assert 1.05 / (luminance(colour.light) + 0.05) >= least
    assert (luminance(colour.dark) + 0.05) / (luminance("#14171d") + 0.05) >= least


@pytest.mark.parametrize("name", [*style.SERIES, "muted", "ink"])
def test_lines_and_text_stand_out_where_a_drawing_is_inverted(name: str) -> None:
    """The inversion, then CSS Filter Effects' rotation of hues by 180 degrees, on JupyterLab's dark ground."""
    rotation = [[-0.574, 1.43, 0.144], [0.426, 0.43, 0.144], [0.426, 1.43, -0.856]]
    least = 3 if name in style.SERIES else 4.5
    light = [int(style.COLOURS[name].light[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    inverted = [1 - style.INVERTED + (2 * style.INVERTED - 1) * (1 - part) for part in light]
    shown = np.clip(np.array(rotation) @ inverted, 0, 1)
    assert (luminance("#" + "".join(f"{round(255 * part):02x}" for part in shown)) + 0.05) / (0.0056 + 0.05) >= least


def test_no_button_of_a_chart_leads_to_another_host(of_run: list[Chart]) -> None:
    drawing, _ = of_run[0].in_notebook()
    assert drawing["application/vnd.plotly.v1+json"]["config"] == style.CONFIG
    assert all(chart.figure.layout.modebar.remove == ("sendChartToCloud",) for chart in of_run)


def test_a_figure_that_a_notebook_shows_by_itself_has_no_link_to_another_host(
    of_run: list[Chart], monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: list[dict[str, Any]] = []
    monkeypatch.setattr(pio.renderers, "default", "plotly_mimetype")
    monkeypatch.setattr(pio, "show", lambda _, **options: shown.append(options["config"]))
    for chart in of_run:
        chart.figure.show()
        chart.figure._ipython_display_()
        drawn = chart.figure._repr_mimebundle_()["application/vnd.plotly.v1+json"]
        assert drawn["config"]["displaylogo"] is False
        assert '"displaylogo": false' in chart.figure.to_html(include_plotlyjs=False)
    assert style.CONFIG["plotlyServerURL"] == ""
    assert shown == [style.CONFIG] * 2 * len(of_run)


def test_throughput_counts_the_committed_orders_of_each_second(run: Synthetic) -> None:
    found = throughput(run.folder, run.manifest)
    rows = run.rows.assign(second=(run.rows["t_start_us"] + run.rows["latency_us"]) // 1_000_000)
    orders = rows.query("operation == 0 and outcome == 0").groupby("second").size()
    assert found["rate"].tolist() == [60 * orders[second] for second in range(14)]
    assert found["failed"].sum() == (rows.query("second < 14")["outcome"] == 2).sum()


def test_a_longer_step_keeps_the_level(run: Synthetic) -> None:
    one, two = throughput(run.folder, run.manifest), throughput(run.folder, run.manifest, 2)
    assert two["rate"].tolist() == one["rate"].to_numpy().reshape(-1, 2).mean(axis=1).tolist()


def test_a_long_run_is_drawn_with_few_points() -> None:
    """Three hours: the steps grow, the points do not."""
    seconds = pd.DataFrame({"second": range(0, 10_800, 27), "rate": 1000.0, "failed": 0.0})
    chart = run_charts.throughput_over_time(seconds, Window(0, 10_800_000_000), METRIC, 1000.0)
    assert len(chart.figure.to_json()) < 50_000


def test_rampup_is_shaded_and_checkpoints_and_automatic_vacuums_are_marked(run: Synthetic) -> None:
    course = throughput(run.folder, run.manifest)
    seen = pd.DataFrame({"time_s": [5.0, 7.0, 9.0], "kind": ["checkpoint", "automatic vacuum", "checkpoint"]})
    chart = run_charts.throughput_over_time(course, window_of(run.manifest), METRIC, 1000.0).mark(seen)
    shapes = chart.figure.layout.shapes
    assert (shapes[0].x0, shapes[0].x1) == (0, 2)
    lines = [(shape.x0, shape.line.dash) for shape in shapes if shape.type == "line"]
    assert lines == [(5.0, "dot"), (9.0, "dot"), (7.0, "dashdot")]
    assert chart.alternative.endswith("Marked: checkpoint (2, dotted line), automatic vacuum (1, dash-dotted line).")


def test_the_latency_chart_reads_the_exact_quantiles(run: Synthetic, of_run: list[Chart]) -> None:
    chart = next(one for one in of_run if one.key == "latency")
    table = chart.table.set_index("operation")
    for name, line in run.manifest.measured.operations.items():
        assert table.loc[name, "p95 (ms)"] == line.p95_us / 1000
        assert table.loc[name, "max (ms)"] == line.max_us / 1000
    payment = next(trace for trace in chart.figure.data if trace.name == "payment")
    done = run.inside.query("operation == 1 and outcome != 2")["latency_us"]
    half = list(payment.x).index(2.0)
    assert payment.y[half] == pytest.approx(np.quantile(done, 0.5, method="inverted_cdf") / 1000)


def test_a_pair_differs_in_one_setting_alone() -> None:
    runs = pd.DataFrame(
        {
            "block": [1, 1, 1, 2, 2],
            "virtual_users": 4,
            "a": ["x", "y", "y", "x", "y"],
            "b": ["1", "1", "2", "1", "1"],
            "metric_value": [100.0, 150.0, 999.0, 200.0, 220.0],
        }
    )
    (effect,) = main_effects(
        runs.assign(configuration=[0, 1, 2, 0, 1], number=range(1, 6), status="done", operations_per_s=1.0),
        METRIC, ["a", "b"], {"a": "x", "b": "1"},
    )[:1]  # fmt: skip
    assert matched_pairs(runs, effect, ["a", "b"]) == pytest.approx([1.5, 1.1])


def test_every_run_is_a_dot(of_sweep: Callable[[pd.DataFrame], list[Chart]]) -> None:
    chart = next(one for one in of_sweep(sweep_runs()) if one.key == "configurations")
    assert len(chart.figure.data[0].x) == 12


def test_the_grid_holds_the_mean_of_each_cell() -> None:
    runs = sweep_runs()
    chart = grid(runs, "buffers", "durable", METRIC)
    expected = {ratio.label: ratio.value for ratio in judge(runs, METRIC)}
    heat = chart.figure.data[0]
    assert (list(heat.x), list(heat.y)) == (["64MB", "256MB"], ["on", "off"]), "sizes by worth, words as planned"
    assert heat.z[1][1] == round(expected["buffers=256MB, durable=off"])
    assert heat.z[0][0] == round(expected["baseline"])


def test_of_many_configurations_the_baseline_and_the_fastest_are_lines_beside_each_other() -> None:
    runs = synthetic_runs([1.0, 1.1, 0.9, 1.3, 1.2, 0.8, 1.4], blocks=3, noise=0.01, virtual_users=(1, 4))
    runs["memory"] = runs["configuration"].map("{}GB".format)
    ratios = judge(runs, METRIC)
    chart = configurations(runs, ratios, METRIC)
    lines = [trace for trace in chart.figure.data if trace.mode == "lines+markers"]
    by_number = {ratio.configuration: ratio.label for ratio in ratios}
    assert [line.name for line in lines] == [by_number[one] for one in (0, 1, 3, 4, 6)]
    assert len({line.x[0] for line in lines}) == 5, "their intervals do not lie on each other"
    assert "The baseline and the 4 fastest others are drawn; the table has all" in chart.alternative


def test_values_stand_in_the_order_of_their_worth() -> None:
    values = pd.Index(["1GB", "64MB", "off", "8MB", "100", "on", "512kB"])
    assert values[by_worth(values).argsort()].tolist() == ["100", "512kB", "8MB", "64MB", "1GB", "off", "on"]


def test_a_sweep_without_intervals_is_drawn_without_them(of_sweep: Callable[[pd.DataFrame], list[Chart]]) -> None:
    """One block: ratios, but no interval; a figure is JSON, which has no NaN."""
    charts = of_sweep(sweep_runs(blocks=1))
    assert [chart.key for chart in charts] == ["effects", "configurations", "grid"]
    assert json.dumps([chart.figure.to_plotly_json() for chart in charts], allow_nan=False)


def test_a_sweep_without_any_result_has_no_chart(of_sweep: Callable[[pd.DataFrame], list[Chart]]) -> None:
    assert of_sweep(sweep_runs().assign(status="failed", metric_value=np.nan)) == []


def test_a_purge_is_where_a_list_has_become_shorter_by_half() -> None:
    history = pd.DataFrame({"second": [-1, 0, 1, 2, 3, 4, 5], "value": [9000, 100, 900, 2400, 1100, 900, 3000]})
    assert halved_s(history, 1000) == [3.0], "not before the run, and not of a short list"


@pytest.mark.parametrize(
    ("values", "ticks"),
    [((0.88, 0.97), [0.5, 1]), ((1, 10), [0.5, 1, 2, 5, 10, 20]), ((0, 0.03), [0.02, 0.05]), ((), [0.5, 1, 2])],
)
def test_a_logarithmic_axis_always_has_ticks_around_its_values(values: tuple[float, ...], ticks: list[float]) -> None:
    axis = style.log_axis(values)
    assert axis["tickvals"] == ticks
    assert axis["range"] == pytest.approx([np.log10(ticks[0]), np.log10(ticks[-1])])


def test_ticks_of_a_logarithmic_axis_are_written_in_one_way() -> None:
    assert style.log_axis([0.3, 2])["ticktext"] == ["0.2", "0.5", "1", "2", "5"]
    assert style.log_axis([6e5, 1.9e6])["ticktext"] == ["500,000", "1,000,000", "2,000,000"]


def test_a_configuration_that_failed_leaves_the_others_their_charts(
    of_sweep: Callable[[pd.DataFrame], list[Chart]],
) -> None:
    runs = sweep_runs()
    failed = runs["configuration"] == 3
    runs.loc[failed, "status"] = "failed"
    runs.loc[failed, "metric_value"] = np.nan
    charts = of_sweep(runs)
    assert [chart.key for chart in charts] == ["effects", "configurations", "grid"]
    assert json.dumps([chart.figure.to_plotly_json() for chart in charts], allow_nan=False)
    assert "durable=off" in charts[1].alternative


def test_an_open_loop_shows_response_times_first_and_what_was_offered(tmp_path: Path) -> None:
    charts = {one.key: one for one in run_charts.run_charts(*open_loop(tmp_path / "open"))}
    assert [*charts][:5] == ["throughput", "rates", "lateness", "backlog", "busy"]
    axes = {key: one.figure.layout.yaxis.title.text for key, one in charts.items()}
    assert axes["response_over_time"].startswith("response time of")
    assert axes["latency_over_time"].startswith("service time of")
    assert (axes["response"], axes["latency"]) == ("response time (ms, log)", "service time (ms, log)")
    assert "400.0 transactions per second were due (offered)" in charts["rates"].alternative
    assert set(charts["rates"].table["offered"]) == {400}
    assert axes["steps"].startswith("response time of")
    assert charts["steps"].table[["completed per second", "p95 (ms)"]].to_numpy().tolist() == [[90, 200], [180, 400]]
    assert (
        "90.0 and 180.0 transactions per second, the latter in the step '4 s at 200/s'" in charts["steps"].alternative
    )
    assert charts["lateness"].table["max"].max() > 800
    assert charts["backlog"].table["backlog"].is_monotonic_increasing
