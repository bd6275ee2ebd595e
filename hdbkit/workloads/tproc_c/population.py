"""The content of the nine tables, exactly as TPC-C 4.3.3.1 describes it, as tab-separated text.

Every table of every warehouse has a random stream of its own, keyed by (seed, table, warehouse), so any process
makes any warehouse and a rebuild is identical. Dates are constants for the same reason: no clock is read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

import numpy as np

from hdbkit.config.specs.tproc_c import TprocCSpec
from hdbkit.contracts import Part, TableLoad
from hdbkit.errors import InputError
from hdbkit.workloads.tproc_c.inputs import A_LAST, LAST_NAMES, NAMES, load_constant, nurand
from hdbkit.workloads.tproc_c.tables import (
    CUSTOMERS,
    DISTRICTS,
    FIRST_NEW_ORDER,
    ITEMS,
    MAX_LINES,
    MIN_LINES,
    ORDERS,
    TABLES,
    WAREHOUSE_TABLES,
)
from hdbkit.workloads.tproc_c.text import NULL, Column, Columns, Draw, Numbers, decimal, glued, lines, whole

_NOW: Final = b"2026-01-01 00:00:00"
"""The date of creation in the population's rows."""
_ITEM: Final = "item"
_WAREHOUSE: Final = "warehouse-"
_LAST_NAMES: Final = np.array([name.encode() for name in LAST_NAMES])


def parts(spec: TprocCSpec) -> list[Part]:
    """The items, then one part per warehouse. Rows and sizes are expected values: the lines of orders are random."""
    item = TABLES[_ITEM]
    tables = [TABLES[name] for name in WAREHOUSE_TABLES]
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
    table = TABLES[name]
    return TableLoad(table, _MAKERS[name](spec.seed, w_id))


def _stream(seed: int, name: str, w_id: int) -> Draw:
    return Draw(seed, TABLES[name].number, w_id)


def _numbers(rows: int, first: int = 1) -> Numbers:
    return np.arange(first, first + rows, dtype=np.int32)


def _address(draw: Draw, rows: int) -> tuple[Column, ...]:
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
            whole(_numbers(rows, first)),
            whole(draw.between(1, 10_000, rows)),
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
        whole(_numbers(DISTRICTS)),
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
            whole(_numbers(rows, first)),
            b"%d" % w_id,
            whole(draw.between(10, 100, rows)),
            *(draw.letters(24, 24, rows) for _ in range(DISTRICTS)),
            b"0",
            b"0",
            b"0",
            draw.data(26, 50, rows),
        )
        yield lines(columns, rows)


def _customers(seed: int, w_id: int) -> Iterator[bytes]:
    """One chunk per district: names 0 to 999 in order for the first thousand, NURand for the others."""
    draw, rows, others = _stream(seed, "customer", w_id), CUSTOMERS, CUSTOMERS - NAMES
    constant = load_constant(seed)
    for d_id in range(1, DISTRICTS + 1):
        random_names = nurand(
            draw.between(0, A_LAST, others), draw.between(0, NAMES - 1, others), constant, 0, NAMES - 1
        )
        columns: Columns = (
            whole(_numbers(rows)),
            b"%d" % d_id,
            b"%d" % w_id,
            draw.letters(8, 16, rows),
            b"OE",
            _LAST_NAMES[np.concatenate([np.arange(NAMES), random_names])],
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
    here, district = b"%d" % w_id, whole(d_id)
    columns: Columns = (whole(c_id), district, here, district, here, _NOW, b"10.00", draw.letters(12, 24, rows))
    yield lines(columns, rows)


def _line_counts(draw: Draw) -> Numbers:
    """The number of lines of each order of a warehouse: the first draw of the stream of ``orders``."""
    return draw.between(MIN_LINES, MAX_LINES, DISTRICTS * ORDERS)


def _orders(seed: int, w_id: int) -> Iterator[bytes]:
    """The customers of a district's orders are a random permutation; delivered ones have a carrier."""
    draw, rows = _stream(seed, "orders", w_id), DISTRICTS * ORDERS
    line_counts = _line_counts(draw)
    o_id = np.tile(_numbers(ORDERS), DISTRICTS)
    carriers = whole(draw.between(1, 10, rows))
    columns: Columns = (
        whole(o_id),
        whole(np.repeat(_numbers(DISTRICTS), ORDERS)),
        b"%d" % w_id,
        whole(draw.permutations(DISTRICTS, CUSTOMERS)),
        _NOW,
        np.where(o_id < FIRST_NEW_ORDER, carriers, NULL),
        whole(line_counts),
        b"1",
    )
    yield lines(columns, rows)


def _new_orders(seed: int, w_id: int) -> Iterator[bytes]:  # noqa: ARG001  nothing in it is random
    waiting = ORDERS - FIRST_NEW_ORDER + 1
    columns: Columns = (
        whole(np.tile(_numbers(waiting, FIRST_NEW_ORDER), DISTRICTS)),
        whole(np.repeat(_numbers(DISTRICTS), waiting)),
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
            whole(o_id),
            b"%d" % d_id,
            here,
            whole(np.arange(rows) - before + 1),
            whole(draw.between(1, ITEMS, rows)),
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
