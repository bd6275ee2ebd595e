"""A limit on a latency quantile, such as ``p95=20ms``, and whether a run in an open loop kept it.

What is limited is the response time of the headline's operation, from its scheduled start. A run in which so many
of these operations failed that the quantile is not known from the others is beyond the limit. So is one whose rate
was not reached, since operations that never began have no response time: it counts as twice the limit at least.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from fractions import Fraction

from hdbkit.analysis.run.quantiles import QUANTILES
from hdbkit.analysis.run.schedule import kept_its_rate
from hdbkit.config.quantities import TIMES, Dimension, quantity
from hdbkit.config.written import Written
from hdbkit.results.manifest import Manifest
from hdbkit.text import exact_number

_SATURATED = math.log(2)
_MIN_S, _MAX_S = Fraction(1, 10**6), 86_400
_WRITTEN = re.compile(r"\s*(\w+)\s*=\s*(.+)")


@dataclass(frozen=True)
class Limit(Written):
    """The maximum ``max_ms`` of a ``quantile`` (a name of ``QUANTILES``) of the response time."""

    quantile: str
    max_ms: float

    @classmethod
    def parse(cls, text: str) -> Limit:
        """A limit as it is written: ``p95=20ms``. Raises ``ValueError``."""
        found = _WRITTEN.fullmatch(text)
        time = quantity(found[2]) if found else None
        if found is None or found[1] not in QUANTILES or time is None or time.dimension is not Dimension.TIME:
            raise ValueError(
                f"'{text}' is not a limit on latency; write a quantile ({', '.join(QUANTILES)}) and a time with its "
                f"unit ({', '.join(TIMES)}), such as p95=20ms"
            )
        if not _MIN_S <= time.amount <= _MAX_S:
            raise ValueError(f"the limit '{text}' must be from 1 us to 1 d")
        return cls(found[1], float(1000 * time.amount))

    def __str__(self) -> str:
        return f"{self.quantile}={exact_number(self.max_ms)}ms"

    @property
    def min_operations(self) -> int:
        """The number of operations that a quantile needs at least."""
        return math.ceil(round(1 / self._tail, 6))

    @property
    def _tail(self) -> float:
        return 1 - QUANTILES[self.quantile]

    def value_ms(self, manifest: Manifest) -> float:
        """The quantile of the run in ms, or the longest time where operations are too few; NaN if there are none."""
        response = manifest.measured.operations[manifest.headline].response
        known_us = None if response is None else response.at(self.quantile) or response.max_us
        return math.nan if known_us is None else known_us / 1000

    def excess(self, manifest: Manifest) -> float:
        """The logarithm of the quantile over the limit; infinity where the quantile is unknown."""
        line, value_ms = manifest.measured.operations[manifest.headline], self.value_ms(manifest)
        if math.isnan(value_ms) or (line.failed or 0) > self._tail * line.count:
            return math.inf
        found = math.log(max(value_ms, 1e-3) / self.max_ms)
        return found if kept_its_rate(manifest) else max(found, _SATURATED)
