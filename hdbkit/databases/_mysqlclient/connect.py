"""Connect with mysqlclient; connection errors as readable messages.

Arrays are sent as JSON text, and routines return their whole result as JSON text (``schemas/mysql``: ``heading`` and
``lines``). Numbers with a decimal point become Decimal, and text in the format of a timestamp becomes datetime.
"""

from __future__ import annotations

import json
import os
import re
import ssl
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from datetime import date, datetime
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

from hdbkit.config import Target
from hdbkit.config.passwords import of_variable
from hdbkit.config.target import ATTRIBUTES
from hdbkit.contracts import Row, SessionOptions
from hdbkit.databases._base.access import CONNECT_TIMEOUT, connect_timeout_s, in_option_file, tls_failure
from hdbkit.databases._base.listener import REQUIRE_PEER, is_heard_by, is_trusted, reached_socket, stranger
from hdbkit.errors import CannotConnect, MissingDriver, NoneFree, NothingListens, NotReady, Rejected
from hdbkit.files import is_utf8
from hdbkit.paths import home_folder

_TLS = {"ssl_ca": "ca", "ssl_capath": "capath", "ssl_cert": "cert", "ssl_key": "key", "ssl_cipher": "cipher"}
_VERIFYING = ("VERIFY_CA", "VERIFY_IDENTITY")
_SSL_MODES = ("DISABLED", "PREFERRED", "REQUIRED", *_VERIFYING)
_PASSED_ON = ("auth_plugin", "server_public_key_path", "init_command")
_SAFE = ("mysql_native_password", "client_ed25519", "parsec", "auth_gssapi_client")
"""Methods of login that do not tell the password to whoever listens at the address."""
_BY_KEY = ("caching_sha2_password", "sha256_password")
"""Methods that do not if the server's public key is known before."""
_SWITCHES = {"compress": None, "local_infile": 0}
"""Switches, and the driver's value for off; None omits the option, since any value turns compression on."""
_OURS = ("prepared", CONNECT_TIMEOUT, ATTRIBUTES, REQUIRE_PEER)
OPTIONS = ("socket", *_TLS, "ssl_mode", *_PASSED_ON, *_SWITCHES, *_OURS)
"""The options of a target: the socket's path, TLS (``ssl_mode`` is DISABLED, PREFERRED, REQUIRED, VERIFY_CA or
VERIFY_IDENTITY) with the certificates of the authority and, for mutual TLS, of the client; some of the driver's own;
``prepared``: whether the server prepares calls of routines; the timeout of a connection in seconds;
which of several servers is wanted: any, read-write or read-only; and the account that must listen at a socket."""
ACCOUNTS = ("mysql", "mariadb")
"""The accounts as which packages install such servers."""

