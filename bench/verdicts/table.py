"""The table of every statement: its goal, and how often it is wrong under each of the noises.

A module adds its own to ``STATEMENTS`` of :mod:`bench.verdicts.__main__`; one line each, so a rate takes seconds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bench.verdicts.noise import NOISES, Noise


@dataclass(frozen=True)
class Statement:
    """What is claimed, the per cent in which it may be wrong, and the per cent in which it is under a noise."""

    words: str
    goal: float
    rate: Callable[[Noise], float]


def print_table(statements: Sequence[Statement]) -> None:
    """Print a row for each statement, in Markdown; a rate beyond its goal is bold."""
    print("| statement | goal, at most % | " + " | ".join(NOISES) + " |")
    print("| --- | --- |" + " --- |" * len(NOISES))
    for one in statements:
        rates = [one.rate(noise) for noise in NOISES.values()]
        cells = [f"**{rate:.1f}**" if rate > one.goal else f"{rate:.1f}" for rate in rates]
        print(f"| {one.words} | {one.goal:g} | {' | '.join(cells)} |", flush=True)
