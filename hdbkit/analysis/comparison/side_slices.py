"""The slices of two sides whose loads alternate, each in a run of its own, with all users pausing in turn.

Both runs have one grid of slices on one clock. Operations that last beyond the end of a slice meet the other side's:
the washout is the 99 % quantile of how long users' last operations last beyond the slices that the other side
follows, at most half of a slice, and is left out at the beginning of every slice, of both sides alike. Cycles count
that lie in the windows of both runs as a whole, and in which no user of a side is at work by the middle of a slice of
the other; else an operation was too long for its slice.

A pair of runs has one difference of scores, and its cycles have one each. From so many pairs on that they show what
differs from run to run, they are the units, as in sweeps by slices; else stretches of cycles are, whose correlation
within the runs widens the interval, and what is claimed is about these runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from hdbkit.analysis.comparison.replication import BASE, NEW, Replication, Unit, side_by_side
from hdbkit.analysis.run.quantiles import rank
from hdbkit.analysis.run.records import Window, operations_of, window_of
from hdbkit.analysis.run.slices import (
    MAX_WASHOUT,
    WASHOUT_QUANTILE,
    Counting,
    counted_slices,
    enough,
    from_first_slice,
    mean_of,
    whole_cycles,
)
from hdbkit.analysis.statistics import Floats
from hdbkit.analysis.statistics.autocorrelation import inflation
from hdbkit.analysis.statistics.block_model import STANDARD_ERRORS
from hdbkit.analysis.statistics.two_samples import Correlation
from hdbkit.analysis.sweep.observations import MIN_RUN_DF, grouped
from hdbkit.analysis.sweep.slices import MANY_DROPPED
from hdbkit.caution import Caution, Kind
from hdbkit.config.metric import Measure, Metric
from hdbkit.errors import InputError
from hdbkit.later import numpy as np
from hdbkit.later import pandas as pd
from hdbkit.results.columns import SLICES
from hdbkit.results.experiment_runs import STRETCH
from hdbkit.results.folder import RunFolder
from hdbkit.results.manifest import Manifest
from hdbkit.slices import SideSlices, SliceOrder
from hdbkit.text import many, share

_Run = tuple[RunFolder, Manifest]


def run_blocks(counts: int) -> int:
    """The number of blocks from which on pairs of runs are the units, at so many counts of virtual users."""
    return 1 + -(-MIN_RUN_DF // counts)


@dataclass(frozen=True)
class PairSlices:
    """The slices that count of two runs that alternated.

    ``rows`` has a row per slice, with the columns of ``results.columns.SLICES``; a configuration is the position of a
    side. ``dropped`` is the number of the other cycles in both windows. ``unusable`` is why none counts.
    """

    rows: pd.DataFrame
    washout_s: float = 0.0
    cycles: int = 0
    dropped: int = 0
    unusable: str = ""


class Apart(NamedTuple):
    """New - base of the log scores of a pair of runs, and of each of its stretches of cycles."""

    runs: float
    stretches: Floats


@dataclass(frozen=True)
class SlicedSides:
    """What the slices of two sides replicate, each run's value of the metric in them, and reasons to doubt them."""

    design: Replication
    values: Mapping[str, float]
    """The metric's mean over the slices of a run, by run id; without the runs whose slices are not used."""
    warnings: tuple[Caution, ...]

    def runs(self, runs: pd.DataFrame) -> pd.DataFrame:
        """The runs whose slices are used, with their means over these; all as they are where none is."""
        if not self.values:
            return runs
        used = runs[runs["run_id"].isin(self.values)]
        return used.assign(metric_value=used["run_id"].map(self.values))


def sliced_sides(sides: Mapping[str, Sequence[_Run]], metric: Metric) -> SlicedSides | None:
    """The slices of the sides ``BASE`` and ``NEW``; None if their loads did not alternate.

    Raises:
        InputError: a run alternated with one that is on neither side.
        DamagedResult: a file cannot be read.
    """
    pairs = _pairs(sides)
    if not pairs:
        return None
    values, apart, counted, warnings = (
        dict[str, float](),
        dict[int, list[Apart]](),
        list[PairSlices](),
        list[Caution](),
    )
    for pair in pairs:
        found = pair_slices(pair)
        order = [_slices_of(manifest).side for _, manifest in pair]
        means = [_mean(found, side, metric) for side in order]
        if why := found.unusable or ("" if all(means) else f"they have no value of {metric.name}"):
            names = " and ".join(manifest.run_id for _, manifest in pair)
            warnings.append(Caution(f"the slices of {names} are not used: {why}", Kind.UNUSED_SLICES))
            continue
        values |= {manifest.run_id: mean for (_, manifest), mean in zip(pair, means, strict=True)}
        base, new = np.log(metric.score(np.array(means))).tolist()
        users = pair[0][1].plan.load.virtual_users
        apart.setdefault(users, []).append(Apart(new - base, _stretches(found, order, metric)))
        counted.append(found)
    if not apart:
        return SlicedSides(Replication(Unit.NONE, (), "the slices of no run are usable"), {}, tuple(warnings))
    design = sliced_replication([apart[users] for users in sorted(apart)])
    details = _details(counted, _slices_of(pairs[0][0][1]).slice_s)
    return SlicedSides(replace(design, words=f"{design.words}, {details}"), values, (*warnings, *_dropped(counted)))


