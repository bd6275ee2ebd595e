"""The panels of a search and of a profile, on the null engine."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from hdbkit import api
from hdbkit.config import Load, Target
from hdbkit.errors import ExperimentFailed, InputError
from hdbkit.experiment.kinds.max_rate import MaxRatePlan
from hdbkit.widgets import MaxRatePanel, ProfilePanel
from tests.widgets.conftest import build_null, code_of, text_of, until


@pytest.fixture
def built(null_target: Target) -> Iterator[Target]:
    yield build_null(null_target.with_(options={"latency_us": "1000"}))
    for running in api.running_experiments():
        running.stop()


def test_a_search_is_a_process_of_its_own_that_is_stopped_and_resumed(built: Target) -> None:
    panel = MaxRatePanel(target=built, load=Load(rampup_s=0, duration_s=600, rate=4))
    panel.limit.value = "p50=1us"
    panel.start()
    until(lambda: "measuring" in text_of(panel))
    with pytest.raises(InputError, match="a search is in progress in this panel"):
        panel.start()
    panel.stop.click()
    with pytest.raises(InputError, match="has not found the rate yet"):
        panel.wait()
    assert "stopped: 0 of 1 runs done" in text_of(panel)
    assert (panel.go.disabled, panel.stop.disabled, panel.resume.layout.display) == (False, True, "")

    (folder,) = (api.attach_experiment().folder,)
    plan = (folder.path / "plan.json").read_text().replace('"duration_s": 600.0', '"duration_s": 0.5')
    folder.write_plan(MaxRatePlan.model_validate_json(plan))
    panel.resume.click()
    with pytest.raises(ExperimentFailed, match="does not hold even at 4 per second"):
        panel.wait()
    assert "beyond, " in panel.view.grid.value
    assert "p50=0.001ms does not hold" in text_of(panel)
    assert list(api.experiments()["experiment_id"]) == [folder.experiment_id]
    panel.close()


def test_a_limit_that_is_none_is_the_reason_why_the_button_cannot_be_pressed(built: Target) -> None:
    panel = MaxRatePanel(target=built)
    panel.limit.value = "fast"
    assert panel.go.disabled
    assert "fast" in panel.go.tooltip
    assert panel.go.tooltip in text_of(panel).replace("&#x27;", "'")
    panel.close()


def test_a_profile_is_run_at_each_count_and_is_that_of_the_call_that_is_shown(built: Target) -> None:
    panel = ProfilePanel(target=built, load=Load(rampup_s=0, duration_s=0.3))
    panel.name.value, panel.users.value, panel.blocks.value = "nightly", "1, 2", 1
    assert "hdbkit.profile('nightly', " in code_of(panel)
    assert "virtual_users=[1, 2], blocks=1" in code_of(panel)
    panel.go.click()
    done = panel.wait()
    assert done.runs["virtual_users"].tolist() in ([1, 2], [2, 1])
    assert done.answer in text_of(panel)
    assert ProfilePanel().attach().users.value == "1, 2"
    with pytest.raises(InputError, match="is the profile 'nightly', which this panel does not show"):
        MaxRatePanel().attach()
    panel.users.value = "few"
    assert panel.go.disabled
    panel.close()
