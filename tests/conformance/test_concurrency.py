"""Concurrent transactions: deliveries and orders of one warehouse (TPC-C 2.4, 2.7 and 3.4)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from decimal import Decimal
from typing import Any

import pytest

from hdbkit.contracts import Capability, SqlSession
from hdbkit.errors import ErrorClass, TransactionError
from hdbkit.workloads.tproc_c.conformance.rules import RuleRun, Small, runner
from tests.conformance.conftest import Connect


@pytest.mark.parametrize("of_each", [("stored",) * 4, ("client",) * 4, ("stored", "client") * 2], ids=" ".join)
def test_deliveries_of_one_warehouse_skip_no_district_and_deliver_once(
    connect: Connect, db: SqlSession, small: Small, of_each: tuple[str, ...]
) -> None:
    """20 orders in each of two districts, 20 deliveries by four at once: each takes one of each district."""
    order = runner(of_each[0], db)
    for d_id in (1, 2):
        for _ in range(20):
            order("new_order", 1, d_id, 1, (1,), (1,), (1,))

    def five(way: str) -> list[Any]:
        run = runner(way, connect())
        return [run("delivery", 1, 3) for _ in range(5)]

    rows = _at_once(five, of_each)
    assert {d_ids for d_ids, _ in rows} == {(1, 2)}
    taken = Counter((d_id, o_id) for d_ids, o_ids in rows for d_id, o_id in zip(d_ids, o_ids, strict=True))
    assert taken == Counter((d_id, o_id) for d_id in (1, 2) for o_id in range(3001, 3021))
    assert small.content("new_order") == []
    receiver = small.row("customer", c_w_id=1, c_d_id=1, c_id=1)
    assert (receiver["c_balance"], receiver["c_delivery_cnt"]) == (Decimal("25.00"), 20)


@pytest.mark.needs(Capability.ROW_LOCKS, "an order waits for the payment", tried=False)
def test_an_order_that_comes_while_a_delivery_waits_is_delivered_with_its_amount_or_later(
    connect: Connect, db: SqlSession, small: Small, ways: tuple[str, ...]
) -> None:
    """The delivery waits for the customer of district 1; meanwhile district 2, where there was none, has an order.

    There are other orders, so that optimizers read, and lock, by primary keys.
    """
    for w_id, d_id in [(1, 1), (2, 1)] * 20:
        runner(ways[0], db)("new_order", w_id, d_id, 3, (1,), (w_id,), (1,))
    for _ in range(20):
        runner(ways[0], db)("delivery", 1, 3)
    for way in ways:
        order, paying, c_id = runner(way, db), connect(), 1 if way == ways[0] else 2
        order("new_order", 1, 1, c_id, (1,), (1,), (1,))
        paying.begin()
        paying.call("client_update_payer", Decimal(0), "", 1, 1, c_id)
        with ThreadPoolExecutor(max_workers=1) as pool:
            delivered = pool.submit(_retried, runner(way, connect()), "delivery", 1, 3)
            wait((delivered,), timeout=0.2)
            try:
                order("new_order", 1, 2, c_id, (1,), (1,), (1,))
                assert not delivered.done()
            finally:
                paying.rollback()
            d_ids, _ = delivered.result()
        balances = [small.row("customer", c_w_id=1, c_d_id=d_id, c_id=c_id)["c_balance"] for d_id in (1, 2)]
        assert balances == [Decimal("1.25"), Decimal("1.25") if 2 in d_ids else 0]
        if 2 not in d_ids:
            assert runner(way, db)("delivery", 1, 3)[0] == (2,)


def test_orders_of_the_same_items_never_deadlock(connect: Connect, small: Small, ways: tuple[str, ...]) -> None:
    """Stock is locked in the order of the lines, by (warehouse, item): no failure, and nothing is lost."""

    def twenty(way: str, w_id: int) -> None:
        run = runner(way, connect())
        for _ in range(20):
            _retried(run, "new_order", w_id, 1, 1, (1, 2, 3, 1, 2, 3), (1, 1, 1, 2, 2, 2), (1,) * 6)

    _at_once(twenty, (ways * 4)[:4], (1, 2, 2, 1))
    assert small.row("stock", s_w_id=1, s_i_id=1)["s_order_cnt"] == 80
    assert small.row("district", d_w_id=1, d_id=1)["d_next_o_id"] == 3041
    assert [row["o_id"] for row in small.rows("orders", o_w_id=2)] == list(range(3001, 3041))


def test_payments_at_once_lose_no_money(connect: Connect, small: Small, ways: tuple[str, ...]) -> None:
    def twenty(way: str) -> None:
        run = runner(way, connect())
        for _ in range(20):
            _retried(run, "payment", 1, 1, 2, 1, None, "OUGHT", Decimal("1.00"))

    _at_once(twenty, (ways * 4)[:4])
    assert small.row("warehouse", w_id=1)["w_ytd"] == Decimal(80)
    assert small.row("customer", c_w_id=2, c_d_id=1, c_id=5)["c_payment_cnt"] == 80
    assert len(small.rows("history")) == 80


def _retried(run: RuleRun, *arguments: Any) -> tuple[Any, ...]:
    """Run it again after a conflict of snapshots, which some engines report at their default isolation."""
    while True:
        try:
            return run(*arguments)
        except TransactionError as error:
            if error.error_class is not ErrorClass.SERIALIZATION:
                raise


def _at_once(work: Callable[..., Any], *arguments: tuple[Any, ...]) -> list[Any]:
    with ThreadPoolExecutor(max_workers=len(arguments[0])) as pool:
        return [row for part in pool.map(work, *arguments) for row in part or ()]
