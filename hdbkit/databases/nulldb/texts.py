"""Descriptions of a workload for the null engine: named texts in ``schemas/nulldb/<workload>/``, of two types.

A **count** is a sum of products. A factor is a whole number, a field of the specification of the built schema, or
``commits(operation)``: the number of commits of that operation in this database.

    -- name: count_sales
    100 * shops + commits(sell)

An **operation** needs a text only if it can be rolled back by design. The text lists its parameters in order and the
condition: a value, or any element of an array, is greater than a number.

    -- name: sell
    (:shop, :things) ROLLBACK IF :things > 5000

The null engine ignores all other texts, such as SQL for all engines.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping

from hdbkit.contracts import Arguments
from hdbkit.sql import Statement

_FACTOR = r"(?:\d+|\w+|commits\(\w+\))"
_TERM = rf"{_FACTOR}(?:\s*\*\s*{_FACTOR})*"
_COUNT = re.compile(rf"{_TERM}(?:\s*\+\s*{_TERM})*")
_COMMITS = re.compile(r"commits\((\w+)\)")
_ROLLBACK = re.compile(r"\bROLLBACK IF :(\w+) > (\d+)$")


def is_count(statement: Statement | None) -> bool:
    """Whether a text is a count."""
    return statement is not None and _COUNT.fullmatch(statement.text) is not None


def count_of(text: str, spec: Mapping[str, object], totals: Mapping[str, int]) -> int:
    """The value of a count."""

    def factor(word: str) -> int:
        operation = _COMMITS.fullmatch(word)
        if operation:
            return totals.get(operation[1], 0)
        return int(word) if word.isdigit() else int(str(spec[word]))

    return sum(math.prod(factor(word.strip()) for word in term.split("*")) for term in text.split("+"))


def by_design(statement: Statement | None) -> Callable[[Arguments], bool]:
    """A predicate: whether a call with given arguments is rolled back by design."""
    rule = _ROLLBACK.search(statement.text) if statement is not None else None
    if statement is None or rule is None:
        return lambda _: False
    position, bound = statement.parameters.index(rule[1]), int(rule[2])

    def is_above(arguments: Arguments) -> bool:
        value = arguments[position]
        return bool((max(value) if isinstance(value, tuple) else value) > bound)

    return is_above
