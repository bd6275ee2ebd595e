"""Groups of runs side by side: how fast each is at each count of virtual users, over its seconds, and how slow.

A group is a name and its runs, such as all runs of a release or of a database. For runs that were not randomized
together: the intervals tell the noise between runs, not what changed on the machine from one group to the next.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
import scipy

from hdbkit.analysis.run import quantiles
from hdbkit.analysis.run.courses import courses
from hdbkit.analysis.run.windows import window_of
from hdbkit.results.columns import Outcome
from hdbkit.results.folder import RunFolder
from hdbkit.results.manifest import Manifest

Finished = tuple[RunFolder, Manifest]
"""A run with a result."""
Groups = Mapping[str, Sequence[Finished]]


def throughputs(groups: Groups) -> pd.DataFrame:
    """A row a run: group, run_id, virtual_users, nopm; runs that were not counted are left out."""
    rows = [
        {
            "group": name,
            "run_id": manifest.run_id,
            "virtual_users": int(manifest.plan["load"]["virtual_users"]),
            "metric_value": float(manifest.result["metric_value"]),
        }
        for name, finished in groups.items()
        for _, manifest in finished
        if manifest.result.get("metric_value")
    ]
    return pd.DataFrame(rows, columns=["group", "run_id", "virtual_users", "metric_value"])


def levels(runs: pd.DataFrame, confidence: float = 0.95) -> pd.DataFrame:
    """The typical throughput of each group and count of virtual users, each with its own interval.

    Args:
        runs: as ``throughputs`` gives them.
        confidence: of each interval by itself.

    Returns:
        A row each with ``group``, ``virtual_users``, ``runs`` (that count), ``nopm`` (their geometric mean), ``low``
        and ``high`` (NaN where no cell has two runs). The noise of a run is pooled over all cells, on the log scale.
    """
    order = pd.Categorical(runs["group"], list(dict.fromkeys(runs["group"])))
    logs = runs.assign(metric_value=np.log(runs["metric_value"].astype(float)), group=order)
    cells = (
        logs.groupby(["group", "virtual_users"], observed=True)["metric_value"]
        .agg(["count", "mean", "var"])
        .reset_index()
    )
    of_cell = cells["count"] - 1
    df = int(of_cell.sum())
    noise = float(np.sqrt((of_cell * cells["var"].fillna(0)).sum() / df)) if df else float("nan")
    half = scipy.special.stdtrit(df, (1 + confidence) / 2) * noise / np.sqrt(cells["count"]) if df else np.nan
    return pd.DataFrame(
        {
            "group": cells["group"].astype(str),
            "virtual_users": cells["virtual_users"],
            "runs": cells["count"],
            "metric_value": np.exp(cells["mean"]),
            "low": np.exp(cells["mean"] - half),
            "high": np.exp(cells["mean"] + half),
        }
    )


def overlaid(groups: Groups) -> pd.DataFrame:
    """The course of every run, all with the same steps: group, run_id, second, nopm, inside (of the window).

    ``second`` counts from the start of each run's own window, so that it is below 0 in the rampup.
    """
    parts = []
    known = {manifest.run_id: (folder, manifest) for finished in groups.values() for folder, manifest in finished}
    course = courses(list(known.values()))
    start = course[course["inside"].astype(bool)].groupby("run_id")["second"].min()
    for name, finished in groups.items():
        for run_id in dict.fromkeys(manifest.run_id for _, manifest in finished):
            rows = course[course["run_id"] == run_id]
            if len(rows):
                parts.append(rows.assign(group=name, second=rows["second"] - start[run_id]))
    columns = ["group", "run_id", "second", "metric_value", "inside"]
    return pd.concat(parts, ignore_index=True)[columns] if parts else pd.DataFrame(columns=columns)


def distributions(groups: Groups, operation: str) -> dict[str, pd.Series[int]]:
    """How often each latency (us, sorted) of a transaction was seen in each group, its runs taken together."""
    found = {}
    for name, finished in groups.items():
        counted = [
            rows[(rows["operation"] == manifest.operations.index(operation)) & _done(rows)]
            for folder, manifest in finished
            if operation in manifest.operations
            for rows in [quantiles.counts(folder, window_of(manifest))]
        ]
        seen = pd.concat(counted).groupby("latency_us")["n"].sum() if counted else pd.Series(dtype=int)
        if len(seen):
            found[name] = seen
    return found


def _done(rows: pd.DataFrame) -> pd.Series[bool]:
    return rows["outcome"] != Outcome.FAILED.value
