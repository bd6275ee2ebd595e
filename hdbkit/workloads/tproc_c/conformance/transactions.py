"""The five transactions on the small database, by stored routines and as the client sends them (TPC-C 2.4 to 2.8)."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from hdbkit.contracts import Bench, Capability, SqlSession
from hdbkit.errors import RolledBackByDesign
from hdbkit.workloads.tproc_c.conformance.rules import (
    BAD_CREDIT,
    CLIENT_WORK,
    NAMED,
    STORED,
    WAYS,
    RuleRun,
    Rules,
    Small,
    equal,
    fill,
    item,
    loaded,
    raised,
    runner,
    stock,
    timeless,
    true,
)

RULES = Rules()


@RULES.each_way()
def a_new_order_gives_every_field_of_the_terminal(run: RuleRun, small: Small) -> None:
    """TPC-C 2.4.3.3: 2 x 4.25 + 3 x 3.25 = 18.25; less 20 %, with 15 % tax: 16.79."""
    row = run("new_order", 1, 1, 2, (4, 3), (1, 1), (2, 3))
    equal(row[0], 3001)
    true(row[1].year >= 2026, "the order has the time of today")
    equal(row[2:8], (Decimal("0.1"), Decimal("0.05"), Decimal("0.2"), "ABLE", "GC", Decimal("16.79")))
    equal(
        row[8:],
        (
            ("item 4", "item 3"),
            (48, 47),
            ("G", "B"),
            (Decimal("4.25"), Decimal("3.25")),
            (Decimal("8.50"), Decimal("9.75")),
        ),
    )


@RULES.each_way()
def a_new_order_writes_order_queue_and_lines(run: RuleRun, small: Small) -> None:
    """TPC-C 2.4.2.2."""
    run("new_order", 1, 2, 2, (4, 3), (1, 1), (2, 3))
    order = small.row("orders", o_w_id=1, o_d_id=2)
    equal((order["o_id"], order["o_c_id"], order["o_ol_cnt"], order["o_all_local"]), (3001, 2, 2, 1))
    equal(order["o_carrier_id"], None)
    equal(small.content("new_order"), [(3001, 2, 1)])
    first, second = small.rows("order_line", ol_w_id=1, ol_d_id=2, ol_o_id=3001)
    equal(
        (first["ol_number"], first["ol_i_id"], first["ol_quantity"], first["ol_amount"]), (1, 4, 2, Decimal("8.50"))
    )
    equal(
        (second["ol_number"], second["ol_i_id"], second["ol_quantity"], second["ol_amount"]),
        (2, 3, 3, Decimal("9.75")),
    )
    equal(first["ol_delivery_d"], None)
    equal(first["ol_dist_info"][:23], "warehouse 1 district 02")
    equal(small.row("district", d_w_id=1, d_id=2)["d_next_o_id"], 3002)


@RULES.each_way()
def order_ids_are_taken_once(run: RuleRun, small: Small) -> None:
    """TPC-C 2.4.2.2: no two orders of a district have one number."""
    equal([run("new_order", 1, 1, 1, (1,), (1,), (1,))[0] for _ in range(3)], [3001, 3002, 3003])


@RULES.each_way((1, 11), (2, 10), (3, 100), (10, 93))
def stock_below_ten_is_filled_up_by_91(run: RuleRun, small: Small, quantity: int, left: int) -> None:
    """TPC-C 2.4.2.2: of 12 are left 11 and 10; what would be 9 becomes 100."""
    row = run("new_order", 1, 1, 1, (7,), (1,), (quantity,))
    equal(row[9], (left,))
    stock = small.row("stock", s_w_id=1, s_i_id=7)
    equal((stock["s_quantity"], stock["s_ytd"], stock["s_order_cnt"], stock["s_remote_cnt"]), (left, quantity, 1, 0))


@RULES.each_way()
def an_item_twice_in_an_order_counts_twice(run: RuleRun, small: Small) -> None:
    """Of 12: the first line leaves 12 - 2 = 10, the third 10 - 5 + 91 = 96."""
    row = run("new_order", 1, 1, 1, (7, 8, 7), (1, 1, 1), (2, 1, 5))
    equal(row[8], ("item 7", "item 8", "item 7"))
    equal(row[9], (10, 49, 96))
    equal(row[12], (Decimal("14.50"), Decimal("8.25"), Decimal("36.25")))
    equal(row[7], Decimal("54.28"))  # 59.00 x 0.8 x 1.15
    stock = small.row("stock", s_w_id=1, s_i_id=7)
    equal((stock["s_quantity"], stock["s_ytd"], stock["s_order_cnt"]), (96, 7, 2))
    lines = small.rows("order_line", ol_w_id=1)
    equal(
        [(line["ol_number"], line["ol_i_id"], line["ol_quantity"]) for line in lines],
        [(1, 7, 2), (2, 8, 1), (3, 7, 5)],
    )


@RULES.each_way((5,), (15,))
def an_order_has_as_many_lines_as_are_given(run: RuleRun, small: Small, count: int) -> None:
    """TPC-C 2.4.1.3: 5 to 15 lines. Item i costs i.25; of item 7 there are 12, of the others 50."""
    items = tuple(range(1, count + 1))
    quantities = tuple(i % 10 + 1 for i in items)
    amounts = tuple(q * (i + Decimal("0.25")) for i, q in zip(items, quantities, strict=True))
    left = tuple(95 if i == 7 else 50 - q for i, q in zip(items, quantities, strict=True))
    row = run("new_order", 1, 1, 1, items, (1,) * count, quantities)
    equal(row[7], round(sum(amounts) * Decimal("0.92"), 2))
    brands = tuple("B" if i in (1, 3, 5) else "G" for i in items)
    equal((row[8], row[9], row[10], row[12]), (tuple(f"item {i}" for i in items), left, brands, amounts))
    equal(small.row("orders", o_w_id=1)["o_ol_cnt"], count)
    lines = small.rows("order_line", ol_w_id=1)
    found = [(line["ol_number"], line["ol_i_id"], line["ol_quantity"], line["ol_amount"]) for line in lines]
    equal(found, list(zip(items, items, quantities, amounts, strict=True)))
    equal(sum(line["s_ytd"] for line in small.rows("stock")), sum(quantities))


@RULES.each_way()
def a_line_from_another_warehouse_is_remote(run: RuleRun, small: Small) -> None:
    """TPC-C 2.4.2.2: o_all_local is 0, and the supplying stock counts it."""
    run("new_order", 1, 1, 1, (1, 1), (1, 2), (1, 4))
    equal(small.row("orders", o_w_id=1)["o_all_local"], 0)
    near, far = small.row("stock", s_w_id=1, s_i_id=1), small.row("stock", s_w_id=2, s_i_id=1)
    equal((near["s_quantity"], near["s_remote_cnt"]), (49, 0))
    equal((far["s_quantity"], far["s_ytd"], far["s_order_cnt"], far["s_remote_cnt"]), (46, 4, 1, 1))
    equal(small.row("order_line", ol_number=2)["ol_dist_info"][:23], "warehouse 2 district 01")


@RULES.each_way(((1, 2, 100_001),), ((100_001,),), ((3, 3, 100_001),))
def an_unused_item_rolls_the_whole_order_back(run: RuleRun, small: Small, items: tuple[int, ...]) -> None:
    """TPC-C 2.4.2.3; the session goes on."""
    before = small.everything()
    raised(RolledBackByDesign, run, "new_order", 1, 1, 1, items, (1,) * len(items), (5,) * len(items))
    equal(small.everything(), before)
    equal(run("new_order", 1, 1, 1, (1,), (1,), (1,))[0], 3001)


@RULES.each_way()
def a_payment_gives_every_field_of_the_terminal(run: RuleRun, small: Small) -> None:
    """TPC-C 2.5.3.3."""
    row = run("payment", 1, 2, 2, 1, 2, None, Decimal("12.34"))
    street = ("1 Long Lane", "Flat 2", "Ely", "NY", "123411111")
    equal(row[:4], (2, "CARL", "OE", "ABLE"))
    equal(row[4:19], street * 3)
    equal(
        (row[19], row[20].day, *row[21:26]),
        (*("1234567890123456", 2, "GC", Decimal("50000.00"), Decimal("0.2000"), Decimal("-12.34"), None),),
    )
    true(row[26].year >= 2026, "the payment has the time of today")


@RULES.each_way()
def a_payment_moves_money_and_leaves_a_note(run: RuleRun, small: Small) -> None:
    """TPC-C 2.5.2.2."""
    run("payment", 1, 2, 2, 1, 2, None, Decimal("12.34"))
    equal(small.row("warehouse", w_id=1)["w_ytd"], Decimal("12.34"))
    equal(small.row("district", d_w_id=1, d_id=2)["d_ytd"], Decimal("12.34"))
    payer = small.row("customer", c_w_id=2, c_d_id=1, c_id=2)
    equal(
        (payer["c_balance"], payer["c_ytd_payment"], payer["c_payment_cnt"]), (Decimal("-12.34"), Decimal("12.34"), 1)
    )
    equal(payer["c_data"], "x" * 480)
    (note,) = small.rows("history")
    equal([note[name] for name in ("h_c_id", "h_c_d_id", "h_c_w_id", "h_d_id", "h_w_id")], [2, 1, 2, 2, 1])
    equal((note["h_amount"], note["h_data"]), (Decimal("12.34"), "WARE1    DIST2"))


@RULES.each_way()
def of_four_customers_with_one_name_the_second_is_meant(run: RuleRun, small: Small) -> None:
    """TPC-C 2.5.2.2: n/2 rounded up, by first name."""
    equal(run("payment", 1, 1, 1, 1, None, "ABLE", Decimal("1.00"))[0], NAMED)


@RULES.each_way()
def of_one_customer_with_a_name_he_is_meant(run: RuleRun, small: Small) -> None:
    """TPC-C 2.5.2.2."""
    equal(run("payment", 1, 1, 1, 1, None, "OUGHT", Decimal("1.00"))[0], BAD_CREDIT)


@RULES.each_way()
def bad_credit_is_written_into_the_customers_data(run: RuleRun, small: Small) -> None:
    """TPC-C 2.5.2.2: put in front, cut at 500; the terminal shows the first 200."""
    shown = run("payment", 1, 2, 2, 1, BAD_CREDIT, None, Decimal("12.34"))[25]
    data = small.row("customer", c_w_id=2, c_d_id=1, c_id=BAD_CREDIT)["c_data"]
    equal(data, ("5 1 2 2 1 12.34 | " + "x" * 480)[:500])
    equal(shown, data[:200])
    run("payment", 1, 1, 2, 1, BAD_CREDIT, None, Decimal("7.00"))
    again = small.row("customer", c_w_id=2, c_d_id=1, c_id=BAD_CREDIT)["c_data"]
    equal(again, ("5 1 2 1 1 7.00 | " + data)[:500])


@RULES.each_way()
def order_status_shows_the_last_order_of_the_customer(run: RuleRun, small: Small) -> None:
    """TPC-C 2.6.2.2."""
    run("new_order", 1, 1, NAMED, (1,), (1,), (1,))
    run("new_order", 1, 1, NAMED, (2, 9), (1, 2), (3, 4))
    run("new_order", 1, 1, 2, (5,), (1,), (1,))
    row = run("order_status", 1, 1, None, "ABLE")
    equal(row[:6], (NAMED, "BERT", "OE", "ABLE", Decimal(0), 3002))
    equal(row[7:], (None, (2, 9), (1, 2), (3, 4), (Decimal("6.75"), Decimal("37.00")), (None, None)))
    equal(run("order_status", 1, 1, 2, None)[5], 3003)


@RULES.each_way()
def a_delivery_takes_the_oldest_order_of_each_district(run: RuleRun, small: Small) -> None:
    """TPC-C 2.7.4.2; districts without a new order are left out."""
    run("new_order", 1, 1, 1, (2,), (1,), (4,))
    run("new_order", 1, 1, 2, (1,), (1,), (1,))
    run("new_order", 1, 2, 3, (4, 4), (1, 1), (1, 1))
    equal(run("delivery", 1, 6), ((1, 2), (3001, 3001)))
    equal(small.content("new_order"), [(3002, 1, 1)])
    equal(small.row("orders", o_d_id=1, o_id=3001)["o_carrier_id"], 6)
    equal(small.row("orders", o_d_id=1, o_id=3002)["o_carrier_id"], None)
    equal([line["ol_delivery_d"] is not None for line in small.rows("order_line")], [True, False, True, True])
    first, second = (
        small.row("customer", c_w_id=1, c_d_id=1, c_id=1),
        small.row("customer", c_w_id=1, c_d_id=2, c_id=3),
    )
    equal((first["c_balance"], first["c_delivery_cnt"]), (Decimal("9.00"), 1))
    equal((second["c_balance"], second["c_delivery_cnt"]), (Decimal("8.50"), 1))
    equal(run("delivery", 1, 7), ((1,), (3002,)))
    equal(run("delivery", 1, 8), ((), ()))


@RULES.each_way()
def stock_level_counts_low_items_of_the_last_twenty_orders_once(run: RuleRun, small: Small) -> None:
    """TPC-C 2.8.2.2: items 1 to 3 were ordered (3 too long ago), 1 twice."""
    run("new_order", 1, 1, 1, (3,), (1,), (10,))
    for _ in range(18):
        run("new_order", 1, 1, 1, (10,), (1,), (1,))
    run("new_order", 1, 1, 1, (1, 2), (1, 1), (10, 5))
    run("new_order", 1, 1, 1, (1,), (1,), (1,))
    equal(run("stock_level", 1, 1, 40), (2,))  # 1 has 39 left, 10 has 32, 2 has 45, 3 has 40
    equal(run("stock_level", 1, 1, 46), (3,))
    equal(run("stock_level", 1, 2, 100), (0,))


@RULES.alone(Capability.STORED_ROUTINES, Capability.CLIENT_ROUTINES, by_sql=False)
def stored_and_client_routines_do_the_same(bench: Bench, session: SqlSession) -> None:
    """The same inputs give the same rows and leave the same tables, but for the time."""
    done = {}
    for way in WAYS:
        session = bench.emptied()
        fill(session)
        rows = _some_of_each(runner(way, session))
        done[way] = timeless(rows), Small(session).everything()
    equal(done[STORED], done[CLIENT_WORK])


def _some_of_each(run: RuleRun) -> list[tuple[Any, ...]]:
    orders = [
        run("new_order", 1, 1, 3, (7, 8, 7, 4), (1, 2, 1, 1), (2, 1, 5, 9)),
        run("new_order", 2, 2, 4, (5, 3), (2, 2), (10, 10)),
        run("new_order", 1, 1, 2, (20, 7, 7, 7), (1, 1, 1, 2), (10, 10, 10, 10)),
    ]
    payments = [
        run("payment", 1, 1, 2, 2, 4, None, Decimal("3.21")),
        run("payment", 1, 2, 1, 1, None, "ABLE", Decimal("4999.99")),
        run("payment", 2, 2, 1, 1, None, "OUGHT", Decimal("1.00")),
    ]
    deliveries = [run("delivery", 1, 9), run("delivery", 2, 3)]
    return [*orders, *payments, *deliveries, run("order_status", 1, 1, 3, None), run("stock_level", 1, 1, 49)]


@RULES.each_way()
def a_hot_item_is_counted_beyond_32767_orders(run: RuleRun, small: Small) -> None:
    """The hottest item of NURand(8191) is in 0.2 % of all lines: hours of load must not overflow its counters."""
    session = small.session
    session.begin()
    loaded(session, "item", [item(21)])
    loaded(session, "stock", [{**stock(1, 21), "s_order_cnt": 32_767, "s_remote_cnt": 32_767}])
    session.commit()
    run("new_order", 2, 1, 1, (21,), (1,), (1,))
    kept = small.row("stock", s_w_id=1, s_i_id=21)
    equal((kept["s_order_cnt"], kept["s_remote_cnt"]), (32_768, 32_768))
