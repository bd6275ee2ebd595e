"""Every report in a real browser without network: drawn, without errors, and different in dark mode."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hdbkit import api
from hdbkit.analysis.run.records import read_table
from hdbkit.report.run_report import run_report
from tests.accessibility import FITS, serious
from tests.conftest import PATIENCE_MS
from tests.unit.every_chart import finished
from tests.unit.synthetic import write_run
from tests.unit.test_report import runs_of_sweep, write_sweep

pytestmark = [pytest.mark.browser, pytest.mark.flaky(reruns=1)]
NEVER_IDLE = "window.requestIdleCallback = () => 0"
PLOTS = {"run": 10, "sweep": 6, "comparison": 5}


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("reports")
    run = write_run(folder / "a-run", duration_s=10)
    folders = runs_of_sweep(folder, run)
    (old, _), _ = finished(folder / "old"), finished(folder / "new", users=2)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HDBKIT_RESULTS", str(folder))
        compared = api.compare("old", "new").report()
    swept = write_sweep(folder / "sweep.html", folders)
    return {"run": run_report(run.folder), "finished": run_report(old), "sweep": swept, "comparison": compared}


@pytest.mark.parametrize("which", PLOTS)
def test_a_report_opens_with_the_network_off_and_begins_with_the_result(
    chromium: Any, reports: dict[str, Path], which: str
) -> None:
    """Wide and light; then the same page narrow and dark."""
    said: list[str] = []
    asked: list[str] = []
    context = chromium.new_context(color_scheme="light", viewport={"width": 1400, "height": 900}, offline=True)
    context.set_default_timeout(PATIENCE_MS)
    page = context.new_page()
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(reports[which].as_uri())
    assert page.locator(".plot").count() == PLOTS[which]
    for plot in page.locator(".plot").all():
        plot.locator("svg .xtick text").first.wait_for(state="attached")
    value, plot = (page.locator(one).first.bounding_box() for one in (".hd-value", ".plot"))
    assert page.evaluate("scrollY") == 0
    assert value["y"] + value["height"] < 300 and plot["y"] < 700
    assert page.locator("h1, h2, h3").first.evaluate("one => one.tagName") == "H1"
    light = look(page)
    page.emulate_media(color_scheme="dark")
    page.set_viewport_size({"width": 400, "height": 400})
    assert all(one != other for one, other in zip(light, look(page), strict=True))
    assert (said, asked) == ([], [reports[which].as_uri()])
    context.close()


def look(page: Any) -> list[str]:
    """The colours of a page, which must not scroll sideways and in which axe-core may find nothing serious."""
    page.locator("html").evaluate(FITS)
    assert serious(page) == []
    colours = (
        "getComputedStyle(document.body).backgroundColor",
        "getComputedStyle(document.querySelector('.plot .xtick text')).fill",
    )
    return [page.evaluate(one) for one in colours]


def test_charts_below_are_drawn_when_they_are_near_or_printed(chromium: Any, reports: dict[str, Path]) -> None:
    """In a browser that is never idle."""
    context = chromium.new_context(viewport={"width": 400, "height": 400}, offline=True)
    context.set_default_timeout(PATIENCE_MS)
    page = context.new_page()
    page.add_init_script(NEVER_IDLE)
    page.goto(reports["sweep"].as_uri())
    drawn = page.locator(".plot:has(.xtick)")
    drawn.first.wait_for()
    page.wait_for_timeout(500)
    before = drawn.count()
    assert before < PLOTS["sweep"]
    below = page.locator(".plot:not(:has(.xtick))").first
    below.scroll_into_view_if_needed()
    page.wait_for_function("before => document.querySelectorAll('.plot:has(.xtick)').length > before", arg=before)
    height = page.evaluate("document.documentElement.scrollHeight")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert drawn.count() == PLOTS["sweep"]
    assert abs(page.evaluate("document.documentElement.scrollHeight") - height) < 30, "drawing moves what is read"
    context.close()


def test_tables_show_the_range_of_time_that_is_chosen_in_a_chart(chromium: Any, reports: dict[str, Path]) -> None:
    context = chromium.new_context(viewport={"width": 1280, "height": 400}, offline=True)
    context.set_default_timeout(PATIENCE_MS)
    page = context.new_page()
    page.goto(reports["finished"].as_uri())
    chart = page.locator("#chart-throughput")
    chart.locator(".xtick").first.wait_for()
    count = page.locator("[data-course] tbody tr:first-child td:nth-child(2)").first
    whole = count.inner_text()
    plot = chart.locator(".hdbkit-plot")
    plot.evaluate("(plot) => Plotly.relayout(plot, {'xaxis.range': [2.2, 3.9]}).then(() => null)")
    page.get_by_text("From 2 to 4 s of the run").first.wait_for()
    seconds = read_table(reports["finished"].with_name("seconds.parquet"))
    of_first = seconds[(seconds["operation"] == 0) & seconds["second"].between(2, 3)]
    expected = of_first[["committed", "rolled_back", "failed"]].to_numpy().sum()
    assert count.inner_text() == f"{expected:,}" != whole
    chart.get_by_role("button", name="Reset zoom").click()
    page.get_by_text("From 2 to 4 s of the run").first.wait_for(state="detached")
    assert count.inner_text() == whole
    context.close()
