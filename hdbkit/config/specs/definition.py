"""The model of ``workload.yaml``: operations, variables, tables and the metric of a user-defined workload.

A number may be an expression over the parameters, such as ``100000 * scale``. Each model is checked when it is made;
what concerns several parts of a folder (names of statements and variables) is checked in ``folder``.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from enum import StrEnum
from fractions import Fraction
from math import ceil, floor
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from hdbkit.config.expressions import Expression, ExpressionError
from hdbkit.config.metric import Metric
from hdbkit.config.model import ConfigModel
from hdbkit.config.problems import did_you_mean
from hdbkit.config.quantities import Dimension, Quantity
from hdbkit.errors import InputError
from hdbkit.lexer import identifier
from hdbkit.text import exact_number

Number = int | float
MAX_INTEGER = 2**63 - 1
_MAX_FLOAT = MAX_INTEGER - 1023
"""The largest integer of a float in this range."""
_MAX_NURAND = 2**62 - 1
"""The sum of two of these is an integer of 64 bits."""
_MAX_ZIPF = 10**15
"""The most values of Zipf's distribution: floats must tell its ranks apart."""
_LONGEST_NAME = 28
MAX_WEIGHT = 1e9
DEFINITION_FILE = "workload.yaml"
BUILDING = ("create_", "key_", "load_", "index_")
"""The names of statements that a build runs begin with these."""
SERVERS_OWN = "server"
"""The mode of SQL that the server gives to a session."""


def _not_bool(given: Any) -> Any:
    if isinstance(given, bool):
        raise ValueError(f"must be a number, not {str(given).lower()}")
    return given


def _understood(text: Number | str) -> Number | str:
    if isinstance(text, str):
        try:
            Expression(text)
        except ExpressionError as problem:
            raise ValueError(f"'{text}' {problem}") from None
    return text


_Bound = Annotated[Number | str, BeforeValidator(_not_bool), AfterValidator(_understood)]
"""A number, or an expression over the parameters."""


def _is_name(text: str) -> str:
    identifier(text)
    return text


Identifier = Annotated[str, AfterValidator(_is_name)]
"""The name of a table or column; a part in quotes is taken as it is."""


def evaluated(bound: _Bound, parameters: Mapping[str, Number]) -> Fraction:
    """The exact value of a bound. Raises ``InputError`` if it has none, or none within 64 bits."""
    value = _exact(bound, parameters)
    if abs(value) > MAX_INTEGER:
        raise InputError(f"{_shown(bound)} is beyond the range of 64-bit integers")
    return value


def _shown(bound: _Bound) -> str:
    """A bound for a message; an integer may have thousands of digits."""
    is_long = isinstance(bound, int) and abs(bound) > 10**30
    return "the number" if is_long else f"'{bound}'" if isinstance(bound, str) else exact_number(bound)


def _exact(bound: _Bound, parameters: Mapping[str, Number]) -> Fraction:
    if not isinstance(bound, str):
        return Fraction(bound) if isinstance(bound, int) else Fraction(str(bound))
    expression = Expression(bound)
    for name in sorted(expression.names - parameters.keys()):
        raise InputError(f"'{name}' is not a parameter.{did_you_mean(name, list(parameters))}")
    try:
        found = expression.value({name: Quantity(Fraction(str(value))) for name, value in parameters.items()})
    except ExpressionError as problem:
        raise InputError(f"'{bound}' {problem}") from None
    if not isinstance(found, Quantity):
        raise InputError(f"'{bound}' is not a number")
    if found.dimension is not Dimension.PLAIN:
        raise InputError(f"'{bound}' is {found.dimension.value}; give a number without unit")
    return found.amount


class Range(ConfigModel):
    """Numbers from ``min`` to ``max``, both included."""

    min: _Bound = 1
    max: _Bound


class Uniform(Range):
    """Every number is equally likely."""

    decimals: int = Field(default=0, ge=0, le=9, description="digits after the point; 0: whole numbers")