_SWITCH = ("on", "off", "true", "false", "1", "0")
VALUES: Mapping[str, Collection[str]] = {
    **dict.fromkeys(("compress", "prepared"), _SWITCH),
    "ssl_mode": (*_SSL_MODES, *map(str.lower, _SSL_MODES)),
    ATTRIBUTES: ("any", "read-write", "read-only"),
}
"""The values of the options that have few."""
_ANOTHER = "create it, name another, or build with an administrator's account"
_FEWER = "use fewer virtual users or raise the server's limit"
_TLS_ADVICE = "check the options ssl_mode, ssl_ca, ssl_cert and ssl_key of the target"
_NOT_ACCEPTED = 5010
_RUNS = ("nothing listens on {address}", "check host and port, and that the server runs")
_ENDED = ("the server at {address} closed the connection during login", "see the server's log")
_LATE = ("no answer came from {address} in time", "check host, port and firewall")
_ERRORS: dict[int, tuple[str, str]] = {
    # error number of the server or the driver: meaning, advice
    1040: ("no more connections are allowed", _FEWER),
    1044: (
        "there is no database '{database}' that user '{user}' may use",
        "create it, name another, or {grant}; doctor then names the rest",
    ),
    1045: ("wrong user '{user}' or password", "check the user and set HDBKIT_PASSWORD to the right password"),
    1049: ("there is no database '{database}'", _ANOTHER),
    1053: ("the server is shutting down", "start it again"),
    1129: ("the server blocks this host after many failed connections", "run FLUSH HOSTS there"),
    1130: ("the server does not allow connections from this host", "create the account for this host"),
    1203: ("user '{user}' has reached its maximum number of connections", _FEWER),
    1226: ("user '{user}' has reached its maximum number of connections", _FEWER),
    1698: (
        "user '{user}' was not accepted",
        "the account belongs to an operating system user; use an account with a password",
    ),
    1820: ("the password of user '{user}' has expired", "set a new one"),
    1862: ("the password of user '{user}' has expired", "set a new one"),
    2002: _RUNS,
    2003: _RUNS,
    2005: ("there is no host '{host}'", "check the name of the host"),
    2013: _ENDED,
    2026: ("TLS negotiation failed", _TLS_ADVICE),
    2059: (
        "the driver does not support the account's authentication method",
        "check the option auth_plugin of the target",
    ),
    _NOT_ACCEPTED: (
        "the server asks for the password in a form that it can read without TLS",
        "set the option ssl_mode of the target to VERIFY_CA or REQUIRED, name the server's key in "
        "server_public_key_path, or permit it by auth_plugin=caching_sha2_password (or the account's other method)",
    ),
    3118: ("user '{user}' is locked", "unlock it or use another account"),
    3159: ("the server requires TLS", "set the option ssl_mode=REQUIRED of the target"),
    4151: ("user '{user}' is locked", "unlock it or use another account"),
}
_REJECTIONS = (1044, 1045, 1049, 1129, 1130, 1226, 1698, 1820, 1862, 3118, 3159, 4151, _NOT_ACCEPTED)
"""What only a running server says."""
_KINDS = {1040: NoneFree, 1053: NotReady, 1203: NoneFree, **dict.fromkeys(_REJECTIONS, Rejected)}
_OF_CLIENT = range(2000, 3000)
"""The numbers of errors that the client library makes; the others are the server's."""
_NO_PASSWORD = ("a password is required, but none was given", "set HDBKIT_PASSWORD or name a password file")
_REFUSED = (1045, 1130, 1698)
_FROM = re.compile(r"'@'([^']*)'|Host '([^']*)'")
"""Where the server's refusal names the host that it sees."""
_TLS_FAILED = 2026
_PORT = 3306
_OF_ENVIRONMENT = ("MYSQL_UNIX_PORT", "LIBMYSQL_PLUGINS", "LIBMYSQL_PLUGIN_DIR", "LIBMYSQL_ENABLE_CLEARTEXT_PLUGIN")
"""Variables of the client libraries that apply to connections."""
_ACCOUNT = re.compile(r"'[^']*'@'[^']*'")
_VARIABLE = "MYSQL_PWD"
_TIMED_OUT = "(110)"
_WITHIN_TIMEOUT = 0.9
"""The driver reports a connection that was closed during login as it reports a timeout, only earlier."""


def mysql_connection(target: Target, options: SessionOptions, sends_files: bool = False) -> Any:
    """Open a low-level connection.

    A server may ask a client for any file of its host where ``sends_files`` is set: only a load does.

    Raises:
        CannotConnect: with reason and advice, never with a password.
        MissingDriver: mysqlclient is not installed.
    """
    try:
        from MySQLdb import Error, _mysql
    except ImportError:
        raise MissingDriver(target.kind, "mysqlclient", "mysql") from None
    began = time.monotonic()
    try:
        with _arguments(target, options, sends_files) as arguments:
            return _mysql.connect(**arguments)
    except Error as error:
        code, text = _said(error)
        timeout_s = connect_timeout_s(target, options.connect_timeout_s)
        late = time.monotonic() - began > _WITHIN_TIMEOUT * timeout_s
        raise _connect_error(target, code, text, late) from None


