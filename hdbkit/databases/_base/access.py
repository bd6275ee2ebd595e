"""What engines have in common when they connect: several addresses, the timeout, why a TLS handshake failed, and
whether a password file of a driver has a password for an account. Passwords are never kept.
"""

from __future__ import annotations

import configparser
import os
import re
import shlex
import socket
import ssl
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar, cast

from hdbkit.awaiting import in_time
from hdbkit.config import Target
from hdbkit.config.problems import did_you_mean
from hdbkit.config.target import ATTRIBUTES
from hdbkit.contracts import SessionOptions
from hdbkit.errors import CannotConnect, InputError, NothingListens, Rejected, login_refusal

S = TypeVar("S")
"""The option of a target that states which of its servers is wanted."""
_PRIMARY = ("read-write", "primary")
LOOPBACK = "127.0.0.1"
"""Where the proxy of network faults listens."""
CONNECT_TIMEOUT = "connect_timeout"
"""The option of a target that replaces the usual timeout of a connection, in seconds."""
_CONNECT_TIMEOUT_S = 10
_LATE_S = 2.0
"""How long after its timeout a driver may report that a connection failed."""
_RENEW = "renew it on the server"
_AUTHORITY = "name the file of its authority in the option {authority} of the target"
_UNKNOWN = f"the authority that signed the server's certificate is not trusted here; {_AUTHORITY}"
_OTHER_NAME = "the server's certificate is not for '{host}'; name the server as its certificate does"
_REASONS = (
    # what OpenSSL or the client library says, reason and advice
    ("has expired", f"the server's certificate has expired; {_RENEW}"),
    ("not yet valid", f"the server's certificate is not valid yet; {_RENEW}, or correct the clock of this host"),
    ("self-signed", _UNKNOWN),
    ("self signed", _UNKNOWN),
    ("unable to get local issuer", _UNKNOWN),
    ("unable to get issuer", _UNKNOWN),
    ("does not match host name", _OTHER_NAME),
    ("certificate is not valid for", _OTHER_NAME),
    ("Validation of SSL server certificate failed", _OTHER_NAME),
    ("root certificate file", f"there is no file with trusted authorities; {_AUTHORITY}"),
    ("alert unknown ca", "the server does not trust the client's certificate; use one of the server's authority"),
    ("certificate required", "the server requires a client certificate; name it and its key in the target's options"),
)


def first_usable(target: Target, connect: Callable[[Target], S]) -> S:
    """A session at the first address of the target that can be used.

    Raises:
        CannotConnect: none can; the error of the only address, or one that lists the reasons of all.
    """
    failures = []
    addresses = target.each
    for one in addresses:
        try:
            return connect(one)
        except CannotConnect as error:
            failures.append(error)
    failures = [_with_reason(target, one) for one in failures]
    if len(failures) == 1:
        raise _with_start_command(target, failures[0])
    tried = (f"{one.host}{f':{one.port}' if one.port else ''}" for one in addresses)
    reasons = "; ".join(f"{address}: {error.reason}" for address, error in zip(tried, failures, strict=True))
    stated = next(filter(None, map(login_refusal, failures)), "")
    raise CannotConnect(target.url, f"none of its addresses can be used ({reasons})", failures[0].advice, stated)


def _with_reason(target: Target, error: CannotConnect) -> CannotConnect:
    """The error of a refused login, with the reason why no password was sent, if one was withheld."""
    if isinstance(error, Rejected) and (reason := target.withheld):
        return type(error)(error.target, error.reason, reason, error.stated)
    return error


def wants_primary(target: Target) -> bool:
    """Whether only a server that accepts changes is wanted: one that accepts none any longer is given up."""
    return target.options.get(ATTRIBUTES) in _PRIMARY


def _with_start_command(target: Target, error: CannotConnect) -> CannotConnect:
    """The error of a stopped server whose target has a command to start it, with that command as advice."""
    command = target.control.commands.start or target.control.commands.restart
    if command and isinstance(error, NothingListens):
        return NothingListens(error.target, error.reason, f"start the server with: {shlex.join(command)}")
    return error


