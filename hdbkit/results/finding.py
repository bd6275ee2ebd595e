"""What an experiment found: its cells, the ratios between them with their verdicts, and what follows from these.

The one declaration of it: ``analysis`` computes ratios, each kind of experiment puts its finding together, and JSON,
service, charts, reports, screen and panels read its attributes. None is a figure that is unknown. ``frame`` makes a
table of ratios for users.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import Annotated, Any

from pydantic import Field, PlainSerializer, PlainValidator, SerializeAsAny, WithJsonSchema

from hdbkit.caution import Caution
from hdbkit.config.metric import Metric
from hdbkit.later import pandas as pd
from hdbkit.results.run_result import Figures

WarningText = Annotated[
    str, PlainValidator(Caution.of), PlainSerializer(str, return_type=str), WithJsonSchema({"type": "string"})
]
"""A warning with its kind (:class:`hdbkit.caution.Caution`); in JSON its text."""


class Verdict(StrEnum):
    """What is said of a ratio, or why nothing is."""

    FASTER = "faster"
    SLOWER = "slower"
    EQUIVALENT = "equivalent"
    UNDECIDED = "undecided"
    BASELINE = "baseline"  # all other ratios refer to it
    INTERACT = "interact"  # of two settings: their effects do not multiply
    INDEPENDENT = "no interaction"
    NOT_RUN = "not run"
    ENDED_EARLY = "ended early"
    FAILED = "failed"

    @property
    def is_decided(self) -> bool:
        """Whether the intervals decide it."""
        return self in (Verdict.FASTER, Verdict.SLOWER, Verdict.EQUIVALENT)

    @property
    def differs(self) -> bool:
        """Whether one of both is shown to be better."""
        return self in (Verdict.FASTER, Verdict.SLOWER)


class Of(StrEnum):
    """What a ratio is of."""

    METRIC = "metric"
    OPERATION = "operation"  # the mean time of an operation
    QUANTILE = "quantile"  # of the latency of an operation
    COUNT = "count"  # a figure without an interval
    COST = "cost"  # the server's CPU time per operation
    EFFECT = "effect"  # of a setting, over all pairs of the grid
    INTERACTION = "interaction"  # of two settings
    WINNER = "winner"  # the metric in fresh blocks


class Needed(Figures):
    """The blocks, in all, that would decide, and their range; None: unknown, or more than are advised."""

    blocks: int | None
    low: int | None
    high: int | None


def finite(value: float | None) -> float | None:
    """A figure; None where it is unknown: NaN, or beyond what a number can be."""
    return None if value is None or not math.isfinite(value) else float(value)


class Change(Figures):
    """A value of a setting against its reference."""

    setting: str
    value: str
    reference: str

    def __str__(self) -> str:
        return f"{self.setting}={self.value}"


class Interaction(Figures):
    """The other setting of an interaction, and the ratio of each without the other's change (alone) and with it."""

    other: Change
    alone: float
    together: float
    other_alone: float
    other_together: float


class Ratio(Figures):
    """One cell against another, by one figure; ``ratio`` is of scores, so that more than 1 is better."""

    of: Of
    figure: str = Field(description="name of the metric, the operation, or of the operation whose quantile it is")
    quantile: str = Field(default="", description="p50, p95, p99; empty for any other figure")
    label: str = Field(description="what is compared")
    against: str = Field(description="what it is compared with")
    virtual_users: int | None = Field(description="null: the mean over all counts")
    configuration: int | None = Field(default=None, description="the place of its cell among those of the plan")
    runs: int = Field(default=0, description="runs that count; of an effect pairs, of an interaction sets of four")
    base_runs: int | None = None
    base: float | None = Field(default=None, description="the figure of what it is compared with")
    value: float | None = Field(
        default=None,
        description="the figure: geometric mean of its runs; the time of an operation in s, its quantiles in ms, "
        "else in the unit of the metric",
    )
    operations_per_s: float | None = Field(default=None, description="mean, of all types")
    ratio: float | None = None
    low: float | None = Field(default=None, description="simultaneous interval; null without replication")
    high: float | None = None
    verdict: Verdict
    equivalent: bool = Field(default=False, description="a change that matters is excluded on both sides")
    may_be_best: bool = Field(default=False, description="one of those among which the best is, with 95 %")
    detectable: float | None = Field(
        default=None, description="of what is undecided: the smallest change that would have been found with 80 %"
    )
    these_runs: bool = Field(default=False, description="the verdict is about these runs alone")
    shrunken_ratio: float | None = Field(default=None, description="after allowing for the choice among many")
    needed: Needed | None = Field(default=None, description="what would decide an undecided one")
    decided_after: int | None = Field(default=None, description="blocks after which it was decided and run no more")
    change: Change | None = None
    interaction: Interaction | None = None
    first: Ratio | None = Field(default=None, description="of a winner: the ratio by which it was chosen")
    sentence: str = ""

    @property
    def is_known(self) -> bool:
        """Whether there is an interval."""
        return self.low is not None and self.high is not None

    @property
    def interval(self) -> tuple[float, float]:
        """The ends of the interval; NaN where there is none."""
        nan = float("nan")
        return (nan if self.low is None else self.low, nan if self.high is None else self.high)

    @property
    def words(self) -> str:
        """The verdict, with its look if later blocks did not run it: ``faster after 4 blocks in these runs``."""
        after = "" if self.decided_after is None else f" after {self.decided_after} blocks"
        here = " in these runs" if self.these_runs and self.verdict.is_decided else ""
        return f"{self.verdict}{after}{here}"


