"""Engines of other packages: entry points of the group ``hdbkit.databases``, each named as the kind of its database.

An entry point leads to an object that follows :class:`hdbkit.contracts.Database`. Its statements are in the folder
``schemas`` next to its module. A package that cannot be used is reported where it is meant, and disturbs no other.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import cast

from hdbkit.contracts import Database
from hdbkit.sql import add_schemas

GROUP = "hdbkit.databases"
_SCHEMAS = "schemas"


@dataclass(frozen=True)
class External:
    """An engine of another package, or the sentence why it cannot be used."""

    package: str
    engine: Database | None
    problem: str = ""


@cache
def external() -> Mapping[str, External]:
    """The engines of other packages by kind."""
    found: dict[str, External] = {}
    for one in entry_points(group=GROUP):
        package = one.dist.name if one.dist else one.module
        if one.name in found:
            problem = f"the packages {found[one.name].package} and {package} both have a database '{one.name}'"
            found[one.name] = External(package, None, f"{problem}; remove one of them")
        else:
            found[one.name] = _loaded(one, package)
    return found


def _loaded(one: EntryPoint, package: str) -> External:
    try:
        _add_schemas(one.module)
        engine = one.load()
    except Exception as error:
        return _unusable(one, package, f"{type(error).__name__}: {error}")
    missing = [name for name in _members() if not hasattr(engine, name)]
    if missing:
        return _unusable(one, package, f"{one.value} lacks {', '.join(missing)}")
    if engine.kind != one.name:
        return _unusable(one, package, f"its kind is '{engine.kind}'")
    return External(package, cast(Database, engine))


def _add_schemas(module: str) -> None:
    """Make its statements known before the module is imported, which may use them."""
    found = find_spec(module)
    folder = Path(found.origin).parent / _SCHEMAS if found and found.origin else None
    if folder is not None and folder.is_dir():
        add_schemas(folder)


def _unusable(one: EntryPoint, package: str, reason: str) -> External:
    text = f"the database '{one.name}' of the package {package} cannot be used ({reason}); correct or remove it"
    return External(package, None, text)


def _members() -> list[str]:
    """What the contract demands."""
    return [name for name in {**Database.__annotations__, **vars(Database)} if not name.startswith("_")]
