"""Rows on their way into a table: through a pipe that the driver reads as a file, or as INSERTs where it may not.

No file is made: the driver opens the reading end of a pipe by its path, and a thread writes what the source gives.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from threading import Thread

_PIPE_BYTES = 1 << 20
_STATEMENT_BYTES = 1 << 20


@contextmanager
def piped(chunks: Iterable[bytes]) -> Iterator[str]:
    """The path at which the chunks can be read once, inside the ``with``.

    An error of the source comes out of the ``with`` behind its content, which saw the rows before it.
    """
    reading, writing = os.pipe()
    with suppress(OSError):  # an account may own so much in pipes and no more
        fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
    failed: list[BaseException] = []
    writer = Thread(target=_write, args=(chunks, writing, failed), daemon=True)
    writer.start()
    try:
        yield f"/dev/fd/{reading}"
    finally:
        os.close(reading)
        writer.join()
    if failed:
        raise failed[0]


def _write(chunks: Iterable[bytes], writing: int, failed: list[BaseException]) -> None:
    try:
        for chunk in chunks:
            left = memoryview(chunk)
            while left:
                left = left[os.write(writing, left) :]
    except BrokenPipeError:
        pass  # the server refused the rows or is gone, which it says itself
    except BaseException as error:
        failed.append(error)
    finally:
        os.close(writing)


def insertions(head: bytes, chunks: Iterable[bytes], max_bytes: int) -> Iterator[bytes]:
    """Chunks of whole rows behind ``head``, each statement at most ``max_bytes`` unless one row alone is longer."""
    room = min(max_bytes, _STATEMENT_BYTES) - len(head)
    for chunk in chunks:
        rows: list[bytes] = []
        size = 0
        for line in chunk.removesuffix(b"\n").split(b"\n"):
            row = _row(line)
            if rows and size + len(row) >= room:
                yield head + b",".join(rows)
                rows, size = [], 0
            rows.append(row)
            size += len(row) + 1
        if rows:
            yield head + b",".join(rows)


def _row(line: bytes) -> bytes:
    r"""A line as a row of literals; both read ``\\`` and ``\t`` alike, and ``\N`` alone is null."""
    fields = line.replace(b"'", b"''").split(b"\t")
    return b"(%b)" % b",".join([b"NULL" if field == rb"\N" else b"'%b'" % field for field in fields])
