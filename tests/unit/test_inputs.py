"""The inputs of the five transactions against TPC-C 2.4.1 to 2.8.1, and HammerDB's simpler draws."""

from __future__ import annotations

from collections import Counter
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

from hdbkit.config.specs.tproc_c import InputRules, TprocCLoad, TprocCSpec
from hdbkit.contracts import UserPlan
from hdbkit.workloads.tproc_c.hammerdb import HammerDBInputs
from hdbkit.workloads.tproc_c.inputs import LAST_NAMES, Inputs

COUNT = 20_000
HOME = 3


def inputs(warehouses: int = 10, seed: int = 5, **load: Any) -> Inputs:
    plan = UserPlan(index=12, seed=seed)
    return Inputs(TprocCSpec(warehouses=warehouses), TprocCLoad(**load), plan, np.random.default_rng(seed))


def share(values: list[bool]) -> float:
    return sum(values) / len(values)


def skew(values: list[int], high: int) -> float:
    """How much more often the favoured tenth of 1..high is drawn than a tenth of even draws would be."""
    counts = np.sort(np.bincount(values, minlength=high + 1)[1:])[::-1]
    return float(counts[: high // 10].sum() / counts.sum())


def test_a_new_order_has_5_to_15_lines_of_its_home_district() -> None:
    orders = inputs().new_order(COUNT)
    assert {w for w, *_ in orders} == {HOME}
    assert {d for _, d, *_ in orders} == set(range(1, 11))
    assert {len(items) for *_, items, _, _ in orders} == set(range(5, 16))
    assert all(len(items) == len(supply) == len(quantity) for *_, items, supply, quantity in orders)
    assert {q for *_, quantity in orders for q in quantity} == set(range(1, 11))


def test_arguments_are_plain_python_values() -> None:
    w_id, d_id, c_id, items, supply, quantity = inputs().new_order(1)[0]
    for value in (w_id, d_id, c_id, items[0], supply[0], quantity[0]):
        assert type(value) is int
    assert type(items) is type(supply) is type(quantity) is tuple


@pytest.mark.parametrize(("rules", "one_of"), [(InputRules.SPEC, 100), (InputRules.HAMMERDB, 99)])
def test_one_new_order_in_a_hundred_names_the_unused_item_in_its_last_line(rules: InputRules, one_of: int) -> None:
    items = [items for *_, items, _, _ in inputs(input_rules=rules).new_order(COUNT)]
    assert share([lines[-1] == 100_001 for lines in items]) == pytest.approx(1 / one_of, rel=0.2)
    assert all(1 <= item <= 100_000 for lines in items for item in lines[:-1])


def test_lines_are_in_the_order_in_which_stock_is_locked() -> None:
    for *_, items, supply, _ in inputs().new_order(COUNT):
        stocked = [(w, item) for w, item in zip(supply, items, strict=True) if item <= 100_000]
        assert stocked == sorted(stocked)


def test_one_line_in_a_hundred_is_supplied_by_any_other_warehouse() -> None:
    supplied = [w for *_, supply, _ in inputs().new_order(COUNT) for w in supply]
    counts = Counter(supplied)
    assert 1 - counts[HOME] / len(supplied) == pytest.approx(0.01, rel=0.1)
    assert set(counts) == set(range(1, 11))


def test_with_one_warehouse_nothing_is_remote() -> None:
    single = inputs(warehouses=1)
    assert {w for *_, supply, _ in single.new_order(COUNT) for w in supply} == {1}
    assert all((w, d) == (c_w, c_d) for w, d, c_w, c_d, *_ in single.payment(COUNT))


def test_one_payment_in_seven_is_of_a_customer_of_another_warehouse() -> None:
    """TPC-C 2.5.1.2: 85 % local, with the customer's district then the terminal's."""
    payments = inputs().payment(COUNT)
    assert share([c_w != w for w, _, c_w, *_ in payments]) == pytest.approx(0.15, rel=0.05)
    assert all(d == c_d for w, d, c_w, c_d, *_ in payments if w == c_w)
    remote = [(c_w, c_d) for w, _, c_w, c_d, *_ in payments if w != c_w]
    assert set(remote) == {(w, d) for w in range(1, 11) if w != HOME for d in range(1, 11)}


def test_amounts_are_decimal_text_from_1_to_5000() -> None:
    amounts = [amount for *_, amount in inputs().payment(COUNT)]
    assert all(type(amount) is str for amount in amounts)
    values = [Decimal(amount) for amount in amounts]
    assert all(value.as_tuple().exponent == -2 for value in values)
    assert Decimal(1) <= min(values) < 5
    assert 4_995 < max(values) <= Decimal(5000)


@pytest.mark.parametrize("operation", ["payment", "order_status"])
def test_six_of_ten_customers_are_given_by_last_name(operation: str) -> None:
    who = [row[4:6] if operation == "payment" else row[2:4] for row in getattr(inputs(), operation)(COUNT)]
    assert all((c_id is None) != (c_last is None) for c_id, c_last in who)
    assert share([c_last is not None for _, c_last in who]) == pytest.approx(0.6, rel=0.03)
    assert {c_last for _, c_last in who if c_last} <= set(LAST_NAMES)
    assert all(1 <= c_id <= 3000 for c_id, _ in who if c_id)


def test_delivery_and_stock_level_fill_their_ranges() -> None:
    drawn = inputs()
    assert {carrier for _, carrier in drawn.delivery(COUNT)} == set(range(1, 11))
    assert {threshold for _, _, threshold in drawn.stock_level(COUNT)} == set(range(10, 21))


def test_a_terminal_asks_for_the_stock_level_of_its_own_district() -> None:
    """TPC-C 2.8.1.1; terminals of one warehouse have different districts."""
    spec, load = TprocCSpec(warehouses=2), TprocCLoad()

    def terminal(index: int) -> tuple[int, int]:
        plan = UserPlan(index, seed=index)
        places = {(w, d) for w, d, _ in Inputs(spec, load, plan, np.random.default_rng(1)).stock_level(50)}
        assert len(places) == 1
        return places.pop()

    assert {terminal(index) for index in range(20)} == {(w, d) for w in (1, 2) for d in range(1, 11)}


def test_hammerdb_s_users_draw_their_home_and_keep_it() -> None:
    spec, load = TprocCSpec(warehouses=50), TprocCLoad(input_rules=InputRules.HAMMERDB)

    def home(index: int, seed: int) -> tuple[int, int]:
        user = Inputs(spec, load, UserPlan(index, seed), np.random.default_rng(seed))
        assert {w for w, *_ in user.new_order(20)} == {user.stock_level(1)[0][0]}
        return user.stock_level(1)[0][:2]

    homes = [home(index, seed=index) for index in range(200)]
    assert homes == [home(index, seed=index + 1000) for index in range(200)]  # also after a lost connection
    assert {d for _, d in homes} == set(range(1, 11))
    assert [w for w, _ in homes[:50]] != list(range(1, 51))
    assert len({w for w, _ in homes}) > 40


def test_spec_rules_skew_customers_and_items_and_hammerdb_s_do_not() -> None:
    spec, hammerdb = inputs().new_order(COUNT), inputs(input_rules="hammerdb").new_order(COUNT)
    assert skew([c for _, _, c, *_ in spec], 3000) > 0.3
    assert skew([i for *_, items, _, _ in spec for i in items[:-1]], 100_000) > 0.4
    assert skew([c for _, _, c, *_ in hammerdb], 3000) < 0.2
    assert skew([i for *_, items, _, _ in hammerdb for i in items[:-1]], 100_000) < 0.3


def test_hammerdb_s_amounts_are_whole() -> None:
    amounts = {amount for *_, amount in inputs(input_rules="hammerdb").payment(COUNT)}
    assert all(amount.isdecimal() and 1 <= int(amount) <= 5000 for amount in amounts)


@pytest.mark.parametrize("operation", ["new_order", "payment", "order_status", "delivery", "stock_level"])
def test_with_all_warehouses_the_warehouse_is_drawn_each_time(operation: str) -> None:
    rows = getattr(inputs(all_warehouses=True), operation)(2_000)
    counts = Counter(row[0] for row in rows)
    assert set(counts) == set(range(1, 11))
    assert max(counts.values()) < 2 * min(counts.values())


def test_remote_lines_never_come_from_the_drawn_warehouse_itself() -> None:
    orders = inputs(warehouses=2, all_warehouses=True).new_order(COUNT)
    remote = [w for home, *_, supply, _ in orders for w in supply if w != home]
    total = sum(len(supply) for *_, supply, _ in orders)
    assert len(remote) / total == pytest.approx(0.01, rel=0.1)


def test_without_remote_warehouses_all_else_is_the_same() -> None:
    usual, local = inputs(), inputs(remote_warehouses=False)
    for one, other in zip(usual.new_order(COUNT), local.new_order(COUNT), strict=True):
        assert one[:3] == other[:3]
        assert sorted(zip(one[3], one[5], strict=True)) == sorted(zip(other[3], other[5], strict=True))
        assert set(other[4]) == {other[0]}
    for one, other in zip(usual.payment(COUNT), local.payment(COUNT), strict=True):
        assert one[:2] + one[4:] == other[:2] + other[4:]
        assert other[:2] == other[2:4]


@pytest.mark.parametrize("operation", ["new_order", "payment", "order_status", "delivery", "stock_level"])
def test_none_asked_for_is_none_given(operation: str) -> None:
    assert getattr(inputs(), operation)(0) == []


def test_inputs_follow_from_the_seed() -> None:
    assert inputs(seed=1).new_order(100) == inputs(seed=1).new_order(100)
    assert inputs(seed=1).new_order(100) != inputs(seed=2).new_order(100)


def test_hammerdb_s_routines_are_given_what_its_driver_gives_them() -> None:
    """A new order's lines are drawn by the routine; a customer's number always goes with his name or ''."""
    plan = UserPlan(index=HOME - 1, seed=5)
    spec, load = TprocCSpec(warehouses=10), TprocCLoad(input_rules=InputRules.HAMMERDB)
    drawn = HammerDBInputs(spec, load, plan, np.random.default_rng(5))
    orders = drawn.new_order(COUNT)
    assert {order[1] for order in orders} == {10}
    assert len({order[0] for order in orders}) == 1
    assert {order[2] for order in orders} == set(range(1, 11))
    assert {order[4] for order in orders} == set(range(5, 16))
    payments = [order[4:] for order in drawn.payment(COUNT)]
    asked = [(byname, c_last, c_id) for _, _, c_id, byname, c_last in drawn.order_status(COUNT)]
    for customers in ([(byname, c_last, c_id) for byname, _, c_last, c_id in payments], asked):
        assert share([byname == 1 for byname, _, _ in customers]) == pytest.approx(0.6, abs=0.02)
        assert all((c_last in LAST_NAMES) if byname else c_last == "" for byname, c_last, _ in customers)
        assert {type(c_id) for _, _, c_id in customers} == {int}
