"""A distribution of latencies with an expanded upper tail: the time that 1 in N operations reaches or exceeds.

Exact: every value is a latency that was seen, at the rank that ``rank`` gives.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hdbkit.analysis.run.quantiles import quantiles_of
from hdbkit.later import numpy as np
from hdbkit.later import pandas as pd
from hdbkit.text import number

POINTS = 60
SHARES = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99, "p99.9": 0.999}
"""The quantiles of a table, in the words of a reader."""


def slow_end(seen: pd.Series[int]) -> pd.DataFrame:
    """Columns slower and latency_us: 1 operation in ``slower`` took longer than ``latency_us``.

    Args:
        seen: how often each latency was seen; its index are the latencies in us, sorted.
    """
    cumulative = seen.to_numpy().cumsum()
    total = int(cumulative[-1])
    slower = np.unique(np.r_[np.geomspace(1, total, POINTS), 2.0])
    ranks = np.maximum(1, total - np.floor(total / slower).astype(np.int64))
    return pd.DataFrame({"slower": slower, "latency_us": seen.index.to_numpy()[np.searchsorted(cumulative, ranks)]})


def shares_ms(seen: pd.Series[int]) -> dict[str, float]:
    """The supported quantiles of ``SHARES`` (else NaN) and the longest, in ms, by the names of their columns."""
    histogram = pd.DataFrame({"all": 0, "latency_us": seen.index, "n": seen.to_numpy()})
    row = quantiles_of(histogram, ["all"], SHARES).iloc[0]
    return {f"{name} (ms)": float(row[f"{name}_us"]) / 1000 for name in (*SHARES, "max")}


def shares_text(ms: Mapping[str, Any]) -> str:
    """The median and p99 of ``shares_ms``, where they are known, and the longest: ``p50 1.2, p99 8.4, max 20 ms``."""
    listed = ((name, float(ms[f"{name} (ms)"])) for name in ("p50", "p99", "max"))
    return f"{', '.join(f'{name} {number(value, 3)}' for name, value in listed if not np.isnan(value))} ms"
