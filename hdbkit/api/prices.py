"""What the compared values of settings can lose, so that no gain is shown without its price."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress

from hdbkit.analysis.comparison.sides import SETTING
from hdbkit.config.prices import price_of
from hdbkit.databases import database
from hdbkit.errors import HdbkitError
from hdbkit.later import pandas as pd
from hdbkit.results.finding import Price
from hdbkit.sql import ANSI

_BESIDE_SETTINGS = ("load.", "workload.", "target.options.")
"""Where else a value that has a price can be among differences."""


def prices_of_cells(kind: str, configurations: Sequence[Mapping[str, str]]) -> tuple[Price, ...]:
    """The prices of settings that differ between configurations of one engine."""
    values: dict[str, dict[str, None]] = {}
    for configuration in configurations:
        for setting, value in configuration.items():
            values.setdefault(setting, {})[value] = None
    return _prices((kind, "", setting, value) for setting, each in values.items() if len(each) > 1 for value in each)


def prices_of_sides(kinds: Sequence[str], names: Sequence[str], differences: pd.DataFrame) -> tuple[Price, ...]:
    """The prices of what differs between two sides; ``differences`` are those of a comparison."""
    return _prices(
        (kind, name, setting, str(value))
        for what, *both in differences.itertuples()
        if (setting := _setting(str(what)))
        for kind, name, value in zip(kinds, names, both, strict=True)
        if value != ""
    )


def _setting(what: str) -> str:
    return next((what.removeprefix(part) for part in (SETTING, *_BESIDE_SETTINGS) if what.startswith(part)), "")


def _prices(values: Iterable[tuple[str, str, str, str]]) -> tuple[Price, ...]:
    """Those of engine, side, setting and value."""
    return tuple(
        Price(setting=setting, value=value, of=of, event=price.event, lost=price.lost, reference=price.reference)
        for kind, of, setting, value in values
        if (price := price_of(_dialects(kind), setting, value)) is not None
    )


def _dialects(kind: str) -> tuple[str, ...]:
    with suppress(HdbkitError):
        return database(kind).dialects
    return (ANSI, kind)
