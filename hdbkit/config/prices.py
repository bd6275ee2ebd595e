"""What values of settings can lose, beside a gain in speed: declared by engine in ``schemas/*/server/price.yaml``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from types import MappingProxyType

from pydantic import Field

from hdbkit.config.model import ConfigModel
from hdbkit.later import yaml
from hdbkit.sql import SERVER_STATEMENTS, folder_of_dialect

_FILE = "price.yaml"
_SPELT = {"off": ("false", "no", "f", "n", "0"), "on": ("true", "yes", "t", "y", "1")}
_WORDS = {other: word for word, others in _SPELT.items() for other in others}
"""Other spellings of a switch."""


class DeclaredPrice(ConfigModel):
    """What some values of a setting can lose, and when."""

    setting: str
    values: tuple[str, ...] = ()
    but: tuple[str, ...] = Field(default=(), description="without ``values``: the values that lose nothing")
    event: str = Field(description="what has to happen, as a subject: a crash of the server")
    lost: str = Field(description="what it can lose, as an object")
    reference: str

    def is_of(self, value: str) -> bool:
        """Whether a value of its setting loses this."""
        plain = value.lower().replace("_", " ").strip()
        spellings = {plain, _WORDS.get(plain, plain)}
        return bool(spellings & {*self.values}) if self.values else not spellings & {*self.but}


@cache
def declared_prices(dialects: tuple[str, ...]) -> Mapping[str, tuple[DeclaredPrice, ...]]:
    """By setting, in lower case; the last of ``dialects`` that has a setting takes precedence."""
    found: dict[str, tuple[DeclaredPrice, ...]] = {}
    for dialect in dialects:
        path = folder_of_dialect(dialect) / SERVER_STATEMENTS / _FILE
        rows = yaml.safe_load(path.read_text(encoding="utf-8")) if path.is_file() else []
        own: dict[str, tuple[DeclaredPrice, ...]] = {}
        for price in (DeclaredPrice(**row) for row in rows):
            own[price.setting] = (*own.get(price.setting, ()), price)
        found |= own
    return MappingProxyType(found)


def price_of(dialects: tuple[str, ...], setting: str, value: str) -> DeclaredPrice | None:
    """What a value can lose; None where that is nothing, or not known."""
    return next((one for one in _of_setting(dialects, setting) if one.is_of(value)), None)


def _of_setting(dialects: tuple[str, ...], setting: str) -> Iterable[DeclaredPrice]:
    return declared_prices(dialects).get(setting.lower(), ())
