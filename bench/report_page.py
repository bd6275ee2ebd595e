"""The report of a sweep of 112 runs in a browser: the time until it is readable, and until the first chart is drawn.

Each opening is a new browser context with the network off. Times are from the start of the navigation, by the page's
own clock; what a page does later, when it is scrolled, is not in them.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser

from bench.common import chromium, quick_or, scratch, show, title
from tests.unit.synthetic import write_run
from tests.unit.test_report import runs_of_sweep, write_sweep

OPENINGS = quick_or(3, 5)
BLOCKS, USERS = 7, (1, 2, 4, 8)
MOST_BYTES, MOST_S = 3_000_000, 2.0
TOLD = {
    "first_paint_s": "until something can be read",
    "load_s": "until the page's load event",
    "chart_s": "until the first chart is drawn",
}
WATCH = """
new MutationObserver((_, observer) => {
  if (!document.querySelector(".plot .xtick text")) return;
  window.chart_ms = performance.now();
  observer.disconnect();
}).observe(document, { childList: true, subtree: true });
"""
READ = """() => ({
  first_paint_s: performance.getEntriesByName("first-contentful-paint")[0].startTime / 1000,
  load_s: performance.getEntriesByType("navigation")[0].loadEventEnd / 1000,
  chart_s: window.chart_ms / 1000,
})"""


def page_of_sweep(folder: Path) -> Path:
    """The report of a sweep of 112 synthetic runs."""
    run = write_run(folder / "a-run", duration_s=12)
    return write_sweep(folder / "sweep.html", runs_of_sweep(folder, run, BLOCKS, USERS), BLOCKS, USERS)


def opened(browser: Browser, page: Path) -> Mapping[str, float]:
    """The times of opening the page once, in seconds."""
    context = browser.new_context(offline=True, viewport={"width": 1280, "height": 900})
    tab = context.new_page()
    tab.add_init_script(WATCH)
    tab.goto(page.as_uri())
    tab.wait_for_function("window.chart_ms")
    times: dict[str, Any] = tab.evaluate(READ)
    context.close()
    return times


def main() -> None:
    """Print the page's size and times."""
    title("report_page: the page of a sweep of 112 runs in a headless browser")
    with scratch() as folder, chromium() as browser:
        page = page_of_sweep(folder)
        show("size", [page.stat().st_size / 1e6], unit="MB", at_most=MOST_BYTES / 1e6)
        opened(browser, page)  # warm up the browser
        times = [opened(browser, page) for _ in range(OPENINGS)]
    for name, words in TOLD.items():
        show(words, [one[name] for one in times], unit="s", at_most=MOST_S)


if __name__ == "__main__":
    main()
