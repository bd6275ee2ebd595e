"""Sessions through a connection pooler, and how the pooler is found.

A pooler such as PgBouncer accepts no settings at startup. With transaction pooling, each transaction may be on
another connection of the server: :class:`PooledSession` leaves nothing behind a transaction, where others would find
it.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from contextlib import ExitStack, closing, suppress
from functools import partial
from select import POLLIN, poll
from typing import Any

from hdbkit.config import Isolation, Target
from hdbkit.contracts import Row, SessionOptions
from hdbkit.databases.postgresql.connect import UNLIMITED, session_settings
from hdbkit.databases.postgresql.connect_errors import connect_error
from hdbkit.databases.postgresql.session import BoundCall, PsycopgSession
from hdbkit.errors import CannotConnect, RolledBackByDesign, TransactionError
from hdbkit.readings import POOL_LIMITS, Pooling, PoolMode, answered
from hdbkit.sql import SERVER_STATEMENTS, find
from hdbkit.statement import Statement

_TRIES = 3
_ANSWER_S = 5.0
"""How long the pooler may take to find a connection of the server."""


class PooledSession(PsycopgSession):
    """A session without state outside transactions: the settings are part of each transaction."""

    def __init__(
        self, session: PsycopgSession, settings: Mapping[str, Any], isolation: Isolation | None, prepared: bool
    ) -> None:
        super().__init__(session.connection, session.dialects, session.scope, prepares=prepared)
        begin = f"BEGIN ISOLATION LEVEL {isolation.replace('_', ' ')}" if isolation else "BEGIN"
        self._opening = (begin.encode(), *map(self._set_local, settings.items()))
        self._lock_limit = tuple(self._set_local(one) for one in settings.items() if one[0] == "lock_timeout")
        """Alone, it is no reason to begin a transaction, in which not everything may be done."""

    def _set_local(self, setting: tuple[str, Any]) -> bytes:
        name, value = setting
        return self._find("set_local").filled({"name": name, "value": value}).text.encode()

    def lift_limits(self) -> None:
        """In each transaction."""
        lifted = self.query("lift_own_limits", in_transaction="true")
        self._opening += tuple(self._set_local((name, wanted)) for name, wanted, _ in lifted)

    def client_path(self) -> str:
        """The driver's, with what is sent besides each operation."""
        return f"psycopg, transaction pooling{'' if self._prepares else ', nothing prepared'}"

    def _rows_for(self, statement: Statement, arguments: dict[str, Any]) -> list[Row]:
        """Outside ``begin``, settings require a transaction of the statement's own."""
        if self._begun or self._opening[1:] in ((), self._lock_limit):
            return super()._rows_for(statement, arguments)
        self.begin()
        rows = super()._rows_for(statement, arguments)
        self.commit()
        return rows

    def perform(self, bound: BoundCall) -> Any:
        """Perform one whole transaction: its begin, settings and commit are in the same round trip."""
        result = self.perform_all([bound])[0]
        if not result.ntuples and bound[0] in self._attempts:
            raise RolledBackByDesign
        return result

    def _send_one(self, bound: BoundCall) -> None:
        self._send_all([bound])
        self._finished = partial(self._one_behind, bound, self._finished)

    def _one_behind(self, bound: BoundCall, results: Callable[[Any], Any], received: Any) -> Any:
        return self._one_of(bound, results(received)[:1])


def fitting_session(
    session: PsycopgSession, target: Target, pooling: Pooling | None, options: SessionOptions
) -> PsycopgSession:
    """The session for a kind of pooler, with its settings; None: it is not known yet whether there is one.

    Raises:
        CannotConnect: the pooler has no connection of the server for it.
    """
    try:
        if pooling is None and is_pooled(session):
            pooling = Pooling(PoolMode.TRANSACTION, prepared=False)
        if pooling is None or pooling.mode is PoolMode.DIRECT:
            return session
        settings = session_settings(session.scope.schema, options)
        if pooling.mode is PoolMode.TRANSACTION or not pooling.prepared:
            if options.pooling is None:
                _check_transactions(session)
            return PooledSession(session, settings, options.isolation, pooling.prepared and options.reuses_plans)
        _use_settings(session, settings, options.isolation)
    except TransactionError as error:
        session.close()
        raise connect_error(target, error.text.partition("\n")[0]) from None
    return session


def _check_transactions(session: PsycopgSession) -> None:
    """Raise ``TransactionError`` if the pooler allows none."""
    session.begin()
    session.ask("backend")
    session.rollback()


def _use_settings(session: PsycopgSession, settings: Mapping[str, Any], isolation: Isolation | None) -> None:
    """Make settings those of a session that keeps its connection of the server."""
    level = {"default_transaction_isolation": isolation.replace("_", " ")} if isolation else {}
    for name, value in {**settings, **UNLIMITED, **level}.items():
        session.query("set_session", name=name, value=value)


def is_pooled(session: PsycopgSession) -> bool:
    """Whether another process serves the session than accepted the connection; not where the server has none."""
    own = session.connection.backend_pid
    return bool(answered(lambda: session.ask("backend")[0][0], own) != own)


def found_pooling(target: Target, connect: Callable[[], PsycopgSession]) -> Pooling:
    """How a pooler assigns connections, by what two sessions see of the server's processes.

    With session pooling, one process serves a session to its end. Otherwise a transaction of another session gets the
    process that the first one has just used, as poolers use the latest connection first. A prepared statement that is
    still known when that process is busy is prepared by the pooler in each of its connections.

    Raises:
        CannotConnect: the pooler has no connection of the server for one of them.
    """
    name = f"hdbkit_{secrets.token_hex(8)}".encode()
    with closing(connect()) as one, closing(connect()) as two:
        text = find(one.dialects, SERVER_STATEMENTS, "backend").text.encode()
        if not _answers(one, one.connection.send_query_params, text):
            reason = f"the pooler gave a second session no connection of the server within {_ANSWER_S:g} s"
            raise CannotConnect(target.url, reason, f"raise the pooler's limit: {POOL_LIMITS}")
        if not _answers(two, two.connection.send_query_params, text):  # the first keeps its own
            return Pooling(PoolMode.SESSION)
        seen = {one.ask("backend")[0][0] for _ in range(_TRIES)}
        one.connection.prepare(name, text)
        two.begin()
        try:
            taken = two.ask("backend")[0][0]
            if taken not in seen and len(seen) == 1:
                return Pooling(PoolMode.SESSION)
            known = taken in seen and _answers(one, one.connection.send_query_prepared, name)
        finally:
            with suppress(TransactionError):
                two.query("forget_prepared", name=name.decode())
            two.rollback()
        return Pooling(PoolMode.TRANSACTION, known)


def served(connect: Callable[[], PsycopgSession], wanted: int) -> int:
    """How many of so many sessions the pooler gives connections of the server at the same time, for a transaction."""
    with ExitStack() as opened:
        for number in range(wanted):
            session = connect()
            opened.callback(session.close)
            if not _answers(session, session.connection.send_query_params, b"BEGIN"):
                return number
    return wanted


def _answers(session: PsycopgSession, send: Callable[..., None], text: bytes, within_s: float = _ANSWER_S) -> bool:
    """Whether a statement succeeds within a time."""
    send(text, None)
    readable = poll()
    readable.register(session.connection.socket, POLLIN)
    if not readable.poll(1000 * within_s):
        return False
    results = list(iter(session.connection.get_result, None))
    return not any(result.error_message for result in results)
