"""Interactions of two settings: whether the effect of one depends on the value of the other.

The interaction of ``a`` and ``b`` is a ratio of ratios, (ab / b) : (a / neither), taken on the log scale over all
sets of four configurations of the grid that differ in these two settings alone; 1 means that their effects
multiply. The noise is that of the whole sweep (``block_model``). The intervals hold together: the critical value is
that of the studentized maximum modulus, which by Sidak's inequality (1967, J. Am. Statist. Assoc. 62, 626-633)
covers contrasts of any correlation (Hochberg and Tamhane 1987, Multiple Comparison Procedures).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations

from hdbkit.analysis.statistics import Floats
from hdbkit.analysis.statistics.block_model import BlockModel, Cell, usable
from hdbkit.analysis.statistics.dunnett import maximum_modulus
from hdbkit.analysis.sweep.effects import Grid, grid_of
from hdbkit.analysis.wording import CONFIDENCE, Interval, change, changed, percent, percents
from hdbkit.config.metric import Metric
from hdbkit.later import numpy as np
from hdbkit.later import pandas as pd
from hdbkit.results.experiment_runs import STRETCH
from hdbkit.results.finding import Change, Interaction, Of, Ratio, Verdict
from hdbkit.text import share

_VERDICTS = {
    Verdict.FASTER: Verdict.INTERACT,
    Verdict.SLOWER: Verdict.INTERACT,
    Verdict.EQUIVALENT: Verdict.INDEPENDENT,
    Verdict.UNDECIDED: Verdict.UNDECIDED,
}
"""What the verdict on a ratio of ratios says of two settings."""


def interactions(
    runs: pd.DataFrame,
    metric: Metric,
    settings: Sequence[str],
    baseline_values: Mapping[str, str],
    smallest_effect: float = 0.02,
    level: float = CONFIDENCE,
) -> list[Ratio]:
    """The interaction of each two values of two settings, as the mean over all counts of virtual users.

    The arguments are those of ``effects.main_effects``. ``runs`` of an interaction are sets of four configurations.
    """
    model = BlockModel.fitted(runs, metric)
    grid = grid_of(runs, settings)
    counts = sorted({users for users, _ in model.cells})
    estimable = []
    for first, other in _asked(grid, settings, baseline_values):
        sets = _sets(grid, settings, first, other)
        contrasts = [
            contrast
            for users in counts
            for four in sets
            if (contrast := _four_contrasts(model, users, four)) is not None
        ]
        if contrasts:
            estimable.append((first, other, np.mean(contrasts, axis=0), len(contrasts)))
    decidable = bool(estimable) and model.df > 0 and usable(runs)["block"].nunique() > 1

    def critical(df: float) -> tuple[float, float]:
        if not decidable:
            return float("nan"), float("nan")
        return maximum_modulus(len(estimable), df, level), maximum_modulus(len(estimable), df, 2 * level - 1)

    here = " in these runs" if STRETCH in runs else ""
    return [
        _judged(model, metric, (first, other, count, here), simple, critical, smallest_effect)
        for first, other, simple, count in estimable
    ]


def _asked(grid: Grid, settings: Sequence[str], baseline_values: Mapping[str, str]) -> list[tuple[Change, Change]]:
    changes = {
        name: [
            Change(setting=name, value=value, reference=baseline_values[name])
            for value in dict.fromkeys(values[position] for values in grid.values())
            if value != baseline_values[name]
        ]
        for position, name in enumerate(settings)
    }
    return [
        (first, other)
        for name, other_name in combinations(settings, 2)
        for first in changes[name]
        for other in changes[other_name]
    ]


def _sets(grid: Grid, settings: Sequence[str], first: Change, other: Change) -> list[tuple[int, ...]]:
    """The configurations with neither, one, the other, and both changes; as often as the other settings allow."""
    by_values = {values: configuration for configuration, values in grid.items()}
    places = settings.index(first.setting), settings.index(other.setting)
    sets = []
    for values in by_values:
        if (values[places[0]], values[places[1]]) != (first.reference, other.reference):
            continue
        four = []
        for pair in ((first.reference, other.reference), (first.value, other.reference),
                     (first.reference, other.value), (first.value, other.value)):  # fmt: skip
            wanted = list(values)
            wanted[places[0]], wanted[places[1]] = pair
            four.append(by_values.get(tuple(wanted)))
        sets.append(tuple(configuration for configuration in four if configuration is not None))
    return [four for four in sets if len(four) == 4]


def _four_contrasts(model: BlockModel, users: int, four: tuple[int, ...]) -> Floats | None:
    """Four contrasts, a row each: one setting's effect alone and together with the other's, then the other's."""
    neither, first, other, both = ((users, configuration) for configuration in four)
    pairs: list[tuple[Cell, Cell]] = [(first, neither), (both, other), (other, neither), (both, first)]
    contrasts = [model.difference(tried, reference) for tried, reference in pairs]
    estimable = [contrast for contrast in contrasts if contrast is not None]
    return np.array(estimable) if len(estimable) == len(pairs) else None


