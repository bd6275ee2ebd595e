"""Charts as files: every chart has a matplotlib version that shows the same data, and its files open."""

from __future__ import annotations

import base64
import html
import itertools
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pytest

from hdbkit.charts.chart import Chart
from hdbkit.charts.configuration_charts import grid
from hdbkit.charts.scaling_charts import throughput_over_users
from hdbkit.charts.style import COLOURS
from hdbkit.errors import InputError
from tests.unit.every_chart import every_chart
from tests.unit.synthetic import METRIC


@pytest.fixture(scope="module")
def charts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Chart]:
    return every_chart(tmp_path_factory.mktemp("runs"))


@pytest.fixture(scope="module")
def lines() -> Chart:
    """Two groups at 1 and 2 virtual users, two runs each."""
    rows = [
        (name, users, metric_value * users)
        for name in ("old", "new")
        for users in (1, 2)
        for metric_value in (90.0, 110.0)
    ]
    return throughput_over_users(pd.DataFrame(rows, columns=["label", "virtual_users", "metric_value"]), METRIC)


def texts(figure: Any) -> str:
    axes = figure.axes[0]
    seen = [axes.get_xlabel(), axes.get_ylabel(), *(one.get_text() for one in axes.texts)]
    seen += [tick.get_text() for tick in [*axes.get_xticklabels(), *axes.get_yticklabels()]]
    return "\n".join(seen + [one.get_text() for legend in figure.legends for one in legend.texts])


def test_every_chart_has_a_question_words_a_table_and_colours_for_the_dark(charts: dict[str, Chart]) -> None:
    known = {colour.light for colour in COLOURS.values()}
    for name, chart in charts.items():
        assert chart.question.endswith("?"), name
        assert chart.alternative.endswith("."), name
        assert len(chart.table) > 0, name
        assert chart.figure.layout.xaxis.title.text, name
        spec = json.dumps(chart.figure.to_plotly_json(), allow_nan=False)
        assert {one[:7] for one in spec.split('"') if one.startswith("#")} <= known, name


def test_rampup_is_shaded_in_every_chart_over_time(charts: dict[str, Chart]) -> None:
    over_time = [one for one in charts.values() if "seconds since" in one.figure.layout.xaxis.title.text]
    assert len(over_time) >= 5
    for chart in over_time:
        rampup = chart.figure.layout.shapes[0]
        assert (rampup.type, rampup.x1 - rampup.x0) == ("rect", 2), chart.question
        assert "ramp-up" in [note.text for note in chart.figure.layout.annotations]


def test_every_chart_is_drawn_on_paper_with_its_words(charts: dict[str, Chart]) -> None:
    """In one column and in two by turns, which have the same words: drawing takes longest."""
    from hdbkit.charts import static  # not at the top: matplotlib takes a second

    for columns, chart in zip(itertools.cycle([1, 2]), charts.values()):
        figure = chart.matplotlib(columns)
        assert figure.get_figwidth() == static.WIDTHS_IN[columns]
        said = texts(figure)
        assert chart.figure.layout.xaxis.title.text in said
        named = [trace.name for trace in chart.figure.data if trace.name and trace.showlegend is not False]
        if chart.figure.layout.showlegend is not False and len(named) > 1:
            assert all(name in said for name in named), chart.key


def test_both_figures_show_the_same_data(lines: Chart) -> None:
    axes = lines.matplotlib().axes[0]
    seen = [(list(line.get_xdata()), list(line.get_ydata())) for line in axes.lines]
    for trace in lines.figure.data:
        assert (list(trace.x), list(trace.y)) in seen
    bars = [bar for container in axes.containers for bar in container.lines[2]]  # type: ignore[attr-defined]
    ends = {round(float(end[1]), 1) for bar in bars for segment in bar.get_segments() for end in segment}
    means = lines.figure.data[1]
    assert {round(means.y[0] + means.error_y.array[0], 1), round(means.y[0] - means.error_y.arrayminus[0], 1)} <= ends


def test_lines_stay_apart_without_colour(lines: Chart) -> None:
    drawn_lines = [one for one in lines.matplotlib().axes[0].lines if one.get_linestyle() != "None"]
    assert len({one.get_linestyle() for one in drawn_lines}) == len(drawn_lines) == 2


def test_a_logarithmic_axis_stays_one(charts: dict[str, Chart]) -> None:
    axes = charts["run latency"].matplotlib().axes[0]
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    low, high = charts["run latency"].figure.layout.yaxis.range
    assert axes.get_ylim() == pytest.approx((10**low, 10**high))


def test_one_argument_says_which_library_draws(lines: Chart) -> None:
    assert type(lines.draw("matplotlib")).__module__ == "matplotlib.figure"
    assert lines.draw("plotly") is lines.draw() is lines.figure
    with pytest.raises(InputError, match="plotly or matplotlib, not 'bokeh'"):
        lines.draw("bokeh")  # type: ignore[arg-type]


def test_what_cannot_be_drawn_is_refused_and_never_omitted() -> None:
    from hdbkit.charts import static

    pie = go.Figure(go.Pie(values=[1, 2]), layout={"xaxis": {"title": {"text": "x"}}, "yaxis": {}})
    with pytest.raises(NotImplementedError, match="pie"):
        static.drawn_on_paper(pie)


