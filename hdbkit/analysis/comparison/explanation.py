"""Why one side is faster: the time of an operation in two sets of runs as parts, each with an interval.

The time of an operation is the server's CPU time, the waits of its sessions, the rest of their time in the server,
and client and network (``run.waits``). The differences have intervals by the replication of the comparison itself
(``replication``): that of the total at 95 %, and those of the parts at a confidence that holds for all of them
together (Bonferroni). Parts are only named where the total differs, so that an error in either is at most 5 %. Two
runs without replication are compared by ten stretches of each: the intervals then hold for these two runs alone.

Within a session the times of both sides of a block are scaled to the level of all blocks first: what disturbs a host
multiplies the times of both.

A part is named as a cause where its interval excludes zero, it points the same way as the total, and it accounts for
at least a fifth of the total. With it are named what changed beside it: the operation in which most of it is, a count
of the server's work, the processors' time that other processes took, and plans that all runs of a side have and none
of the other. That is an association: what the server waited for differs, and so does the time.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING

from hdbkit.analysis.comparison.plans import other_plans
from hdbkit.analysis.comparison.replication import BASE, NEW, Replication, Unit, replication
from hdbkit.analysis.comparison.sessions import runs_of
from hdbkit.analysis.run.records import table
from hdbkit.analysis.run.server_work import OF_STATEMENTS, PAGES, READ, SCANNED, SPILLED, server_work_of
from hdbkit.analysis.run.waits import (
    CLIENT_CPU,
    OUTSIDE,
    PROCESSORS,
    RUNNING,
    SERVER_CPU,
    UNREPORTED,
    part_of,
    parts_of,
)
from hdbkit.analysis.statistics.two_samples import Sample, half_widths
from hdbkit.later import numpy as np
from hdbkit.later import pandas as pd
from hdbkit.results.folder import RunFolder
from hdbkit.results.kept import read_plans
from hdbkit.results.manifest import Manifest
from hdbkit.text import number, share

if TYPE_CHECKING:
    from numpy.typing import NDArray

_STRETCHES = 10
"""Stretches of a run that stand for runs where there is only one on each side."""
_CONFIDENCE = 0.95
_CAUSE = 0.2
"""The least share of the total that a cause accounts for."""
_SMALL = 0.01
"""A part that is never more than this share of an operation's time is added to the other small ones."""
TOTAL, _REST = "total", "anything else"
_OF_CPU = (SERVER_CPU, CLIENT_CPU)
_NO_WAITS = (*_OF_CPU, PROCESSORS, UNREPORTED, OUTSIDE, RUNNING)
_OF_PLANS = (SERVER_CPU, RUNNING, UNREPORTED)
"""The parts with which a plan that differs is named."""
_MOST = 0.7
"""The least share of a part's difference that one operation has to be named for it."""
_DOUBLE = math.log(1.5)
"""A counter is named where one side has at least this many times as much, on the log scale."""
_NAMED = 3
"""At most this many causes are named in a sentence."""
_FALSE_DISCOVERIES = 0.05
_TIME = OF_STATEMENTS["time_ms"]
_COMPARED = {name: words for name, words in OF_STATEMENTS.items() if name != "rows"}
"""What is compared of each statement; its rows follow from its executions."""
_STATEMENTS = 100
"""The number of statements of a run that are compared: those that took the most time."""

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
class RoundTrip:
    """The medians of the round trips before the runs of both sides, and how many of them an operation has."""

    base_ms: float
    new_ms: float
    each: float


