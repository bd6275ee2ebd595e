"""Clocks of load hosts: what exchanges tell of them, and how times are converted."""

from __future__ import annotations

import random

import numpy as np
import pytest

from hdbkit.results.host_clock import ClockEstimate, Exchange, HostClock, estimate_clock, reliable
from hdbkit.results.spool import record_type

SECOND = 1_000_000_000


def exchanges(ahead_ns: int, count: int, seed: int) -> list[Exchange]:
    """Exchanges with a host whose clock is ahead, over ways of 0.1 ms, and sometimes of milliseconds."""
    draw = random.Random(seed)
    found, now = [], 5 * SECOND
    for _ in range(count):
        there, back = (100_000 + round(draw.expovariate(1 / (20_000 if draw.random() < 0.7 else 2e6))) for _ in "ab")
        received = now + there + ahead_ns
        found.append(Exchange(now, received, received + 50_000, now + there + 50_000 + back))
        now += 1_000_000
    return found


@pytest.mark.parametrize("ahead_ns", [0, -3 * SECOND, 7200 * SECOND + 123_456])
def test_the_offset_is_found_within_its_uncertainty(ahead_ns: int) -> None:
    found = [estimate_clock(exchanges(ahead_ns, 24, seed)) for seed in range(200)]
    assert all(abs(one.offset_ns - ahead_ns) <= one.uncertainty_ns for one in found)
    assert max(one.uncertainty_ns for one in found) < 500_000


def test_the_time_on_the_host_is_no_part_of_the_way() -> None:
    assert Exchange(1000, 5000, 905_000, 902_000).way_ns == 1000
    assert Exchange(1000, 5000, 905_000, 902_000).offset_ns == 3500


def test_a_drift_is_followed_between_estimates() -> None:
    """A clock that is 40 ppm fast is 4 ms further ahead after 100 s."""
    clock = HostClock((ClockEstimate(0, 1e6, 1e5), ClockEstimate(100 * SECOND, 5e6, 1e5)))
    assert clock.drift_ppm == pytest.approx(40)
    assert clock.one_here(50 * SECOND) == 50 * SECOND - 3_000_000
    assert clock.one_here(200 * SECOND) == 200 * SECOND - 5_000_000
    assert clock.uncertainty_ns == pytest.approx(1e5)


def test_a_step_between_estimates_is_uncertain() -> None:
    steady = [ClockEstimate(i * SECOND, 0.0, 1e4) for i in range(3)]
    stepped = HostClock((*steady, ClockEstimate(3 * SECOND, 1e6, 1e4), ClockEstimate(4 * SECOND, 1e6, 1e4)))
    assert stepped.uncertainty_ns > 3e5


def test_estimates_that_a_busy_host_spoilt_are_left_out() -> None:
    good, spoilt = ClockEstimate(0, 0.0, 3e5), ClockEstimate(SECOND, 9e6, 1e7)
    assert reliable([spoilt, good]) == (good,)
    assert reliable([spoilt]) == (spoilt,)


def test_a_record_keeps_its_durations() -> None:
    records = np.zeros(1, record_type({}))
    records["scheduled_ns"], records["start_ns"], records["end_ns"] = 10 * SECOND, 11 * SECOND, 12 * SECOND
    moved = HostClock((ClockEstimate(0, 0.0, 0.0), ClockEstimate(20 * SECOND, 2e9, 0.0))).records_here(records)
    assert moved["end_ns"][0] == 12 * SECOND - 1_200_000_000
    assert moved["end_ns"][0] - moved["start_ns"][0] == SECOND
    assert records["end_ns"][0] == 12 * SECOND


def test_without_estimates_the_clocks_are_the_same() -> None:
    assert HostClock().one_here(17) == 17
    assert HostClock().there(17) == 17