def _pairs(sides: Mapping[str, Sequence[_Run]]) -> list[list[_Run]]:
    """The pairs of runs that alternated, that of ``BASE`` first, in the order of time; none if no run alternated."""
    pairs: dict[int, list[_Run]] = {}
    for side in (BASE, NEW):
        for folder, manifest in sides[side]:
            slices = manifest.plan.side_slices
            pairs.setdefault(slices.origin_ns if slices else 0, []).append((folder, manifest))
    if pairs.keys() == {0}:
        return []
    if 0 in pairs or any(sorted(_slices_of(one).side for _, one in pair) != [0, 1] for pair in pairs.values()):
        raise InputError("a run in slices is compared with the run that it alternated with: name one on each side")
    return [pairs[origin_ns] for origin_ns in sorted(pairs)]


def _dropped(counted: Sequence[PairSlices]) -> list[Caution]:
    kept, dropped = sum(one.cycles for one in counted), sum(one.dropped for one in counted)
    if dropped <= MANY_DROPPED * (kept + dropped):
        return []
    text = (
        f"{share(dropped / (kept + dropped))} of the cycles were dropped because operations lasted beyond half of "
        "the other side's slice; use longer slices"
    )
    return [Caution(text, Kind.DROPPED)]


def _mean(found: PairSlices, side: int, metric: Metric) -> float:
    values = found.rows.loc[found.rows["position"] == side, "metric_value"]
    return mean_of(values, rate=metric.measure is Measure.RATE) or 0.0


def _details(counted: Sequence[PairSlices], slice_s: float) -> str:
    ends_ms = dict.fromkeys(f"{1000 * pick(one.washout_s for one in counted):.3g}" for pick in (min, max))
    cycles = many(sum(one.cycles for one in counted), "cycle")
    return (
        f"both sides in slices of {slice_s:g} s that alternate, of which the first {' to '.join(ends_ms)} ms "
        f"(washout) do not count: {cycles} in {many(len(counted), 'pair')} of runs"
    )


def sliced_replication(pairs: Sequence[Sequence[Apart]]) -> Replication:
    """The design of pairs of runs at each count of virtual users: the pairs, or their stretches."""
    if sum(len(of_count) - 1 for of_count in pairs) >= MIN_RUN_DF and min(map(len, pairs)) > 1:
        values = side_by_side([np.array([one.runs for one in of_count]) for of_count in pairs])
        return Replication(Unit.BLOCKS, (values,), f"{len(values)} blocks of one session")
    values = side_by_side([np.concatenate([one.stretches for one in of_count]) for of_count in pairs])
    words = (
        f"cycles of these runs (from {run_blocks(len(pairs))} blocks on, the interval also contains what differs "
        "from run to run)"
    )
    common = _correlation([one.stretches for of_count in pairs for one in of_count])
    return Replication(Unit.CYCLES, (values,), words, correlation=common)


def _correlation(parts: Sequence[Floats]) -> Correlation:
    """What the correlation of neighbouring stretches within the runs adds to the error of their mean."""
    residuals = [part - part.mean() for part in parts]
    count = sum(map(len, parts))
    squares = sum(float(part @ part) for part in residuals)
    neighbours = count - len(parts)
    if not squares or not neighbours:
        return Correlation()
    products = sum(float(part[1:] @ part[:-1]) for part in residuals)
    length = count / len(parts)
    plain = products / neighbours / (squares / count)
    return Correlation(*inflation(plain, round(length), length, len(parts), STANDARD_ERRORS))


def _stretches(found: PairSlices, order: Sequence[int], metric: Metric) -> Floats:
    """New - base of the log scores in each stretch of cycles that has a value of both; ``order`` is that of sides."""
    values = grouped(found.rows, metric).pivot(index=STRETCH, columns="configuration", values="metric_value")[
        [*order]
    ]
    values = values[(values > 0).all(axis=1)]
    scores = np.log(metric.score(values.to_numpy(dtype=np.float64)))
    apart: Floats = scores[:, 1] - scores[:, 0]
    return apart


