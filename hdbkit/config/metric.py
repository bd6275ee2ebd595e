"""A workload's headline figure, as data: what is counted, in which unit, and which direction is better.

Everything above reads the metric from a run: verdicts, search, charts, reports and panels know no workload. A ratio
is always written so that more than 1 is better, whichever direction the figure itself has.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any, TypeVar

from pydantic import Field

from hdbkit.config.model import ConfigModel

Numbers = TypeVar("Numbers", float, Any)


class Better(StrEnum):
    """Which direction of a metric is better."""

    HIGHER = "higher"
    LOWER = "lower"


class Measure(StrEnum):
    """How a metric is made from the operations that ended in the measured window."""

    RATE = "rate"  # committed operations per `per_s` seconds
    QUANTILE = "quantile"  # the `quantile` of their service times, in ms
    GEOMETRIC_MEAN = "geometric_mean"  # of the mean service time of each operation, in s


class Metric(ConfigModel):
    """The headline figure of a workload. Equal metrics can be compared; different ones cannot.

    Example:
        >>> Metric(name="TPS", title="operations per second", unit="TPS").text(1234.5)
        '1,234 TPS'
    """

    name: str = Field(min_length=1, max_length=40, description="short name, for axes and heads of columns")
    title: str = Field(min_length=1, description="what it is, in words: operations per second")
    unit: str = Field(min_length=1, description="what stands behind a number")
    measure: Measure = Field(default=Measure.RATE, description="rate, quantile (ms) or geometric_mean (s)")
    operations: tuple[str, ...] = Field(default=(), description="the operations it is made of; none: all")
    per_s: float = Field(default=1.0, gt=0, description="of a rate: the seconds it refers to; 60: per minute")
    quantile: float = Field(default=0.95, gt=0, lt=1, description="of a quantile: which one")
    counter: str | None = Field(
        default=None, description="of a rate: the statement with the schema's own count; none: the clients' records"
    )

    @property
    def better(self) -> Better:
        """A rate is better when it is higher, a time when it is lower."""
        return Better.HIGHER if self.measure is Measure.RATE else Better.LOWER

    @property
    def rate(self) -> Metric:
        """The rate that can be drawn over time: the metric itself, or operations per second."""
        if self.measure is Measure.RATE:
            return self
        return Metric(
            name="operations/s", title="operations per second", unit="operations/s", operations=self.operations
        )

    def comparable(self, other: Metric) -> bool:
        """Whether values of both can be compared: they measure the same, whatever counts it and describes it."""
        described = {"name", "title", "counter"}
        return self.model_dump(exclude=described) == other.model_dump(exclude=described)

    def score(self, value: Numbers) -> Numbers:
        """``value`` so that more is better, in proportion: a ratio of two scores is how many times better one is."""
        reciprocal: Numbers = 1 / value
        return value if self.better is Better.HIGHER else reciprocal

    def from_score(self, score: Numbers) -> Numbers:
        """The inverse of :meth:`score`, which is its own."""
        value: Numbers = self.score(score)
        return value

    def number(self, value: float) -> str:
        """A value without its unit: whole from 1,000 on, else with three digits that matter."""
        return f"{value:,.0f}" if abs(value) >= 1000 or value == 0 else f"{value:#.3g}".rstrip(".")

    def text(self, value: float) -> str:
        """A value with its unit: ``96,123 NOPM``, ``0.942 s``."""
        return f"{self.number(value)} {self.unit}"


class DetailChart(ConfigModel):
    """A chart over a detail column of a workload: operations by value, and how long they took."""

    key: str = Field(description="names the chart in the API and its file")
    question: str = Field(description="its title: the question that it answers")
    column: str = Field(description="the detail column")
    axis: str = Field(description="what the column's values are, for the axis")
