"""The quickstart panel: what it shows before the click, while it works and afterwards; and the default phases."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from threading import Event
from types import SimpleNamespace

import pytest

import hdbkit
from hdbkit.api import Quickstart, StepState
from hdbkit.api.first_result import OnStep
from hdbkit.config import Load, SweepSpec, Target
from hdbkit.errors import InputError
from hdbkit.text import duration_text
from hdbkit.widgets import QuickstartPanel, RunPanel, Shared, SweepPanel
from hdbkit.widgets.parts.layout import FileLink
from tests.widgets.conftest import build_null, code_of, text_of, until

SHORT = Load(virtual_users=1, rampup_s=0, duration_s=0.4)
LONG = Load(virtual_users=1, rampup_s=0, duration_s=600)
SWEEP = SweepSpec(
    name="speed", settings={"speed": ("1", "2")}, virtual_users=(1,), blocks=2, load=Load(rampup_s=0, duration_s=0.3)
)


@pytest.fixture
def built(null_target: Target) -> Target:
    """A null database with a schema, whose settings may be changed."""
    return build_null(null_target.with_(options={"latency_us": "1000"}, may_change_settings=True))


@pytest.fixture
def made(built: Target) -> Iterator[QuickstartPanel]:
    panel = QuickstartPanel(target=built, load=SHORT, spec=SWEEP)
    yield panel
    panel.close()


def test_the_expected_time_is_shown_before_the_click(made: QuickstartPanel) -> None:
    expected = duration_text(made._planned().expected_s)
    assert made.go.description == f"Start (about {expected})"
    assert text_of(made).count('class="hdbkit-waiting"') == 5
    assert made.stop.layout.display == "none"
    assert "hdbkit.quickstart(" in code_of(made)


def test_the_button_leads_to_a_report_and_a_target_for_the_other_panels(
    made: QuickstartPanel, built: Target, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    offered: list[bytes] = []
    monkeypatch.setattr(FileLink, "offer", lambda *given, **_: offered.append(given[2]))
    report = tmp_path / "report.html"
    report.write_bytes(b"the report")
    swept = SimpleNamespace(experiment_id="s1", answer="twice as fast", _repr_html_=lambda: "<p>twice as fast</p>")
    go_on = Event()

    def run(of: Quickstart, watch: OnStep) -> SimpleNamespace:
        of.steps = [replace(of.steps[0], state=StepState.DONE, detail="<b>", ended_s=1.0), *of.steps[1:]]
        watch(of.steps[0])
        assert go_on.wait(60)
        return SimpleNamespace(run=SimpleNamespace(run_id="r1"), sweep=swept, report=report)

    monkeypatch.setattr(Quickstart, "run", run)
    made.go.click()
    assert made.go.disabled and made.stop.layout.display == ""
    until(lambda: "<small>&lt;b&gt;</small>" in text_of(made))
    assert made.shared.target is None, "asking its server would disturb the run"
    with pytest.raises(InputError, match="in progress"):
        made.start()
    go_on.set()
    until(lambda: not made.go.disabled)
    assert "twice as fast" in text_of(made) and "done: run r1 and sweep s1" in text_of(made)
    assert offered == [b"the report"]
    assert (made.shared.target, made.shared.finished) == (built, 1)


def test_stop_ends_the_run_and_is_no_error_and_a_chosen_target_stays(built: Target, null_target: Target) -> None:
    panel = QuickstartPanel(Shared(target=null_target), target=built, load=LONG, spec=SWEEP)
    panel.go.click()
    until(lambda: "measuring" in text_of(panel))
    panel.stop.click()
    until(lambda: not panel.go.disabled)
    assert "stopped; what was measured is kept" in text_of(panel)
    assert "alert" not in text_of(panel)
    assert panel.shared.target == null_target
    panel.close()


def test_where_no_server_can_be_started_that_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hdbkit.api.first_result.find_binaries", list)
    panel = QuickstartPanel()
    assert "can start no server on this machine" in text_of(panel)
    panel.close()


def test_phases_are_seconds_on_a_private_server_until_somebody_changes_them(null_target: Target) -> None:
    private, shared = null_target.with_(server_folder=Path("folder")), Shared(target=null_target)
    run, sweep = RunPanel(shared), SweepPanel(shared)

    def phases() -> list[tuple[float, float]]:
        load = run.form.load()
        return [(load.rampup_s, load.duration_s), (sweep.form.rampup.value, sweep.form.duration.value)]

    assert phases() == [(120, 300), (10, 60)]
    shared.target = private
    assert phases() == [(2, 20), (2, 20)]
    assert "rampup_s=2.0, duration_s=20.0)" in code_of(run)
    run.form.fields["duration_s"].value = sweep.form.duration.value = 30
    shared.target = null_target
    assert phases() == [(2, 30), (2, 30)]
    given = RunPanel(load=hdbkit.Load(duration_s=7))
    given.shared.target = private
    assert given.form.load().duration_s == 7
