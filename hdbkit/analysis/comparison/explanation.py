"""Why one side is faster: the time of an operation in two sets of runs as parts, each with an interval.

The time of an operation is the server's CPU time, the waits of its sessions, the rest of their time in the server,
and client and network (``run.waits``). The differences have intervals by the replication of the comparison itself
(``replication``): that of the total at 95 %, and those of the parts at a confidence that holds for all of them
together (Bonferroni). Parts are only named where the total differs, so that an error in either is at most 5 %. Two
runs without replication are compared by ten stretches of each: the intervals then hold for these two runs alone.

A part is named as a cause where its interval excludes zero, it points the same way as the total, and it accounts for
at least a fifth of the total. That is an association: what the server waited for differs, and so does the time.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hdbkit.analysis.comparison.replication import BASE, NEW, Replication, Unit, replication
from hdbkit.analysis.comparison.sessions import runs_of
from hdbkit.analysis.run.server_work import work_of
from hdbkit.analysis.run.waits import OUTSIDE, Parts, parts_of
from hdbkit.analysis.statistics.two_samples import Sample, half_widths
from hdbkit.results.folder import RunFolder
from hdbkit.results.manifest import Manifest
from hdbkit.text import number, share

_STRETCHES = 10
"""Stretches of a run that stand for runs where there is only one on each side."""
_CONFIDENCE = 0.95
_CAUSE = 0.2
"""The least share of the total that a cause accounts for."""
_SMALL = 0.01
"""A part that is never more than this share of an operation's time is added to the other small ones."""
_TOTAL, _REST = "total", "other waits"
_NAMED = 3
"""At most this many causes are named in a sentence."""
_FALSE_DISCOVERIES = 0.05

Run = tuple[RunFolder, Manifest]


@dataclass(frozen=True)
class Part:
    """A part of an operation's time on both sides in milliseconds, and the interval of the difference new - base.

    ``low_ms`` and ``high_ms`` are NaN where nothing is replicated.
    """

    name: str
    base_ms: float
    new_ms: float
    low_ms: float
    high_ms: float

    @property
    def difference_ms(self) -> float:
        """New - base."""
        return self.new_ms - self.base_ms

    @property
    def is_clear(self) -> bool:
        """Whether the interval excludes zero."""
        return self.low_ms > 0 or self.high_ms < 0


@dataclass(frozen=True)
class Counter:
    """What the server counted per operation on both sides, with the probability of such a difference by chance."""

    name: str
    base: float
    new: float
    p: float


@dataclass(frozen=True)
class Explanation:
    """The parts of an operation's time on two sides; ``parts`` are in the order of their differences."""

    noun: str
    total: Part
    parts: tuple[Part, ...]
    counters: tuple[Counter, ...]
    """Counters that differ, with a rate of false discoveries of 5 %; the most different first."""
    how: str
    """What the intervals are made of."""

    @property
    def causes(self) -> list[Part]:
        """The parts that account for a clear difference; empty if there is none, or no part explains it."""
        if not self.total.is_clear:
            return []
        least = _CAUSE * self.total.difference_ms
        same_way = [one for one in self.parts if one.is_clear and one.difference_ms * self.total.difference_ms > 0]
        return [one for one in same_way if abs(one.difference_ms) >= abs(least)][:_NAMED]

    @property
    def sentence(self) -> str:
        """The explanation in one or two sentences."""
        total = self.total
        if not math.isfinite(total.low_ms):
            return (
                f"The parts of the time per {self.noun} have no intervals, so none is named as a cause: {self.how}."
            )
        if not total.is_clear:
            return f"The time per {self.noun} does not differ beyond chance, so there is nothing to explain."
        faster = total.difference_ms < 0
        times = max(total.base_ms, total.new_ms) / min(total.base_ms, total.new_ms)
        head = f"{number(times, 2)} times the time per {self.noun}"
        head = f"1/{number(times, 2)} of the time per {self.noun}" if faster else head
        if not (causes := self.causes):
            return (
                f"{head} ({_from_to(total)}), and no part of it explains the difference: each one's interval "
                "includes zero or it is less than a fifth of the difference. More blocks make the intervals narrower."
            )
        named = "; ".join(
            f"{one.name} {'fell' if one.difference_ms < 0 else 'rose'} {_from_to(one)} ms per {self.noun} "
            f"({share(one.difference_ms / total.difference_ms)} of the difference)"
            for one in causes
        )
        return f"{head}: {named}."


def _from_to(part: Part) -> str:
    low, high = part.base_ms + part.low_ms, part.base_ms + part.high_ms
    after = f"{number(part.new_ms, 3)} ({number(max(low, 0), 3)} to {number(high, 3)})"
    return f"from {number(part.base_ms, 3)} to {after}"


