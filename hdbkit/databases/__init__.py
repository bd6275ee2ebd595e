"""The engines. Each file here is the only place that imports its driver and knows its name."""

from __future__ import annotations

import importlib
import pkgutil
from typing import cast

from hdbkit.config import Target
from hdbkit.config.problems import did_you_mean
from hdbkit.contracts import SERVER, Capability, Database, SchemaOptions, Scope, SessionOptions, SqlSession
from hdbkit.errors import InputError


def kinds() -> list[str]:
    """The kinds of database that there is a file for."""
    return sorted(m.name for m in pkgutil.iter_modules(__path__) if not m.name.startswith("_"))


def database(kind: str) -> Database:
    """The engine of a kind. Raises ``InputError`` for one that there is no file for."""
    known = kinds()
    if kind not in known:
        raise InputError(f"there is no database '{kind}' (known: {', '.join(known)}).{did_you_mean(kind, known)}")
    return cast(Database, importlib.import_module(f"hdbkit.databases.{kind}").DATABASE)


def schema_option_models() -> dict[str, type[SchemaOptions]]:
    """By kind of database, the model of the options that a schema has on it alone; no driver is needed."""
    return {kind: database(kind).schema_options for kind in kinds()}


def sql_session(target: Target, scope: Scope = SERVER, options: SessionOptions | None = None) -> SqlSession:
    """A session of an engine that speaks SQL. Raises ``InputError`` for one that does not."""
    engine = database(target.kind)
    if Capability.SQL not in engine.capabilities:
        raise InputError(f"the {engine.title} does not speak SQL")
    return cast(SqlSession, engine.connect(target, scope, options))
