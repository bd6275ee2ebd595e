"""A distribution of latencies with an expanded upper tail: the time that 1 in N operations reaches or exceeds.

Exact: every value is a latency that was seen, at the rank that ``quantiles.rank`` gives.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from hdbkit.analysis.run import quantiles

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
    """The quantiles of ``SHARES`` and the longest, in ms, by the names of their columns."""
    cumulative = seen.to_numpy().cumsum()
    latency = seen.index.to_numpy()
    ranks = [quantiles.rank(cumulative[-1:], share)[0] for share in SHARES.values()]
    found = {f"{name} (ms)": float(latency[np.searchsorted(cumulative, rank)]) / 1000
             for name, rank in zip(SHARES, ranks, strict=True)}  # fmt: skip
    return found | {"max (ms)": float(latency[-1]) / 1000}
