r"""Random columns as text, generated at memory speed, for the population.

A column is a NumPy array of bytes (``S<n>``), which NumPy pads with NUL. ``lines`` puts columns and separators
side by side in one record array and then deletes every NUL: what is left is tab-separated text.
So a column may be padded anywhere, and no row is ever touched by Python itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

Column = NDArray[np.bytes_]
Columns = Sequence[Column | bytes]
"""Columns with the same number of rows; plain bytes are a constant column."""
Numbers = NDArray[np.int32]

NULL: Final = b"\\N"
_ALPHABET: Final = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
_ORIGINAL: Final = np.frombuffer(b"ORIGINAL", np.uint8)
_MAX_NUMBER: Final = 100_000


def lines(columns: Columns, rows: int) -> bytes:
    """This many rows of tab-separated text."""
    ends = [b"\t"] * (len(columns) - 1) + [b"\n"]
    cells = [cell for pair in zip(columns, ends, strict=True) for cell in pair]
    return glued(cells, rows).tobytes().translate(None, b"\0")


def whole(values: NDArray[Any]) -> Column:
    """Whole numbers from 0 to 100,000."""
    return _whole_table().take(values)


def decimal(values: NDArray[Any], decimals: int) -> Column:
    """Numbers given in units of the last of ``decimals`` digits: ``decimal([1234], 2)`` is 12.34."""
    units, rest = np.divmod(values, 10**decimals)
    return glued((whole(units), b".", _digit_table(decimals).take(rest)), len(values))


def glued(columns: Columns, rows: int) -> Column:
    """Columns side by side as one column."""
    widths = [len(column) if isinstance(column, bytes) else column.dtype.itemsize for column in columns]
    record = np.empty(rows, dtype=[(f"f{i}", f"S{width}") for i, width in enumerate(widths)])
    for i, column in enumerate(columns):
        record[f"f{i}"] = column
    return record.view(f"S{sum(widths)}")


class Draw:
    """The random columns of one table of one warehouse, from a separate counter-based stream.

    The stream's key is (seed, table, warehouse): whoever makes that table of that warehouse, wherever, draws the
    same, and no two tables or warehouses share anything. NumPy keeps the stream for ever, but may change how
    numbers are drawn from it; a test holds the checksum of a whole warehouse.
    """

    def __init__(self, seed: int, table: int, w_id: int) -> None:
        self._bits = np.random.Philox(key=np.array([seed, table << 32 | w_id], dtype=np.uint64))
        self._generator = np.random.Generator(self._bits)

    def between(self, low: int, high: int, rows: int) -> Numbers:
        """Whole numbers from ``low`` to ``high``, both included."""
        return self._generator.integers(low, high, rows, dtype=np.int32, endpoint=True)

    def permutations(self, count: int, of: int) -> Numbers:
        """This many random permutations of 1 to ``of``, one after another."""
        ordered = np.broadcast_to(np.arange(1, of + 1, dtype=np.int32), (count, of))
        return self._generator.permuted(ordered, axis=1).ravel()

    def chance(self, percent: int, rows: int) -> NDArray[np.bool_]:
        """True in this percentage of rows."""
        return self.between(1, 100, rows) <= percent

    def digits(self, width: int, rows: int) -> Column:
        """An n-string (TPC-C 4.3.2.2) of a fixed width that is a multiple of 4."""
        groups = self._generator.integers(0, 10_000, rows * width // 4, dtype=np.uint16)
        return _digit_table(4).take(groups).view(f"S{width}")

    def letters(self, low: int, high: int, rows: int) -> Column:
        """An a-string (TPC-C 4.3.2.2) of random length from ``low`` to ``high``."""
        text = self._letters(high, rows)
        if low == high:
            return _column(text)
        return _column(text & _kept(high, text.shape[1])[self.between(low, high, rows)])

    def data(self, low: int, high: int, rows: int) -> Column:
        """An a-string of which one in ten, at a random position, holds ``ORIGINAL`` (TPC-C 4.3.3.1)."""
        text = self._letters(high, rows)
        lengths = self.between(low, high, rows)
        chosen = np.flatnonzero(self.chance(10, rows))
        positions = self._generator.integers(0, lengths[chosen] - len(_ORIGINAL), endpoint=True)
        text[chosen[:, None], positions[:, None] + np.arange(len(_ORIGINAL))] = _ORIGINAL
        return _column(text & _kept(high, text.shape[1])[lengths])

    def _letters(self, width: int, rows: int) -> NDArray[np.uint8]:
        pairs = (width + 1) // 2
        raw = self._bits.random_raw((rows * pairs + 3) // 4).view(np.uint16)[: rows * pairs]
        text = _pair_table().take(raw).view(np.uint8).reshape(rows, 2 * pairs)
        return text if width == 2 * pairs else text[:, :width]


def _column(text: NDArray[np.uint8]) -> Column:
    return np.ascontiguousarray(text).view(f"S{text.shape[1]}").ravel()


@cache
def _pair_table() -> NDArray[np.uint16]:
    """Two letters for each 16 random bits, with all pairs equally frequent (17 or 18 of 65,536)."""
    alphabet = np.frombuffer(_ALPHABET, np.uint8)
    pair = np.arange(1 << 16) * len(alphabet) ** 2 >> 16
    return np.stack([alphabet[pair // len(alphabet)], alphabet[pair % len(alphabet)]], axis=1).view(np.uint16).ravel()


@cache
def _kept(longest: int, width: int) -> NDArray[np.uint8]:
    """For each length up to ``longest``, the mask that keeps this many bytes of ``width``."""
    return np.where(np.arange(width) < np.arange(longest + 1)[:, None], 255, 0).astype(np.uint8)


@cache
def _whole_table() -> Column:
    return np.array([b"%d" % number for number in range(_MAX_NUMBER + 1)])


@cache
def _digit_table(width: int) -> Column:
    return np.array([b"%0*d" % (width, number) for number in range(10**width)])
