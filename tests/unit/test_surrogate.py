"""The predictions of a search for configurations that were not run."""

from __future__ import annotations

import itertools

import numpy as np

from hdbkit.analysis.sweep.surrogate import Surrogate

POINTS = np.array(list(itertools.product((0.0, 1.0), (0.0, 1.0), (0.0, 1 / 3, 2 / 3, 1.0))))
ORDERED = [False, False, True]


def test_settings_that_help_on_their_own_are_put_together() -> None:
    tried = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 2 / 3]], dtype=float)
    known = Surrogate(ORDERED, tried, reached=tried.sum(axis=1))
    best = POINTS[known.improvement(POINTS).argmax()]
    assert best[:2].tolist() == [1, 1]
    assert best[2] >= 2 / 3


def test_ordered_values_near_a_good_one_promise_more_than_those_far_away() -> None:
    tried = np.array([[0, 0, 0], [0, 0, 1.0]])
    known = Surrogate(ORDERED, tried, reached=np.array([0.0, 1.0]))
    near, far = known.improvement(np.array([[0, 0, 2 / 3], [0, 0, 1 / 3]]))
    assert near > far


def test_what_runs_already_is_not_asked_for_again() -> None:
    tried = POINTS[:1]
    known = Surrogate(ORDERED, tried, reached=np.zeros(1))
    first = POINTS[known.improvement(POINTS).argmax()]
    known.believe(first[None])
    assert POINTS[known.improvement(POINTS).argmax()].tolist() != first.tolist()


def test_equal_results_say_nothing_of_where_to_look_but_that_it_is_elsewhere() -> None:
    known = Surrogate(ORDERED, POINTS[:3], reached=np.full(3, 7.0))
    promised = known.improvement(POINTS)
    assert np.isfinite(promised).all()
    assert promised.argmax() >= 3
