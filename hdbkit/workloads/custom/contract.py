"""What user-defined workloads ask of an engine by name; their own statements are in their folders."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from hdbkit.contracts import Capability, Operation

_SQL: Final = frozenset({Capability.SQL})
CONTRACTS: Final[Mapping[str, tuple[Operation, ...]]] = {
    "custom": (
        Operation(
            "key_range", "the lowest and the highest key of a table", ("table", "column"), ("lowest", "highest"), _SQL
        ),
        Operation("count_rows", "the number of rows of a table", ("table",), ("rows",), _SQL),
    )
}
"""What they ask, by folder of ``schemas/<engine>``."""
