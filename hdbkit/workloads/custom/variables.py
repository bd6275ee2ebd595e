"""Draws values of variables, many at a time; all randomness comes from one generator.

Zipf's distribution over a finite range is drawn by rejection-inversion (Hörmann and Derflinger, Rejection-inversion
to generate variates from monotone discrete distributions, ACM TOMACS 6, 1996): no table of the range is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import product
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from hdbkit.config.specs.definition import (
    Choice,
    Exponential,
    Key,
    Number,
    NURand,
    Sequence,
    TextVariable,
    Uniform,
    Variable,
    Zipf,
    drawn_limits,
    evaluated,
)
from hdbkit.contracts import Row, Session
from hdbkit.errors import InputError, TransactionError
from hdbkit.lexer import identifier

Draw = Callable[[int], list[Any]]
"""Draws this many values, as plain Python objects."""
_MAX_TRIES: Final = 100
_SHUFFLE: Final = 0x9E3779B97F4A7C15
_positions: dict[tuple[int, str], int] = {}
"""The next number of each sequence of each user in this process; a user that reconnects continues from it."""


class Drawing:
    """Creates the draws of one virtual user of ``users``, or those of a table from ``first_row`` (from 0) on."""

    def __init__(
        self,
        parameters: Mapping[str, Number],
        generator: np.random.Generator,
        index: int = 0,
        users: int = 1,
        first_row: int | None = None,
    ) -> None:
        self._parameters, self._generator = parameters, generator
        self._index, self._users, self._first_row = index, users, first_row

    def of(self, name: str, variable: Variable, session: Session | None = None) -> Draw:
        """The draw of a variable; ``session`` is used to query the range of a key."""
        kind = variable.kind
        if isinstance(kind, Key):
            return self._key(kind, session)
        if isinstance(kind, Sequence):
            return self._sequence(name, kind)
        if isinstance(kind, TextVariable | Choice):
            return (_text if isinstance(kind, TextVariable) else _choice)(kind, self._generator)  # type: ignore[arg-type]
        return self._of_range(kind, *drawn_limits(kind, self._parameters))

    def _of_range(self, kind: Any, low: int, high: int) -> Draw:
        """The draw of a number from ``low`` to ``high``, in units of its last digit."""
        generator = self._generator
        if isinstance(kind, Uniform):
            return _uniform(low, high, kind.decimals, generator)
        if isinstance(kind, Zipf):
            return _zipf(low, high, kind.exponent, kind.shuffled, generator)
        if isinstance(kind, NURand):
            return _nurand(low, high, kind.a, kind.c, generator)
        mean = self._number(kind.mean)
        if isinstance(kind, Exponential):
            return _within(low, high, lambda count: low + generator.exponential(mean, count))
        stddev = self._number(kind.stddev)
        return _within(low, high, lambda count: generator.normal(mean, stddev, count))

    def _number(self, bound: Number | str) -> float:
        return float(evaluated(bound, self._parameters))

    def _sequence(self, name: str, kind: Sequence) -> Draw:
        start, key = int(evaluated(kind.start, self._parameters)), (self._index, name)
        most = None if kind.max is None else (int(evaluated(kind.max, self._parameters)) - start) // kind.step + 1

        positions = _positions if self._first_row is None else {key: self._first_row}

        def draw(count: int) -> list[Any]:
            first = positions.get(key, 0)
            positions[key] = first + count
            numbers = np.arange(first, first + count) * self._users + self._index
            return list((start + kind.step * (numbers if most is None else numbers % most)).tolist())

        return draw

    def _key(self, kind: Key, session: Session | None) -> Draw:
        assert session is not None, "a key needs a session"
        ends = key_range(session, kind)
        if ends[0] is None:
            raise InputError(f"the table {kind.table} has no row, so {kind.column} has no range to draw keys from")
        keys = f"the keys {kind.table}.{kind.column}"
        try:
            low, high = map(int, ends)
        except (TypeError, ValueError):
            raise InputError(f"{keys} are not whole numbers, so none can be drawn") from None
        drawn: Uniform | Zipf = Uniform(min=low, max=high)
        if kind.exponent is not None:
            drawn = Zipf(min=low, max=high, exponent=kind.exponent, shuffled=True)
        try:
            return self._of_range(drawn, *drawn_limits(drawn, {}))
        except InputError as error:
            raise InputError(f"{keys}: {error}") from None


def key_range(session: Session, key: Key) -> Row:
    """The lowest and the highest key; a name that the server does not know as it is written is tried with quotes.

    So ``Id`` is a column ``id``, as the server reads it, or else ``"Id"``, since YAML takes the quotes away.
    """
    refused: TransactionError | None = None
    tables, columns = ([name, name.exact] for name in (identifier(key.table), identifier(key.column)))
    for table, column in dict.fromkeys(product(tables, columns)):
        try:
            return session.ask("key_range", table=table, column=column)[0]
        except TransactionError as error:
            if error.lost:
                raise
            refused = refused or error
    assert refused is not None
    raise InputError(f"the keys {key.table}.{key.column} cannot be read: {refused.text}")


def _uniform(low: int, high: int, decimals: int, generator: np.random.Generator) -> Draw:
    scale = 10**decimals

    def draw(count: int) -> list[Any]:
        drawn = generator.integers(low, high, count, endpoint=True)
        return list((drawn / scale if decimals else drawn).tolist())

    return draw


def _within(low: int, high: int, source: Callable[[int], NDArray[np.float64]]) -> Draw:
    """Integers of a continuous distribution, redrawn outside the bounds."""

    def draw(count: int) -> list[Any]:
        kept = np.empty(0)
        for _ in range(_MAX_TRIES):
            drawn = np.floor(source(2 * count))
            kept = np.concatenate([kept, drawn[(drawn >= low) & (drawn <= high)]])
            if kept.size >= count:
                return list(kept[:count].astype(np.int64).tolist())
        raise InputError(f"almost no value of the distribution is within {low} to {high}; widen min and max")

    return draw


def _nurand(low: int, high: int, a: int, c: int, generator: np.random.Generator) -> Draw:
    def draw(count: int) -> list[Any]:
        wide, narrow = (
            generator.integers(0, a, count, endpoint=True),
            generator.integers(low, high, count, endpoint=True),
        )
        return list((((wide | narrow) + c) % (high - low + 1) + low).tolist())

    return draw


def _text(kind: TextVariable, generator: np.random.Generator) -> Draw:
    letters = np.array(list(kind.alphabet))

    def draw(count: int) -> list[Any]:
        lengths = generator.integers(kind.min, kind.max, count, endpoint=True).tolist()
        drawn = "".join(letters[generator.integers(0, len(letters), sum(lengths))].tolist())
        ends = np.cumsum(lengths).tolist()
        return [drawn[end - length : end] for end, length in zip(ends, lengths, strict=True)]

    return draw


def _choice(kind: Choice, generator: np.random.Generator) -> Draw:
    weights = None if kind.weights is None else np.array(kind.weights) / sum(kind.weights)

    def draw(count: int) -> list[Any]:
        return [kind.values[at] for at in generator.choice(len(kind.values), count, p=weights).tolist()]

    return draw


def _zipf(low: int, high: int, exponent: float, shuffled: bool, generator: np.random.Generator) -> Draw:
    ranks = ZipfRanks(high - low + 1, exponent, generator)

    def draw(count: int) -> list[Any]:
        drawn = ranks.draw(count)
        return list((low + (spread(drawn, high - low + 1) if shuffled else drawn - 1)).tolist())

    return draw


def spread(ranks: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    """Map each rank (from 1) to a fixed number from 0 to ``size`` - 1, frequent ones far apart; ranks may collide."""
    with np.errstate(over="ignore"):
        mixed = ranks.astype(np.uint64) * np.uint64(_SHUFFLE)
        mixed ^= mixed >> np.uint64(29)
        mixed *= np.uint64(0xBF58476D1CE4E5B9)
        mixed ^= mixed >> np.uint64(32)
    return (mixed % np.uint64(size)).astype(np.int64)


class ZipfRanks:
    """Ranks from 1 to ``size`` with a probability in proportion to 1 / rank ** exponent."""

    def __init__(self, size: int, exponent: float, generator: np.random.Generator) -> None:
        self._size, self._exponent, self._generator = size, exponent, generator
        self._low, self._high = self._integral(1.5) - 1.0, self._integral(size + 0.5)

    def _integral(self, x: Any) -> Any:
        """The integral of x ** -exponent, up to a constant."""
        if self._exponent == 1:
            return np.log(x)
        return (x ** (1 - self._exponent) - 1) / (1 - self._exponent)

    def _inverse(self, y: Any) -> Any:
        if self._exponent == 1:
            return np.exp(y)
        return np.maximum(1 + y * (1 - self._exponent), 1e-300) ** (1 / (1 - self._exponent))

    def draw(self, count: int) -> NDArray[np.int64]:
        """Draw this many ranks."""
        kept = np.empty(0, np.int64)
        while kept.size < count:
            u = self._generator.uniform(self._low, self._high, 2 * (count - kept.size) + 8)
            ranks = np.clip(np.floor(self._inverse(u) + 0.5), 1, self._size)
            accepted = u >= self._integral(ranks + 0.5) - ranks**-self._exponent
            kept = np.concatenate([kept, ranks[accepted].astype(np.int64)])
        return kept[:count]
