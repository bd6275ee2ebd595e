"""The rows of TPROC-H's generator, kept in a folder while the tests run: each of its starts takes a second.

What is asked for the first time comes from the generator itself.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from hdbkit.files import replace_file
from hdbkit.workloads.tproc_h import population

FOLDER: Final = "HDBKIT_TESTS_GENERATED"
"""The variable that names the folder; without it nothing is kept."""
_CHUNK_BYTES: Final = 1 << 20
_generated = population._generated


def _kept(scale_factor: float, tables: str, number: int, count: int) -> Iterator[bytes]:
    if FOLDER not in os.environ:
        yield from _generated(scale_factor, tables, number, count)
        return
    path = Path(os.environ[FOLDER]) / f"{scale_factor:g}-{tables}-{number}-{count}"
    if not path.is_file():
        replace_file(path, b"".join(_generated(scale_factor, tables, number, count)))
    with path.open("rb") as file:
        while rows := file.read(_CHUNK_BYTES) + file.readline():
            yield rows


def keep() -> None:
    """Keep the rows in this process and its forks."""
    population._generated = _kept
