"""A population in files, for other loaders and for builds."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hdbkit.config import WorkloadSpec
from hdbkit.control_groups import limits
from hdbkit.errors import InputError
from hdbkit.loading import Format, Progress, Written, write_population
from hdbkit.workloads import specification


def datagen(
    workload: WorkloadSpec | Path | str | None = None,
    folder: Path | str = "data",
    *,
    format: Format | str = Format.CSV,
    chunks: int | None = None,
    chunk: Sequence[int] = (),
    processes: int | None = None,
    progress: Progress | None = None,
    **fields: Any,
) -> Written:
    """Write the rows of a workload to files; an interrupted call continues, and other files are never replaced.

    Args:
        workload: a specification, the name of a workload, or a folder that defines one.
        folder: where the files are, created if missing: one of each table and chunk, ``stock.1.csv``.
        format: ``text`` (tab-separated as COPY and LOAD DATA read it), ``csv`` (RFC 4180 without a header),
            ``parquet``, or ``bcp`` (with a format file for each table).
        chunks: the number of files of each table; None: one for each part of the population.
        chunk: the numbers of the chunks to write, from 1, such as those of one of several hosts; by default all.
        processes: the number of processes; by default one per core.
        progress: called with the chunks that are complete, their number, and the rows written so far.
        fields: fields of the specification, such as its scale.

    Raises:
        InputError: the folder has other files, there are fewer parts than chunks, or a file cannot be written.

    Example:
        >>> hdbkit.datagen("my-workload/", "data", format="parquet").rows  # doctest: +SKIP
    """
    if format not in {one.value for one in Format}:
        raise InputError(f"there is no format '{format}' (known: {', '.join(Format)})")
    spec = specification(workload, **fields)
    return write_population(spec, Path(folder), Format(format), chunks, chunk, processes or limits().cores, progress)
