"""The experiment table with 10,000 runs: the time until the first rows are painted, and scrolling.

The runs are those of a finished sweep of the null engine, as files. The panel reads them and makes its message to the
browser; a page of headless chromium, without a notebook, shows it. The way of the message is not in these times.
"""

from __future__ import annotations

import shutil
import time
from datetime import UTC, datetime
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

import hdbkit
import hdbkit.widgets
from bench.common import quick_or, scratch, show, title
from bench.journal import BLOCKS, CONFIGURATIONS, USERS, finished, spec, timed
from hdbkit.results.sweep_folder import sweep_folder
from hdbkit.sweep_plan import plan_sweep
from hdbkit.widgets.parts.base import STATIC
from tests.widgets.test_run_table import MODEL

RUNS = CONFIGURATIONS * len(USERS) * BLOCKS
REPEATS = quick_or(3, 7)
MAX_S = 1.0
PAINTED = """async (bytes) => {
  const begun = performance.now();
  document.getElementById("here").replaceChildren();
  table.render({ model, el: document.getElementById("here") });
  model.give(bytes);
  await new Promise((painted) => requestAnimationFrame(() => setTimeout(painted)));
  if (!document.querySelector(".hdbkit-runs tr[data-key]")) throw new Error("no row is shown");
  return (performance.now() - begun) / 1000;
}"""
SCROLLED = """async () => {
  const box = document.querySelector(".hdbkit-runs-box"), { x, y, height } = box.getBoundingClientRect();
  const frame = () => new Promise(requestAnimationFrame), took = [];
  let gaps = 0;
  for (let step = 0; step <= 200; step++) {
    const begun = performance.now();
    box.scrollTop = (step / 200) * box.scrollHeight;
    await frame();
    await frame();
    took.push((performance.now() - begun) / 2000);
    const row = (at) => document.elementFromPoint(x + 30, y + at * height)?.closest("tr[data-key]");
    gaps += ![0.2, 0.5, 0.9].every(row);
  }
  return { gaps, longest: Math.max(...took) };
}"""


def write_runs(root: Path) -> None:
    """The folders of the runs, and of their sweep."""
    target = hdbkit.Target(kind="nulldb", database="bench", may_change_settings=True)
    sweep_id = f"{datetime.now(UTC):%Y%m%d-%H%M%S}-large"
    folder, plan = sweep_folder(root, sweep_id), plan_sweep(target, spec(CONFIGURATIONS, BLOCKS), sweep_id)
    folder.write_plan(plan)
    finished(folder, plan)


def opened(page: Page) -> None:
    """A page with the module of the table."""
    module = (STATIC / "run_table.js").read_text(encoding="utf-8").replace("export default", "window.table =")
    style = (STATIC / "run_table.css").read_text(encoding="utf-8")
    page.set_content(f"<style>{style}</style><div class='hdbkit-panel' id='here'></div>")
    page.add_script_tag(content=f"{{{MODEL}}}{{{module}}}")


def main() -> None:
    """Print the times and what was missing while scrolling."""
    title(f"experiment_table: {RUNS:,} runs in the panel Runs")
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    with scratch() as root, sync_playwright() as playwright:
        workspace = hdbkit.Workspace(results=root / "results")
        write_runs(root / "results")
        begun = time.monotonic()
        panel = hdbkit.widgets.RunsPanel(hdbkit.widgets.Shared(workspace=workspace))
        show("the first reading, which makes the catalog", [time.monotonic() - begun], unit="s")
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": 1400, "height": 900})
        read_s, painted_s, scrolled = [], [], []
        for _ in range(REPEATS):
            opened(page)
            read_s.append(timed(panel.refresh))
            painted_s.append(page.evaluate(PAINTED, panel.table._content.decode()))
            scrolled.append(page.evaluate(SCROLLED))
        browser.close()
    show("reading the list and making the message", read_s, unit="s")
    show("painting the first rows", painted_s, unit="s")
    both = [read + painted for read, painted in zip(read_s, painted_s, strict=True)]
    show("until the first rows are painted", both, unit="s", at_most=MAX_S)
    show("scrolling: longest frame", [one["longest"] for one in scrolled], unit="s")
    show("scrolling: places without a row, of 201", [one["gaps"] for one in scrolled], at_most=0)


if __name__ == "__main__":
    main()
