"""Connect with psycopg's libpq interface; connection errors as readable messages."""

from __future__ import annotations

import os
import re
import select
import socket
import struct
import time
from collections.abc import Collection, Mapping
from contextlib import suppress
from datetime import datetime
from functools import cache
from typing import TYPE_CHECKING, Any

from hdbkit.config import Target
from hdbkit.config.passwords import of_variable
from hdbkit.config.target import ATTRIBUTES
from hdbkit.contracts import SessionOptions
from hdbkit.databases._base.access import (
    CONNECT_TIMEOUT,
    certificate_end,
    connect_timeout_s,
    handshake_problem,
    tls_failure,
)
from hdbkit.databases._base.listener import REQUIRE_PEER, is_heard_by
from hdbkit.errors import CannotConnect, InputError, MissingDriver, NoneFree, NothingListens, NotReady, Rejected
from hdbkit.paths import home_folder
from hdbkit.readings import Pooling, PoolMode

if TYPE_CHECKING:
    from psycopg.pq.abc import PGconn

SERVICE = "service"
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
_UNTRUSTED = "certificate verify failed"
UNLIMITED = {"idle_session_timeout": 0}
"""Settings of a session that waits for as long as it takes: for the start of a run, or for its next operation."""
_SLOW_PLANS: dict[str, Any] = {
    "session_preload_libraries": "auto_explain",
    "auto_explain.log_analyze": "on",
    "auto_explain.log_nested_statements": "on",  # those of routines
    "auto_explain.log_level": "notice",  # to the client, and not to the server's log
}
SSL_REQUEST = struct.pack("!ii", 8, 80877103)
ACCOUNTS = ("postgres",)
"""The account as which packages install the server."""
OWN_OPTIONS = ("pooling", "prepared")
"""Options of a target that libpq does not have: what a pooler does, if it is not to be found out."""
_PREPARED = {"true": True, "false": False}
VALUES: Mapping[str, Collection[str]] = {
    "pooling": [mode.value for mode in PoolMode],
    "prepared": _PREPARED,
    "sslmode": ("disable", "allow", "prefer", "require", "verify-ca", "verify-full"),
    ATTRIBUTES: ("any", "read-write", "read-only", "primary", "standby", "prefer-standby"),
}
"""The values of the options that have few."""

