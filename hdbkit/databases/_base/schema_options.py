"""Storage options of a specification as the engine's model."""

from __future__ import annotations

from collections.abc import Mapping

from hdbkit.contracts import Database, SchemaOptions
from hdbkit.errors import InputError


def options_of(engine: Database, storage: Mapping[str, object]) -> SchemaOptions:
    """Validate ``WorkloadSpec.storage`` for an engine.

    Raises:
        InputError: the engine does not have an option; the message lists its options.
        ConfigErrors: an option has an invalid value.
    """
    known = list(engine.schema_options.model_fields)
    for name in storage:
        if name not in known:
            raise InputError(f"{engine.title} has no schema option '{name}' (it has: {', '.join(known) or 'none'})")
    return engine.schema_options(**storage)
