"""Every execution of a run's operations: when it began, how long it took, how it ended, and its details."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from hdbkit.analysis.run.records import operations_of, quoted, window_of
from hdbkit.results.columns import ERROR_CLASSES, Outcome
from hdbkit.results.folder import RunFolder
from hdbkit.results.manifest import Manifest

_OUTCOMES = {one.value: one.name.lower() for one in Outcome}


def executions(folder: RunFolder, manifest: Manifest) -> pd.DataFrame:
    """A row per execution in the window, by operation, virtual user and start.

    Returns:
        ``operation``, ``virtual_user``, ``start_s`` (since the run's start), ``elapsed_s`` (service time),
        ``outcome`` (the name of an ``Outcome`` in lower case), ``error`` (its class, or empty), and the details.

    Raises:
        DamagedResult: there is no measured window, or a file cannot be read.
    """
    with operations_of(folder, window_of(manifest)) as rows:
        details = [name for name in manifest.details if name in rows.columns]
        named = ", ".join(map(quoted, details))
        found: pd.DataFrame = (
            rows.project(
                "operation, virtual_user, t_start_us / 1e6 AS start_s, latency_us / 1e6 AS elapsed_s, outcome, "
                f"error_class AS error{', ' if named else ''}{named}"
            )
            .order("operation, virtual_user, start_s")
            .df()
        )
    return found.assign(
        operation=found["operation"].map(dict(enumerate(manifest.operations))),
        outcome=found["outcome"].map(_OUTCOMES),
        error=found["error"].map(dict(enumerate(ERROR_CLASSES))),
    )


def mean_times_s(manifests: Sequence[Manifest], *, every: bool = False) -> pd.DataFrame:
    """The mean time in seconds of each operation of the metric, or of ``every`` one, a column each, by ``run_id``.

    Operations that no run completed are left out; NaN where a run did not.
    """
    rows = {
        one.run_id: {
            name: line.mean_us
            for name in (one.planned if every else one.of_metric)
            if one.result and (line := one.result.operations.get(name)) and line.mean_us
        }
        for one in manifests
    }
    names = dict.fromkeys(name for one in manifests for name in (one.planned if every else one.of_metric))
    known = [name for name in names if any(name in row for row in rows.values())]
    return pd.DataFrame.from_dict(rows, orient="index").reindex(columns=known) / 1e6
