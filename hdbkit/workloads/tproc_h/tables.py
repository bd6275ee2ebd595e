"""The eight tables: their columns in loading order, their types, keys and sizes (TPC-H 1.4 and 4.2.5)."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from hdbkit import contracts

_LINES: Final = {0.01: 60_175, 0.1: 600_572, 1.0: 6_001_215, 10.0: 59_986_052, 100.0: 600_037_902}
"""The number of lines at some scale factors; at others it is about 6 million times the factor."""
_SUMS: Final = {
    0.01: {
        "supplier": "400930.00",
        "customer": "6681865.59",
        "part": "2800992.00",
        "partsupp": "3957437.38",
        "orders": "2127396830.02",
        "lineitem": "1536127.00 2152189760.47 3004.54 2420.51",
    },
    0.1: {
        "supplier": "4473304.51",
        "customer": "67057463.91",
        "part": "28189920.00",
        "partsupp": "39975583.86",
        "orders": "21356596030.63",
        "lineitem": "15334802.00 21615929280.24 30073.00 24047.88",
    },
    1.0: {
        "supplier": "45103548.65",
        "customer": "674326849.74",
        "part": "299899200.00",
        "partsupp": "400420638.54",
        "orders": "226829306447.46",
        "lineitem": "153078795.00 229577310901.20 300057.33 240129.67",
    },
}
"""By scale factor and table: the sums of its decimals, in the order of its columns."""
_TYPES: Final = {"i": "integer", "d": "decimal", "s": "text", "t": "date"}


@dataclass(frozen=True)
class _Table(contracts.Table):
    """A table. ``rows`` is for scale factor 1, or its only size; ``row_bytes`` is a row's mean as text."""

    rows: int = 0
    row_bytes: int = 0
    scales: bool = True

    def rows_at(self, scale_factor: float) -> int:
        """The number of rows; of ``lineitem`` an estimate; see :func:`lines_at`."""
        return round(self.rows * scale_factor) if self.scales else self.rows


def lines_at(scale_factor: float) -> int | None:
    """The number of rows of ``lineitem``; None if it is not known."""
    return _LINES.get(float(scale_factor))


def sums_at(table: str, scale_factor: float) -> tuple[Decimal, ...] | None:
    """The sums of the columns ``SUMMED`` of a table; None if they are not known."""
    known = _SUMS.get(float(scale_factor))
    return tuple(map(Decimal, known[table].split())) if known else None


def _table(name: str, prefix: str, key: str, size: tuple[int, int], columns: str) -> _Table:
    """``columns``: name and type of each, without the prefix."""
    named = [one.split(":") for one in columns.split()]
    return _Table(
        name,
        tuple(f"{prefix}_{column}" for column, _ in named),
        tuple(f"{prefix}_{column}" for column in key.split()),
        tuple(_TYPES[kind] for _, kind in named),
        *size,
        scales=name not in ("region", "nation"),
    )


TPROC_H_TABLES: Final = {
    table.name: table
    for table in (
        _table("region", "r", "regionkey", (5, 77), "regionkey:i name:s comment:s"),
        _table("nation", "n", "nationkey", (25, 88), "nationkey:i name:s regionkey:i comment:s"),
        _table(
            "supplier",
            "s",
            "suppkey",
            (10_000, 140),
            "suppkey:i name:s address:s nationkey:i phone:s acctbal:d comment:s",
        ),
        _table(
            "customer",
            "c",
            "custkey",
            (150_000, 160),
            "custkey:i name:s address:s nationkey:i phone:s acctbal:d mktsegment:s comment:s",
        ),
        _table(
            "part",
            "p",
            "partkey",
            (200_000, 120),
            "partkey:i name:s mfgr:s brand:s type:s size:i container:s retailprice:d comment:s",
        ),
        _table(
            "partsupp",
            "ps",
            "partkey suppkey",
            (800_000, 148),
            "partkey:i suppkey:i availqty:i supplycost:d comment:s",
        ),
        _table(
            "orders",
            "o",
            "orderkey",
            (1_500_000, 113),
            "orderkey:i custkey:i orderstatus:s totalprice:d orderdate:t orderpriority:s clerk:s shippriority:i "
            "comment:s",
        ),
        _table(
            "lineitem",
            "l",
            "orderkey linenumber",
            (6_001_215, 126),
            "orderkey:i partkey:i suppkey:i linenumber:i quantity:d extendedprice:d discount:d tax:d returnflag:s "
            "linestatus:s shipdate:t commitdate:t receiptdate:t shipinstruct:s shipmode:s comment:s",
        ),
    )
}
"""By name, in the order in which they are loaded."""

SUMMED: Final = {
    name: tuple(column for column, kind in zip(table.columns, table.types, strict=True) if kind == "decimal")
    for name, table in TPROC_H_TABLES.items()
    if "decimal" in table.types
}
"""By table, its columns whose sums are known at some scale factors."""
