"""Connections to SQL Server: which ODBC driver, its attributes, and why a connection is refused.

Microsoft's driver and FreeTDS name their attributes differently, and only Microsoft's signs in with Entra.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from hdbkit.config import Target
from hdbkit.databases._base.access import unreachable
from hdbkit.databases._pyodbc import DRIVER, error_parts, in_braces
from hdbkit.errors import CannotConnect, InputError, Rejected

SQLSERVER_PORT: Final = 1433
PREFERRED: Final = ("ODBC Driver 18 for SQL Server", "ODBC Driver 17 for SQL Server", "FreeTDS")
"""ODBC drivers by the names under which they are installed, the first choice first."""
ENCRYPT, TRUST, _AUTHENTICATION, INTENT = (
    "encrypt",
    "trust_server_certificate",
    "authentication",
    "application_intent",
)
SQLSERVER_VALUES: Final[Mapping[str, tuple[str, ...]]] = {
    ENCRYPT: ("yes", "no", "strict"),
    TRUST: ("yes", "no"),
    INTENT: ("ReadWrite", "ReadOnly"),
    _AUTHENTICATION: (
        "SqlPassword",
        "ActiveDirectoryPassword",
        "ActiveDirectoryIntegrated",
        "ActiveDirectoryInteractive",
        "ActiveDirectoryMsi",
        "ActiveDirectoryServicePrincipal",
        "ActiveDirectoryDefault",
    ),
}
"""The options of a connection that have few values, in the words of Microsoft's driver."""
REPEATABLE_READ, SNAPSHOT = "repeatable_read", "snapshot"
OF_SESSION: Final[Mapping[str, tuple[str, ...]]] = {REPEATABLE_READ: ("locks", SNAPSHOT)}
"""The options of a session that have few values: what repeatable read is."""
_ATTRIBUTES: Final = {
    ENCRYPT: "Encrypt",
    TRUST: "TrustServerCertificate",
    _AUTHENTICATION: "Authentication",
    INTENT: "ApplicationIntent",
}
_OF_FREETDS: Final = {
    (ENCRYPT, "yes"): ("Encryption", "require"),
    (ENCRYPT, "no"): ("Encryption", "off"),
    (INTENT, "ReadOnly"): ("ApplicationIntent", "ReadOnly"),
    (INTENT, "ReadWrite"): ("ApplicationIntent", "ReadWrite"),
    (_AUTHENTICATION, "SqlPassword"): ("", ""),
}
"""What FreeTDS has of the options; the rest it cannot do."""
_NETWORK: Final = "check host and port, that the server runs, and that it accepts TCP/IP"
_UNQUOTED: Final = frozenset(";{}")
"""Characters of a value that FreeTDS cannot read, since it takes no braces."""
_NO_DATABASE: Final = (
    "there is no database '{database}', or the account may not use it",
    "correct the name, create the database, or grant access to it",
)
_REFUSALS: Final[Mapping[int, tuple[str, str]]] = {
    # number of the error, reason and advice
    911: _NO_DATABASE,
    4060: _NO_DATABASE,
    18456: ("the server refuses the user or password", "check the account, and set HDBKIT_PASSWORD to its password"),
    18452: ("the login is from an untrusted domain", "use an account of SQL Server, or the option authentication"),
    18470: ("the login is disabled", "enable it: ALTER LOGIN ... ENABLE"),
    18488: ("the password must be changed", "change the password of the account"),
    17142: ("the server is paused", "continue the server"),
}
"""Numbers of errors at login (Microsoft's list of Database Engine events and errors)."""
_UNTRUSTED: Final = (
    "the server's certificate is not trusted",
    "install the certificate of its authority on this host, or set the option trust_server_certificate of the target "
    "to yes",
)
_BY_TEXT: Final[Mapping[str, tuple[str, str]]] = {
    "Encryption not supported": (
        "the server does not encrypt connections",
        "set the option encrypt of the target to no, or enable TLS on the server",
    ),
    "certificate verify failed": _UNTRUSTED,
    "not trusted": _UNTRUSTED,
    "AADSTS": ("Entra refuses the sign-in", "check the account and the option authentication of the target"),
}
"""Parts of the driver's texts about encryption and sign-in, which have no number of the server."""