def pair_slices(pair: Sequence[_Run]) -> PairSlices:
    """The slices of two runs that alternated.

    Raises:
        DamagedResult: there is no measured window, or a file cannot be read.
    """
    pair = sorted(pair, key=lambda run: _slices_of(run[1]).side)
    slices, starts = _slices_of(pair[0][1]), [_started_us(manifest) for _, manifest in pair]
    windows = [window_of(manifest) for _, manifest in pair]
    begin_us = max(window.start_us + start for window, start in zip(windows, starts, strict=True))
    end_us = min(window.end_us + start for window, start in zip(windows, starts, strict=True))
    cycles = whole_cycles(slices, Window(begin_us, max(end_us, begin_us)))
    none = pd.DataFrame(columns=list(SLICES))
    if not cycles:
        return PairSlices(none, unusable="no cycle lies in the windows of both runs")
    busy_ns = [_busy_ns(folder, slices, start, cycles) for (folder, _), start in zip(pair, starts, strict=True)]
    order, count = SliceOrder(slices), len(slices.configurations)
    numbers = range(cycles.start * count, cycles.stop * count)
    sides = np.array([order.position(number) for number in numbers])
    changes = np.flatnonzero(np.diff(sides))
    begins_ns = np.array(numbers, dtype=np.int64) * slices.slice_ns
    lasted_ns, long = [], np.zeros(len(numbers), dtype=bool)
    for side, busy in enumerate(busy_ns):
        ended = changes[sides[changes] == side]
        lasted_ns.append(np.maximum(busy[:, ended] - begins_ns[ended + 1], 0).ravel())
        middles = begins_ns[1:] + MAX_WASHOUT * slices.slice_ns
        long[1:] |= (sides[1:] != side) & (busy[:, :-1] > middles).any(axis=0)
    lasted = np.sort(np.concatenate(lasted_ns))
    if not len(lasted):
        return PairSlices(none, dropped=len(cycles), unusable="a side has completed nothing")
    washout_ns = int(lasted[rank(np.array([len(lasted)]), WASHOUT_QUANTILE)[0] - 1])
    incomplete = set((np.array(numbers)[long] // count).tolist())
    planned = [cycle for cycle in cycles if order.counts(cycle)]
    kept = [cycle for cycle in planned if cycle not in incomplete]
    if not enough(len(kept), len(planned)):
        why = (
            f"in only {len(kept):,} of {many(len(planned), 'cycle')} all operations ended within half of the other "
            f"side's slice; 99 % of the last ones took up to {washout_ns / 1e9:.3g} s longer; use longer slices "
            "or runs"
        )
        return PairSlices(none, washout_ns / 1e9, 0, len(planned), why)
    washout_ns = min(washout_ns, round(MAX_WASHOUT * slices.slice_ns))
    counted = counted_slices(slices, kept)
    rows = [
        Counting(folder, manifest, slices, washout_ns, counted[counted["position"] == side], start).measured()
        for side, ((folder, manifest), start) in enumerate(zip(pair, starts, strict=True))
    ]
    joined = pd.concat(rows, ignore_index=True).sort_values("slice", ignore_index=True)
    return PairSlices(joined, washout_ns / 1e9, len(kept), len(planned) - len(kept))


def _busy_ns(folder: RunFolder, slices: SideSlices, started_us: int, cycles: range) -> Floats:
    """When each user's last operation ended that began in a slice or before, in ns, (users, slices of the cycles)."""
    count = len(slices.configurations)
    with operations_of(folder) as rows:
        ends = (
            from_first_slice(rows, started_us)
            .aggregate(
                f"virtual_user, 1000 * t_start_us // {slices.slice_ns} AS slice, 1000 * max(t_end_us) AS end_ns",
                f"virtual_user, 1000 * t_start_us // {slices.slice_ns}",
            )
            .df()
        )
    table = ends.pivot(index="virtual_user", columns="slice", values="end_ns")
    numbers = range(cycles.start * count, cycles.stop * count)
    every = sorted({*map(int, table.columns), *numbers})
    found: Floats = table.reindex(columns=every).ffill(axis=1)[list(numbers)].fillna(0).to_numpy(dtype=np.float64)
    return found


def _slices_of(manifest: Manifest) -> SideSlices:
    assert manifest.plan.side_slices is not None
    return manifest.plan.side_slices


def _started_us(manifest: Manifest) -> int:
    """When a run started, in microseconds from the begin of the first slice."""
    assert manifest.clock is not None
    return (manifest.clock.start_monotonic_ns - _slices_of(manifest).origin_ns) // 1000
