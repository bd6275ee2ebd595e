"""Engines whose servers differ: the server of a target decides what the engine is."""

from __future__ import annotations

from functools import lru_cache

from hdbkit.config import Target
from hdbkit.contracts import SERVER, Scope, SessionOptions
from hdbkit.databases._base.dbapi import DbapiDatabase
from hdbkit.databases._base.dbapi_session import DbapiSession


class ExploredDatabase(DbapiDatabase):
    """An engine whose servers differ: with a target it is what its server is, else the engine in general."""

    def __init__(self, target: Target | None = None) -> None:
        self._target = target

    def at(self, target: Target) -> DbapiDatabase:
        """The engine of this server, one in a process."""
        return engine_at(type(self), target)

    def connect(self, target: Target, scope: Scope = SERVER, options: SessionOptions | None = None) -> DbapiSession:
        """A session of the target's own engine."""
        if self._target is None:
            return self.at(target).connect(target, scope, options)
        return super().connect(target, scope, options)


@lru_cache(maxsize=64)
def engine_at(kind: type[ExploredDatabase], target: Target) -> ExploredDatabase:
    """An engine of this kind that is what the server of a target is."""
    return kind(target)
