"""The nine tables: their columns in loading order, and their sizes (TPC-C 1.3 and 4.3.3.1)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from hdbkit import contracts

ITEMS: Final = 100_000
UNUSED_ITEM: Final = ITEMS + 1
"""The item that does not exist; a new order that names it is rolled back (TPC-C 2.4.1.5)."""
DISTRICTS: Final = 10
CUSTOMERS: Final = 3_000
"""The number of customers per district, and of its initial orders."""
ORDERS: Final = CUSTOMERS
FIRST_NEW_ORDER: Final = 2_101
"""The first order of a district that is not delivered yet."""
MIN_LINES: Final = 5
MAX_ORDER_LINES: Final = 15
MEAN_LINES: Final = (MIN_LINES + MAX_ORDER_LINES) // 2


@dataclass(frozen=True)
class _Table(contracts.Table):
    """A table. ``rows`` is for one warehouse (for ``item``: all there are), ``row_bytes`` a row's mean as text.

    ``number`` identifies its random stream; it never changes.
    """

    number: int = 0
    rows: int = 0
    row_bytes: int = 0


_ORDER: Final = frozenset({"orders", "order_line"})
USES: Final[Mapping[str, Mapping[str, frozenset[str]]]] = {
    "new_order": {
        "SELECT": frozenset({"warehouse", "district", "customer", "item", "stock"}) | _ORDER,
        "INSERT": frozenset({"new_order"}) | _ORDER,
        "UPDATE": frozenset({"district", "stock"}),
    },
    "payment": {
        "SELECT": frozenset({"warehouse", "district", "customer"}),
        "INSERT": frozenset({"history"}),
        "UPDATE": frozenset({"warehouse", "district", "customer"}),
    },
    "order_status": {"SELECT": frozenset({"customer"}) | _ORDER},
    "delivery": {
        "SELECT": frozenset({"district", "customer", "new_order"}) | _ORDER,
        "UPDATE": frozenset({"customer"}) | _ORDER,
        "DELETE": frozenset({"new_order"}),
    },
    "stock_level": {"SELECT": frozenset({"district", "order_line", "stock"})},
}
"""The tables that each transaction uses, by privilege."""
COUNTING_TABLES: Final = frozenset({"district"})
"""The table of the order numbers, which are the count of new orders."""


def by_privilege(uses: Iterable[Mapping[str, frozenset[str]]]) -> dict[str, frozenset[str]]:
    """Several uses of tables together."""
    listed = [*uses]
    privileges = dict.fromkeys(privilege for one in listed for privilege in one)
    return {name: frozenset().union(*(one.get(name, ()) for one in listed)) for name in privileges}


_KEYS: Final = {
    "item": ("i_id",),
    "warehouse": ("w_id",),
    "district": ("d_w_id", "d_id"),
    "stock": ("s_w_id", "s_i_id"),
    "customer": ("c_w_id", "c_d_id", "c_id"),
    "orders": ("o_w_id", "o_d_id", "o_id"),
    "new_order": ("no_w_id", "no_d_id", "no_o_id"),
    "order_line": ("ol_w_id", "ol_d_id", "ol_o_id", "ol_number"),
}
"""The primary keys; the history has none."""


def _table(name: str, number: int, rows: int, row_bytes: int, columns: tuple[str, ...]) -> _Table:
    return _Table(name, columns, _KEYS.get(name, ()), number=number, rows=rows, row_bytes=row_bytes)


_S_DISTS = tuple(f"s_dist_{d:02d}" for d in range(1, DISTRICTS + 1))
_ADDRESS = ("street_1", "street_2", "city", "state", "zip")


def _address(prefix: str) -> tuple[str, ...]:
    return tuple(f"{prefix}_{name}" for name in _ADDRESS)


TPROC_C_TABLES: Final = {
    table.name: table
    for table in (
        _table("item", 1, ITEMS, 75, ("i_id", "i_im_id", "i_name", "i_price", "i_data")),
        _table("warehouse", 2, 1, 95, ("w_id", "w_name", *_address("w"), "w_tax", "w_ytd")),
        _table(
            "district",
            3,
            DISTRICTS,
            95,
            ("d_id", "d_w_id", "d_name", *_address("d"), "d_tax", "d_ytd", "d_next_o_id"),
        ),
        _table(
            "stock",
            4,
            ITEMS,
            306,
            ("s_i_id", "s_w_id", "s_quantity", *_S_DISTS, "s_ytd", "s_order_cnt", "s_remote_cnt", "s_data"),
        ),
        _table(
            "customer",
            5,
            DISTRICTS * CUSTOMERS,
            573,
            (
                *("c_id", "c_d_id", "c_w_id", "c_first", "c_middle", "c_last"),
                *_address("c"),
                *("c_phone", "c_since", "c_credit", "c_credit_lim", "c_discount", "c_balance"),
                *("c_ytd_payment", "c_payment_cnt", "c_delivery_cnt", "c_data"),
            ),
        ),
        _table(
            "history",
            6,
            DISTRICTS * CUSTOMERS,
            57,
            ("h_c_id", "h_c_d_id", "h_c_w_id", "h_d_id", "h_w_id", "h_date", "h_amount", "h_data"),
        ),
        _table(
            "orders",
            7,
            DISTRICTS * ORDERS,
            41,
            ("o_id", "o_d_id", "o_w_id", "o_c_id", "o_entry_d", "o_carrier_id", "o_ol_cnt", "o_all_local"),
        ),
        _table("new_order", 8, DISTRICTS * (ORDERS - FIRST_NEW_ORDER + 1), 9, ("no_o_id", "no_d_id", "no_w_id")),
        _table(
            "order_line",
            9,
            DISTRICTS * ORDERS * MEAN_LINES,
            67,
            (
                *("ol_o_id", "ol_d_id", "ol_w_id", "ol_number", "ol_i_id", "ol_supply_w_id"),
                *("ol_delivery_d", "ol_quantity", "ol_amount", "ol_dist_info"),
            ),
        ),
    )
}
"""By name. ``item`` is loaded once, the others for each warehouse in this order."""

WAREHOUSE_TABLES: Final = tuple(name for name in TPROC_C_TABLES if name != "item")
