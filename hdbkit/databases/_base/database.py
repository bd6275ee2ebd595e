"""What engines answer alike: each question to a server is a named statement, and one that is missing is not answered.

An engine that follows :class:`hdbkit.contracts.Database` inherits from :class:`BaseDatabase` and overrides what it
knows better. ``hdbkit engine check`` lists the statements that an engine does not have.

Where a connection failed, ``product_named`` finds which product listens: by what servers send first, or answer to a
request. An engine states in ``recognized_by`` what is sent to an address, and what its servers answer.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from types import MappingProxyType
from typing import Any, cast

from hdbkit.config import Target
from hdbkit.contracts import ApplyBy, Capability, Database, Row, SchemaOptions, Scope, Session
from hdbkit.databases._base.access import check_options
from hdbkit.errors import CannotConnect, InputError, NoneFree, NothingListens, NotReady
from hdbkit.readings import (
    Disturbance,
    Footprint,
    Found,
    LockHolder,
    MissingGrant,
    ServerEvent,
    ServerRole,
    StatementLimit,
    Timeout,
    WriteCycle,
    answered,
)
from hdbkit.sql import ANSI, SERVER_STATEMENTS, statements


class BaseDatabase(Database):
    """Contract: :class:`hdbkit.contracts.Database`, except ``connect``, ``schema`` and ``driver_version``."""

    also_named: Mapping[str, Mapping[str, str]] = MappingProxyType({})
    """Other names of the kind in URLs, each with the options of the target that it stands for."""
    recognized_by: tuple[bytes, bytes] = (b"", b"")
    """A request, empty for a server that speaks first, and a pattern of the answer by which its servers are known."""
    dialects: tuple[str, ...] = (ANSI,)
    capabilities: frozenset[Capability] = frozenset()
    probed: Found = Found()
    """What the server answered when it was asked what it is; empty if it is not asked."""
    options: tuple[str, ...] = ()
    """The names of a target's options."""
    option_values: Mapping[str, Collection[str]] = MappingProxyType({})
    """The known values of options that have few."""

    def check_options(self, target: Target) -> None:
        """Check the names of the options, and the values of those that have few."""
        check_options(target, self.options, self.option_values)

    def asked(self, session: Session, operation: str, /, **arguments: Any) -> list[Row]:
        """The answer to a question of the server; no row if the engine has no such statement."""
        return session.ask(operation, **arguments) if operation in self._known() else []

    def _known(self) -> Mapping[str, Any]:
        return statements(self.dialects, SERVER_STATEMENTS)

    def version(self, session: Session) -> str:
        """By the statement ``server_version``."""
        rows = self.asked(session, "server_version")
        return f"{self.title} {rows[0][0]}" if rows else self.title

    def role(self, session: Session) -> ServerRole:
        """By the statement ``role``; else a primary. Raises ``InputError`` for another answer."""
        rows = self.asked(session, "role")
        given = rows[0][0] if rows else ServerRole.PRIMARY
        if given not in {*ServerRole}:
            known = ", ".join(ServerRole)
            raise InputError(f"the statement role of {self.title} must return one of {known}, not {given!r}")
        return ServerRole(given)

    def free_connections(self, session: Session) -> int | None:
        """By the statement ``free_connections``: the smallest of its columns, of which null is no limit."""
        rows = self.asked(session, "free_connections")
        limits = [int(limit) for row in rows for limit in row if limit is not None]
        return max(0, min(limits)) if limits else None

    def schema_objects(self, session: Session) -> dict[tuple[str, str], str]:
        """By the statement ``list_objects``; else the names of tables, indexes and routines."""
        if rows := self.asked(session, "list_objects"):
            return {(str(kind), str(name)): str(definition) for kind, name, definition in rows}
        kinds = {"list_tables": "table", "list_indexes": "index", "list_routines": "routine"}
        return {(kind, str(row[0])): "" for listed, kind in kinds.items() for row in self.asked(session, listed)}

    def statement_limit(self, session: Session) -> StatementLimit | None:
        """By the statement ``statement_limit``; null is unknown, as on a server that counts nothing."""
        rows = self.asked(session, "statement_limit")
        return StatementLimit(str(rows[0][0]), *map(int, rows[0][1:])) if rows and None not in rows[0] else None

    def read_only_by(self, session: Session) -> str:
        """By the statement ``read_only_by``."""
        return "".join(str(sentence) for (sentence,) in self.asked(session, "read_only_by"))

    def lift_limits(self, session: Session) -> None:
        """By the statement ``lift_limits``."""
        self.asked(session, "lift_limits")

    def timeouts(self, session: Session) -> list[Timeout]:
        """By the statement ``timeouts``: what ends, after how many milliseconds, and who sets that."""
        return [Timeout(ends, float(ms) / 1000, setter) for ends, ms, setter in self.asked(session, "timeouts")]

    def disturbances(self, session: Session) -> list[Disturbance]:
        """By the statement ``disturbing_settings``: name, value, effect."""
        return [Disturbance(*map(str, row)) for row in self.asked(session, "disturbing_settings")]

    def write_cycle(self, session: Session) -> WriteCycle | None:
        """By the statement ``write_cycle``: setting, value, seconds."""
        rows = self.asked(session, "write_cycle")
        return WriteCycle(str(rows[0][0]), str(rows[0][1]), float(rows[0][2])) if rows else None

    def clock_s(self, session: Session) -> float | None:
        """By the statement ``clock``: seconds since 1970."""
        rows = self.asked(session, "clock")
        return float(rows[0][0]) if rows else None

    def long_answer(self, session: Session, size: int) -> int:
        """By the statement ``long_answer``."""
        return sum(len(text or "") for (text,) in self.asked(session, "long_answer", size=size))

    def lock_holders(self, session: Session, number: int) -> list[LockHolder]:
        """By the statement ``lock_holders``, else ``lock_holders_plain``, which an account seldom may not read."""
        for name in ("lock_holders", "lock_holders_plain"):
            rows = answered(partial(self.asked, session, name, number=number), list[Row]())
            if rows:
                return [LockHolder.of(*row) for row in rows]
        return []

    def counters(self, session: Session) -> dict[str, float]:
        """By the statement ``counters``: a row for each, name and value."""
        return {str(name): float(value or 0) for name, value in self.asked(session, "counters")}

    def recent_events(self, session: Session) -> list[ServerEvent]:
        """By the statement ``recent_events``: kind, text, and age in seconds."""
        return [
            ServerEvent(str(kind), str(text), float(age)) for kind, text, age in self.asked(session, "recent_events")
        ]

    def footprint(self, session: Session) -> Footprint | None:
        """By the statement ``footprint``: size of the data, the setting of the cache's size, and that size."""
        rows = self.asked(session, "footprint")
        return Footprint(int(rows[0][0]), str(rows[0][1]), int(rows[0][2])) if rows else None

    def advised_grants(self, session: Session) -> list[MissingGrant]:
        """By the statement ``advised_grants``: the command, and what is missing without it."""
        return [MissingGrant(*map(str, row)) for row in self.asked(session, "advised_grants")]

    def missing_grants(
        self, session: Session, changes: Mapping[str, ApplyBy], *, kept: bool, applied: bool
    ) -> list[str]:
        """By the statement ``grants_to_set``: what lets this account change settings, whichever they are."""
        return [str(command) for (command,) in self.asked(session, "grants_to_set")] if kept or applied else []

    def settings_of(self, session: Session) -> dict[str, dict[str, Any]]:
        """By the statement ``read_settings``: name, value, unit, default, whether it was changed."""
        return {
            str(name): {"value": value, "unit": unit, "default": default, "changed": bool(changed)}
            for name, value, unit, default, changed in self.asked(session, "read_settings")
        }

    def loading_session(self, session: Any, target: Target, scope: Scope) -> Any:
        """Any session can load."""
        return session


