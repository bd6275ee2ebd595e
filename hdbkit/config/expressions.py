"""Expressions over settings and facts of the host: ``shared_buffers <= 0.4 * ram``.

The language has numbers with units, ``+ - * /``, parentheses, comparisons, ``and``, ``or``, ``not``, ``min``,
``max``, ``round``, names, quoted texts, and the words ``on`` and ``off``. This module interprets the syntax tree
itself, so expressions cannot execute Python code. Sizes combine only with sizes, and times only with times, because a
number without a unit may mean pages or bytes.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Mapping
from fractions import Fraction
from itertools import pairwise
from typing import Self

from hdbkit.config.quantities import UNITS, Dimension, Quantity, quantity
from hdbkit.config.written import Written

Value = Quantity | str | bool
"""A quantity, a text such as ``lz4`` or ``on``, or the result of a condition."""

_MAX_CHARACTERS = 300
_STRANGE = re.compile(r"[^\w\s.+\-*/()<>=!,'\"]", re.ASCII)
_TOKENS = re.compile(r"""'[^']*'|"[^"]*"|(?<![\w.])(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?([A-Za-z]\w*)?""", re.ASCII)
_WRITTEN = "written_{}_"
_WORDS = frozenset({"on", "off"})
_COMPARED: dict[type[ast.cmpop], Callable[[Fraction, Fraction], bool]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}


class ExpressionError(ValueError):
    """An invalid expression; the message continues a sentence that starts with its text."""


class Expression:
    """A parsed expression. ``names`` are its settings, factors and facts."""

    def __init__(self, text: str) -> None:
        self.text = " ".join(text.split())
        self._written: dict[str, Quantity] = {}
        self._tree = self._parsed()
        self.names: frozenset[str] = frozenset(self._names(self._tree))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Expression) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)

    @property
    def is_condition(self) -> bool:
        """Whether it evaluates to true or false, not to a number."""
        tree = self._tree
        return isinstance(tree, ast.Compare | ast.BoolOp) or (
            isinstance(tree, ast.UnaryOp) and isinstance(tree.op, ast.Not)
        )

    def value(self, names: Mapping[str, Value]) -> Value:
        """Evaluate it. Raises ``ExpressionError`` for invalid operations, such as a size plus a time."""
        return self._of(self._tree, names)

    def truth(self, names: Mapping[str, Value]) -> bool:
        """Whether the condition is true. Raises ``ExpressionError``."""
        return _truth(self.value(names))

    # -- parsing -----------------------------------------------------------------------------------------

    def _parsed(self) -> ast.expr:
        if len(self.text) > _MAX_CHARACTERS:
            raise ExpressionError(f"has more than {_MAX_CHARACTERS} characters")
        if strange := _STRANGE.search(self.text):
            raise ExpressionError(f"contains {strange[0]!r}, which is not allowed")
        try:
            return ast.parse(_TOKENS.sub(self._noted, self.text).strip(), mode="eval").body
        except (SyntaxError, MemoryError, RecursionError):
            raise ExpressionError("is not a valid expression; examples: 0.25 * ram, work_mem <= 0.01 * ram") from None

    def _noted(self, found: re.Match[str]) -> str:
        """Replace a number with its unit by a name that Python can parse; keep quoted text."""
        if found[0][0] in "'\"":
            return found[0]
        number = quantity(found[0])
        if number is None:
            raise ExpressionError(f"contains {found[0]}, which has an unknown unit ({UNITS})")
        name = _WRITTEN.format(len(self._written))
        self._written[name] = number
        return f" {name} "

    def _names(self, node: ast.expr) -> set[str]:
        """The names below ``node``. Raises ``ExpressionError`` for syntax outside this language."""
        if isinstance(node, ast.Name | ast.Attribute):
            name = _dotted(node)
            if name.startswith(tuple(f"{written}." for written in self._written)):
                raise ExpressionError("has a dot that is not part of a name")
            return set() if name in self._written or name in _WORDS else {name}
        return set[str]().union(*map(self._names, _parts(node)))

    # -- evaluation --------------------------------------------------------------------------------------

    def _of(self, node: ast.expr, names: Mapping[str, Value]) -> Value:
        if isinstance(node, ast.Name | ast.Attribute):
            return self._named(_dotted(node), names)
        if isinstance(node, ast.BoolOp):
            of_all = all if isinstance(node.op, ast.And) else any
            return of_all(_truth(self._of(value, names)) for value in node.values)
        found = [self._of(part, names) for part in _parts(node)]
        match node:
            case ast.UnaryOp(op=ast.Not()):
                return not _truth(found[0])
            case ast.Compare(ops=ops):
                return all(_compared(op, *pair) for op, pair in zip(ops, pairwise(found), strict=True))
            case ast.Constant(value=constant):
                return constant if isinstance(constant, str) else "on" if constant else "off"
        return _calculated(node, [_number(one) for one in found])

    def _named(self, name: str, names: Mapping[str, Value]) -> Value:
        if name in self._written:
            return self._written[name]
        return name if name in _WORDS and name not in names else names[name]


