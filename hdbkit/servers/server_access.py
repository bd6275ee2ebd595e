"""A server that is reached through SQL: its sessions, and how it is started, restarted and waited for.

A stopped server is started by the target's commands, and only with its permission. A new session may have to wait:
those that have just ended may still occupy the last connections of the server.
"""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from hdbkit.config import Target
from hdbkit.config.hosts import is_local
from hdbkit.config.passwords import ADMIN_PASSWORD_VARIABLE, PASSWORD_VARIABLE
from hdbkit.config.target import ControlAccount
from hdbkit.contracts import Power, Session
from hdbkit.databases import database
from hdbkit.errors import (
    CannotConnect,
    ErrorClass,
    HdbkitError,
    NoneFree,
    NothingListens,
    NotReady,
    ServerDown,
    ServerFailed,
    TransactionError,
)
from hdbkit.servers.power import CommandPower, power_of

_AWAY = (CannotConnect, TransactionError)
"""What a session raises while the server is down, starts or stops."""
_START_PATIENCE_S = 5.0
_SESSION_PATIENCE_S = 1.0
_LOOK_S = 1.0


class ServerAccess:
    """One server, with the account that controls it; ``power`` starts and stops it, if given."""

    def __init__(self, target: Target, admin: Target | None = None, power: Power | None = None) -> None:
        self._target, self._admin = target, admin or target.control_account
        self._engine = database(target)
        self.power: Power | None = power or power_of(target.control)
        self._restart_s = target.control.restart_timeout_s
        self.say: Callable[[str], None] = discard
        self._standby: Session | None = None
        self._restoring = False
        self.can_restart = self._may_restart()

    @cached_property
    def identity(self) -> str:
        """The host, and the port and system id that the server reports, or the target's port if it reports none.

        The host is part of it because a server made from a copy of another has the same system id.
        """
        try:
            with self._session() as session:
                rows = session.ask("server_identity")
        except TransactionError:
            rows = []
        own = rows[0][0] if rows else self._target.port or "default"
        return f"{self._host}{own}"

    @property
    def _host(self) -> str:
        return host_of(self._target)

    @property
    def _address(self) -> str:
        """Where the target finds the server, which is known even while the server is stopped."""
        return f"{self._host}{self._target.port or 'default'}"

    @property
    def _named(self) -> str:
        """The server as messages name it, also while it is stopped."""
        return self._target.described

    # -- starting ----------------------------------------------------------------------------------------

    def _may_restart(self) -> bool:
        return self._target.may_restart and self.power is not None

    def _restart_advice(self) -> str:
        return f"the target {self._target.url} must set 'may_restart: true' and give commands in 'control'"

    def _restart(self) -> None:
        """Restart, and wait until the server accepts a session and reports a new start time."""
        if not self._may_restart():
            raise ServerFailed(f"hdbkit cannot start it; {self._restart_advice()}")
        assert self.power is not None
        before = None
        restart: Callable[[], object] = self.power.restart
        try:
            with self._session() as session:
                before = session.ask("settings_loaded_at")[0][1]
                self._process(session)
        except NothingListens:
            restart = partial(self.power.start_ended, lambda: self._session_error() is None)
        except _AWAY:
            pass
        restart()
        self._wait(lambda now: now[1] != before, self._restart_s, "was not started again", _AWAY)

    def _start_again(self) -> None:
        """Start a stopped server. Wait for one that is starting or stopping, and a few seconds for any other.

        Raises the error of a session if the server runs and rejects sessions.
        """
        began = time.monotonic()
        while self._may_restart() and (error := self._session_error()) is not None:
            late = time.monotonic() > began + self._patience_s(error, _START_PATIENCE_S)
            if (self.power is not None and not self.power.running) or (late and isinstance(error, NothingListens)):
                self.say(f"the server of {self._named} was stopped; hdbkit starts it again")
                with self._reported_if_down("correct the cause"):
                    return self._start()
            if late:
                raise error
            time.sleep(0.1)
        return None

    def _start(self) -> None:
        """Start a stopped server; retry, since remaining processes of a killed server may block the start briefly."""
        end = time.monotonic() + _START_PATIENCE_S
        while True:
            try:
                return self._restart()
            except ServerFailed:
                if time.monotonic() > end or not self._may_restart():
                    raise
                time.sleep(0.5)

    @contextmanager
    def _reported_if_down(self, advice: str) -> Iterator[None]:
        """Report a failure after which the server is down or rejects sessions as ``ServerDown``, with ``advice``."""
        try:
            yield
        except HdbkitError as error:
            if not isinstance(error, CannotConnect) and self._session_error() is None:
                raise
            command = shlex.join(self._target.control.commands.start)
            raise ServerDown(
                f"the server of {self._named} is down or rejects connections ({error}); {advice}, start it"
                f"{f' ({command})' if command else ''}"
            ) from error

    # -- sessions ----------------------------------------------------------------------------------------

    def _session_error(self) -> HdbkitError | None:
        """The error of a new session; None if the server answers."""
        try:
            self._times()
        except _AWAY as error:
            return error
        return None

    def _times(self) -> tuple[Any, Any]:
        """When the server read its settings, and when it was started."""
        with self._session() as session:
            (row,) = session.ask("settings_loaded_at")
        return row[0], row[1]

    def _wait(
        self,
        reached: Callable[[tuple[Any, Any]], bool],
        patience_s: float,
        otherwise: str,
        expected: tuple[type[HdbkitError], ...],
    ) -> None:
        """Read the server's times in new sessions until ``reached`` is true; ``expected`` errors are retried.

        A stopped server fails at once.
        """
        end, look_at = time.monotonic() + patience_s, time.monotonic() + _LOOK_S
        while True:
            try:
                if reached(self._times()):
                    return
                reason = ""
            except expected as error:
                reason = f": {error}"
                if self.power is not None and time.monotonic() > look_at:
                    look_at = time.monotonic() + _LOOK_S
                    if not self.power.running:
                        raise ServerFailed(
                            f"the server {otherwise}: {self.power.last_log_lines() or error}"
                        ) from error
            if time.monotonic() > end:
                raise ServerFailed(f"the server {otherwise} within {patience_s:g} s{reason}")
            time.sleep(0.02)

    def _process(self, session: Session) -> int | None:
        """The server's main process if it is on this host. Its log is found by it, unless the target names one."""
        process = self._engine.server_process(session)
        if process is not None and isinstance(self.power, CommandPower):
            self.power.find_log(process)
        return process

    @contextmanager
    def _session(self, target: Target | None = None) -> Iterator[Session]:
        """A new session; while restoring settings that prevent new ones, the session from before the change."""
        session = self._connected(target or self._admin)
        try:
            yield session
        finally:
            if session is not self._standby:
                session.close()

    def _connected(self, account: Target) -> Session:
        began = time.monotonic()
        while True:
            try:
                return self._engine.connect(account)
            except CannotConnect as error:
                if self._restoring and self._standby is not None:
                    return self._standby
                late = time.monotonic() > began + self._patience_s(error, _SESSION_PATIENCE_S)
                waits = isinstance(error, NoneFree) or (self._restoring and not isinstance(error, NothingListens))
                if late or not waits:
                    own = isinstance(account, ControlAccount)
                    variable = ADMIN_PASSWORD_VARIABLE if own else PASSWORD_VARIABLE
                    advice = error.advice.replace(PASSWORD_VARIABLE, variable)
                    raise type(error)(error.target, error.reason, advice) from None
            time.sleep(0.1)

    def _patience_s(self, error: HdbkitError, usual_s: float) -> float:
        """How long to wait after this error of a session."""
        return self._restart_s if isinstance(error, NotReady) else usual_s


def is_disconnected(error: HdbkitError | None) -> bool:
    """Whether a session was lost or is impossible for a reason that earlier settings may remove.

    The server is down, or all its connections are in use. A wrong account, password, database or address, TLS and a
    timeout are no such reasons: nothing on the server may be changed for them.
    """
    lost = isinstance(error, TransactionError) and error.error_class is ErrorClass.CONNECTION_LOST
    return lost or isinstance(error, NothingListens | NoneFree)


def discard(_: str) -> None:
    """Discard a message."""


def host_of(target: Target) -> str:
    """The start of a server's address; "localhost" for each name of this host: none, a socket, a loopback."""
    return f"{target.kind}://{'localhost' if is_local(target.host) else str(target.host).lower()}:"


def address_of(target: Target) -> tuple[str, int | None, Path | None]:
    """What is equal for all targets of one server that are named by its host, or by its private folder."""
    return host_of(target), target.port or database(target).default_port, target.server_folder
