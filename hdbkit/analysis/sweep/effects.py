"""What each setting changes: its main effect, its interactions with others, and the response to its values.

The main effect is the change of the metric over all pairs of the grid that differ in the setting alone. A pair has
the same other settings, the same block and the same count of virtual users; the main effect is the mean of the pairs
on the log scale, its noise that of the whole sweep (``block_model``). The effect is an average over the grid: where
settings interact, the verdict on each configuration is more precise.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import scipy

from hdbkit.analysis.statistics import Floats
from hdbkit.analysis.statistics.block_model import BlockModel, Cell, usable
from hdbkit.analysis.statistics.dunnett import maximum_modulus
from hdbkit.analysis.wording import CONFIDENCE, Interval, change, changed, percent, percents, sentence
from hdbkit.config.metric import Metric
from hdbkit.config.quantities import quantity
from hdbkit.results.experiment_runs import STRETCH
from hdbkit.text import share, virtual_users

Grid = dict[int, tuple[str, ...]]
MIN_VALUES = 3
"""Values that a setting needs for a curve."""
_COLUMNS = (
    *("setting", "value", "reference", "virtual_users", "pairs", "ratio", "low", "high"),
    *("verdict", "equivalent", "these_runs", "sentence"),
)
_INTERACTION_COLUMNS = (
    *("setting", "value", "reference", "other", "other_value", "other_reference", "sets", "ratio", "low", "high"),
    *("verdict", "alone", "together", "other_alone", "other_together", "sentence"),
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


# Interactions of two settings: whether the effect of one depends on the value of the other.
#
# The interaction of ``a`` and ``b`` is a ratio of ratios, (ab / b) : (a / neither), taken on the log scale over all
# sets of four configurations of the grid that differ in these two settings alone; 1 means that their effects
# multiply. The noise is that of the whole sweep (``block_model``). The intervals hold together: the critical value is
# that of the studentized maximum modulus, which by Sidak's inequality (1967, J. Am. Statist. Assoc. 62, 626-633)
# covers contrasts of any correlation (Hochberg and Tamhane 1987, Multiple Comparison Procedures).


@dataclass(frozen=True)
class _Change:
    """One value of a setting against its reference."""

    setting: str
    value: str
    reference: str

    def __str__(self) -> str:
        return f"{self.setting}={self.value}"


def interactions(
    runs: pd.DataFrame,
    metric: Metric,
    settings: Sequence[str],
    baseline_values: Mapping[str, str],
    smallest_effect: float = 0.02,
    level: float = CONFIDENCE,
) -> pd.DataFrame:
    """The interaction of each two values of two settings, as the mean over all counts of virtual users.

    Args:
        runs, metric, settings, baseline_values, smallest_effect, level: as for ``main_effects``.

    Returns:
        A row each with ``setting``, ``value``, ``reference``, and the same of the ``other``; ``sets`` (of four
        configurations); ``ratio``, ``low``, ``high`` (NaN without replication); ``verdict`` (interact, no
        interaction, undecided); the ratio of the value to its reference where the other setting has its reference
        (``alone``) and its value (``together``), likewise of the other setting; and ``sentence``.
    """
    model = BlockModel.fitted(runs, metric)
    grid = grid_of(runs, settings)
    counts = sorted({users for users, _ in model.cells})
    found = []
    for one, other in _asked(grid, settings, baseline_values):
        sets = _sets(grid, settings, one, other)
        pairs = [
            contrasts
            for users in counts
            for four in sets
            if (contrasts := _four_contrasts(model, users, four)) is not None
        ]
        if pairs:
            found.append((one, other, np.mean(pairs, axis=0), len(pairs)))
    decidable = bool(found) and model.df > 0 and usable(runs)["block"].nunique() > 1

    def critical(df: float) -> tuple[float, float]:
        if not decidable:
            return float("nan"), float("nan")
        return maximum_modulus(len(found), df, level), maximum_modulus(len(found), df, 2 * level - 1)

    here = " in these runs" if STRETCH in runs else ""
    rows = [
        {
            **{"setting": one.setting, "value": one.value, "reference": one.reference},
            **{"other": other.setting, "other_value": other.value, "other_reference": other.reference},
            **{"sets": count},
            **_interaction_row(model, metric, f"{one} with {other}{here}", simple, critical, smallest_effect),
        }
        for one, other, simple, count in found
    ]
    return pd.DataFrame(rows, columns=list(_INTERACTION_COLUMNS))


def _asked(grid: Grid, settings: Sequence[str], baseline_values: Mapping[str, str]) -> list[tuple[_Change, _Change]]:
    changes = {
        name: [
            _Change(name, value, baseline_values[name])
            for value in dict.fromkeys(values[position] for values in grid.values())
            if value != baseline_values[name]
        ]
        for position, name in enumerate(settings)
    }
    return [
        (one, other)
        for first, second in combinations(settings, 2)
        for one in changes[first]
        for other in changes[second]
    ]


def _sets(grid: Grid, settings: Sequence[str], one: _Change, other: _Change) -> list[tuple[int, ...]]:
    """The configurations with neither, one, the other, and both changes; as often as the other settings allow."""
    by_values = {values: configuration for configuration, values in grid.items()}
    places = settings.index(one.setting), settings.index(other.setting)
    found = []
    for values in by_values:
        if (values[places[0]], values[places[1]]) != (one.reference, other.reference):
            continue
        four = []
        for pair in ((one.reference, other.reference), (one.value, other.reference),
                     (one.reference, other.value), (one.value, other.value)):  # fmt: skip
            wanted = list(values)
            wanted[places[0]], wanted[places[1]] = pair
            four.append(by_values.get(tuple(wanted)))
        found.append(tuple(configuration for configuration in four if configuration is not None))
    return [four for four in found if len(four) == 4]


def _four_contrasts(model: BlockModel, users: int, four: tuple[int, ...]) -> Floats | None:
    """Four contrasts, a row each: one setting's effect alone and together with the other's, then the other's."""
    neither, one, other, both = ((users, configuration) for configuration in four)
    asked: list[tuple[Cell, Cell]] = [(one, neither), (both, other), (other, neither), (both, one)]
    found = [model.difference(tried, reference) for tried, reference in asked]
    known = [contrast for contrast in found if contrast is not None]
    return np.array(known) if len(known) == len(asked) else None


