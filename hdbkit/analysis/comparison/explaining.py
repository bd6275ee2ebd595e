"""How the time of an operation is divided among its parts on two sides, and what their differences are worth.

The time of an operation is the CPU time of the server's sessions, their waits, the rest of their time in the server,
and client and network (``run.waits``). Differences, their estimates and intervals are those of the comparison itself:
what it replicates (``replication``), at its confidence. That of the total is one interval; those of the parts hold
for all of them together (Bonferroni).

Within one session the times of both sides of a block are scaled to the level of all blocks first: what disturbs a
host multiplies the times of both. Not where one side came first more often: the scale would hide the trend that is
subtracted there.

Two single runs are compared by ten stretches of each. Neighbouring stretches are alike, which widens the intervals
(``statistics.autocorrelation``); they hold for these two runs, and no cause is named.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import pairwise
from typing import TYPE_CHECKING

from hdbkit.analysis.comparison.beside_parts import (
    Run,
    counted,
    counted_by_statement,
    counters_apart,
    operations_of_parts,
)
from hdbkit.analysis.comparison.contrasts import contrasts
from hdbkit.analysis.comparison.explanation import Explanation, Part, TimeRatio
from hdbkit.analysis.comparison.plans import other_plans
from hdbkit.analysis.comparison.replication import BASE, NEW, Replication, Unit, replication
from hdbkit.analysis.comparison.sessions import runs_of
from hdbkit.analysis.run.waits import (
    BESIDE,
    CLIENT_CPU,
    OUTSIDE,
    PROCESSORS,
    RUNNING,
    SERVER_CPU,
    UNREPORTED,
    UNTOLD,
    parts_of,
)
from hdbkit.analysis.statistics.autocorrelation import inflation
from hdbkit.analysis.statistics.two_samples import Correlation
from hdbkit.later import numpy as np
from hdbkit.later import pandas as pd
from hdbkit.results.finding import Ratio
from hdbkit.results.kept import read_plans

if TYPE_CHECKING:
    from numpy.typing import NDArray

TOTAL, _REST = "total", "anything else"
_STRETCHES = 10
"""Stretches of a run that stand for runs where there is only one on each side."""
_STANDARD_ERRORS = 1.0
"""How many are added to the correlation of neighbouring stretches; from our own simulations."""
_SMALL = 0.01
"""A part that is never more than this share of an operation's time is added to the other small ones."""
_RUNS_OF_A_PLAN = 4
"""The least runs of each side for a plan that all of one side have: one that flips from run to run differs so in at
most 0.8 % of four, and in 12.5 % of two."""


@dataclass(frozen=True)
class Level:
    """What an explanation keeps to of the comparison that it explains."""

    confidence: float = 0.95
    """Of the intervals."""
    decided: bool = True
    """Whether the comparison has decided that the sides differ."""
    comparisons: int = 1
    """Among how many comparisons this one was chosen; all hold together."""

    @classmethod
    def of(cls, ratio: Ratio, confidence: float, comparisons: int = 1) -> Level:
        """That of a ratio with its verdict."""
        return cls(confidence, ratio.verdict.differs, comparisons)

    def of_each(self, intervals: int) -> float:
        """The confidence of each of several intervals that hold together."""
        return 1 - (1 - self.confidence) / (self.comparisons * intervals)


