"""Arrivals: when the operations of an open loop are due."""

from __future__ import annotations

from itertools import islice

import numpy as np
import pytest
import scipy

from hdbkit.arrivals import due_us, operations_per_s
from hdbkit.config import Load
from hdbkit.errors import ConfigErrors, InputError


def arrivals(index: int, rate_per_s: float, blocks: int = 1, **load: object) -> np.ndarray:
    return np.concatenate([*islice(due_us(Load(rate=rate_per_s, **load), rate_per_s, index), blocks)])


def test_uniform_arrivals_of_all_users_are_at_equal_distances() -> None:
    both = [arrivals(index, 500, virtual_users=2, arrivals="uniform") for index in range(2)]
    assert np.sort(np.concatenate(both)).tolist() == [2000 * at for at in range(2000)]


def test_poisson_arrivals_have_the_rate_of_a_user_and_exponential_gaps() -> None:
    gaps_us = np.diff(arrivals(1, 400, blocks=20, virtual_users=4))
    assert gaps_us.mean() == pytest.approx(10_000, rel=0.03), "100 per second for each of 4 users"
    assert scipy.stats.kstest(gaps_us, "expon", args=(0, 10_000)).pvalue > 0.001
    assert abs(np.corrcoef(gaps_us[1:], gaps_us[:-1])[0, 1]) < 0.03


def test_arrivals_follow_from_seed_and_user() -> None:
    first = arrivals(0, 100, virtual_users=2)
    assert (first == arrivals(0, 100, virtual_users=2)).all()
    assert (first != arrivals(1, 100, virtual_users=2)).all()
    assert (first != arrivals(0, 100, virtual_users=2, seed=2)).all()


def test_the_sessions_of_all_users_share_the_arrivals_and_start_with_their_user() -> None:
    load = Load(virtual_users=2, sessions_per_user=2, arrivals="uniform", start_delay_ms=10, rate=1000)
    first = [next(due_us(load, 1000, index))[:2].tolist() for index in range(4)]
    assert first == [[0, 4000], [1000, 5000], [10_000, 14_000], [11_000, 15_000]]


def test_a_user_that_starts_later_misses_the_arrivals_before() -> None:
    at_once, later = (arrivals(3, 100, virtual_users=4, start_delay_ms=delay) for delay in (0, 250))
    assert at_once[at_once >= 750_000].tolist() == later.tolist()


def test_uniform_arrivals_follow_a_step_and_a_ramp() -> None:
    """Ramp-up: 1 s at 10/s. Steps: 2 s at 10/s, then 4 s from 10 to 30/s."""
    load = Load(steps="2 s at 10/s; 4 s from 10 to 30/s", rampup_s=1, arrivals="uniform")
    mean_per_s = operations_per_s(load, {}, {})
    assert mean_per_s == pytest.approx((2 * 10 + 4 * 20) / 6)
    times_s = next(due_us(load, mean_per_s, 0)) / 1e6
    assert times_s[:31] == pytest.approx(np.arange(31) / 10, abs=1e-6), "3 s at 10/s"
    ramp_s = times_s[30:111] - 3
    assert 10 * ramp_s + 2.5 * ramp_s**2 == pytest.approx(np.arange(81), abs=1e-3), "the integral of 10 + 5 t"
    assert times_s[110] == pytest.approx(7)
    assert np.diff(times_s[110:140]) == pytest.approx([1 / 30] * 29, abs=2e-6), "the last rate continues"


def test_poisson_arrivals_of_all_users_follow_a_sine() -> None:
    load = Load(steps="100 s sine 50 to 150/s every 100 s", rampup_s=0, virtual_users=4)
    mean_per_s = operations_per_s(load, {}, {})
    assert mean_per_s == pytest.approx(100, rel=0.001)
    blocks = [np.concatenate([*islice(due_us(load, mean_per_s, user), 4)]) for user in range(4)]
    by_quarter = np.histogram(np.concatenate(blocks) / 1e6, [0, 25, 50, 75, 100])[0]
    outer, inner = 25 * (100 - 50 * 2 / np.pi), 25 * (100 + 50 * 2 / np.pi)
    assert by_quarter == pytest.approx([outer, inner, inner, outer], rel=0.08), "5 standard deviations"


def test_a_rate_of_the_metric_counts_what_is_not_rolled_back() -> None:
    """45 % of the operations are sales, and 1 % of these are rolled back by design."""
    mix = {"sale": 45.0, "look": 55.0}
    load = Load(rate=891, rate_of="metric")
    assert operations_per_s(load, mix, {"sale": 0.99}) == pytest.approx(2000)
    assert operations_per_s(Load(rate=891), mix, {"sale": 0.99}) == 891
    assert operations_per_s(Load(), mix, {"sale": 0.99}) is None
    with pytest.raises(InputError, match="the mix has no operation of the metric"):
        operations_per_s(load, {"sale": 0.0, "look": 1.0}, {"sale": 0.99})


@pytest.mark.parametrize(
    ("load", "words"),
    [
        ({"latency_limit_ms": 5}, "latency_limit_ms needs a rate"),
        ({"rate": 5, "keying_and_thinking": True}, "exclude each other"),
        ({"steps": "5 s at 10/s", "rate": 5}, "omit rate"),
        ({"steps": "5 s at 10/s", "duration_s": 6}, "the steps last 5 s, not 6 s; omit duration_s"),
        ({"steps": "5 s at 10/s", "rampup_max_s": 6}, "omit rampup_max_s"),
        ({"steps": "5 s at 10 users", "virtual_users": 6}, "the steps have 10 users, but virtual_users is 6"),
        ({"rate": 0}, "greater than 0|above 0"),
    ],
)
def test_contradictions_are_refused(load: dict[str, object], words: str) -> None:
    with pytest.raises(ConfigErrors, match=words):
        Load(**load)