def drawn_limits(kind: Range, parameters: Mapping[str, Number]) -> tuple[int, int]:
    """The lowest and the highest value, in units of the last digit: 1, or 0.01 with two decimals.

    Raises ``InputError`` if there is no value between them.
    """
    low, high = evaluated(kind.min, parameters), evaluated(kind.max, parameters)
    decimals = kind.decimals if isinstance(kind, Uniform) else 0
    first, last = ceil(low * 10**decimals), floor(high * 10**decimals)
    shown = [exact_number(float(one)) for one in (low, high)]
    if low > high:
        raise InputError(f"min ({shown[0]}) is above max ({shown[1]})")
    if first > last:
        values = f"number with {decimals} decimals" if decimals else "whole number"
        raise InputError(f"there is no {values} from {shown[0]} to {shown[1]}")
    if isinstance(kind, Zipf) and last - first >= _MAX_ZIPF:
        raise InputError(f"{first} to {last} has more than {_MAX_ZIPF:,} values, the maximum of zipf")
    bits_63, floats = isinstance(kind, NURand), isinstance(kind, Normal | Exponential)
    if max(-first, last) > (_MAX_NURAND if bits_63 else _MAX_FLOAT if floats else MAX_INTEGER):
        raise InputError(f"{shown[0]} to {shown[1]} is beyond the range of {63 if bits_63 else 64}-bit integers")
    return first, last


class Normal(Range):
    """A normal distribution of integers, redrawn outside ``min`` to ``max``."""

    mean: _Bound
    stddev: _Bound


class Exponential(Range):
    """A negative exponential distribution of integers that begins at ``min``, redrawn above ``max``."""

    mean: _Bound = Field(description="mean distance from min, before it is cut at max")


class Zipf(Range):
    """Zipf's distribution: the k-th most frequent number has a probability in proportion to 1 / k ** exponent."""

    exponent: float = Field(default=1.0, gt=0, le=10)
    shuffled: bool = Field(default=False, description="spread the frequent numbers over the range")


class NURand(Range):
    """The non-uniform random distribution of TPC-C 2.1.6."""

    a: int = Field(ge=0, le=_MAX_NURAND, description="A, a power of two less 1")
    c: int = Field(default=0, ge=0, le=_MAX_NURAND, description="the constant C")


class Sequence(ConfigModel):
    """Numbers that no two virtual users of a run share: ``start``, ``start + step``, ..."""

    start: _Bound = 1
    step: int = Field(default=1, ge=1, le=MAX_INTEGER)
    max: _Bound | None = Field(default=None, description="begins again after it")


class TextVariable(ConfigModel):
    """Random text of ``min`` to ``max`` characters."""

    min: int = Field(default=1, ge=0, le=10_000)
    max: int = Field(ge=0, le=10_000)
    alphabet: str = Field(default="abcdefghijklmnopqrstuvwxyz", min_length=1)

    @model_validator(mode="after")
    def _has_a_length(self) -> TextVariable:
        if self.min > self.max:
            raise ValueError(f"min ({self.min}) is above max ({self.max})")
        return self


class Choice(ConfigModel):
    """One of a list of values, equally likely or by ``weights``."""

    values: tuple[int | float | str, ...] = Field(min_length=1)
    weights: tuple[float, ...] | None = None

    @model_validator(mode="after")
    def _a_weight_each(self) -> Choice:
        if self.weights is not None and len(self.weights) != len(self.values):
            raise ValueError(f"{len(self.values)} values need as many weights, not {len(self.weights)}")
        if self.weights is not None and (min(self.weights) < 0 or not sum(self.weights)):
            raise ValueError("weights must be 0 or more, and at least one above 0")
        if self.weights is not None and max(self.weights) > MAX_WEIGHT:
            raise ValueError(f"weights must be {MAX_WEIGHT:.0f} or less")
        return self


class Key(ConfigModel):
    """A number between the lowest and the highest key that a table has when a user connects."""

    table: Identifier = Field(examples=["orders", 'sales."Orders"'], description="its name, perhaps with its schema")
    column: Identifier = Field(examples=["id", '"Id"'])
    exponent: float | None = Field(default=None, gt=0, le=10, description="of Zipf's distribution; none: uniform")