def check_options(target: Target, known: Collection[str] | None, values: Mapping[str, Collection[str]]) -> None:
    """Check the names of a target's options (all, if ``known`` is None), and the values of those that have few.

    Raises:
        InputError: an option is unknown, or has an unknown value.
    """
    subject = f"target {target.described}"
    for name, given in target.options.items():
        if known is not None and name not in known:
            close = did_you_mean(name, list(known))
            raise InputError(f"{subject} has the unknown option '{name}'; known: {', '.join(known)}.{close}")
        if name in values and given not in values[name]:
            close, listed = did_you_mean(given, list(values[name])), ", ".join(values[name])
            raise InputError(f"{subject}: the option {name} is '{given}'; known values: {listed}.{close}")
        if name == CONNECT_TIMEOUT and not (given.isascii() and given.isdigit() and 1 <= int(given[:5]) <= 3600):
            raise InputError(f"{subject}: the option {name} is '{given}'; give whole seconds from 1 to 3600")


def connect_timeout_s(target: Target, max_s: int | None) -> int:
    """The timeout of a connection: the target's option, or 10 s; not more than ``max_s``."""
    wanted_s = int(target.options.get(CONNECT_TIMEOUT, _CONNECT_TIMEOUT_S))
    return wanted_s if max_s is None else min(wanted_s, max_s)


def connected_in_time(
    target: Target, options: SessionOptions, connect: Callable[[], S], *, by_thread: bool = True
) -> tuple[S, int | None]:
    """A connection of a driver that waits in C, and the descriptor of its socket, if that is known.

    A session of a load connects as its driver does. Any other is given up some seconds after the timeout of the
    connection, which not every driver keeps, and at a signal; without ``by_thread`` when its driver ends.

    Raises:
        CannotConnect: there is no answer.
    """
    if not options.is_own:
        return connect(), None
    before, timeout_s = _sockets(), connect_timeout_s(target, options.connect_timeout_s)
    try:
        limit_s = timeout_s + _LATE_S
        connection = in_time(connect, limit_s, lambda one: cast(Any, one).close()) if by_thread else connect()
    except TimeoutError:
        where = f" from {target.host}, port {target.port or 'not given'}" if target.host else ""
        raise CannotConnect(target.url, f"no answer came{where} in time", "check host, port and firewall") from None
    opened = tuple(_sockets() - before)
    return connection, opened[0] if len(opened) == 1 else None


def _sockets() -> frozenset[int]:
    """The descriptors of this process that are sockets; empty where the system does not list them."""
    found = set()
    with suppress(OSError):
        for name in os.listdir("/proc/self/fd"):  # noqa: PTH208  entries may go
            with suppress(OSError):
                if os.readlink(f"/proc/self/fd/{name}").startswith("socket:"):  # noqa: PTH115
                    found.add(int(name))
    return frozenset(found)


def unreachable(target: Target, port: int, advice: str) -> CannotConnect | None:
    """Why the address cannot be reached, if a connection of our own finds that.

    Args:
        target: its host and port.
        port: the port of a target that names none.
        advice: what to do where nothing listens.
    """
    host, at = target.host or "localhost", target.port or port
    try:
        socket.create_connection((host, at), 5).close()
    except socket.gaierror:
        return CannotConnect(target.url, f"there is no host '{host}'", "correct the host's name")
    except ConnectionRefusedError:
        return NothingListens(target.url, f"nothing listens on {host}:{at}", advice)
    except OSError as error:
        return CannotConnect(target.url, f"{host}:{at} does not answer ({error})", "check the network")
    return None


def tls_failure(target: Target, text: str, authority: str) -> CannotConnect | None:
    """The error of a failed handshake by what the library said; ``authority``: the option that names its file."""
    for sign, meaning in _REASONS:
        if sign in text:
            reason, advice = meaning.format(host=target.host, authority=authority).split("; ", 1)
            return CannotConnect(target.url, reason, advice)
    return None


