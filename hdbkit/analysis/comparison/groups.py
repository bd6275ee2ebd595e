"""Groups of runs side by side: their metric at each count of virtual users, over time, and their latencies.

A group is a name and its runs, such as all runs of a release or of a database. For runs that were not randomized
together: the intervals cover the noise between runs, not what changed on the machine from one group to the next.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hdbkit.analysis.run import quantiles
from hdbkit.analysis.run.courses import courses
from hdbkit.analysis.run.records import mean_times_s, window_of
from hdbkit.analysis.wording import CONFIDENCE
from hdbkit.config.metric import Metric
from hdbkit.errors import InputError
from hdbkit.later import numpy as np
from hdbkit.later import pandas as pd
from hdbkit.later import scipy
from hdbkit.results.columns import Outcome
from hdbkit.results.folder import RunFolder
from hdbkit.results.manifest import Manifest

Finished = tuple[RunFolder, Manifest]
"""A run with a result."""
Groups = Mapping[str, Sequence[Finished]]


def common_metric(groups: Groups) -> Metric:
    """The metric of all runs of all groups.

    Raises:
        InputError: the runs have different metrics, or there are no runs.
    """
    metrics = [manifest.metric for finished in groups.values() for _, manifest in finished]
    if not metrics:
        raise InputError("there is no run to compare")
    other = next((one for one in metrics if not one.comparable(metrics[0])), None)
    if other is not None:
        raise InputError(f"runs with different metrics cannot be compared: {metrics[0].title} and {other.title}")
    return metrics[0]


def metric_values(groups: Groups) -> pd.DataFrame:
    """A row per run: group, run_id, virtual_users, metric_value, operations_per_s; only those with a value."""
    rows = [
        {
            "group": name,
            "run_id": manifest.run_id,
            "virtual_users": manifest.plan.load.virtual_users,
            "metric_value": manifest.compared_value,
            "operations_per_s": manifest.result.operations_per_s,
        }
        for name, finished in groups.items()
        for _, manifest in finished
        if manifest.result and manifest.compared_value
    ]
    return pd.DataFrame(rows, columns=["group", "run_id", "virtual_users", "metric_value", "operations_per_s"])


def values_by_users(runs: pd.DataFrame) -> pd.DataFrame:
    """The mean of the metric for each group and count of virtual users, each with its own interval.

    Args:
        runs: as :func:`metric_values` gives them.

    Returns:
        A row each with ``group``, ``virtual_users``, ``runs`` (that count), ``metric_value`` (their geometric mean),
        ``low`` and ``high`` (NaN where no cell has two runs). The noise of a run is pooled over all cells, on the log
        scale.
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
    half = scipy.special.stdtrit(df, (1 + CONFIDENCE) / 2) * noise / np.sqrt(cells["count"]) if df else np.nan
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
    """The course of every run, all with the same steps: group, run_id, second, rate, inside (of the window).

    ``second`` counts from the start of each run's own window, so that it is below 0 in the ramp-up.
    """
    parts = []
    known = {one[1].run_id: one for finished in groups.values() for one in _recorded(finished)}
    course = courses(list(known.values()))
    start = course[course["inside"].astype(bool)].groupby("run_id")["second"].min()
    for name, finished in groups.items():
        for run_id in dict.fromkeys(manifest.run_id for _, manifest in finished):
            rows = course[course["run_id"] == run_id]
            if len(rows):
                parts.append(rows.assign(group=name, second=rows["second"] - start[run_id]))
    columns = ["group", "run_id", "second", "rate", "inside"]
    return pd.concat(parts, ignore_index=True)[columns] if parts else pd.DataFrame(columns=columns)


def distributions(groups: Groups, operation: str) -> dict[str, pd.Series[int]]:
    """How often each latency (us, sorted) of an operation was seen in each group, its runs taken together."""
    found = {}
    for name, finished in groups.items():
        histograms = [
            rows[(rows["operation"] == manifest.operations.index(operation)) & _done(rows)]
            for folder, manifest in _recorded(finished)
            if operation in manifest.operations
            for rows in [quantiles.counts(folder, window_of(manifest))]
        ]
        seen = pd.concat(histograms).groupby("latency_us")["n"].sum() if histograms else pd.Series(dtype=int)
        if len(seen):
            found[name] = seen
    return found


def values_by_size(groups: Groups) -> tuple[pd.DataFrame, str]:
    """A row per run with a value and a size of its schema: group, size, metric_value; and what the size counts.

    Empty where all have one size.
    """
    rows = [
        {"group": name, "size": manifest.size, "metric_value": manifest.metric_value}
        for name, finished in groups.items()
        for _, manifest in finished
        if manifest.size and manifest.metric_value
    ]
    scale = next((manifest.scale for finished in groups.values() for _, manifest in finished if manifest.size), "")
    found = pd.DataFrame(rows, columns=["group", "size", "metric_value"])
    several = found["size"].nunique() > 1
    return (found if several else found.head(0)), " ".join(word for word in scale.split() if not _is_number(word))


def _is_number(word: str) -> bool:
    return word.replace(",", "").replace(".", "").isdigit()


def operation_times(groups: Groups) -> pd.DataFrame:
    """A row per run and operation of a metric that is a mean over operations: group, operation, seconds (the mean).

    Empty for any other metric.
    """
    parts = []
    for name, finished in groups.items():
        manifests = [manifest for _, manifest in finished if manifest.metric.by_operation]
        times = mean_times_s(manifests).melt(var_name="operation", value_name="seconds").dropna()
        parts.append(times.assign(group=name))
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()


def _recorded(finished: Sequence[Finished]) -> list[Finished]:
    """The runs with records: all but those that another tool measured."""
    return [one for one in finished if not one[1].measured_by]


def _done(rows: pd.DataFrame) -> pd.Series[bool]:
    return rows["outcome"] != Outcome.FAILED.value
