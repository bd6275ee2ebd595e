"""The steps of a load: how they are written, and which users are active."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from hdbkit.config import Load, read_params
from hdbkit.config.steps import RateStep, Steps, active_s
from hdbkit.errors import ConfigErrors


def test_a_step_is_a_phrase() -> None:
    assert RateStep.parse("60 s at 100/s") == RateStep("60 s at 100/s", 60, 100, 100, is_rate=True)
    assert RateStep.parse(" 1.5s  FROM 2 to 8 users ") == RateStep("1.5s from 2 to 8 users", 1.5, 2, 8, is_rate=False)
    assert RateStep.parse("9 s sine 10 to 30 /s every 3 s").period_s == 3
    assert RateStep.parse("60 s at 1 user").last == 1


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("5 s at 0 users; 5 s from 0 to 0 users", "no step has an active user"),
        ("", "it has no step"),
        ("100/s for 60 s", "is not a step"),
        ("60 s at 100", "is not a step"),
        ("60 s at 100 to 200/s", "is not a step"),
        ("60 s from 100/s", "is not a step"),
        ("60 s sine 100 to 200/s", "needs 'every N s'"),
        ("60 s at 100/s every 5 s", "needs 'every N s'"),
        ("60 s at 0/s", "above 0"),
        ("0 s at 5/s", "above 0"),
        ("60 s at 2.5 users", "whole"),
        ("60 s at 5/s; 60 s at 5 users", "all steps must be rates"),
        ("3600 s sine 1 to 2/s every 1 s", "at most 1000 periods"),
    ],
)
def test_what_is_no_step_is_refused(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Steps.parse(text)


def test_steps_decide_the_length_of_the_window_and_the_number_of_users() -> None:
    load = Load(steps=["60 s at 4 users", "30 s from 4 to 16 users"])
    assert (load.duration_s, load.virtual_users, str(load.steps)) == (
        90,
        16,
        "60 s at 4 users; 30 s from 4 to 16 users",
    )
    assert not load.paced
    assert Load(steps="60 s at 100/s", virtual_users=8).paced


def test_a_sine_begins_at_its_first_level_and_reaches_the_last_in_half_a_period() -> None:
    pieces = [*RateStep.parse("8 s sine 10 to 30/s every 8 s").pieces]
    assert len(pieces) == 32
    assert (pieces[0].first, pieces[8].first, pieces[16].first) == pytest.approx((10, 20, 30))
    assert sum(one.duration_s for one in pieces) == pytest.approx(8)
    assert Steps.parse("8 s sine 10 to 30/s every 8 s").mean_level == pytest.approx(20)


def test_users_are_active_while_the_level_has_them() -> None:
    """Ramp-up of 1 s with 1 user; 2 s at 1, 4 s from 1 to 3, 2 s at 2: user 1 joins at 1.5, user 2 at 2.5."""
    pieces = Steps.parse("2 s at 1 user; 4 s from 1 to 3 users; 2 s at 2 users").pieces(before_s=1)
    assert active_s(pieces, 0) == [(0, math.inf)]
    assert active_s(pieces, 1) == [(4, math.inf)]
    assert active_s(pieces, 2) == [(6, 7)]
    assert active_s(pieces, 3) == []


def test_steps_of_a_file_may_be_a_list(tmp_path: Path) -> None:
    path = tmp_path / "load.yaml"
    path.write_text("virtual_users: 4\nsteps:\n  - 60 s at 100/s\n  - 5 s at 1000/s\n")
    load = read_params(path, Load)
    assert (str(load.steps), load.duration_s, load.virtual_users) == ("60 s at 100/s; 5 s at 1000/s", 65, 4)
    path.write_text("steps: [60 s at 100]\n")
    with pytest.raises(ConfigErrors, match=r"line 1 .*'60 s at 100' is not a step"):
        read_params(path, Load)
