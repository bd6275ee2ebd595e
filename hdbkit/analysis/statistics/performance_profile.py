"""Performance profiles: on which share of the problems is a solver within a factor of the best?

Each time is divided by the best time on the same problem; a solver's profile at tau is the share of problems on which
its ratio is at most tau. At tau = 1 it is how often the solver wins, far to the right how often it ends at all.
Source: E. D. Dolan and J. J. More, "Benchmarking optimization software with performance profiles", Mathematical
Programming 91 (2), 2002.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from hdbkit.errors import InputError


def ratios(times: pd.DataFrame) -> pd.DataFrame:
    """Each time over the best of its row; ``times`` has one row per problem and one column per solver, NaN = failed.

    A failure is infinitely slower than the best; a problem that no solver solved is omitted.

    Raises:
        InputError: a time is not above 0.
    """
    if not bool(((times > 0) | times.isna()).all(axis=None)):
        raise InputError("a performance profile needs times above 0 (nothing for a failure)")
    solved = times[times.notna().any(axis=1)]
    return solved.div(solved.min(axis=1), axis=0).fillna(np.inf)


def profile(times: pd.DataFrame) -> pd.DataFrame:
    """The profiles, 0 to 1: one column per solver, one row per ``tau`` (index, from 1) at which one of them rises."""
    by_problem = ratios(times)
    finite = by_problem.to_numpy()[np.isfinite(by_problem.to_numpy())]
    taus = np.unique(np.append(finite, 1.0))
    shares = {name: (column.to_numpy()[:, None] <= taus).mean(axis=0) for name, column in by_problem.items()}
    return pd.DataFrame(shares, index=pd.Index(taus, name="tau"))


def wins(times: pd.DataFrame) -> pd.Series[float]:
    """The share of problems on which each solver is the fastest: its profile at 1."""
    return profile(times).iloc[0]
