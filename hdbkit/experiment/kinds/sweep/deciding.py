"""Decisions after finished blocks: looks, what they decide, and the fresh blocks of the winners.

Every decision derives from plan, journal and results, and is made only between two blocks. A sweep that was killed
and resumed therefore decides as an uninterrupted one. The journal records each decision; the plan on disk follows it.
The end of the planned blocks is a look as well: what it spent of the error rate is not there for blocks added later.
A sweep ends at a look that decides all. One with planned looks continues with what is open: the comparisons that are
decided are not run in later blocks (``analysis.sweep.looks``).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hdbkit.analysis.statistics.sequential import Anytime, Spending
from hdbkit.analysis.sweep.looks import decided, verdicts
from hdbkit.analysis.sweep.observations import observations
from hdbkit.analysis.sweep.verdicts import fastest
from hdbkit.experiment.kinds.sweep.plan import SweepPlan, cut_after, ended_at, with_winners, without_decided
from hdbkit.experiment.kinds.sweep.searching import with_next_block
from hdbkit.experiment.until_decided import finished_blocks, time_is_over
from hdbkit.later import pandas as pd
from hdbkit.results.experiment_folder import ExperimentFolder
from hdbkit.results.finding import Ratio, Verdict
from hdbkit.results.journal import ExperimentState, Step
from hdbkit.text import virtual_users


def spending(plan: SweepPlan, state: ExperimentState) -> Spending:
    """How the sweep spends its error rate: over the looks that it took, and those that are still planned."""
    last = plan.ended_after or plan.spec.blocks
    taken = {int(line.details["blocks"]) for line in state.decisions if line.step is Step.LOOKED}
    return Spending(plan.first_blocks or plan.spec.blocks, tuple(sorted({*taken, *plan.spec.looks, last})))


def rule(plan: SweepPlan, state: ExperimentState) -> Spending | Anytime:
    """The level of the intervals after each number of blocks."""
    return anytime(plan) or spending(plan, state)


def anytime(plan: SweepPlan) -> Anytime | None:
    """The intervals of a sweep that ends when it is decided; None of one with a number of blocks."""
    if plan.until_decided is None:
        return None
    return Anytime(max((len(plan.configurations) - 1) * len(plan.spec.virtual_users), 1))


def decide(plan: SweepPlan, folder: ExperimentFolder) -> SweepPlan:
    """The plan after the decisions of the finished blocks; unchanged if they decide nothing."""
    state = folder.journal.state
    return _with_winners(_at_a_look(with_next_block(plan, folder, state), folder, state), folder, state)


def _at_a_look(plan: SweepPlan, folder: ExperimentFolder, state: ExperimentState) -> SweepPlan:
    """End the sweep at a look if every configuration is decided at the level of that look."""
    blocks = finished_blocks(plan, state)
    is_look = blocks > 1 if plan.until_decided else blocks in (*plan.spec.looks, plan.spec.blocks)
    if plan.ended_after is not None or plan.winners or not is_look:
        return plan
    runs, known = observations(folder, plan.metric), rule(plan, state)
    ratios = judged(plan, state, runs[runs["block"] <= blocks])
    undecided = sum(ratio.verdict is Verdict.UNDECIDED for ratio in ratios)
    level, spent = round(known.level(blocks), 6), round(known.spent(blocks), 6)
    _note_once(folder, state, Step.LOOKED, blocks=blocks, level=level, spent=spent, undecided=undecided)
    shorter = plan
    if undecided:
        shorter = _continued(plan, folder, state, ratios, blocks)
        if time_is_over(plan, folder.journal.lines):
            _note_once(folder, state, Step.DECIDED, f"the time is over after {blocks} blocks", blocks=blocks)
            shorter = cut_after(shorter, blocks)
    elif blocks < plan.spec.blocks:
        shorter = ended_at(plan, blocks)
    if shorter != plan:
        folder.write_plan(shorter)
    return shorter


def judged(plan: SweepPlan, state: ExperimentState, runs: pd.DataFrame) -> list[Ratio]:
    """The verdicts of a sweep from these of its runs; fresh blocks are not among them."""
    level, smallest = rule(plan, state).level, plan.spec.smallest_effect
    return verdicts(runs, plan.metric, level, plan.decided_after, smallest, anytime(plan))


def _continued(
    plan: SweepPlan, folder: ExperimentFolder, state: ExperimentState, ratios: Sequence[Ratio], blocks: int
) -> SweepPlan:
    """The sweep with what is undecided alone, if it has planned looks or one after each block."""
    if not plan.spec.drop_decided or not (plan.spec.looks or plan.until_decided):
        return plan
    new = [cell for cell in decided(ratios) if cell not in plan.decided_after]
    if not new:
        return plan
    several = len(plan.spec.virtual_users) > 1
    labels = {ratio.configuration: ratio.label for ratio in ratios}
    named = [f"{labels[one]} at {virtual_users(users)}" if several else labels[one] for users, one in new]
    note = f"decided after {blocks} blocks: {'; '.join(named)}"
    cells = [list(cell) for cell in new]
    _note_once(folder, state, Step.DECIDED, note, decided_after=blocks, comparisons=cells)
    return without_decided(plan, new, blocks)


def _with_winners(plan: SweepPlan, folder: ExperimentFolder, state: ExperimentState) -> SweepPlan:
    """Add fresh blocks of the three fastest configurations and the baseline after the last block."""
    spec = plan.spec
    if not spec.winner_blocks or plan.winners or state.next_number <= len(plan.runs):
        return plan
    winners = fastest(judged(plan, state, observations(folder, plan.metric)))
    if not winners:
        return plan
    _note_once(folder, state, Step.WINNERS_CHOSEN, configurations=winners, blocks=spec.winner_blocks)
    longer = with_winners(plan, winners)
    folder.write_plan(longer)
    return longer


def _note_once(folder: ExperimentFolder, state: ExperimentState, step: Step, note: str = "", **details: Any) -> None:
    """Append a line to the journal before the plan is written, unless a killed sweep has already appended it."""
    if (step, details) not in [(line.step, line.details) for line in state.decisions]:
        folder.append(step, note=note, **details)
