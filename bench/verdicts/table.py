"""The table of every statement: its goal, and how often it is wrong under each of the noises.

A module adds its own to ``STATEMENTS`` of :mod:`bench.verdicts.__main__`; one line each, so a rate takes seconds.
Rows are kept in a file as they are made: a table that was interrupted goes on with the statements that it lacks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.verdicts.noise import NOISES, Noise


@dataclass(frozen=True)
class Statement:
    """What is claimed, the per cent in which it may be wrong, and the per cent in which it is under a noise."""

    words: str
    goal: float
    rate: Callable[[Noise], float]


def print_table(statements: Sequence[Statement], kept: Path | None = None) -> None:
    """Print a row for each statement, in Markdown, a rate beyond its goal in bold; ``kept`` has rows made before."""
    rows = kept.read_text(encoding="utf-8").splitlines() if kept and kept.exists() else []
    made = {row.split(" | ")[0].removeprefix("| "): row for row in rows}
    print("| statement | goal, at most % | " + " | ".join(NOISES) + " |")
    print("| --- | --- |" + " --- |" * len(NOISES))
    for one in statements:
        row = made.get(one.words) or _row(one)
        if kept and one.words not in made:
            with kept.open("a", encoding="utf-8") as file:
                print(row, file=file)
        print(row, flush=True)


def _row(one: Statement) -> str:
    rates = [one.rate(noise) for noise in NOISES.values()]
    cells = [f"**{rate:.1f}**" if rate > one.goal else f"{rate:.1f}" for rate in rates]
    return f"| {one.words} | {one.goal:g} | {' | '.join(cells)} |"
