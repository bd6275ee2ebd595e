"""A spool: the file to which one client process writes one fixed-size record per operation.

One writer, no lock, memory-mapped: records of a killed client are in the file (they survive the process, not a power
failure). The file grows in segments reserved by ``posix_fallocate``, outside the clock readings, because writing into
a hole on a full disk raises SIGBUS. The validity word of a record is written last (``struct`` clears a record, then
packs its fields in order); a reader stops at the first record without it, so incomplete records are never read. The
header has the detail columns, so that a spool can be read without the plan.

A record consists of times, head, outcome, and finally the word that makes it valid. The **head** is what is known
before the clock starts (virtual user, operation, details). It is packed in advance, so that a client writes a record
with a single call between two operations. Details are unsigned or signed integers of at most 8 bytes.
"""

from __future__ import annotations

import json
import mmap
import os
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from hdbkit.errors import DamagedResult
from hdbkit.files import opened_file
from hdbkit.later import numpy as np
from hdbkit.results.columns import Outcome

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

HEADER_BYTES = 4096
_HEADER = struct.Struct("<8sIIII")  # magic, version, record size, client, length of the details that follow as JSON
_MAGIC = b"HDBSPOOL"
_VERSION = 2
_SEGMENT_RECORDS = 65_536  # of any size these make whole pages
_RECORDS_AT_ONCE = 1024
"""What a look reads of a spool at a time: about as much as is new, and little of the empty segment behind it."""


class SpoolWriter:
    """The writing end, owned by one client process."""

    def __init__(self, path: Path, client: int, details: Mapping[str, str]) -> None:
        record = record_struct(details)
        self._pack, self._size = record.pack_into, record.size
        self._segment_bytes = _SEGMENT_RECORDS * self._size
        self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        columns = json.dumps(dict(details)).encode()
        header = _HEADER.pack(_MAGIC, _VERSION, self._size, client, len(columns)) + columns
        os.posix_fallocate(self._fd, 0, HEADER_BYTES)
        os.pwrite(self._fd, header, 0)
        self._next_offset = HEADER_BYTES
        self._grow()

    def _grow(self) -> None:
        """Reserve and map the next segment. Raises ``OSError`` when the disk is full."""
        os.posix_fallocate(self._fd, self._next_offset, self._segment_bytes)
        self._map = mmap.mmap(self._fd, self._segment_bytes, offset=self._next_offset)
        self._next_offset += self._segment_bytes
        self._at = 0

    @property
    def written(self) -> int:
        """The number of records."""
        return (self._next_offset - self._segment_bytes - HEADER_BYTES + self._at) // self._size

    def append(
        self, scheduled_ns: int, start_ns: int, end_ns: int, head: bytes, outcome: int, retries: int, error_class: int
    ) -> None:
        """Write one record; times are of the monotonic clock, ``head`` is one of :class:`Heads`."""
        at = self._at
        self._pack(self._map, at, scheduled_ns, start_ns, end_ns, head, outcome, retries, error_class, VALID)
        self._at = at = at + self._size
        if at == self._segment_bytes:  # now, because on a full disk the next record would be lost
            self._grow()

    def close(self) -> None:
        """Close the file, which already has all records."""
        os.close(self._fd)


