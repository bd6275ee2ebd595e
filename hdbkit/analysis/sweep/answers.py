"""The answer of a sweep: the strongest conclusion that its verdicts support, in one sentence."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from hdbkit.analysis.statistics.power import POWER
from hdbkit.analysis.wording import CONFIDENCE, change, needed_text
from hdbkit.config.metric import Metric
from hdbkit.results.finding import Ratio, Verdict
from hdbkit.text import capital, many, share, virtual_users

_WITHOUT = (Verdict.BASELINE, Verdict.FAILED, Verdict.ENDED_EARLY, Verdict.NOT_RUN)
"""Verdicts that compare nothing."""


def answer(
    ratios: Sequence[Ratio], metric: Metric, smallest_effect: float = 0.02, effects: Sequence[Ratio] = ()
) -> str:
    """The strongest conclusion that a sweep supports.

    The verdict on a configuration comes first. Where none is faster and some are undecided, a setting's main effect
    may still be decided, because it uses all pairs of the grid.

    Args:
        ratios: as ``verdicts.judge`` gives them.
        metric: what was measured.
        smallest_effect: the smallest relative difference that matters.
        effects: as ``effects.main_effects`` gives them.
    """
    compared = [ratio for ratio in ratios if ratio.verdict not in _WITHOUT]
    faster, undecided, slower, equivalent = (
        [ratio for ratio in compared if ratio.verdict is verdict]
        for verdict in (Verdict.FASTER, Verdict.UNDECIDED, Verdict.SLOWER, Verdict.EQUIVALENT)
    )
    if not compared:
        return "No comparison is possible: no configuration besides the baseline has a result that can be used."
    if faster:
        return _faster_answer(faster, len(ratios), metric)
    if undecided:
        return _undecided_answer(undecided, len(compared), _decided_effect(effects))
    here = in_these_runs(ratios)
    if len(slower) == len(compared):
        return f"The baseline is the fastest of the {len(ratios)}{here}: every other configuration is slower."
    return (
        f"No configuration is faster than the baseline{here} by more than {share(smallest_effect)}: "
        f"{len(equivalent)} of {len(compared)} comparisons are equivalent, {len(slower)} are slower."
    )


def _faster_answer(faster: Sequence[Ratio], count: int, metric: Metric) -> str:
    """The answer where some configurations are faster: the fastest, and what is left of its lead after the choice."""
    leader = _highest(faster)
    several = len({ratio.configuration for ratio in faster})
    among = [f"the best of {several} that are faster"] if several > 1 else []
    if leader.shrunken_ratio is not None and leader.ratio is not None:
        left = change(leader.shrunken_ratio, metric)
        if left != change(leader.ratio, metric):
            among.append(f"{left} after allowing for the choice among {count}")
    return f"{capital(', '.join([leader.sentence, *among]))}."


def _highest(ratios: Sequence[Ratio]) -> Ratio:
    """The ratio that is highest; of equal ones the last."""
    return sorted(ratios, key=lambda ratio: ratio.ratio or 0.0)[-1]


def best_of(ratios: Sequence[Ratio]) -> Ratio | None:
    """The best of the configurations: the highest ratio with the best verdict; None if none has a ratio."""
    known = [ratio for ratio in ratios if ratio.verdict is not Verdict.BASELINE and ratio.ratio is not None]
    for verdict in (Verdict.FASTER, Verdict.UNDECIDED, Verdict.EQUIVALENT, Verdict.SLOWER):
        if judged := [ratio for ratio in known if ratio.verdict is verdict]:
            return _highest(judged)
    return None


def in_these_runs(ratios: Sequence[Ratio]) -> str:
    """What limits verdicts that are about these runs alone: `` in these runs``; empty for others."""
    return " in these runs" if any(ratio.these_runs for ratio in ratios) else ""


def candidates_note(ratios: Sequence[Ratio]) -> list[str]:
    """The configurations among which the best is, one phrase for each count of users where there are several."""
    by_users = [list(group) for _, group in groupby(ratios, lambda ratio: ratio.virtual_users)]
    notes = []
    for group in by_users:
        labels = [ratio.label for ratio in group if ratio.may_be_best]
        if 1 < len(labels) < len(group):
            where = f" at {virtual_users(group[0].virtual_users or 0)}" if len(by_users) > 1 else ""
            where += in_these_runs(group)
            notes.append(f"the best{where} is one of {len(labels)} with {share(CONFIDENCE)}: {'; '.join(labels)}")
    return notes


def _undecided_answer(undecided: Sequence[Ratio], compared: int, effect: str) -> str:
    """The answer where no configuration is faster and some are undecided; ``effect`` is a decided one, if any is."""
    if len(undecided) == compared == 1:
        return f"{capital(undecided[0].sentence)}."
    if not effect:
        return f"No configuration is shown to be faster than the baseline; {_open(undecided, compared)}."
    return (
        f"On average over the grid, {effect}, while no single configuration is shown to be faster than the baseline: "
        f"{_open(undecided, compared)}."
    )


def _decided_effect(effects: Sequence[Ratio]) -> str:
    """The sentence on the best effect that is faster and matters, else on the worst that is slower; may be empty."""
    for verdict, position in ((Verdict.FASTER, -1), (Verdict.SLOWER, 0)):
        decided = [effect for effect in effects if effect.verdict is verdict and not effect.equivalent]
        overall = [effect for effect in decided if effect.virtual_users is None]
        if decided:
            return sorted(overall or decided, key=lambda effect: effect.ratio or 0.0)[position].sentence
    return ""


def _open(undecided: Sequence[Ratio], compared: int) -> str:
    """How many comparisons are undecided, and how many blocks would decide all of them."""
    needed = [ratio.needed for ratio in undecided if ratio.needed and ratio.needed.blocks is not None]
    advice = ""
    if len(needed) == len(undecided):
        advice = f", {needed_text(max(needed, key=lambda one: one.blocks or 0))} would decide with {share(POWER)}"
    return f"{len(undecided)} of {compared} comparisons {'is' if len(undecided) == 1 else 'are'} undecided{advice}"


def winner_answer(winners: Sequence[Ratio], blocks: int) -> str:
    """What the fresh blocks say of the best, at the count of users where it is best, in one sentence.

    Empty without fresh blocks. Several configurations are named where the blocks do not tell them apart.
    """
    if not winners:
        return ""
    best = _highest(winners)
    near = [ratio.label for ratio in winners if ratio.virtual_users == best.virtual_users and ratio.may_be_best]
    among = f"the best is one of {'; '.join(near)}: " if len(near) > 1 else ""
    return f"In {many(blocks, 'fresh block')} that were not used for the choice: {among}{best.sentence}."
