"""Why a connection to a server or a pooler failed, and what to do about it."""

from __future__ import annotations

import re
import socket
import struct
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from hdbkit.config import Target
from hdbkit.databases._base.access import handshake_problem, tls_failure
from hdbkit.errors import CannotConnect, NoneFree, NothingListens, NotReady, Rejected
from hdbkit.paths import home_folder

_UNTRUSTED = "certificate verify failed"
SLOW_PLAN_SETTINGS: dict[str, Any] = {
    "session_preload_libraries": "auto_explain",
    "auto_explain.log_analyze": "on",
    "auto_explain.log_nested_statements": "on",  # those of routines
    "auto_explain.log_level": "notice",  # to the client, and not to the server's log
}
SSL_REQUEST = struct.pack("!ii", 8, 80877103)
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
        f"omit it, or run as an administrator: GRANT SET ON PARAMETER {', '.join(SLOW_PLAN_SETTINGS)}, "
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


class TakesNoSettings(CannotConnect):
    """A pooler refuses settings at startup."""


_KINDS: Mapping[str, type[CannotConnect]] = {
    _NO_SETTINGS: TakesNoSettings,
    **dict.fromkeys(("Connection refused", "No such file or directory", _POOLER_ALONE), NothingListens),
    **dict.fromkeys(("too many clients", "connection slots are reserved"), NoneFree),
    **dict.fromkeys((*_STARTING, "is shutting down"), NotReady),
    **dict.fromkeys(_REJECTIONS, Rejected),
}


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