def chosen_driver(target: Target, installed: list[str]) -> str:
    """The option ``driver``, else the first installed one. Raises ``InputError`` if there is none."""
    named = target.options.get(DRIVER)
    found = named or next((one for one in PREFERRED if one in installed), None)
    if found is None:
        raise InputError(
            f"{target.described} needs an ODBC driver for SQL Server, and this host has none "
            f"(installed: {', '.join(installed) or 'none'}); install Microsoft's msodbcsql18, or FreeTDS (on Debian: "
            "apt-get install tdsodbc), or name a driver's file in the option driver of the target"
        )
    return found


def is_freetds(driver: str) -> bool:
    """Whether a driver, by name or file, is FreeTDS."""
    return any(word in Path(driver).name.lower() for word in ("freetds", "tdsodbc"))


def connection_string(target: Target, driver: str, secret: str | None, application: str) -> str:
    """The attributes of a connection. Raises ``InputError`` for what the driver cannot do."""
    host, port = target.host or "localhost", target.port or SQLSERVER_PORT
    given = {name: value for name, value in target.options.items() if name in SQLSERVER_VALUES}
    account = {"UID": target.user, "PWD": secret, "DATABASE": target.database, "APP": application}
    if is_freetds(driver):
        own = {"SERVER": host, "PORT": str(port), "TDS_Version": "7.4", "ClientCharset": "UTF-8"}
        found = {**own, **_for_freetds(target, given), **account}
        for name, value in found.items():
            if value and _UNQUOTED & {*value}:
                what = "a password" if name == "PWD" else f"the {name} '{value}'"
                raise InputError(f"FreeTDS cannot take {what} with one of ; {{ }}; use Microsoft's driver")
        attributes = {DRIVER: in_braces(DRIVER, driver), **found}
    else:
        own = {"SERVER": f"tcp:{host},{port}"}
        chosen = {_ATTRIBUTES[name]: value for name, value in given.items()}
        texts = {**own, **chosen, **account}
        attributes = {
            DRIVER: in_braces(DRIVER, driver),
            **{name: value if name == "SERVER" else in_braces(name, value) for name, value in texts.items() if value},
        }
    return ";".join(f"{name}={value}" for name, value in attributes.items() if value)


def _for_freetds(target: Target, given: Mapping[str, str]) -> dict[str, str]:
    found = {}
    for name, value in given.items():
        if (name, value) not in _OF_FREETDS and (name, value) != (TRUST, "yes"):
            raise InputError(
                f"target {target.described}: FreeTDS has no {name} '{value}'; install Microsoft's driver "
                "(msodbcsql18), or omit the option"
            )
        attribute, of_driver = _OF_FREETDS.get((name, value), ("", ""))
        if attribute:
            found[attribute] = of_driver
    return found


def refusal(target: Target, driver: str, secret: str | None, error: Exception) -> CannotConnect:
    """Why a connection failed: by the number of the error, else by the address, else in the driver's words."""
    code, number, text = error_parts(error)
    if number in _REFUSALS:
        reason, advice = _REFUSALS[number]
        return Rejected(target.url, reason.format(database=target.database), advice)
    if code == "28000":
        return Rejected(target.url, *_REFUSALS[18456])
    for sign, (reason, advice) in _BY_TEXT.items():
        if sign in text:
            return CannotConnect(target.url, f"{reason} ({_without(secret, text)})", advice)
    return unreachable(target, SQLSERVER_PORT, _NETWORK) or CannotConnect(
        target.url, _without(secret, text), f"check the options of the target and the ODBC driver {driver}"
    )


def _without(secret: str | None, text: str) -> str:
    return text.replace(secret, "...") if secret else text


def installed_drivers(module: Any) -> list[str]:
    """The names of the ODBC drivers of this host."""
    with suppress(module.Error):
        return list(module.drivers())
    return []
