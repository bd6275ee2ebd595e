"""Little's law as a check of reported results: users = throughput x response time.

In a closed system without think time N users have N operations in progress at any time, so the mean response time is
R = N / X at a throughput of X. Reported figures that do not fit are of different windows, or were not measured. One
mismatch has a known cause: where X x R is 1 whatever N, the "response time" is 1 / X, the time between two ends.
Source: J. D. C. Little, "A proof for the queuing formula L = lambda W", Operations Research 9 (3), 1961.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import pandas as pd

from hdbkit.results.manifest import Manifest

TOLERANCE = 0.05
"""How far users by law may lie from the reported users, relative to them."""
_RECIPROCAL = 0.02
"""How far from 1 throughput x response time may lie, where 1 / X was reported (with few digits)."""


@dataclass(frozen=True)
class Examination:
    """The law applied to a table of results.

    ``table`` has a row per result: virtual_users, tpm (operations per minute), response_ms (as reported),
    users_by_law, response_by_law_ms (the mean that the law gives), holds.
    """

    table: pd.DataFrame
    reciprocal: bool
    """Whether each response time is 60000 / tpm, whatever the number of virtual users."""

    @property
    def holds(self) -> bool:
        """Whether the law holds in every row."""
        return bool(self.table["holds"].all())

    @property
    def sentence(self) -> str:
        """The finding as a sentence."""
        rows, held = len(self.table), int(self.table["holds"].sum())
        if self.holds:
            return f"Little's law holds in all {rows} rows: throughput and response times belong together."
        if not self.reciprocal:
            return f"Little's law holds in {held} of {rows} rows; in the others the two do not belong together."
        most = self.table.nlargest(1, "virtual_users").iloc[0]
        return (
            f"All {rows} response times are 60000 / tpm, whatever the number of virtual users: the "
            f"time between two ends, not the time of one operation. Little's law holds only in the {held} rows of "
            f"one virtual user; the mean response time of N users is N x 60000 / tpm, in the first row of "
            f"{most['virtual_users']:.0f} users {most['response_by_law_ms']:,.1f} ms instead of "
            f"{most['response_ms']:,.1f} ms."
        )


def examine(
    results: pd.DataFrame,
    *,
    users: str = "virtual_users",
    tpm: str = "tpm",
    response_ms: str = "avg_response_ms",
    tolerance: float = TOLERANCE,
) -> Examination:
    """Check Little's law on results without think time; the arguments name the columns.

    ``tpm`` is operations per minute of all users, ``response_ms`` the mean time of one as reported.
    """
    given = results[[users, tpm, response_ms]].set_axis(["virtual_users", "tpm", "response_ms"], axis=1)
    by_law = given["tpm"] / 60_000 * given["response_ms"]
    table = given.assign(
        users_by_law=by_law,
        response_by_law_ms=60_000 * given["virtual_users"] / given["tpm"],
        holds=(by_law / given["virtual_users"] - 1).abs() <= tolerance,
    )
    several = bool((given["virtual_users"] > 1).any())
    return Examination(table, several and bool(((by_law - 1).abs() <= _RECIPROCAL).all()))


def of_runs(manifests: Iterable[Manifest]) -> pd.DataFrame:
    """Own finished runs in the form for :func:`examine`, one row per run.

    Columns: virtual_users, tpm (operations per minute as the clients counted them), avg_response_ms (mean service
    time, retries included). Runs that another tool measured are left out.
    """
    rows = []
    for one in manifests:
        result = one.measured
        law = result.littles_law
        if law is None or result.operations_per_s is None:
            continue
        rows.append(
            {
                "run_id": one.run_id,
                "virtual_users": law.users,
                "tpm": 60 * result.operations_per_s,
                "avg_response_ms": law.mean_us / 1000 if law.mean_us is not None else float("nan"),
            }
        )
    return pd.DataFrame(rows, columns=["run_id", "virtual_users", "tpm", "avg_response_ms"]).set_index("run_id")
