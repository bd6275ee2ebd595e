"""The JupyterLab of ``make lab``: its tiles, and panels in a real browser: runs, lists, comparisons and sweeps.

All is in one file, so that one worker starts JupyterLab and loads its page for all tests.
"""

from __future__ import annotations

import json
import re
import time
from pathlib import Path
from typing import Any

import pytest

from hdbkit import api
from hdbkit.config import Load, Target, TprocCSpec
from hdbkit.plan import RunPlan
from hdbkit.results.manifest import CheckLine, HostFacts, ServerFacts, Status
from tests.accessibility import serious
from tests.browser.conftest import copied
from tests.browser.lab import POLLING_MS, Desk, Lab
from tests.conftest import PATIENCE_MS
from tests.notebooks.conftest import NOTEBOOKS
from tests.unit.synthetic import with_result, write_errors, write_run

pytestmark = [pytest.mark.flaky(reruns=1), pytest.mark.timeout(900)]
TILES = [
    *("Start here", "Build and check", "Run", "Sweep settings", "Compare"),
    *("Scaling virtual users", "Why processes", "Published results", "Compare engines", "Own workload"),
    "TPROC-H",
]


def page_config(lab: Lab) -> dict[str, Any]:
    """What the page tells the browser's half."""
    found = re.search(
        r'<script id="jupyter-config-data" type="application/json">\s*(.*?)\s*</script>', lab.read("lab"), re.S
    )
    assert found
    return json.loads(found[1])


def test_it_serves_the_notebooks(lab: Lab) -> None:
    served = {one["name"] for one in lab.ask("api/contents")["content"]}
    assert {path.name for path in NOTEBOOKS} <= served


def test_it_requests_no_news_updates_or_extensions(lab: Lab) -> None:
    config = page_config(lab)
    assert config["news"] == {"disabled": True}
    assert config["extensionManager"]["can_install"] is False
    settings = lab.ask("lab/api/settings/@jupyterlab/apputils-extension:notification")
    assert settings["schema"]["properties"]["fetchNews"]["default"] == "false"
    assert settings["schema"]["properties"]["checkForUpdates"]["default"] is False


def test_it_carries_the_tiles(lab: Lab) -> None:
    (extension,) = [one for one in page_config(lab)["federated_extensions"] if one["name"] == "hdbkit-launcher"]
    assert "docmanager:open" in lab.read(f"lab/extensions/hdbkit-launcher/{extension['load']}")


@pytest.mark.browser
def test_a_tile_opens_its_notebook(desk: Desk) -> None:
    page = desk.page
    page.wait_for_selector(".jp-LauncherCard:has-text('Published results')")
    assert tiles(page) == TILES
    page.click(".jp-LauncherCard:has-text('Published results')")
    page.wait_for_selector(".jp-Notebook .jp-MarkdownOutput h1:has-text('Published results')")
    assert desk.said == []


def tiles(page: Any) -> list[str]:
    """The words of our tiles, in their order."""
    cards = page.query_selector_all(".jp-LauncherCard[data-category='Notebook'] .jp-LauncherCard-label")
    return [card.inner_text() for card in cards][: len(TILES)]


def await_points(desk: Desk, least: int) -> None:
    """Wait until the live chart has so many points, and has drawn them as a line; a new run clears those before."""
    drawn = """least => {
        const chart = document.querySelector('.hdbkit-live');
        const line = chart?.querySelector('path.hdbkit-live-line-1')?.getAttribute('d') ?? '';
        return +(chart?.dataset.points ?? 0) >= least && line.includes('L');
    }"""
    desk.page.wait_for_function(drawn, arg=least, polling=POLLING_MS)


def press(desk: Desk, name: str) -> None:
    desk.page.locator(".hdbkit-panel").get_by_role("button", name=name, exact=True).first.click()


CHART = """
import pandas as pd
from hdbkit.charts.scaling_charts import throughput_over_users
from hdbkit.config.metric import Metric
with open("data/metric.json") as file:
    metric = Metric.model_validate_json(file.read())
runs = pd.DataFrame({"label": "one", "virtual_users": [1, 2], "metric_value": [10.0, 20.0]})
throughput_over_users(runs, metric)
"""


