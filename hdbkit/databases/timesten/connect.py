"""How TimesTen is connected to with python-oracledb and the client library of TimesTen, and what its errors mean.

TimesTen supports the driver in its thick mode alone (Open Source Languages Support Guide). The address of the server
is in the DSN of the client, and connection attributes follow the password, which OCI passes on.

Through OCI and in PL/SQL, errors have codes of Oracle Database, and texts with the number of TimesTen, such as
``TT6002``, where it has one (Error Messages, "Error Reporting in OCI, Pro*C and PL/SQL Applications"). The number
decides, then the code. Numbers: https://docs.oracle.com/en/error-help/tt/.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from hdbkit.config import Target
from hdbkit.config.passwords import of_variable
from hdbkit.contracts import SessionOptions
from hdbkit.databases._oracledb.connect import CLASS_OF as OF_CODE
from hdbkit.databases._oracledb.connect import code_and_text, driver, load_client
from hdbkit.errors import CannotConnect, ErrorClass, InputError, NoneFree, NotReady, Rejected

TIMESTEN: Final = "timesten"
ORACLE_PASSWORD: Final = "HDBKIT_ORACLE_PASSWORD"  # noqa: S105  the name of a variable
"""The environment variable with the account's password in Oracle Database, which cache groups need."""

CONNECTION = "connection"
CLIENT_ATTRIBUTES, TIMESTEN_DIRECT, TNS = "client", "direct", "tns"
STATS: Final = "stats"
"""The option that has snapshots of the server's statistics taken."""
_DURABLE, _PASSTHROUGH = "durable_commits", "passthrough"
TIMESTEN_OPTIONS: Final = (CONNECTION, "client_lib", "config_dir", _DURABLE, _PASSTHROUGH, STATS)
"""The options of a target."""
TIMESTEN_VALUES: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        CONNECTION: (CLIENT_ATTRIBUTES, TIMESTEN_DIRECT, TNS),
        _DURABLE: ("on", "off"),
        _PASSTHROUGH: tuple("012345"),
        STATS: ("snapshots",),
    }
)
"""The values of options that have few."""
_ATTRIBUTES: Final = MappingProxyType({_DURABLE: "DurableCommits", _PASSTHROUGH: "PassThrough"})
"""Our names of options as connection attributes."""
_SWITCHES: Final = MappingProxyType({"on": "1", "off": "0"})

_CLASSES: Final[Mapping[ErrorClass, str]] = {
    ErrorClass.DEADLOCK: "6002",
    ErrorClass.LOCK_TIMEOUT: "6003",
    # the connection is terminated; the database is invalid
    ErrorClass.CONNECTION_LOST: "994 846",
    # unique; foreign key; foreign key in Oracle Database
    ErrorClass.CONSTRAINT: "907 3001 5224",
    # memory; permanent region; heap; locks; connections
    ErrorClass.RESOURCES: "802 6220 6206 6005 702",
}
TIMESTEN_CLASSES: Final[Mapping[int, ErrorClass]] = MappingProxyType(
    {int(number): error_class for error_class, numbers in _CLASSES.items() for number in numbers.split()}
)
"""The class of an error by its number of TimesTen."""
_NUMBER: Final = re.compile(r"\bTT-?(\d{4,5})\b")