def explain(base: Sequence[Run], new: Sequence[Run], level: Level | None = None) -> Explanation | None:
    """Why the runs of ``new`` take more or less time than those of ``base``.

    Of runs at several user counts, those at the largest count that both sides have. None where waits were not sampled
    in each of them, as in runs of other tools.

    Args:
        base: runs of one side with their manifests, of the same workload as those of ``new``.
        new: those of the other.
        level: that of the comparison at this count; None: 95 %, and the total decides by itself.

    Raises:
        DamagedResult: the tables of a run cannot be read.
    """
    counts = [{manifest.plan.load.virtual_users for _, manifest in runs} for runs in (base, new)]
    sampled = all(folder.table("waits").is_file() for folder, _ in (*base, *new))
    if not sampled or not (shared := counts[0] & counts[1]):
        return None
    base, new = ([one for one in runs if one[1].plan.load.virtual_users == max(shared)] for runs in (base, new))
    sides = {BASE: base, NEW: new}
    alone = len(base) == len(new) == 1
    rows = []
    for side, of_side in sides.items():
        for folder, manifest in of_side:
            parts = parts_of(folder, manifest, _STRETCHES if alone else 1)
            if parts is None:
                return None
            more = {TOTAL: parts.total_ms} | ({} if parts.beside_ms is None else {BESIDE: parts.beside_ms})
            rows.append(parts.parts_ms.assign(side=side, run_id=manifest.run_id, **more))
    noun, times = base[0][1].noun, pd.concat(rows, ignore_index=True)
    users = max(shared) if len(counts[0] | counts[1]) > 1 else None
    if alone:
        return replace(explained_by_parts(noun, times), virtual_users=users)
    runs = runs_of({side: [manifest for _, manifest in of_side] for side, of_side in sides.items()})
    explanation = explained_by_parts(noun, times, runs.drop(columns="side"), level)
    whole = {manifest.run_id: (folder, manifest) for folder, manifest in (*base, *new)}
    in_order = [whole[run_id] for run_id in runs["run_id"]]
    design = partial(replicated, runs)
    of_server = pd.DataFrame([counted(manifest) for _, manifest in in_order])
    of_statements = pd.DataFrame([counted_by_statement(*run) for run in in_order])
    counters, statements = (counters_apart(one, runs["side"], design) for one in (of_server, of_statements))
    kept = [[read_plans(folder.plans) for folder, _ in of_side] for of_side in (base, new)]
    enough = min(len(base), len(new)) >= _RUNS_OF_A_PLAN
    each = [manifest.measured.per_operation.round_trips for _, manifest in in_order]
    known = [trips for trips in each if trips is not None] or [1.0]
    return replace(
        explanation,
        virtual_users=users,
        counters=tuple(sorted(counters, key=lambda one: one.apart, reverse=True)),
        statements=tuple(sorted(statements, key=lambda one: -abs(one.new - one.base) * one.is_time)),
        where=operations_of_parts(sides),
        plans=tuple(other_plans(*kept)) if enough else (),
        plans_note=_plans_note(base[0][1].plan.target.url, new[0][1].plan.target.url),
        round_trips=float(np.mean(known)),
    )


def _plans_note(base: str, new: str) -> str:
    """What is to be known of plans that differ between two databases, each built and analysed once."""
    if base == new:
        return ""
    return " (each side has one build and one set of statistics, so another ANALYZE may change this)"


def replicated(runs: pd.DataFrame, values: Sequence[float] | NDArray[np.float64] | pd.Series[float]) -> Replication:
    """What a comparison replicates of one value per run, in the order of ``runs`` (``sessions.runs_of``)."""
    return replication(runs.assign(score=np.asarray(values, dtype=float)))