_OTHERS = "time of the processors that other processes used (%)"
_ROUND_TRIP = "round trip before the run (ms)"
_OF_HOSTS = {
    "context_switches": "context switches",
    "interrupts": "interrupts",
    "soft_interrupts_net_rx": "soft interrupts for received packets (NET_RX)",
}
"""What is compared of each host, per operation."""
_BESIDE: Mapping[str, tuple[str, ...]] = {
    RUNNING: (SCANNED, READ, PAGES, SPILLED, _OTHERS),
    SERVER_CPU: (SCANNED, READ, PAGES, SPILLED, _OTHERS),
    PROCESSORS: (_OTHERS,),
    UNREPORTED: (READ,),
    CLIENT_CPU: (_OTHERS,),
    OUTSIDE: (_ROUND_TRIP, _OTHERS),
}
"""The counters that may be named with a part, the most telling first."""


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
    where: Mapping[str, str] = field(default_factory=dict)
    """The operation in which most of a part's difference is, where that is one."""
    statements: tuple[Counter, ...] = ()
    """What the server counted by statement and differs, as ``counters``; the statements that take the time first."""
    plans: tuple[str, ...] = ()
    """The statements whose plans differ, each with what it changed to."""
    round_trip: RoundTrip | None = None
    """None where it was not measured on both sides."""

    @property
    def causes(self) -> list[Part]:
        """The parts that account for a clear difference; empty if there is none, or no part explains it."""
        if not self.total.is_clear:
            return []
        found = [one for one in self.parts if one.is_clear and self._share(one) >= _CAUSE]
        return sorted(found, key=self._share, reverse=True)[:_NAMED]

    def _share(self, part: Part) -> float:
        """The share of the total's difference that a part accounts for.

        Who uses more CPU time waits longer for processors, and so do all others. That share of the waits belongs to
        the CPU time: the waits are the CPU time times the wait for each second of it, and the difference of a product
        is what each factor changes at the other's mean.
        """
        return (part.difference_ms + self._queued_ms(part)) / self.total.difference_ms

    def _queued_ms(self, part: Part) -> float:
        """The difference of the waits for a processor that belongs to a part; those waits give it away."""
        cpu = [one for one in self.parts if one.name in _OF_CPU]
        waits = next((one for one in self.parts if one.name == PROCESSORS), None)
        base_ms, new_ms = sum(one.base_ms for one in cpu), sum(one.new_ms for one in cpu)
        if waits is None or part not in (*cpu, waits) or min(base_ms, new_ms) <= 0:
            return 0.0
        for_each = (waits.base_ms / base_ms + waits.new_ms / new_ms) / 2
        return for_each * (part.difference_ms if part in cpu else base_ms - new_ms)

    @property
    def sentence(self) -> str:
        """The explanation in one or two sentences, and the plans that differ, whether the time does or not."""
        others = [one for one in self.plans if all(one not in self._beside(cause) for cause in self.causes)]
        plans = f" Plans: {'; '.join(others)}." if others else ""
        return f"{self._of_time}{self._of_round_trip}{plans}"

    @property
    def _of_time(self) -> str:
        total = self.total
        if not math.isfinite(total.low_ms):
            return (
                f"The parts of the time per {self.noun} have no intervals, so none is named as a cause: {self.how}."
            )
        if not total.is_clear:
            return f"The time per {self.noun} does not differ beyond chance, so there is nothing to explain."
        times = number(max(total.base_ms, total.new_ms) / min(total.base_ms, total.new_ms), 3)
        head = f"{times} times as {'fast' if total.difference_ms < 0 else 'slow'}"
        if not (causes := self.causes):
            return (
                f"{head} ({_from_to(total)} ms per {self.noun}), and no part of the time explains it: the interval "
                "of each includes zero, or it is less than a fifth of the difference. More blocks make them narrower."
            )
        named = "; ".join(
            f"{_words(one)} {_from_to(one)} ms per {self.noun} ({', '.join(self._beside(one))})" for one in causes
        )
        cpu = next((one for one in self.parts if one.name == SERVER_CPU and not one.is_clear), None)
        unchanged = f"; {_words(cpu)}" if cpu else ""
        return f"{head}: {named}{unchanged}.{self._of_statements}"

    @property
    def _of_round_trip(self) -> str:
        """The round trip as a sentence, where it accounts for a fifth of the difference; else empty."""
        trip = self.round_trip
        if trip is None or not self.total.is_clear:
            return ""
        if (trip.new_ms - trip.base_ms) * trip.each / self.total.difference_ms < _CAUSE:
            return ""
        change = "rose" if trip.new_ms > trip.base_ms else "fell"
        return (
            f" The round trip, measured before each run, {change} from {number(trip.base_ms, 2)} to "
            f"{number(trip.new_ms, 2)} ms; a {self.noun} has {number(trip.each, 2)} of them."
        )

    @property
    def _of_statements(self) -> str:
        """The statement that takes most of the difference, as a sentence; empty if that is not known."""
        least, rose = _CAUSE * abs(self.total.difference_ms), self.total.difference_ms > 0
        for one in self.statements[:1]:
            if _TIME in one.name and abs(one.new - one.base) >= least and (one.new > one.base) == rose:
                change = f"{'rose' if rose else 'fell'} from {number(one.base, 3)} to {number(one.new, 3)}"
                return f" The {one.name} {change} per {self.noun}."
        return ""

    def _beside(self, cause: Part) -> list[str]:
        """The share of a cause, and what changed with it: the operation, and a counter."""
        with_waits = f", with its {PROCESSORS}" if cause.name in _OF_CPU and self._queued_ms(cause) else ""
        found = [f"{share(self._share(cause))} of the difference{with_waits}"]
        found += [f"most of it in {self.where[cause.name]}"] if cause.name in self.where else []
        rose = cause.difference_ms > 0
        known = {one.name: one for one in self.counters if (one.new > one.base) == rose and _apart(one) > _DOUBLE}
        counter = next((known[name] for name in _beside(cause.name) if name in known), None)
        if counter:
            found.append(f"with {counter.name} {number(counter.new, 3)} instead of {number(counter.base, 3)}")
        return [*found, *(self.plans[:1] if cause.name in _OF_PLANS else ())]