class Condition(Expression, Written):
    """An expression that is true or false, such as ``shared_buffers <= 0.4 * ram``."""

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read a condition. Raises ``ValueError``."""
        try:
            found = cls(text)
        except ExpressionError as error:
            raise ValueError(f"'{text}' {error}") from None
        if not found.is_condition:
            raise ValueError(f"'{text}' is not a valid condition; example: shared_buffers <= 0.4 * ram")
        return found

    def __str__(self) -> str:
        return self.text


def _parts(node: ast.expr) -> list[ast.expr]:
    """The direct operands of ``node``. Raises ``ExpressionError`` for syntax outside this language."""
    parts: list[ast.expr] | None = None
    match node:
        case ast.Constant(value=bool() | str()):
            parts = []
        case ast.UnaryOp(op=ast.USub() | ast.UAdd() | ast.Not(), operand=operand):
            parts = [operand]
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() | ast.Mult() | ast.Div(), right=right):
            parts = [left, right]
        case ast.BoolOp(values=values):
            parts = values
        case ast.Compare(left=left, ops=ops, comparators=others) if all(type(op) in _COMPARED for op in ops):
            parts = [left, *others]
        case ast.Call(func=ast.Name(id="min" | "max"), args=[_, _, *_] as arguments, keywords=[]):
            parts = arguments
        case ast.Call(func=ast.Name(id="round"), args=[one], keywords=[]):
            parts = [one]
    if parts is None or any(isinstance(part, ast.Starred) for part in parts):
        raise ExpressionError(
            "may only contain numbers, names, + - * /, parentheses, comparisons, min, max and round"
        )
    return parts


def value_of(text: str) -> Value:
    """The value of a setting or a fact: a quantity if the text is one, else the text."""
    return quantity(text) or text


def _dotted(node: ast.expr) -> str:
    """The name of a node: ``a`` or ``a.b``."""
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=inner, attr=last):
            return f"{_dotted(inner)}.{last}"
    raise ExpressionError("has a dot that is not part of a name")


def _number(value: Value) -> Quantity:
    if not isinstance(value, Quantity):
        raise ExpressionError(f"needs a number instead of {_shown(value)}")
    return value


def _truth(value: Value) -> bool:
    if not isinstance(value, bool):
        raise ExpressionError(f"needs a condition instead of {_shown(value)}")
    return value


def _shown(value: Value) -> str:
    if isinstance(value, bool):
        return "a condition"
    return value.dimension.value if isinstance(value, Quantity) else repr(value)


def _same_dimension(left: Quantity, right: Quantity, doing: str) -> Dimension:
    """The common dimension; zero is compatible with every dimension."""
    if left.dimension is not right.dimension and left.amount and right.amount:
        raise ExpressionError(
            f"{doing} {left.dimension.value} and {right.dimension.value}; give both a unit, such as 128MB or 30s"
        )
    return left.dimension if left.amount else right.dimension


def _calculated(node: ast.expr, numbers: list[Quantity]) -> Quantity:
    match node:
        case ast.UnaryOp(op=ast.USub()):
            return Quantity(-numbers[0].amount, numbers[0].dimension, numbers[0].unit)
        case ast.BinOp(op=ast.Add() | ast.Sub() as sign):
            return _added(numbers[0], numbers[1], 1 if isinstance(sign, ast.Add) else -1)
        case ast.BinOp(op=ast.Mult()):
            return _multiplied(*numbers)
        case ast.BinOp():
            return _divided(*numbers)
        case ast.Call(func=ast.Name(id=name)):
            return _called(name, numbers)
    return numbers[0]


def _added(left: Quantity, right: Quantity, sign: int) -> Quantity:
    return Quantity(left.amount + sign * right.amount, _same_dimension(left, right, "adds"))


def _multiplied(left: Quantity, right: Quantity) -> Quantity:
    if Dimension.PLAIN not in (left.dimension, right.dimension):
        raise ExpressionError(f"multiplies {left.dimension.value} and {right.dimension.value}")
    return Quantity(
        left.amount * right.amount, right.dimension if left.dimension is Dimension.PLAIN else left.dimension
    )


def _divided(left: Quantity, right: Quantity) -> Quantity:
    if not right.amount:
        raise ExpressionError("divides by zero")
    if right.dimension is Dimension.PLAIN:
        return Quantity(left.amount / right.amount, left.dimension)
    if left.dimension is not right.dimension:
        raise ExpressionError(f"divides {left.dimension.value} by {right.dimension.value}")
    return Quantity(left.amount / right.amount)


def _compared(by: ast.cmpop, left: Value, right: Value) -> bool:
    compare = _COMPARED[type(by)]
    if isinstance(left, Quantity) and isinstance(right, Quantity):
        _same_dimension(left, right, "compares")
        return compare(left.amount, right.amount)
    if isinstance(by, ast.Eq | ast.NotEq) and not isinstance(left, bool) and not isinstance(right, bool):
        return (left == right) is isinstance(by, ast.Eq)
    raise ExpressionError(f"compares {_shown(left)} and {_shown(right)}")


def _called(name: str, numbers: list[Quantity]) -> Quantity:
    if name == "round":
        return Quantity(Fraction(round(numbers[0].amount)), numbers[0].dimension)
    for one in numbers[1:]:
        _same_dimension(numbers[0], one, "compares")
    chosen = (min if name == "min" else max)(numbers, key=lambda one: one.amount)
    return Quantity(chosen.amount, chosen.dimension)
