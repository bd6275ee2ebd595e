"""The panel of a first result: what it shows before the click, while it works and afterwards; the default phases."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import hdbkit
from hdbkit.config import Load, SweepSpec, Target
from hdbkit.errors import InputError
from hdbkit.widgets import DemoPanel, RunPanel, Shared, SweepPanel
from tests.widgets.conftest import build_null, code_of, text_of, until

SWEEP = SweepSpec(
    name="speed", settings={"speed": ("1", "2")}, virtual_users=(1,), blocks=2, load=Load(rampup_s=0, duration_s=0.3)
)


@pytest.fixture
def built(null_target: Target) -> Target:
    """A null database with a schema, whose settings may be changed."""
    return build_null(null_target.with_(options={"latency_us": "1000"}, may_change_settings=True))


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sweep of the demo takes seconds, as on a private server."""
    monkeypatch.setattr("hdbkit.api.first_steps.sweep_of", lambda *_: SWEEP)
    monkeypatch.setattr("hdbkit.api.first_steps.default_load", lambda _: SWEEP.load)


@pytest.fixture
def panel(built: Target) -> Iterator[DemoPanel]:
    one = DemoPanel(target=built)
    yield one
    one.close()


def test_the_button_leads_to_a_result_and_a_target_for_the_other_panels(panel: DemoPanel, built: Target) -> None:
    assert "demo(" in code_of(panel) and "quick=True" in code_of(panel)
    assert not panel.go.disabled
    panel.go.click()
    result = panel.wait()
    assert result.failed == 0
    until(lambda: not panel.go.disabled)
    assert result.finding.answer.split(".")[0] in text_of(panel)
    assert (panel.shared.target, panel.shared.finished) == (result.plan.target, 1)


def test_a_target_that_was_chosen_stays(built: Target, null_target: Target) -> None:
    panel = DemoPanel(Shared(target=null_target), target=built)
    panel.start()
    panel.wait()
    assert panel.shared.target == null_target
    panel.close()


def test_where_no_server_can_be_started_that_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: object, kind: str | None = None) -> Target:
        raise InputError(f"hdbkit can start no server of kind {kind} on this machine")

    monkeypatch.setattr("hdbkit.api.Workspace.private", refuse)
    panel = DemoPanel()
    panel.start()
    with pytest.raises(InputError, match="can start no server"):
        panel.wait()
    assert "can start no server" in text_of(panel)
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