def _words(part: Part) -> str:
    """What happened to a part: ``waits for log (WalSync) fell``."""
    name = part.name if part.name in _NO_WAITS else f"waits for {part.name}"
    if not part.is_clear:
        return f"{name} did not change"
    return f"{name} {'fell' if part.difference_ms < 0 else 'rose'}"


def _beside(part: str) -> tuple[str, ...]:
    return _BESIDE.get(part, (READ,) if part.startswith("disk") else ())


def _from_to(part: Part) -> str:
    low, high = part.base_ms + part.low_ms, part.base_ms + part.high_ms
    after = f"{number(part.new_ms, 3)} ({number(max(low, 0), 3)} to {number(high, 3)})"
    return f"from {number(part.base_ms, 3)} to {after}"


def explain(base: Sequence[Run], new: Sequence[Run]) -> Explanation | None:
    """Why the runs of ``new`` take more or less time than those of ``base``.

    Of runs at several user counts, those at the largest count that both sides have. None where waits were not sampled
    in each of them, as in runs of other tools.

    Args:
        base: runs of one side with their manifests, of the same workload as those of ``new``.
        new: those of the other.

    Raises:
        DamagedResult: the tables of a run cannot be read.
    """
    counts = [{manifest.plan.load.virtual_users for _, manifest in runs} for runs in (base, new)]
    sampled = all(folder.table("waits").is_file() for folder, _ in (*base, *new))
    if not sampled or not (shared := counts[0] & counts[1]):
        return None
    base, new = ([one for one in runs if one[1].plan.load.virtual_users == max(shared)] for runs in (base, new))
    sides = {BASE: base, NEW: new}
    stretches = _STRETCHES if len(base) == len(new) == 1 else 1
    rows = []
    for side, of_side in sides.items():
        for folder, manifest in of_side:
            parts = parts_of(folder, manifest, stretches)
            if parts is None:
                return None
            of_run = parts.parts_ms.assign(side=side, run_id=manifest.run_id)
            rows.append(of_run.assign(**{TOTAL: parts.total_ms}))
    noun, table = base[0][1].noun, pd.concat(rows, ignore_index=True)
    trip = _round_trip(sides)
    if stretches > 1:
        return replace(explained_by_parts(noun, table), round_trip=trip)
    runs = runs_of({side: [manifest for _, manifest in of_side] for side, of_side in sides.items()})
    found = explained_by_parts(noun, table, runs.drop(columns="side"), _counters(sides))
    kept = {side: [read_plans(folder.plans) for folder, _ in of_side] for side, of_side in sides.items()}
    plans = tuple(other_plans(kept[BASE], kept[NEW]))
    return replace(found, where=_where(sides), statements=_statements(sides), plans=plans, round_trip=trip)


def _round_trip(sides: Mapping[str, Sequence[Run]]) -> RoundTrip | None:
    found = {side: [one.network.round_trip_ms for _, one in runs] for side, runs in sides.items()}
    base_ms, new_ms = ([ms for ms in found[side] if ms is not None] for side in (BASE, NEW))
    if not base_ms or not new_ms:
        return None
    known = [one.measured.per_operation.round_trips for runs in sides.values() for _, one in runs]
    each = [number for number in known if number is not None] or [1.0]
    return RoundTrip(float(np.median(base_ms)), float(np.median(new_ms)), float(np.mean(each)))


