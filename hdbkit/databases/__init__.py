"""The engines. Only the file of an engine imports its driver and contains its name."""

from __future__ import annotations

import importlib
import pkgutil
from typing import cast

from hdbkit.config import Target
from hdbkit.config.problems import did_you_mean
from hdbkit.contracts import SERVER, Capability, Database, SchemaOptions, Scope, SessionOptions, SqlSession
from hdbkit.databases._base import BaseDatabase
from hdbkit.errors import InputError

__all__ = ["BaseDatabase", "database", "kinds", "schema_option_models", "sql_session"]


def kinds() -> list[str]:
    """The supported kinds of database."""
    return sorted(m.name for m in pkgutil.iter_modules(__path__) if not m.name.startswith("_"))


def database(of: Target | str) -> Database:
    """The engine of a target, or of a kind in general. Raises ``InputError`` for an unknown kind."""
    if isinstance(of, Target):
        return database(of.kind).at(of)
    kind, known = of, kinds()
    if kind not in known:
        raise InputError(
            f"there is no kind of database '{kind}' (known: {', '.join(known)}).{did_you_mean(kind, known)}"
        )
    return cast(Database, importlib.import_module(f"hdbkit.databases.{kind}").DATABASE)


def schema_option_models() -> dict[str, type[SchemaOptions]]:
    """By kind of database, the model of its storage options; needs no driver."""
    return {kind: database(kind).schema_options for kind in kinds()}


def sql_session(target: Target, scope: Scope = SERVER, options: SessionOptions | None = None) -> SqlSession:
    """A session of an SQL engine. Raises ``InputError`` for other engines."""
    engine = database(target)
    if Capability.SQL not in engine.capabilities:
        raise InputError(f"{engine.title} does not support SQL")
    return cast(SqlSession, engine.connect(target, scope, options))