@pytest.mark.parametrize(
    ("name", "start"),
    [("a.png", b"\x89PNG"), ("a.svg", b"<?xml"), ("a.pdf", b"%PDF"), ("a.html", b"<!doctype html>")],
)
def test_a_chart_is_saved_as_its_name_says(lines: Chart, tmp_path: Path, name: str, start: bytes) -> None:
    path = lines.save(tmp_path / name, columns=1)
    assert path == tmp_path / name
    assert path.read_bytes().startswith(start)


def test_the_same_chart_gives_the_same_file(lines: Chart) -> None:
    for kind in ("png", "svg", "pdf"):
        assert lines.image(kind) == lines.image(kind)  # type: ignore[arg-type]


def test_fonts_are_embedded_whole_in_a_pdf(lines: Chart) -> None:
    """TrueType (type 42), which publishers ask for; matplotlib's own default is type 3."""
    content = lines.image("pdf")
    assert b"/Type3" not in content
    assert b"/FontFile2" in content


def test_a_page_of_a_chart_asks_for_no_outside_address(lines: Chart, tmp_path: Path) -> None:
    page = lines.save(tmp_path / "a.html").read_text(encoding="utf-8")
    assert lines.question in page
    assert lines.alternative in page
    assert not re.search(r"<(script|link|img)[^>]+(src|href)=", page)


@pytest.mark.parametrize("name", ["a.gif", "a", "png"])
def test_another_kind_of_file_is_refused_with_those_there_are(lines: Chart, tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match=f"png, .svg, .pdf or .html, not as '{name}'"):
        lines.save(tmp_path / name)
    with pytest.raises(InputError, match="1 or 2 columns wide, not 3"):
        lines.matplotlib(3)


def test_a_notebook_keeps_the_figure_the_image_and_the_words(lines: Chart) -> None:
    shown, words = lines.in_notebook()
    assert (shown["text/plain"], words["text/plain"]) == (lines.question, lines.alternative)
    (image,) = re.findall(r'src="data:image/png;base64,([^"]+)"', shown["text/html"])
    assert base64.b64decode(image).startswith(b"\x89PNG")
    assert html.unescape(words["text/html"]).count(lines.alternative) == 1
    assert "max-width: 100%" in shown["text/html"], "it fits a narrow page"
    spec = json.dumps(shown["application/vnd.plotly.v1+json"], allow_nan=False)
    assert lines.question in spec
    assert lines.figure.layout.title.text is None, "the chart itself stays as it was"


def test_names_in_a_heat_map_are_plain_words_on_paper() -> None:
    cells = pd.DataFrame(
        {"virtual_users": 1, "path": ["$a$", "b<br>c"] * 2, "size": [1, 1, 2, 2], "metric_value": [9.0] * 4}
    )
    figure = grid(cells, "path", "size", METRIC).matplotlib()
    assert [tick.get_text() for tick in figure.axes[0].get_xticklabels()] == [r"\$a\$", "b\nc"]


def test_crowded_ticks_are_thinned_on_a_narrow_figure() -> None:
    rng = np.random.default_rng(1)
    chart = throughput_over_users(
        pd.DataFrame({"label": "one", "virtual_users": [4] * 3, "metric_value": rng.normal(1_000_000, 10, 3)}), METRIC
    )
    figure = chart.matplotlib(columns=1)
    figure.draw_without_rendering()
    boxes = [tick.get_window_extent() for tick in figure.axes[0].get_xticklabels() if tick.get_text()]
    assert all(left.x1 < right.x0 for left, right in itertools.pairwise(boxes))


def long_names(counts: tuple[int, ...]) -> Chart:
    """Throughput of five configurations of four settings each, at these counts of virtual users."""
    sizes = [("4GB", "pglz"), ("4GB", "zstd"), ("16GB", "pglz"), ("16GB", "zstd"), ("64GB", "zstd")]
    names = [
        f"shared_buffers={size}, synchronous_commit=remote_write, wal_compression={how}, "
        "checkpoint_completion_target=0.9"
        for size, how in sizes
    ]
    rows = [(name, users, 1000.0 * users * place) for place, name in enumerate(names, 1) for users in counts]
    return throughput_over_users(pd.DataFrame(rows, columns=["label", "virtual_users", "metric_value"]), METRIC)


@pytest.mark.parametrize("columns", [1, 2])
def test_long_names_in_a_legend_stay_within_the_drawing(columns: int) -> None:
    drawing = long_names((1, 4)).matplotlib(columns, title=True)
    drawing.draw_without_rendering()
    (legend,) = drawing.legends
    assert max(text.get_window_extent().x1 for text in legend.get_texts()) <= drawing.bbox.x1


@pytest.mark.parametrize("columns", [1, 2])
def test_long_names_of_rows_do_not_lie_on_each_other(columns: int) -> None:
    drawing = long_names((4,)).matplotlib(columns)
    drawing.draw_without_rendering()
    boxes = sorted(
        (one.get_window_extent() for one in drawing.axes[0].get_yticklabels()), key=lambda box: float(box.y0)
    )
    assert all(low.y1 <= high.y0 for low, high in itertools.pairwise(boxes))
