"""All panels together: one target for all, and any running run or sweep can be attached."""

from __future__ import annotations

from collections.abc import Iterator

import ipywidgets
import pytest

import hdbkit
from hdbkit import api
from hdbkit.config import Load, SweepSpec, Target
from hdbkit.widgets import Panel
from hdbkit.widgets.panels.ui import Workbench
from tests.widgets.conftest import build_null, text_of, until

LONG = Load(virtual_users=2, rampup_s=0, duration_s=600)


@pytest.fixture(autouse=True)
def nothing_goes_on() -> Iterator[None]:
    """A test that fails leaves neither sweep nor run behind."""
    yield
    for sweep in api.running_experiments():
        sweep.stop()
    for run in api.running_runs():
        run.stop(at_once=True)


@pytest.fixture
def bench() -> Iterator[Workbench]:
    made = hdbkit.ui()
    yield made
    made.close()


@pytest.fixture
def built(null_target: Target) -> Target:
    """A null database with a schema, whose settings may be changed."""
    return build_null(null_target.with_(options={"latency_us": "1000"}, may_change_settings=True))


def lines(bench: Workbench) -> list[str]:
    """What is in progress."""
    bench.look()
    return list(bench.choose.options)


def attach(bench: Workbench, name: str) -> None:
    """Choose it, and press the button."""
    bench.choose.value = name
    bench.attach.click()


def open_tab(bench: Workbench) -> Panel:
    return bench.panels[bench.tabs.selected_index]


def test_the_panels_are_tabs_and_share_one_target(bench: Workbench, null_target: Target) -> None:
    assert list(bench.tabs.titles) == [
        "Target",
        "Schema",
        "Run",
        "Highest rate",
        "Profile",
        "Sweep",
        "Compare",
        "Runs",
    ]
    bench.target.given.value = null_target.url
    assert [panel.shared.target for panel in bench.panels] == [null_target] * 8


def test_it_can_begin_with_a_target(null_target: Target) -> None:
    bench = hdbkit.ui(null_target.url)
    try:
        assert bench.shared.target == null_target
        assert bench.target.database.value == null_target.database
    finally:
        bench.close()


def begun(run: api.Running) -> None:
    """Wait for the start: a run that is stopped before it has failed."""
    until(lambda: run.status.value != "starting")


def test_a_run_in_progress_is_listed_and_attached_until_it_is_removed(bench: Workbench, built: Target) -> None:
    """Only the newest workbench looks for runs; the panels of the one before continue."""
    run = api.start(built, load=LONG)
    until(lambda: any(run.run_id in line for line in lines(bench)))
    attach(bench, run.run_id)
    assert open_tab(bench) is bench.run
    assert bench.shared.run_id == run.run_id

    newest = hdbkit.ui()
    assert not any(ticker.alive for ticker in bench._tickers)
    assert any(ticker.alive for ticker in newest._tickers)
    until(lambda: any(run.run_id in line for line in lines(newest)))
    newest.rest()  # its list stays as it is
    begun(run)
    run.stop(at_once=True)
    result = bench.run.wait()
    assert result.run_id == run.run_id
    assert lines(bench) == []

    result.remove()
    assert "alert" not in text_of(newest)
    attach(newest, run.run_id)
    assert f"there is no run &#x27;{run.run_id}&#x27;" in text_of(newest).partition("alert")[2]
    newest.close()


def test_a_sweep_that_is_running_is_listed_and_attached(bench: Workbench, built: Target) -> None:
    load = Load(rampup_s=0, duration_s=600)
    spec = SweepSpec(name="speed", settings={"speed": ("1", "2")}, virtual_users=(2,), blocks=2, load=load)
    sweep = api.start_sweep(built, spec)
    until(lambda: any(sweep.experiment_id in line for line in lines(bench)))
    attach(bench, sweep.experiment_id)
    assert open_tab(bench) is bench.sweep
    until(api.running_runs)
    sweep.stop()
    sweep.wait()
    assert not any(sweep.experiment_id in line for line in lines(bench))


def test_what_a_panel_keeps_for_the_notebook_is_kept_by_the_whole(bench: Workbench) -> None:
    assert {id(panel.slot) for panel in bench.panels} == {id(bench.slot)}
    assert isinstance(bench.slot.root, ipywidgets.VBox)
