"""A manual run in a real JupyterLab: watched, stopped, kept with the notebook, and found after a restart."""

from __future__ import annotations

import time
from typing import Any

import pytest

from hdbkit.config import Target
from tests.browser.conftest import copied
from tests.browser.lab import Lab, Notebook

pytestmark = pytest.mark.browser


def await_points(notebook: Notebook, least: int) -> None:
    """Wait until the live chart has drawn so many points."""
    drawn = "least => +(document.querySelector('.hdbkit-live')?.dataset.points ?? 0) >= least"
    notebook.page.wait_for_function(drawn, arg=least)
    assert notebook.page.locator(".hdbkit-live path.hdbkit-live-line-1").first.get_attribute("d").count("L")


def press(notebook: Notebook, name: str) -> None:
    notebook.page.locator(".hdbkit-panel").get_by_role("button", name=name, exact=True).first.click()


def in_progress(lab: Lab, context: Any, built: Target, name: str) -> Notebook:
    """A saved notebook with a run panel, whose run is measuring and has been seen."""
    cell = f"import hdbkit\nhdbkit.widgets.RunPanel(target={built.given!r}, load=hdbkit.Load(rampup_s=0))"
    lab.write(name, [cell])
    notebook = Notebook.open(lab, context, name)
    notebook.run_all()
    notebook.page.wait_for_selector(".hdbkit-alive")
    press(notebook, "Run")
    await_points(notebook, 2)
    notebook.save("was in progress")
    return notebook


def test_a_run_is_started_watched_stopped_and_stays_with_the_notebook(lab: Lab, context: Any, built: Target) -> None:
    name = copied(lab, "02_run.ipynb", target=built.given, virtual_users=1, rampup_s=0.0, duration_s=1.0)
    notebook = Notebook.open(lab, context, name)
    notebook.run_all()
    page = notebook.page
    page.wait_for_selector(".hdbkit-alive")
    page.get_by_text("report: ").last.wait_for()
    for label, value in (("Virtual users", "2"), ("Rampup (s)", "0")):
        page.locator(".hdbkit-panel").get_by_label(label).fill(value)
        page.keyboard.press("Tab")
    press(notebook, "Run")
    await_points(notebook, 3)
    page.locator(".hdbkit-state", has_text="measuring: ").wait_for()
    press(notebook, "Stop")
    page.locator(".hdbkit-alive .hdbkit-card").wait_for()
    shown = page.locator(".hdbkit-alive .hdbkit-card").inner_text()
    assert "NOPM, measured over" in shown
    notebook.save()
    assert (notebook.said, notebook.outside) == ([], [])
    page.close()
    lab.end_kernels()

    again = Notebook.open(lab, context, name)
    still = again.page.locator(".hdbkit-still")
    still.locator(".hdbkit-card").wait_for()
    assert shown.splitlines()[0] in still.inner_text()
    assert still.locator("img").evaluate("picture => picture.naturalWidth") > 100
    assert "model not found" not in again.page.locator("body").inner_text()
    assert (again.said, again.outside) == ([], [])


def test_a_run_outlives_its_kernel_and_is_attached_again(lab: Lab, context: Any, built: Target) -> None:
    lab.write("ui.ipynb", [f"import hdbkit\nhdbkit.ui({built.given!r})"])
    notebook = Notebook.open(lab, context, "ui.ipynb")
    notebook.run_all()
    tab = notebook.page.get_by_role("tab", name="Run", exact=True)
    tab.click()
    press(notebook, "Run")
    await_points(notebook, 2)
    notebook.command("notebook:restart-kernel")
    notebook.page.locator(".jp-Dialog .jp-mod-accept").click()
    notebook.page.wait_for_selector(".hdbkit-alive", state="detached")
    notebook.run_all()
    notebook.page.wait_for_selector(".hdbkit-alive")
    press(notebook, "Attach")
    await_points(notebook, 2)
    press(notebook, "Stop")
    notebook.page.locator(".hdbkit-alive .hdbkit-card").wait_for()
    assert notebook.outside == []


def test_a_page_that_is_loaded_again_shows_the_run_that_is_running(lab: Lab, context: Any, built: Target) -> None:
    notebook = in_progress(lab, context, built, "again.ipynb")
    before = time.monotonic()
    notebook.page.close()
    again = Notebook.open(lab, context, "again.ipynb")
    again.page.wait_for_selector(".hdbkit-alive")
    await_points(again, 2 + int(time.monotonic() - before) // 2)
    press(again, "Stop")
    again.page.locator(".hdbkit-alive .hdbkit-card").wait_for()
    assert (again.said, again.outside) == ([], [])


def test_a_notebook_that_is_closed_and_opened_again_stops_its_run(lab: Lab, context: Any, built: Target) -> None:
    notebook = in_progress(lab, context, built, "closed.ipynb")
    notebook.command("application:close")
    notebook.page.wait_for_selector(".jp-Notebook", state="detached")
    notebook.command("docmanager:open", path="closed.ipynb")
    notebook.page.wait_for_selector(".hdbkit-alive")
    await_points(notebook, 6)
    press(notebook, "Stop")
    notebook.page.locator(".hdbkit-alive .hdbkit-card").wait_for()
    assert (notebook.said, notebook.outside) == ([], [])
