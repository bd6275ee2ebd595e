"""Values of settings in the order a reader expects: 8MB before 64MB, and 1GB after both; words as they came."""

from __future__ import annotations

import pandas as pd

_UNITS = {
    "": 1.0,
    "kb": 2.0**10,
    "mb": 2.0**20,
    "gb": 2.0**30,
    "tb": 2.0**40,
    "ms": 1e-3,
    "s": 1,
    "min": 60,
    "h": 3600,
}


def natural(values: pd.Index) -> pd.Index:
    """A sort key for an index of values: sizes and numbers by their worth, then words in the order of the index."""
    worth = {value: _worth(str(value)) for value in values}
    ranks = {value: rank for rank, value in enumerate(sorted(worth, key=lambda one: worth[one]))}
    return values.map(ranks)


def _worth(text: str) -> float:
    number = text.rstrip("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ ")
    unit = text[len(number) :].strip().lower()
    try:
        return float(number) * _UNITS[unit]
    except (ValueError, KeyError):
        return float("inf")
