"""Real experiments on equal sides beside other work: ``python -m bench.verdicts.real FILE [ROUNDS]``.

Each round has one experiment of each kind, in random order, on private PostgreSQL servers with equal data and
settings: a sweep by runs and one by slices over a setting that vacuum alone uses, a comparison in turn and one at the
same time, and a search for the highest rate, whose interval must overlap that of the one before. Runs last one
second, and nine by slices. A line for each is appended to FILE, so that an interrupted series goes on; the counts of
all lines are printed.
"""

from __future__ import annotations

import os
import random
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import scipy

import hdbkit
from bench.common import scratch, server
from hdbkit.config.preparation import Reset
from hdbkit.config.sweep_spec import CompareBy
from hdbkit.errors import HdbkitError
from hdbkit.servers import PrivateServer

ROUNDS = 30
BLOCKS, SLICED_RUNS = 3, 3
"""Three runs by slices of four configurations are so many that the verdict is not about these runs alone."""
SEARCHES_EVERY = 6
"""A search takes several times as long as all else of a round, so that not every round has one."""
LOAD = hdbkit.Load(rampup_s=0.3, duration_s=1, counter_interval_s=60, waits_hz=0)
USERS = (2,)
NOTHING = hdbkit.Preparation(reset=Reset.NONE, cooldown_s=0)
_SETTING = "vacuum_cost_page_hit"
_DIFFERENT = ("faster", "slower", "different")


def swept(one: PrivateServer, seed: int, compare_by: CompareBy) -> tuple[str, str]:
    """The verdict and the sentence of a sweep of two equal configurations, by slices of four."""
    slices = compare_by is CompareBy.SLICES
    spec = hdbkit.SweepSpec(
        settings={_SETTING: ("1", "2", "3", "4") if slices else ("1", "2")},
        virtual_users=USERS,
        blocks=SLICED_RUNS if slices else BLOCKS,
        compare_by=compare_by,
        reset=Reset.NONE,
        cooldown_s=0,
        slice_s=0.2 if slices else None,
        seed=seed,
        load=LOAD.with_(duration_s=9 if slices else 1),
    )
    found = hdbkit.sweep(one.target, spec).verdicts.iloc[1:]
    verdict, sentence = found.sort_values("verdict", key=lambda each: ~each.isin(_DIFFERENT)).iloc[0][
        ["verdict", "sentence"]
    ]
    return str(verdict), str(sentence)


def compared(one: PrivateServer, other: PrivateServer, seed: int, together: bool) -> tuple[str, str]:
    """The verdict and the sentence of a comparison of two equal servers."""
    found = hdbkit.Workspace().measure_in_turn(
        one.target, other.target, together=together, blocks=BLOCKS, load=LOAD, virtual_users=USERS,
        preparation=NOTHING, label=f"equal{seed}",
    )  # fmt: skip
    return found.ratio.verdict, found.ratio.sentence


def highest_rate(one: PrivateServer, seed: int, before: list[tuple[float, float]]) -> tuple[str, str]:
    """Whether the intervals of this search and of the one before exclude each other; the first only begins.

    A search begins at the lower end of the one before.
    """
    rate = before[-1][0] if before and before[-1][0] else None
    found = hdbkit.find_max(
        one.target,
        "p95=50ms",
        load=LOAD.with_(virtual_users=USERS[0], rate=rate),
        blocks=2,
        preparation=NOTHING,
        label=f"max{seed}",
    )
    low, high = found.low or 0.0, found.high or float("inf")
    before.append((low, high))
    if len(before) == 1:
        return "none", f"{low:.4g} to {high:.4g}, the first"
    apart = low > before[-2][1] or before[-2][0] > high
    return (
        "different" if apart else "alike"
    ), f"{low:.4g} to {high:.4g}, before {before[-2][0]:.4g} to {before[-2][1]:.4g}"


def kinds(one: PrivateServer, other: PrivateServer) -> dict[str, Callable[[int], tuple[str, str]]]:
    """Each kind of experiment, by its name."""
    intervals: list[tuple[float, float]] = []
    return {
        "sweep by runs": lambda seed: swept(one, seed, CompareBy.RUNS),
        "sweep by slices": lambda seed: swept(one, seed, CompareBy.SLICES),
        "in turn": lambda seed: compared(one, other, seed, together=False),
        "together": lambda seed: compared(one, other, seed, together=True),
        "find-max": lambda seed: highest_rate(one, seed, intervals),
    }


def judged(file: Path) -> pd.DataFrame:
    """The lines of the experiments that came to a verdict."""
    lines = pd.read_csv(file, sep="\t", names=["time", "load", "kind", "verdict", "sentence"])
    return lines[lines["verdict"] != "none"]


def show_counts(file: Path) -> None:
    """Print how many of the lines are false verdicts, with exact intervals."""
    lines = judged(file)
    for kind, verdicts in [*lines.groupby("kind")["verdict"], ("all", lines["verdict"])]:
        wrong = int(verdicts.isin(_DIFFERENT).sum())
        exact = scipy.stats.binomtest(wrong, len(verdicts)).proportion_ci()
        others = verdicts[~verdicts.isin(_DIFFERENT)].value_counts().to_dict()
        print(
            f"{kind}: {wrong} of {len(verdicts)} false ({100 * exact.low:.0f} to {100 * exact.high:.0f} %); {others}"
        )


def main() -> None:
    """Run the rounds that FILE lacks."""
    file = Path(sys.argv[1])
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else ROUNDS
    known = judged(file)["kind"].value_counts().to_dict() if file.exists() else {}
    with scratch(), server(1) as one, server(1) as other:
        made = kinds(one, other)
        for number in range(rounds):
            for kind in random.Random(number).sample(sorted(made), len(made)):
                if number < known.get(kind, 0) or (kind == "find-max" and number % SEARCHES_EVERY):
                    continue
                try:
                    verdict, sentence = made[kind](int(time.time()))
                except HdbkitError as error:
                    verdict, sentence = "none", f"{type(error).__name__}: {error}".replace("\n", " ")
                line = (time.strftime("%FT%T"), f"{os.getloadavg()[0]:.1f}", kind, verdict, sentence)
                with file.open("a", encoding="utf-8") as to:
                    print(*line, sep="\t", file=to)
    show_counts(file)


if __name__ == "__main__":
    main()
