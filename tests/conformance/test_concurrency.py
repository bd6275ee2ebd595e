"""Concurrent transactions: deliveries and orders of one warehouse (TPC-C 2.4, 2.7 and 3.4)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from typing import Any

import pytest

from hdbkit.contracts import SqlSession
from hdbkit.errors import ErrorClass, TransactionError
from hdbkit.workloads.tproc_c.conformance.rules import Run, Small, runner
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


def _retried(run: Run, *arguments: Any) -> None:
    """Run it again after a conflict of snapshots, which some engines report at their default isolation."""
    while True:
        try:
            run(*arguments)
        except TransactionError as error:
            if error.error_class is not ErrorClass.SERIALIZATION:
                raise
        else:
            return


def _at_once(work: Callable[..., Any], *arguments: tuple[Any, ...]) -> list[Any]:
    with ThreadPoolExecutor(max_workers=len(arguments[0])) as pool:
        return [row for part in pool.map(work, *arguments) for row in part or ()]