@pytest.mark.browser
def test_a_chart_has_its_words_no_button_to_another_host_and_the_theme_of_the_page(desk: Desk) -> None:
    desk.lab.write("chart.ipynb", [CHART])
    desk.open("chart.ipynb")
    desk.run_all()
    page = desk.page
    living = page.locator(".hdbkit-chart-place .hdbkit-chart")
    living.locator(".js-line").first.wait_for(state="attached")
    assert living.locator("p").inner_text().startswith("Highest")
    kept = page.locator(".jp-RenderedPlotly")
    kept.locator(".modebar-btn").first.wait_for(state="attached")
    assert not kept.is_visible()
    buttons = kept.locator(".modebar-btn").evaluate_all("all => all.map(one => one.dataset.title + one.href)")
    assert buttons
    assert not [one for one in buttons if "Share" in one or "http" in one]
    line = "getComputedStyle(document.querySelector('.hdbkit-chart .js-line')).stroke"
    for theme, look, ink in (
        ("Dark", "invert(0.933) hue-rotate(180deg)", "rgb(90, 180, 240)"),
        ("Light", "none", "rgb(0, 105, 168)"),
    ):
        desk.theme(theme)
        page.wait_for_function(f"ink => {line} === ink", arg=ink, polling=POLLING_MS)
        assert kept.evaluate("chart => getComputedStyle(chart).filter") == look
    desk.lab.end_kernels()
    kept.wait_for()
    page.wait_for_timeout(500)
    assert desk.said == []


