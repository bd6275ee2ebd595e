"""The check of a schema of HammerDB's: what its population and routines keep; of the rest, why it is undecided."""

from __future__ import annotations

from typing import Final

from hdbkit.config.specs.tproc_c import TprocCSpec
from hdbkit.contracts import Check, PlannedCheck
from hdbkit.workloads.checking import all_there
from hdbkit.workloads.tproc_c.consistency import CONDITIONS, condition, row_counts
from hdbkit.workloads.tproc_c.hammerdb.routines import ROUTINES
from hdbkit.workloads.tproc_c.tables import TABLES

_KEYED: Final = tuple(table for table in TABLES if table != "history")
_NOT_KEPT: Final = {
    10: "HammerDB's population has delivered lines that no balance holds",
    11: "HammerDB's deliveries do not count in c_delivery_cnt",
    12: "HammerDB's payments do not add to c_ytd_payment",
}
_STOCK_NOT_KEPT: Final = "HammerDB's new orders do not add to s_ytd, s_order_cnt and s_remote_cnt"


def checks(spec: TprocCSpec) -> list[PlannedCheck]:
    """Row counts, keys, routines and conditions of TPC-C 3.3.2."""
    return [
        *row_counts(spec),
        all_there("keys", _KEYED),
        all_there("routines", ROUTINES),
        *(
            _undecided(f"condition {number}", meaning, _NOT_KEPT[number])
            if number in _NOT_KEPT
            else condition(number, spec.warehouses)
            for number, meaning in CONDITIONS.items()
        ),
        _undecided("stock", "s_ytd, s_order_cnt, s_remote_cnt = lines since the build", _STOCK_NOT_KEPT),
    ]


def _undecided(name: str, meaning: str, reason: str) -> PlannedCheck:
    found = Check(name, None, f"{meaning}: not decided, as {reason}")
    return PlannedCheck(name, lambda _: found)
