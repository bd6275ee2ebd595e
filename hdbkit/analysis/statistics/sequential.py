"""Interim analyses (looks): after which blocks a sweep may end early, and how wide each look's intervals must be.

Looking at a growing sweep again and again, and ending it as soon as something is significant, calls equal settings
different far more often than in 5 % of sweeps. Here the looks are fixed ahead. The error rate ``alpha`` is spent over
them by the function of Lan and DeMets (1983, Biometrika 70, 659-663) of O'Brien and Fleming's kind, ``t`` being the
share of blocks that are done:

    spent(t) = 2 - 2 Phi(z / sqrt(t)),   z = Phi^-1(1 - alpha / 2)

A look's simultaneous (Dunnett) intervals err with the probability that it spends. What all looks spend adds up to
``alpha``, so by Boole's inequality all intervals of all looks hold together with ``1 - alpha``, however looks are
correlated and however few degrees of freedom there are: repeated confidence intervals (Jennison and Turnbull 1989,
J. R. Statist. Soc. B 51, 305-361). A sweep may therefore end on "equivalent" as well as on "faster".
The cost against exact boundaries is small: three equal looks judge the last at 96.6 % where 95.4 % would do.
"""

from __future__ import annotations

from collections.abc import Sequence

import scipy

from hdbkit.analysis.wording import share

_MIN_SPENT = 1e-6
"""A look spends at least this, so that its critical value can be computed."""


def look_levels(looks: Sequence[int], confidence: float = 0.95) -> dict[int, float]:
    """The level of each look's simultaneous intervals, by the number of blocks after which it is taken.

    Args:
        looks: numbers of blocks, ascending; the last is the whole sweep.
        confidence: the probability that all intervals of all looks hold.

    Example:
        >>> {blocks: round(level, 4) for blocks, level in look_levels([4, 8, 12]).items()}
        {4: 0.9993, 8: 0.9843, 12: 0.9664}
    """
    alpha = 1 - confidence
    z = float(scipy.special.ndtri(1 - alpha / 2))
    levels, spent = {}, 0.0
    for blocks in looks:
        share = blocks / looks[-1]
        due = alpha if blocks == looks[-1] else float(2 * scipy.special.ndtr(-z / share**0.5))
        here = max(due - spent, _MIN_SPENT)
        spent += here
        levels[blocks] = 1 - here
    return levels


def level_after(looks: Sequence[int], blocks: int, confidence: float = 0.95) -> float:
    """The level after this number of finished blocks: that of the present look, or without looks the whole.

    A sweep that was interrupted between two looks is judged as at the next one.
    """
    levels = look_levels(looks, confidence) if looks else {blocks: confidence}
    return next((level for look, level in levels.items() if look >= blocks), levels[max(levels)])


def looks_note(looks: Sequence[int], ended_after: int | None, level: float, confidence: float = 0.95) -> list[str]:
    """What a reader must know about the looks, as one phrase; none without looks."""
    if not looks:
        return []
    all_looks = f"{', '.join(map(str, looks[:-1]))} and {looks[-1]}" if len(looks) > 1 else str(looks[0])
    ended = f"; everything was decided after {ended_after}" if ended_after else ""
    return [
        f"Looks after {all_looks} blocks{ended}: the intervals are computed at {level * 100:.2f} %, so that "
        f"those of all looks together hold with {share(confidence)}"
    ]
