"""The record of one operation in a spool: fixed size, with the detail columns that the workload declares.

A record consists of times, head, outcome, and finally the word that makes it valid. The **head** is what is known
before the clock starts (virtual user, operation, details). It is packed in advance, so that a client writes a record
with a single call between two operations. Details are unsigned or signed integers of at most 8 bytes.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hdbkit.results.columns import Outcome

Records = NDArray[Any]

VALID: Final = 0xB17E
UNKNOWN: Final = -(2**63)
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
