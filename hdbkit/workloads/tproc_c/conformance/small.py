"""A small database whose figures can be calculated by hand, and functions that read it.

Two warehouses with districts 1 and 2, five customers per district, items 1 to 20. Item i costs i.25; the first five
items and every odd stock are ORIGINAL. Stock is 50 of each item, but 12 of item 7. Next order: 3001. No orders yet.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from hdbkit.contracts import SqlSession, Table
from hdbkit.workloads.tproc_c.tables import TABLES

FIRST_NAMES = {1: "DORA", 2: "CARL", 3: "BERT", 4: "ANNA", 5: "EMIL"}
"""By customer; 1 to 4 are called ABLE, so that of ANNA, BERT, CARL, DORA the middle one rounded up is BERT, 3."""
NAMED, BAD_CREDIT = 3, 5


def fill(session: SqlSession) -> None:
    """Load the small database."""
    session.begin()
    load(session, "item", [item(i) for i in range(1, 21)])
    for w in (1, 2):
        load(session, "warehouse", [warehouse(w)])
        load(session, "stock", [stock(w, i) for i in range(1, 21)])
        load(session, "district", [district(w, d) for d in (1, 2)])
        load(session, "customer", [customer(w, d, c) for d in (1, 2) for c in FIRST_NAMES])
    session.commit()


def load(session: SqlSession, table: str, rows: Iterable[dict[str, Any]]) -> int:
    """Load rows given as ``{column: value}``; None is null."""
    given = list(rows)
    columns = tuple(given[0])
    lines = ("\t".join(r"\N" if row[c] is None else str(row[c]) for c in columns) for row in given)
    return session.load(Table(table, columns), ["".join(f"{line}\n" for line in lines).encode()])


def address(prefix: str) -> dict[str, str]:
    """The five columns of an address."""
    names = {"street_1": "1 Long Lane", "street_2": "Flat 2", "city": "Ely", "state": "NY", "zip": "123411111"}
    return {f"{prefix}_{name}": value for name, value in names.items()}


def item(i: int) -> dict[str, Any]:
    """A row of item."""
    data = "an ORIGINAL item" if i <= 5 else "an item"
    return {"i_id": i, "i_im_id": 1, "i_name": f"item {i}", "i_price": f"{i}.25", "i_data": data}


def stock(w: int, i: int) -> dict[str, Any]:
    """A row of stock."""
    row: dict[str, Any] = {"s_i_id": i, "s_w_id": w, "s_quantity": 12 if i == 7 else 50}
    row |= {f"s_dist_{d:02d}": f"warehouse {w} district {d:02d} .."[:24].ljust(24, ".") for d in range(1, 11)}
    data = "ORIGINAL stock" if i % 2 else "stock"
    return {**row, "s_ytd": 0, "s_order_cnt": 0, "s_remote_cnt": 0, "s_data": data}


def warehouse(w: int, ytd: int = 0) -> dict[str, Any]:
    """A row of warehouse."""
    return {"w_id": w, "w_name": f"WARE{w}", **address("w"), "w_tax": "0.1000", "w_ytd": ytd}


def district(w: int, d: int, ytd: int = 0, next_o_id: int = 3001) -> dict[str, Any]:
    """A row of district."""
    row = {"d_id": d, "d_w_id": w, "d_name": f"DIST{d}", **address("d"), "d_tax": "0.0500"}
    return {**row, "d_ytd": ytd, "d_next_o_id": next_o_id}


def customer(w: int, d: int, c: int, balance: int = 0, paid: int = 0) -> dict[str, Any]:
    """A row of customer."""
    last, credit = ("ABLE", "GC") if c != BAD_CREDIT else ("OUGHT", "BC")
    row = {"c_id": c, "c_d_id": d, "c_w_id": w, "c_first": FIRST_NAMES[c], "c_middle": "OE", "c_last": last}
    row |= {**address("c"), "c_phone": "1234567890123456", "c_since": "2026-01-02 03:04:05", "c_credit": credit}
    row |= {"c_credit_lim": "50000.00", "c_discount": "0.2000", "c_balance": balance, "c_ytd_payment": paid}
    return {**row, "c_payment_cnt": 0, "c_delivery_cnt": 0, "c_data": "x" * 480}


class Small:
    """Reads the database back, by column names."""

    def __init__(self, session: SqlSession) -> None:
        self.session = session

    def rows(self, table: str, **where: Any) -> list[dict[str, Any]]:
        """The rows of a table whose columns have these values, in a fixed order."""
        found = [dict(zip(TABLES[table].columns, row, strict=True)) for row in self.content(table)]
        return [row for row in found if all(row[name] == value for name, value in where.items())]

    def row(self, table: str, **where: Any) -> dict[str, Any]:
        """The only such row."""
        (found,) = self.rows(table, **where)
        return found

    def content(self, table: str) -> list[tuple[Any, ...]]:
        """Every row of a table."""
        return self.session.query(f"content_{table}")

    def everything(self) -> dict[str, Any]:
        """Every table; a point in time only as whether there is one."""
        return {table: timeless(self.content(table)) for table in TABLES}


def timeless(value: Any) -> Any:
    """The value with every point in time in it made equal."""
    if isinstance(value, tuple | list):
        return tuple(map(timeless, value))
    return "some time" if isinstance(value, datetime) else value
