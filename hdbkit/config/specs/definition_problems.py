"""What is wrong in a ``workload.yaml`` once the values of its parameters are known."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from math import erf, expm1, sqrt
from typing import Any

from hdbkit.config.specs.definition import (
    MAX_INTEGER,
    Exponential,
    Normal,
    Number,
    Range,
    Sequence,
    TableContent,
    Variable,
    drawn_limits,
    evaluated,
)
from hdbkit.errors import InputError
from hdbkit.text import exact_number

OF_BUILD = frozenset({"partitions", "number"})
"""Words of a statement that the build fills in."""
_MAX_ROWS = 10**10
_MAX_DRAWN = 10**12
"""Numbers that a sequence without ``max`` must have."""
_MIN_SHARE = 0.005
"""Values of a distribution are drawn again outside their limits, at most about 200 times."""


def word_problems(words: Iterable[str], parameters: Mapping[str, Any]) -> Iterator[str]:
    """What is wrong with the values of the parameters that a statement has in its text, by their names."""
    for word in sorted({*words} & parameters.keys() - OF_BUILD):
        value = parameters[word]
        if (
            isinstance(value, int | float)
            and -MAX_INTEGER <= value <= MAX_INTEGER
            and (value < 0 or value != int(value))
        ):
            yield f"{{{word}}} must be a whole number, 0 or more, not {value}"


def value_problems(
    variables: Mapping[str, Variable], tables: Mapping[str, TableContent], parameters: Mapping[str, Number]
) -> Iterator[tuple[tuple[str, ...], str]]:
    """What is wrong with these values of the parameters: location and problem."""
    large = [name for name, value in parameters.items() if abs(value) > MAX_INTEGER]
    yield from ((("parameters", name), "is beyond the range of 64-bit integers") for name in large)
    if large:
        return
    for name, variable in variables.items():
        try:
            _check_drawable(variable.kind, parameters)
        except InputError as error:
            yield ("variables", name), str(error)
    for table, content in tables.items():
        try:
            if (rows := evaluated(content.rows, parameters)) < 0:
                yield ("tables", table, "rows"), f"must be 0 or more, not {exact_number(float(rows))}"
            if rows > _MAX_ROWS:
                yield ("tables", table, "rows"), f"must be {_MAX_ROWS:,} or less, not {exact_number(float(rows))}"
        except InputError as error:
            yield ("tables", table, "rows"), str(error)


def _check_drawable(kind: Any, parameters: Mapping[str, Number]) -> None:
    """Raise ``InputError`` if values of a variable cannot be drawn."""
    if isinstance(kind, Range):
        low, high = drawn_limits(kind, parameters)
        if _share_within(kind, low, high, parameters) < _MIN_SHARE:
            raise InputError(f"almost no value of the distribution is within {low} to {high}; widen min and max")
    if isinstance(kind, Sequence):
        start = evaluated(kind.start, parameters)
        last = int(start) + kind.step * _MAX_DRAWN if kind.max is None else evaluated(kind.max, parameters)
        if last < start:
            raise InputError(f"max is below start ({exact_number(float(start))})")
        if kind.max is None and last > MAX_INTEGER:
            raise InputError(f"its {_MAX_DRAWN:,}th number is beyond the range of 64-bit integers; give max")
        if last - start > MAX_INTEGER:
            raise InputError("start to max is beyond the range of 64-bit integers")


def _share_within(kind: Range, low: int, high: int, parameters: Mapping[str, Number]) -> float:
    """The share of drawn values that are kept because they are within the limits."""
    if isinstance(kind, Exponential):
        mean = float(evaluated(kind.mean, parameters))
        if mean < 0:
            raise InputError(f"mean must be 0 or more, not {exact_number(mean)}")
        return -expm1((low - high - 1) / mean) if mean else 1.0
    if isinstance(kind, Normal):
        mean, stddev = float(evaluated(kind.mean, parameters)), float(evaluated(kind.stddev, parameters))
        if stddev < 0:
            raise InputError(f"stddev must be 0 or more, not {exact_number(stddev)}")
        if not stddev:
            return float(low <= mean < high + 1)
        return (erf((high + 1 - mean) / stddev / sqrt(2)) - erf((low - mean) / stddev / sqrt(2))) / 2
    return 1.0
