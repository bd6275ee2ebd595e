"""The schema's own count of what the metric counts, bracketed by what the clients know.

At the moment a counter query reads, the schema holds every operation that was acknowledged before the query was
sent, and none that was started after its answer had come. One too many or too few is a fault; the only allowance
is that of times kept in whole microseconds, and with several load hosts the uncertainty of their clocks.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from hdbkit.analysis.run.counters import END, START, Reading, readings
from hdbkit.analysis.run.records import metric_codes, operations_of, table
from hdbkit.errors import ErrorClass
from hdbkit.results.columns import COUNTED, ERROR_CLASSES, Outcome
from hdbkit.results.folder import RunFolder
from hdbkit.results.manifest import Manifest

RUN_START = "run_start"
_ROUNDING_US = 2
_LOST = ERROR_CLASSES.index(ErrorClass.CONNECTION_LOST.value)


@dataclass(frozen=True)
class Bracket:
    """What the schema ``counted`` since the run's start, at an edge, and the bounds that the clients give."""

    edge: str
    acknowledged: int
    counted: int
    started: int

    @property
    def holds(self) -> bool:
        """Whether the count lies within its bounds."""
        return self.acknowledged <= self.counted <= self.started

    def __str__(self) -> str:
        return f"{self.acknowledged:,} <= {self.counted:,} <= {self.started:,} at the {self.edge}"


def brackets(folder: RunFolder, manifest: Manifest, clients_lost: int) -> list[Bracket]:
    """The bracket at each edge of the window; empty where the schema's count was not read.

    A failed operation whose connection was lost may have been committed, and so may the one that a lost client
    had in flight: both widen the upper bound alone.
    """
    counters = table(folder, "counters")
    begin = readings(counters, RUN_START).get(COUNTED)
    edges = {edge: at for edge in (START, END) if (at := readings(counters, edge).get(COUNTED))}
    if begin is None or len(edges) < 2:
        return []
    known = iter(_known(folder, manifest, [*edges.values()]))
    return [
        Bracket(edge, next(known), round(at.value - begin.value), next(known) + clients_lost)
        for edge, at in edges.items()
    ]


def _known(folder: RunFolder, manifest: Manifest, edges: Sequence[Reading]) -> tuple[int, ...]:
    """How many were acknowledged, and how many started, of each reading."""
    allowed_us = _ROUNDING_US + math.ceil(1000 * max((one.uncertainty_ms for one in manifest.load_hosts), default=0))
    committed = f"outcome = {Outcome.COMMITTED.value}"
    unsure = f"(outcome = {Outcome.FAILED.value} AND error_class = {_LOST})"
    bounds = [
        f"count(*) FILTER ({what} AND {time} {at_us})"
        for one in edges
        for what, time, at_us in (
            (committed, "t_end_us <=", one.t_sent_us - allowed_us),
            (f"({committed} OR {unsure})", "t_start_us <", one.t_returned_us + allowed_us),
        )
    ]
    with operations_of(folder) as rows:
        of_metric = rows.filter(f"operation IN {metric_codes(manifest)}")
        found: tuple[int, ...] = of_metric.aggregate(", ".join(bounds)).fetchall()[0]
    return found
