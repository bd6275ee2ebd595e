"""Each condition of TPC-C 3.3.2, and ours on stock, finds what violates it and nothing else."""

from __future__ import annotations

from decimal import Decimal
from types import SimpleNamespace
from typing import Any, cast

import pytest

from hdbkit.contracts import Capability, Check, SqlSession
from hdbkit.errors import RolledBackByDesign
from hdbkit.workloads.checking import run_checks
from hdbkit.workloads.tproc_c.consistency import checks, sample
from hdbkit.workloads.tproc_c.spec import TprocCSpec
from tests.conformance.conftest import Connect, runner
from tests.conformance.small import Small, customer, district, fill, item, load, stock, warehouse

DELIVERED, ORDERS = 2100, 3000
SPEC = TprocCSpec(warehouses=1)


@pytest.fixture
def sound(schema: SqlSession, connect: Connect) -> SqlSession:
    """One district as a population leaves it, small: 2100 orders of customer 1 delivered, 900 open ones of 5.00."""
    session = connect()
    session.begin()
    load(session, "item", [item(i) for i in range(1, 4)])
    load(session, "warehouse", [warehouse(1, ytd=50)])
    load(session, "stock", [stock(1, i) for i in range(1, 4)])
    load(session, "district", [district(1, 1, ytd=50, next_o_id=ORDERS + 1)])
    load(session, "customer", [customer(1, 1, c, balance=-10, paid=10) for c in range(1, 6)])
    load(session, "history", [payment(c) for c in range(1, 6)])
    load(session, "orders", [order(o) for o in range(1, ORDERS + 1)])
    load(session, "order_line", [line(o) for o in range(1, ORDERS + 1)])
    load(session, "new_order", [{"no_o_id": o, "no_d_id": 1, "no_w_id": 1} for o in range(DELIVERED + 1, ORDERS + 1)])
    session.commit()
    return session


def payment(c: int) -> dict[str, Any]:
    row = {"h_c_id": c, "h_c_d_id": 1, "h_c_w_id": 1, "h_d_id": 1, "h_w_id": 1}
    return {**row, "h_date": "2026-01-02 03:04:05", "h_amount": "10.00", "h_data": "a payment"}


def order(o: int) -> dict[str, Any]:
    row = {"o_id": o, "o_d_id": 1, "o_w_id": 1, "o_c_id": 1, "o_entry_d": "2026-01-02 03:04:05"}
    return {**row, "o_carrier_id": 1 if o <= DELIVERED else None, "o_ol_cnt": 1, "o_all_local": 1}


def line(o: int, number: int = 1) -> dict[str, Any]:
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


def check(session: SqlSession, *has: Capability) -> list[Check]:
    """The result of every check on an engine with these capabilities."""
    return list(run_checks(checks(SPEC), cast(Any, SimpleNamespace(capabilities=has)), session))


def broken(session: SqlSession) -> set[str]:
    """The conditions that do not hold."""
    lines = [line for line in check(session) if line.name == "stock" or line.name.startswith("condition")]
    assert len(lines) == 13
    return {line.name.removeprefix("condition ") for line in lines if not line.passed}


def test_a_sound_database_breaks_no_condition(sound: SqlSession) -> None:
    assert broken(sound) == set()


@pytest.mark.parametrize("way", ["stored", "client"])
def test_a_sound_database_stays_sound_under_every_transaction(sound: SqlSession, way: str) -> None:
    run = runner(way, sound)
    for _ in range(3):
        run("new_order", 1, 1, 2, (1, 2, 1), (1, 1, 1), (5, 1, 2))
    with pytest.raises(RolledBackByDesign):
        run("new_order", 1, 1, 2, (1, 100_001), (1, 1), (5, 1))
    run("payment", 1, 1, 1, 1, 5, None, Decimal("12.34"))
    run("payment", 1, 1, 1, 1, None, "ABLE", Decimal("1.00"))
    assert [run("delivery", 1, 5) for _ in range(2)] == [((1,), (DELIVERED + 1,)), ((1,), (DELIVERED + 2,))]
    assert run("order_status", 1, 1, 2, None)[5] == ORDERS + 3
    assert run("stock_level", 1, 1, 100) == (2,)
    assert broken(sound) == set()