def _interaction_row(
    model: BlockModel,
    metric: Metric,
    subject: str,
    simple: Floats,
    critical: Callable[[float], tuple[float, float]],
    smallest_effect: float,
) -> dict[str, Any]:
    estimate = model.estimate(simple[1] - simple[0])
    interval = Interval.around(metric, estimate.value, estimate.error, *critical(estimate.df))
    alone, together, other_alone, other_together = np.exp(simple @ model.coefficients).tolist()
    verdict = {"faster": "interact", "slower": "interact", "equivalent": "no interaction"}.get(
        interval.verdict(smallest_effect), "undecided"
    )
    return {
        "ratio": interval.ratio,
        "low": interval.low,
        "high": interval.high,
        "verdict": verdict,
        "alone": alone,
        "together": together,
        "other_alone": other_alone,
        "other_together": other_together,
        "sentence": f"{subject}: {_words(interval, verdict, smallest_effect)}",
    }


def _words(interval: Interval, verdict: str, smallest_effect: float) -> str:
    if not np.isfinite(interval.low):
        return "undecided: too few runs to estimate the noise"
    tested = interval.inner if verdict == "no interaction" else None
    ends, at = (tested, 2 * CONFIDENCE - 1) if tested else ((interval.low, interval.high), CONFIDENCE)
    within = f"{share(at)} interval {percents(*ends, interval.metric)}"
    if verdict == "interact":
        far = f"{percent(interval.ratio, interval.metric)} against their effects multiplied"
        small = f", less than the {share(smallest_effect)} that matter"
        return f"together {far} ({within})" + (small if interval.small(smallest_effect) else "")
    if verdict == "no interaction":
        return f"their effects multiply within {share(smallest_effect)} ({within})"
    return f"undecided whether their effects multiply ({within})"