def _judged(
    model: BlockModel,
    metric: Metric,
    about: tuple[Change, Change, int, str],
    simple: Floats,
    critical: Callable[[float], tuple[float, float]],
    smallest_effect: float,
) -> Ratio:
    first, other, sets, here = about
    estimate = model.estimate(simple[1] - simple[0])
    interval = Interval.around(metric, estimate, critical)
    judged = interval.judged(smallest_effect)
    verdict = _VERDICTS[judged["verdict"]]
    alone, together, other_alone, other_together = np.exp(simple @ model.coefficients).tolist()
    return Ratio(
        of=Of.INTERACTION,
        figure=metric.name,
        label=f"{first} with {other}",
        against="their effects multiplied",
        virtual_users=None,
        runs=sets,
        **{**judged, "verdict": verdict},
        change=first,
        interaction=Interaction(
            other=other, alone=alone, together=together, other_alone=other_alone, other_together=other_together
        ),
        sentence=f"{first} with {other}{here}: {_words(interval, verdict, smallest_effect)}",
    )


def _words(interval: Interval, verdict: Verdict, smallest_effect: float) -> str:
    if not interval.is_known:
        return "undecided: too few runs to estimate the noise"
    tested = interval.inner if verdict is Verdict.INDEPENDENT else None
    ends, at = (tested, 2 * CONFIDENCE - 1) if tested else ((interval.low, interval.high), CONFIDENCE)
    within = f"{share(at)} interval {percents(*ends, interval.metric)}"
    if verdict is Verdict.INTERACT:
        far = f"{percent(interval.ratio, interval.metric)} against their effects multiplied"
        small = f", less than the {share(smallest_effect)} that matter"
        return f"together {far} ({within})" + (small if interval.small(smallest_effect) else "")
    if verdict is Verdict.INDEPENDENT:
        return f"their effects multiply within {share(smallest_effect)} ({within})"
    return f"undecided whether their effects multiply ({within})"


def changed_effects(
    acting: Sequence[Ratio], effects: Sequence[Ratio], metric: Metric, smallest_effect: float = 0.02
) -> list[str]:
    """A sentence for each main effect that differs at some value of another setting.

    Only where the interaction's interval excludes 1 and more than ``smallest_effect`` is left of it. The effect
    at either value is an estimate; the verdicts on configurations have the intervals.

    Args:
        acting: as :func:`interactions` gives them.
        effects: as ``effects.main_effects`` gives them.
    """
    overall = {effect.change: effect for effect in effects if effect.virtual_users is None}
    sentences = []
    for ratio in acting:
        first, beside = ratio.change, ratio.interaction
        if ratio.verdict is not Verdict.INTERACT or first is None or beside is None or ratio.ratio is None:
            continue
        if Interval(metric, ratio.ratio, *ratio.interval).small(smallest_effect):
            continue
        for subject, other, alone, together in (
            (first, beside.other, beside.alone, beside.together),
            (beside.other, first, beside.other_alone, beside.other_together),
        ):
            main = overall.get(subject)
            if any(_contradicts(value, main, smallest_effect) for value in (alone, together)):
                mean = float("nan") if main is None or main.ratio is None else main.ratio
                sentences.append(
                    f"{changed(str(subject), mean, metric)} on average over the grid, but "
                    f"{change(alone, metric)} with {other.setting}={other.reference} and {change(together, metric)} "
                    f"with {other}: rely on the verdicts of the configurations"
                )
    return sentences


def _contradicts(ratio: float, main: Ratio | None, smallest_effect: float) -> bool:
    """Whether the effect at one value of the other setting differs from the main effect."""
    if main is None or main.ratio is None or not main.verdict.differs:
        return abs(ratio - 1) > smallest_effect
    matters = abs(main.ratio - 1) > smallest_effect
    return (ratio > 1) != (main.ratio > 1) or (matters and abs(ratio - 1) <= smallest_effect)