_ANOTHER = "create it, name another, or build with an administrator's account"
_CONNECT = 'run as an administrator: GRANT CONNECT ON DATABASE "{database}" TO "{user}"'
_LOGIN = 'use another account, or have an administrator give the account "{user}" the attribute LOGIN'
_FEWER = "use fewer virtual users or raise the server's limit"
_FEWER_OR_LARGER_POOL = "use fewer virtual users or a larger pool"
_RUNS = "check host and port, and that the server runs"
_STARTING = ("is starting up", "is in recovery mode", "not yet accepting connections")
_ROLE = "name another address, or change that option of the target"
_POOLER_ALONE = "pgbouncer cannot connect"
_NO_SETTINGS = "unsupported startup parameter"
_NO_TLS = "set the option sslmode of the target to prefer, or enable TLS on the server"
_CLEAR = "requested a cleartext password"
_UNENCRYPTED = ("no encryption", "SSL off")
"""What a server adds to its refusal of a connection without TLS, and those before PostgreSQL 14."""
_WITH_TLS = "set the option sslmode of the target to prefer or require"
_NOT_IN_HBA = ("no pg_hba.conf entry", "pg_hba.conf rejects")
_ERRORS = (
    # text of libpq or the server, meaning, advice
    (
        "no password supplied",
        "a password is required, but none was given",
        "set HDBKIT_PASSWORD or name a password file",
    ),
    *(
        (sign, "wrong user '{user}' or password", "check the user and set HDBKIT_PASSWORD to the right password")
        for sign in ("password authentication failed", "SASL authentication failed")  # the latter by PgBouncer
    ),
    (
        _CLEAR,
        "the server asks for the password in clear text",
        "set the option sslmode of the target to verify-full or require, or permit it by require_auth=password",
    ),
    ("authentication failed", "user '{user}' was not accepted", "check the user name and the server's pg_hba.conf"),
    *(
        (sign, "the server does not allow this connection", "add user, database and address to pg_hba.conf")
        for sign in _NOT_IN_HBA
    ),
    (
        'access file "auto_explain"',
        "the server lacks the module auto_explain, which slow_plans_ms needs",
        "install the server's contrib modules, or omit slow_plans_ms",
    ),
    (
        "permission denied to set parameter",
        "user '{user}' may not have the server report the plans of its statements, as slow_plans_ms needs",
        f"omit it, or run as an administrator: GRANT SET ON PARAMETER {', '.join(_SLOW_PLANS)}, "
        'auto_explain.log_min_duration TO "{user}"',
    ),
    ("could not translate host name", "there is no host '{host}'", "check the name of the host"),
    ("too many clients", "no more connections are allowed", _FEWER),
    ("too many", "no more connections are allowed", _FEWER),
    ("connection slots are reserved", "all connections are in use", _FEWER),
    ("permission denied for database", "user '{user}' may not use database '{database}'", _CONNECT),
    ("not permitted to log in", "user '{user}' may not log in", _LOGIN),
    *((sign, "the server is starting up", "try again in a moment") for sign in _STARTING),
    ("is shutting down", "the server is shutting down", "start it again"),
    ("timeout expired", "no answer came from {address} in time", "check host, port and firewall"),
    ("Connection refused", "nothing listens on {address}", _RUNS),
    ("No such file or directory", "nothing listens on {address}", _RUNS),
    ("does not support SSL", "the server does not support TLS, but sslmode is '{sslmode}'", _NO_TLS),
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
    (
        _NO_SETTINGS,
        "a pooler is in front of the server, which refuses settings at startup",
        "remove the option 'options' of the target",
    ),
    ("session is read-only", "the server accepts no changes, but target_session_attrs requires it", _ROLE),
    ("session is not read-only", "the server accepts changes, but target_session_attrs excludes it", _ROLE),
    ("server is in hot standby mode", "the server is a standby, but target_session_attrs requires another", _ROLE),
    ("server is not in hot standby mode", "the server is no standby, but target_session_attrs requires one", _ROLE),
    ("query_wait_timeout", "the pooler had no free connection of the server in time", _FEWER_OR_LARGER_POOL),
    (
        "max_client_conn",
        "the pooler accepts no more connections (max_client_conn)",
        "use fewer virtual users or raise that limit of the pooler",
    ),
    (
        "statement pooling mode",
        "the pooler assigns connections to statements (pool_mode = statement), so that transactions are impossible",
        "set pool_mode of this database to transaction or session",
    ),
    (_POOLER_ALONE, "the pooler cannot connect to its server", "check that the server runs"),
    ("no such database", "the pooler has no database '{database}'", "add it to the pooler's configuration"),
    ('database "', "there is no database '{database}'", _ANOTHER),
    ('role "', "there is no user '{user}'", _ANOTHER),
)


_REJECTIONS = (
    _CLEAR,
    "no password supplied",
    "password authentication failed",
    "SASL authentication failed",
    "authentication failed",
    *_NOT_IN_HBA,
    "too many",
    "permission denied for database",
    "not permitted to log in",
    "not currently accepting connections",
    "session is read-only",
    "session is not read-only",
    "server is in hot standby mode",
    "server is not in hot standby mode",
    'database "',
    'role "',
)
"""What only a running server says."""


_STATED = re.compile(r"(?:FATAL|ERROR): +(.+)")
"""What a server or pooler says of a login, among the words of libpq."""
_STATES: Mapping[bytes, tuple[type[CannotConnect], str, str]] = {
    b"57P03": (NotReady, "the server is starting up or shutting down", "try again in a moment"),
    b"53300": (NoneFree, "no more connections are allowed", _FEWER),
}
"""What the codes mean that a server states before a login."""
_START_S, _PROTOCOL = 2.0, 3 << 16


class _TakesNoSettings(CannotConnect):
    """A pooler refuses settings at startup."""


_KINDS: Mapping[str, type[CannotConnect]] = {
    _NO_SETTINGS: _TakesNoSettings,
    **dict.fromkeys(("Connection refused", "No such file or directory", _POOLER_ALONE), NothingListens),
    **dict.fromkeys(("too many clients", "connection slots are reserved"), NoneFree),
    **dict.fromkeys((*_STARTING, "is shutting down"), NotReady),
    **dict.fromkeys(_REJECTIONS, Rejected),
}


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
        except _TakesNoSettings:
            pooling = Pooling(PoolMode.TRANSACTION, prepared=False)  # which is right for each kind of pooler
    return _connected(target, {}, options), pooling


