"""The five transactions as client SQL: the same work and the same result as the stored routines.

Each takes a routine's arguments and gives its one row. A transaction is a few batches, each one round trip
where the engine can, and a commit. Whatever goes wrong, nothing of it is left. Rows are locked in the order in
which the routines lock them: stock by (warehouse, item), a payment's customer before district and warehouse.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from decimal import ROUND_HALF_UP, Decimal
from functools import wraps
from typing import Any, Final

from hdbkit.contracts import Arguments, Row, SqlSession
from hdbkit.errors import RolledBackByDesign
from hdbkit.workloads.tproc_c.tables import DISTRICTS

_STATEMENTS: Final = tuple(
    f"client_{name}"
    for name in (
        *("number_order", "select_order_number", "select_item", "insert_order", "insert_new_order"),
        *("update_stock", "select_quantity", "insert_order_line", "select_named", "update_payer", "select_payer"),
        *("update_district_ytd", "update_warehouse_ytd", "select_addresses", "insert_history"),
        *("select_last_order", "select_lines", "lock_deliveries", "select_oldest", "delete_new_order"),
        *("update_carrier", "update_lines", "update_receiver", "count_low_stock"),
    )
)
_READING: Final = ("client_select_named", "client_select_last_order", "client_select_lines", "client_count_low_stock")
"""Those of the transactions that only read."""
_BY_ARRAYS: Final = ("client_insert_order_lines",)

_CENT: Final = Decimal("0.01")


def _transaction(work: Callable[[SqlSession, Arguments], Row]) -> Callable[[SqlSession, Arguments], list[Row]]:
    """``work`` between begin and commit; any failure rolls back."""

    @wraps(work)
    def whole(session: SqlSession, inputs: Arguments) -> list[Row]:
        session.begin()
        try:
            row = work(session, inputs)
            session.commit()
        except BaseException:
            session.rollback()
            raise
        return [row]

    return whole


def statements(session: SqlSession, read_only: bool = False) -> tuple[str, ...]:
    """The statements that these transactions send on a session, to be prepared; a standby prepares no others."""
    if read_only:
        return _READING
    return _STATEMENTS + _BY_ARRAYS if session.takes_arrays else _STATEMENTS


class _Batch:
    """Statements for one round trip, as few as possible; ``add`` and ``change`` return the index of the answer."""

    def __init__(self, session: SqlSession) -> None:
        self._session = session
        self._calls: list[tuple[str, Arguments]] = []

    def add(self, statement: str, *arguments: Any) -> int:
        """One statement."""
        self._calls.append((statement, arguments))
        return len(self._calls) - 1

    def change(self, statement: str, arguments: Arguments, look: str, key: Arguments) -> int:
        """Change one row and read the result: in one statement if the engine can return the changed row."""
        at = self.add(statement, *arguments)
        return at if self._session.returns_changed else self.add(look, *key)

    def insert(self, statement: str, common: Arguments, rows: Sequence[Arguments]) -> None:
        """Rows with common first values: in one statement if the engine takes arrays."""
        if self._session.takes_arrays and rows:
            self.add(f"{statement}s", *common, *zip(*rows, strict=True))
        else:
            self._calls += [(statement, (*common, *row)) for row in rows]

    def send(self) -> list[list[Row]]:
        """Send all statements; return the answers by index."""
        return self._session.batch(self._calls)


@_transaction
def new_order(session: SqlSession, inputs: Arguments) -> Row:
    """TPC-C 2.4.2. Raises ``RolledBackByDesign`` when an item is unknown, after the work on the others."""
    w_id, d_id, c_id, item_ids, supply_w_ids, quantities = inputs
    lines = list(zip(item_ids, supply_w_ids, quantities, strict=True))
    _, (heading,), *items = session.batch(
        [
            ("client_number_order", (w_id, d_id)),
            ("client_select_order_number", (c_id, w_id, d_id)),
            *(("client_select_item", (d_id, item_id, supply_w_id)) for item_id, supply_w_id, _ in lines),
        ]
    )
    o_id, entered, w_tax, d_tax, discount, c_last, c_credit = heading
    stocked = _taken(session, (w_id, d_id, o_id, c_id, entered), lines, items)
    if not all(items):
        raise RolledBackByDesign("item number is not valid")
    names, prices, brands = zip(*((name, price, brand(i, s)) for ((name, price, i, s, _),) in items), strict=True)
    amounts = tuple(quantity * price for quantity, price in zip(quantities, prices, strict=True))
    total = order_total(amounts, discount, w_tax, d_tax)
    return (o_id, entered, w_tax, d_tax, discount, c_last, c_credit, total, names, stocked, brands, prices, amounts)


def _taken(
    session: SqlSession, order: tuple[Any, ...], lines: list[tuple[int, int, int]], items: list[list[Row]]
) -> tuple[int, ...]:
    """The order and its lines written and the stock taken; the stock left behind each line."""
    w_id, d_id, o_id, c_id, entered = order
    batch, stocks, written = _Batch(session), {}, []
    batch.add(
        "client_insert_order", w_id, d_id, o_id, c_id, entered, len(lines), int(all(s == w_id for _, s, _ in lines))
    )
    batch.add("client_insert_new_order", w_id, d_id, o_id)
    known = [number for number, item in enumerate(items) if item]
    for number in known:
        item_id, supply_w_id, quantity = lines[number]
        taken = quantity, int(supply_w_id != w_id), supply_w_id, item_id
        stocks[number] = batch.change("client_update_stock", taken, "client_select_quantity", (supply_w_id, item_id))
        ((_, price, _, _, dist_info),) = items[number]
        written.append((number + 1, item_id, supply_w_id, quantity, quantity * price, dist_info))
    batch.insert("client_insert_order_line", (w_id, d_id, o_id), written)
    replies = batch.send()
    return tuple(replies[stocks[number]][0][0] for number in known)


def order_total(amounts: Iterable[Decimal], discount: Decimal, w_tax: Decimal, d_tax: Decimal) -> Decimal:
    """The total of an order's lines, rounded to cents."""
    return (sum(amounts, Decimal()) * (1 - discount) * (1 + w_tax + d_tax)).quantize(_CENT, ROUND_HALF_UP)


