"""The content of the nine tables, exactly as TPC-C 4.3.3.1 describes it, as tab-separated text.

Every table of every warehouse has a random stream of its own, keyed by (seed, table, warehouse), so any process
makes any warehouse and a rebuild is identical. Dates are constants for the same reason: no clock is read.

The text is made at memory speed. A column is a NumPy array of bytes (``S<n>``), which NumPy pads with NUL. ``lines``
puts columns and separators side by side in one record array and then deletes every NUL: what is left is tab-separated
text. So a column may be padded anywhere, and no row is ever touched by Python itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from hdbkit.config.specs.tproc_c import TprocCSpec
from hdbkit.contracts import Part, TableLoad
from hdbkit.errors import InputError
from hdbkit.workloads.tproc_c.inputs import A_LAST, LAST_NAME_COUNT, LAST_NAMES, load_constant, nurand
from hdbkit.workloads.tproc_c.tables import (
    CUSTOMERS,
    DISTRICTS,
    FIRST_NEW_ORDER,
    ITEMS,
    MAX_ORDER_LINES,
    MIN_LINES,
    ORDERS,
    TPROC_C_TABLES,
    WAREHOUSE_TABLES,
)

_Column = NDArray[np.bytes_]
Columns = Sequence[_Column | bytes]
"""Columns with the same number of rows; plain bytes are a constant column."""
_Numbers = NDArray[np.int32]

NULL: Final = b"\\N"
_ALPHABET: Final = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
_ORIGINAL: Final = np.frombuffer(b"ORIGINAL", np.uint8)
_MAX_NUMBER: Final = 100_000


def lines(columns: Columns, rows: int) -> bytes:
    """This many rows of tab-separated text."""
    ends = [b"\t"] * (len(columns) - 1) + [b"\n"]
    cells = [cell for pair in zip(columns, ends, strict=True) for cell in pair]
    return glued(cells, rows).tobytes().translate(None, b"\0")


def _whole(values: NDArray[Any]) -> _Column:
    """Whole numbers from 0 to 100,000."""
    return _whole_table().take(values)


def decimal(values: NDArray[Any], decimals: int) -> _Column:
    """Numbers given in units of the last of ``decimals`` digits: ``decimal([1234], 2)`` is 12.34."""
    units, rest = np.divmod(values, 10**decimals)
    return glued((_whole(units), b".", _digit_table(decimals).take(rest)), len(values))


def glued(columns: Columns, rows: int) -> _Column:
    """Columns side by side as one column."""
    widths = [len(column) if isinstance(column, bytes) else column.dtype.itemsize for column in columns]
    record = np.empty(rows, dtype=[(f"f{i}", f"S{width}") for i, width in enumerate(widths)])
    for i, column in enumerate(columns):
        record[f"f{i}"] = column
    return record.view(f"S{sum(widths)}")


class _Draw:
    """The random columns of one table of one warehouse, from a separate counter-based stream.

    The stream's key is (seed, table, warehouse): whoever makes that table of that warehouse, wherever, draws the
    same, and no two tables or warehouses share anything. NumPy keeps the stream for ever, but may change how
    numbers are drawn from it; a test holds the checksum of a whole warehouse.
    """

    def __init__(self, seed: int, table: int, w_id: int) -> None:
        self._bits = np.random.Philox(key=np.array([seed, table << 32 | w_id], dtype=np.uint64))
        self._generator = np.random.Generator(self._bits)

    def between(self, low: int, high: int, rows: int) -> _Numbers:
        """Whole numbers from ``low`` to ``high``, both included."""
        return self._generator.integers(low, high, rows, dtype=np.int32, endpoint=True)

    def permutations(self, count: int, of: int) -> _Numbers:
        """This many random permutations of 1 to ``of``, one after another."""
        ordered = np.broadcast_to(np.arange(1, of + 1, dtype=np.int32), (count, of))
        return self._generator.permuted(ordered, axis=1).ravel()

    def chance(self, percent: int, rows: int) -> NDArray[np.bool_]:
        """True in this percentage of rows."""
        return self.between(1, 100, rows) <= percent

    def digits(self, width: int, rows: int) -> _Column:
        """An n-string (TPC-C 4.3.2.2) of a fixed width that is a multiple of 4."""
        groups = self._generator.integers(0, 10_000, rows * width // 4, dtype=np.uint16)
        return _digit_table(4).take(groups).view(f"S{width}")

    def letters(self, low: int, high: int, rows: int) -> _Column:
        """An a-string (TPC-C 4.3.2.2) of random length from ``low`` to ``high``."""
        text = self._letters(high, rows)
        if low == high:
            return _column(text)
        return _column(text & _kept(high, text.shape[1])[self.between(low, high, rows)])

    def data(self, low: int, high: int, rows: int) -> _Column:
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


def _column(text: NDArray[np.uint8]) -> _Column:
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
def _whole_table() -> _Column:
    return np.array([b"%d" % number for number in range(_MAX_NUMBER + 1)])


@cache
def _digit_table(width: int) -> _Column:
    return np.array([b"%0*d" % (width, number) for number in range(10**width)])


_NOW: Final = b"2026-01-01 00:00:00"
"""The date of creation in the population's rows."""
_ITEM: Final = "item"
_WAREHOUSE: Final = "warehouse-"
_LAST_NAMES: Final = np.array([name.encode() for name in LAST_NAMES])


