"""Each setting's main effect: its change of the metric over all pairs of the grid that differ in it alone.

A pair has the same other settings, the same block and the same count of virtual users; the main effect is the mean
of the pairs on the log scale, its noise that of the whole sweep (``block_model``). The effect is an average over the
grid: where settings interact, the verdict on each configuration is more precise.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import scipy

from hdbkit.analysis.statistics.block_model import BlockModel, Floats, usable
from hdbkit.analysis.wording import CONFIDENCE, Interval, sentence
from hdbkit.config.metric import Metric
from hdbkit.results.experiment_folder import STRETCH
from hdbkit.text import virtual_users

Grid = dict[int, tuple[str, ...]]
_COLUMNS = (
    *("setting", "value", "reference", "virtual_users", "pairs", "ratio", "low", "high"),
    *("verdict", "equivalent", "these_runs", "sentence"),
)


def main_effects(
    runs: pd.DataFrame,
    metric: Metric,
    settings: Sequence[str],
    baseline_values: Mapping[str, str],
    smallest_effect: float = 0.02,
    level: float = CONFIDENCE,
) -> pd.DataFrame:
    """The main effect of each value of each setting against the baseline's value.

    The intervals hold together with 95 %: they are Bonferroni-adjusted over all rows of the table.
    ``level`` is that of one look of a sweep that may end early, as for ``verdicts.judge``.

    Returns:
        A row each with ``setting``, ``value``, ``reference`` (the baseline's value), ``virtual_users`` (0: the mean
        over all counts; a row for each count follows when there are several), ``pairs`` (of configurations),
        ``ratio`` (of scores: more than 1 is better), ``low``, ``high`` (NaN without replication), ``verdict``,
        ``equivalent`` (two one-sided tests exclude +-smallest_effect), ``these_runs`` (the verdict is about these
        runs alone) and ``sentence``.
    """
    model = BlockModel.fitted(runs, metric)
    grid = grid_of(runs, settings)
    counts = sorted({users for users, _ in model.cells})
    scopes = [counts, *([one] for one in counts if len(counts) > 1)]
    asked = [
        (name, value, scope, _contrasts(model, grid, settings, (name, value, baseline_values[name]), scope))
        for name in settings
        for value in dict.fromkeys(values[settings.index(name)] for values in grid.values())
        if value != baseline_values[name]
        for scope in scopes
    ]
    found = [one for one in asked if one[3]]
    decidable = bool(found) and model.df > 0 and usable(runs)["block"].nunique() > 1
    tail = (1 - level) / 2 / max(len(found), 1)
    rows = []
    for name, value, scope, contrasts in found:
        users = 0 if scope is counts else scope[0]
        subject = f"{name}={value}" + (f" at {virtual_users(users)}" if users else "")
        reference = f"{name}={baseline_values[name]}" + (" in these runs" if STRETCH in runs else "")
        head = {"setting": name, "value": value, "reference": baseline_values[name], "virtual_users": users}
        estimate = model.estimate(np.mean(contrasts, axis=0))
        df = estimate.df if decidable else float("nan")
        differs, alike = (-float(scipy.special.stdtrit(df, one)) for one in (tail, 2 * tail))
        interval = Interval.around(metric, estimate.value, estimate.error, differs, alike)
        judged = _row(interval, subject, reference, smallest_effect)
        rows.append(head | {"pairs": len(contrasts), "these_runs": STRETCH in runs} | judged)
    return pd.DataFrame(rows, columns=list(_COLUMNS)).astype({"equivalent": bool, "these_runs": bool})


def grid_of(runs: pd.DataFrame, settings: Sequence[str]) -> Grid:
    """The values of each configuration of a runs frame, in the order of ``settings``."""
    first = runs.drop_duplicates("configuration").sort_values("configuration")
    return {
        int(configuration): tuple(str(value) for value in values)
        for configuration, *values in first[["configuration", *settings]].itertuples(index=False)
    }


def _contrasts(
    model: BlockModel, grid: Grid, settings: Sequence[str], change: tuple[str, str, str], counts: Sequence[int]
) -> list[Floats]:
    """A contrast for each pair of configurations that differ in ``change`` (name, value, reference) alone."""
    name, value, reference = change
    position = settings.index(name)
    by_values = {values: configuration for configuration, values in grid.items()}
    found = []
    for values, configuration in by_values.items():
        other = by_values.get((*values[:position], reference, *values[position + 1 :]))
        if values[position] != value or other is None:
            continue
        contrasts = (model.difference((users, configuration), (users, other)) for users in counts)
        found += [one for one in contrasts if one is not None]
    return found


def _row(interval: Interval, subject: str, reference: str, smallest_effect: float) -> dict[str, Any]:
    if not np.isfinite(interval.low):
        text = f"{subject}: undecided: too few runs to estimate the noise"
        nothing = {"low": float("nan"), "high": float("nan"), "verdict": "undecided", "equivalent": False}
        return {"ratio": interval.ratio, **nothing, "sentence": text}
    return {
        "ratio": interval.ratio,
        "low": interval.low,
        "high": interval.high,
        "verdict": interval.verdict(smallest_effect),
        "equivalent": interval.equivalent(smallest_effect),
        "sentence": sentence(subject, reference, interval, smallest_effect),
    }
