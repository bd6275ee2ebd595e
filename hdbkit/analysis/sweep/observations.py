"""What the verdicts of a sweep are made of: its runs, or the stretches of runs in which configurations alternate.

Where all configurations alternate within each run, what changes from cycle to cycle affects all of them alike.
Neighbouring cycles are put together to stretches, at most ``MAX_STRETCHES`` of a run; a rate is the mean over a
stretch, a time the geometric mean. A run as a whole has one value of each configuration, and such values vary as the
stretches explain, and by what differs from run to run (another plan, another place in memory). With
``MIN_RUN_DF`` degrees of freedom the runs show all of that, and they are the units. With fewer, the stretches are,
and what is claimed is about these runs alone; their noise is that within runs.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from hdbkit.analysis.run.records import read_table
from hdbkit.analysis.statistics.block_model import BlockModel
from hdbkit.config.metric import Measure, Metric
from hdbkit.errors import DamagedResult
from hdbkit.later import numpy as np
from hdbkit.later import pandas as pd
from hdbkit.results.columns import SLICES
from hdbkit.results.experiment_folder import ExperimentFolder
from hdbkit.results.experiment_runs import STRETCH, runs_frame
from hdbkit.results.folder import RunFolder

MAX_STRETCHES: Final = 48
"""Beyond this many per run they say nothing more, and the model takes longer."""
MIN_RUN_DF: Final = 6
"""From so many degrees of freedom on runs are the units."""


def observations(folder: ExperimentFolder, metric: Metric) -> pd.DataFrame:
    """The rows from which a sweep is judged: those of ``runs_frame``, or stretches of its runs (with ``stretch``).

    Raises:
        DamagedResult: the plan is missing or damaged.
    """
    runs = runs_frame(folder)
    return units(runs, stretches(runs, folder.root, metric), metric) if sliced(runs) else runs


def sliced(runs: pd.DataFrame) -> bool:
    """Whether configurations alternate within the runs of a runs frame."""
    return bool(runs["number"].duplicated().any())


def units(runs: pd.DataFrame, rows: pd.DataFrame, metric: Metric) -> pd.DataFrame:
    """The rows that are judged of a sweep by slices: its runs where they suffice, else their stretches.

    Args:
        runs: a row per run and configuration.
        rows: their stretches, as :func:`stretches` gives them.
        metric: what ``metric_value`` is.
    """
    return runs if BlockModel.fitted(runs, metric).df >= MIN_RUN_DF else rows


def stretches(runs: pd.DataFrame, root: Path, metric: Metric) -> pd.DataFrame:
    """A row per finished run, stretch and configuration, with ``stretch``; rows of other runs stay as they are.

    Args:
        runs: a row per run and configuration.
        root: the folder of all results.
        metric: what ``metric_value`` is.
    """
    parts = [runs[runs["status"] != "done"].assign(**{STRETCH: 0})]
    for run_id, of_run in runs[runs["status"] == "done"].groupby("run_id", sort=False):
        found = grouped(slices_of(RunFolder(root / str(run_id))), metric).drop(columns=["first_cycle", "cycles"])
        named = of_run.drop(columns=["metric_value", "operations_per_s"]).merge(found, on="configuration", how="left")
        parts.append(named.fillna({STRETCH: 0}).astype({STRETCH: "int64"}))
    return pd.concat([part for part in parts if len(part)], ignore_index=True).sort_values(
        ["number", STRETCH, "configuration"], ignore_index=True
    )


def grouped(slices: pd.DataFrame, metric: Metric) -> pd.DataFrame:
    """The stretches of a run: configuration, stretch, metric_value, operations_per_s, first_cycle, cycles.

    ``slices`` has the columns of ``results.columns.SLICES``.
    """
    cycles = np.unique(slices["cycle"].to_numpy())
    count = max(min(len(cycles), MAX_STRETCHES), 1)
    stretch = pd.Series(np.arange(len(cycles)) * count // max(len(cycles), 1), cycles, dtype="int64")
    rate = metric.measure is Measure.RATE
    values = slices["metric_value"] if rate else np.log(slices["metric_value"].astype(float))
    keys = [slices["configuration"], slices["cycle"].map(stretch).rename(STRETCH)]
    found = pd.DataFrame(
        {"metric_value": values, "operations_per_s": slices["operations_per_s"], "first_cycle": slices["cycle"]}
    ).assign(cycles=1)
    how = {"metric_value": "mean", "operations_per_s": "mean", "first_cycle": "min", "cycles": "sum"}
    found = found.groupby(keys).agg(how)
    if not rate:
        found["metric_value"] = np.exp(found["metric_value"])
    return found.reset_index()


def slices_of(run: RunFolder) -> pd.DataFrame:
    """The slices of a run that count; none where it kept none."""
    try:
        return read_table(run.table("slices"))
    except DamagedResult:
        return pd.DataFrame(columns=list(SLICES))
