"""What an experiment that ends when it is decided asks after each block: which blocks are done, is there time left.

Both derive from plan and journal alone, so that an experiment that was killed and resumed ends as an uninterrupted
one. Time in which no process executed it does not count.
"""

from __future__ import annotations

import itertools
import statistics
from collections import defaultdict
from collections.abc import Sequence

from hdbkit.experiment.plan import ExperimentPlan
from hdbkit.results.journal import ExperimentState, JournalLine, Step


def finished_blocks(plan: ExperimentPlan, state: ExperimentState) -> int:
    """The number of finished blocks between two blocks; 0 within a block."""
    position = state.next_number - 1  # runs are executed in order
    if position == 0 or (position < len(plan.runs) and plan.runs[position].block == plan.runs[position - 1].block):
        return 0
    return plan.runs[position - 1].block


def time_is_over(plan: ExperimentPlan, lines: Sequence[JournalLine]) -> bool:
    """Whether one more block, of the median duration of those so far, would exceed the maximum duration."""
    within_s = plan.until_decided and plan.until_decided.within_s
    durations_s = _durations_s(plan, lines)
    return bool(within_s and durations_s and sum(durations_s) + statistics.median(durations_s) > within_s)


def _durations_s(plan: ExperimentPlan, lines: Sequence[JournalLine]) -> list[float]:
    """The duration of each block with what precedes its runs, in seconds."""
    block_of = {planned.number: planned.block for planned in plan.runs}
    durations_s: defaultdict[int, float] = defaultdict(float)
    block = 1
    for before, after in itertools.pairwise(lines):
        block = block_of.get(after.number or 0, block)
        if after.step is not Step.STARTED:
            durations_s[block] += (after.at - before.at).total_seconds()
    return list(durations_s.values())
