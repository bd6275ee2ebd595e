"""A specification's options of a schema, as the engine's own model takes them."""

from __future__ import annotations

from collections.abc import Mapping

from hdbkit.contracts import Database, SchemaOptions
from hdbkit.errors import InputError


def options_of(engine: Database, storage: Mapping[str, object]) -> SchemaOptions:
    """The options of ``WorkloadSpec.storage`` for an engine.

    Raises:
        InputError: the engine has no such option; the sentence names those that it has.
        ConfigErrors: an option has a wrong value.
    """
    known = list(engine.schema_options.model_fields)
    for name in storage:
        if name not in known:
            raise InputError(f"{engine.title} has no schema option '{name}' (it has: {', '.join(known) or 'none'})")
    return engine.schema_options(**storage)
