"""The panel of the search for the highest rate, on the null engine."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from hdbkit import api
from hdbkit.config import Load, Target
from hdbkit.errors import InputError, SearchFailed
from hdbkit.results.experiment_folder import ExperimentFolder, experiment_folders
from hdbkit.results.folder import run_folders
from hdbkit.results.manifest import Status
from hdbkit.widgets import MaxRatePanel
from tests.widgets.conftest import build_null, text_of, until


@pytest.fixture
def panel(null_target: Target) -> Iterator[MaxRatePanel]:
    target = build_null(null_target.with_(options={"latency_us": "1000"}))
    made = MaxRatePanel(target=target, load=Load(rampup_s=0, duration_s=0.5, rate=4))
    yield made
    made.close()
    for running in api.running_runs():
        running.stop(at_once=True)


def searches(panel: MaxRatePanel) -> list[ExperimentFolder]:
    return list(experiment_folders(panel.workspace.results))


def test_a_search_that_was_stopped_continues_while_nothing_is_changed(panel: MaxRatePanel) -> None:
    panel.limit.value = "p50=1us"
    panel.form.fields["duration_s"].value = 600
    for _ in range(2):
        panel.start()
        until(lambda: "measuring" in text_of(panel))
        with pytest.raises(InputError, match="a search is in progress in this panel"):
            panel.start()
        panel.stop.click()
        with pytest.raises(InputError, match="the search was stopped; Search continues it"):
            panel.wait()
        assert "the search was stopped; Search continues it" in text_of(panel)
        assert (panel.search.disabled, panel.stop.disabled) == (False, True)
        assert len(searches(panel)) == 1
    panel.form.fields["duration_s"].value = 0.5
    for number in (2, 3):  # another load is another search; no rate keeps 1 us, and one that failed has ended
        panel.start()
        with pytest.raises(SearchFailed, match="does not hold even at 4 per second"):
            panel.wait()
        assert "p50=0.001ms does not hold" in text_of(panel)
        assert "search: 4 per second, p50 " in text_of(panel)
        assert text_of(panel).count("beyond the limit</li>") == 1
        assert len(searches(panel)) == number


def test_a_search_that_continues_measures_no_run_again(panel: MaxRatePanel) -> None:
    panel.limit.value = "p50=10s"
    for run in ("search: 4 per second", "search: 8 per second"):
        panel.start()
        until(lambda run=run: run in text_of(panel))
        panel.stop.click()
        with pytest.raises(InputError, match="the search was stopped"):
            panel.wait()
        assert text_of(panel).count("search: 4 per second") == 1
    assert len(searches(panel)) == 1
    done = (one.read() for one in run_folders(panel.workspace.results))
    rates = [one.plan.load.rate for one in done if one.status is Status.DONE]
    assert rates.count(4) == 1


def test_a_limit_that_is_none_is_one_sentence(panel: MaxRatePanel) -> None:
    panel.limit.value = "fast"
    panel.start()
    with pytest.raises(InputError) as refused:
        panel.wait()
    assert "fast" in str(refused.value)
    assert str(refused.value) in text_of(panel).replace("&#x27;", "'")
