"""All panels of ``hdbkit.ui()``, operated in a real JupyterLab: run, list, compare, sweep."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hdbkit import api
from hdbkit.config import Target
from tests.browser.lab import Lab, Notebook

pytestmark = pytest.mark.browser
PATIENCE_MS = 120_000


class Bench:
    """A page with ``hdbkit.ui()``, one tab at a time."""

    def __init__(self, notebook: Notebook) -> None:
        self.page = notebook.page
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
        """A run to its end."""
        self.fill(Label=label)
        self.press("Run")
        self.panel.get_by_role("button", name="Stop", exact=True, disabled=False).wait_for()
        self.panel.locator(".hdbkit-card").wait_for()


def make_runs(bench: Bench) -> None:
    """Two runs, one after the other."""
    bench.go("Run")
    bench.fill(**{"Rampup_(s)": 0, "Duration_(s)": 3})
    for label in ("one", "two"):
        bench.run(label)


def list_tag_and_export(bench: Bench) -> None:
    """Both are in the table; one is tagged, and the file of the table has its tag."""
    bench.go("Runs")
    table = bench.panel.locator(".hdbkit-pick")
    table.get_by_role("button", name="metric_value").click()
    table.locator("th[aria-sort=descending]").wait_for()
    table.locator("tbody tr").nth(1).wait_for()
    assert table.locator("tbody tr").count() == 2
    table.get_by_text("two", exact=True).click()
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
    bench.press("Add to the sweep")
    bench.panel.get_by_placeholder("values, separated by commas").fill("1, 2")
    bench.fill(Blocks=2, **{"Rampup_(s)": 0, "Duration_(s)": 2})
    bench.wait("4 runs")
    bench.wait("about ")
    bench.panel.get_by_text("Allow hdbkit to change this server's settings").click()
    bench.press("Start the sweep")
    bench.wait("block 1 of 2")
    bench.wait("done: 4 of 4 runs done")
    ranking = bench.panel.locator("table", has_text="Ranking over the finished runs").locator("tbody tr")
    ranking.nth(1).wait_for()
    assert ranking.count() == 2


def test_runs_are_made_listed_compared_and_swept_by_hand(lab: Lab, context: Any, built: Target) -> None:
    lab.write("bench.ipynb", [f"import hdbkit\nhdbkit.ui({built.given!r})"])
    notebook = Notebook.open(lab, context, "bench.ipynb")
    notebook.run_all()
    notebook.page.wait_for_selector(".hdbkit-alive")
    bench = Bench(notebook)

    for step in (make_runs, list_tag_and_export, compare_them, sweep_a_setting):
        step(bench)
    assert api.connect(built).settings()["value"]["speed"] == "1"
    assert (notebook.said, notebook.outside) == ([], [])
