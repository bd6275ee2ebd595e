"""The population, from the generator of the specification's data (``tpchgen-cli``), streamed and never on disk.

Equal scale factors give equal rows, whatever the parts. A part is a range of the rows of every table, as equal parts
keep all loaders busy, and each start of the generator takes 1.5 s of CPU time and 340 MB. Its rows come through one
pipe, as tab-separated values with a line of column names ahead of each table.
"""

from __future__ import annotations

import fcntl
import math
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from itertools import groupby
from pathlib import Path
from signal import Signals
from typing import Final

from hdbkit.config.specs.tproc_h import TprocHSpec
from hdbkit.contracts import Part, TableLoad
from hdbkit.errors import InputError
from hdbkit.workloads.tproc_h.tables import TPROC_H_TABLES

_TOOL: Final = "tpchgen-cli"
_PART_BYTES: Final = 600_000_000
_SMALL_BYTES: Final = 60_000_000
"""A smaller part takes its loader less time than the start of the generator."""
_KEY: Final = re.compile("[0-9]+-([0-9]{1,9})")
_CHUNK_BYTES: Final = 1 << 20
_QUOTE: Final = b'"'
"""Text is quoted, and has no quote."""
_OF_NAMES: Final = b"_"
"""The names of columns have it, and no row does."""


def parts(spec: TprocHSpec, loaders: int = 1, loaded: Collection[str] = ()) -> list[Part]:
    """Equal parts of at most 600 MB, a multiple of the loaders in number so that these end together.

    Where parts would be smaller than 60 MB, they are fewer. If some parts are ``loaded``, the division is theirs,
    unless it cannot be one of this scale.
    """
    rows = [table.rows_at(spec.scale_factor) for table in TPROC_H_TABLES.values()]
    size_bytes = sum(count * table.row_bytes for count, table in zip(rows, TPROC_H_TABLES.values(), strict=True))
    maximum = max(1, size_bytes // _SMALL_BYTES)
    earlier = _KEY.fullmatch(next(iter(loaded), ""))
    count = int(earlier[1]) if earlier else 0
    if not 1 <= count <= maximum:
        count = min(math.ceil(size_bytes / (_PART_BYTES * loaders)) * loaders, maximum)
    return [Part(f"{number}-{count}", sum(rows) // count, size_bytes // count) for number in range(1, count + 1)]


def part(spec: TprocHSpec, key: str, tables: Iterable[str] = tuple(TPROC_H_TABLES)) -> Iterator[TableLoad]:
    """The rows of the part ``<number>-<count>`` of some tables: a load for each table.

    Raises:
        InputError: the generator is not installed, or fails.
    """
    found = by_table(_generated(spec.scale_factor, ",".join(tables), *map(int, key.split("-"))))
    for name, pieces in groupby(found, key=lambda piece: piece[0]):
        yield TableLoad(TPROC_H_TABLES[name], (rows for _, rows in pieces))


def by_table(chunks: Iterable[bytes]) -> Iterator[tuple[str, bytes]]:
    """The rows of each chunk with the name of their table."""
    heads = {name: "\t".join(table.columns).encode() + b"\n" for name, table in TPROC_H_TABLES.items()}
    current = ""
    for chunk in chunks:
        begin, here = 0, heads if _OF_NAMES in chunk else {}
        for at, name in sorted((at, name) for name, head in here.items() if (at := chunk.find(head)) >= 0):
            if at > begin:
                yield current, chunk[begin:at]
            current, begin = name, at + len(heads.pop(name))
        if begin < len(chunk):
            yield current, chunk[begin:] if begin else chunk


def _generated(scale_factor: float, tables: str, number: int, count: int) -> Iterator[bytes]:
    """Tab-separated text of a part of tables, in chunks of whole rows."""
    words = [generator(), "csv", r"--delimiter=\t", "-s", f"{scale_factor:g}", "-T", tables, "--stdout", "-n", "1"]
    words += ["-p", str(count), "--part", str(number)]
    with subprocess.Popen(words, bufsize=0, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        with suppress(OSError):  # the kernel limits the pipe memory of an account
            fcntl.fcntl(running.stdout, fcntl.F_SETPIPE_SZ, _CHUNK_BYTES)
        rest = b""
        try:
            while read := os.read(running.stdout.fileno(), _CHUNK_BYTES):
                rows, end, after = read.rpartition(b"\n")
                if end:
                    yield b"".join((rest, rows, end)).replace(_QUOTE, b"")
                    rest = after
                else:
                    rest += read
        finally:
            running.stdout.close()
            problem = running.stderr.read().decode(errors="replace").strip()
    if running.returncode < 0:
        raise InputError(f"{_TOOL} was ended by signal {Signals(-running.returncode).name}")
    if running.returncode or rest:
        raise InputError(f"{_TOOL} failed: {problem.splitlines()[-1] if problem else 'its output ends within a row'}")


def generator() -> str:
    """The path of the generator. Raises ``InputError`` if it is not installed."""
    beside = Path(sys.executable).with_name(_TOOL)
    found = str(beside) if beside.is_file() else shutil.which(_TOOL)
    if found is None:
        raise InputError(f"TPROC-H needs {_TOOL} to generate its data; run: pip install 'hdbkit[tproc-h]'")
    return found
