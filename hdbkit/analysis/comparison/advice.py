"""What would decide an undecided comparison of two sides, in words, and the command that does it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from hdbkit.analysis.comparison.replication import Noise, Replication, Unit
from hdbkit.analysis.comparison.side_slices import run_blocks
from hdbkit.analysis.statistics.carry_over import ENOUGH_BLOCKS, TIMES_AS_MANY
from hdbkit.analysis.statistics.dunnett import maximum_modulus
from hdbkit.analysis.statistics.power import MAX_BLOCKS, POWER, Critical, blocks_needed
from hdbkit.analysis.statistics.two_samples import models
from hdbkit.analysis.wording import blocks_text
from hdbkit.text import share

DEFAULT_BLOCKS = 6
"""Blocks of a comparison whose sides are measured in turn, where no other number is known."""
_MIN_BLOCKS = ENOUGH_BLOCKS
"""The least number of blocks that is advised."""
MANY_BLOCKS = 50
"""Beyond this many blocks in turn, slices that alternate between both sides are advised."""


@dataclass(frozen=True)
class Again:
    """How both sides are measured again."""

    command: str = ""
    """The command; the advice adds the number of blocks."""
    slices: str = ""
    """That which lets the load alternate between them in slices, where they are two databases."""
    unfinished: bool = False
    """Whether that experiment has planned blocks that are not measured."""
    resume: str = ""
    """That which gives more blocks to the experiment that measured them."""
    level: Callable[[int], float] | None = None
    """The confidence of the intervals after a number of blocks; by default that of the comparison."""


def deciding(
    design: Replication, seen: Noise, estimate: float, smallest_effect: float, confidence: float, again: Again
) -> str:
    """What would decide: more sessions, or a number of blocks within one session, or slices."""
    if design.unit not in (Unit.BLOCKS, Unit.NONE):
        return _more_units(design, again)
    if design.unit is Unit.BLOCKS:
        present, of_blocks = len(design.samples[0]), models(design.estimates)[-1][0]
        run_noise, df = math.sqrt(of_blocks.variance / of_blocks.counts[0] * present / 2), of_blocks.df
    else:
        run_noise, df, present = seen.run * math.sqrt(TIMES_AS_MANY), seen.run_df, _MIN_BLOCKS - 1
    wanted, about = DEFAULT_BLOCKS, ""
    if df > 0 and run_noise > 0:
        limit = math.log1p(smallest_effect)
        level = again.level or (lambda _: confidence)
        needed = blocks_needed(
            estimate, limit, run_noise, df, present, lambda blocks: _critical(level(blocks), blocks)
        )
        if needed.blocks and needed.low:
            wanted = max(needed.blocks, _MIN_BLOCKS)
            high = needed.high and max(needed.high, _MIN_BLOCKS)
            about = f" with {share(POWER)}, about {blocks_text(wanted, max(needed.low, _MIN_BLOCKS), high)}"
        if again.slices and (not needed.blocks or needed.blocks > MANY_BLOCKS):
            blocks = f"more than {MAX_BLOCKS:,}" if not needed.blocks else f"about {wanted:,}"
            way = "at the same time" if design.together else "in turn"
            return (
                f"{way} {blocks} blocks would be needed at this noise; let the load alternate between both sides in "
                f"slices: {again.slices}"
            )
        if not needed.blocks and design.unit is Unit.BLOCKS:
            return f"more than {MAX_BLOCKS:,} blocks would be needed at this noise; use longer runs or a quieter host"
    if again.resume:
        return f"more blocks would decide{about}: {again.resume} --blocks {max(wanted, present + 1)}"
    way = " --together" if design.together else ""
    how = f": {again.command}{way} --blocks {wanted}" if again.command else ""
    first = "more blocks would decide" if design.unit is Unit.BLOCKS else "measure both sides in turn in one session"
    return f"{first}{about}{how}"


def _more_units(design: Replication, again: Again) -> str:
    """Which units would decide that are no blocks yet: sessions, or runs in place of cycles."""
    if design.unit is Unit.CYCLES:
        blocks = run_blocks(design.samples[0].shape[1])
        return "more blocks would decide" + (f": {again.resume} --blocks {blocks}" if again.resume else "")
    return f"more sessions of both sides would decide{', best in turn' if design.correlation.variance > 1 else ''}"


def _critical(confidence: float, blocks: int) -> Critical:
    """The critical values of one interval over differences within blocks."""
    value = maximum_modulus(1, blocks - 1, confidence)
    return Critical(value, value, blocks - 1)