def validated_options(engine: Database, storage: Mapping[str, object]) -> SchemaOptions:
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


_ANSWER_S = 2.0
_SILENCE_S = 0.5
_ANSWER_BYTES = 128


@contextmanager
def product_named(target: Target) -> Iterator[None]:
    """Name the product that listens there in an error of the block, if it is another than the target's."""
    try:
        yield
    except CannotConnect as error:
        found = None if isinstance(error, NothingListens | NoneFree | NotReady) else _found(target)
        if found is None or found.kind == target.kind:
            raise
        reason = f"a server of {found.title} listens there ({error.reason})"
        raise type(error)(error.target, reason, f"name it {target.with_(kind=found.kind).url}") from None


def _found(target: Target) -> BaseDatabase | None:
    """The engine whose servers answer as that at the target's address; None if there is none.

    Nothing is asked for an engine that may speak the protocol of another.
    """
    from hdbkit import databases  # which imports this module

    own = databases.database(target)
    host, port = target.host or "localhost", target.port or own.default_port
    if port is None or host.startswith("/") or not getattr(own, "recognized_by", ("", ""))[1]:
        return None
    engines = [cast(BaseDatabase, databases.database(kind)) for kind in databases.built_in()]
    answers: dict[bytes, bytes] = {}
    for engine in sorted(engines, key=lambda one: one.recognized_by):  # first those that speak unasked
        request, sign = engine.recognized_by
        if sign and request not in answers:
            answers[request] = _answer(host, port, request)
        if sign and re.match(sign, answers[request], re.DOTALL):
            return None if isinstance(own, type(engine)) else engine  # a variant of its own
    return None


def _answer(host: str, port: int, request: bytes) -> bytes:
    with suppress(OSError), socket.create_connection((host, port), _ANSWER_S) as connection:
        connection.settimeout(_ANSWER_S if request else _SILENCE_S)
        connection.sendall(request)
        return connection.recv(_ANSWER_BYTES)
    return b""