def _said(error: Exception) -> tuple[int, str]:
    """The number and text of the driver's error.

    The text of a method that is not accepted may be no text at all: to touch it would end the process.
    """
    code = int(error.args[0] or 0) if error.args else 0
    return code, "" if code == _NOT_ACCEPTED or len(error.args) < 2 else str(error.args[1])


def refused_from(target: Target) -> str | None:
    """The name of this host as the server knows it, if it refuses the login; None if the login works.

    Raises:
        CannotConnect: the server refuses for another reason than account or password.
    """
    from MySQLdb import Error, _mysql

    try:
        with _arguments(target, SessionOptions()) as arguments:
            _mysql.connect(**arguments).close()
    except Error as error:
        code, text = _said(error)
        found = _FROM.search(text)
        if code not in _REFUSED or not found:
            raise _connect_error(target, code, text) from None
        return found[1] or found[2]
    return None


@contextmanager
def _arguments(target: Target, options: SessionOptions, sends_files: bool = False) -> Iterator[dict[str, Any]]:
    """The arguments of a connection, for a block in which they lead to the socket that was checked."""
    address = _address(target)
    if "unix_socket" not in address:
        yield _arguments_at(target, address, options, sends_files, is_known=False)
        return
    with reached_socket(address["unix_socket"]) as (path, account):
        is_known = is_trusted(target, account, ACCOUNTS)
        if not is_known and account is not None and (REQUIRE_PEER in target.options or not _is_of_mariadb()):
            raise stranger(target, account)
        try:
            yield _arguments_at(target, {"unix_socket": path}, options, sends_files, is_known=is_known)
        except Exception as error:
            if account is not None and not is_known and _said(error)[0] == _NOT_ACCEPTED:
                raise stranger(target, account) from None
            raise


def _arguments_at(
    target: Target, address: dict[str, Any], options: SessionOptions, sends_files: bool, *, is_known: bool
) -> dict[str, Any]:
    from MySQLdb.constants import CLIENT

    given = target.options
    arguments: dict[str, Any] = {
        **address,
        "user": target.user,
        "password": _password(target),
        "database": target.database,
        CONNECT_TIMEOUT: connect_timeout_s(target, options.connect_timeout_s),
        "charset": "utf8mb4",
        "conv": converters(),
        "client_flag": CLIENT.MULTI_STATEMENTS | CLIENT.MULTI_RESULTS,
        "local_infile": int(sends_files),
        **{name: given[name] for name in _PASSED_ON if name in given},
        **_encrypted(target),
        **{name: 1 if is_on(target, name) else off for name, off in _SWITCHES.items() if name in given},
    }
    if accepted := () if is_known else _accepted_methods(target, at_socket="unix_socket" in address):
        arguments["read_default_file"] = _option_file(accepted)
        arguments.setdefault("auth_plugin", accepted[0])  # not the server's own: a switch to another is refused
    return {name: value for name, value in arguments.items() if value is not None}


def _encrypted(target: Target) -> dict[str, Any]:
    """The driver's arguments for TLS.

    Without a file of authorities, MariaDB's client library compares no name; with one, it verifies the authority in
    each mode, and from VERIFY_CA on also the name.
    """
    given, mode = target.options, _ssl_mode(target)
    certificates = {name: given[option] for option, name in _TLS.items() if option in given}
    if mode in _VERIFYING and not certificates.keys() & {"ca", "capath"}:
        paths = ssl.get_default_verify_paths()
        found = {"ca": paths.cafile, "capath": paths.capath}
        certificates |= {name: path for name, path in found.items() if path is not None}
    if mode == "VERIFY_CA" and certificates.keys() & {"ca", "capath"} and _is_of_mariadb():
        mode = "REQUIRED"
    return {"ssl_mode": mode, "ssl": certificates or None}


@cache
def _is_of_mariadb() -> bool:
    """Whether the driver uses MariaDB's client library, not Oracle's."""
    from MySQLdb import _mysql

    library = _mysql.get_client_info()
    return library.startswith(("2.", "3.", "4.")) or "MariaDB" in library


