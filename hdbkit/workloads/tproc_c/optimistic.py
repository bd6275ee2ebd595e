"""The five transactions where sessions are optimistic: the same work and the same result as the stored routines.

Each takes a routine's arguments and gives its one row: it reads in a few round trips, calculates, and sends all
changes in one. What a read watches must not have changed by then; an engine watches as little as keeps the order
numbers, the stock, the customers and the deliveries right.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from functools import wraps
from typing import Final

from hdbkit.contracts import Arguments, OptimisticSession, Row
from hdbkit.errors import RolledBackByDesign
from hdbkit.workloads.tproc_c.client import brand, order_total
from hdbkit.workloads.tproc_c.tables import DISTRICTS

_READING: Final = tuple(
    f"client_read_{name}" for name in ("named", "last_order", "order", "lines", "next_order", "quantity")
)
"""The steps of the transactions that only read."""
_STEPS: Final = (
    *_READING,
    *(f"client_read_{name}" for name in ("time", "heading", "stock", "payer", "addresses", "oldest")),
    "client_watch_deliveries",
    *(f"client_write_{name}" for name in ("stock", "order", "line", "payer", "payer_data", "payment")),
    *(f"client_write_{name}" for name in ("delivered", "delivery")),
)
_EPOCH: Final = datetime(1970, 1, 1)  # without a zone, as databases have it
_LAST_ORDERS: Final = 20
_DATA_LENGTH, _DATA_SHOWN = 500, 200
_LOW_STOCK, _FILLED_UP = 10, 91

_Step = tuple[str, Arguments]
_CLOCK: Final[_Step] = ("client_read_time", ())
_Work = Callable[[OptimisticSession, Arguments], tuple[Row, Sequence[_Step]]]
"""Reads and calculates: the row of the result, and the changes."""


def statements(_: OptimisticSession, read_only: bool = False) -> tuple[str, ...]:
    """The steps that these transactions send, to be prepared; a standby prepares no others."""
    return _READING if read_only else _STEPS


def _transaction(work: _Work) -> Callable[[OptimisticSession, Arguments], list[Row]]:
    """``work``, then its changes as one; any failure leaves nothing watched."""

    @wraps(work)
    def whole(session: OptimisticSession, inputs: Arguments) -> list[Row]:
        try:
            row, changes = work(session, inputs)
            session.change(changes)
        except BaseException:
            session.release()
            raise
        return [row]

    return whole


@_transaction
def new_order(session: OptimisticSession, inputs: Arguments) -> tuple[Row, Sequence[_Step]]:
    """TPC-C 2.4.2. Raises ``RolledBackByDesign`` when an item is unknown."""
    w_id, d_id, c_id, item_ids, supply_w_ids, quantities = inputs
    lines = list(zip(item_ids, supply_w_ids, quantities, strict=True))
    wanted = list(dict.fromkeys(zip(item_ids, supply_w_ids, strict=True)))
    time, (heading,), *found = session.read(
        [
            _CLOCK,
            ("client_read_heading", (w_id, d_id, c_id)),
            *(("client_read_stock", (*one, f"{d_id:02d}")) for one in wanted),
        ]
    )
    if not all(found):
        raise RolledBackByDesign("item number is not valid")
    w_tax, d_tax, o_id, discount, c_last, c_credit = heading
    entered, stocks = _moment(time), {one: rows[0] for one, rows in zip(wanted, found, strict=True)}
    kept = {one: list(row[3:7]) for one, row in stocks.items()}
    changes: list[_Step] = [
        (
            "client_write_order",
            (w_id, d_id, o_id, c_id, entered, len(lines), int(all(s == w_id for s in supply_w_ids))),
        )
    ]
    shown = []
    for number, (item_id, supply_w_id, quantity) in enumerate(lines, 1):
        name, price, i_data, *_, s_data, dist_info = stocks[item_id, supply_w_id]
        left, amount = _taken(kept[item_id, supply_w_id], quantity, supply_w_id != w_id), quantity * price
        shown.append((name, left, brand(i_data, s_data), price, amount))
        line = (w_id, d_id, o_id, number, item_id, supply_w_id, None, quantity, amount, dist_info)
        changes.append(("client_write_line", line))
    changes += [("client_write_stock", (*one, *counts)) for one, counts in kept.items()]
    names, left_over, brands, prices, amounts = zip(*shown, strict=True)
    total = order_total(amounts, discount, w_tax, d_tax)
    answer = (total, names, left_over, brands, prices, amounts)
    return (o_id, entered, w_tax, d_tax, discount, c_last, c_credit, *answer), changes


def _taken(counts: list[int], quantity: int, is_remote: bool) -> int:
    """Take from a stock: its quantity, quantity sold, orders and remote orders; the quantity that is left."""
    left = counts[0] - quantity + (_FILLED_UP if counts[0] - quantity < _LOW_STOCK else 0)
    counts[:] = left, counts[1] + quantity, counts[2] + 1, counts[3] + is_remote
    return left


@_transaction
def payment(session: OptimisticSession, inputs: Arguments) -> tuple[Row, Sequence[_Step]]:
    """TPC-C 2.5.2."""
    w_id, d_id, c_w_id, c_d_id, c_id, c_last, amount = inputs
    c_id = c_id or _named(session, c_w_id, c_d_id, c_last)
    customer, shown = (c_w_id, c_d_id, c_id), None
    time, (payer,), (names,) = session.read(
        [_CLOCK, ("client_read_payer", customer), ("client_read_addresses", (w_id, d_id))]
    )
    *who, balance, data = payer
    w_name, d_name, *addresses = names
    paid_at = _moment(time)
    changes: list[_Step] = [
        ("client_write_payer", (*customer, amount)),
        ("client_write_payment", (w_id, d_id, *customer, paid_at, amount, f"{w_name}    {d_name}")),
    ]
    if who[10] == "BC":
        data = f"{c_id} {c_d_id} {c_w_id} {d_id} {w_id} {amount} | {data}"[:_DATA_LENGTH]
        changes.append(("client_write_payer_data", (*customer, data)))
        shown = data[:_DATA_SHOWN]
    return (c_id, *who[:3], *addresses, *who[3:], balance - Decimal(amount), shown, paid_at), changes


@_transaction
def order_status(session: OptimisticSession, inputs: Arguments) -> tuple[Row, Sequence[_Step]]:
    """TPC-C 2.6.2."""
    w_id, d_id, c_id, c_last = inputs
    c_id = c_id or _named(session, w_id, d_id, c_last)
    (((*who, o_id),),) = session.read([("client_read_last_order", (w_id, d_id, c_id))])
    order = (w_id, d_id, o_id)
    ((heading,), lines) = session.read([("client_read_order", order), ("client_read_lines", order)])
    _, entered, carrier, *_ = heading
    items, homes, delivered, quantities, amounts, _ = zip(*lines, strict=True)
    return (c_id, *who, o_id, entered, carrier, items, homes, quantities, amounts, delivered), ()


@_transaction
def delivery(session: OptimisticSession, inputs: Arguments) -> tuple[Row, Sequence[_Step]]:
    """TPC-C 2.7.4."""
    w_id, carrier_id = inputs
    districts = range(1, DISTRICTS + 1)
    time, _, *heads = session.read(
        [_CLOCK, ("client_watch_deliveries", (w_id,)), *(("client_read_oldest", (w_id, d_id)) for d_id in districts)]
    )
    found = [(w_id, d_id, head[0][0]) for d_id, head in zip(districts, heads, strict=True) if head]
    read = session.read([(step, order) for order in found for step in ("client_read_order", "client_read_lines")])
    delivered_at, changes = _moment(time), list[_Step]()
    for order, (heading,), lines in zip(found, read[::2], read[1::2], strict=True):
        c_id, entered, _, *counts = heading
        amount = sum(line[4] for line in lines)
        changes.append(("client_write_delivered", (*order, c_id, entered, carrier_id, *counts, amount)))
        for number, (item_id, supply_w_id, _, *rest) in enumerate(lines, 1):
            changes.append(("client_write_line", (*order, number, item_id, supply_w_id, delivered_at, *rest)))
    if found:
        changes.append(("client_write_delivery", (w_id,)))
    return (tuple(d_id for _, d_id, _ in found), tuple(o_id for *_, o_id in found)), changes


@_transaction
def stock_level(session: OptimisticSession, inputs: Arguments) -> tuple[Row, Sequence[_Step]]:
    """TPC-C 2.8.2. What is read at different moments may differ (2.8.2.3), so nothing is watched."""
    w_id, d_id, threshold = inputs
    (((next_o_id,),),) = session.read([("client_read_next_order", (w_id, d_id))])
    recent = range(next_o_id - _LAST_ORDERS, next_o_id)
    orders = session.read([("client_read_lines", (w_id, d_id, o_id)) for o_id in recent])
    items = dict.fromkeys(line[0] for lines in orders for line in lines)
    left = session.read([("client_read_quantity", (w_id, item_id)) for item_id in items])
    return (sum(quantity < threshold for ((quantity,),) in left),), ()


def _named(session: OptimisticSession, w_id: int, d_id: int, c_last: str) -> int:
    """The customer in the middle of those of a name, rounded up (TPC-C 2.5.2.2)."""
    (found,) = session.read([("client_read_named", (w_id, d_id, c_last))])
    return int(found[(len(found) - 1) // 2][0])


def _moment(rows: list[Row]) -> datetime:
    ((seconds, microseconds),) = rows
    return _EPOCH + timedelta(seconds=seconds, microseconds=microseconds)
