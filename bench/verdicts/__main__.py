"""Prints the table of all statements, the figures of the named parts, or with ``record`` records the noise."""

from __future__ import annotations

import sys
from pathlib import Path

from bench.verdicts import (
    anytime,
    checks,
    comparisons,
    dropping,
    explanations,
    highest_rate,
    noise,
    scaling,
    series,
    side_slices,
    slices,
    sweeps,
    tails,
)
from bench.verdicts.table import Statement, print_table

PARTS = {
    "sweeps": sweeps.main,
    "anytime": anytime.main,
    "dropping": dropping.main,
    "slices": slices.main,
    "scaling": scaling.main,
    "series": series.main,
    "comparisons": comparisons.main,
}

STATEMENTS: tuple[Statement, ...] = (
    *sweeps.STATEMENTS,
    *anytime.STATEMENTS,
    *slices.CLAIMS,
    *comparisons.STATEMENTS,
    *side_slices.CLAIMS,
    *checks.STATEMENTS,
    *explanations.STATEMENTS,
    *highest_rate.STATEMENTS,
    *tails.STATEMENTS,
)


def main() -> int:
    """Run what the command line names."""
    if sys.argv[1:] == ["record"]:
        noise.record()
        return 0
    if sys.argv[1:2] == ["table"] or not sys.argv[1:]:
        some = [one for one in STATEMENTS if not sys.argv[3:] or any(word in one.words for word in sys.argv[3:])]
        print_table(some, Path(sys.argv[2]) if sys.argv[2:] else None)
        return 0
    for name in sys.argv[1:]:
        PARTS[name]()
    return 0


if __name__ == "__main__":
    sys.exit(main())
