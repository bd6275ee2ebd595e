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
    return np.concatenate([*islice(due_us(dict(Load(rate=rate_per_s, **load)), rate_per_s, index), blocks)])


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


def test_a_user_that_starts_later_has_later_arrivals() -> None:
    at_once, later = (arrivals(3, 100, virtual_users=4, start_delay_ms=delay) for delay in (0, 250))
    assert (later - at_once == 750_000).all()


def test_a_rate_of_the_metric_counts_what_is_not_rolled_back() -> None:
    """45 % of the operations are sales, and 1 % of these are rolled back by design."""
    mix = {"sale": 45.0, "look": 55.0}
    load = dict(Load(rate=891, rate_of="metric"))
    assert operations_per_s(load, mix, {"sale": 0.99}) == pytest.approx(2000)
    assert operations_per_s(dict(Load(rate=891)), mix, {"sale": 0.99}) == 891
    assert operations_per_s(dict(Load()), mix, {"sale": 0.99}) is None
    with pytest.raises(InputError, match="the mix has no operation of the metric"):
        operations_per_s(load, {"sale": 0.0, "look": 1.0}, {"sale": 0.99})


@pytest.mark.parametrize(
    ("load", "words"),
    [
        ({"latency_limit_ms": 5}, "latency_limit_ms needs a rate"),
        ({"rate": 5, "keying_and_thinking": True}, "exclude each other"),
        ({"rate": 0}, "greater than 0|above 0"),
    ],
)
def test_contradictions_are_refused(load: dict[str, object], words: str) -> None:
    with pytest.raises(ConfigErrors, match=words):
        Load(**load)
