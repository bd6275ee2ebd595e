"""The population against TPC-C 4.3.3.1: row counts, and the content of each column."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from functools import cache

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv

from hdbkit.config.specs.tproc_c import TprocCSpec
from hdbkit.errors import InputError
from hdbkit.workloads import workload
from hdbkit.workloads.tproc_c.inputs import LAST_NAMES, Constants
from hdbkit.workloads.tproc_c.tables import TPROC_C_TABLES, WAREHOUSE_TABLES

SPEC = TprocCSpec(warehouses=3, seed=7)
W_ID = 2


@cache
def text(name: str, seed: int = SPEC.seed, w_id: int = W_ID) -> bytes:
    """A table of one warehouse as text."""
    spec = SPEC.with_(seed=seed)
    key = "item" if name == "item" else f"warehouse-{w_id}"
    return next(b"".join(load.chunks) for load in workload(spec).part(key) if load.table.name == name)


class Columns(dict[str, list[str]]):
    """The columns of a table by name, each as the texts of its rows; made when it is asked for."""

    def __init__(self, name: str) -> None:
        content, columns = text(name), TPROC_C_TABLES[name].columns
        assert content.isascii()
        self._rows = csv.read_csv(
            pa.BufferReader(content),
            csv.ReadOptions(column_names=columns),
            csv.ParseOptions(delimiter="\t", quote_char=False, escape_char=False),
            csv.ConvertOptions(column_types=dict.fromkeys(columns, pa.string()), strings_can_be_null=False),
        )

    def __missing__(self, column: str) -> list[str]:
        self[column] = self._rows.column(column).to_pylist()
        return self[column]


@cache
def table(name: str) -> Columns:
    """A table of one warehouse by column."""
    return Columns(name)


def numbers(name: str, column: str) -> np.ndarray:
    return np.array([float(value) for value in table(name)[column]])


def whole(name: str, column: str) -> np.ndarray:
    return np.array([int(value) for value in table(name)[column]])


ROWS = {
    "item": 100_000,
    "warehouse": 1,
    "district": 10,
    "stock": 100_000,
    "customer": 30_000,
    "history": 30_000,
    "orders": 30_000,
    "new_order": 9_000,
}


@pytest.mark.parametrize("name", ROWS)
def test_each_table_has_the_rows_of_clause_4_3_3_1(name: str) -> None:
    assert text(name).count(b"\n") == ROWS[name]


@pytest.mark.parametrize("name", TPROC_C_TABLES)
def test_every_row_has_every_column_and_no_padding(name: str) -> None:
    content = text(name)
    assert content.endswith(b"\n")
    assert b"\0" not in content
    assert {line.count(b"\t") for line in content.splitlines()} == {len(TPROC_C_TABLES[name].columns) - 1}


@pytest.mark.parametrize("name", WAREHOUSE_TABLES)
def test_every_row_of_a_part_belongs_to_its_warehouse(name: str) -> None:
    for column in TPROC_C_TABLES[name].columns:
        if column.endswith("w_id"):
            assert set(table(name)[column]) == {str(W_ID)}


STRINGS = [
    ("item", "i_name", 14, 24),
    ("item", "i_data", 26, 50),
    ("stock", "s_data", 26, 50),
    *(("stock", f"s_dist_{d:02d}", 24, 24) for d in range(1, 11)),
    ("customer", "c_first", 8, 16),
    ("customer", "c_street_1", 10, 20),
    ("customer", "c_street_2", 10, 20),
    ("customer", "c_city", 10, 20),
    ("customer", "c_state", 2, 2),
    ("customer", "c_data", 300, 500),
    ("history", "h_data", 12, 24),
    ("order_line", "ol_dist_info", 24, 24),
]


@pytest.mark.parametrize(("name", "column", "shortest", "longest"), STRINGS)
def test_random_strings_are_alphanumeric_and_of_every_length(
    name: str, column: str, shortest: int, longest: int
) -> None:
    values = table(name)[column]
    assert {len(value) for value in values} == set(range(shortest, longest + 1))
    assert all(value.isalnum() for value in values)


NUMBERS = [
    ("item", "i_im_id", 1, 10_000, 1),
    ("item", "i_price", 1, 100, 0.01),
    ("stock", "s_quantity", 10, 100, 1),
    ("customer", "c_discount", 0, 0.5, 0.0001),
    ("orders", "o_ol_cnt", 5, 15, 1),
    ("order_line", "ol_i_id", 1, 100_000, 1),
]


@pytest.mark.parametrize(("name", "column", "least", "most", "step"), NUMBERS)
def test_random_numbers_fill_their_range_evenly(
    name: str, column: str, least: float, most: float, step: float
) -> None:
    values = numbers(name, column)
    width = most - least
    assert least <= values.min() < least + width / 500 + step
    assert most - width / 500 - step < values.max() <= most
    assert values.mean() == pytest.approx((least + most) / 2, abs=width * 0.01)
    assert values.std() == pytest.approx((width + step) / 12**0.5, rel=0.02)


FIXED = [
    ("warehouse", "w_ytd", "300000.00"),
    ("district", "d_ytd", "30000.00"),
    ("district", "d_next_o_id", "3001"),
    ("stock", "s_ytd", "0"),
    ("stock", "s_order_cnt", "0"),
    ("stock", "s_remote_cnt", "0"),
    ("customer", "c_middle", "OE"),
    ("customer", "c_credit_lim", "50000.00"),
    ("customer", "c_balance", "-10.00"),
    ("customer", "c_ytd_payment", "10.00"),
    ("customer", "c_payment_cnt", "1"),
    ("customer", "c_delivery_cnt", "0"),
    ("history", "h_amount", "10.00"),
    ("orders", "o_all_local", "1"),
    ("order_line", "ol_quantity", "5"),
]


@pytest.mark.parametrize(("name", "column", "value"), FIXED)
def test_columns_that_begin_equal(name: str, column: str, value: str) -> None:
    assert set(table(name)[column]) == {value}


@pytest.mark.parametrize(("name", "column"), [("warehouse", "w_tax"), ("district", "d_tax")])
def test_taxes_are_at_most_a_fifth(name: str, column: str) -> None:
    assert all(re.fullmatch(r"0\.[01]\d{3}|0\.2000", value) for value in table(name)[column])


@pytest.mark.parametrize(("name", "column"), [("warehouse", "w_zip"), ("district", "d_zip"), ("customer", "c_zip")])
def test_zip_codes_are_four_random_digits_and_11111(name: str, column: str) -> None:
    """TPC-C 4.3.2.7."""
    assert all(re.fullmatch(r"\d{4}11111", value) for value in table(name)[column])


def test_phone_numbers_have_16_digits() -> None:
    assert all(re.fullmatch(r"\d{16}", value) for value in table("customer")["c_phone"])
    assert len(set(table("customer")["c_phone"])) == 30_000


@pytest.mark.parametrize(("name", "column"), [("item", "i_data"), ("stock", "s_data")])
def test_one_in_ten_is_original_at_a_random_place(name: str, column: str) -> None:
    places = [value.find("ORIGINAL") for value in table(name)[column]]
    found = [place for place in places if place >= 0]
    assert len(found) == pytest.approx(10_000, rel=0.05)
    assert min(found) == 0
    assert max(found) == 50 - len("ORIGINAL")


@pytest.mark.parametrize(("name", "column", "count"), [("item", "i_id", 100_000), ("stock", "s_i_id", 100_000)])
def test_every_item_is_there_once(name: str, column: str, count: int) -> None:
    assert np.array_equal(whole(name, column), np.arange(1, count + 1))


def test_last_names_are_sequential_then_skewed() -> None:
    """TPC-C 4.3.3.1: the first thousand customers of a district have the names 0 to 999 in their order."""
    by_district = np.array(table("customer")["c_last"]).reshape(10, 3000)
    assert by_district[:, :1000].tolist() == [list(LAST_NAMES)] * 10
    counts = Counter(by_district[:, 1000:].ravel().tolist())
    assert len(counts) > 900
    assert max(counts.values()) > 3 * 20_000 / 1_000


def test_one_customer_in_ten_has_bad_credit() -> None:
    counts = Counter(table("customer")["c_credit"])
    assert set(counts) == {"GC", "BC"}
    assert counts["BC"] == pytest.approx(3_000, rel=0.05)


def test_customers_and_their_history_are_the_same_people() -> None:
    customers, history = table("customer"), table("history")
    people = list(zip(customers["c_d_id"], customers["c_id"], strict=True))
    assert people == [(str(d), str(c)) for d in range(1, 11) for c in range(1, 3001)]
    assert people == list(zip(history["h_c_d_id"], history["h_c_id"], strict=True))
    assert history["h_d_id"] == history["h_c_d_id"]


def test_every_customer_of_a_district_has_one_order_in_random_order() -> None:
    customers = whole("orders", "o_c_id").reshape(10, 3000)
    assert (np.sort(customers, axis=1) == np.arange(1, 3001)).all()
    assert len({tuple(district[:5]) for district in customers.tolist()}) == 10


def test_orders_before_2101_are_delivered() -> None:
    orders = table("orders")
    carriers = [carrier for o, carrier in zip(orders["o_id"], orders["o_carrier_id"], strict=True) if int(o) < 2101]
    assert set(carriers) == {str(c) for c in range(1, 11)}
    assert orders["o_carrier_id"].count("\\N") == 9_000


def test_the_last_900_orders_of_a_district_are_new() -> None:
    new = table("new_order")
    found = list(zip(map(int, new["no_d_id"]), map(int, new["no_o_id"]), strict=True))
    assert found == [(d, o) for d in range(1, 11) for o in range(2101, 3001)]


def test_each_order_has_as_many_lines_as_it_says() -> None:
    orders, lines = table("orders"), table("order_line")
    wanted = [
        (d, o, str(number))
        for d, o, count in zip(orders["o_d_id"], orders["o_id"], orders["o_ol_cnt"], strict=True)
        for number in range(1, int(count) + 1)
    ]
    assert wanted == list(zip(lines["ol_d_id"], lines["ol_o_id"], lines["ol_number"], strict=True))


def test_delivered_lines_cost_nothing_and_have_the_order_s_date() -> None:
    lines, amounts, delivered = (
        table("order_line"),
        numbers("order_line", "ol_amount"),
        whole("order_line", "ol_o_id"),
    )
    delivered = delivered < 2101
    dates = np.array(lines["ol_delivery_d"])
    assert (amounts[delivered] == 0).all()
    assert set(dates[delivered]) == set(table("orders")["o_entry_d"])
    assert set(dates[~delivered]) == {"\\N"}
    assert amounts[~delivered].min() < 1
    assert amounts[~delivered].max() > 9_999
    assert amounts[~delivered].mean() == pytest.approx(5_000, rel=0.02)


def test_the_expected_rows_and_sizes_of_parts_are_near_the_true_ones() -> None:
    parts = {part.key: part for part in workload(SPEC).parts()}
    assert list(parts) == ["item", "warehouse-1", "warehouse-2", "warehouse-3"]
    content = [text(name) for name in WAREHOUSE_TABLES]
    assert parts["warehouse-2"].rows == pytest.approx(sum(one.count(b"\n") for one in content), rel=0.01)
    assert parts["warehouse-2"].size_bytes == pytest.approx(sum(map(len, content)), rel=0.01)
    assert parts["item"].size_bytes == pytest.approx(len(text("item")), rel=0.01)


@pytest.mark.parametrize("key", ["warehouse-0", "warehouse-4", "warehouse-", "stock", "warehouse-²"])
def test_a_part_that_is_not_of_this_population_is_refused(key: str) -> None:
    with pytest.raises(InputError, match="no part"):
        list(workload(SPEC).part(key))


def checksum(spec: TprocCSpec, w_id: int) -> str:
    content = hashlib.sha256()
    for load in workload(spec).part(f"warehouse-{w_id}"):
        for chunk in load.chunks:
            content.update(chunk)
    return content.hexdigest()


def test_any_warehouse_can_be_made_by_itself_and_again() -> None:
    alone = TprocCSpec(warehouses=50, seed=7)
    assert checksum(SPEC, 3) == checksum(alone, 3)


def test_seeds_and_warehouses_differ() -> None:
    sums = {text("stock", seed, w)[len("1\t1\t") :][:400] for seed in (SPEC.seed, 8) for w in (1, 2)}
    assert len(sums) == 4


def test_a_population_is_the_one_that_was_published() -> None:
    """A change of this sum makes every schema that was built before another one: raise the version then."""
    assert checksum(TprocCSpec(warehouses=1, seed=1), 1)[:16] == "782470aadcf764b8"


def test_constants_of_load_and_run_differ_as_clause_2_1_6_1_wants() -> None:
    for seed in range(300):
        constants = Constants.of(seed, seed % 7)
        assert Constants.of(seed, seed % 7) is constants, "a login for each operation does not derive them again"
        delta = abs(constants.last - constants.last_of_load)
        assert 65 <= delta <= 119
        assert delta not in (96, 112)
        assert 0 <= constants.last <= 255
        assert 0 <= constants.last_of_load <= 255
        assert 0 <= constants.customer <= 1023
        assert 0 <= constants.item <= 8191


def test_the_population_has_the_constant_of_the_load() -> None:
    """NURand(255, 0, 999) favours numbers with many ones; taking C away again shows them."""
    numbers_of = {name: number for number, name in enumerate(LAST_NAMES)}
    names = np.array(table("customer")["c_last"]).reshape(10, 3000)[:, 1000:].ravel()
    drawn = np.array([numbers_of[name] for name in names.tolist()])

    def ones(constant: int) -> float:
        """How often the low eight bits of what was drawn are all set."""
        return float((((drawn - constant) % 1000) & 255 == 255).mean())

    load = Constants.of(SPEC.seed, 0).last_of_load
    assert max(range(256), key=ones) == load