class Price(Figures):
    """What a value of a setting can lose, beside what it gains."""

    setting: str
    value: str
    of: str = Field(default="", description="the side that has it; empty where cells differ by settings alone")
    event: str = Field(description="what has to happen")
    lost: str
    reference: str = Field(description="where the engine's documentation says so")

    @property
    def sentence(self) -> str:
        """It in words, without a full stop."""
        side = f" of {self.of}" if self.of else ""
        return f"The price of {self.setting}={self.value}{side}: {self.event} can lose {self.lost} ({self.reference})"


class MeasuredCell(Figures):
    """What was measured in a cell at a count of virtual users."""

    label: str
    virtual_users: int
    runs: int
    value: float = Field(description="the metric: geometric mean of the runs")
    low: float | None = Field(default=None, description="95 % interval by itself, by the noise of all repeated runs")
    high: float | None = None
    operations_per_s: float | None = Field(default=None, description="mean, of all types")


class Headline(Figures):
    """The largest thing on the page of a finding that is no ratio, such as a rate."""

    verdict: str
    value: str
    of: str = Field(description="what the value is of")
    interval: str = ""


class More(Figures):
    """What only findings of one kind have; each kind has a class of its own."""


class ScalingLaw(Figures):
    """The Universal Scalability Law of a cell's runs; rate, sigma and kappa are null where it does not fit."""

    label: str
    rate: float | None = Field(description="that of one user")
    sigma: float | None
    kappa: float | None
    lack_of_fit: float | None = Field(description="probability of such a misfit by chance")
    peak: float | None = Field(description="users at the peak, with its interval")
    low: float | None
    high: float | None
    sentence: str


class Finding(Figures):
    """What an experiment found, or a comparison of stored runs."""

    experiment_id: str = Field(default="", description="empty for a comparison of stored runs")
    kind: str = Field(description="sweep, comparison, profile, max-rate, releases, slow-commit or engines")
    question: str
    metric: Metric
    cells: tuple[MeasuredCell, ...]
    ratios: tuple[Ratio, ...]
    best: Ratio | None = Field(default=None, description="the ratio that the answer is about")
    headline: Headline | None = Field(default=None, description="what stands in place of a ratio")
    answer: str
    basis: str = Field(default="", description="what intervals are made of")
    interim: str = Field(
        default="", description="of an experiment that is not judged yet: its blocks so far; no ratio has a verdict"
    )
    explanation: str = Field(default="", description="why one side is faster, where waits were sampled")
    advice: str = Field(default="", description="what would decide; empty where nothing is undecided")
    prices: tuple[Price, ...] = Field(default=(), description="what values that were compared can lose")
    notes: tuple[str, ...] = ()
    warnings: tuple[WarningText, ...] = Field(default=(), description="reasons to doubt it")
    smallest_effect: float | None = Field(default=None, description="the smallest relative difference that matters")
    confidence: float = Field(default=0.95, description="of its intervals, as its sentences state it")
    runs_failed: int = Field(default=0, description="planned runs without a result")
    checks_failed: dict[str, int] = Field(default_factory=dict, description="runs that failed each check")
    is_open: bool = Field(default=False, description="what was asked for is not known")
    scaling: tuple[ScalingLaw, ...] = Field(default=(), description="of each cell with enough counts of users")
    notice: str = ""
    command: str = Field(default="", description="the command that repeats it")
    more: SerializeAsAny[More] = More()

    def of(self, *kinds: Of) -> list[Ratio]:
        """The ratios of these figures."""
        return [ratio for ratio in self.ratios if ratio.of in kinds]