class Variable(ConfigModel):
    """A value that is drawn for each operation; exactly one kind is given."""

    uniform: Uniform | None = None
    normal: Normal | None = None
    exponential: Exponential | None = None
    zipf: Zipf | None = None
    nurand: NURand | None = None
    sequence: Sequence | None = None
    text: TextVariable | None = None
    list: Choice | None = None
    key: Key | None = None

    @model_validator(mode="after")
    def _one_kind(self) -> Variable:
        given = [name for name in type(self).model_fields if getattr(self, name) is not None]
        if len(given) != 1:
            known = ", ".join(type(self).model_fields)
            raise ValueError(f"give exactly one of {known}, not {' and '.join(given) or 'none'}")
        return self

    @property
    def is_whole(self) -> bool:
        """Whether its values are whole numbers."""
        return not isinstance(self.kind, TextVariable | Choice) and not (
            isinstance(self.kind, Uniform) and self.kind.decimals
        )

    @property
    def kind(self) -> Any:
        """The model of the kind that is given."""
        return next(value for _, value in self if value is not None)


class _Operation(ConfigModel):
    """An operation: statements in one transaction, by default the statement of the operation's name."""

    weight: float = Field(
        default=1.0, ge=0, le=MAX_WEIGHT, description="how often it is drawn, relative to the others"
    )
    statements: tuple[str, ...] = Field(default=(), description="names of statements; none: the operation's own name")
    reads_only: bool = Field(default=False, description="it changes nothing, so that it can run on a standby")
    keying_s: float = Field(
        default=0.0, ge=0, le=86_400, description="keying time before it, in seconds, with keying_and_thinking"
    )
    thinking_s: float = Field(
        default=0.0, ge=0, le=86_400, description="mean thinking time after it, in seconds, with keying_and_thinking"
    )


def _or_defaults(written: Any) -> Any:
    """Nothing behind a name means its defaults."""
    return {} if written is None else written


class RoundTrips(StrEnum):
    """How the statements of an operation are sent."""

    ONE = "one"
    EACH = "each"


class TableContent(ConfigModel):
    """The rows that a build loads into a table, a value for each column; a variable is drawn for each row."""

    rows: _Bound = Field(examples=["1000"], description="number of rows")
    columns: dict[str, str | Number | None] = Field(
        min_length=1,
        examples=["{id: row, name: a_variable}"],
        description="by column: the name of a variable, 'row' (the row's number from 1), or a constant",
    )


class Definition(ConfigModel):
    """A user-defined workload."""

    name: str = Field(pattern=r"^[a-z][a-z0-9_-]{0,30}$", description="a short name, for the ids of runs")
    title: str = Field(default="", description="what it is; none: its name")
    notice: str = Field(
        default="a user-defined workload; comparable only to runs of the same definition",
        description="notice that every result shows",
    )
    schema_name: str = Field(
        default="",
        pattern=r"^([A-Za-z_][A-Za-z0-9_]*)?$",
        description="the schema that a build makes; none: no build",
    )
    parameters: dict[str, Annotated[Number, BeforeValidator(_not_bool)]] = Field(
        default_factory=dict, description="numbers for expressions and SQL"
    )
    scale: str = Field(default="", description="the size as text, with parameters in braces: {rows} rows")
    metric: Metric = Metric(name="operations/s", title="operations per second", unit="operations/s")
    operations: dict[str, Annotated[_Operation, BeforeValidator(_or_defaults)]] = Field(
        min_length=1, max_length=250, examples=["{read: {weight: 90}, write: {weight: 10}}"]
    )
    variables: dict[str, Variable] = Field(default_factory=dict)
    details: tuple[str, ...] = Field(default=(), max_length=8, description="variables to keep with each operation")
    sql_mode: str = Field(
        default=SERVERS_OWN,
        pattern=r"^[A-Za-z_, ]*$",
        description="sql_mode of its sessions on MariaDB and MySQL; server: the server's own",
    )
    round_trips: RoundTrips = Field(
        default=RoundTrips.ONE,
        description="one: send all statements of an operation in one round trip if the engine supports it; "
        "each: one round trip per statement",
    )
    tables: dict[str, TableContent] = Field(default_factory=dict, description="what a build loads, in this order")


def workload_name(folder: str) -> str:
    """The name of a workload in a folder of this name: ``my-losung-1`` in ``My Lösung 1``."""
    plain = unicodedata.normalize("NFKD", folder).encode("ascii", "ignore").decode().lower()
    words = re.sub(r"[^a-z0-9_]+", "-", plain).strip("-_")[:_LONGEST_NAME].rstrip("-_")
    return words if words[:1].isalpha() else f"w-{words}".rstrip("-")
