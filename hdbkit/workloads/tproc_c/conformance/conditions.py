"""Each condition of TPC-C 3.3.2, and that of hdbkit on stock, finds what violates it and nothing else."""

from __future__ import annotations

from decimal import Decimal
from typing import Any, Final

from hdbkit.config.specs.tproc_c import TprocCSpec
from hdbkit.contracts import Bench, Capability, SqlSession
from hdbkit.errors import RolledBackByDesign
from hdbkit.workloads.checking import CheckSessions
from hdbkit.workloads.tproc_c.conformance.rules import (
    CLIENT_WORK,
    STORED,
    RuleRun,
    Rules,
    Small,
    customer,
    district,
    equal,
    item,
    loaded,
    raised,
    runner,
    stock,
    warehouse,
)
from hdbkit.workloads.tproc_c.consistency import checks

RULES = Rules()
DELIVERED: Final = 2100
_ORDERS: Final = 3000
BREAKS: Final[tuple[tuple[str, dict[str, Any], set[str]], ...]] = (
    ("client_update_warehouse_ytd", {"h_amount": Decimal(1), "w_id": 1}, {"1", "8"}),
    ("client_update_district_ytd", {"h_amount": Decimal(1), "w_id": 1, "d_id": 1}, {"1", "9"}),
    ("client_number_order", {"w_id": 1, "d_id": 1}, {"2"}),
    ("client_delete_new_order", {"w_id": 1, "d_id": 1, "o_id": 2103}, {"3", "5", "11"}),
    ("client_delete_new_order", {"w_id": 1, "d_id": 1, "o_id": _ORDERS}, {"2", "5", "11"}),
    ("client_delete_new_order", {"w_id": 1, "d_id": 1, "o_id": 2101}, {"5", "11"}),
    ("client_update_carrier", {"o_carrier_id": 1, "w_id": 1, "d_id": 1, "o_id": 2101}, {"5", "7"}),
    ("client_update_lines", {"w_id": 1, "d_id": 1, "o_id": 2101}, {"7", "10", "12"}),
    ("client_update_payer", {"h_amount": Decimal(1), "note": "", "w_id": 1, "d_id": 1, "c_id": 2}, {"10"}),
    ("client_update_receiver", {"amount": Decimal(5), "w_id": 1, "d_id": 1, "c_id": 1}, {"10", "11", "12"}),
    ("client_update_stock", {"quantity": 1, "remote": 0, "supply_w_id": 1, "i_id": 1}, {"stock"}),
    ("client_update_stock", {"quantity": 0, "remote": 1, "supply_w_id": 1, "i_id": 1}, {"stock"}),
)
"""A statement, its values, and the conditions that it breaks."""


def sound(session: SqlSession) -> None:
    """One district as a population leaves it, small: 2100 orders of customer 1 delivered, 900 open ones of 5.00."""
    session.begin()
    loaded(session, "item", [item(i) for i in range(1, 4)])
    loaded(session, "warehouse", [warehouse(1, ytd=50)])
    loaded(session, "stock", [stock(1, i) for i in range(1, 4)])
    loaded(session, "district", [district(1, 1, ytd=50, next_o_id=_ORDERS + 1)])
    loaded(session, "customer", [customer(1, 1, c, balance=-10, paid=10) for c in range(1, 6)])
    loaded(session, "history", [_payment(c) for c in range(1, 6)])
    loaded(session, "orders", [order(o) for o in range(1, _ORDERS + 1)])
    loaded(session, "order_line", [line(o) for o in range(1, _ORDERS + 1)])
    queued = range(DELIVERED + 1, _ORDERS + 1)
    loaded(session, "new_order", [{"no_o_id": o, "no_d_id": 1, "no_w_id": 1} for o in queued])
    session.commit()


def _payment(c: int) -> dict[str, Any]:
    """A row of history."""
    row = {"h_c_id": c, "h_c_d_id": 1, "h_c_w_id": 1, "h_d_id": 1, "h_w_id": 1}
    return {**row, "h_date": "2026-01-02 03:04:05", "h_amount": "10.00", "h_data": "a payment"}


def order(o: int) -> dict[str, Any]:
    """A row of orders."""
    row = {"o_id": o, "o_d_id": 1, "o_w_id": 1, "o_c_id": 1, "o_entry_d": "2026-01-02 03:04:05"}
    return {**row, "o_carrier_id": 1 if o <= DELIVERED else None, "o_ol_cnt": 1, "o_all_local": 1}


