"""The settings that whoever has a token of a service or an agent may change: numbers, switches and choices.

The server's own description says what a setting is. A text may name a program, a library, a file or an address, so an
administrator has to name such a setting; one that guards the access of others is never changed by a token.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from fnmatch import fnmatchcase

from hdbkit.config import Target
from hdbkit.config.served import served_texts
from hdbkit.contracts import Database, Setting
from hdbkit.databases import database
from hdbkit.servers.values import is_switch

_TYPED = frozenset({"bool", "enum", "integer", "real", "size"})
"""Types whose values, which the server's description bounds, name nothing."""
_PLAIN = re.compile(r"[\w.,:=+* -]*", re.ASCII)
"""A text of words and numbers alone."""


def unpermitted_here(
    target: Target, tried: Mapping[str, Collection[str]], settings: Callable[[], Mapping[str, Setting]]
) -> list[str]:
    """Why a process of a service must not try these values of settings; nothing outside a service."""
    named = served_texts()
    return [] if named is None or not tried else [*unpermitted(database(target), settings(), tried, named).values()]


def unpermitted(
    engine: Database, known: Mapping[str, Setting], changes: Mapping[str, Collection[str]], named: Collection[str]
) -> dict[str, str]:
    """The settings among ``changes`` that a token must not change, each with why; ``named``: texts that it may."""
    checked = {
        name: _guards_access(engine, name) or _of_type(engine, known.get(name), name, values, named)
        for name, values in changes.items()
    }
    return {name: why for name, why in checked.items() if why}


def _guards_access(engine: Database, name: str) -> str:
    plain = name.lower().replace("-", "_")
    if any(fnmatchcase(plain, pattern) for pattern in engine.access_settings):
        return f"{name} opens, guards or records the access of others; whoever has a token does not change it"
    return ""


def _of_type(
    engine: Database, setting: Setting | None, name: str, values: Collection[str], named: Collection[str]
) -> str:
    if setting is None:
        return f"the server describes no setting '{name}', so that it is not known what it may name"
    if setting.kind in _TYPED or name in named:
        return ""
    texts = [*map(str, values), setting.value]
    if all(map(is_switch, texts)):  # some servers describe switches as texts
        return ""
    if name in engine.plain_texts or (setting.kind == "list" and _only_choices(setting, texts)):
        wrong = next((one for one in texts if not _PLAIN.fullmatch(one)), None)
        return "" if wrong is None else f"{name}: '{wrong}' is not a list of words and numbers"
    return (
        f"{name} is a text setting, which may name a program, file or address; whoever has a token changes it only "
        f"where the service or agent was started with --text-setting {name}"
    )


def _only_choices(setting: Setting, texts: Collection[str]) -> bool:
    known = {one.lower() for one in setting.choices}
    return bool(known) and all(word in known for one in texts for word in _words(one))


def _words(text: str) -> Iterator[str]:
    return filter(None, (one.strip().lower() for one in text.split(",")))
