"""The slices of a run that count: throughput, metric and latencies of each configuration in each whole cycle.

What a change of settings takes is measured: the washout is the 99 % quantile of the times from the beginning of a
slice to the end of its change, over all sessions (or on the server), at most half of a slice. It is left out at the
beginning of every slice, of all configurations alike. Cycles count that lie in the measured window as a whole and in
which every session, by the middle of every slice, has the slice's configuration; a change that is missing, failed or
came later drops the cycle. Of two configurations, only cycles count that begin with the configuration with which the
one before ended (``SliceOrder.counts``).

An operation counts for each slice by the share of its time that lies in it after the washout, so that long and short
operations at a boundary count alike and the throughput is unbiased. For latencies it belongs to the slice in which it
began, unless that was in the washout. The rate of a metric is always made of the clients' records here, since a count
that the schema keeps is not read at each boundary.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Final, assert_never

from hdbkit.analysis.run.quantiles import QUANTILES, TIME_COLUMNS, as_figures, quantiles_of, rank
from hdbkit.analysis.run.records import Window, metric_codes, operations_of, table, window_of
from hdbkit.config.metric import Measure
from hdbkit.later import duckdb
from hdbkit.later import numpy as np
from hdbkit.later import pandas as pd
from hdbkit.results.columns import SLICES, Outcome
from hdbkit.results.folder import RunFolder
from hdbkit.results.manifest import Manifest
from hdbkit.results.run_result import SlicesConfiguration, SlicesResult, TimedOperation
from hdbkit.slices import ON_SERVER, Cycles, SliceOrder, Slices
from hdbkit.text import many

WASHOUT_QUANTILE: Final = 0.99
"""The share of all changes of settings that have ended by the end of the washout."""
MAX_WASHOUT: Final = 0.5
"""The maximum washout as a share of a slice; a change must have ended by then, or its cycle is dropped."""
MAX_DROPPED: Final = 0.5
"""The maximum share of dropped cycles: those that are left may be the fast ones."""
_MIN_CYCLES: Final = 2
"""The number of cycles that must count."""


@dataclass(frozen=True)
class SliceTable:
    """The slices of a run.

    ``rows`` has a row per slice that counts, with the columns of ``results.columns.SLICES``; it is empty if the run
    is not ``usable``, and ``unusable`` then is the reason. ``cycles`` is the number of cycles that count, ``dropped``
    that of the others in the window. ``operations`` has a row per configuration and operation: ``position``,
    ``operation`` (its code), ``n`` and the quantiles in microseconds.
    """

    rows: pd.DataFrame
    washout_s: float | None
    cycles: int
    dropped: int
    unusable: str
    operations: pd.DataFrame

    @property
    def usable(self) -> bool:
        """Whether its slices can be compared."""
        return not self.unusable


def slice_table(folder: RunFolder, manifest: Manifest) -> SliceTable | None:
    """The slices of a run; None if its configurations do not alternate.

    Raises:
        DamagedResult: there is no measured window, or a file cannot be read.
    """
    slices = manifest.plan.slices
    if slices is None:
        return None
    window = window_of(manifest)
    switches = table(folder, "switches")
    cycles = whole_cycles(slices, window)
    if switches is None or switches.empty:
        return _unusable(None, len(cycles), "no change of settings was recorded")
    users = range(manifest.plan.load.sessions) if slices.in_session else [ON_SERVER]
    took_ns = washout_of(switches)
    washout_ns = min(took_ns, round(MAX_WASHOUT * slices.slice_ns))
    incomplete = _incomplete(slices, switches, users, cycles)
    order = SliceOrder(slices)
    planned = [cycle for cycle in cycles if order.counts(cycle)]
    kept = [cycle for cycle in planned if cycle not in incomplete]
    if not enough(len(kept), len(planned)):
        return _unusable(
            washout_ns,
            len(planned),
            f"only {len(kept):,} of {many(len(planned), 'cycle')} in the window have all changes of settings within "
            f"half of a slice; 99 % of the changes took up to {took_ns / 1e9:.3g} s; use a longer slice_s or window",
        )
    counting = Counting(folder, manifest, slices, washout_ns, counted_slices(slices, kept))
    dropped = len(planned) - len(kept)
    return SliceTable(counting.measured(), washout_ns / 1e9, len(kept), dropped, "", counting.quantiles())


def slices_result(found: SliceTable, manifest: Manifest) -> SlicesResult:
    """What the manifest keeps of the slices.

    The metric of a configuration is the mean over its slices: the arithmetic one of rates, the geometric of times.
    """
    assert manifest.plan.slices is not None
    configurations = manifest.plan.slices.configurations
    by_position = {int(str(position)): rows for position, rows in found.rows.groupby("position")}
    mean = partial(mean_of, rate=manifest.metric.measure is Measure.RATE)
    return SlicesResult(
        washout_s=found.washout_s,
        cycles=found.cycles,
        dropped=found.dropped,
        unusable=found.unusable,
        configurations=[
            SlicesConfiguration(
                configuration=configuration,
                metric_value=mean(by_position[position]["metric_value"]) if found.usable else None,
                operations_per_s=float(by_position[position]["operations_per_s"].mean()) if found.usable else None,
                operations={
                    manifest.operations[int(row["operation"])]: TimedOperation(
                        count=int(row["n"]), **as_figures(row, list(QUANTILES))
                    )
                    for row in found.operations[found.operations["position"] == position].to_dict("records")
                },
            )
            for position, configuration in enumerate(configurations)
        ],
    )


def mean_of(values: pd.Series[float], *, rate: bool) -> float | None:
    """The mean over slices: arithmetic for a rate, where a slice without an operation counts; else geometric."""
    known = values.dropna()
    if known.empty:
        return None
    return float(known.mean() if rate else np.exp(np.log(known).mean()))


def enough(kept: int, cycles: int) -> bool:
    """Whether so many of the cycles in a window suffice."""
    return kept >= max(_MIN_CYCLES, (1 - MAX_DROPPED) * cycles)


def washout_of(switches: pd.DataFrame) -> int:
    """How long after the beginning of its slice 99 % of the changes had ended, in ns."""
    took_us = np.sort((switches["t_end_us"] - switches["t_due_us"]).clip(lower=0).to_numpy(dtype=np.int64))
    return 1000 * int(took_us[rank(np.array([len(took_us)]), WASHOUT_QUANTILE)[0] - 1])


def _unusable(washout_ns: int | None, cycles: int, reason: str) -> SliceTable:
    washout_s = None if washout_ns is None else washout_ns / 1e9
    none = pd.DataFrame(columns=["position", "operation", "n", *(f"{name}_us" for name in QUANTILES)])
    return SliceTable(pd.DataFrame(columns=list(SLICES)), washout_s, 0, cycles, reason, none)


def whole_cycles(slices: Cycles, window: Window) -> range:
    """The cycles that lie in a window as a whole; its times count from the first slice."""
    cycle_ns = slices.slice_ns * len(slices.configurations)
    return range(-(-1000 * window.start_us // cycle_ns), 1000 * window.end_us // cycle_ns)


def _incomplete(slices: Slices, switches: pd.DataFrame, users: range | list[int], cycles: range) -> set[int]:
    """The cycles with a slice in whose middle some session does not have its configuration."""
    count, order = len(slices.configurations), SliceOrder(slices)
    numbers = np.arange(cycles.start * count, cycles.stop * count)
    planned = np.array([order.position(int(number)) for number in numbers])
    middles_us = (numbers + MAX_WASHOUT) * slices.slice_ns / 1000
    found: set[int] = set()
    by_user = dict(list(switches.sort_values("t_end_us", kind="stable").groupby("virtual_user")))
    for user in users:
        of_user = by_user.get(user, switches.iloc[:0])
        last = np.searchsorted(of_user["t_end_us"].to_numpy(), middles_us, side="right")
        positions = np.r_[-1, of_user["position"].to_numpy()][last]
        found.update((numbers[positions != planned] // count).tolist())
    return found


def counted_slices(slices: Cycles, cycles: list[int]) -> pd.DataFrame:
    """The slices of these cycles: slice, cycle, position, configuration."""
    count, order = len(slices.configurations), SliceOrder(slices)
    numbers = [cycle * count + one for cycle in cycles for one in range(count)]
    positions = [order.position(number) for number in numbers]
    configurations = [slices.configurations[position] for position in positions]
    columns = {"slice": numbers, "cycle": np.array(numbers) // count, "position": positions}
    return pd.DataFrame(columns | {"configuration": configurations})


@dataclass(frozen=True)
class Counting:
    """Counts the operations of a run in the slices that count, ``counted``; nothing is read but groups.

    ``started_us`` is when the run started, from the begin of the first slice.
    """

    folder: RunFolder
    manifest: Manifest
    slices: Cycles
    washout_ns: int
    counted: pd.DataFrame
    started_us: int = 0

    def measured(self) -> pd.DataFrame:
        """The slices with metric_value and operations_per_s."""
        metric, of_metric = self.manifest.metric, f"operation IN {metric_codes(self.manifest)}"
        counted_s = (self.slices.slice_ns - self.washout_ns) / 1e9
        committed = f"outcome = {Outcome.COMMITTED.value} AND {of_metric}"
        with operations_of(self.folder) as rows:
            shares = self._shares(rows).aggregate(
                f"slice, sum(share) AS completed, sum(share) FILTER ({committed}) AS committed", "slice"
            )
            found = self.counted.merge(shares.df(), on="slice", how="left")
            found[["completed", "committed"]] = found[["completed", "committed"]].fillna(0.0)
            found["operations_per_s"] = found["completed"] / counted_s
            begun = self._begun(rows).filter(of_metric)
            match metric.measure:
                case Measure.RATE:
                    found["metric_value"] = metric.per_s * found["committed"] / counted_s
                case Measure.QUANTILE:
                    at = f"slice, quantile_disc(judged_us, {metric.quantile!r}) AS value"
                    found["metric_value"] = found["slice"].map(_values(begun.aggregate(at, "slice"))) / 1000
                case Measure.GEOMETRIC_MEAN:
                    means = begun.aggregate(
                        "slice, operation, ln(avg(latency_us) / 1e6) AS log_mean", "slice, operation"
                    )
                    whole = f"count(*) = {len(self.manifest.of_metric)}"
                    at = f"slice, CASE WHEN {whole} THEN exp(avg(log_mean)) END AS value"
                    found["metric_value"] = found["slice"].map(_values(means.aggregate(at, "slice")))
                case never:
                    assert_never(never)
        return found[list(SLICES)]

    def quantiles(self) -> pd.DataFrame:
        """The quantiles of each configuration and operation: position, operation, n, p50_us ... p999_us, max_us."""
        with operations_of(self.folder) as rows:
            histogram = self._begun(rows).aggregate(
                "position, operation, judged_us AS latency_us, count(*)::BIGINT AS n",
                "position, operation, judged_us",
            )
            return quantiles_of(histogram.df(), ["position", "operation"], QUANTILES)

    def _shares(self, rows: duckdb.DuckDBPyRelation) -> duckdb.DuckDBPyRelation:
        """A row per operation and slice, with the share of its time that lies in the slice after the washout."""
        length, end_ns = self.slices.slice_ns, "1000 * greatest(t_end_us, t_start_us + 1)"
        first, last = f"1000 * t_start_us // {length}", f"({end_ns} - 1) // {length}"
        begins = f"slice * {length} + {self.washout_ns}"
        inside = f"least({end_ns}, (slice + 1) * {length}) - greatest(1000 * t_start_us, {begins})"
        return (
            self._around(rows)
            .project(f"*, unnest(range({first}, {last} + 1)) AS slice")
            .filter(f"{self._position} IS NOT NULL")
            .project(f"slice, operation, outcome, greatest({inside}, 0) / ({end_ns} - 1000 * t_start_us) AS share")
        )

    def _begun(self, rows: duckdb.DuckDBPyRelation) -> duckdb.DuckDBPyRelation:
        """The operations that began in a slice after its washout, with ``slice`` and ``position``.

        ``judged_us`` is their response time in an open loop, else their service time.
        """
        length, judged = self.slices.slice_ns, TIME_COLUMNS["response" if self.manifest.is_open else "service"]
        return (
            self._around(rows)
            .filter(f"1000 * t_start_us % {length} >= {self.washout_ns}")
            .project(f"*, 1000 * t_start_us // {length} AS slice")
            .project(f"slice, operation, latency_us, {judged} AS judged_us, {self._position} AS position")
            .filter("position IS NOT NULL")
        )

    def _around(self, rows: duckdb.DuckDBPyRelation) -> duckdb.DuckDBPyRelation:
        """The completed operations that lie in the slices, at least in part."""
        first_ns = self._first * self.slices.slice_ns
        end_ns = (int(self.counted["slice"].max()) + 1) * self.slices.slice_ns
        inside = f"1000 * t_start_us < {end_ns} AND 1000 * t_end_us > {first_ns}"
        return from_first_slice(rows, self.started_us).filter(f"outcome <> {Outcome.FAILED.value} AND {inside}")

    @property
    def _first(self) -> int:
        return int(self.counted["slice"].min())

    @property
    def _position(self) -> str:
        """The position of a slice's configuration, as SQL; NULL if the slice does not count."""
        positions = self.counted.set_index("slice")["position"]
        numbers = range(self._first, int(positions.index.max()) + 1)
        listed = ", ".join(str(positions[one]) if one in positions.index else "NULL" for one in numbers)
        return f"CASE WHEN slice >= {self._first} THEN list_extract([{listed}], slice - {self._first - 1}) END"


def from_first_slice(rows: duckdb.DuckDBPyRelation, started_us: int) -> duckdb.DuckDBPyRelation:
    """The operations of a run with times from the begin of the first slice, ``started_us`` before the run's start."""
    times = ", ".join(f"{name} + {started_us} AS {name}" for name in ("t_start_us", "t_end_us"))
    return rows.filter("t_start_us >= 0").project(f"* REPLACE ({times})")


def _values(found: duckdb.DuckDBPyRelation) -> dict[int, float]:
    return {int(number): float(value) for number, value in found.fetchall() if value is not None}
