"""The population, from the generator of the specification's data (``tpchgen-cli``), streamed and never on disk.

Equal scale factors give equal rows, whatever the parts. A part is a range of a table's rows, or several small tables
together, since each start of the generator takes about a second. The rows of a part come through a pipe; tables that
come together are distinguished by their number of columns.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Final

from hdbkit.contracts import Part, TableLoad
from hdbkit.errors import InputError
from hdbkit.workloads.tproc_h.spec import TprocHSpec
from hdbkit.workloads.tproc_h.tables import TABLES

_TOOL: Final = "tpchgen-cli"
_PART_BYTES: Final = 200_000_000
_CHUNK_BYTES: Final = 1 << 20
_TABS: Final = bytes.maketrans(b"|", b"\t")
_TOGETHER: Final = ("region", "nation", "supplier", "customer", "part", "partsupp")
"""Tables with different numbers of columns."""


def parts(spec: TprocHSpec) -> list[Part]:
    """Parts of about 200 MB, the largest tables first."""
    sizes = {table.name: table.rows_at(spec.scale_factor) * table.row_bytes for table in TABLES.values()}
    together = _TOGETHER if sum(sizes[name] for name in _TOGETHER) <= _PART_BYTES else ()
    alone = [(name,) for name in sorted(sizes, key=lambda name: -sizes[name]) if name not in together]
    found = []
    for names in (*alone, *((together,) if together else ())):
        size_bytes = sum(sizes[name] for name in names)
        rows = sum(TABLES[name].rows_at(spec.scale_factor) for name in names)
        count = -(-size_bytes // _PART_BYTES)
        found += [
            Part(f"{'+'.join(names)}-{number}-{count}", rows // count, size_bytes // count)
            for number in range(1, count + 1)
        ]
    return found


def part(spec: TprocHSpec, key: str) -> Iterator[TableLoad]:
    """The rows of a part: a load for each run of rows of one table."""
    names, number, count = key.rsplit("-", 2)
    tables = {len(TABLES[name].columns): TABLES[name] for name in names.split("+")}
    text = _generated(spec.scale_factor, names.replace("+", ","), int(number), int(count))
    for columns, chunks in groupby(_of_one_table(text), key=lambda chunk: chunk.split(b"\n", 1)[0].count(b"\t") + 1):
        yield TableLoad(tables[columns], chunks)


def _of_one_table(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """The rows in chunks whose rows have as many columns each."""
    for chunk in chunks:
        columns = chunk[: chunk.index(b"\n")].count(b"\t")
        if (
            chunk.count(b"\t") == columns * chunk.count(b"\n")
            and chunk[:-1].rpartition(b"\n")[2].count(b"\t") == columns
        ):
            yield chunk
            continue
        for _, rows in groupby(chunk.splitlines(keepends=True), key=lambda row: row.count(b"\t")):
            yield b"".join(rows)


def _generated(scale_factor: float, tables: str, number: int, count: int) -> Iterator[bytes]:
    """Tab-separated text of a part of tables, in chunks of whole rows.

    Raises:
        InputError: the generator is not installed, or fails.
    """
    words = [generator(), "tbl", "-s", f"{scale_factor:g}", "-T", tables, "--stdout", "-n", "1"]
    if count > 1:
        words += ["-p", str(count), "--part", str(number)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        rest = b""
        try:
            while read := running.stdout.read(_CHUNK_BYTES):
                rows, end, after = (rest + read).rpartition(b"\n")
                rest = after
                if end:
                    yield (rows + end).translate(_TABS).replace(b"\t\n", b"\n")
        finally:
            running.stdout.close()
            problem = running.stderr.read().decode(errors="replace").strip()
    if running.returncode or rest:
        raise InputError(f"{_TOOL} failed: {problem.splitlines()[-1] if problem else 'its output ends within a row'}")


def generator() -> str:
    """The path of the generator. Raises ``InputError`` if it is not installed."""
    beside = Path(sys.executable).with_name(_TOOL)
    found = str(beside) if beside.is_file() else shutil.which(_TOOL)
    if found is None:
        raise InputError(f"TPROC-H needs {_TOOL} to generate its data; run: pip install 'hdbkit[tproc-h]'")
    return found
