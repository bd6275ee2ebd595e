"""What every engine must do with TPROC-C: rules on a small database whose figures can be calculated by hand.

The conformance suite and ``hdbkit engine check`` try the same rules.
"""

from __future__ import annotations

from typing import Final

from hdbkit.contracts import Rule
from hdbkit.workloads.tproc_c.conformance import conditions, sessions, transactions

RULES: Final[tuple[Rule, ...]] = (*transactions.RULES, *conditions.RULES, *sessions.RULES, *sessions.OVERLAPPING)
"""All rules, in the order in which they are tried."""
