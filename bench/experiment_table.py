"""The experiment table with 10,000 runs: the time until the first rows are painted, and scrolling.

The runs are those of a finished sweep of the null engine, as files. The panel reads them, without a catalog and with
the one that it has made, and makes its message to the browser; a page of headless chromium, without a notebook, shows
it. The way of the message is not in these times. Scrolling is a gesture through all rows, of which the browser hands
out the frames that it has composed: a frame has a gap where a stretch of the table's first column is empty.
"""

from __future__ import annotations

import base64
import io
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
from playwright.sync_api import FloatRect, Page

import hdbkit
import hdbkit.widgets
from bench.common import chromium, quick_or, scratch, show, timed, title
from bench.journal import BLOCKS, CONFIGURATIONS, USERS, finished, spec
from hdbkit.experiment.kinds.sweep.plan import plan_sweep
from hdbkit.results.experiment_folder import experiment_folder
from hdbkit.widgets.parts.base import STATIC
from tests.widgets.test_run_table import MODEL

RUNS = CONFIGURATIONS * len(USERS) * BLOCKS
FIRST_READINGS, LATER_READINGS, GESTURES = quick_or(1, 3), quick_or(3, 7), quick_or(1, 3)
MAX_S = 1.0
SPEED = 30_000
"""Pixels per second of the gesture: all rows in 9 s."""
GAP_PX = 40
"""An empty stretch of this height lacks a row, which has 27."""
PAINTED = """async (bytes) => {
  const begun = performance.now();
  document.getElementById("here").replaceChildren();
  table.render({ model, el: document.getElementById("here") });
  model.give(bytes);
  await new Promise((painted) => requestAnimationFrame(() => setTimeout(painted)));
  if (!document.querySelector(".hdbkit-runs tr[data-key]")) throw new Error("no row is shown");
  return (performance.now() - begun) / 1000;
}"""


def write_runs(root: Path) -> None:
    """The folders of the runs, and of their sweep."""
    target = hdbkit.Target(kind="nulldb", database="bench", may_change_settings=True)
    experiment_id = f"{datetime.now(UTC):%Y%m%d-%H%M%S}-large"
    folder, plan = (
        experiment_folder(root, experiment_id),
        plan_sweep(target, spec(CONFIGURATIONS, BLOCKS), experiment_id),
    )
    folder.write_plan(plan)
    finished(folder, plan)


def opened(page: Page) -> None:
    """A page with the module of the table."""
    module = (STATIC / "run_table.js").read_text(encoding="utf-8").replace("export default", "window.table =")
    style = (STATIC / "run_table.css").read_text(encoding="utf-8")
    page.set_content(f"<style>{style}</style><div class='hdbkit-panel' id='here'></div>")
    page.add_script_tag(content=f"{{{MODEL}}}{{{module}}}")


def shown(page: Page, workspace: hdbkit.Workspace) -> tuple[hdbkit.widgets.RunsPanel, float, float]:
    """A new panel, and the seconds until it has its first message and until the page has painted that."""
    opened(page)
    begun = time.monotonic()
    panel = hdbkit.widgets.RunsPanel(hdbkit.widgets.Shared(workspace=workspace))
    read_s = time.monotonic() - begun
    return panel, read_s, float(page.evaluate(PAINTED, panel.table._content.decode()))


def first_reading(page: Page, workspace: hdbkit.Workspace) -> dict[str, float]:
    """The seconds until the first rows and until all rows, without a catalog, and the number of the first rows."""
    for path in workspace.results.glob("catalog.sqlite*"):
        path.unlink()
    begun = time.monotonic()
    panel, read_s, painted_s = shown(page, workspace)
    rows = len(panel.runs)
    while panel.runs.attrs["unread"]:
        time.sleep(0.05)
    return {"read": read_s, "painted": read_s + painted_s, "rows": rows, "all": time.monotonic() - begun}


def empty_px(frame: bytes, table: FloatRect) -> int:
    """The height of the longest stretch without text in the first column of a picture of the page."""
    left, top, height = round(table["x"]), round(table["y"]), round(table["height"])
    grey = np.asarray(Image.open(io.BytesIO(frame)).convert("L"))
    lines = (grey[top + 30 : top + height - 18, left + 4 : left + 160] < 128).any(axis=1)
    marks = np.flatnonzero(np.concatenate(([True], lines, [True])))
    return int(np.diff(marks).max()) - 1


def scrolled(page: Page) -> list[int]:
    """The height of the longest empty stretch of each frame of a gesture through all rows."""
    page.evaluate("document.querySelector('.hdbkit-runs-box').scrollTop = 0")
    box = page.locator(".hdbkit-runs-box")
    end_px, area = box.evaluate("box => box.scrollHeight - box.clientHeight"), box.bounding_box()
    assert area is not None
    frames = list[bytes]()
    devtools = page.context.new_cdp_session(page)

    def keep(event: dict[str, Any]) -> None:
        frames.append(base64.b64decode(event["data"]))
        devtools.send("Page.screencastFrameAck", {"sessionId": event["sessionId"]})

    devtools.on("Page.screencastFrame", keep)  # not detached: an acknowledgement on its way would wait forever
    devtools.send("Page.startScreencast", {"format": "png", "everyNthFrame": 1})
    gesture = {"x": 300, "y": 200, "yDistance": -end_px, "speed": SPEED, "gestureSourceType": "mouse"}
    devtools.send("Input.synthesizeScrollGesture", gesture)
    page.wait_for_timeout(300)  # the last frames
    devtools.send("Page.stopScreencast")
    if box.evaluate("box => box.scrollTop") < 0.99 * end_px:
        raise RuntimeError("the gesture did not reach the last row")
    return [empty_px(frame, area) for frame in frames]


def main() -> None:
    """Print the times and what was missing while scrolling."""
    title(f"experiment_table: {RUNS:,} runs in the panel Runs")
    with scratch() as root, chromium() as browser:
        workspace = hdbkit.Workspace(results=root / "results")
        print(f"written in {timed(lambda: write_runs(root / 'results')):.0f} s", flush=True)
        page = browser.new_page(viewport={"width": 1400, "height": 700})
        first = [first_reading(page, workspace) for _ in range(FIRST_READINGS)]
        show("without a catalog: reading the newest, making the message", [one["read"] for one in first], unit="s")
        show("until the first rows are painted", [one["painted"] for one in first], unit="s", at_most=MAX_S)
        show("rows of the first message", [one["rows"] for one in first])
        show("until all rows are in the panel", [one["all"] for one in first], unit="s")
        later = [shown(page, workspace)[1:] for _ in range(LATER_READINGS)]
        show("with the catalog: reading all, making the message", [read_s for read_s, _ in later], unit="s")
        show("until the first rows are painted", [sum(one) for one in later], unit="s", at_most=MAX_S)
        gaps = [scrolled(page) for _ in range(GESTURES)]
    show(f"scrolling at {SPEED:,} px/s: frames of the browser", [len(one) for one in gaps])
    show("frames with an empty row", [sum(px >= GAP_PX for px in one) for one in gaps], at_most=0)


if __name__ == "__main__":
    main()
