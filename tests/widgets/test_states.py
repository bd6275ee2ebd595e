"""What a panel shows of its state: marks, progress with the time left, what is missing, and the end of long work."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from hdbkit.api import Tick
from hdbkit.config import Load, Target
from hdbkit.results.manifest import Status
from hdbkit.widgets import RunPanel, RunsPanel, Shared
from hdbkit.widgets.parts.base import STATIC, Panel, State
from hdbkit.widgets.parts.layout import _ICONS
from hdbkit.widgets.parts.run_view import Seen, share_left
from tests.unit.synthetic import with_result, write_run


def test_a_state_is_marked_beside_its_text() -> None:
    panel = Panel()
    panel.say("building ...", State.BUSY)
    assert panel._state.value == ('<span role="status" title="building ..." data-state="busy">building ...</span>')
    panel.say("6 runs")
    assert "data-state" not in panel._state.value
    css = (STATIC / "panel.css").read_text()
    assert all(f'[data-state="{one}"]' in css for one in State if one)


def test_every_icon_has_a_shape() -> None:
    css = (STATIC / "panel.css").read_text()
    assert [one for one in _ICONS.values() if f".hdbkit-icon-{one} {{ --hdbkit-icon: url(" not in css] == []


@pytest.mark.parametrize(
    ("status", "elapsed_s", "shown"),
    [
        (Status.MEASURING, 15.0, 'value="0.500"'),
        (Status.MEASURING, 15.0, "about 15 s left"),
        (Status.MEASURING, 31.0, "files and checks follow"),
        (Status.FINISHING, 31.0, '<progress max="1" aria-label'),
    ],
)
def test_progress_has_the_time_left_of_the_load(ticked: Tick, status: Status, elapsed_s: float, shown: str) -> None:
    load = Load(rampup_s=10, duration_s=20)
    assert shown in Seen("", *share_left(replace(ticked, status=status, elapsed_s=elapsed_s), load)).bar


@pytest.fixture
def ticked() -> Tick:
    return Tick(**{**dict.fromkeys(one for one in Tick.__dataclass_fields__), "status": Status.MEASURING})  # type: ignore[arg-type]


def test_a_panel_without_a_target_states_where_to_choose_one(results: Any) -> None:
    panel = RunPanel(shared := Shared())
    assert "Target panel" in panel._state.value
    assert panel.go.disabled
    shared.target = Target.parse("nulldb:///a")
    assert panel._state.value == ""
    assert not panel.go.disabled


def test_an_empty_list_states_how_to_start_a_run(results: Any) -> None:
    panel = RunsPanel()
    assert panel.empty.layout.display != "none"
    with_result(write_run(results / "a-run", duration_s=5))
    panel.refresh()
    assert panel.empty.layout.display == "none"
