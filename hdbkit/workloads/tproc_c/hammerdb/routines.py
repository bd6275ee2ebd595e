"""HammerDB's routines, and what each uses in all its versions and forms."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from hdbkit.workloads.tproc_c import tables

ROUTINES: Final = ("neword", "payment", "ostat", "delivery", "slev")
"""HammerDB's names of the transactions, in the order of ``TRANSACTIONS``."""
USES: Final[Mapping[str, Mapping[str, frozenset[str]]]] = {
    **tables.USES,
    "new_order": {
        **tables.USES["new_order"],
        "SELECT": frozenset({"warehouse", "district", "customer", "item", "stock"}),
    },
    "delivery": {
        **tables.USES["delivery"],
        "SELECT": frozenset({"customer", "new_order", "orders", "order_line"}),
    },
}
"""The tables that each transaction uses, by privilege."""
SCALE: Final = frozenset({"warehouse"})
"""The table whose rows are the scale of the schema."""
VERIFIED: Final = frozenset({"orders"})
"""The table in which hdbkit looks for an order that a routine may have rolled back silently."""
