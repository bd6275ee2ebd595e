"""Connect with psycopg's libpq interface; connection errors as readable messages."""

from __future__ import annotations

import os
import select
import time
from collections.abc import Collection, Mapping
from datetime import datetime
from functools import cache
from typing import TYPE_CHECKING, Any

from hdbkit.config import Target
from hdbkit.config.passwords import of_variable
from hdbkit.config.target import ATTRIBUTES
from hdbkit.contracts import SessionOptions
from hdbkit.databases._base.access import CONNECT_TIMEOUT, certificate_end, connect_timeout_s
from hdbkit.databases._base.listener import REQUIRE_PEER, is_heard_by
from hdbkit.databases.postgresql.connect_errors import SLOW_PLAN_SETTINGS, SSL_REQUEST, TakesNoSettings, connect_error
from hdbkit.errors import InputError, MissingDriver
from hdbkit.readings import Pooling, PoolMode

if TYPE_CHECKING:
    from psycopg.pq.abc import PGconn

_SERVICE = "service"
_NOT_OF_ENVIRONMENT: Mapping[str, str] = {
    **dict.fromkeys(("host", "hostaddr", "port", "dbname", "user", "options"), ""),
    ATTRIBUTES: "any",
    "load_balance_hosts": "disable",
}
"""What libpq would take from the environment where the target states nothing: another server, or other settings."""
_OF_SESSIONS = ("PGTZ", "PGDATESTYLE", "PGGEQO")
"""Variables that libpq sends to each server as settings."""
PASSWORD = "PGPASSWORD"  # noqa: S105  the name of a variable, not a password
_NAMES_NOTHING = (PASSWORD, "PGPASSFILE", "PGAPPNAME", "PGCLIENTENCODING", "PGCONNECT_TIMEOUT")
"""Variables that hdbkit replaces, and passwords, whose source is reported."""
UNLIMITED = {"idle_session_timeout": 0}
"""Settings of a session that waits for as long as it takes: for the start of a run, or for its next operation."""
_ACCOUNTS = ("postgres",)
"""The account as which packages install the server."""
OWN_OPTIONS = ("pooling", "prepared")
"""Options of a target that libpq does not have: what a pooler does, if it is not to be found out."""
_PREPARED = {"true": True, "false": False}
POSTGRESQL_VALUES: Mapping[str, Collection[str]] = {
    "pooling": [mode.value for mode in PoolMode],
    "prepared": _PREPARED,
    "sslmode": ("disable", "allow", "prefer", "require", "verify-ca", "verify-full"),
    ATTRIBUTES: ("any", "read-write", "read-only", "primary", "standby", "prefer-standby"),
}
"""The values of the options that have few."""


def reached(target: Target, schema: str, options: SessionOptions) -> tuple[PGconn, Pooling | None]:
    """A libpq connection with its settings, and what is known of a pooler.

    A connection that passes a pooler has no settings yet; None: it may pass one.

    Raises:
        CannotConnect: with reason and advice, never with a password.
        MissingDriver: psycopg is not installed.
    """
    pooling = stated_pooling(target) or options.pooling
    if pooling is None or pooling.mode is PoolMode.DIRECT:
        level = {"default_transaction_isolation": options.isolation.replace("_", r"\ ")} if options.isolation else {}
        settings = {**session_settings(schema, options), "datestyle": "ISO", **UNLIMITED, **level}
        try:
            return _connected(target, settings, options), pooling
        except TakesNoSettings:
            pooling = Pooling(PoolMode.TRANSACTION, prepared=False)  # which is right for each kind of pooler
    return _connected(target, {}, options), pooling


def session_settings(schema: str, options: SessionOptions) -> dict[str, Any]:
    """The settings of a session that are words of SQL; an empty ``schema`` is the account's own search path."""
    settings = {
        "search_path": schema or None,
        "statement_timeout": options.statement_timeout_ms or None,
        "lock_timeout": options.lock_limit_ms or None,
        "max_parallel_workers_per_gather": options.parallel_workers,
        **(
            SLOW_PLAN_SETTINGS | {"auto_explain.log_min_duration": options.slow_plans_ms}
            if options.slow_plans_ms
            else {}
        ),
    }
    return {name: value for name, value in settings.items() if value is not None}


def stated_pooling(target: Target) -> Pooling | None:
    """What the options ``pooling`` and ``prepared`` of the target state about a pooler; None: nothing."""
    mode, prepared = target.options.get("pooling"), target.options.get("prepared")
    if mode is None and prepared is None:
        return None
    found = PoolMode(mode or PoolMode.TRANSACTION)
    return Pooling(found, found is not PoolMode.TRANSACTION if prepared is None else _PREPARED[prepared])


@cache
def known_options() -> Collection[str] | None:
    """The options that a target may have: libpq's and our own; None without the driver."""
    try:
        from psycopg.pq import Conninfo
    except ImportError:
        return None
    return [*OWN_OPTIONS, *(option.keyword.decode() for option in Conninfo.get_defaults())]