_DSN = "check that the client's sys.odbc.ini or odbc.ini has the DSN, and that the server runs (ttStatus)"
_LIBRARY = (
    "install the TimesTen client, and run hdbkit in the environment that its bin/ttenv.sh sets; the loader finds the "
    "libraries by LD_LIBRARY_PATH"
)
_REFUSED: Final[Mapping[str, tuple[type[CannotConnect], str]]] = MappingProxyType(
    {
        "ORA-01017": (Rejected, "check account and password (HDBKIT_PASSWORD)"),
        "ORA-01005": (Rejected, "set HDBKIT_PASSWORD to the password"),
        "ORA-01045": (Rejected, "grant it as an administrator: GRANT CREATE SESSION"),
        "ORA-12154": (CannotConnect, "name the folder of tnsnames.ora in the option config_dir of the target"),
        "DPI-1047": (CannotConnect, _LIBRARY),
        "DPI-1072": (CannotConnect, _LIBRARY),
        "DPY-2019": (CannotConnect, "this process has used the driver without a client library; start a new one"),
    }
)
"""By code: how a refused connection is reported, and what to do."""
_REFUSED_NUMBERS: Final[Mapping[int, tuple[type[CannotConnect], str]]] = MappingProxyType(
    {
        702: (NoneFree, "end sessions, or raise the connection attribute Connections"),
        # the database is being unloaded, loaded or recovered
        **dict.fromkeys((9991, 9993, 9994, 9995, 9996), (NotReady, "wait until the database is loaded")),
    }
)


def described_error(error: Exception) -> tuple[ErrorClass, str, str]:
    """The class of an error of the driver, its code or number, and its text."""
    code, text = code_and_text(error)
    if isinstance(error, OSError):
        return ErrorClass.CONNECTION_LOST, code, text
    known = [number for number in _numbers(text) if number in TIMESTEN_CLASSES]
    if known:
        return TIMESTEN_CLASSES[known[0]], f"TT-{known[0]:05}", text
    return OF_CODE.get(code, ErrorClass.OTHER), code, text


def _numbers(text: str) -> list[int]:
    return [int(number) for number in _NUMBER.findall(text)]


def timesten_connection(target: Target, options: SessionOptions) -> Any:
    """A connection.

    Raises:
        CannotConnect: the library or the server refuses it, or there is none.
        InputError: the target does not name a DSN alone.
    """
    module = driver(TIMESTEN)
    given = timesten_parameters(target, options)
    try:
        load_client(module, target)
        return module.connect(**given)
    except (module.Error, OSError) as error:
        raise _refused(target, error) from None


def timesten_parameters(target: Target, options: SessionOptions) -> dict[str, Any]:
    """What the driver is called with: account, password with connection attributes, and the DSN.

    Raises:
        InputError: there is an address or no DSN, or a password has a semicolon.
    """
    if target.host or not target.database:
        raise InputError(
            f"target {target.described} must name a DSN and no address, which the DSN has; write "
            "timesten://user@/DSN for a DSN of the client; on the server's host also timesten://user@/DSN?connection=direct"
        )
    way = target.options.get(CONNECTION, CLIENT_ATTRIBUTES)
    dsn = target.database if way == TNS else f"localhost/{target.database}:timesten_{way}"
    return {"user": target.user, "password": _password(target), "dsn": dsn, "program": options.application}


def _password(target: Target) -> str | None:
    """The password, and behind it the attributes of the connection; OCI has no other place for them."""
    secrets = (target.secret(), None if target.withheld else of_variable(ORACLE_PASSWORD))
    if any(";" in one for one in secrets if one):
        raise InputError("a password with a semicolon cannot be given to TimesTen through this driver")
    password, of_oracle = secrets
    attributes = {"OraclePWD": of_oracle} if of_oracle else {}
    for ours, theirs in _ATTRIBUTES.items():
        if ours in target.options:
            attributes[theirs] = _SWITCHES.get(target.options[ours], target.options[ours])
    return ";".join([password or "", *(f"{name}={value}" for name, value in attributes.items())]) or None


def _refused(target: Target, error: Exception) -> CannotConnect:
    """The sentence for a refused connection, without passwords."""
    code, text = code_and_text(error)
    for secret in filter(None, (target.secret(), os.environ.get(ORACLE_PASSWORD))):
        text = text.replace(secret, "...")
    numbers = [number for number in _numbers(text) if number in _REFUSED_NUMBERS]
    kind, advice = _REFUSED_NUMBERS[numbers[0]] if numbers else _REFUSED.get(code, (CannotConnect, _DSN))
    return kind(target.url, text, advice)
