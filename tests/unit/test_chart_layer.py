"""The chart layer in a browser: shared cursor and zoom, files of a chart, runs that open, colours of the page."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from hdbkit.charts.chart import Chart
from hdbkit.charts.marks import dots
from hdbkit.charts.style import COLOURS, colour, figure
from hdbkit.report.card import Card
from hdbkit.report.page import Page, write_page
from tests.conftest import PATIENCE_MS

pytestmark = [pytest.mark.browser, pytest.mark.flaky(reruns=1)]


def over_time(key: str, level: float) -> Chart:
    """A line of one point a second."""
    table = pd.DataFrame({"second": range(10), "rate": [level + one for one in range(10)]})
    fig = figure("seconds since the start", "rate")
    fig.add_scatter(x=table["second"].tolist(), y=table["rate"].tolist(), mode="lines", name=key,
                    line={"color": colour("series-1")})  # fmt: skip
    return Chart(key, f"Was {key} steady?", fig, f"It was {level}.", table)


def of_runs() -> Chart:
    """Two runs; the report of one is written."""
    fig = figure("value", "").add_trace(dots([1.0, 2.0], [0, 0], "%{x}", ["run-1", "run-2"]))
    return Chart("runs", "Which is best?", fig, "Two runs.", pd.DataFrame({"run_id": ["run-1", "run-2"]}))


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("report")
    for run in ("run-1", "run-2"):
        (folder / run).mkdir()
        (folder / run / "manifest.json").write_text("{}")
    (folder / "run-1" / "report.html").write_text("<title>the first run</title>")
    charts = [over_time("first", 10), over_time("second", 1000), of_runs()]
    (folder / "experiments" / "one").mkdir(parents=True)
    card = Card(question="q?", answer="a", verdict="equivalent", value="x1")
    page = Page(kicker="k", card=card, notice="n", command="c", charts=charts)
    return write_page(folder / "experiments" / "one" / "report.html", page)


@pytest.fixture(scope="module")
def opened(chromium: Any, report: Path) -> Iterator[tuple[Any, list[str]]]:
    """The page of all tests, and its errors."""
    context = chromium.new_context(viewport={"width": 1000, "height": 1900}, offline=True, bypass_csp=True)
    context.set_default_timeout(PATIENCE_MS)
    page, errors = context.new_page(), list[str]()
    page.on("pageerror", lambda error: errors.append(str(error)))
    yield page, errors
    context.close()


@pytest.fixture
def page(opened: tuple[Any, list[str]], report: Path) -> Iterator[Any]:
    page, errors = opened
    if page.url != report.as_uri():
        page.goto(report.as_uri())
        page.wait_for_function("document.querySelectorAll('[data-drawn]').length === 3")
    yield page
    page.emulate_media(color_scheme="light")
    assert errors == []


def plotted(page: Any, key: str) -> Any:
    return page.locator(f"#chart-{key} .nsewdrag").bounding_box()


def move(page: Any, key: str, share: float) -> None:
    """Move the mouse to a share of the width of a chart."""
    box = plotted(page, key)
    page.mouse.move(box["x"] + share * box["width"], box["y"] + box["height"] / 2)


def test_one_cursor_shows_the_values_of_all_charts_over_the_same_time(page: Any) -> None:
    move(page, "first", 0.5)
    read = page.locator("#chart-second .hdbkit-readout")
    page.wait_for_function("document.querySelector('#chart-second .hdbkit-readout').textContent.startsWith('4.5')")
    assert read.inner_text().endswith("second 1,004")
    assert page.locator("#chart-first .hdbkit-readout").inner_text().endswith("first 14")
    lines = [page.locator(f"#chart-{key} .hdbkit-cursor") for key in ("first", "second")]
    lefts = [line.evaluate("line => parseFloat(line.style.left)") for line in lines]
    assert lines[0].is_visible() and lines[1].is_visible()
    assert abs(lefts[0] - lefts[1]) < 40
    assert not page.locator("#chart-runs .hdbkit-cursor").is_visible()


def test_a_zoom_by_dragging_holds_for_all_and_is_reset_by_its_button(page: Any) -> None:
    range_of = "key => document.querySelector(`#chart-${key} .hdbkit-plot`)._fullLayout.xaxis.range"
    whole = page.evaluate(range_of, "second")
    box = plotted(page, "first")
    page.mouse.move(box["x"] + 0.3 * box["width"], box["y"] + 5)
    page.mouse.down()
    page.mouse.move(box["x"] + 0.6 * box["width"], box["y"] + box["height"] - 5, steps=5)
    page.mouse.up()
    page.wait_for_function(f"whole => ({range_of})('second')[0] > whole[0] + 1", arg=whole)
    reset = page.locator("#chart-first").get_by_role("button", name="Reset zoom")
    reset.click()
    page.wait_for_function(f"whole => Math.abs(({range_of})('second')[0] - whole[0]) < 0.01", arg=whole)
    assert not reset.is_visible()


@pytest.mark.parametrize(("name", "start"), [("PNG", b"\x89PNG"), ("SVG", b"<svg"), ("CSV", b"second,rate\n0,10\n")])
def test_a_chart_is_saved_from_the_page(page: Any, name: str, start: bytes) -> None:
    with page.expect_download() as started:
        page.locator("#chart-first").get_by_role("button", name=name).click()
    content = Path(started.value.path()).read_bytes()
    assert started.value.suggested_filename == f"first.{name.lower()}"
    assert content.startswith(start)
    if name == "SVG":
        assert "Was first steady?" in content.decode()
        assert COLOURS["series-1"].light in content.decode() or "rgb(0, 105, 168)" in content.decode()
    if name == "CSV":
        assert len(pd.read_csv(io.BytesIO(content))) == 10


@pytest.mark.parametrize(("share", "opens"), [(0.0, True), (1.0, False)])
def test_a_click_on_the_dot_of_a_run_opens_its_report_or_shows_how_to_write_it(
    page: Any, share: float, opens: bool
) -> None:
    dot = page.locator("#chart-runs .point").nth(int(share))
    box = dot.bounding_box()
    at = (box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.move(*at, steps=4)
    page.locator("#chart-runs .hdbkit-opens").wait_for()
    page.mouse.click(*at)
    if opens:
        page.wait_for_url("**/run-1/report.html")
        assert page.title() == "the first run"
    else:
        assert page.locator(".opened code").inner_text() == "hdbkit report run-2"


def test_a_chart_follows_the_colours_of_its_page(page: Any) -> None:
    line = "getComputedStyle(document.querySelector('#chart-first .js-line')).stroke"
    before = page.evaluate(line)
    page.emulate_media(color_scheme="dark")
    page.wait_for_function(f"before => {line} !== before", arg=before)
    assert page.evaluate(line) == "rgb(90, 180, 240)"