def explained_by_parts(
    noun: str, table: pd.DataFrame, runs: pd.DataFrame | None = None, counters: tuple[Counter, ...] = ()
) -> Explanation:
    """The explanation of parts that are known.

    Args:
        noun: what an operation is called.
        table: a row per run, or stretch of one of two runs, with ``side`` (``BASE`` or ``NEW``), ``run_id``,
            ``TOTAL``, and a column per part, all in milliseconds per operation; NaN where a run has no such part.
        runs: a row per run in the order of time, as ``replication`` needs them; None: two runs in stretches.
        counters: of the server, that differ.
    """
    sides = table["side"]
    ms = _without_small(table.drop(columns=["side", "run_id"]).fillna(0.0).astype(float), sides)
    if runs is None:
        how = f"{len(table) // 2} stretches of each of the two runs, so the intervals hold for these runs alone"
        of_side = {side: ms[sides == side] for side in (NEW, BASE)}
        designs = {
            name: Replication(Unit.NONE, tuple(_column(one[name]) for one in of_side.values()), how) for name in ms
        }
    else:
        ordered = runs.assign(side=runs["run_id"].map(dict(zip(table["run_id"], sides, strict=True))))
        levels = _levels(
            ordered.assign(score=ordered["run_id"].map(dict(zip(table["run_id"], ms[TOTAL], strict=True))))
        )
        ms = ms.mul(table["run_id"].map(levels), axis=0)
        by_run = ms.set_axis(pd.Index(table["run_id"]))
        designs = {name: replication(ordered.assign(score=ordered["run_id"].map(by_run[name]))) for name in ms}
    found = {str(name): _part(str(name), ms[name], sides, designs[name], len(ms.columns) - 1) for name in ms}
    total = found.pop(TOTAL)
    in_order = sorted(found.values(), key=lambda one: -abs(one.difference_ms))
    return Explanation(noun, total, tuple(in_order), counters, designs[TOTAL].words)


def _levels(runs: pd.DataFrame) -> dict[str, float]:
    """By which the times of each run are multiplied, so that all pairs of neighbouring runs have the same level.

    What disturbs a host multiplies the times of both sides. The level of a block is the geometric mean of both, so
    that it favours neither; where the sides do not share sessions there are no blocks, and times stay as they are.
    """
    blocks: list[pd.DataFrame] = []
    for _, session in runs.groupby("session", sort=False):
        in_order = session.sort_values("started") if "started" in session else session
        for block in _in_blocks(in_order):
            blocks.append(block)
            if block["side"].nunique() < 2:
                return dict.fromkeys(runs["run_id"], 1.0)
    levels = [float(np.log(one.groupby("side")["score"].mean()).mean()) for one in blocks]
    middle = float(np.mean(levels))
    return {run: math.exp(middle - level) for one, level in zip(blocks, levels, strict=True) for run in one["run_id"]}


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


def _without_small(ms: pd.DataFrame, sides: pd.Series[str]) -> pd.DataFrame:
    """The parts with those that are small on both sides added up."""
    means = ms.groupby(sides).mean()
    large = (means.div(means[TOTAL], axis=0) >= _SMALL).any() | ms.columns.isin([OUTSIDE])
    small = ms.loc[:, ~large].sum(axis=1)
    return ms.loc[:, large].assign(**({_REST: small} if (small > 0).any() else {}))


def _part(name: str, ms: pd.Series[float], sides: pd.Series[str], design: Replication, parts: int) -> Part:
    base_ms, new_ms = (float(ms[sides == side].mean()) for side in (BASE, NEW))
    samples = [Sample.of(values) for values in design.samples]
    confidence = _CONFIDENCE if name == TOTAL else 1 - (1 - _CONFIDENCE) / parts
    half = half_widths(samples, confidence) if samples else np.array([np.nan])
    half_ms = float(half.mean()) if np.isfinite(half).all() else math.nan
    away = new_ms - base_ms
    return Part(name, base_ms, new_ms, away - half_ms, away + half_ms)


def _column(values: pd.Series[float]) -> NDArray[np.float64]:
    return np.array([[one] for one in values], dtype=np.float64)


