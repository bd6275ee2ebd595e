"""The operations of TPROC-H with values, for doubles of drivers."""

from __future__ import annotations

import random
from typing import Any, Final

from hdbkit.config.specs.tproc_h import QUERIES, TprocHSpec
from hdbkit.workloads import workload
from hdbkit.workloads.tproc_h.contract import CONTRACTS
from hdbkit.workloads.tproc_h.streams import drawn

ANALYTIC: Final = workload(TprocHSpec(scale_factor=1))
_GIVEN: Final = {"partitions": 8, "number": 1}
WORDS: Final = frozenset({"partitions", "number"})
"""What becomes part of the text."""


def queries(dialects: tuple[str, ...]) -> list[tuple[str, dict[str, Any]]]:
    """The name and values of each operation that an engine with these dialects has."""
    known = ANALYTIC.scope(dialects).statements
    found = [one for one in CONTRACTS["tproc_h"] if one.name in known and not one.name.endswith("_partition")]
    drawn_for = {name: dict(drawn(name, random.Random(0), 1.0)) for name in QUERIES}
    return [
        (one.name, drawn_for.get(one.name, {name: _GIVEN.get(name, 9) for name in one.parameters})) for one in found
    ]
