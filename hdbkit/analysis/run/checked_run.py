"""A run as its checks read it: manifest, result, tables, and counts of all its records in one pass."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from hdbkit.analysis.run.records import Window, operations_of, table
from hdbkit.later import pandas as pd
from hdbkit.results.columns import Outcome
from hdbkit.results.folder import RunFolder
from hdbkit.results.manifest import Manifest
from hdbkit.results.run_result import RunResult


@dataclass(frozen=True)
class _Records:
    """What the checks ask of all records of a run, in one pass."""

    kept: int
    unknown: int
    """Those without a known outcome."""
    over_the_edges_us: float
    """The time that Little's law gives to the wrong side of the window's edges: the operations that span an edge.

    One belongs to the window in which it ends. On a busy host, those of all users may wait at the same time.
    """


@dataclass(frozen=True)
class CheckedRun:
    """What the checks look at; each part is read when it is first asked for."""

    folder: RunFolder
    manifest: Manifest
    window: Window
    result: RunResult

    @property
    def noun(self) -> str:
        """What the workload calls an operation."""
        return self.manifest.noun

    @property
    def planned_clients(self) -> int:
        """How many clients the load asks for."""
        return len(self.manifest.plan.load.clients)

    @cached_property
    def records(self) -> _Records:
        """The counts of all records."""
        known = ", ".join(str(outcome.value) for outcome in Outcome)
        edges = ", ".join(
            f"coalesce(sum(t_end_us - t_start_us) FILTER (t_start_us < {edge} AND t_end_us >= {edge}), 0)::DOUBLE"
            for edge in (self.window.start_us, self.window.end_us)
        )
        with operations_of(self.folder) as rows:
            asked = f"count(*), count(*) FILTER (outcome NOT IN ({known})), {edges}"
            kept, unknown, *over_us = rows.aggregate(asked).fetchall()[0]
        return _Records(int(kept), int(unknown), float(max(over_us)))

    @cached_property
    def host(self) -> pd.DataFrame | None:
        """The samples of the load host."""
        return table(self.folder, "host")

    @cached_property
    def clients(self) -> pd.DataFrame | None:
        """How each client ended, and what it used."""
        return table(self.folder, "clients")


Answer = tuple[bool | None, str]
RunCheck = Callable[[CheckedRun], Answer]
