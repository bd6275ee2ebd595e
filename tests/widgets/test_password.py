"""A typed password stays in the kernel's memory: not in traits, saved state, notebook or repr."""

from __future__ import annotations

import json
import os

import ipywidgets
import pytest
from ipywidgets.embed import dependency_state

from hdbkit.config import Target
from hdbkit.widgets import PasswordField, TargetPanel
from tests.widgets.conftest import text_of, typed, until

TYPED = "tr0ub4dor-horse-staple"


def test_what_is_typed_is_a_secret_of_the_kernel() -> None:
    field = PasswordField()
    assert field.get() is None
    typed(field, TYPED)
    kept = field.get()
    assert kept is not None
    assert kept.get_secret_value() == TYPED
    assert TYPED not in repr(field) + repr(kept)


def test_the_field_says_that_it_keeps_one_and_can_forget_it() -> None:
    field = PasswordField()
    typed(field, TYPED)
    assert (field.kept, field.hint) == (True, "kept in memory")
    typed(field, "")
    assert (field.kept, field.get()) == (False, None)


def test_no_saved_state_of_any_widget_holds_it() -> None:
    panel = _panel_with_password()
    states = [dependency_state([panel.root]), ipywidgets.Widget.get_manager_state()]
    assert [TYPED in json.dumps(state, default=str) for state in states] == [False, False]


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://me:{}@db1/tpcc",
        "postgresql://me@db1/tpcc?password={}",
        "postgresql://me:{}",
        "me:{}@db1/tpcc",
        "postgresql://me@db1/tpcc?{}",
    ],
)
def test_a_url_with_a_password_is_refused_and_does_not_stay_in_its_field(url: str) -> None:
    panel = TargetPanel()
    panel.given.value = url.format(TYPED)
    assert panel.given.value == ""
    assert "alert" in text_of(panel)
    assert TYPED not in json.dumps(dependency_state([panel.root]), default=str)


def test_the_saved_state_of_the_usual_password_widget_would_hold_it() -> None:
    usual = ipywidgets.Password(value=TYPED)
    try:
        assert TYPED in json.dumps(dependency_state([usual]), default=str)
    finally:
        usual.close()


def test_nothing_that_the_panel_shows_holds_it() -> None:
    panel = _panel_with_password()
    panel.fail(ValueError("something else"))
    assert TYPED not in text_of(panel)


def _panel_with_password() -> TargetPanel:
    panel = TargetPanel()
    panel.given.value = "postgresql://somebody@127.0.0.1:1/nowhere"
    typed(panel.password, TYPED)
    target = panel.shared.target
    assert isinstance(target, Target)
    assert target.secret() == TYPED
    until(lambda: "memory" in panel.password_source.value)
    assert os.environ.get("HDBKIT_PASSWORD") is None
    return panel