def session_settings(schema: str, options: SessionOptions) -> dict[str, Any]:
    """The settings of a session that are words of SQL; an empty ``schema`` is the account's own search path."""
    settings = {
        "search_path": schema or None,
        "statement_timeout": options.statement_timeout_ms or None,
        "lock_timeout": options.lock_limit_ms or None,
        "max_parallel_workers_per_gather": options.parallel_workers,
        **(_SLOW_PLANS | {"auto_explain.log_min_duration": options.slow_plans_ms} if options.slow_plans_ms else {}),
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
    if SERVICE not in target.options and "PGSERVICE" in os.environ:
        raise InputError(
            "PGSERVICE is set in the environment, so that connections would not only follow the target "
            f"{target.described}; unset it, or name the service in the target: postgresql:///?service=NAME"
        )


def of_environment(target: Target) -> tuple[list[str], list[str]]:
    """The variables of libpq that are set: those that it applies to sessions, and those that it must ignore."""
    try:
        from psycopg.pq import Conninfo
    except ImportError:
        return [], []
    variables = {one.envvar.decode(): one.keyword.decode() for one in Conninfo.get_defaults() if one.envvar}
    there = sorted(os.environ.keys() & {*variables, *_OF_SESSIONS} - {*_NAMES_NOTHING})
    stated = {*target.options, *(() if SERVICE in target.options else _NOT_OF_ENVIRONMENT)}
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
        if ignored := ", ".join(of_environment(target)[1]):
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
        **({} if SERVICE in target.options else _NOT_OF_ENVIRONMENT),
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
    own = target.server_folder is not None and is_heard_by(target, target.port or 5432, ACCOUNTS)
    is_stated = "PGREQUIREAUTH" in os.environ or own
    is_stated |= at_socket and REQUIRE_PEER in target.options
    return None if encrypted or is_stated or "require_auth" not in (known or ()) else "!password"


def _quoted(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def _certificate_problem(target: Target, text: str) -> str:
    """What libpq said; of a certificate that it does not trust, the reason, which it keeps to itself."""
    if _UNTRUSTED not in text or not target.host or target.host.startswith("/"):
        return text
    named = target.options.get("sslrootcert") or str(home_folder() / ".postgresql" / "root.crt")
    authorities = None if named == "system" else named
    return handshake_problem(target, target.port or 5432, SSL_REQUEST, b"S", authorities)


def _state_at_start(target: Target) -> bytes:
    """The code with which the server refuses every connection at present, before any login; else empty.

    Its text may be in any language (``lc_messages``), and libpq keeps the code to itself.
    """
    if not target.host or target.host.startswith("/"):
        return b""
    words = b"user\0%b\0\0" % (target.user or "hdbkit").encode()
    with suppress(OSError), socket.create_connection((target.host, target.port or 5432), _START_S) as plain:
        plain.sendall(struct.pack("!ii", 8 + len(words), _PROTOCOL) + words)
        answer = plain.recv(1024)
        fields = answer[5:].split(b"\0") if answer.startswith(b"E") else ()
        return next((field[1:] for field in fields if field.startswith(b"C")), b"")
    return b""


def connect_error(target: Target, text: str) -> CannotConnect:
    """What a text of libpq, the server or a pooler means, with advice."""
    host = target.host or "the local socket"
    words = {
        "user": target.user or "(none given)",
        "database": target.database or target.user or "(none given)",
        "host": host,
        "sslmode": target.options.get("sslmode", "prefer"),
        "address": f"{host}, port {target.port or 'not given'}",
    }
    if failure := tls_failure(target, _certificate_problem(target, text), "sslrootcert"):
        return failure
    if words["sslmode"] == "disable" and "pg_hba.conf" in text and any(sign in text for sign in _UNENCRYPTED):
        return Rejected(target.url, "the server does not allow this connection without TLS", _WITH_TLS)
    stated = next(reversed(_STATED.findall(text)), "")
    for sign, reason, advice in _ERRORS:
        if sign in text:
            kind = _KINDS.get(sign, CannotConnect)
            return kind(target.url, reason.format(**words), advice.format(**words), stated)
    if found := _STATES.get(_state_at_start(target)):
        kind, reason, advice = found
        return kind(target.url, reason, advice, stated)
    last = text.splitlines()[-1] if text else "no reason given"
    return CannotConnect(target.url, last.removeprefix("FATAL:").strip(), "check the target", stated)
