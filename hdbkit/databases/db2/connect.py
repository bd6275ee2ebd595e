"""How Db2 is connected to with IBM's driver, why a connection is refused, and what errors mean.

SQLSTATEs and SQLCODEs are those of IBM's documentation ("SQLSTATE messages", "SQL messages", Db2 11.5); those
of class X0 and 40XL are Apache Derby's (its reference manual, "SQL error messages and exceptions").
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from hdbkit.config import Target
from hdbkit.contracts import SessionOptions
from hdbkit.databases._base.access import CONNECT_TIMEOUT, connect_timeout_s, password_of, unreachable
from hdbkit.databases._base.dbapi import class_of
from hdbkit.databases.db2.cli import CliConnection, CliError, connection_text
from hdbkit.errors import CannotConnect, ErrorClass, InputError, NoneFree, NotReady, Rejected

DB2_PORT: Final = 50000
SECURITY, CERTIFICATE, _AUTHENTICATION, SCHEMA = "security", "certificate", "authentication", "schema"
SUMMARY: Final = "summary"
"""Whether the counters have the percentages of the view MON_DB_SUMMARY, too."""
DB2_OPTIONS: Final = (SECURITY, CERTIFICATE, _AUTHENTICATION, SCHEMA, SUMMARY, CONNECT_TIMEOUT)
"""The options of a target."""
DB2_VALUES: Final[Mapping[str, tuple[str, ...]]] = {
    SECURITY: ("ssl",),
    SUMMARY: ("on", "off"),
    _AUTHENTICATION: ("SERVER", "SERVER_ENCRYPT", "KERBEROS", "CERTIFICATE", "GSSPLUGIN"),
}
"""The values of options that have few, in the words of the driver."""
_ATTRIBUTES: Final = {SECURITY: "Security", CERTIFICATE: "SSLServerCertificate", _AUTHENTICATION: "Authentication"}
_SPECIAL: Final = frozenset(";{}")
"""Characters that a value of a connection string cannot have."""
_DESCRIBED: Final = "1"
"""How much the server describes of results: types and lengths, which is all that is read."""

_REASON: Final = re.compile(r'[Rr]eason code:? "?(\d+)')
_TIMEOUT: Final = "68"
"""The reason code of SQLCODE -911 and -913 for a lock timeout; 2 is a deadlock."""
_WAITED: Final = frozenset({-911, -913})
_STATES: Final[Mapping[str, ErrorClass]] = {
    "40001": ErrorClass.DEADLOCK,
    "57033": ErrorClass.DEADLOCK,  # the same without a rollback
    "40XL1": ErrorClass.LOCK_TIMEOUT,
    "40XL2": ErrorClass.LOCK_TIMEOUT,
    "X0X02": ErrorClass.LOCK_TIMEOUT,  # LOCK TABLE
    "57014": ErrorClass.STATEMENT_TIMEOUT,
    "40003": ErrorClass.CONNECTION_LOST,  # the driver: communication link failure
    "40504": ErrorClass.CONNECTION_LOST,  # rolled back by a system error
    "55032": ErrorClass.CONNECTION_LOST,  # the instance has been stopped since the connection
    "57019": ErrorClass.CONNECTION_LOST,  # the instance is not started
    "58009": ErrorClass.CONNECTION_LOST,  # the protocol broke
    "22001": ErrorClass.CONSTRAINT,  # too long
    "22003": ErrorClass.CONSTRAINT,  # too large
    "57011": ErrorClass.RESOURCES,  # memory, log, table space or file system full
    "57030": ErrorClass.RESOURCES,  # connections
}
"""The class of an error by its SQLSTATE; others have that of standard SQL."""
NO_PRIVILEGE: Final = frozenset({"42501", "42502", "42704", "42884"})
"""The SQLSTATEs of a missing privilege, and of an object or routine that this account or version does not have."""

_NETWORK: Final = "check host and port, that the instance runs (db2start), and that it listens (SVCENAME, DB2COMM)"
_NO_DATABASE: Final = ("there is no database '{database}'", "correct the name; an administrator creates a database")
_UNREACHED: Final = frozenset({-30081, -1336})
"""SQLCODEs of an address that cannot be reached; the driver's texts do not say why."""
_REFUSED: Final[Mapping[int, tuple[type[CannotConnect], str, str]]] = {
    -30061: (Rejected, *_NO_DATABASE),
    -1013: (Rejected, *_NO_DATABASE),
    -1060: (Rejected, "", "grant it as an administrator: GRANT CONNECT ON DATABASE"),
    -30082: (
        Rejected,
        "the server refuses the user or password ({text})",
        "check the account, the option authentication, and set HDBKIT_PASSWORD to the password",
    ),
    -1040: (NoneFree, "", "end sessions, or raise the parameter maxappls"),
    -1226: (NoneFree, "", "end sessions, or raise the parameter max_connections"),
    -1032: (NotReady, "", "start the instance (db2start)"),
    -1035: (NotReady, "", "wait until the database can be used, or end its exclusive connection"),
    -20157: (NotReady, "", "let an administrator unquiesce the database"),
    -1776: (Rejected, "", "connect to the primary: this is a standby that takes no connections"),
}
"""By SQLCODE: how a refused connection is reported, why (in the driver's words where
this is empty), and what to do."""


