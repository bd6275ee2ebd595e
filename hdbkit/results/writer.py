"""Writes the Parquet files of a run folder from spools and samples, in bounded memory.

Microseconds, DELTA_BINARY_PACKED and zstd need about half the space and half the CPU time of the defaults.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hdbkit.files import draft_of
from hdbkit.later import numpy as np
from hdbkit.later import parquet as pq
from hdbkit.later import pyarrow as pa
from hdbkit.results import columns
from hdbkit.results.folder import make_folder
from hdbkit.results.host_clock import HostClock
from hdbkit.results.seconds import Seconds
from hdbkit.results.spool import UNKNOWN_DETAIL, Records, read_spools

if TYPE_CHECKING:
    from numpy.typing import NDArray

_ROWS_AT_ONCE = 1_000_000
_EMPTY: Mapping[str, Any] = {"string": "", "float64": math.nan, "list<float64>": []}
"""What stands for a missing value; 0 for that of an integer."""


def schema(table: Mapping[str, str]) -> pa.Schema:
    """The Arrow schema of a table of :mod:`hdbkit.results.columns`."""
    types = {"list<int32>": pa.list_(pa.int32()), "list<float64>": pa.list_(pa.float64())}
    return pa.schema([(name, types.get(kind) or pa.type_for_alias(kind)) for name, kind in table.items()])


def _operations_table(details: Mapping[str, str]) -> dict[str, str]:
    """The columns of ``operations/`` of a run with these detail columns, and their Arrow types."""
    return {**columns.OPERATIONS, **details}


def write_operations(
    spools: Sequence[tuple[Path, HostClock]], folder: Path, start_ns: int, operations: int, details: Mapping[str, str]
) -> tuple[Seconds, dict[int, int]]:
    """Write all records in ``spools`` to ``folder``; return the sums by second and the record count by client.

    Args:
        spools: the folders of the clients' spools, each with the clock of its times.
        folder: the folder for the Parquet file.
        start_ns: the run's start on the monotonic clock.
        operations: the number of operations of the workload.
        details: the detail columns with their Arrow types.
    """
    make_folder(folder, exist_ok=True)
    for left in folder.glob(".part-0.*"):  # left by a killed supervisor
        left.unlink()
    seconds, counts = Seconds(operations), dict[int, int]()
    table = schema(_operations_table(details))
    with draft_of(folder / "part-0.parquet") as draft, _operations_writer(draft, table) as writer:
        for client, raw, clock in (
            (client, records, clock)
            for folder, clock in spools
            for client, records in read_spools(folder, _ROWS_AT_ONCE)
        ):
            records = clock.records_here(raw)
            writer.write_table(_operations(records, start_ns, table))
            seconds.add(records, start_ns)
            counts[client] = counts.get(client, 0) + records.size
    return seconds, counts


def write_table(path: Path, table: Mapping[str, str], content: Mapping[str, Any]) -> None:
    """Write a small table from columns, atomically."""
    arrow = schema(table)
    arrays = [pa.array(content[field.name], field.type) for field in arrow]
    with draft_of(path) as draft:
        pq.write_table(pa.Table.from_arrays(arrays, schema=arrow), draft, compression="zstd")


def write_rows(path: Path, table: Mapping[str, str], rows: Sequence[Mapping[str, Any]]) -> None:
    """Write a small table from rows; missing numbers are NaN, missing texts and lists are empty."""
    empty = {name: _EMPTY.get(kind, 0) for name, kind in table.items()}
    write_table(path, table, {name: [row.get(name, empty[name]) for row in rows] for name in table})


def _operations_writer(path: Path, table: pa.Schema) -> pq.ParquetWriter:
    narrow = [field.name for field in table if field.type.bit_width <= 8]
    return pq.ParquetWriter(
        path,
        table,
        compression="zstd",
        compression_level=3,
        use_dictionary=narrow,
        column_encoding={name: "DELTA_BINARY_PACKED" for name in table.names if name not in narrow},
        write_statistics=["t_start_us"],
    )


def _operations(records: Records, start_ns: int, table: pa.Schema) -> pa.Table:
    start_us = (records["start_ns"] - start_ns) // 1000
    made = {
        "t_start_us": start_us,
        "latency_us": (records["end_ns"] - start_ns) // 1000 - start_us,
        "wait_us": (records["start_ns"] - records["scheduled_ns"]) // 1000,
    }
    columns = (pa.array(made[field.name]) if field.name in made else _known(records[field.name]) for field in table)
    return pa.Table.from_arrays(
        [column.cast(field.type) for column, field in zip(columns, table, strict=True)], schema=table
    )


def _known(values: NDArray[Any]) -> pa.Array:
    """A column of records; a detail that is not known is null."""
    return pa.array(values, mask=values == UNKNOWN_DETAIL if values.dtype == np.int64 else None)
