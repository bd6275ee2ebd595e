"""Sessions of Oracle Database on a double of its driver."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import Any

from hdbkit.config import Target, TprocCSpec
from hdbkit.contracts import SessionOptions
from hdbkit.databases import database
from hdbkit.databases._oracledb.session import OracleSession
from hdbkit.workloads import workload

TARGET = Target.parse("oracle://bench@db1/FREEPDB1")
WORK = workload(TprocCSpec(warehouses=2))
ENGINE = database("oracle")
WHEN = datetime(2026, 3, 4, 5, 6, 7)
ARGUMENTS: dict[str, Any] = {
    "item_ids": (7, 3),
    "supply_w_ids": (1, 2),
    "quantities": (5, 6),
    "c_last": "BARBARBAR",
    "h_amount": Decimal("12.50"),
    "amount": Decimal("12.50"),
    "o_entry_d": WHEN,
    "note": "1 2 3 | ",
    "dist_info": "d" * 24,
    "spec": "{}",
    "part": "stock-1",
    "name": "open_cursors",
    "value": "500",
    "apply_by": "session",
    "table": "stock",
    "columns": ("s_w_id", "s_i_id"),
    "statement": "x",
}
"""A value for each parameter whose name does not say that it is a number."""


def connected(options: SessionOptions | None = None, target: Target = TARGET) -> OracleSession:
    made = ENGINE.connect(target, WORK.scope(ENGINE.dialects), options)
    assert isinstance(made, OracleSession)
    return made
