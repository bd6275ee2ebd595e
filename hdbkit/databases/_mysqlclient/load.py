"""Bulk load: LOAD DATA LOCAL from a pipe, or INSERT statements if the server does not allow that.

No file is created: the driver opens the read end of a pipe by its path, and a thread writes the rows.
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
    """A path from which the chunks can be read once, inside the ``with`` block.

    An error of the source is raised at the end of the ``with`` block, after the rows before it were read.
    """
    reading, writing = os.pipe()
    with suppress(OSError):  # the kernel limits the pipe memory of an account
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
        pass  # the server rejected the rows or is gone, which the driver reports
    except BaseException as error:
        failed.append(error)
    finally:
        os.close(writing)


def insertions(head: bytes, chunks: Iterable[bytes], max_bytes: int) -> Iterator[bytes]:
    """INSERT statements of whole rows after ``head``; at most ``max_bytes`` each, unless one row is longer."""
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
    r"""A line as a row of literals; text and literals escape ``\\`` and ``\t`` alike, and only ``\N`` is null."""
    fields = line.replace(b"'", b"''").split(b"\t")
    return b"(%b)" % b",".join([b"NULL" if field == rb"\N" else b"'%b'" % field for field in fields])