class SpoolReader:
    """Reads new records of a spool, also while the client writes."""

    def __init__(self, path: Path) -> None:
        self._fd = opened_file(path)
        try:
            self.client, self._type = _described(path, os.pread(self._fd, HEADER_BYTES, 0))
        except BaseException:
            os.close(self._fd)
            raise
        self._size, self._offset = self._type.itemsize, HEADER_BYTES

    def skip_before(self, end_ns: int) -> None:
        """Skip records that ended before ``end_ns``; records are ordered by end time."""
        self._offset = self._end_of(lambda record: record["valid"] == VALID and record["end_ns"] < end_ns)

    @property
    def used_bytes(self) -> int:
        """The size of header and records; what follows is reserved and empty."""
        return self._end_of(lambda record: record["valid"] == VALID)

    def _end_of(self, belongs: Callable[[Any], bool]) -> int:
        """Where the records end that belong, which are the first ones, in bytes; by binary search."""
        low, high = 0, (os.fstat(self._fd).st_size - HEADER_BYTES) // self._size
        while low < high:
            middle = (low + high) // 2
            content = os.pread(self._fd, self._size, HEADER_BYTES + middle * self._size)
            if belongs(np.frombuffer(content, self._type)[0]):
                low = middle + 1
            else:
                high = middle
        return HEADER_BYTES + low * self._size

    def read(self, max_records: int = 1_000_000) -> Records:
        """The next new records, at most ``max_records``."""
        content = os.pread(self._fd, max_records * self._size, self._offset)
        records = np.frombuffer(content, self._type, count=len(content) // self._size)
        invalid = np.flatnonzero(records["valid"] != VALID)
        if invalid.size:
            records = records[: invalid[0]]
        self._offset += records.size * self._size
        return records

    def all(self, max_records: int) -> Iterator[Records]:
        """All records of a client that has ended, in pieces; the reserved end of the file is not read."""
        end = self.used_bytes
        while left := (end - self._offset) // self._size:
            records = self.read(min(left, max_records))
            if not records.size:
                break
            yield records

    def close(self) -> None:
        """Close the file."""
        os.close(self._fd)


def _described(path: Path, header: bytes) -> tuple[int, np.dtype[Any]]:
    """The client and the record layout from a spool's header."""
    if len(header) < _HEADER.size or header[:8] != _MAGIC:
        raise DamagedResult(f"{path} is not an hdbkit spool")
    _, version, size, client, length = _HEADER.unpack_from(header)
    if version != _VERSION:
        raise DamagedResult(f"{path} has spool version {version}, but this hdbkit reads version {_VERSION}")
    record = record_type(json.loads(header[_HEADER.size : _HEADER.size + length]))
    if record.itemsize != size:
        raise DamagedResult(f"{path} has records of {size} bytes, but its columns need {record.itemsize}")
    return client, record


class SpoolTails:
    """Reads new records of all spools in a folder, while the clients write."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._readers: dict[str, SpoolReader] = {}

    def new(self, since_ns: int) -> Iterator[Records]:
        """New records, in pieces; of a spool not seen before, only records that ended at ``since_ns`` or later."""
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


def trim(path: Path) -> None:
    """Cut off the unused end of a spool whose client has ended, so that little is left to copy."""
    try:
        reader = SpoolReader(path)
    except DamagedResult:
        return
    size = reader.used_bytes
    reader.close()
    os.truncate(path, size)


def spool_path(folder: Path, client: int) -> Path:
    """The path of a client's spool."""
    return folder / f"{client:05d}.spool"


def read_spools(folder: Path, max_records: int = 1_000_000) -> Iterator[tuple[int, Records]]:
    """All records of all spools in ``folder`` as (client, records), in pieces.

    Raises:
        DamagedResult: a file is not a spool, or has another spool version.
    """
    for path in _begun(folder):
        reader = SpoolReader(path)
        try:
            for records in reader.all(max_records):
                yield reader.client, records
        finally:
            reader.close()


def require_readable(folder: Path) -> None:
    """Raise ``DamagedResult`` if a spool in ``folder`` is of another version, or no spool."""
    for path in _begun(folder):
        SpoolReader(path).close()


def _begun(folder: Path) -> Iterator[Path]:
    """The spools that have a header; a client that was killed before it wrote the header has no records."""
    for path in sorted(folder.glob("*.spool")):
        with os.fdopen(opened_file(path), "rb") as file:
            if any(file.read(len(_MAGIC))):
                yield path


Records: TypeAlias = "NDArray[Any]"

VALID: Final = 0xB17E
UNKNOWN_DETAIL: Final = -(2**63)
"""A detail of 8 bytes that is not known; it has no value in Parquet."""
_TIMES: Final = (("scheduled_ns", "<i8"), ("start_ns", "<i8"), ("end_ns", "<i8"))
_HEAD: Final = (("virtual_user", "<u4"), ("operation", "u1"))
_TAIL: Final = (("outcome", "u1"), ("retries", "u1"), ("error_class", "u1"), ("valid", "<u2"))


def head_type(details: Mapping[str, str]) -> np.dtype[Any]:
    """The layout of a head: virtual user, operation, and the details by name and NumPy type (``{"shard": "u4"}``)."""
    return np.dtype([*_HEAD, *((name, f"<{kind}") for name, kind in details.items())])


def record_type(details: Mapping[str, str]) -> np.dtype[Any]:
    """The layout of a complete record."""
    return np.dtype([*_TIMES, *head_type(details).descr, *_TAIL])


def record_struct(details: Mapping[str, str]) -> struct.Struct:
    """The same, for ``pack_into(buffer, at, scheduled, start, end, head, outcome, retries, error_class, VALID)``."""
    return struct.Struct(f"<qqq{head_type(details).itemsize}sBBBH")


def arrow_types(details: Mapping[str, str]) -> dict[str, str]:
    """The Arrow type of each detail column.

    Example:
        >>> arrow_types({"shard": "u4", "delta": "i2"})
        {'shard': 'uint32', 'delta': 'int16'}
    """
    return {name: np.dtype(kind).name for name, kind in details.items()}


def is_committed(operations: Sequence[int], records: Records) -> NDArray[np.bool_]:
    """Mask of the committed records of these operations."""
    committed: NDArray[np.bool_] = records["outcome"] == Outcome.COMMITTED
    return committed & np.isin(records["operation"], operations)


class Heads:
    """Packs the heads of one virtual user's records.

    Example:
        >>> len(Heads(0, {"shard": "u4"}).pack([0, 1], shard=[7, 7])[0])
        9
    """

    def __init__(self, virtual_user: int, details: Mapping[str, str]) -> None:
        self._type = head_type(details)
        self._virtual_user = virtual_user

    def pack(self, operations: ArrayLike, **details: ArrayLike) -> list[bytes]:
        """A head for each of ``operations`` (indexes); ``details`` that are not given are 0."""
        indexes = np.asarray(operations)
        heads = np.zeros(len(indexes), self._type)
        heads["virtual_user"], heads["operation"] = self._virtual_user, indexes
        for name, values in details.items():
            heads[name] = values
        packed, size = heads.tobytes(), self._type.itemsize
        return [packed[at : at + size] for at in range(0, len(packed), size)]