def line(o: int, number: int = 1) -> dict[str, Any]:
    """A row of order_line."""
    delivered = o <= DELIVERED
    row: dict[str, Any] = {
        "ol_o_id": o,
        "ol_d_id": 1,
        "ol_w_id": 1,
        "ol_number": number,
        "ol_i_id": 1,
        "ol_supply_w_id": 1,
    }
    row |= {"ol_delivery_d": "2026-01-02 03:04:05" if delivered else None, "ol_quantity": 5}
    return {**row, "ol_amount": "0.00" if delivered else "5.00", "ol_dist_info": "x" * 24}


def broken(session: SqlSession) -> set[str]:
    """The conditions that do not hold."""
    planned = [one for one in checks(TprocCSpec(warehouses=1)) if one.name.split()[0] in ("condition", "stock")]
    return {one.name.removeprefix("condition ") for one in planned if not one.decide(CheckSessions([session])).passed}


@RULES.alone(before=sound, by_sql=False)
def a_sound_database_breaks_no_condition(bench: Bench, session: SqlSession) -> None:
    """TPC-C 3.3.2."""
    equal(broken(session), set())


@RULES.alone(Capability.STORED_ROUTINES, before=sound, by_sql=False)
def stored_routines_break_no_condition(bench: Bench, session: SqlSession) -> None:
    """TPC-C 3.3.2."""
    _some_of_each(runner(STORED, session))
    equal(broken(session), set())


@RULES.alone(Capability.CLIENT_ROUTINES, before=sound, by_sql=False)
def client_routines_break_no_condition(bench: Bench, session: SqlSession) -> None:
    """TPC-C 3.3.2."""
    _some_of_each(runner(CLIENT_WORK, session))
    equal(broken(session), set())


def _some_of_each(run: RuleRun) -> None:
    for _ in range(3):
        run("new_order", 1, 1, 2, (1, 2, 1), (1, 1, 1), (5, 1, 2))
    raised(RolledBackByDesign, run, "new_order", 1, 1, 2, (1, 100_001), (1, 1), (5, 1))
    run("payment", 1, 1, 1, 1, 5, None, Decimal("12.34"))
    run("payment", 1, 1, 1, 1, None, "ABLE", Decimal("1.00"))
    delivered = [run("delivery", 1, 5) for _ in range(2)]
    equal(delivered, [((1,), (DELIVERED + 1,)), ((1,), (DELIVERED + 2,))])
    equal(run("order_status", 1, 1, 2, None)[5], _ORDERS + 3)
    equal(run("stock_level", 1, 1, 100), (2,))


@RULES.alone(Capability.CLIENT_ROUTINES, before=sound)
def what_breaks_a_condition_is_found(bench: Bench, session: SqlSession) -> None:
    """Each change breaks the conditions that it must, and no other."""
    for statement, values, conditions in BREAKS:
        session.begin()
        session.query(statement, **values)
        equal((statement, broken(session)), (statement, conditions))
        session.rollback()


@RULES.alone(before=sound, by_sql=False)
def a_line_too_many_is_found(bench: Bench, session: SqlSession) -> None:
    """Conditions 4 and 6."""
    session.begin()
    loaded(session, "order_line", [line(2101, number=2)])
    equal(broken(session), {"4", "6"})
    session.rollback()


@RULES.alone(before=sound, by_sql=False)
def a_payment_without_effect_is_found(bench: Bench, session: SqlSession) -> None:
    """Conditions 8, 9 and 10."""
    session.begin()
    loaded(session, "history", [_payment(2)])
    equal(broken(session), {"8", "9", "10"})
    session.rollback()


@RULES.each_way()
def the_stock_of_orders_since_the_build_is_counted(run: RuleRun, small: Small) -> None:
    """The condition of hdbkit on stock."""
    run("new_order", 1, 1, 1, (7, 8, 7), (1, 2, 1), (2, 1, 5))
    equal(small.session.query("consistency_stock"), [(0,)])
    run("new_order", 1, 1, 1, (7,), (1,), (2,))
    small.session.begin()
    loaded(small.session, "warehouse", [warehouse(3)])
    loaded(small.session, "stock", [{**stock(3, 1), "s_remote_cnt": 1}])
    equal(small.session.query("consistency_stock"), [(1,)])
    small.session.rollback()
