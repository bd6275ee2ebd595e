"""The schedule of a virtual user: when its next operation is due."""

from __future__ import annotations

from array import array
from typing import Any

import numpy as np
import pytest

from hdbkit.config import Load
from hdbkit.contracts import Prepared, Waits
from hdbkit.execution.control import Field
from hdbkit.execution.pacing import Pacer

OVER = memoryview(array("q", [0] * len(Field)))
"""A control page whose stop time has passed, so that nothing sleeps."""
FIRST, SECOND = (Prepared(operation, print, None, b"") for operation in range(2))
WAITS = [Waits(keying_s=18, thinking_s=12), Waits(keying_s=2)]


def pacer(seed: int = 1, **load: Any) -> Pacer:
    return Pacer(WAITS, Load(keying_and_thinking=True, **load), seed, OVER, start_ns=1000)


def thinking_s(of: Pacer, draws: int) -> list[float]:
    """The pauses between the ends of operations and the keying of the next."""
    found = []
    for _ in range(draws):
        of.done(FIRST, end_ns=0)
        found.append(of.due_ns(SECOND) / 1e9 - 2)
    return found


def test_the_first_operation_is_keyed_from_the_start_on() -> None:
    one = pacer()
    assert (one.due_ns(FIRST), one.due_ns(SECOND)) == (1000 + 18 * 10**9, 1000 + 2 * 10**9)
    assert one.wait(SECOND) == one.due_ns(SECOND)


def test_an_operation_is_due_after_thinking_about_the_last_and_keying_it() -> None:
    one = pacer(thinking_scale=0)
    one.done(FIRST, end_ns=5000)
    assert one.due_ns(SECOND) == 5000 + 2 * 10**9


def test_thinking_times_are_exponential_up_to_ten_times_their_mean() -> None:
    """TPC-C 5.2.5.4; the mean of the limited distribution is 1 - exp(-10) of the mean."""
    drawn = np.array(thinking_s(pacer(), 40_000))
    assert drawn.mean() == pytest.approx(12, rel=0.02)
    assert np.quantile(drawn, 0.5) == pytest.approx(12 * np.log(2), rel=0.03)
    assert drawn.min() >= 0
    assert drawn.max() == pytest.approx(120), "some of 40,000 reach the limit: exp(-10) is 1 in 22,026"


def test_thinking_times_follow_from_the_seed_of_the_user() -> None:
    assert thinking_s(pacer(seed=7), 20) == thinking_s(pacer(seed=7), 20)
    assert thinking_s(pacer(seed=7), 20) != thinking_s(pacer(seed=8), 20)


def test_keying_and_thinking_are_scaled_apart() -> None:
    one = pacer(keying_scale=0.5)
    assert one.due_ns(FIRST) == 1000 + 9 * 10**9
    half, whole = thinking_s(pacer(thinking_scale=0.5), 50), thinking_s(pacer(), 50)
    assert half == pytest.approx([time_s / 2 for time_s in whole])


def test_an_operation_without_a_thinking_time_is_followed_at_once() -> None:
    one = pacer()
    one.done(SECOND, end_ns=7000)
    assert one.due_ns(SECOND) == 7000 + 2 * 10**9
