"""A sampler for Optuna's studies that answers only with points of a given set, by what a surrogate expects of them.

Optuna's own sampler without further packages (TPE) came less near to a recorded surface's best with as many runs: see
``bench/adaptive.py``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from optuna import Study
from optuna.distributions import BaseDistribution, IntDistribution
from optuna.samplers import BaseSampler
from optuna.trial import FrozenTrial, TrialState

from hdbkit.analysis.statistics.surrogate import Floats, Surrogate

Point = Mapping[str, int]


class GridSampler(BaseSampler):
    """Answers with the ``candidates``, the most promising first; among equals with the one that stands first.

    Whole numbers are ordered, categories are not. A trial that runs counts as what is expected of it.
    """

    def __init__(self, space: Mapping[str, BaseDistribution], candidates: Sequence[Point]) -> None:
        self._space, self._candidates = dict(space), list(candidates)

    def infer_relative_search_space(self, study: Study, trial: FrozenTrial) -> dict[str, BaseDistribution]:
        """All of it: parameters depend on each other."""
        return self._space

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        """The next candidate, which is no candidate any more."""
        surrogate = _surrogate(study, search_space)
        improvement = surrogate.improvement(_places(self._candidates, search_space))
        return dict(self._candidates.pop(int(improvement.argmax())))

    def sample_independent(
        self, study: Study, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution
    ) -> Any:
        """Never asked: each parameter is in the relative search space."""
        raise AssertionError(f"{param_name} is not in the search space")


def _surrogate(study: Study, space: Mapping[str, BaseDistribution]) -> Surrogate:
    """What all trials of the study tell."""
    done = study.get_trials(deepcopy=False, states=[TrialState.COMPLETE])
    begun = study.get_trials(deepcopy=False, states=[TrialState.RUNNING])
    ordered = [isinstance(each, IntDistribution) for each in space.values()]
    reached = np.array([one.value for one in done], dtype=np.float64)
    found = Surrogate(ordered, _places([one.params for one in done], space), reached)
    found.believe(_places([one.params for one in begun if one.params], space))
    return found


def _places(points: Sequence[Point], space: Mapping[str, BaseDistribution]) -> Floats:
    """Points x parameters; ordered ones between 0 and 1."""
    most = [max(each.high, 1) if isinstance(each, IntDistribution) else 1 for each in space.values()]
    places = np.array([[point[name] for name in space] for point in points], dtype=np.float64)
    return places.reshape(len(points), len(space)) / most
