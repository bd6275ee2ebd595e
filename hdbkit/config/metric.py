"""The metric of a workload, as data: what it measures, its unit, and which direction is better.

All code above reads the metric from the run: verdicts, search, charts, reports and panels know no workload. Ratios
are always oriented so that more than 1 is better, whichever direction the metric has.
"""

from __future__ import annotations

from collections.abc import Collection
from enum import StrEnum
from typing import Any, ClassVar, TypeVar, assert_never

from pydantic import Field

from hdbkit.config.model import ConfigModel

_Numbers = TypeVar("_Numbers", float, Any)


_MAX_NAME = 40
_GEOMETRIC_MEAN = "geometric mean"


class Better(StrEnum):
    """Which direction of a metric is better."""

    HIGHER = "higher"
    LOWER = "lower"


class Measure(StrEnum):
    """How a metric is computed from the operations that ended in the measured window."""

    RATE = "rate"  # committed operations per `per_s` seconds
    QUANTILE = "quantile"  # the `quantile` of their service times (open loop: response times), in ms
    GEOMETRIC_MEAN = "geometric_mean"  # of the mean service time of each operation, in s


class Metric(ConfigModel):
    """The metric of a workload. Only values of equal metrics can be compared.

    Example:
        >>> Metric(name="TPS", title="operations per second", unit="TPS").text(1234.5)
        '1,234 TPS'
    """

    noun: ClassVar[str] = "the metric"

    name: str = Field(
        min_length=1,
        max_length=_MAX_NAME,
        examples=["orders/s"],
        description="short name, for axes and column headings",
    )
    title: str = Field(min_length=1, examples=["orders per second"], description="long name: operations per second")
    unit: str = Field(min_length=1, examples=["orders/s"], description="unit after a value")
    measure: Measure = Field(default=Measure.RATE, description="rate, quantile (ms) or geometric_mean (s)")
    operations: tuple[str, ...] = Field(default=(), description="the operations that it includes; none: all")
    per_s: float = Field(default=1.0, gt=0, description="for a rate: the period in seconds; 60: per minute")
    quantile: float = Field(default=0.95, gt=0, lt=1, description="for a quantile: the level, such as 0.95")
    counter: str | None = Field(
        default=None,
        description="for a rate: the statement that returns the schema's own count; none: use the clients' records",
    )

    @property
    def better(self) -> Better:
        """A rate is better when it is higher, a time when it is lower."""
        match self.measure:
            case Measure.RATE:
                return Better.HIGHER
            case Measure.QUANTILE | Measure.GEOMETRIC_MEAN:
                return Better.LOWER
            case never:
                assert_never(never)

    @property
    def rate(self) -> Metric:
        """The rate for charts over time: the metric itself, or operations per second."""
        if self.measure is Measure.RATE:
            return self
        return Metric(
            name="operations/s", title="operations per second", unit="operations/s", operations=self.operations
        )

    @property
    def by_operation(self) -> bool:
        """Whether it is a mean over operations, so that comparisons also judge each of them by itself."""
        return self.measure is Measure.GEOMETRIC_MEAN

    def of_operation(self, operation: str) -> Metric:
        """The mean time of one operation, in s: its part in a mean over operations, or its service time."""
        changes = {"name": operation[:_MAX_NAME], "title": f"mean time of {operation}", "operations": (operation,)}
        time = {} if self.by_operation else {"unit": "s", "measure": Measure.GEOMETRIC_MEAN, "counter": None}
        return self.model_copy(update=changes | time)

    def of_some(self, operations: Collection[str], every: Collection[str]) -> Metric:
        """The same geometric mean over ``operations``, some of ``every``; the name states that others are missing.

        It may be such a part already.
        """
        missing = [name for name in every if name not in operations]
        listed = f"without {', '.join(missing)}" if len(missing) < len(operations) else ", ".join(operations)
        name = f"{_GEOMETRIC_MEAN} ({listed})"
        short = name if len(name) <= _MAX_NAME else f"{_GEOMETRIC_MEAN} ({len(operations)} of {len(every)})"
        title = f"{self.title.partition(' (')[0]} ({listed})"
        return self.model_copy(update={"name": short, "title": title, "operations": tuple(operations)})

    def comparable(self, other: Metric) -> bool:
        """Whether values of both can be compared; name, title and counter do not matter."""
        described = {"name", "title", "counter"}
        return self.model_dump(exclude=described) == other.model_dump(exclude=described)

    def score(self, value: _Numbers) -> _Numbers:
        """Convert a value so that higher is better; the ratio of two scores is how many times better one is."""
        reciprocal: _Numbers = 1 / value
        return value if self.better is Better.HIGHER else reciprocal

    def from_score(self, score: _Numbers) -> _Numbers:
        """The inverse of :meth:`score`."""
        value: _Numbers = self.score(score)
        return value

    def number(self, value: float) -> str:
        """A value without its unit: a whole number from 1,000, else three significant digits."""
        return f"{value:,.0f}" if abs(value) >= 1000 or value == 0 else f"{value:#.3g}".rstrip(".")

    @property
    def heading(self) -> str:
        """The head of a column of values: ``TPS``, ``p95 (ms)``."""
        return self.name if self.name == self.unit else f"{self.name} ({self.unit})"

    def text(self, value: float) -> str:
        """A value with its unit: ``96,123 TPS``, ``0.942 s``."""
        return f"{self.number(value)} {self.unit}"


class DetailChart(ConfigModel):
    """A chart over a detail column of a workload: operations and service times by value."""

    key: str = Field(description="name of the chart in the API and of its file")
    question: str = Field(description="title: the question that the chart answers")
    column: str = Field(description="the detail column")
    axis: str = Field(description="axis title for the column's values")