def parts(spec: TprocCSpec) -> list[Part]:
    """The items, then one part per warehouse. Rows and sizes are expected values: the lines of orders are random."""
    item = TPROC_C_TABLES[_ITEM]
    tables = [TPROC_C_TABLES[name] for name in WAREHOUSE_TABLES]
    rows = sum(table.rows for table in tables)
    size_bytes = sum(table.rows * table.row_bytes for table in tables)
    warehouses = [Part(f"{_WAREHOUSE}{w_id}", rows, size_bytes) for w_id in range(1, spec.warehouses + 1)]
    return [Part(_ITEM, item.rows, item.rows * item.row_bytes), *warehouses]


def part(spec: TprocCSpec, key: str) -> Iterator[TableLoad]:
    """The rows of a part, table by table; read all chunks of a table before the next table.

    Raises:
        InputError: there is no part of that name.
    """
    if key == _ITEM:
        yield _table_load(spec, _ITEM, 0)
        return
    number = key.removeprefix(_WAREHOUSE)
    if not (key.startswith(_WAREHOUSE) and number.isdecimal() and 1 <= int(number) <= spec.warehouses):
        raise InputError(f"a population of {spec.warehouses} warehouses has no part '{key}'")
    for name in WAREHOUSE_TABLES:
        yield _table_load(spec, name, int(number))


def _table_load(spec: TprocCSpec, name: str, w_id: int) -> TableLoad:
    table = TPROC_C_TABLES[name]
    return TableLoad(table, _MAKERS[name](spec.seed, w_id))


def _stream(seed: int, name: str, w_id: int) -> _Draw:
    return _Draw(seed, TPROC_C_TABLES[name].number, w_id)


def _numbers(rows: int, first: int = 1) -> _Numbers:
    return np.arange(first, first + rows, dtype=np.int32)


def _address(draw: _Draw, rows: int) -> tuple[_Column, ...]:
    """Two streets, city, state, and a zip code of four digits and 11111 (TPC-C 4.3.2.7)."""
    return (
        draw.letters(10, 20, rows),
        draw.letters(10, 20, rows),
        draw.letters(10, 20, rows),
        draw.letters(2, 2, rows),
        glued((draw.digits(4, rows), b"11111"), rows),
    )


def _items(seed: int, w_id: int) -> Iterator[bytes]:
    draw, rows = _stream(seed, "item", w_id), 25_000
    for first in range(1, ITEMS + 1, rows):
        columns: Columns = (
            _whole(_numbers(rows, first)),
            _whole(draw.between(1, 10_000, rows)),
            draw.letters(14, 24, rows),
            decimal(draw.between(100, 10_000, rows), 2),
            draw.data(26, 50, rows),
        )
        yield lines(columns, rows)


def _warehouse(seed: int, w_id: int) -> Iterator[bytes]:
    draw = _stream(seed, "warehouse", w_id)
    columns: Columns = (
        b"%d" % w_id,
        draw.letters(6, 10, 1),
        *_address(draw, 1),
        decimal(draw.between(0, 2_000, 1), 4),
        b"300000.00",
    )
    yield lines(columns, 1)


def _districts(seed: int, w_id: int) -> Iterator[bytes]:
    draw = _stream(seed, "district", w_id)
    columns: Columns = (
        _whole(_numbers(DISTRICTS)),
        b"%d" % w_id,
        draw.letters(6, 10, DISTRICTS),
        *_address(draw, DISTRICTS),
        decimal(draw.between(0, 2_000, DISTRICTS), 4),
        b"30000.00",
        b"%d" % (ORDERS + 1),
    )
    yield lines(columns, DISTRICTS)


def _stock(seed: int, w_id: int) -> Iterator[bytes]:
    draw, rows = _stream(seed, "stock", w_id), 5_000
    for first in range(1, ITEMS + 1, rows):
        columns: Columns = (
            _whole(_numbers(rows, first)),
            b"%d" % w_id,
            _whole(draw.between(10, 100, rows)),
            *(draw.letters(24, 24, rows) for _ in range(DISTRICTS)),
            b"0",
            b"0",
            b"0",
            draw.data(26, 50, rows),
        )
        yield lines(columns, rows)


