"""What TPROC-C asks of an engine by name: its tables, its five transactions, its counts and its conditions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from hdbkit.config.specs.tproc_c import TRANSACTIONS
from hdbkit.contracts import Capability, Operation
from hdbkit.workloads.tproc_c.consistency import CONDITIONS, INDEXES
from hdbkit.workloads.tproc_c.tables import TPROC_C_TABLES

_SQL: Final = frozenset({Capability.SQL})
_STORED: Final = frozenset({Capability.STORED_ROUTINES, Capability.TABLES})
_CLIENT: Final = frozenset({Capability.CLIENT_ROUTINES, Capability.SQL})
_OPTIMISTIC: Final = frozenset({Capability.CLIENT_ROUTINES, Capability.OPTIMISTIC})
_TABLES: Final = frozenset({Capability.TABLES})
# Stock is locked in the order of a new order's lines, which its callers give by (supplying warehouse, item).
_INPUTS: Final[Mapping[str, tuple[str, ...]]] = {
    "new_order": ("w_id", "d_id", "c_id", "item_ids", "supply_w_ids", "quantities"),
    "payment": ("w_id", "d_id", "c_w_id", "c_d_id", "c_id", "c_last", "h_amount"),
    "order_status": ("w_id", "d_id", "c_id", "c_last"),
    "delivery": ("w_id", "o_carrier_id"),
    "stock_level": ("w_id", "d_id", "threshold"),
}
_CUSTOMER: Final = (
    *("c_street_1", "c_street_2", "c_city", "c_state", "c_zip"),
    *("c_phone", "c_since", "c_credit", "c_credit_lim", "c_discount", "c_balance", "data shown"),
)
_PLACES: Final = (
    *("w_street_1", "w_street_2", "w_city", "w_state", "w_zip"),
    *("d_street_1", "d_street_2", "d_city", "d_state", "d_zip"),
)
_ANSWERS: Final[Mapping[str, tuple[str, ...]]] = {
    "new_order": (
        *("o_id", "o_entry_d", "w_tax", "d_tax", "c_discount", "c_last", "c_credit", "total"),
        *("item names", "quantities left", "brands", "prices", "amounts"),
    ),
    "payment": ("c_id", "c_first", "c_middle", "c_last", *_PLACES, *_CUSTOMER, "h_date"),
    "order_status": (
        *("c_id", "c_first", "c_middle", "c_last", "c_balance", "o_id", "o_entry_d", "o_carrier_id"),
        *("item ids", "supplying warehouses", "quantities", "amounts", "delivery times"),
    ),
    "delivery": ("district ids", "order ids"),
    "stock_level": ("low items",),
}
_DISTRICT: Final = ("w_id", "d_id")
_ORDER: Final = (*_DISTRICT, "o_id")
_STEPS: Final = (
    # name, purpose, parameters, columns
    ("number_order", "take the next order number of a district", _DISTRICT, ()),
    (
        "select_order_number",
        "the number just taken, and the columns of the order's heading",
        ("c_id", *_DISTRICT),
        ("o_id", "time", "w_tax", "d_tax", "c_discount", "c_last", "c_credit"),
    ),
    (
        "select_item",
        "an item, and the constant columns of its stock; no row for the unused item",
        ("d_id", "i_id", "supply_w_id"),
        ("i_name", "i_price", "i_data", "s_data", "s_dist"),
    ),
    ("insert_order", "insert an order", (*_ORDER, "c_id", "o_entry_d", "o_ol_cnt", "o_all_local"), ()),
    ("insert_new_order", "queue the order for delivery", _ORDER, ()),
    (
        "update_stock",
        "take a quantity from the stock and count it; returns what is left if the session returns changed rows",
        ("quantity", "remote", "supply_w_id", "i_id"),
        ("s_quantity",),
    ),
    ("select_quantity", "the quantity that is left", ("supply_w_id", "i_id"), ("s_quantity",)),
    (
        "insert_order_line",
        "insert a line of an order",
        (*_ORDER, "number", "i_id", "supply_w_id", "quantity", "amount", "dist_info"),
        (),
    ),
    ("select_named", "the customers with a last name, by first name", (*_DISTRICT, "c_last"), ("c_id",)),
    (
        "update_payer",
        "book a payment of a customer; with bad credit, put the note before its data, cut at 500 characters; returns "
        "what select_payer does if the session returns changed rows",
        ("h_amount", "note", *_DISTRICT, "c_id"),
        ("c_id", "c_first", "c_middle", "c_last", *_CUSTOMER),
    ),
    (
        "select_payer",
        "the customer of a payment; the first 200 characters of its data with bad credit, else null",
        (*_DISTRICT, "c_id"),
        ("c_id", "c_first", "c_middle", "c_last", *_CUSTOMER),
    ),
    ("update_district_ytd", "add a payment to a district", ("h_amount", *_DISTRICT), ()),
    ("update_warehouse_ytd", "add a payment to a warehouse", ("h_amount", "w_id"), ()),
    ("select_addresses", "the addresses of warehouse and district, and the time", _DISTRICT, (*_PLACES, "time")),
    (
        "insert_history",
        "insert a payment; its text has the names of warehouse and district",
        ("c_id", "c_d_id", "c_w_id", "h_amount", *_DISTRICT),
        (),
    ),
    (
        "select_last_order",
        "a customer and the heading of its last order",
        (*_DISTRICT, "c_id"),
        _ANSWERS["order_status"][:8],
    ),
    (
        "select_lines",
        "the lines of an order",
        _ORDER,
        ("ol_i_id", "ol_supply_w_id", "ol_quantity", "ol_amount", "ol_delivery_d"),
    ),
    ("lock_deliveries", "wait until no other delivery of the warehouse runs", ("w_id",), ()),
    ("select_oldest", "the oldest new order of a district", _DISTRICT, ("o_id", "c_id", "amount")),
    ("delete_new_order", "take an order from the queue", _ORDER, ()),
    ("update_carrier", "enter the carrier of an order", ("o_carrier_id", *_ORDER), ()),
    ("update_lines", "enter the delivery time of an order's lines", _ORDER, ()),
    ("update_receiver", "add a delivered amount to a customer", ("amount", *_DISTRICT, "c_id"), ()),
    (
        "count_low_stock",
        "the items of the last 20 orders whose stock is below a threshold",
        (*_DISTRICT, "threshold"),
        ("low items",),
    ),
)


_OPTIMISTIC_STEPS: Final = (
    # name, purpose, parameters, columns
    ("read_time", "the time", (), ("seconds since 1970", "microseconds")),
    (
        "read_heading",
        "the next order number of a district, and the columns of the order's heading; watches new orders",
        (*_DISTRICT, "c_id"),
        ("w_tax", "d_tax", "d_next_o_id", "c_discount", "c_last", "c_credit"),
    ),
    (
        "read_stock",
        "an item and its stock in a warehouse, with the text for a district, of two digits; no row for the unused "
        "item; watches the stock",
        ("i_id", "w_id", "district"),
        (
            *("i_name", "i_price", "i_data"),
            *("s_quantity", "s_ytd", "s_order_cnt", "s_remote_cnt", "s_data", "s_dist"),
        ),
    ),
    (
        "write_stock",
        "set the counts of a stock",
        ("i_id", "w_id", "s_quantity", "s_ytd", "s_order_cnt", "s_remote_cnt"),
        (),
    ),
    (
        "write_order",
        "take the next order number of a district, insert the order and queue it for delivery",
        (*_ORDER, "c_id", "o_entry_d", "o_ol_cnt", "o_all_local"),
        (),
    ),
    (
        "write_line",
        "insert or replace a line of an order",
        (*_ORDER, "number", "i_id", "supply_w_id", "delivery_d", "quantity", "amount", "dist_info"),
        (),
    ),
    ("read_named", "the customers with a last name, by first name", (*_DISTRICT, "c_last"), ("c_id",)),
    (
        "read_payer",
        "the customer of a payment; watches it",
        (*_DISTRICT, "c_id"),
        ("c_first", "c_middle", "c_last", *_CUSTOMER[:-1], "c_data"),
    ),
    (
        "read_addresses",
        "the names and addresses of warehouse and district",
        _DISTRICT,
        ("w_name", "d_name", *_PLACES),
    ),
    ("write_payer", "book a payment of a customer", (*_DISTRICT, "c_id", "h_amount"), ()),
    ("write_payer_data", "replace the data of a customer", (*_DISTRICT, "c_id", "c_data"), ()),
    (
        "write_payment",
        "insert a payment, and add it to district and warehouse",
        (*_DISTRICT, "c_w_id", "c_d_id", "c_id", "h_date", "h_amount", "h_data"),
        (),
    ),
    (
        "read_last_order",
        "a customer and the number of its last order; watches the deliveries of the customer's orders",
        (*_DISTRICT, "c_id"),
        ("c_first", "c_middle", "c_last", "c_balance", "o_id"),
    ),
    (
        "read_order",
        "the heading of an order",
        _ORDER,
        ("c_id", "o_entry_d", "o_carrier_id", "o_ol_cnt", "o_all_local"),
    ),
    (
        "read_lines",
        "the lines of an order, by number",
        _ORDER,
        ("i_id", "supply_w_id", "delivery_d", "quantity", "amount", "dist_info"),
    ),
    ("watch_deliveries", "watch the deliveries of a warehouse", ("w_id",), ()),
    ("read_oldest", "the oldest new order of a district; no row if it has none", _DISTRICT, ("o_id",)),
    (
        "write_delivered",
        "take an order from the queue, enter its carrier, and add its amount to the customer",
        (*_ORDER, "c_id", "o_entry_d", "o_carrier_id", "o_ol_cnt", "o_all_local", "amount"),
        (),
    ),
    ("write_delivery", "let other deliveries of the warehouse notice this one", ("w_id",), ()),
    ("read_next_order", "the next order number of a district", _DISTRICT, ("d_next_o_id",)),
    ("read_quantity", "the quantity of a stock", ("w_id", "i_id"), ("s_quantity",)),
)


def _tables() -> Iterator[Operation]:
    for table in TPROC_C_TABLES:
        yield Operation(f"create_{table}", f"create the table {table}", needs=_SQL)
    for name in INDEXES:
        yield Operation(f"index_{name}", f"create the index {name}, after the load", needs=_SQL)
    yield Operation(
        "key_history",
        "add a primary key to the table history",
        needs=_SQL,
        without="the option history_key does nothing",
    )
    for name, words in (("history", ()), ("history_partitioned", ("partitions",))):
        yield Operation(
            f"create_{name}_keyed",
            "create the table history with a primary key",
            words,
            needs=_SQL,
            without="the option history_key adds the key to the table that is there",
        )
    no_partitions = "the option partitions leaves this table in one piece"
    for name in ("history", "order_line", "orders"):
        yield Operation(
            f"create_{name}_partitioned",
            f"create the table {name} in partitions",
            ("partitions",),
            needs=_SQL,
            without=no_partitions,
        )
    yield Operation(
        "create_order_line_partition",
        "create one partition, where create_order_line_partitioned does not",
        ("number", "partitions"),
        needs=_SQL,
        without="create_order_line_partitioned must create the partitions",
    )


def _transactions() -> Iterator[Operation]:
    for name in TRANSACTIONS:
        spoken = name.replace("_", " ")
        routine = frozenset({Capability.STORED_ROUTINES, Capability.SQL})
        yield Operation(f"create_routine_{name}", f"create the stored routine {name}", needs=routine)
        yield Operation(f"drop_routine_{name}", f"drop the stored routine {name}", needs=routine)
        yield Operation(
            f"call_{name}", f"one {spoken} as a whole", _INPUTS[name], _ANSWERS[name], needs=_STORED, in_order=True
        )
    for steps, needs in ((_STEPS, _CLIENT), (_OPTIMISTIC_STEPS, _OPTIMISTIC)):
        for name, purpose, parameters, columns in steps:
            yield Operation(f"client_{name}", purpose, parameters, columns, needs=needs, in_order=True)
    yield Operation(
        "client_insert_order_lines",
        "insert all lines of an order, where a session takes arrays",
        (*_ORDER, "numbers", "i_ids", "supply_w_ids", "quantities", "amounts", "dist_infos"),
        needs=_CLIENT,
        without="each line is inserted by its own statement",
        in_order=True,
    )


def _counts() -> Iterator[Operation]:
    for table in TPROC_C_TABLES:
        yield Operation(f"count_{table}", f"the rows of {table}", columns=("rows",), needs=_TABLES)
        yield Operation(
            f"content_{table}",
            f"every row of {table} in the order of its key, for tests of engines",
            columns=TPROC_C_TABLES[table].columns,
            needs=_TABLES,
        )
    yield Operation("count_new_orders", "the total of new orders, by the schema's order numbers", columns=("orders",))
    yield Operation(
        "last_order_ids", "the last order number of each district", columns=("w_id", "d_id", "o_id"), needs=_TABLES
    )
    for number, meaning in CONDITIONS.items():
        yield Operation(
            f"consistency_{number:02d}",
            f"the number of violations of condition {number} (TPC-C 3.3.2.{number}): {meaning}",
            ("w_low", "w_high"),
            ("violations",),
            needs=_TABLES,
        )
    yield Operation(
        "keys",
        "what each script begins with, on an engine whose operations are scripts",
        needs=_TABLES,
        without="its scripts share no text",
    )
    yield Operation(
        "consistency_stock",
        "the number of stocks that do not match the lines since the build",
        columns=("violations",),
        needs=_TABLES,
    )


def _of_hammerdb() -> Iterator[Operation]:
    without = "a schema that HammerDB built cannot be run"
    inputs = {
        "new_order": ("w_id", "max_w_id", "d_id", "c_id", "ol_cnt"),
        "payment": ("w_id", "d_id", "c_w_id", "c_d_id", "byname", "amount", "c_last", "c_id"),
        "order_status": ("w_id", "d_id", "c_id", "byname", "c_last"),
        "delivery": ("w_id", "carrier_id"),
        "stock_level": ("w_id", "d_id", "threshold"),
    }
    for name in TRANSACTIONS:
        purpose = f"call HammerDB's routine for {name.replace('_', ' ')}, by the kind of its routines"
        yield Operation(f"call_{name}_<kind>", purpose, inputs[name], needs=_STORED, without=without, in_order=True)
    yield Operation(
        "list_routines",
        "HammerDB's routines and their kinds",
        columns=("name", "kind"),
        needs=_STORED,
        without=without,
    )
    yield Operation("list_tables", "HammerDB's tables", columns=("name",), needs=_SQL, without=without)
    yield Operation("list_keys", "the tables that have keys", columns=("table",), needs=_SQL, without=without)
    yield Operation(
        "silent_after_ms",
        "how long a call takes at least that a deadlock rolled back",
        columns=("milliseconds",),
        needs=_STORED,
        without="a silent rollback of HammerDB's procedures is not noticed",
    )
    yield Operation(
        "count_order",
        "whether an order was committed",
        ("w_id", "d_id", "o_id", "c_id"),
        ("orders",),
        needs=_STORED,
        without="a silent rollback of HammerDB's procedures is not noticed",
    )


CONTRACTS: Final[Mapping[str, tuple[Operation, ...]]] = {
    "tproc_c": (*_tables(), *_transactions(), *_counts()),
    "tproc_c.hammerdb": tuple(_of_hammerdb()),
}
"""What it asks, by folder of ``schemas/<engine>``."""
