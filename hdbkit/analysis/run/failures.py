"""Failures of a run: by second and class, and a sample of each kind of error."""

from __future__ import annotations

from hdbkit.analysis.run.records import operations_of, table
from hdbkit.later import pandas as pd
from hdbkit.results.columns import ERROR_CLASSES, Outcome
from hdbkit.results.folder import RunFolder

RETRIES = "retried"
"""Stands among the classes for errors after which the operation was retried."""
CLASS_NAMES = dict(enumerate(ERROR_CLASSES)) | {0: "other"}
"""The name of each class of failures, by its code in the records."""


def failures(folder: RunFolder, step_s: int = 1) -> pd.DataFrame:
    """Columns second (the first of a step), error_class, count: what failed, by the end of its operation.

    ``RETRIES`` counts the retries. The whole run is covered, its ramp-up too.
    """
    step = f"(t_end_us // {step_s * 1_000_000} * {step_s})::INTEGER"
    failed = f"CASE WHEN outcome = {Outcome.FAILED.value} THEN error_class::INTEGER ELSE -1 END"
    with operations_of(folder) as rows:
        found = rows.filter(f"outcome = {Outcome.FAILED.value} OR retries > 0").aggregate(
            f"{step} AS second, {failed} AS code, count(*)::BIGINT AS count, sum(retries)::BIGINT AS retries",
            f"{step}, {failed}",
        )
        counted: pd.DataFrame = found.df()
    retried = counted.groupby("second")["retries"].sum().rename("count").reset_index()
    classified = counted.assign(error_class=counted["code"].map(CLASS_NAMES))
    lost = classified.loc[classified["code"] >= 0, ["second", "error_class", "count"]]
    both = pd.concat([lost, retried.assign(error_class=RETRIES)])
    kept = both.loc[both["count"] > 0, ["second", "error_class", "count"]].astype({"second": int, "count": int})
    return kept.sort_values(["second", "error_class"], ignore_index=True)


def samples(folder: RunFolder) -> pd.DataFrame:
    """A row per kind of error, the most frequent first: class, operation, counts, times and a sample of its text.

    Empty if the run recorded none. ``retried`` is the number of retried ones.
    """
    kinds = table(folder, "errors")
    columns = ["error_class", "operation", "count", "retried", "first_s", "last_s", "code", "text"]
    if kinds is None:
        return pd.DataFrame(columns=columns)
    times = {f"{name}_s": (kinds[f"{name}_us"] / 1e6).round(3) for name in ("first", "last")}
    return kinds.assign(**times).sort_values("count", ascending=False, ignore_index=True)[columns]