def cli_connection(target: Target, options: SessionOptions) -> CliConnection:
    """A connection to the only address of ``target``.

    Raises:
        CannotConnect: the server refuses it, or there is none.
        InputError: host or database is missing, or have a character that the driver cannot take.
    """
    attributes = db2_parameters(target, options)
    try:
        return CliConnection(connection_text(attributes), int(attributes["PORT"]))
    except CliError as error:
        raise _refused(target, error) from None


def db2_parameters(target: Target, options: SessionOptions) -> dict[str, str]:
    """The attributes of a connection.

    Raises:
        InputError: there is no host or database, or a value has a character that the driver cannot take.
    """
    if not target.host or not target.database:
        raise InputError(f"target {target.described} names no database; write db2://user@host:50000/DATABASE")
    given = {
        "DATABASE": target.database,
        "HOSTNAME": target.host,
        "PORT": str(target.port or DB2_PORT),
        "PROTOCOL": "TCPIP",
        "UID": target.user or "",
        "PWD": password_of(target) or "",
        "ConnectTimeout": str(connect_timeout_s(target, options.connect_timeout_s)),
        "ClientApplName": options.application,
        "DescribeOutputLevel": _DESCRIBED,
        "EnableAcr": "false",  # no retries on other addresses
    }
    given |= {theirs: target.options[ours] for ours, theirs in _ATTRIBUTES.items() if ours in target.options}
    for name, value in given.items():
        if _SPECIAL & {*value}:
            what = "a password" if name == "PWD" else f"the {name} '{value}'"
            raise InputError(f"the driver of Db2 cannot take {what} with one of ; {{ }}")
    return {name: value for name, value in given.items() if value}


def _refused(target: Target, error: CliError) -> CannotConnect:
    """The sentence for a refused connection."""
    if error.code in _UNREACHED and (found := unreachable(target, DB2_PORT, _NETWORK)):
        return found
    kind, reason, advice = _REFUSED.get(error.code, (CannotConnect, "", _NETWORK))
    given = {"text": error.text.rstrip("."), "database": target.database}
    text, secret = reason.format_map(given) if reason else given["text"], password_of(target)
    return kind(target.url, str(text).replace(secret, "...") if secret else str(text), advice)


def class_and_code(error: CliError) -> tuple[ErrorClass, str]:
    """The class of an error, and its code: the SQLSTATE, with the reason where that makes the difference."""
    reason = _REASON.search(error.text)
    if error.code in _WAITED and reason:
        waited = ErrorClass.LOCK_TIMEOUT if reason[1] == _TIMEOUT else ErrorClass.DEADLOCK
        return waited, f"{error.state} ({reason[1]})"
    return _STATES.get(error.state) or class_of(error.state), error.state or str(error.code)
