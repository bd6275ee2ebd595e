"""The values of a setting or a factor in a sweep: lists, ranges, and formulas of the host's facts.

    shared_buffers: [128MB, 512MB]
    shared_buffers: {from: 128MB, to: 512MB, step: 128MB}
    wal_buffers: {from: 1MB, to: 64MB, factor: 4, special: [-1]}
    shared_buffers: [128MB, = 0.25 * ram]
    shared_buffers: = 128MB to 0.5 * ram factor 2

The last form is a range in one line of text. A range keeps this form until its facts are known: values are always
texts, and those that begin with ``=`` are a :class:`Formula` that has not been evaluated yet.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any, Self

from hdbkit.config.expressions import Expression, ExpressionError, Value
from hdbkit.config.problems import did_you_mean
from hdbkit.config.quantities import Dimension, Quantity, quantity, quantity_text

_MAX_VALUES = 1000
_RANGE = re.compile(r"(.+?)\s+to\s+(.+?)\s+(step|factor)\s+(.+)", re.ASCII)
_KEYS = ("from", "to", "step", "factor", "special")
_EXAMPLE = "{from: 128MB, to: 4GB, factor: 2}"


def setting_text(value: object) -> str:
    """A setting's value as text: ``on`` or ``off`` for booleans."""
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, str):
        return value
    if isinstance(value, int | float):
        return json.dumps(value)
    raise ValueError(f"a value must be text, a number, or on/off, not {value!r}")


def value_texts(written: object) -> tuple[str, ...]:
    """All values of ``written``, in order; formulas that need facts are not evaluated.

    Raises:
        ValueError: it is invalid, or a value appears twice.
    """
    if is_one(written):
        written = [written]
    if not isinstance(written, list | tuple):
        raise ValueError(f"give a list of values, such as [{written}], or a range, such as {_EXAMPLE}")
    texts = tuple(text for one in written for text in _texts(one))
    if not texts:
        raise ValueError("give at least one value")
    if len({_meaning(text) for text in texts}) < len(texts):
        raise ValueError(f"each value may appear only once, not {list(texts)}")
    return texts


def _meaning(text: str) -> object:
    """What two texts of the same value share: a number with a unit by its amount, others as they are."""
    number = quantity(text)
    return (number.amount, number.dimension) if number and number.unit else text


def names_of(texts: Iterable[str]) -> frozenset[str]:
    """The names of the facts that the formulas among these values use."""
    return frozenset[str]().union(*(text.names for text in texts if isinstance(text, Formula)))


def is_one(written: object) -> bool:
    """Whether this is a range or a formula, which needs no list."""
    return isinstance(written, dict) or (isinstance(written, str) and written.startswith("="))


def value_text(written: object) -> str:
    """A value as text; one that begins with ``=`` is a :class:`Formula`. Raises ``ValueError``."""
    text = setting_text(written)
    return Formula(text) if text.startswith("=") and not isinstance(text, Formula) else text


def special_texts(written: object) -> tuple[str, ...]:
    """The special values of ranges in ``written``, such as -1, which are not sizes."""
    parts = written if isinstance(written, list | tuple) else [written]
    found = [part.get("special") or [] for part in parts if isinstance(part, dict)]
    return tuple(setting_text(one) for special in found if isinstance(special, list) for one in special)


def _texts(one: object) -> tuple[str, ...]:
    if isinstance(one, dict):
        return (*_texts(_range_text(one)), *special_texts(one))
    text = value_text(one)
    return text.values({}) if isinstance(text, Formula) and not text.names else (text,)


def _range_text(given: dict[Any, Any]) -> str:
    for key in given:
        if key not in _KEYS:
            raise ValueError(f"a range has no key '{key}'.{did_you_mean(str(key), _KEYS)} Example: {_EXAMPLE}")
    by = [key for key in ("step", "factor") if key in given]
    if "from" not in given or "to" not in given or len(by) != 1:
        raise ValueError(f"a range needs from, to, and either step or factor, such as {_EXAMPLE}")
    if not isinstance(given.get("special", []), list):
        raise ValueError("special must be a list, such as special: [-1]")
    start, stop, stride = (setting_text(given[key]).removeprefix("=").strip() for key in ("from", "to", by[0]))
    return f"= {start} to {stop} {by[0]} {stride}"