def changed_effects(
    found: pd.DataFrame, effects: pd.DataFrame, metric: Metric, smallest_effect: float = 0.02
) -> list[str]:
    """A sentence for each main effect that differs at some value of another setting.

    Only where the interaction's interval excludes 1 and more than ``smallest_effect`` is left of it. The effect
    at either value is an estimate; the verdicts on configurations have the intervals.

    Args:
        found: as :func:`interactions` gives them.
        effects: as ``main_effects`` gives them.
    """
    overall = effects[effects["virtual_users"] == 0]
    known = {(row["setting"], row["value"]): (row["ratio"], row["verdict"]) for row in overall.to_dict("records")}
    sentences = []
    for row in found[found["verdict"] == "interact"].to_dict("records"):
        if Interval(metric, row["ratio"], row["low"], row["high"]).small(smallest_effect):
            continue
        sides = (
            (("setting", "value"), ("other", "other_value", "other_reference"), ("alone", "together")),
            (("other", "other_value"), ("setting", "value", "reference"), ("other_alone", "other_together")),
        )
        for subject, beside, columns in sides:
            name, value = (str(row[column]) for column in subject)
            other, at, at_reference = (str(row[column]) for column in beside)
            alone, together = (float(row[column]) for column in columns)
            ratio, verdict = known.get((name, value), (float("nan"), "undecided"))
            if any(_contradicts(one, ratio, verdict, smallest_effect) for one in (alone, together)):
                sentences.append(
                    f"{changed(f'{name}={value}', ratio, metric)} on average over the grid, but "
                    f"{change(alone, metric)} with {other}={at_reference} and {change(together, metric)} with "
                    f"{other}={at}: rely on the verdicts of the configurations"
                )
    return sentences


def _contradicts(ratio: float, main: float, verdict: str, smallest_effect: float) -> bool:
    """Whether the effect at one value of the other setting differs from the main effect."""
    if verdict not in ("faster", "slower"):
        return abs(ratio - 1) > smallest_effect
    matters = abs(main - 1) > smallest_effect
    return (ratio > 1) != (main > 1) or (matters and abs(ratio - 1) <= smallest_effect)


def numeric(values: pd.Series[str]) -> pd.Series[float] | None:
    """The amounts of a setting's values; None where one is no number or size, or there are fewer than three."""
    amounts = [quantity(str(one)) for one in values]
    if any(one is None for one in amounts):
        return None
    known = pd.Series([float(one.amount) for one in amounts if one is not None], index=values.index)
    return known if known.nunique() >= MIN_VALUES else None


def response_to(runs: pd.DataFrame, setting: str) -> pd.DataFrame:
    """A row for each value of a setting, in the order of its amount: value, amount, runs, metric_value, low, high.

    The geometric mean over all runs with this value, at all values of the other settings alike. What differs between
    blocks and the other settings is taken out before the interval is computed, so that it contains the noise of runs
    alone; each interval holds by itself. ``low`` and ``high`` are NaN where no degrees of freedom are left.

    Args:
        runs: usable runs of one count of virtual users, as ``results.experiment_folder.runs_frame`` gives them.
        setting: a numeric one (:func:`numeric`).
    """
    logs = pd.Series(np.log(runs["metric_value"].to_numpy(dtype=float)), index=runs.index)
    values, blocks = runs[setting].astype(str), runs["block"]
    cells = logs.groupby(runs["configuration"]).transform("mean")
    within = logs - cells
    residuals = within - within.groupby(blocks).transform("mean")
    df = len(runs) - runs["configuration"].nunique() - (blocks.nunique() - 1)
    deviation = float(np.sqrt((residuals**2).sum() / df)) if df > 0 else float("nan")
    t = float(scipy.stats.t.ppf((1 + CONFIDENCE) / 2, df)) if df > 0 else float("nan")
    found = logs.groupby(values, sort=False).agg(["size", "mean"]).rename(columns={"size": "runs"})
    half = t * deviation / np.sqrt(found["runs"])
    table = pd.DataFrame(
        {
            "value": found.index,
            "amount": [float(one.amount) for name in found.index if (one := quantity(str(name))) is not None],
            "runs": found["runs"].to_numpy(),
            "metric_value": np.exp(found["mean"]).to_numpy(),
            "low": np.exp(found["mean"] - half).to_numpy(),
            "high": np.exp(found["mean"] + half).to_numpy(),
        }
    )
    return table.sort_values("amount", ignore_index=True)