_JUDGED = ("ratio", "low", "high", "verdict")
_CHANGE = ("setting", "value", "reference")
_CELL = (
    *("configuration", "virtual_users", "label", "runs", "metric_value", "operations_per_s"),
    *(*_JUDGED, "equivalent", "may_be_best", "these_runs", "shrunken_ratio"),
    *("blocks_needed", "blocks_low", "blocks_high", "decided_after", "sentence"),
)
COLUMNS: dict[Of, tuple[str, ...]] = {
    Of.METRIC: _CELL,
    Of.OPERATION: ("operation", *_CELL),
    Of.QUANTILE: ("operation", "percentile", *_CELL),
    Of.COUNT: ("figure", "base", "new", *_JUDGED),
    Of.COST: _CELL,
    Of.EFFECT: (*_CHANGE, "virtual_users", "pairs", *_JUDGED, "equivalent", "these_runs", "sentence"),
    Of.INTERACTION: (
        *(*_CHANGE, "other", "other_value", "other_reference", "sets", *_JUDGED),
        *("alone", "together", "other_alone", "other_together", "sentence"),
    ),
    Of.WINNER: (*_CELL, "first_ratio", "first_low", "first_high"),
}
"""The columns of a table of ratios, by what they are of."""
_PATHS = {
    "operation": "figure", "percentile": "quantile", "metric_value": "value", "new": "value",
    "pairs": "runs", "sets": "runs", "setting": "change.setting", "reference": "change.reference",
    "other": "interaction.other.setting", "other_value": "interaction.other.value",
    "other_reference": "interaction.other.reference", "alone": "interaction.alone",
    "together": "interaction.together", "other_alone": "interaction.other_alone",
    "other_together": "interaction.other_together", "blocks_needed": "needed.blocks", "blocks_low": "needed.low",
    "blocks_high": "needed.high", "first_ratio": "first.ratio", "first_low": "first.low", "first_high": "first.high",
}  # fmt: skip
"""Where the value of a column is, if not in an attribute of its name."""
_WHOLE = ("configuration", "blocks_needed", "blocks_low", "blocks_high", "decided_after")
_TEXTS = (
    "operation",
    "percentile",
    "label",
    "verdict",
    "sentence",
    *_CHANGE,
    "other",
    "other_value",
    "other_reference",
)
_FLAGS = ("equivalent", "may_be_best", "these_runs")


def frame(ratios: Iterable[Ratio], of: Of = Of.METRIC, columns: Sequence[str] | None = None) -> pd.DataFrame:
    """Ratios as a table: a row each, with these columns, by default those of ``COLUMNS``.

    Unknown figures are NaN, unknown whole numbers NA. ``virtual_users`` is 0 for the mean over all counts.
    """
    listed, names = list(ratios), columns or COLUMNS[of]
    in_change = of in (Of.EFFECT, Of.INTERACTION)
    return pd.DataFrame({name: _column(name, listed, in_change=in_change) for name in names})


def _column(name: str, ratios: Sequence[Ratio], *, in_change: bool) -> pd.Series[Any]:
    path = "change.value" if name == "value" and in_change else _PATHS.get(name, name)
    values = [_at(ratio, path) for ratio in ratios]
    if name == "virtual_users":
        return pd.Series([value or 0 for value in values], dtype="int64")
    if name in _FLAGS:
        return pd.Series(values, dtype=bool)
    if name in _TEXTS or (name == "value" and in_change):
        return pd.Series([None if value is None else str(value) for value in values], dtype=object)
    if name in _WHOLE:
        whole = pd.Series(values, dtype="Int64")
        return whole.astype("int64") if name == "configuration" and whole.notna().all() else whole
    return pd.Series(values, dtype="int64" if name in ("runs", "pairs", "sets") else "float64")


def _at(ratio: Ratio, path: str) -> Any:
    value: Any = ratio
    for name in path.split("."):
        value = getattr(value, name, None)
    return value
