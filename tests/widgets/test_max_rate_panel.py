"""The panel of the search for the highest rate, on the null engine."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from hdbkit import api
from hdbkit.config import Load, Target
from hdbkit.errors import InputError, SearchFailed
from hdbkit.widgets import MaxRatePanel
from tests.widgets.conftest import build_null, code_of, text_of, until


@pytest.fixture
def panel(null_target: Target) -> Iterator[MaxRatePanel]:
    target = build_null(null_target.with_(options={"latency_us": "1000"}))
    made = MaxRatePanel(target=target, load=Load(rampup_s=0, duration_s=0.5, rate=4))
    yield made
    made.close()
    for running in api.running_runs():
        running.stop(at_once=True)


def test_a_search_that_was_stopped_continues_with_its_label(panel: MaxRatePanel) -> None:
    panel.limit.value = "p50=1us"
    panel.form.fields["duration_s"].value = 600
    panel.start()
    until(lambda: "measuring" in text_of(panel))
    with pytest.raises(InputError, match="a search is in progress in this panel"):
        panel.start()
    panel.stop.click()
    with pytest.raises(InputError, match="with the same label continues it"):
        panel.wait()
    label = panel.form.label.value
    assert label.startswith("find-max-")
    assert f"label={label!r}" in code_of(panel)
    assert "with the same label continues it" in text_of(panel)
    assert (panel.search.disabled, panel.stop.disabled) == (False, True)
    panel.form.fields["duration_s"].value = 0.5
    for kept in ("", " (kept)"):  # no rate keeps 1 us
        panel.start()
        with pytest.raises(SearchFailed, match="does not hold even at 4 per second"):
            panel.wait()
        assert "p50=0.001ms does not hold" in text_of(panel)
        assert "search: 4 per second, p50 " in text_of(panel)
        assert text_of(panel).count(f"beyond the limit{kept}</li>") == 1


def test_a_limit_that_is_none_is_one_sentence(panel: MaxRatePanel) -> None:
    panel.limit.value = "fast"
    panel.start()
    with pytest.raises(InputError) as refused:
        panel.wait()
    assert "fast" in str(refused.value)
    assert str(refused.value) in text_of(panel).replace("&#x27;", "'")