def check_sources(target: Target) -> None:
    """Check that the target alone decides which server is meant, and once.

    Raises:
        InputError: an option repeats a part of the address, or the environment adds to it.
    """
    if twice := [name for name, value in _address(target).items() if value is not None and name in target.options]:
        raise InputError(f"target {target.described} states its {twice[0]} twice; remove the option {twice[0]}")
    if _SERVICE not in target.options and "PGSERVICE" in os.environ:
        raise InputError(
            "PGSERVICE is set in the environment, so that connections would not only follow the target "
            f"{target.described}; unset it, or name the service in the target: postgresql:///?service=NAME"
        )


def environment_of_libpq(target: Target) -> tuple[list[str], list[str]]:
    """The variables of libpq that are set: those that it applies to sessions, and those that it must ignore."""
    try:
        from psycopg.pq import Conninfo
    except ImportError:
        return [], []
    variables = {one.envvar.decode(): one.keyword.decode() for one in Conninfo.get_defaults() if one.envvar}
    there = sorted(os.environ.keys() & {*variables, *_OF_SESSIONS} - {*_NAMES_NOTHING})
    stated = {*target.options, *(() if _SERVICE in target.options else _NOT_OF_ENVIRONMENT)}
    ignored = [one for one in there if variables.get(one) in stated]
    return [one for one in there if one not in ignored], ignored


def _address(target: Target) -> dict[str, Any]:
    return {"host": target.host, "port": target.port, "dbname": target.database, "user": target.user}


def _connected(target: Target, settings: Mapping[str, Any], options: SessionOptions) -> PGconn:
    try:
        from psycopg import pq
    except ImportError:
        raise MissingDriver(target.kind, "psycopg", target.kind) from None
    connection = pq.PGconn.connect_start(_connection_string(target, settings, options))
    in_time = _awaited(connection, connect_timeout_s(target, options.connect_timeout_s))
    if connection.status != pq.ConnStatus.OK:
        text = connection.error_message.decode("utf-8", "replace").strip() if in_time else "timeout expired"
        connection.finish()
        error = connect_error(target, text)
        if ignored := ", ".join(environment_of_libpq(target)[1]):
            advice = f"{error.advice} ({ignored} of the environment: ignored, since the target alone counts)"
            raise type(error)(error.target, error.reason, advice, error.stated)
        raise error
    return connection


def _awaited(connection: PGconn, timeout_s: float) -> bool:
    """Wait for the connection or its failure; False on timeout. libpq's own wait would hold the GIL."""
    from psycopg.pq import ConnStatus, PollingStatus

    deadline, state = time.monotonic() + timeout_s, PollingStatus.WRITING
    while connection.status != ConnStatus.BAD and state in (PollingStatus.READING, PollingStatus.WRITING):
        ready = select.poll()
        ready.register(connection.socket, select.POLLIN if state == PollingStatus.READING else select.POLLOUT)
        left_ms = 1000 * (deadline - time.monotonic())
        if left_ms <= 0 or not ready.poll(left_ms):
            return False
        state = PollingStatus(connection.connect_poll())
    return True


def server_certificate_end(target: Target) -> datetime | None:
    """The end of the server's certificate, by a handshake without a login; None if it cannot be read."""
    return certificate_end(target, target.port or 5432, SSL_REQUEST, b"S")


def _connection_string(target: Target, settings: Mapping[str, Any], options: SessionOptions) -> bytes:
    own, secret = " ".join(f"-c {name}={value}" for name, value in settings.items()), target.secret()
    fields = {
        **({} if _SERVICE in target.options else _NOT_OF_ENVIRONMENT),
        "require_auth": _accepted_methods(target),
        **{name: value for name, value in target.options.items() if name not in OWN_OPTIONS},
        **{name: value for name, value in _address(target).items() if value is not None},
        "password": of_variable(PASSWORD) if secret is None else secret,
        "passfile": os.devnull if target.withheld else target.password_file,
        CONNECT_TIMEOUT: connect_timeout_s(target, options.connect_timeout_s),
        "application_name": options.application,
        "client_encoding": "UTF8",
        "options": " ".join(filter(None, [target.options.get("options"), own])),
    }
    known = known_options() or ()
    given = {name: str(value) for name, value in fields.items() if value is not None and name in known}
    return " ".join(f"{name}={_quoted(value)}" for name, value in given.items()).encode(errors="surrogateescape")


def _accepted_methods(target: Target) -> str | None:
    """All but the password in clear text, which whoever listens at the address would get; None: libpq's own rule.

    With TLS that the target or the environment requires, a server may ask for it: LDAP and PAM need that. At a
    socket, where libpq uses no TLS, it may if the option requirepeer names its account.
    """
    known, mode = known_options(), target.options.get("sslmode", os.environ.get("PGSSLMODE"))
    at_socket = not target.options.get("hostaddr") and (not target.host or target.host.startswith(("/", "@")))
    encrypted = mode in ("require", "verify-ca", "verify-full") and not at_socket
    own = target.server_folder is not None and is_heard_by(target, target.port or 5432, _ACCOUNTS)
    is_stated = "PGREQUIREAUTH" in os.environ or own
    is_stated |= at_socket and REQUIRE_PEER in target.options
    return None if encrypted or is_stated or "require_auth" not in (known or ()) else "!password"


def _quoted(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