@pytest.mark.parametrize(
    ("statement", "values", "conditions"),
    [
        ("client_update_warehouse_ytd", {"h_amount": Decimal(1), "w_id": 1}, {"1", "8"}),
        ("client_update_district_ytd", {"h_amount": Decimal(1), "w_id": 1, "d_id": 1}, {"1", "9"}),
        ("client_number_order", {"w_id": 1, "d_id": 1}, {"2"}),
        ("client_delete_new_order", {"w_id": 1, "d_id": 1, "o_id": 2103}, {"3", "5", "11"}),
        ("client_delete_new_order", {"w_id": 1, "d_id": 1, "o_id": ORDERS}, {"2", "5", "11"}),
        ("client_delete_new_order", {"w_id": 1, "d_id": 1, "o_id": 2101}, {"5", "11"}),
        ("client_update_carrier", {"o_carrier_id": 1, "w_id": 1, "d_id": 1, "o_id": 2101}, {"5", "7"}),
        ("client_update_lines", {"w_id": 1, "d_id": 1, "o_id": 2101}, {"7", "10", "12"}),
        ("client_update_payer", {"h_amount": Decimal(1), "note": "", "w_id": 1, "d_id": 1, "c_id": 2}, {"10"}),
        ("client_update_receiver", {"amount": Decimal(5), "w_id": 1, "d_id": 1, "c_id": 1}, {"10", "11", "12"}),
        ("client_update_stock", {"quantity": 1, "remote": 0, "supply_w_id": 1, "i_id": 1}, {"stock"}),
        ("client_update_stock", {"quantity": 0, "remote": 1, "supply_w_id": 1, "i_id": 1}, {"stock"}),
    ],
)
def test_what_breaks_a_condition_is_found(
    sound: SqlSession, statement: str, values: dict[str, Any], conditions: set[str]
) -> None:
    sound.query(statement, **values)
    assert broken(sound) == conditions


def test_a_line_too_many_is_found(sound: SqlSession) -> None:
    sound.begin()
    load(sound, "order_line", [line(2101, number=2)])
    sound.commit()
    assert broken(sound) == {"4", "6"}


def test_a_payment_without_effect_is_found(sound: SqlSession) -> None:
    sound.begin()
    load(sound, "history", [payment(2)])
    sound.commit()
    assert broken(sound) == {"8", "9", "10"}


def test_the_stock_of_orders_since_the_build_is_counted(
    schema: SqlSession, connect: Connect, ways: tuple[str, ...]
) -> None:
    fill(schema)
    for way in ways:
        run = runner(way, connect())
        run("new_order", 1, 1, 1, (7, 8, 7), (1, 2, 1), (2, 1, 5))
    assert schema.query("consistency_stock") == [(0,)]
    schema.query("client_update_stock", quantity=0, remote=1, supply_w_id=2, i_id=1)
    assert schema.query("consistency_stock") == [(1,)]


def named(lines: list[Check], name: str) -> Check:
    (found,) = [line for line in lines if line.name == name]
    return found


def test_missing_rows_are_reported_and_indexes_are_there(small: Small, db: SqlSession) -> None:
    lines = check(db)
    assert named(lines, "indexes").passed
    assert named(lines, "rows of item") == Check("rows of item", False, "20, 100000 expected")


@pytest.mark.needs(Capability.STORED_ROUTINES, "none can be missing")
def test_a_missing_routine_is_reported(small: Small, db: SqlSession) -> None:
    db.query("drop_routine_payment")
    try:
        lines = check(db, Capability.STORED_ROUTINES)
    finally:
        db.query("create_routine_payment")
    assert named(lines, "routines") == Check("routines", False, "missing: payment")


def test_a_missing_table_is_reported(schema: SqlSession) -> None:
    schema.query("drop_table", table="history")
    try:
        assert check(schema) == [Check("tables", False, "missing: history")]
    finally:
        schema.query("create_history")


@pytest.mark.parametrize(
    ("warehouses", "ranges"),
    [(1, [(1, 1)]), (20, [(1, 20)]), (21, [(1, 7), (8, 14), (15, 21)]), (100, [(1, 7), (47, 53), (94, 100)])],
)
def test_the_sample_of_warehouses(warehouses: int, ranges: list[tuple[int, int]]) -> None:
    assert sample(warehouses) == ranges
