"""Published reference results as frames, as public reports print them (sources: ``notebooks/data/README.md``)."""

from __future__ import annotations

import pandas as pd

from hdbkit.config.metric import Metric
from hdbkit.paths import data_folder


def metric() -> Metric:
    """The metric of the column ``metric_value`` of the published OLTP results."""
    return Metric.model_validate_json((data_folder("notebooks/data") / "metric.json").read_bytes())


def cern_oltp() -> pd.DataFrame:
    """CERN openlab 2013: a row per experiment and count of virtual users.

    Columns: experiment, system, configuration, virtual_users, tpm, metric_value (per minute), avg_response_ms,
    cpu_load (percent), disk_read_kb_s, disk_write_kb_s, and ``label``: system and configuration.
    """
    frame = _read("cern_2013_oltp")
    return frame.assign(label=frame["system"] + ", " + frame["configuration"])


def cern_queries() -> pd.DataFrame:
    """CERN openlab 2013: seconds of the 22 queries (rows) on three configurations (columns)."""
    frame = _read("cern_2013_tpch").set_index("query")
    return frame.rename(columns=lambda name: name.removesuffix("_s").replace("_", " "))


def recorded_sweeps() -> pd.DataFrame:
    """A recording of sweeps in the design of that report: of the null engine, whose figures are no database's.

    Columns: target, virtual_users, metric_value (per minute), block; a row per run, as :func:`hdbkit.runs` has them.
    """
    return _read("null_engine_sweeps")


def points(comparison: str) -> pd.DataFrame:
    """The single results of one comparison, such as ``client language``.

    Columns: source, database, setting, virtual_users, metric_value, tpm (per minute; NaN where not printed), note.
    """
    frame = _read("published_points")
    return frame[frame["comparison"] == comparison].drop(columns="comparison").reset_index(drop=True)


def _read(name: str) -> pd.DataFrame:
    return pd.read_csv(data_folder("notebooks/data") / f"{name}.csv")
