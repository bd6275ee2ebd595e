"""What changed beside the parts of an operation's time: counters, statements, the operation that has most of a part.

Counters of both sides are compared by what the comparison replicates, as everything else of it is: runs of one
session are alike beyond what their own noise would make them. Those are listed that differ with a rate of false
discoveries of 5 % (Benjamini and Hochberg 1995, J. R. Statist. Soc. B 57, 289-300).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from hdbkit.analysis.comparison.replication import BASE, NEW, Replication
from hdbkit.analysis.run.records import table
from hdbkit.analysis.run.server_work import OF_STATEMENTS, PAGES, READ, SCANNED, SPILLED, server_work_of
from hdbkit.analysis.run.waits import (
    CLIENT_CPU,
    OUTSIDE,
    PROCESSORS,
    RUNNING,
    SERVER_CPU,
    UNREPORTED,
    UNTOLD,
    part_of,
)
from hdbkit.analysis.statistics.two_samples import two_sided_p
from hdbkit.later import numpy as np
from hdbkit.later import pandas as pd
from hdbkit.results.folder import RunFolder
from hdbkit.results.manifest import Manifest

Run = tuple[RunFolder, Manifest]
Counts = Mapping[str, float | None]
"""What was counted of a run, by its words."""
OF_PLANS: Final = (SERVER_CPU, RUNNING, UNREPORTED)
"""The parts with which a plan that differs is named."""
_MOST = 0.7
"""The least share of a part's difference that one operation has to be named for it."""
_FALSE_DISCOVERIES = 0.05
TIME_OF: Final = OF_STATEMENTS["time_ms"]
_COMPARED = {name: words for name, words in OF_STATEMENTS.items() if name != "rows"}
"""What is compared of each statement; its rows follow from its executions."""
_STATEMENTS = 100
"""The number of statements of a run that are compared: those that took the most time."""
_OTHERS = "time of the processors that other processes used (%)"
ROUND_TRIP: Final = "round trip before the run (ms)"
_OF_HOSTS = {
    "context_switches": "context switches",
    "interrupts": "interrupts",
    "soft_interrupts_net_rx": "soft interrupts for received packets (NET_RX)",
}
"""What is compared of each host, per operation."""


class _BesideParts:
    """The counters that may be named with a part, the most telling first."""

    _OF: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
        {
            RUNNING: (SCANNED, READ, PAGES, SPILLED, _OTHERS),
            SERVER_CPU: (SCANNED, READ, PAGES, SPILLED, _OTHERS),
            PROCESSORS: (_OTHERS,),
            UNREPORTED: (READ,),
            CLIENT_CPU: (_OTHERS,),
            OUTSIDE: (ROUND_TRIP, _OTHERS),
            UNTOLD: (_OTHERS, ROUND_TRIP),
        }
    )

    def of(self, part: str) -> tuple[str, ...]:
        """Those of a part."""
        return self._OF.get(part, (READ,) if part.startswith("disk") else ())


BESIDE_PARTS: Final = _BesideParts()


@dataclass(frozen=True)
class Counter:
    """What the server counted per operation on both sides, with the probability of such a difference by chance."""

    name: str
    base: float
    new: float
    p: float

    @property
    def is_time(self) -> bool:
        """Whether it is the time of a statement."""
        return self.name.startswith(f"{TIME_OF} of ")

    @property
    def apart(self) -> float:
        """How many times as much one side has as the other, on the log scale."""
        low, high = sorted((self.base, self.new))
        return float(np.log(high / low)) if low > 0 else float(np.inf)


def counters_apart(
    counted: pd.DataFrame, sides: pd.Series[str], design: Callable[[pd.Series[float]], Replication]
) -> list[Counter]:
    """The counters that differ; none where nothing is replicated.

    Args:
        counted: a row per run and a column per counter, NaN where it is not known.
        sides: of each run, ``BASE`` or ``NEW``.
        design: what the comparison replicates, of one value per run.
    """
    from scipy.stats import false_discovery_control

    known = counted.dropna(axis=1)
    found = []
    for name in known:
        values = known[name].astype(float)
        replicated = design(values)
        p = two_sided_p(replicated.estimates)
        base, new = (float(values[sides == side].mean()) for side in (BASE, NEW))
        found += [Counter(str(name), base, new, p)] if np.isfinite(p) else []
    if not found:
        return []
    adjusted = false_discovery_control([one.p for one in found])
    return [one for one, p in zip(found, adjusted, strict=True) if p <= _FALSE_DISCOVERIES]


def counted(manifest: Manifest) -> dict[str, float | None]:
    """What was counted of a run: the work of server and hosts per operation, and what other processes used."""
    result = manifest.measured
    found = {
        _OTHERS: result.others_cpu_pct,
        ROUND_TRIP: manifest.network.round_trip_ms,
        "bandwidth before the run (MB/s)": manifest.network.bandwidth_mb_per_s,
        **{one.what: one.each for one in server_work_of(result)},
    }
    for host, use in {"load host": result.load_host, "database's host": result.server_host}.items():
        for name, words in _OF_HOSTS.items():
            if use and name in use.per_s and result.completed:
                found[f"{words} of the {host}"] = use.per_s[name] * result.window_s / result.completed
    return found


def counted_by_statement(folder: RunFolder, manifest: Manifest) -> dict[str, float | None]:
    """What the server counted by statement, per operation, of those that took the most time."""
    rows, completed = table(folder, "statements"), manifest.measured.completed
    if rows is None or not completed:
        return {}
    by_text = rows.groupby("text")[[*_COMPARED]].sum(min_count=1) / completed
    return {
        f"{words} of {text}": float(by_text.loc[text, name])
        for text in by_text.nlargest(_STATEMENTS, "time_ms").index
        for name, words in _COMPARED.items()
    }


def operations_of_parts(sides: Mapping[str, Sequence[Run]]) -> dict[str, str]:
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
