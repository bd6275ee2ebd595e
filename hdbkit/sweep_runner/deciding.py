"""Decisions after finished blocks: looks, whether the sweep ends at one, and the fresh blocks of the winners.

Every decision derives from plan, journal and results, and is made only between two blocks. A sweep that was killed
and resumed therefore decides as an uninterrupted one. The journal records each decision; the plan on disk follows it.
The end of the planned blocks is a look as well: what it spent of the error rate is not there for blocks added later.
"""

from __future__ import annotations

from typing import Any

from hdbkit.analysis.statistics.sequential import Spending
from hdbkit.analysis.sweep.observations import observations
from hdbkit.analysis.sweep.verdicts import fastest, judge
from hdbkit.results.journal import Step, SweepState
from hdbkit.results.sweep_folder import SweepFolder
from hdbkit.sweep_plan import SweepPlan, ended_at, with_winners
from hdbkit.sweep_runner.searching import searched


def spending(plan: SweepPlan, state: SweepState) -> Spending:
    """How the sweep spends its error rate: over the looks that it took, and those that are still planned."""
    last = plan.ended_after or plan.spec.blocks
    taken = {int(line.details["blocks"]) for line in state.decisions if line.step is Step.LOOKED}
    return Spending(plan.first_blocks or plan.spec.blocks, tuple(sorted({*taken, *plan.spec.looks, last})))


def decide(plan: SweepPlan, folder: SweepFolder) -> SweepPlan:
    """The plan after the decisions of the finished blocks; unchanged if they decide nothing."""
    state = folder.journal.state
    return _with_winners(_at_a_look(searched(plan, folder, state), folder, state), folder, state)


def _at_a_look(plan: SweepPlan, folder: SweepFolder, state: SweepState) -> SweepPlan:
    """End the sweep at a look if every configuration is decided at the level of that look."""
    blocks = _finished_blocks(plan, state)
    if plan.ended_after is not None or plan.winners or blocks not in (*plan.spec.looks, plan.spec.blocks):
        return plan
    runs, known = observations(folder, plan.metric), spending(plan, state)
    level = known.level(blocks)
    verdicts = judge(
        runs[runs["block"] <= blocks], plan.metric, smallest_effect=plan.spec.smallest_effect, level=level
    )
    undecided = int((verdicts["verdict"] == "undecided").sum())
    spent = round(known.spent(blocks), 6)
    _note_once(folder, state, Step.LOOKED, blocks=blocks, level=round(level, 6), spent=spent, undecided=undecided)
    if undecided or blocks == plan.spec.blocks:
        return plan
    shorter = ended_at(plan, blocks)
    folder.write_plan(shorter)
    return shorter


def _finished_blocks(plan: SweepPlan, state: SweepState) -> int:
    """The number of finished blocks between two blocks; 0 within a block."""
    place = state.next_number - 1  # runs are executed in order
    if place == 0 or (place < len(plan.runs) and plan.runs[place].block == plan.runs[place - 1].block):
        return 0
    return plan.runs[place - 1].block


def _with_winners(plan: SweepPlan, folder: SweepFolder, state: SweepState) -> SweepPlan:
    """Add fresh blocks of the three fastest configurations and the baseline after the last block."""
    spec = plan.spec
    if not spec.winner_blocks or plan.winners or state.next_number <= len(plan.runs):
        return plan
    runs = observations(folder, plan.metric)
    level = spending(plan, state).level(plan.ended_after or spec.blocks)
    winners = fastest(judge(runs, plan.metric, smallest_effect=spec.smallest_effect, level=level))
    if not winners:
        return plan
    _note_once(folder, state, Step.WINNERS_CHOSEN, configurations=winners, blocks=spec.winner_blocks)
    longer = with_winners(plan, winners)
    folder.write_plan(longer)
    return longer


def _note_once(folder: SweepFolder, state: SweepState, step: Step, **details: Any) -> None:
    """Append a line to the journal before the plan is written, unless a killed sweep has already appended it."""
    if (step, details) not in [(line.step, line.details) for line in state.decisions]:
        folder.append(step, **details)
