"""A spool: the file to which one client writes one fixed-size record a transaction.

One writer, no lock, mapped into memory: what a killed client finished is in the file (it survives the death of
the process, not a power cut). It grows in segments reserved by ``posix_fallocate``, outside the clock readings,
because writing into a hole on a full disk is SIGBUS. The validity word of a record is written last (``struct``
clears a record and packs field after field); a reader stops at the first without it, so a torn one is never read.
"""

from __future__ import annotations

import mmap
import os
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hdbkit.errors import DamagedResult
from hdbkit.results.columns import SPOOL_RECORD, SPOOL_STRUCT, SPOOL_VALID

Records = NDArray[Any]

_HEADER = struct.Struct("<8sIII")
_MAGIC = b"HDBSPOOL"
_VERSION = 1
_HEADER_BYTES = 4096
_SEGMENT_RECORDS = 65_536
_RECORDS_AT_ONCE = 16_384
_SIZE = SPOOL_RECORD.itemsize
_SEGMENT_BYTES = _SEGMENT_RECORDS * _SIZE
_PACK = struct.Struct(SPOOL_STRUCT).pack_into


class SpoolWriter:
    """The writing end, owned by one client."""

    def __init__(self, path: Path, virtual_user: int) -> None:
        self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o644)
        header = _HEADER.pack(_MAGIC, _VERSION, _SIZE, virtual_user).ljust(_HEADER_BYTES, b"\0")
        os.posix_fallocate(self._fd, 0, _HEADER_BYTES)
        os.pwrite(self._fd, header, 0)
        self._next_offset = _HEADER_BYTES
        self._grow()

    def _grow(self) -> None:
        """Reserve and map the next segment. Raises ``OSError`` when the disk is full."""
        os.posix_fallocate(self._fd, self._next_offset, _SEGMENT_BYTES)
        self._map = mmap.mmap(self._fd, _SEGMENT_BYTES, offset=self._next_offset)
        self._next_offset += _SEGMENT_BYTES
        self._at = 0

    @property
    def written(self) -> int:
        """How many records it holds."""
        return (self._next_offset - _SEGMENT_BYTES - _HEADER_BYTES + self._at) // _SIZE

    def append(
        self,
        scheduled_ns: int,
        start_ns: int,
        end_ns: int,
        w_id: int,
        o_id: int,
        d_id: int,
        operation: int,
        outcome: int,
        retries: int,
        error_class: int,
    ) -> None:
        """Write one record; times are of the monotonic clock."""
        at = self._at
        _PACK(
            self._map,
            at,
            scheduled_ns,
            start_ns,
            end_ns,
            w_id,
            o_id,
            d_id,
            operation,
            outcome,
            retries,
            error_class,
            SPOOL_VALID,
        )
        self._at = at + _SIZE
        if self._at == _SEGMENT_BYTES:  # now, not at the next record, which would be lost on a full disk
            self._grow()

    def close(self) -> None:
        """Close the file; the records are in it already."""
        os.close(self._fd)


class SpoolReader:
    """Reads the records of a spool that came since the last look; may look while the client writes."""

    def __init__(self, path: Path) -> None:
        self._fd = os.open(path, os.O_RDONLY)
        head = os.pread(self._fd, _HEADER.size, 0)
        if len(head) < _HEADER.size or head[:8] != _MAGIC:
            os.close(self._fd)
            raise DamagedResult(f"{path} is no spool of hdbkit")
        _, version, size, self.virtual_user = _HEADER.unpack(head)
        if (version, size) != (_VERSION, _SIZE):
            os.close(self._fd)
            raise DamagedResult(f"{path} is a spool of version {version}, this hdbkit reads version {_VERSION}")
        self._offset = _HEADER_BYTES

    def skip_before(self, end_ns: int) -> None:
        """Pass over the records that ended before ``end_ns`` without reading them; records are in that order."""
        low, high = 0, (os.fstat(self._fd).st_size - _HEADER_BYTES) // _SIZE
        while low < high:
            middle = (low + high) // 2
            record = np.frombuffer(os.pread(self._fd, _SIZE, _HEADER_BYTES + middle * _SIZE), SPOOL_RECORD)[0]
            if record["valid"] == SPOOL_VALID and record["end_ns"] < end_ns:
                low = middle + 1
            else:
                high = middle
        self._offset = _HEADER_BYTES + low * _SIZE

    def read(self, most: int = 1_000_000) -> Records:
        """The next records, at most ``most``; none when there is nothing new."""
        content = os.pread(self._fd, most * _SIZE, self._offset)
        records = np.frombuffer(content, SPOOL_RECORD, count=len(content) // _SIZE)
        invalid = np.flatnonzero(records["valid"] != SPOOL_VALID)
        if invalid.size:
            records = records[: invalid[0]]
        self._offset += records.size * _SIZE
        return records

    def close(self) -> None:
        """Close the file."""
        os.close(self._fd)


class SpoolTails:
    """All spools of a folder, read on: what has come since the last look, while the clients write."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._readers: dict[str, SpoolReader] = {}

    def new(self, since_ns: int) -> Iterator[Records]:
        """What is new, a piece at a time; of a spool that is seen first, what ended at ``since_ns`` or later."""
        for path in self._folder.glob("*.spool"):
            if path.name not in self._readers:
                try:
                    self._readers[path.name] = SpoolReader(path)
                except (DamagedResult, OSError):
                    continue
                self._readers[path.name].skip_before(since_ns)
        for reader in self._readers.values():
            while (piece := reader.read(_RECORDS_AT_ONCE)).size:
                yield piece
                if piece.size < _RECORDS_AT_ONCE:
                    break

    def close(self) -> None:
        """Close the files."""
        for reader in self._readers.values():
            reader.close()
        self._readers.clear()


def spool_path(folder: Path, virtual_user: int) -> Path:
    """Where a virtual user's spool is."""
    return folder / f"{virtual_user:05d}.spool"


def read_spools(folder: Path, most: int = 1_000_000) -> Iterator[tuple[int, Records]]:
    """Every record of every spool in ``folder`` as (virtual user, records), a piece at a time."""
    for path in sorted(folder.glob("*.spool")):
        try:
            reader = SpoolReader(path)
        except DamagedResult:
            continue  # killed before its header was there: it holds no record
        try:
            while (records := reader.read(most)).size:
                yield reader.virtual_user, records
        finally:
            reader.close()