def _accepted_methods(target: Target, *, at_socket: bool) -> tuple[str, ...]:
    """The methods of login with which a server gets no password in clear text; empty: all.

    TLS that the target requires, a socket at which an account of servers listens and a server of hdbkit's own permit
    the others, and the option ``auth_plugin`` the one that it names. Without TLS, Oracle's client library refuses
    them itself.
    """
    encrypted = _ssl_mode(target) in ("REQUIRED", *_VERIFYING) and not at_socket
    own = target.server_folder is not None and is_heard_by(target, target.port or _PORT, ACCOUNTS)
    if encrypted or own or not _is_of_mariadb():
        return ()
    named = (target.options["auth_plugin"],) if "auth_plugin" in target.options else ()
    return (*named, *_SAFE, *(_BY_KEY if "server_public_key_path" in target.options else ()))


@cache
def _option_file(methods: tuple[str, ...]) -> str:
    """The path of an option file in memory that restricts the methods: the driver has no argument for that."""
    descriptor = os.memfd_create("hdbkit-options")  # open until the process ends
    os.write(descriptor, f"[client]\nrestricted-auth={','.join(methods)}\n".encode())
    return f"/proc/self/fd/{descriptor}"


def _password(target: Target) -> str | None:
    """The password as given, or that of the option file, whose other options might name another server."""
    secret = target.secret_or(lambda: (password_in_file(target) or (None, None))[1])
    known = of_variable(_VARIABLE)
    if target.withheld and known is not None:  # the client library would send it in place of none
        raise Rejected(target.url, f"{_VARIABLE} is not used for this address", target.withheld)
    if secret and not is_utf8(secret):
        raise CannotConnect(target.url, "the password is not valid UTF-8", "check the encoding of HDBKIT_PASSWORD")
    return secret


def of_environment(target: Target) -> list[str]:
    """The variables of the client library that are set and apply to the target's connections."""
    is_local = target.host in (None, "localhost") and not target.port and "socket" not in target.options
    return [one for one in _OF_ENVIRONMENT if one in os.environ and (is_local or one != _OF_ENVIRONMENT[0])]


def _ssl_mode(target: Target) -> str | None:
    """The option ``ssl_mode``, which may be in either case."""
    given = target.options.get("ssl_mode")
    return None if given is None else given.upper()


def verifies_name(target: Target) -> bool:
    """Whether the server's certificate must have the target's host as a name."""
    return _ssl_mode(target) == "VERIFY_IDENTITY"


def is_on(target: Target, option: str, default: bool = False) -> bool:
    """Whether an option of the target is on; 0, off and false mean off."""
    return target.options[option] not in ("0", "off", "false") if option in target.options else default


def password_in_file(target: Target) -> tuple[Path, str] | None:
    """The option file of the target, else ``~/.my.cnf``, and the password that it has for the account.

    That of the group ``[client_USER]`` precedes that of ``[client]``.
    """
    path = target.password_file or home_folder() / ".my.cnf"
    found = in_option_file(path, (f"client_{target.user}", "client"))
    return (path, found) if found else None


def _address(target: Target) -> dict[str, Any]:
    """Host and port, or the socket: a host that starts with ``/`` is the socket or its folder."""
    socket = target.options.get("socket")
    if target.host and target.host.startswith("/"):
        path = Path(target.host)
        found = sorted(path.glob("*.sock")) if path.is_dir() else []
        socket = str(found[0] if found else path)
    if socket:
        return {"unix_socket": socket}
    host = target.host
    if host == "localhost" and target.port:  # which means the socket to the driver, in small letters alone
        host = host.upper() if verifies_name(target) else "127.0.0.1"
    return {"host": host or "localhost", "port": target.port or _PORT}  # not those of the environment