def _counters(sides: Mapping[str, Sequence[Run]]) -> tuple[Counter, ...]:
    """What the server counted per operation and differs; the most different first."""
    found = _differing({side: [counted(manifest) for _, manifest in runs] for side, runs in sides.items()})
    return tuple(sorted(found, key=_apart, reverse=True))


def _statements(sides: Mapping[str, Sequence[Run]]) -> tuple[Counter, ...]:
    """What the server counted by statement, per operation, and differs; the most time first."""
    counted = {side: [_by_statement(*run) for run in runs] for side, runs in sides.items()}
    return tuple(sorted(_differing(counted), key=lambda one: -abs(one.new - one.base) * (_TIME in one.name)))


def _by_statement(folder: RunFolder, manifest: Manifest) -> dict[str, float | None]:
    rows, completed = table(folder, "statements"), manifest.measured.completed
    if rows is None or not completed:
        return {}
    by_text = rows.groupby("text")[[*_COMPARED]].sum(min_count=1) / completed
    return {
        f"{words} of {text}": float(by_text.loc[text, name])
        for text in by_text.nlargest(_STATEMENTS, "time_ms").index
        for name, words in _COMPARED.items()
    }


def _differing(counted: Mapping[str, Sequence[Mapping[str, float | None]]]) -> list[Counter]:
    """The counters that differ, by Welch's test and Benjamini and Hochberg (1995); none of fewer than three runs."""
    from scipy.stats import false_discovery_control, ttest_ind

    each = {side: pd.DataFrame(rows).astype(float).dropna(axis=1) for side, rows in counted.items()}
    names = [str(name) for name in each[BASE] if name in each[NEW]]
    if min(len(one) for one in each.values()) < 3 or not names:
        return []
    found = []
    for name in names:
        base, new = each[BASE][name], each[NEW][name]
        if base.std() + new.std() > 0:
            p = float(ttest_ind(base, new, equal_var=False).pvalue)
            found.append(Counter(name, float(base.mean()), float(new.mean()), p))
    adjusted = [*false_discovery_control([one.p for one in found])] if found else []
    return [one for one, p in zip(found, adjusted, strict=True) if p <= _FALSE_DISCOVERIES]


def counted(manifest: Manifest) -> dict[str, float | None]:
    """What was counted of a run: the work of server and hosts per operation, and what other processes used."""
    result = manifest.measured
    found = {
        _OTHERS: result.others_cpu_pct,
        _ROUND_TRIP: manifest.network.round_trip_ms,
        "bandwidth before the run (MB/s)": manifest.network.bandwidth_mb_per_s,
        **{one.what: one.each for one in server_work_of(result)},
    }
    for host, use in {"load host": result.load_host, "database's host": result.server_host}.items():
        for name, words in _OF_HOSTS.items():
            if use and name in use.per_s and result.completed:
                found[f"{words} of the {host}"] = use.per_s[name] * result.window_s / result.completed
    return found


def _where(sides: Mapping[str, Sequence[Run]]) -> dict[str, str]:
    """The operation that has most of the difference of each part; without those parts that are in several."""
    means = {}
    for side, runs in sides.items():
        tables = []
        for _, manifest in runs:
            result = manifest.measured
            waits = result.waits.waits if result.waits else []
            ms = 1000 * result.window_s / (result.completed or 1)
            rows = [
                (part_of(one.wait_class, one.event, one.table), one.operation, ms * one.sessions) for one in waits
            ]
            tables.append(pd.DataFrame(rows, columns=["part", "operation", "ms"]))
        means[side] = pd.concat(tables).groupby(["part", "operation"])["ms"].sum() / len(runs)
    apart = means[NEW].sub(means[BASE], fill_value=0.0)
    found = {}
    for part, values in apart.groupby("part"):
        by = values.droplevel("part")
        same_way = by[by * by.sum() > 0].abs()
        if len(by) > 1 and same_way.max() >= _MOST * same_way.sum():
            found[str(part)] = str(same_way.idxmax())
    running = found.get(RUNNING)
    return {**found, **({SERVER_CPU: running, UNREPORTED: running} if running else {})}


def _apart(counter: Counter) -> float:
    """How many times as much one side has as the other, on the log scale."""
    low, high = sorted((counter.base, counter.new))
    return float(np.log(high / low)) if low > 0 else float(np.inf)
