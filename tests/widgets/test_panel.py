"""Common behaviour of panels: errors as sentences, work in the background, one timer thread."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator

import ipywidgets
import pytest

import hdbkit
from hdbkit import widgets
from hdbkit.errors import InputError
from hdbkit.widgets import Panel
from hdbkit.widgets.parts.layout import button
from hdbkit.widgets.parts.ticker import MIN_PERIOD_S, every
from tests.widgets.conftest import text_of, until


@pytest.fixture
def panel() -> Iterator[Panel]:
    made = Panel()
    yield made
    made.close()


def test_an_error_is_one_sentence_and_its_traceback_opens_on_demand(panel: Panel) -> None:
    panel.guarded(lambda: _raise(InputError("no <host> was given")))()
    sentence, _, rest = text_of(panel).partition("<details>")
    assert "<p>no &lt;host&gt; was given</p>" in sentence
    assert "Traceback" not in sentence
    assert "Traceback" in rest.partition("</details>")[0]


def test_an_error_of_a_button_takes_the_focus_and_one_of_a_field_does_not(
    panel: Panel, monkeypatch: pytest.MonkeyPatch
) -> None:
    focused: list[str] = []
    monkeypatch.setattr(panel._error, "focus", lambda: focused.append(panel._error.value))
    field = ipywidgets.Text()
    callback = panel.guarded(lambda: _raise(InputError("no host was given")))
    field.observe(callback, "value")
    field.value = "x"
    assert "no host was given" in panel._error.value
    assert not focused
    button("Run", callback, hint="start a run").click()
    assert len(focused) == 1
    assert "no host was given" in focused[0]


def test_the_next_action_takes_the_error_away(panel: Panel) -> None:
    panel.fail(InputError("no host was given"))
    panel.guarded(lambda: None)()
    assert "no host was given" not in text_of(panel)


def test_an_error_in_the_background_reaches_the_panel(panel: Panel) -> None:
    panel.in_background(lambda: _raise(InputError("gone")))
    until(lambda: "gone" in text_of(panel))


def test_background_work_does_not_hold_the_caller(panel: Panel) -> None:
    go_on, done = threading.Event(), threading.Event()
    panel.in_background(lambda: done.set() if go_on.wait(180) else None)
    assert not done.is_set()
    go_on.set()
    assert done.wait(180)


def test_a_ticker_that_raises_ends_itself_and_no_other() -> None:
    reported: list[BaseException] = []
    ticks = threading.Semaphore(0)
    bad = every(0, lambda: _raise(ValueError("bad")), reported.append)
    good = every(0, ticks.release)
    try:
        assert all(ticks.acquire(timeout=180) for _ in range(3))
        assert [str(error) for error in reported] == ["bad"]
        assert (bad.alive, good.alive) == (False, True)
    finally:
        good.cancel()


def test_a_ticker_whose_action_says_that_it_is_over_is_not_called_again() -> None:
    calls: list[int] = []
    ticker = every(0, lambda: calls.append(1) or len(calls) == 2)
    until(lambda: not ticker.alive)
    assert len(calls) == 2


def test_nothing_is_shown_after_a_ticker_was_cancelled() -> None:
    called, go, shown = threading.Event(), threading.Event(), []

    def slow() -> None:
        called.set()
        go.wait(180)
        shown.append(1)

    ticker = every(0, slow)
    assert called.wait(180)
    threading.Timer(0.05, go.set).start()
    ticker.cancel()
    assert shown == [1]


def test_all_tickers_share_one_thread() -> None:
    names, enough = set(), threading.Semaphore(0)

    def note() -> None:
        names.add(threading.current_thread().ident)
        enough.release()

    tickers = [every(0, note) for _ in range(3)]
    try:
        assert all(enough.acquire(timeout=180) for _ in range(6))
        assert len(names) == 1
    finally:
        for ticker in tickers:
            ticker.cancel()


def test_nothing_ticks_more_than_twice_a_second() -> None:
    ticker = every(0.001, lambda: None)
    ticker.cancel()
    assert ticker.period_s == MIN_PERIOD_S == 0.5


def test_a_closed_panel_does_not_tick(panel: Panel) -> None:
    ticker = panel.every(1, lambda: None)
    panel.close()
    assert not ticker.alive


def test_every_panel_and_the_whole_is_reached_from_the_package() -> None:
    assert hdbkit.widgets is widgets
    assert [name for name in widgets.__all__ if not isinstance(getattr(widgets, name), type)] == []
    assert callable(hdbkit.ui)


@pytest.mark.parametrize("name", ["ui", "widgets"])
def test_without_their_packages_the_panels_say_what_to_install(name: str) -> None:
    code = f"import sys; sys.modules['anywidget'] = None; import hdbkit; hdbkit.{name}"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ended.stderr.splitlines()[-1].endswith("run: pip install 'hdbkit[lab]'")


def _raise(error: Exception) -> None:
    raise error