def _connect_error(target: Target, code: int, text: str, late: bool = False) -> CannotConnect:
    host = target.host or "the local socket"
    words = {
        "user": target.user or "(none given)",
        "database": target.database or "(none given)",
        "host": host,
        "address": f"{host}, port {target.port or 'not given'}",
    }
    account = _ACCOUNT.search(text)
    words["grant"] = f"run: GRANT SELECT ON `{words['database']}`.* TO {account[0]}" if account else "grant it SELECT"
    if code == _TLS_FAILED and (failure := tls_failure(target, text, "ssl_ca")):
        return failure
    if code == 1045 and "using password: NO" in text:
        reason, advice = _NO_PASSWORD
    elif code in (2002, 2003, 2013) and (late or _TIMED_OUT in text):
        reason, advice = _LATE
    else:
        reason, advice = _ERRORS.get(code, (text.strip() or "no reason given", "check the target"))
    kind = NothingListens if (reason, advice) == _RUNS else _KINDS.get(code, CannotConnect)
    if code in _ERRORS:
        reason, advice = reason.format(**words), advice.format(**words)
    return kind(target.url, reason, advice, "" if code in _OF_CLIENT else text.strip())


@cache
def converters() -> dict[int, Callable[[Any], Any]]:
    """The conversion of each column type."""
    from MySQLdb.constants import FIELD_TYPE

    return {
        **dict.fromkeys(
            (FIELD_TYPE.TINY, FIELD_TYPE.SHORT, FIELD_TYPE.INT24, FIELD_TYPE.LONG, FIELD_TYPE.LONGLONG), int
        ),
        **dict.fromkeys((FIELD_TYPE.FLOAT, FIELD_TYPE.DOUBLE), float),
        **dict.fromkeys((FIELD_TYPE.DECIMAL, FIELD_TYPE.NEWDECIMAL), Decimal),
        FIELD_TYPE.DATE: date.fromisoformat,
        **dict.fromkeys((FIELD_TYPE.DATETIME, FIELD_TYPE.TIMESTAMP), datetime.fromisoformat),
        **dict.fromkeys((FIELD_TYPE.STRING, FIELD_TYPE.VAR_STRING, FIELD_TYPE.VARCHAR, FIELD_TYPE.JSON), str),
        **dict.fromkeys((FIELD_TYPE.TINY_BLOB, FIELD_TYPE.BLOB, FIELD_TYPE.MEDIUM_BLOB, FIELD_TYPE.LONG_BLOB), str),
    }


_TIME = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d+)?")


def _text(value: Any) -> bytes:
    return b"'%b'" % str(value).replace("\\", "\\\\").replace("'", "''").encode()


def _array(values: Any) -> bytes:
    """Arrays of integers, the common case, are written as Python lists, which takes a third of the time."""
    if {*map(type, values)} == {int}:
        return b"'%b'" % str(list(values)).encode()
    return _text(json.dumps(values, default=str))


ENCODERS: defaultdict[type, Callable[[Any], bytes]] = defaultdict(
    lambda: _text,
    {
        type(None): lambda _: b"NULL",
        int: b"%d".__mod__,
        bool: b"%d".__mod__,
        float: lambda value: repr(value).encode(),
        Decimal: lambda value: format(value, "f").encode(),
        tuple: _array,
        list: _array,
    },
)
"""By type, the conversion of a value to a literal."""


def result_of(raw: Any) -> tuple[str, list[Row]]:
    """The name of the first column and the rows of a stored result; no rows of a statement without a result."""
    if raw is None:
        return "", []
    raw.data_seek(0)
    return raw.describe()[0][0], list(raw.fetch_row(0))


def decoded_rows(name: str, rows: list[Row]) -> list[Row]:
    """The rows; if the first column is ``heading``, the JSON result of a routine is decoded."""
    return [_answer(*row) for row in rows] if name == "heading" else rows


def _answer(heading: str, lines: str | None = None) -> Row:
    """Decode a routine's result: ``heading`` has a value or an array per field, ``lines`` a list of fields."""
    fields = [_value(value) for value in json.loads(heading, parse_float=Decimal)]
    if lines is None:
        return tuple(fields)
    by_line = json.loads(lines, parse_float=Decimal)
    return (*fields, *(tuple(map(_value, field)) for field in zip(*by_line, strict=True)))


def _value(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(map(_value, value))
    return datetime.fromisoformat(value) if isinstance(value, str) and _TIME.fullmatch(value) else value
