"""Connect with psycopg's libpq interface; connection errors as readable messages."""

from __future__ import annotations

import select
import time
from typing import TYPE_CHECKING

from hdbkit.config import Target
from hdbkit.contracts import SessionOptions
from hdbkit.errors import CannotConnect, MissingDriver

if TYPE_CHECKING:
    from psycopg.pq.abc import PGconn

_ANOTHER = "create it, name another, or build with an administrator's account"
_FEWER = "use fewer virtual users or raise the server's limit"
_RUNS = "check host and port, and that the server runs"
_ERRORS = (
    # text of libpq or the server, meaning, advice
    (
        "no password supplied",
        "a password is required, but none was given",
        "set HDBKIT_PASSWORD or name a password file",
    ),
    (
        "password authentication failed",
        "wrong user '{user}' or password",
        "check the user and set HDBKIT_PASSWORD to the right password",
    ),
    ("authentication failed", "user '{user}' was not accepted", "check the user name and the server's pg_hba.conf"),
    (
        "no pg_hba.conf entry",
        "the server does not allow this connection",
        "add user, database and address to pg_hba.conf",
    ),
    ("could not translate host name", "there is no host '{host}'", "check the name of the host"),
    ("too many", "no more connections are allowed", _FEWER),
    ("connection slots are reserved", "all connections are in use", _FEWER),
    ("permission denied for database", "user '{user}' may not use database '{database}'", "grant it CONNECT on it"),
    ("not permitted to log in", "user '{user}' may not log in", "use another account or give it LOGIN"),
    ("is starting up", "the server is starting up", "try again in a moment"),
    ("is shutting down", "the server is shutting down", "start it again"),
    ("timeout expired", "no answer came from {place} in time", "check host, port and firewall"),
    ("Connection refused", "nothing listens on {place}", _RUNS),
    ("No such file or directory", "nothing listens on {place}", _RUNS),
    ("does not support SSL", "the server does not support TLS", "set the option sslmode of the target"),
    ("SSL error", "TLS negotiation failed", "check the options sslmode and sslrootcert of the target"),
    (
        "certificate",
        "the server's certificate was rejected",
        "check the options sslmode and sslrootcert of the target",
    ),
    (
        "not currently accepting connections",
        "database '{database}' does not accept connections",
        "use another database, or allow connections",
    ),
    ("invalid connection option", "unknown option of the target", "check the options of the target"),
    ('database "', "there is no database '{database}'", _ANOTHER),
    ('role "', "there is no user '{user}'", _ANOTHER),
)


def connected(target: Target, schema: str, options: SessionOptions) -> PGconn:
    """Open a libpq connection with search path ``schema``; if empty, the account's own.

    Raises:
        CannotConnect: with reason and advice, never with a password.
        MissingDriver: psycopg is not installed.
    """
    try:
        from psycopg import pq
    except ImportError:
        raise MissingDriver(target.kind, "psycopg", target.kind) from None
    connection = pq.PGconn.connect_start(_connection_string(target, schema, options))
    in_time = _awaited(connection, options.connect_timeout_s)
    if connection.status != pq.ConnStatus.OK:
        text = connection.error_message.decode("utf-8", "replace").strip() if in_time else "timeout expired"
        connection.finish()
        raise _connect_error(target, text)
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


def _connection_string(target: Target, schema: str, options: SessionOptions) -> bytes:
    settings = {
        **target.options,
        "host": target.host,
        "port": target.port,
        "dbname": target.database,
        "user": target.user,
        "password": target.secret(),
        "passfile": target.password_file,
        "connect_timeout": options.connect_timeout_s,
        "application_name": options.application,
        "client_encoding": "UTF8",
        "options": " ".join(filter(None, [target.options.get("options"), *_session_settings(schema, options)])),
    }
    given = {name: str(value) for name, value in settings.items() if value is not None}
    return " ".join(f"{name}={_quoted(value)}" for name, value in given.items()).encode(errors="surrogateescape")


def _session_settings(schema: str, options: SessionOptions) -> list[str]:
    settings = {
        "search_path": schema or None,
        "datestyle": "ISO",
        "statement_timeout": options.statement_timeout_ms or None,
        "lock_timeout": options.lock_timeout_ms or None,
        "default_transaction_isolation": options.isolation.replace("_", r"\ ") if options.isolation else None,
    }
    return [f"-c {name}={value}" for name, value in settings.items() if value is not None]


def _quoted(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def _connect_error(target: Target, text: str) -> CannotConnect:
    host = target.host or "the local socket"
    words = {
        "user": target.user or "(none given)",
        "database": target.database or target.user or "(none given)",
        "host": host,
        "place": f"{host}, port {target.port or 'not given'}",
    }
    for sign, reason, advice in _ERRORS:
        if sign in text:
            return CannotConnect(target.url, reason.format(**words), advice)
    last = text.splitlines()[-1] if text else "no reason given"
    return CannotConnect(target.url, last.removeprefix("FATAL:").strip(), "check the target")