def _customers(seed: int, w_id: int) -> Iterator[bytes]:
    """One chunk per district: names 0 to 999 in order for the first thousand, NURand for the others."""
    draw, rows, others = _stream(seed, "customer", w_id), CUSTOMERS, CUSTOMERS - LAST_NAME_COUNT
    constant = load_constant(seed)
    for d_id in range(1, DISTRICTS + 1):
        random_names = nurand(
            draw.between(0, A_LAST, others),
            draw.between(0, LAST_NAME_COUNT - 1, others),
            constant,
            0,
            LAST_NAME_COUNT - 1,
        )
        columns: Columns = (
            _whole(_numbers(rows)),
            b"%d" % d_id,
            b"%d" % w_id,
            draw.letters(8, 16, rows),
            b"OE",
            _LAST_NAMES[np.concatenate([np.arange(LAST_NAME_COUNT), random_names])],
            *_address(draw, rows),
            draw.digits(16, rows),
            _NOW,
            np.where(draw.chance(10, rows), b"BC", b"GC"),
            b"50000.00",
            decimal(draw.between(0, 5_000, rows), 4),
            b"-10.00",
            b"10.00",
            b"1",
            b"0",
            draw.letters(300, 500, rows),
        )
        yield lines(columns, rows)


def _history(seed: int, w_id: int) -> Iterator[bytes]:
    """One payment of each customer."""
    draw, rows = _stream(seed, "history", w_id), DISTRICTS * CUSTOMERS
    c_id, d_id = np.tile(_numbers(CUSTOMERS), DISTRICTS), np.repeat(_numbers(DISTRICTS), CUSTOMERS)
    here, district = b"%d" % w_id, _whole(d_id)
    columns: Columns = (_whole(c_id), district, here, district, here, _NOW, b"10.00", draw.letters(12, 24, rows))
    yield lines(columns, rows)


def _line_counts(draw: _Draw) -> _Numbers:
    """The number of lines of each order of a warehouse: the first draw of the stream of ``orders``."""
    return draw.between(MIN_LINES, MAX_ORDER_LINES, DISTRICTS * ORDERS)


def _orders(seed: int, w_id: int) -> Iterator[bytes]:
    """The customers of a district's orders are a random permutation; delivered ones have a carrier."""
    draw, rows = _stream(seed, "orders", w_id), DISTRICTS * ORDERS
    line_counts = _line_counts(draw)
    o_id = np.tile(_numbers(ORDERS), DISTRICTS)
    carriers = _whole(draw.between(1, 10, rows))
    columns: Columns = (
        _whole(o_id),
        _whole(np.repeat(_numbers(DISTRICTS), ORDERS)),
        b"%d" % w_id,
        _whole(draw.permutations(DISTRICTS, CUSTOMERS)),
        _NOW,
        np.where(o_id < FIRST_NEW_ORDER, carriers, NULL),
        _whole(line_counts),
        b"1",
    )
    yield lines(columns, rows)


def _new_orders(seed: int, w_id: int) -> Iterator[bytes]:  # noqa: ARG001  nothing in it is random
    waiting = ORDERS - FIRST_NEW_ORDER + 1
    columns: Columns = (
        _whole(np.tile(_numbers(waiting, FIRST_NEW_ORDER), DISTRICTS)),
        _whole(np.repeat(_numbers(DISTRICTS), waiting)),
        b"%d" % w_id,
    )
    yield lines(columns, DISTRICTS * waiting)


def _order_lines(seed: int, w_id: int) -> Iterator[bytes]:
    """One chunk per district; lines of delivered orders have a date and amount 0, others the reverse."""
    draw, here = _stream(seed, "order_line", w_id), b"%d" % w_id
    line_counts = _line_counts(_stream(seed, "orders", w_id)).reshape(DISTRICTS, ORDERS)
    for d_id, counts in enumerate(line_counts, 1):
        rows = int(counts.sum())
        o_id = np.repeat(_numbers(ORDERS), counts)
        before = np.repeat(np.cumsum(counts) - counts, counts)
        delivered = o_id < FIRST_NEW_ORDER
        columns: Columns = (
            _whole(o_id),
            b"%d" % d_id,
            here,
            _whole(np.arange(rows) - before + 1),
            _whole(draw.between(1, ITEMS, rows)),
            here,
            np.where(delivered, _NOW, NULL),
            b"5",
            decimal(np.where(delivered, 0, draw.between(1, 999_999, rows)), 2),
            draw.letters(24, 24, rows),
        )
        yield lines(columns, rows)


_MAKERS: Final[dict[str, Callable[[int, int], Iterator[bytes]]]] = {
    "item": _items,
    "warehouse": _warehouse,
    "district": _districts,
    "stock": _stock,
    "customer": _customers,
    "history": _history,
    "orders": _orders,
    "new_order": _new_orders,
    "order_line": _order_lines,
}
