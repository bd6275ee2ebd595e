"""Which configurations are worth a run next: those with the largest expected improvement by a surrogate.

A new surrogate is fitted to the results before each block, so nothing of it is stored: a search that was killed
asks as it would have asked. Only configurations that fulfil the constraints and were not tried are proposed.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence

from hdbkit.analysis.statistics.block_model import BlockModel, Cell, usable
from hdbkit.analysis.sweep.surrogate import Surrogate
from hdbkit.analysis.sweep.verdicts import FASTEST
from hdbkit.config.expressions import value_of
from hdbkit.config.metric import Measure, Metric
from hdbkit.config.quantities import Quantity
from hdbkit.later import numpy as np
from hdbkit.later import pandas as pd
from hdbkit.plan import RequiredRate
from hdbkit.results.experiment_runs import ENDED_EARLY
from hdbkit.text import many, share

Configuration = Mapping[str, str]
Scale = tuple[bool, list[str]]
"""Whether the values of a setting are ordered by size, and the values."""
MARGIN = 0.1
"""How far below the third fastest a run may end early: runs of equal configurations differ by some per cent."""
_WORSE = 0.1
"""How much below the worst, on the log scale, a configuration counts that could not be run."""


def log_ratios(runs: pd.DataFrame, metric: Metric) -> dict[int, float]:
    """Each configuration's score against the baseline's, on the log scale, as the mean over virtual users.

    The baseline is 0; one without a usable run, or in no block with the baseline, is left out. A run that ended early
    counts with what was measured: too little for a verdict, enough for a search to look elsewhere.
    """
    return _means(_cell_ratios(runs.assign(status=runs["status"].replace(ENDED_EARLY, "done")), metric))


def required_rate(
    runs: pd.DataFrame, metric: Metric, block: int, configuration: int, users: int
) -> RequiredRate | None:
    """What a run that is about to start must be able to reach; None where that is not known yet, or for a time.

    A search is after the three fastest (``verdicts.FASTEST``), which its fresh blocks then judge, by their mean over
    all counts of virtual users. So a run may end early when its configuration cannot come among them any more: when
    it is the configuration's last, and stays below what it would need to have the third-highest mean so far by more
    than ``MARGIN``. Ratios are those to the baseline in the same block, so that a drift over the sweep ends nothing.
    """
    if metric.measure is not Measure.RATE:
        return None
    own = runs[(runs["configuration"] == configuration) & (runs["virtual_users"] != users)]
    going_on = runs[runs["status"].isin(["planned", "running"])]
    ratios = _cell_ratios(runs, metric)
    others = [ratio for (_, one), ratio in ratios.items() if one == configuration]
    level = _baseline_value(usable(runs), block, users)
    if level is None or own.index.isin(going_on.index).any() or len(others) < len(usable(own)):
        return None
    unfinished = {0, configuration, *going_on["configuration"]}
    whole = sorted((mean for one, mean in _means(ratios).items() if one not in unfinished), reverse=True)
    if len(whole) < FASTEST:
        return None
    least = (len(others) + 1) * whole[FASTEST - 1] - sum(others)
    best = max(ratio for (count, _), ratio in ratios.items() if count == users)
    return RequiredRate(min_value=level * math.exp(least) * (1 - MARGIN), best_value=level * math.exp(best))


def early_ends_note(runs: pd.DataFrame) -> list[str]:
    """The number of runs that ended early and why, as one phrase; none where none did."""
    count = int((runs["status"] == ENDED_EARLY).sum())
    if not count:
        return []
    far = f"more than {share(MARGIN)} short of the three fastest"
    return [
        f"{count} of {many(len(runs), 'run')} ended early, once their 99.9 % interval (one-sided) was {far}; "
        "the search uses what they measured, the verdicts do not"
    ]


def _means(ratios: Mapping[Cell, float]) -> dict[int, float]:
    """The mean of each configuration over virtual users."""
    found: dict[int, list[float]] = {}
    for (_, configuration), ratio in ratios.items():
        found.setdefault(configuration, []).append(ratio)
    return {configuration: sum(each) / len(each) for configuration, each in found.items()}


def _cell_ratios(runs: pd.DataFrame, metric: Metric) -> dict[Cell, float]:
    """The ratio of scores of each cell to the baseline's at the same virtual users, on the log scale."""
    model = BlockModel.fitted(runs, metric)
    contrasts = {(users, one): model.difference((users, one), (users, 0)) for users, one in model.cells}
    return {cell: model.estimate(contrast).value for cell, contrast in contrasts.items() if contrast is not None}


def _baseline_value(whole: pd.DataFrame, block: int, users: int) -> float | None:
    """The baseline's value in this block, or the lowest so far where it is still to come; None without any."""
    of_baseline = whole[(whole["configuration"] == 0) & (whole["virtual_users"] == users)]
    here = of_baseline[of_baseline["block"] == block]
    return None if of_baseline.empty else float((of_baseline if here.empty else here)["metric_value"].min())


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
        seed: of the order among those that promise as much; equal questions have equal answers.
    """
    scales = {name: _scale(texts) for name, texts in values.items()}
    worst = min((reached for _, reached in tried if reached is not None), default=0.0) - _WORSE
    done = {_point(scales, configuration): worst if reached is None else reached for configuration, reached in tried}
    left = [one for one in candidates if _point(scales, one) not in done]
    random.Random(seed).shuffle(left)
    surrogate = Surrogate(
        [ordered for ordered, _ in scales.values()], np.array(list(done)), np.array(list(done.values()))
    )
    points = np.array([_point(scales, one) for one in left])
    asked: list[Configuration] = []
    for _ in range(min(count, len(left))):
        best = int(surrogate.improvement(points).argmax())
        surrogate.believe(points[best, None])
        asked.append(left.pop(best))
        points = np.delete(points, best, axis=0)
    return asked


def _scale(texts: Sequence[str]) -> Scale:
    """Whether the values are numbers of one dimension; and the values, then by size."""
    found = {text: value_of(text) for text in texts}
    numbers = {text: one for text, one in found.items() if isinstance(one, Quantity)}
    if len(numbers) < len(texts) or len({one.dimension for one in numbers.values() if one.amount}) > 1:
        return False, list(texts)
    return True, sorted(texts, key=lambda text: numbers[text].amount)


def _point(scales: Mapping[str, Scale], one: Configuration) -> tuple[float, ...]:
    """The position of each value in its scale: between 0 and 1 where the values are ordered."""
    known = ((ordered, texts, texts.index(one[name])) for name, (ordered, texts) in scales.items())
    return tuple(at / max(len(texts) - 1, 1) if ordered else float(at) for ordered, texts, at in known)