def brand(i_data: str, s_data: str) -> str:
    """Of an item by its data and that of its stock."""
    return "B" if "ORIGINAL" in i_data and "ORIGINAL" in s_data else "G"


@_transaction
def payment(session: SqlSession, inputs: Arguments) -> Row:
    """TPC-C 2.5.2."""
    w_id, d_id, c_w_id, c_d_id, c_id, c_last, amount = inputs
    c_id = c_id or _named(session, c_w_id, c_d_id, c_last)
    note = f"{c_id} {c_d_id} {c_w_id} {d_id} {w_id} {amount} | "
    batch, customer = _Batch(session), (c_w_id, c_d_id, c_id)
    payer_at = batch.change("client_update_payer", (amount, note, *customer), "client_select_payer", customer)
    batch.add("client_update_district_ytd", amount, w_id, d_id)
    batch.add("client_update_warehouse_ytd", amount, w_id)
    addresses_at = batch.add("client_select_addresses", w_id, d_id)
    batch.add("client_insert_history", c_id, c_d_id, c_w_id, amount, w_id, d_id)
    replies = batch.send()
    (payer,), (addresses,) = replies[payer_at], replies[addresses_at]
    return (*payer[:4], *addresses[:-1], *payer[4:], addresses[-1])


@_transaction
def order_status(session: SqlSession, inputs: Arguments) -> Row:
    """TPC-C 2.6.2."""
    w_id, d_id, c_id, c_last = inputs
    c_id = c_id or _named(session, w_id, d_id, c_last)
    (heading,) = session.call("client_select_last_order", w_id, d_id, c_id)
    lines = session.call("client_select_lines", w_id, d_id, heading[5])
    return (*heading, *zip(*lines, strict=True))


@_transaction
def delivery(session: SqlSession, inputs: Arguments) -> Row:
    """TPC-C 2.7.4."""
    w_id, carrier_id = inputs
    districts = range(1, DISTRICTS + 1)
    oldest: list[tuple[str, Arguments]] = [("client_select_oldest", (w_id, d_id)) for d_id in districts]
    _, *heads = session.batch([("client_lock_deliveries", (w_id,)), *oldest])
    orders = [(d_id, *head[0]) for d_id, head in zip(districts, heads, strict=True) if head]
    if orders:
        session.batch(list(_delivered(w_id, carrier_id, orders)))
    return tuple(d_id for d_id, *_ in orders), tuple(o_id for _, o_id, *_ in orders)


def _delivered(w_id: int, carrier_id: int, orders: list[tuple[Any, ...]]) -> Iterator[tuple[str, Arguments]]:
    """Order lines are changed last: a change of a range may block later orders, and then waits for no other lock."""
    for d_id, o_id, c_id, amount in orders:
        yield "client_delete_new_order", (w_id, d_id, o_id)
        yield "client_update_carrier", (carrier_id, w_id, d_id, o_id)
        yield "client_update_receiver", (amount, w_id, d_id, c_id)
    for d_id, o_id, *_ in orders:
        yield "client_update_lines", (w_id, d_id, o_id)


@_transaction
def stock_level(session: SqlSession, inputs: Arguments) -> Row:
    """TPC-C 2.8.2."""
    (row,) = session.call("client_count_low_stock", *inputs)
    return row


def _named(session: SqlSession, w_id: int, d_id: int, c_last: str) -> int:
    """The customer in the middle of those of a name, rounded up (TPC-C 2.5.2.2)."""
    found = session.call("client_select_named", w_id, d_id, c_last)
    return int(found[(len(found) - 1) // 2][0])