def explained_by_parts(
    noun: str, times: pd.DataFrame, runs: pd.DataFrame | None = None, level: Level | None = None
) -> Explanation:
    """The explanation of parts that are known.

    Args:
        noun: what an operation is called.
        times: a row per run, or stretch of one of two runs, with ``side`` (``BASE`` or ``NEW``), ``run_id``,
            ``TOTAL``, and a column per part, all in milliseconds per operation; NaN where a run has no such part.
            ``BESIDE``, where it is there, is no part of the total.
        runs: a row per run in the order of time, as ``replication`` needs them; None: two runs in stretches.
        level: as for ``explain``.
    """
    level = level or Level()
    sides, other_work = times["side"], times.get(BESIDE)
    ms = _of_one_kind(times.drop(columns=["side", "run_id", BESIDE], errors="ignore")).fillna(0.0).astype(float)
    queued = _queued(ms, sides)
    ms = _without_small(_told(ms), sides)
    if other_work is not None and other_work.notna().all():
        ms = ms.assign(**{BESIDE: other_work.astype(float)})
    samples: _Stretches | _Runs
    if runs is None:
        samples = _Stretches(sides)
    else:
        ordered = runs.assign(side=runs["run_id"].map(dict(zip(times["run_id"], sides, strict=True))))
        places = pd.Index(times["run_id"]).get_indexer(pd.Index(ordered["run_id"]))
        ms, sides = ms.iloc[places].reset_index(drop=True), sides.iloc[places].reset_index(drop=True)
        samples = _Runs(ordered)
    log_ms = np.log(ms[TOTAL])
    of_all = samples.difference(log_ms, level.of_each(1))
    time = TimeRatio.of(*of_all)
    scaled = ms.mul(samples.levels(log_ms), axis=0)
    confidence = level.of_each(len(ms.columns) - 1)
    parts = {str(name): _part(str(name), scaled[name], sides, samples, confidence) for name in scaled}
    total, beside = parts.pop(TOTAL), parts.pop(BESIDE, None)
    return Explanation(
        noun=noun,
        total=total,
        time=time,
        parts=tuple(sorted(parts.values(), key=lambda part: -abs(part.difference_ms))),
        how=samples.words,
        decided=level.decided,
        alone=runs is None,
        beside=beside,
        queued=queued,
    )


def _part(
    name: str, ms: pd.Series[float], sides: pd.Series[str], samples: _Stretches | _Runs, confidence: float
) -> Part:
    estimate, low, high = samples.difference(ms, confidence)
    base_ms = float(ms[sides == BASE].mean())
    return Part(name, base_ms, base_ms + estimate, low, high)


class _Stretches:
    """One run on each side: its stretches, whose neighbours are alike."""

    def __init__(self, sides: pd.Series[str]) -> None:
        self._sides = [np.asarray(sides == side) for side in (NEW, BASE)]
        count = int(self._sides[0].sum())
        self.words = f"{count} stretches of each of the two runs, so the intervals hold for these runs alone"

    def difference(self, values: pd.Series[float], confidence: float) -> tuple[float, float, float]:
        """New - base with its interval."""
        of_side = [values.to_numpy(dtype=float)[mine] for mine in self._sides]
        away = [one - one.mean() for one in of_side]
        squares = sum(float(one @ one) for one in away)
        products = sum(float(one[1:] @ one[:-1]) for one in away)
        plain, count = products / squares if squares else 0.0, len(of_side[0])
        common = Correlation(*inflation(plain, count, count, len(of_side), _STANDARD_ERRORS))
        samples = tuple(one[:, None] for one in of_side)
        return _difference(Replication(Unit.NONE, samples, self.words, correlation=common), of_side, confidence)

    def levels(self, log_ms: pd.Series[float]) -> pd.Series[float]:
        """By which times are multiplied; two runs have no blocks."""
        return pd.Series(1.0, index=log_ms.index)


