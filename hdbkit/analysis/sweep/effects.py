"""What each setting changes: its main effect.

The main effect is the change of the metric over all pairs of the grid that differ in the setting alone. A pair has
the same other settings, the same block and the same count of virtual users; the main effect is the mean of the pairs
on the log scale, its noise that of the whole sweep (``block_model``). The effect is an average over the grid: where
settings interact, the verdict on each configuration is more precise.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from hdbkit.analysis.statistics import Floats
from hdbkit.analysis.statistics.block_model import BlockModel, usable
from hdbkit.analysis.wording import CONFIDENCE, Interval, sentence
from hdbkit.config.metric import Metric
from hdbkit.later import numpy as np
from hdbkit.later import pandas as pd
from hdbkit.later import scipy
from hdbkit.results.experiment_runs import STRETCH
from hdbkit.results.finding import Change, Of, Ratio
from hdbkit.text import virtual_users

Grid = dict[int, tuple[str, ...]]
"""The values of each configuration, in the order of the settings."""


def main_effects(
    runs: pd.DataFrame,
    metric: Metric,
    settings: Sequence[str],
    baseline_values: Mapping[str, str],
    smallest_effect: float = 0.02,
    level: float = CONFIDENCE,
) -> list[Ratio]:
    """The main effect of each value of each setting against the baseline's value.

    That over all counts of virtual users comes first; one for each count follows when there are several. ``runs`` of
    an effect are pairs of configurations. The intervals hold together with 95 %: they are Bonferroni-adjusted over
    all effects. ``level`` is that of one look of a sweep that may end early, as for ``verdicts.judge``.
    """
    model = BlockModel.fitted(runs, metric)
    grid = grid_of(runs, settings)
    counts = sorted({users for users, _ in model.cells})
    scopes = [counts, *([users] for users in counts if len(counts) > 1)]
    asked = [
        (change, scope, _contrasts(model, grid, settings, change, scope))
        for name in settings
        for value in dict.fromkeys(values[settings.index(name)] for values in grid.values())
        if value != baseline_values[name]
        for change in [Change(setting=name, value=value, reference=baseline_values[name])]
        for scope in scopes
    ]
    estimable = [(change, scope, contrasts) for change, scope, contrasts in asked if contrasts]
    decidable = bool(estimable) and model.is_replicated and usable(runs)["block"].nunique() > 1
    tail = (1 - level) / 2 / max(len(estimable), 1)
    effects = []
    for change, scope, contrasts in estimable:
        users = None if scope is counts else scope[0]
        estimate = model.estimate(np.mean(contrasts, axis=0))
        interval = Interval.around(
            metric, estimate,
            lambda df: (-scipy.special.stdtrit(df if decidable else math.nan, [tail, 2 * tail])).tolist(),
        )  # fmt: skip
        subject = f"{change}" + (f" at {virtual_users(users)}" if users else "")
        reference = f"{change.setting}={change.reference}" + (" in these runs" if STRETCH in runs else "")
        if interval.is_known:
            words = sentence(subject, reference, interval, smallest_effect)
        else:
            words = f"{subject}: undecided: too few runs to estimate the noise"
        effects.append(
            Ratio(
                of=Of.EFFECT,
                figure=metric.name,
                label=str(change),
                against=f"{change.setting}={change.reference}",
                virtual_users=users,
                runs=len(contrasts),
                **interval.judged(smallest_effect),
                these_runs=STRETCH in runs,
                change=change,
                sentence=words,
            )
        )
    return effects


def grid_of(runs: pd.DataFrame, settings: Sequence[str]) -> Grid:
    """The values of each configuration of a runs frame, in the order of ``settings``."""
    first = runs.drop_duplicates("configuration").sort_values("configuration")
    return {
        int(configuration): tuple(str(value) for value in values)
        for configuration, *values in first[["configuration", *settings]].itertuples(index=False)
    }


def _contrasts(
    model: BlockModel, grid: Grid, settings: Sequence[str], change: Change, counts: Sequence[int]
) -> list[Floats]:
    """A contrast for each pair of configurations that differ in ``change`` alone."""
    position = settings.index(change.setting)
    by_values = {values: configuration for configuration, values in grid.items()}
    contrasts = []
    for values, configuration in by_values.items():
        other = by_values.get((*values[:position], change.reference, *values[position + 1 :]))
        if values[position] != change.value or other is None:
            continue
        pairs = (model.difference((users, configuration), (users, other)) for users in counts)
        contrasts += [pair for pair in pairs if pair is not None]
    return contrasts