def explain(base: Sequence[Run], new: Sequence[Run]) -> Explanation | None:
    """Why the runs of ``new`` take more or less time than those of ``base``.

    None where waits were not sampled in each run.

    Args:
        base: runs of one side with their manifests; of the same workload and user count as ``new``.
        new: those of the other.

    Raises:
        DamagedResult: the tables of a run cannot be read.
    """
    sides = {BASE: base, NEW: new}
    stretches = _STRETCHES if len(base) == len(new) == 1 else 1
    found = {
        side: [parts_of(folder, manifest, stretches) for folder, manifest in runs] for side, runs in sides.items()
    }
    if any(one is None for parts in found.values() for one in parts):
        return None
    table = _table({side: [one for one in parts if one] for side, parts in found.items()})
    noun = base[0][1].noun
    if stretches > 1:
        how = f"{stretches} stretches of each of the two runs, so the intervals hold for these runs alone"
        designs = [Replication(Unit.NONE, _samples(table[name]), how) for name in table]
        return _explained(noun, table, designs, how, ())
    runs = runs_of({side: [manifest for _, manifest in group] for side, group in sides.items()})
    by_run = _by_run(table, sides)
    designs = [replication(runs.assign(score=runs["run_id"].map(by_run[name]))) for name in table]
    return _explained(noun, table, designs, designs[0].words, _counters(sides))


def _table(parts: Mapping[str, Sequence[Parts]]) -> pd.DataFrame:
    """A row per run (or stretch of one) with its side in the index; the total and each part in columns."""
    frames = [
        one.parts_ms.assign(**{_TOTAL: one.total_ms}).set_axis(pd.Index([side] * len(one.total_ms), name="side"))
        for side, runs in parts.items()
        for one in runs
    ]
    table = pd.concat(frames).fillna(0.0)
    means = table.groupby(level="side").mean()
    large = (means.div(means[_TOTAL], axis=0) >= _SMALL).any() | table.columns.isin([OUTSIDE])
    kept = table.loc[:, large]
    small = table.loc[:, ~large].sum(axis=1)
    return kept.assign(**{_REST: small}) if (small > 0).any() else kept


def _by_run(table: pd.DataFrame, sides: Mapping[str, Sequence[Run]]) -> pd.DataFrame:
    return table.set_axis(pd.Index([manifest.run_id for runs in sides.values() for _, manifest in runs]))


def _samples(values: pd.Series[float]) -> tuple[NDArray[np.float64], ...]:
    new, base = (np.array([[one] for one in values[values.index == side]], dtype=np.float64) for side in (NEW, BASE))
    return new, base


def _explained(
    noun: str, table: pd.DataFrame, designs: Sequence[Replication], how: str, counters: tuple[Counter, ...]
) -> Explanation:
    of_parts = 1 - (1 - _CONFIDENCE) / (len(designs) - 1)
    base, new = (table[table.index == side].mean().tolist() for side in (BASE, NEW))
    parts = {}
    for name, base_ms, new_ms, design in zip(table.columns, base, new, designs, strict=True):
        samples = [Sample.of(values) for values in design.samples]
        confidence = _CONFIDENCE if name == _TOTAL else of_parts
        half = half_widths(samples, confidence) if samples else np.array([np.nan])
        half_ms = float(np.nan if not np.isfinite(half).all() else half.mean())
        away = new_ms - base_ms
        parts[str(name)] = Part(str(name), base_ms, new_ms, away - half_ms, away + half_ms)
    total = parts.pop(_TOTAL)
    ordered = sorted(parts.values(), key=lambda one: -abs(one.difference_ms))
    return Explanation(noun, total, tuple(ordered), counters, how)


def _counters(sides: Mapping[str, Sequence[Run]]) -> tuple[Counter, ...]:
    """What the server counted per operation and differs, by Welch's test and Benjamini and Hochberg (1995)."""
    from scipy.stats import false_discovery_control, ttest_ind

    each = {
        side: pd.DataFrame(
            [{one.what: one.each for one in work_of(manifest.measured)} for _, manifest in runs]
        ).dropna(axis=1)
        for side, runs in sides.items()
    }
    names = [str(name) for name in each[BASE] if name in each[NEW]]
    if min(len(one) for one in each.values()) < 3 or not names:
        return ()
    found = []
    for name in names:
        base, new = each[BASE][name], each[NEW][name]
        if base.std() + new.std() > 0:
            p = float(ttest_ind(base, new, equal_var=False).pvalue)
            found.append(Counter(name, float(base.mean()), float(new.mean()), p))
    adjusted = [*false_discovery_control([one.p for one in found])] if found else []
    kept = [one for one, p in zip(found, adjusted, strict=True) if p <= _FALSE_DISCOVERIES]
    return tuple(sorted(kept, key=_apart, reverse=True))


def _apart(counter: Counter) -> float:
    """How many times as much one side has as the other, on the log scale."""
    low, high = sorted((counter.base, counter.new))
    return float(np.log(high / low)) if low > 0 else float(np.inf)