class Formula(str):
    """``= 0.25 * ram``, or a range: ``= 128MB to 0.5 * ram factor 2``. It is its text, and is parsed when it is made.

    Raises ``ValueError`` for a text that is none.
    """

    __slots__ = ("by", "parts")
    parts: tuple[Expression, ...]
    by: str

    def __new__(cls, text: str) -> Self:
        """Parse the text."""
        made = super().__new__(cls, text)
        body = text.removeprefix("=").strip()
        found = _RANGE.fullmatch(body)
        parts, made.by = ((found[1], found[2], found[4]), found[3]) if found else ((body,), "")
        try:
            made.parts = tuple(Expression(part) for part in parts)
        except ExpressionError as error:
            raise ValueError(f"{body} {error}") from None
        return made

    @property
    def names(self) -> frozenset[str]:
        """The names of the facts that it uses."""
        return frozenset[str]().union(*(part.names for part in self.parts))

    def values(self, facts: Mapping[str, Value]) -> tuple[str, ...]:
        """Its values as text. Raises ``ValueError``."""
        try:
            found = [_quantity(part.value(facts)) for part in self.parts]
        except ExpressionError as error:
            raise ValueError(f"{self} {error}") from None
        return _steps(self, self.by, *found) if self.by else (quantity_text(found[0]),)


def _quantity(value: Value) -> Quantity:
    if not isinstance(value, Quantity):
        raise ExpressionError("must evaluate to a number")
    return value


def _steps(text: str, by: str, start: Quantity, stop: Quantity, stride: Quantity) -> tuple[str, ...]:
    """Values from ``start`` up to ``stop``, in the units that were given."""
    plain = stride.dimension is Dimension.PLAIN
    if _mixed(start, stop) or (by == "step" and _mixed(start, stride)) or (by == "factor" and not plain):
        raise ValueError(f"{text.removeprefix('= ')}: from, to and step need compatible units; a factor has no unit")
    if start.amount > stop.amount:
        raise ValueError(f"{text.removeprefix('= ')}: from is larger than to")
    if (by == "step" and stride.amount <= 0) or (by == "factor" and (stride.amount <= 1 or start.amount <= 0)):
        raise ValueError(
            f"{text.removeprefix('= ')}: a step must be greater than 0, a factor greater than 1 "
            "(with from greater than 0)"
        )
    amounts: list[Fraction] = [start.amount]
    while (following := _next(amounts[-1], by, stride.amount)) <= stop.amount:
        amounts.append(following)
        if len(amounts) > _MAX_VALUES:
            raise ValueError(f"{text.removeprefix('= ')}: gives more than {_MAX_VALUES} values; use larger steps")
    dimension = stop.dimension if start.amount == 0 else start.dimension
    ends = (start, stop) if by == "factor" else (start, stop, stride)
    written = tuple(one.unit for one in ends if one.amount and dimension is not Dimension.PLAIN)
    units = () if "" in written else written
    return tuple(quantity_text(Quantity(amount, dimension), units) for amount in amounts)


def _next(amount: Fraction, by: str, stride: Fraction) -> Fraction:
    return amount + stride if by == "step" else amount * stride


def _mixed(one: Quantity, other: Quantity) -> bool:
    return one.dimension is not other.dimension and bool(one.amount) and bool(other.amount)


_SCALAR = {"type": ["string", "number", "boolean"]}
_RANGE_SCHEMA = {
    "type": "object",
    "description": "a range: from, to, and a step or a factor; special values are added",
    "properties": {
        **{key: {"type": ["string", "number"]} for key in ("from", "to", "step", "factor")},
        "special": {"type": "array", "items": _SCALAR},
    },
    "required": ["from", "to"],
    "oneOf": [{"required": ["step"]}, {"required": ["factor"]}],
    "additionalProperties": False,
}
VALUES_SCHEMA: dict[str, Any] = {
    "anyOf": [
        {"type": "array", "items": {"anyOf": [_SCALAR, _RANGE_SCHEMA]}, "minItems": 1},
        _RANGE_SCHEMA,
        {"type": "string", "pattern": "^=", "description": "a formula with facts, such as = 0.25 * ram"},
    ]
}
"""The JSON schema of a setting's values."""
