"""The body of a request: JSON within limits, which are checked before any model reads it."""

from __future__ import annotations

import json
from typing import Any

from hdbkit.errors import ConfigErrors, Problem

MAX_DEPTH = 32
"""Lists and objects within each other in a request."""
MAX_VALUES = 10_000


def content_of(kind: str, body: bytes) -> Any:
    """The content of a request, which is JSON within limits. Raises ``ConfigErrors``."""
    if kind.partition(";")[0].strip().lower() != "application/json":
        raise _invalid("must be JSON, with the header Content-Type: application/json")
    try:
        found = json.loads(body, parse_constant=_not_a_number)
    except json.JSONDecodeError as error:
        raise _invalid(f"must be JSON: {error.msg.lower()} at character {error.pos}") from None
    except ValueError as error:  # the text is not UTF-8, or a number has thousands of digits
        raise _invalid(f"must be JSON: {error}") from None
    except RecursionError:
        raise _invalid(f"may have at most {MAX_DEPTH} lists and objects within each other") from None
    values, depth, count = [found], 0, 1
    while values := [inner for one in values for inner in _inner(one)]:
        depth, count = depth + 1, count + len(values)
        if depth > MAX_DEPTH:
            raise _invalid(f"may have at most {MAX_DEPTH} lists and objects within each other")
        if count > MAX_VALUES:
            raise _invalid(f"may have at most {MAX_VALUES:,} values")
    return found


def _inner(value: Any) -> Any:
    return value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()


def _not_a_number(text: str) -> float:
    raise ValueError(f"{text} is not a number")


def _invalid(what: str) -> ConfigErrors:
    return ConfigErrors("the request", [Problem("the body", what)])
