"""The engines: a package each, named as the kind of its database, and those of other packages.

A name that starts with an underscore is no engine but what engines share: ``_base`` serves all, ``_mysqlclient`` and
the like those of one driver. Only the packages of engines and drivers import a driver or contain an engine's name.
"""

from __future__ import annotations

import importlib
import pkgutil
from typing import cast

from hdbkit.config import Target
from hdbkit.config.problems import did_you_mean
from hdbkit.contracts import SERVER, Capability, Database, SchemaOptions, Scope, SessionOptions, SqlSession
from hdbkit.databases._base.database import BaseDatabase
from hdbkit.databases._base.dbapi import DbapiDatabase, DbapiSession
from hdbkit.databases._base.product import product_named
from hdbkit.databases._external import external
from hdbkit.errors import InputError

__all__ = [
    "BaseDatabase",
    "DbapiDatabase",
    "DbapiSession",
    "built_in",
    "database",
    "kind_of",
    "kinds",
    "product_named",
    "schema_option_models",
    "sql_session",
    "unusable",
]


def built_in() -> list[str]:
    """The kinds of database of hdbkit itself."""
    return sorted(m.name for m in pkgutil.iter_modules(__path__) if not m.name.startswith("_"))


def kinds() -> list[str]:
    """The supported kinds of database, also those of other packages that can be used."""
    return sorted({*built_in(), *(kind for kind, one in external().items() if one.engine is not None)})


def kind_of(name: str) -> str:
    """The kind of database of hdbkit itself that goes by this name; else the name itself."""
    if name in built_in():
        return name
    return next((kind for kind in built_in() if name in cast(BaseDatabase, database(kind)).also_named), name)


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
