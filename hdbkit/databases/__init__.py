"""The engines: a package each, named as the kind of its database, and those of other packages.

A name that starts with an underscore is no engine but what engines share: ``_base`` serves all, ``_mysqlclient`` and
the like those of one driver. Only the packages of engines and drivers import a driver or contain an engine's name.

An entry point leads to an object that follows :class:`hdbkit.contracts.Database`. Its statements are in the folder
``schemas`` next to its module. A package that cannot be used is reported where it is meant, and disturbs no other.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import cast

from hdbkit.config import Target
from hdbkit.config.problems import did_you_mean
from hdbkit.contracts import SERVER, Capability, Database, SchemaOptions, Scope, SessionOptions, SqlSession
from hdbkit.databases._base.database import BaseDatabase, product_named
from hdbkit.databases._base.dbapi import DbapiDatabase
from hdbkit.databases._base.dbapi_session import DbapiSession
from hdbkit.databases._base.probing import TRIED, save_lacks, within_server
from hdbkit.errors import InputError
from hdbkit.sql import add_schemas

__all__ = [
    "TRIED",
    "BaseDatabase",
    "DbapiDatabase",
    "DbapiSession",
    "built_in",
    "database",
    "kind_and_options",
    "kinds",
    "product_named",
    "save_lacks",
    "schema_option_models",
    "sql_session",
    "unusable",
    "within_server",
]


@cache
def built_in() -> list[str]:
    """The kinds of database of hdbkit itself."""
    return sorted(m.name for m in pkgutil.iter_modules(__path__) if not m.name.startswith("_"))


def kinds() -> list[str]:
    """The supported kinds of database, also those of other packages that can be used."""
    return sorted({*built_in(), *(kind for kind, one in external().items() if one.engine is not None)})


def kind_and_options(name: str) -> tuple[str, Mapping[str, str]]:
    """The kind of database of hdbkit itself that goes by this name, or the name, and the options that it implies."""
    if name not in built_in():
        for kind in built_in():
            if (implied := cast(BaseDatabase, database(kind)).also_named.get(name)) is not None:
                return kind, implied
    return name, {}


def unusable() -> dict[str, str]:
    """By kind, why the engine of another package cannot be used: one sentence."""
    return {kind: one.problem for kind, one in external().items() if one.engine is None and kind not in built_in()}


def database(of: Target | str) -> Database:
    """The engine of a target, or of a kind in general. Raises ``InputError`` for an unknown or unusable kind."""
    if isinstance(of, Target):
        return database(of.kind).at(of)
    if of in built_in():
        return cast(Database, importlib.import_module(f"hdbkit.databases.{of}").DATABASE)
    found = external().get(of)
    if found is None:
        known = kinds()
        raise InputError(f"there is no kind of database '{of}' (known: {', '.join(known)}).{did_you_mean(of, known)}")
    if found.engine is None:
        raise InputError(found.problem)
    return found.engine


def schema_option_models() -> dict[str, type[SchemaOptions]]:
    """By kind of database, the model of its storage options; needs no driver."""
    return {kind: database(kind).schema_options for kind in kinds()}


def sql_session(target: Target, scope: Scope = SERVER, options: SessionOptions | None = None) -> SqlSession:
    """A session of an SQL engine. Raises ``InputError`` for other engines."""
    engine = database(target)
    if Capability.SQL not in engine.capabilities:
        raise InputError(f"{engine.title} does not support SQL")
    return cast(SqlSession, engine.connect(target, scope, options))


ENTRY_POINTS = "hdbkit.databases"
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
    for one in entry_points(group=ENTRY_POINTS):
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
