"""What TPROC-H asks of an engine by name: its tables, its indexes, its 22 queries and its counts."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from typing import Final

from hdbkit.config.specs.tproc_h import QUERIES
from hdbkit.contracts import Capability, Operation
from hdbkit.workloads.tproc_h.streams import drawn
from hdbkit.workloads.tproc_h.tables import SUMMED, TPROC_H_TABLES

_SQL: Final = frozenset({Capability.SQL})
_INDEXES: Final = (
    *(f"{table}_pk" for table in TPROC_H_TABLES),
    *("nation_by_region", "supplier_by_nation", "customer_by_nation", "partsupp_by_supplier"),
    *("orders_by_customer", "lineitem_by_part", "lineitem_by_shipdate", "partsupp_by_part", "lineitem_by_order"),
)
_KEYS: Final = ("first_key", "last_key")
_ANSWERS: Final[Mapping[str, str]] = {
    "q01": "l_returnflag l_linestatus sum_qty sum_base_price sum_disc_price sum_charge avg_qty avg_price avg_disc "
    "count_order",
    "q02": "s_acctbal s_name n_name p_partkey p_mfgr s_address s_phone s_comment",
    "q03": "l_orderkey revenue o_orderdate o_shippriority",
    "q04": "o_orderpriority order_count",
    "q05": "n_name revenue",
    "q06": "revenue",
    "q07": "supp_nation cust_nation l_year revenue",
    "q08": "o_year mkt_share",
    "q09": "nation o_year sum_profit",
    "q10": "c_custkey c_name revenue c_acctbal n_name c_address c_phone c_comment",
    "q11": "ps_partkey value",
    "q12": "l_shipmode high_line_count low_line_count",
    "q13": "c_count custdist",
    "q14": "promo_revenue",
    "q15": "s_suppkey s_name s_address s_phone total_revenue",
    "q16": "p_brand p_type p_size supplier_cnt",
    "q17": "avg_yearly",
    "q18": "c_name c_custkey o_orderkey o_orderdate o_totalprice quantity",
    "q19": "revenue",
    "q20": "s_name s_address",
    "q21": "s_name numwait",
    "q22": "country numcust totacctbal",
}


def _operations() -> Iterator[Operation]:
    for table in TPROC_H_TABLES:
        yield Operation(f"create_{table}", f"create the table {table}", needs=_SQL)
        yield Operation(f"count_{table}", f"the rows of {table}", columns=("rows",), needs=_SQL)
        yield Operation(
            f"read_{table}", f"the rows of a run of keys of {table}", _KEYS, TPROC_H_TABLES[table].columns, needs=_SQL
        )
    for table, columns in SUMMED.items():
        yield Operation(f"sum_{table}", f"the sums of the decimals of {table}", columns=columns, needs=_SQL)
    for table in ("orders", "lineitem"):
        yield Operation(
            f"create_{table}_partitioned",
            f"create the table {table} in partitions",
            ("partitions",),
            needs=_SQL,
            without="the option partitions leaves this table in one piece",
        )
        yield Operation(
            f"create_{table}_partition",
            f"create one partition, where create_{table}_partitioned does not",
            ("number", "partitions"),
            needs=_SQL,
            without=f"create_{table}_partitioned must create the partitions",
        )
    for name in _INDEXES:
        yield Operation(f"index_{name}", f"create the index {name}, after the load", needs=_SQL)
    for name in QUERIES:
        given = tuple(drawn(name, random.Random(0), 1.0))
        columns = tuple(_ANSWERS[name].split())
        yield Operation(name, f"query {int(name[1:])} (TPC-H 2.4.{int(name[1:])})", given, columns, needs=_SQL)
    for table in ("orders", "lines"):
        yield Operation(f"delete_refreshed_{table}", f"delete the {table} of a run of keys (RF2)", _KEYS, needs=_SQL)
    yield Operation("count_refreshed_orders", "the orders of a run of keys", _KEYS, columns=("orders",), needs=_SQL)
    yield Operation("count_new_orders", "the orders that refresh functions inserted", columns=("orders",), needs=_SQL)
    yield Operation(
        "broken_orders",
        "the number of orders in a run of keys whose total is not the sum of their lines",
        _KEYS,
        columns=("orders",),
        needs=_SQL,
    )


def _of_hammerdb() -> Iterator[Operation]:
    without = "schemas that HammerDB made cannot be run"
    yield Operation("list_tables", "HammerDB's tables", columns=("name",), needs=_SQL, without=without)
    yield Operation("list_keys", "the tables that have keys", columns=("table",), needs=_SQL, without=without)


CONTRACTS: Final[Mapping[str, tuple[Operation, ...]]] = {
    "tproc_h": tuple(_operations()),
    "tproc_h.hammerdb": tuple(_of_hammerdb()),
}
"""What it asks, by folder of ``schemas/<engine>``."""
