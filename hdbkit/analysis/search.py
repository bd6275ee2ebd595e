"""Which configurations are worth a run next: asked of Optuna, which knows what every earlier one reached.

The study is made anew from the results at each question, so that nothing of it needs to be kept: a search that was
killed asks as it would have asked. Only configurations that fulfil the constraints and were not tried are answers.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import Any

import pandas as pd

from hdbkit.analysis.block_model import BlockModel
from hdbkit.config.expressions import value_of
from hdbkit.config.quantities import Quantity
from hdbkit.errors import InputError

Configuration = Mapping[str, str]
Scale = tuple[bool, list[str]]
"""Whether the values of a setting are ordered by size, and the values."""
_WORSE = 0.1
"""How much below the worst, on the log scale, a configuration counts that could not be run."""


def log_ratios(runs: pd.DataFrame) -> dict[int, float]:
    """Each configuration's throughput against the baseline, on the log scale, as the mean over virtual users.

    The baseline is 0; one without a usable run, or in no block with the baseline, is left out.
    """
    model = BlockModel.fitted(runs)
    found: dict[int, list[float]] = {}
    for users, configuration in model.cells:
        contrast = model.difference((users, configuration), (users, 0))
        if contrast is not None:
            found.setdefault(configuration, []).append(model.estimate(contrast)[0])
    return {configuration: sum(each) / len(each) for configuration, each in found.items()}


def next_configurations(
    values: Mapping[str, Sequence[str]],
    candidates: Sequence[Configuration],
    tried: Sequence[tuple[Configuration, float | None]],
    count: int,
    seed: int,
) -> list[Configuration]:
    """Up to ``count`` of the ``candidates`` that were not tried, the most promising first.

    Args:
        values: of each setting; those that are numbers are ordered by size.
        tried: what each earlier configuration reached on the log scale; None: it could not be run.
        seed: of the answer; equal questions have equal answers.

    Raises:
        InputError: Optuna is not installed.
    """
    scales = {name: _scale(texts) for name, texts in values.items()}
    known = [reached for _, reached in tried if reached is not None]
    worst = min(known, default=0.0) - _WORSE
    done = [dict(configuration) for configuration, _ in tried]
    left = [one for one in candidates if dict(one) not in done]
    optuna, asked = _optuna(), []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what is new in Optuna says so at each use
        sampler = optuna.samplers.TPESampler(seed=seed, multivariate=True, constant_liar=True, n_startup_trials=1)
        study = optuna.create_study(direction="maximize", sampler=sampler)
        space = {name: _distribution(optuna, scale) for name, scale in scales.items()}
        for configuration, reached in tried:
            point = {name: _place(scales[name], configuration[name]) for name in scales}
            value = worst if reached is None else reached
            study.add_trial(optuna.trial.create_trial(params=point, distributions=space, value=value))
        best = max(tried, key=lambda one: -math.inf if one[1] is None else one[1])[0]
        for turn in range(min(count, len(left))):
            wanted = study.ask(space).params
            near = _Near(scales, wanted, best if turn else None)
            asked.append(min(left, key=near))
            left.remove(asked[-1])
    return asked


def _scale(texts: Sequence[str]) -> Scale:
    """Whether the values are numbers of one kind; and the values, then by size."""
    found = {text: value_of(text) for text in texts}
    numbers = {text: one for text, one in found.items() if isinstance(one, Quantity)}
    if len(numbers) < len(texts) or len({one.kind for one in numbers.values() if one.amount}) > 1:
        return False, list(texts)
    return True, sorted(texts, key=lambda text: numbers[text].amount)


def _distribution(optuna: ModuleType, scale: Scale) -> Any:
    ordered, texts = scale
    if ordered:
        return optuna.distributions.IntDistribution(0, len(texts) - 1)
    return optuna.distributions.CategoricalDistribution(range(len(texts)))


def _place(scale: Scale, text: str) -> int:
    return scale[1].index(text)


class _Near:
    """How far a configuration is from what was asked for, or, with ``best``, from the best so far and then from that.

    The first of a block is the study's own wish; the others are the step from the best so far that it likes most: by
    samples alone the last steps to a peak take long.
    """

    def __init__(self, scales: Mapping[str, Scale], wanted: Mapping[str, int], best: Configuration | None) -> None:
        self._scales, self._wanted = scales, wanted
        self._best = {name: _place(scales[name], best[name]) for name in scales} if best else None

    def __call__(self, one: Configuration) -> tuple[int, int, list[str]]:
        """The distances, and the configuration's own text, which decides between equals."""
        step = self._distance(one, self._best) if self._best else 0
        return step, self._distance(one, self._wanted), sorted(one.values())

    def _distance(self, one: Configuration, other: Mapping[str, int]) -> int:
        far = 0
        for name, (ordered, texts) in self._scales.items():
            steps = abs(texts.index(one[name]) - other[name])
            far += steps if ordered else int(steps > 0)
        return far


def _optuna() -> ModuleType:
    try:
        import optuna
    except ImportError:
        raise InputError("the strategy 'optuna' needs its package; run: pip install 'hdbkit[search]'") from None
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna
