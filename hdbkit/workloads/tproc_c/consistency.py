"""The check of a schema: tables, row counts, indexes, routines, and the conditions of TPC-C 3.3.2."""

from __future__ import annotations

from functools import partial
from typing import Final

from hdbkit.config.specs.tproc_c import TRANSACTIONS, TprocCSpec
from hdbkit.contracts import Capability, Check, CheckSession, PlannedCheck
from hdbkit.workloads.checking import all_there, divided
from hdbkit.workloads.tproc_c.tables import MIN_LINES, TPROC_C_TABLES

ALL_UP_TO: Final = 20
"""Up to this many warehouses are checked completely; of more, only three ranges."""
INDEXES: Final = (
    *("warehouse_pk", "district_pk", "customer_pk", "customer_by_name", "orders_pk", "orders_by_customer"),
    *("new_order_pk", "order_line_pk", "stock_pk", "item_pk"),
)
CONDITIONS: Final = {
    1: "w_ytd = sum(d_ytd)",
    2: "d_next_o_id - 1 = max(o_id) = max(no_o_id)",
    3: "new orders are numbered without a gap",
    4: "sum(o_ol_cnt) = number of lines",
    5: "no carrier = new order",
    6: "o_ol_cnt = lines of the order",
    7: "no delivery date = no carrier",
    8: "w_ytd = sum(h_amount)",
    9: "d_ytd = sum(h_amount)",
    10: "c_balance = delivered lines - payments",
    11: "orders - new orders = 2100 + delivered",
    12: "c_balance + c_ytd_payment = delivered lines",
}
_GROWING: Final = ("history", "orders", "order_line")


def checks(spec: TprocCSpec) -> list[PlannedCheck]:
    """All checks of a schema that was built as ``spec``; failed ones describe the error."""
    return [
        all_there("tables", tuple(TPROC_C_TABLES), required=True),
        *row_counts(spec),
        all_there("indexes", INDEXES),
        all_there("routines", TRANSACTIONS, needs=Capability.STORED_ROUTINES),
        *(condition(number, spec.warehouses) for number in CONDITIONS),
        PlannedCheck("stock", _stock),
    ]


def row_counts(spec: TprocCSpec) -> list[PlannedCheck]:
    """The row count of each table; all tables must exist."""
    return [PlannedCheck(f"rows of {table}", partial(_rows, spec=spec, table=table)) for table in TPROC_C_TABLES]


def _rows(session: CheckSession, *, spec: TprocCSpec, table: str) -> Check:
    """The cardinality of TPC-C 4.3.3.1; new orders come and go, and lines are 5 to 15 an order."""
    rows = int(session.ask(f"count_{table}")[0][0])
    scale = 1 if table == "item" else spec.warehouses
    if table == "new_order":
        return Check(f"rows of {table}", None if rows == 0 else True, f"{rows}; deliveries and orders change it")
    wanted = TPROC_C_TABLES[table].rows * scale
    if table == "order_line":
        wanted = TPROC_C_TABLES["orders"].rows * scale * MIN_LINES
    if table in _GROWING:
        return Check(f"rows of {table}", rows >= wanted, f"{rows}, at least {wanted} expected")
    return Check(f"rows of {table}", rows == wanted, f"{rows}, {wanted} expected")


def condition(number: int, warehouses: int) -> PlannedCheck:
    """Whether a condition of TPC-C 3.3.2 holds in the checked warehouses."""
    return PlannedCheck(f"condition {number}", partial(_condition, number=number, warehouses=warehouses))


def _condition(session: CheckSession, *, number: int, warehouses: int) -> Check:
    ranges = sample(warehouses)
    asked = [{"w_low": low, "w_high": high} for low, high in divided(ranges, session.at_once)]
    broken = sum(int(rows[0][0]) for rows in session.ask_each(f"consistency_{number:02d}", asked))
    detail = f"{CONDITIONS[number]}: {_verdict(broken)}, {_stated(warehouses, ranges)}"
    return Check(f"condition {number}", broken == 0, detail)


def _stock(session: CheckSession) -> Check:
    broken = int(session.ask("consistency_stock")[0][0])
    detail = f"s_ytd, s_order_cnt, s_remote_cnt = lines since the build: {_verdict(broken)}, all warehouses"
    return Check("stock", broken == 0, detail)


def sample(warehouses: int) -> list[tuple[int, int]]:
    """The checked ranges of warehouses: all up to 20, else seven at the start, middle and end."""
    if warehouses <= ALL_UP_TO:
        return [(1, warehouses)]
    length = ALL_UP_TO // 3 + 1
    middle = (warehouses - length) // 2 + 1
    return [(1, length), (middle, middle + length - 1), (warehouses - length + 1, warehouses)]


def _verdict(broken: int) -> str:
    return "holds" if broken == 0 else f"broken in {broken} places"


def _stated(warehouses: int, ranges: list[tuple[int, int]]) -> str:
    if warehouses <= ALL_UP_TO:
        return "all warehouses"
    return "warehouses " + ", ".join(f"{low} to {high}" for low, high in ranges)