@pytest.mark.browser
def test_a_run_outlives_its_tab_and_its_page_and_its_result_stays_with_the_notebook(
    desk: Desk, built: Target
) -> None:
    name = copied(desk.lab, "02_run.ipynb", target=built.given, virtual_users=1, rampup_s=0.0, duration_s=1.0)
    desk.open(name)
    desk.run_all()
    desk.page.wait_for_selector(".hdbkit-alive")
    desk.page.get_by_text("report: ").last.wait_for()
    for label, value in (("Virtual users", "2"), ("Ramp-up", "0"), ("Duration", "600")):
        desk.page.locator(".hdbkit-panel").get_by_label(label, exact=True).fill(value)
        desk.page.keyboard.press("Tab")
    press(desk, "Run")
    await_points(desk, 3)
    desk.page.locator(".hdbkit-state", has_text="measuring: ").wait_for()
    desk.save("was in progress")

    desk.open_again()
    desk.page.wait_for_selector(".hdbkit-alive")
    await_points(desk, 6)

    before = time.monotonic()
    desk.load_again()
    desk.page.wait_for_selector(".hdbkit-alive")
    await_points(desk, 6 + int(time.monotonic() - before) // 2)
    press(desk, "Stop")
    desk.page.locator(".hdbkit-alive .hdbkit-card").wait_for()
    shown = desk.page.locator(".hdbkit-alive .hdbkit-card").inner_text()
    assert "transactions/s of all types), measured over" in shown
    desk.save()
    assert desk.said == []

    desk.lab.end_kernels()
    desk.open_again()
    still = desk.page.locator(".hdbkit-still")
    still.locator(".hdbkit-card").wait_for()
    assert shown.splitlines()[0] in still.inner_text()
    assert still.locator("img").evaluate("picture => picture.naturalWidth") > 100
    assert "model not found" not in desk.page.locator("body").inner_text()
    assert desk.said == []


ANOTHER_RESULT = """before => [...document.querySelectorAll('.hdbkit-outcome')].some(
    one => one.checkVisibility() && one.querySelector('.hdbkit-card') && one.innerText !== before
)"""


class Bench:
    """A page with ``hdbkit.ui()``, one tab at a time."""

    def __init__(self, desk: Desk) -> None:
        self.page = desk.page
        self.panel = self.page.locator(".hdbkit-tabs .hdbkit-panel:visible")

    def go(self, tab: str) -> None:
        self.page.get_by_role("tab", name=tab, exact=True).click()

    def press(self, name: str) -> None:
        self.panel.get_by_role("button", name=name, exact=True).click()

    def fill(self, **values: object) -> None:
        """Fields by their label, an underscore for a blank."""
        for label, value in values.items():
            self.panel.get_by_label(label.replace("_", " "), exact=True).fill(str(value))
            self.page.keyboard.press("Tab")

    def wait(self, text: str) -> Any:
        """Wait until the panel shows a text, and give where."""
        found = self.panel.get_by_text(text).first
        found.wait_for(timeout=PATIENCE_MS)
        return found

    def run(self, label: str) -> None:
        """A run to its end, when the panel shows another result than before."""
        self.fill(Label=label)
        shown = self.panel.locator(".hdbkit-outcome")
        before = shown.inner_text() if shown.is_visible() else ""
        self.press("Run")
        self.page.wait_for_function(ANOTHER_RESULT, arg=before, polling=POLLING_MS)


def make_runs(bench: Bench) -> None:
    """Two runs, one after the other."""
    bench.go("Run")
    bench.fill(**{"Ramp-up": 0, "Duration": 1})
    for label in ("one", "two"):
        bench.run(label)


def list_tag_and_export(bench: Bench) -> None:
    """Both are in the table; one is tagged, and the file of the table has its tag."""
    bench.go("Runs")
    table = bench.panel.locator(".hdbkit-runs")
    table.get_by_role("button", name="NOPM").click()
    table.locator("th[aria-sort=descending]").wait_for()
    table.locator("tr[data-key]").nth(1).wait_for()
    assert table.locator("tr[data-key]").count() == 2
    table.get_by_text("two", exact=True).click()
    bench.panel.get_by_text("Tags, notes and deletion").click()
    bench.panel.get_by_placeholder("tags, or a note").fill("kept")
    bench.press("Tag")
    table.locator("tr[aria-selected=true]").get_by_text("kept", exact=True).wait_for()
    bench.press("CSV")
    with bench.page.expect_download() as download:
        bench.wait("runs.csv").click()
    assert "kept" in Path(download.value.path()).read_text(encoding="utf-8")


def compare_them(bench: Bench) -> None:
    """One chart of both."""
    bench.go("Compare")
    bench.press("Select all")
    bench.press("Compare")
    bench.panel.locator(".hdbkit-chart svg:visible").first.wait_for()
    bench.wait("2 runs in 2 groups")


def sweep_a_setting(bench: Bench) -> None:
    """Two values of one setting, in two blocks."""
    bench.go("Sweep")
    bench.press("Read the server's settings")
    bench.wait("the server has 3 settings")
    bench.panel.get_by_placeholder("part of a name").fill("speed")  # the first needs a restart
    bench.panel.locator("select:visible option:only-child", has_text="speed").wait_for(state="attached")
    bench.press("Add to the sweep")
    bench.panel.get_by_placeholder("values, separated by commas").fill("1, 2")
    bench.fill(Blocks=2, **{"Ramp-up": 0, "Duration": 0.5})
    bench.wait("4 runs")
    bench.wait("about ")
    bench.panel.get_by_text("Allow hdbkit to change this server's settings").click()
    bench.press("Start the sweep")
    bench.wait("block 1 of 2")
    bench.wait("done: 4 of 4 runs done")
    ranking = bench.panel.locator("table", has_text="Against the baseline").locator("tbody tr")
    ranking.nth(1).wait_for(state="attached")
    assert ranking.count() == 2


def attach_after_a_restart(bench: Bench, desk: Desk) -> None:
    """A run outlives its kernel, and is attached again."""
    bench.go("Run")
    bench.fill(**{"Duration": 600})
    press(desk, "Run")
    bench.panel.locator(".hdbkit-state", has_text="measuring: ").wait_for()  # before, the chart is that of run two
    await_points(desk, 2)
    desk.command("notebook:restart-kernel")
    desk.page.locator(".jp-Dialog .jp-mod-accept").click()
    desk.page.wait_for_selector(".hdbkit-alive", state="detached")
    desk.run_all()
    desk.page.wait_for_selector(".hdbkit-alive")
    press(desk, "Attach")
    await_points(desk, 2)
    press(desk, "Stop")
    desk.page.locator(".hdbkit-alive .hdbkit-card").wait_for()


@pytest.mark.browser
def test_runs_are_made_listed_compared_swept_and_attached_by_hand(desk: Desk, built: Target) -> None:
    desk.lab.write("bench.ipynb", [f"import hdbkit\nhdbkit.ui({built.given!r})"])
    desk.open("bench.ipynb")
    desk.run_all()
    desk.page.wait_for_selector(".hdbkit-alive")
    bench = Bench(desk)
    for step in (make_runs, list_tag_and_export, compare_them, sweep_a_setting):
        step(bench)
    assert api.connect(built).settings()["value"]["speed"] == "1"
    for tab in ("Target", "Schema", "Run", "Highest rate", "Profile", "Sweep", "Compare", "Runs"):
        bench.go(tab)
        assert serious(desk.page, ".hdbkit-panel") == [], tab
    assert desk.said == []
    attach_after_a_restart(bench, desk)


HOSTILE = """</script><script>window.pwned=1</script>"'><img src=x onerror="window.pwned=1"><b>hostile</b>"""
"""A text that runs a script where it is taken for HTML; ``hostile`` is what a reader sees of it."""


def hostile_runs(results: Path) -> None:
    """Two runs whose label, addresses, tags, note, messages, errors and checks are hostile."""
    for number in (1, 2):
        load = Load(virtual_users=2, rampup_s=1, duration_s=2 + number)
        target = Target(name=HOSTILE, kind="nulldb", host="db1", database=HOSTILE, user=HOSTILE)
        run_id = f"2026010{number}-000000-nulldb-c-w2-u2-aaaaa{'ab'[number - 1]}"
        plan = RunPlan(run_id=run_id, target=target, workload=TprocCSpec(warehouses=2), load=load, label=HOSTILE)
        run = with_result(write_run(results / run_id, plan=plan, failed=0.01))
        write_errors(run.folder, text=HOSTILE)
        hostile = {"tags": [HOSTILE], "note": HOSTILE, "warnings": [HOSTILE], "notice": HOSTILE, "scale": HOSTILE}
        checks = [CheckLine(name=HOSTILE, passed=False, detail=HOSTILE)]
        changed = run.manifest.model_copy(
            update={
                **hostile,
                "checks": checks,
                "server": ServerFacts(version=HOSTILE),
                "host": HostFacts(name=HOSTILE),
            }
        ).moved_to(Status.FAILED, HOSTILE)
        run.folder.write(changed.moved_to(Status.DONE, HOSTILE))


def choose_a_target(bench: Bench, built: Target) -> None:
    """One that does not exist, then one that does."""
    bench.go("Target")
    bench.fill(Name_or_URL=f"x{HOSTILE}")
    bench.wait("there is no target")
    bench.fill(Name_or_URL=built.given)


def run_and_list(bench: Bench) -> None:
    """A run with a hostile label, and the list with a hostile filter; a hostile run, its report and its chart."""
    bench.go("Run")
    bench.fill(**{"Ramp-up": 0, "Duration": 0.5})
    bench.run(HOSTILE)
    bench.go("Runs")
    rows = bench.panel.locator(".hdbkit-runs tr[data-key]")
    rows.nth(2).wait_for()
    bench.panel.get_by_label("Search", exact=True).fill(f"label ~ {HOSTILE}")
    bench.page.keyboard.press("Enter")
    bench.panel.locator(".hdbkit-chip", has_text="hostile").wait_for()
    rows.nth(1).click()
    bench.wait("hostile")
    bench.press("Report")
    bench.wait("report.html")


@pytest.mark.browser
def test_no_text_of_a_run_or_target_is_executed(desk: Desk, built: Target) -> None:
    """Labels, names, notes, warnings, errors and what a user types, in every panel, card, chart and report."""
    hostile_runs(desk.lab.results)
    targets = desk.lab.home / "hostile.yaml"
    targets.write_text(json.dumps({HOSTILE: {"kind": "nulldb", "host": "db1"}}))
    place = f"hdbkit.Workspace(results={str(desk.lab.results)!r}, targets={str(targets)!r})"
    desk.lab.write("hostile.ipynb", [f"import hdbkit\nhdbkit.ui({built.given!r}, workspace={place})"])
    desk.open("hostile.ipynb")
    desk.run_all()
    desk.page.wait_for_selector(".hdbkit-alive")
    bench = Bench(desk)
    choose_a_target(bench, built)
    run_and_list(bench)
    bench.go("Compare")
    bench.wait("select runs in the list first")
    assert bench.panel.get_by_role("button", name="Compare", exact=True).is_disabled()
    bench.press("Select all")
    bench.press("Compare")
    bench.panel.locator(".hdbkit-chart svg:visible").first.wait_for()
    desk.page.wait_for_timeout(500)
    assert desk.page.evaluate("window.pwned") is None
    assert desk.page.locator("img[src=x], b:text-is('hostile')").count() == 0
    assert desk.said == []
    report = desk.context.new_page()
    report.goto(next(desk.lab.results.glob("2026*/report.html")).as_uri())
    report.wait_for_load_state()
    assert report.evaluate("window.pwned") is None
    assert report.locator("img[src=x]").count() == 0
    report.close()