def handshake_problem(target: Target, port: int, request: bytes, accepted: bytes, authorities: str | None) -> str:
    """What is wrong with the certificate of a server, by a handshake of our own; empty if that finds nothing.

    Args:
        target: its host.
        port: its port.
        request: what asks the server for TLS.
        accepted: its answer.
        authorities: the file of trusted authorities; None: those of the system.
    """
    with suppress(OSError, ssl.SSLError):
        context = ssl.create_default_context(cafile=authorities)
        context.check_hostname = False
        try:
            _handshake(target, port, request, accepted, context)
        except ssl.SSLCertVerificationError as error:
            return error.verify_message
    return ""


def certificate_end(target: Target, port: int, request: bytes, accepted: bytes) -> datetime | None:
    """The end of a server's certificate, by a handshake of our own; None if it cannot be read.

    The arguments are those of ``handshake_problem``.
    """
    with suppress(ImportError, OSError, ValueError):
        from cryptography import x509

        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE  # nothing is sent to it
        content = _handshake(target, port, request, accepted, context)
        return x509.load_der_x509_certificate(content).not_valid_after_utc if content else None
    return None


def _handshake(target: Target, port: int, request: bytes, accepted: bytes, context: ssl.SSLContext) -> bytes | None:
    """The server's certificate (DER); None if it does not accept TLS."""
    with socket.create_connection((target.options.get("hostaddr") or target.host or "localhost", port), 5) as plain:
        plain.sendall(request)
        if plain.recv(len(accepted)) != accepted:
            return None
        with context.wrap_socket(plain) as encrypted:
            return encrypted.getpeercert(binary_form=True)


def ends_here(descriptor: int) -> bool:
    """Whether a connection ends on this host: a local socket, or TCP between two equal addresses."""
    with socket.socket(fileno=os.dup(descriptor)) as connection:
        return connection.family == socket.AF_UNIX or connection.getpeername()[0] == connection.getsockname()[0]


_VALUE = re.compile(r"""\s*(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|([^#]*[^#\s])?)""")
"""A value of an option file, without its quotes or the comment behind it."""
_ESCAPES = {"b": "\b", "t": "\t", "n": "\n", "r": "\r", "s": " "}
_FIELD = re.compile(r"((?:[^:\\]|\\.)*)(?::|$)")


def in_colon_file(path: Path, host: str, port: int, database: str, user: str) -> bool:
    """Whether a file of lines ``host:port:database:user:password`` (``*`` matches any) has one for this account.

    A file that others may read is ignored, as by the driver.
    """
    wanted = (host, str(port), database, user)
    return any(
        all(field in ("*", value) for field, value in zip(fields, wanted, strict=False))
        for fields in _colon_lines(path)
        if len(fields) > len(wanted)
    )


def password_of(target: Target) -> str | None:
    """The password of the target, or of its user in its password file."""
    return target.secret_or(lambda: in_account_file(target.password_file, target.user or ""))


def in_account_file(path: Path | None, user: str) -> str | None:
    """The password of an account in a file of lines ``user:password``; None if there is none."""
    if path is None:
        return None
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError:
        return None
    return dict(line.split(":", 1) for line in lines if ":" in line).get(user)


def in_option_file(path: Path, groups: Sequence[str]) -> str | None:
    """The password in the first of these groups of an option file (``[group]``, ``name = value``) that has one."""
    parser = configparser.ConfigParser(allow_no_value=True, strict=False, interpolation=None, delimiters=("=",))
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
        parser.read_string("\n".join(line for line in lines if not line.startswith("!")))
    except (OSError, ValueError, configparser.Error):
        return None
    given = filter(None, (parser.get(group, "password", fallback=None) for group in groups))
    if (found := _VALUE.match(next(given, ""))) is None:
        return None
    text = next(filter(None, found.groups()), "")
    return re.sub(r"\\([btnrs\\\"'])", lambda escape: _ESCAPES.get(escape[1], escape[1]), text) or None


def _colon_lines(path: Path) -> Iterator[list[str]]:
    try:
        if path.stat().st_mode & 0o077:
            return
        text = path.read_text(encoding="utf-8")
    except (OSError, ValueError):
        return
    for line in text.splitlines():
        if not line.startswith("#"):
            yield [re.sub(r"\\(.)", r"\1", field) for field in _FIELD.findall(line)[:-1]]
