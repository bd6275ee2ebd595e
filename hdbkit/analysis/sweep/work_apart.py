"""What the servers of two runs did differently, along the time of both, by the servers' own counters."""

from __future__ import annotations

import math

import pandas as pd

from hdbkit.analysis.run.records import table
from hdbkit.analysis.run.server_work import WORK, work_of
from hdbkit.results.folder import RunFolder
from hdbkit.results.manifest import Manifest

MARKED = ("checkpoints", "automatic vacuums")
"""Figures of ``WORK`` that are marks on the time rather than rates."""
_MIN_SAMPLES = 3


def work_apart(base: Manifest, new: Manifest, most: int = 1) -> list[str]:
    """The figures of ``WORK`` per operation that differ most between two results, the most different first."""
    each = [{one.what: one.each for one in work_of(manifest.measured) if one.each} for manifest in (base, new)]
    both = [name for name in each[0] if name in each[1] and name not in MARKED]
    apart = {name: abs(math.log((each[1][name] or 1) / (each[0][name] or 1))) for name in both}
    return sorted(both, key=lambda name: -apart[name])[:most]


def work_course(folder: RunFolder, what: str) -> pd.DataFrame:
    """Columns second and per_s: how fast a figure of ``WORK`` grew between each two samples; empty without samples.

    ``second`` is the middle between the samples, from the run's start on.
    """
    empty = pd.DataFrame({"second": pd.Series(dtype=float), "per_s": pd.Series(dtype=float)})
    counters = table(folder, "counters")
    if counters is None:
        return empty
    known = set(counters["name"])
    names = next((one for one in WORK[what] if set(one) <= known), None)
    if names is None:
        return empty
    rows = counters[counters["name"].isin(names)]
    total = rows.groupby("t_returned_us")["value"].agg(["sum", "size"]).sort_index()
    total = total[total["size"] == len(names)]
    if len(total) < _MIN_SAMPLES:
        return empty
    at = total.index.to_series() / 1e6
    length = at.diff()
    found = pd.DataFrame({"second": at - length / 2, "per_s": total["sum"].diff() / length})
    return found[(length > 0) & (found["second"] >= 0) & (found["per_s"] >= 0)].round(4).reset_index(drop=True)
