"""The operations of a run as DuckDB relations, and its small tables as frames.

Nothing is read until a relation is asked for its rows, so a hundred million operations cost no more memory than
their groups. A damaged file raises ``DamagedResult`` with one sentence.

An operation belongs to the window in which it **ends**. Times are microseconds since the run's start.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from hdbkit.control_groups import limits
from hdbkit.errors import DamagedResult
from hdbkit.files import is_regular, opened_file
from hdbkit.later import duckdb
from hdbkit.later import numpy as np
from hdbkit.later import pandas as pd
from hdbkit.later import parquet as pq
from hdbkit.later import pyarrow as pa
from hdbkit.results.columns import ERROR_CLASSES, OPERATIONS, Outcome
from hdbkit.results.folder import RunFolder
from hdbkit.results.manifest import Manifest

if TYPE_CHECKING:
    import numpy.typing as npt

MEMORY_LIMIT = "1500MB"
_OUTCOMES = {one.value: one.name.lower() for one in Outcome}


@contextmanager
def operations_of(folder: RunFolder, window: Window | None = None) -> Iterator[duckdb.DuckDBPyRelation]:
    """The records of a run, those that end in ``window`` where one is given, with a column ``t_end_us``."""
    files = [str(path) for path in _files(folder)]
    connection = _database(os.getpid()).cursor()
    try:
        records = connection.from_parquet(files) if files else connection.from_arrow(_none())
        columns = "* RENAME (transaction AS operation)" if "transaction" in records.columns else "*"
        rows = records.project(f"{columns}, t_start_us + latency_us AS t_end_us")
        if window is not None:
            # the bound on the start is implied by that on the end; it lets whole row groups be passed over
            rows = rows.filter(
                f"t_end_us >= {window.start_us} AND t_end_us < {window.end_us} AND t_start_us < {window.end_us}"
            )
        yield rows
    except duckdb.Error as error:
        raise DamagedResult(f"{folder.operations} cannot be read: {_first_line(error)}") from None
    finally:
        connection.close()


@cache
def _database(_process_id: int) -> duckdb.DuckDBPyConnection:
    """DuckDB in the memory of this process (a fork needs its own): starting one takes longer than most queries."""
    folder = tempfile.mkdtemp(
        prefix="hdbkit-records-"
    )  # of mode 0700: what does not fit into memory is written there
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return duckdb.connect(
        config={
            "memory_limit": MEMORY_LIMIT,
            "threads": limits().cores,
            "temp_directory": folder,
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
            "preserve_insertion_order": False,
            "enable_external_file_cache": False,  # it would keep up to the limit
        }
    )


def sql_text(column: str) -> str:
    """A column's name for SQL: those of details come from files of others."""
    return '"' + column.replace('"', '""') + '"'


def metric_codes(manifest: Manifest) -> str:
    """The codes of the operations that the metric is made of, as a list of SQL: ``(0, 3)``."""
    return f"({', '.join(str(manifest.operations.index(name)) for name in manifest.of_metric)})"


def row_count(folder: RunFolder) -> int:
    """The number of recorded operations of a run, from the footers of its files."""
    try:
        return sum(int(pq.read_metadata(path).num_rows) for path in _files(folder))
    except (OSError, pa.ArrowException) as error:
        raise DamagedResult(f"{folder.operations} cannot be read: {_first_line(error)}") from None


def _files(folder: RunFolder) -> list[Path]:
    if not folder.operations.is_dir():
        raise DamagedResult(
            f"{folder.path} has no records of operations: there is no folder {folder.operations.name}"
        )
    files = sorted(folder.operations.glob("*.parquet"))
    if wrong := next((one for one in files if not is_regular(one)), None):
        raise DamagedResult(f"{wrong} cannot be read: it is not a regular file")
    return files


def _none() -> pa.Table:
    """The records of a run in which no operation ended."""
    schema = pa.schema([(name, pa.type_for_alias(kind)) for name, kind in OPERATIONS.items()])
    return schema.empty_table()


def table(folder: RunFolder, name: str) -> pd.DataFrame | None:
    """A small table of a run (counters, host, clients, errors, seconds); None where it was not written."""
    path = folder.table(name)
    if not path.is_file():
        return None
    return read_table(path)


def read_table(path: Path) -> pd.DataFrame:
    """A Parquet file as a frame. Raises ``DamagedResult``."""
    try:
        with (
            os.fdopen(opened_file(path), "rb") as content,
            pq.ParquetFile(content) as file,
        ):  # pq.read_table imports a library for many files, and starts threads
            frame: pd.DataFrame = file.read(use_threads=False).to_pandas(use_threads=False)
    except (OSError, pa.ArrowException) as error:
        raise DamagedResult(f"{path} cannot be read: {_first_line(error)}") from None
    return frame


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0][:200]


@dataclass(frozen=True)
class Window:
    """From ``start_us`` (included) to ``end_us`` (excluded)."""

    start_us: int
    end_us: int

    @property
    def duration_s(self) -> float:
        """Its length in seconds."""
        return (self.end_us - self.start_us) / 1e6


def window_of(manifest: Manifest) -> Window:
    """The measured window of a run.

    Raises:
        DamagedResult: the run ended before it was opened, the manifest holds none, or another tool measured it.
    """
    clock = manifest.clock
    if manifest.measured_by:
        raise DamagedResult(
            f"run {manifest.run_id} has no charts and tables over time: {manifest.measured_by}, which measured it, "
            "keeps no record of each operation"
        )
    if clock is None or clock.window_start_us is None or clock.window_end_us is None:
        raise DamagedResult(f"run {manifest.run_id} has no measured window: it ended before its ramp-up did")
    if clock.window_end_us <= clock.window_start_us:
        raise DamagedResult(
            f"run {manifest.run_id} has no measured window: it would end at {clock.window_end_us} us, "
            f"before its start at {clock.window_start_us} us"
        )
    return Window(clock.window_start_us, clock.window_end_us)


def completed_by_part(folder: RunFolder, window: Window, parts: int = 0) -> npt.NDArray[np.float64]:
    """Operations completed in each of equal parts of a window, by default of about a second.

    A window that was asked to last 10 s lasts 9.996 s; it has ten parts, not nine seconds and a lost rest.
    """
    parts = parts or max(1, round(window.duration_s))
    part = f"((t_end_us - {window.start_us}) * {parts} // {window.end_us - window.start_us})"
    with operations_of(folder, window) as rows:
        done = rows.filter(f"outcome <> {Outcome.FAILED.value}")
        found = done.aggregate(f"{part}::INTEGER AS part, count(*)::BIGINT AS n", part).fetchnumpy()
    series = np.zeros(parts)
    series[found["part"]] = found["n"]
    return series


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
        named = ", ".join(map(sql_text, details))
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