class _Runs:
    """Several runs on a side, in the order of time."""

    def __init__(self, runs: pd.DataFrame) -> None:
        self._runs, self._sides = runs, [np.asarray(runs["side"] == side) for side in (NEW, BASE)]

    @cached_property
    def _design(self) -> Replication:
        return replicated(self._runs, np.zeros(len(self._runs)))

    @property
    def words(self) -> str:
        """What is replicated."""
        return self._design.words

    def difference(self, values: pd.Series[float], confidence: float) -> tuple[float, float, float]:
        """New - base with its interval."""
        of_side = [values.to_numpy(dtype=float)[mine] for mine in self._sides]
        return _difference(replicated(self._runs, values), of_side, confidence)

    def levels(self, log_ms: pd.Series[float]) -> pd.Series[float]:
        """By which the times of each run are multiplied, so that all pairs of neighbouring runs have the same level.

        What disturbs a host multiplies the times of both sides. The level of a block is the geometric mean of both,
        so that it favours neither. Times stay as they are where the sides do not share sessions, and where a trend is
        subtracted, which such levels would hide.
        """
        same = pd.Series(1.0, index=log_ms.index)
        if self._design.trend or self._design.unit in (Unit.NONE, Unit.SESSIONS):
            return same
        runs, blocks = self._runs.assign(score=log_ms.to_numpy(), row=np.arange(len(log_ms))), []
        for _, session in runs.groupby("session", sort=False):
            for block in _in_blocks(session):
                if block["side"].nunique() < 2:
                    return same
                blocks.append(block)
        levels = [float(block.groupby("side")["score"].mean().mean()) for block in blocks]
        middle = float(np.mean(levels))
        for level, block in zip(levels, blocks, strict=True):
            same.iloc[block["row"].to_numpy()] = math.exp(middle - level)
        return same


def _difference(
    design: Replication, of_side: Sequence[NDArray[np.float64]], confidence: float
) -> tuple[float, float, float]:
    """New - base as the design estimates it, and its interval, NaN where nothing is replicated."""
    new, base = (float(one.mean()) for one in of_side)
    ((estimate, ends, *_),) = contrasts(design.estimates, np.array([new - base]), confidence)
    return estimate, *ends


def _in_blocks(runs: pd.DataFrame) -> list[pd.DataFrame]:
    """Stretches of neighbouring runs that end with the first run of the other side; the last takes what follows."""
    ends, seen = [0], set[str]()
    for end, side in enumerate(runs["side"], 1):
        seen.add(side)
        if len(seen) == 2:
            ends.append(end)
            seen = set()
    ends = [*ends[:-1], len(runs)] if len(ends) > 1 else [0, len(runs)]
    return [runs.iloc[first:last] for first, last in pairwise(ends)]


def _of_one_kind(ms: pd.DataFrame) -> pd.DataFrame:
    """The parts, without those of time without a wait unless all runs tell these apart."""
    split = [name for name in (SERVER_CPU, PROCESSORS, UNREPORTED) if name in ms]
    if RUNNING not in ms or not split:
        return ms
    whole = ms[RUNNING].fillna(0.0) + ms[split].fillna(0.0).sum(axis=1)
    return ms.drop(columns=split).assign(**{RUNNING: whole})


def _told(ms: pd.DataFrame) -> pd.DataFrame:
    """The parts with waits for a processor and the network as one, where they are too large to be told apart."""
    if PROCESSORS not in ms or OUTSIDE not in ms or (ms[OUTSIDE] >= 0).all():
        return ms
    return ms.drop(columns=[PROCESSORS, OUTSIDE]).assign(**{UNTOLD: ms[PROCESSORS] + ms[OUTSIDE]})


def _queued(ms: pd.DataFrame, sides: pd.Series[str]) -> float:
    """How long sessions and clients wait for a core for each second of CPU time, as the mean of both sides."""
    means = ms.groupby(sides).mean()
    cpu_ms = means[[name for name in (SERVER_CPU, CLIENT_CPU) if name in means]].sum(axis=1)
    if PROCESSORS not in means or (cpu_ms <= 0).any():
        return 0.0
    outside_ms = means[OUTSIDE].clip(upper=0) if OUTSIDE in means else 0.0
    return float(((means[PROCESSORS] + outside_ms).clip(lower=0) / cpu_ms).mean())


def _without_small(ms: pd.DataFrame, sides: pd.Series[str]) -> pd.DataFrame:
    """The parts with those that are small on both sides added up."""
    means = ms.groupby(sides).mean()
    large = (means.div(means[TOTAL], axis=0).abs() >= _SMALL).any() | ms.columns.isin([OUTSIDE, UNTOLD])
    small = ms.loc[:, ~large].sum(axis=1)
    return ms.loc[:, large].assign(**({_REST: small} if (small != 0).any() else {}))
