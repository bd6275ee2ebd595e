"""Which account of this host listens at an address: a password goes only to accounts that run such servers.

A socket names the account that listens (``SO_PEERCRED``); for TCP on this host the kernel lists the account of each
connection. Who connects to another host, or to a network of its own such as a container's, needs TLS instead.
"""

from __future__ import annotations

import os
import pwd
import socket
import struct
import sys
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from typing import NamedTuple

from hdbkit.config import Target
from hdbkit.errors import CannotConnect, Rejected

REQUIRE_PEER = "requirepeer"
"""The option of a target that names the account which must listen, as libpq's."""
_TABLES = ("/proc/net/tcp", "/proc/net/tcp6")
_LOCAL, _REMOTE, _STATE, _ACCOUNT, _NODE = 1, 2, 3, 7, 9
"""Positions of the words of a line."""
_LISTENS = "0A"
_PATIENCE_S = 5.0
_LOOK_S = 0.01
_MAPPED = b"\0" * 10 + b"\xff" * 2


class _Entry(NamedTuple):
    """A socket of the kernel's list: address and port of both ends, whether it listens, its account and node."""

    local: tuple[bytes, int]
    remote: tuple[bytes, int]
    listens: bool
    account: int
    node: int


def require_listener(target: Target, connection: socket.socket, names: Collection[str]) -> None:
    """Check that an account which may have the target's password is at the other end of a connection.

    Args:
        target: its option ``requirepeer`` names the account; without it, root, this account, and ``names``.
        connection: the connection, before the password is sent.
        names: the accounts as which packages install such servers.

    Raises:
        CannotConnect: another account listens; the error names it.
    """
    account = account_behind(connection)
    if account is None or account in _trusted(target, names):
        return
    raise stranger(target, account)


def is_trusted(target: Target, account: int | None, names: Collection[str]) -> bool:
    """Whether this account, if it is known, may have the target's password; arguments as above."""
    return account in _trusted(target, names)


def is_heard_by(target: Target, port: int, names: Collection[str]) -> bool:
    """Whether no other account than these listens at a port of this host."""
    rows = (row for row in _rows() if row[_STATE] == _LISTENS and _port(row[_LOCAL]) == port)
    return {int(row[_ACCOUNT]) for row in rows} <= _trusted(target, names)


def stranger(target: Target, account: int | None) -> CannotConnect:
    """The error where another account listens."""
    name = account_name(account)
    stated = target.options.get(REQUIRE_PEER)
    wanted = f"not {stated} of the option {REQUIRE_PEER}" if stated else "which is none that runs such servers"
    return Rejected(
        target.url,
        f"the account {name} of this host listens there, {wanted}, so that it gets no password",
        f"find out who listens; if it is the server, as in a container, set the option {REQUIRE_PEER} of the target "
        f"to {name}",
    )


@contextmanager
def reached_socket(path: str) -> Iterator[tuple[str, int | None]]:
    """A path that leads to the socket which is at ``path`` now, whatever is there later, and its account.

    The account is None if nothing can be connected to.
    """
    descriptor = -1
    with suppress(OSError):
        descriptor = os.open(path, os.O_PATH)
    if descriptor < 0:
        yield path, None
        return
    try:
        fixed, account = f"/proc/self/fd/{descriptor}", None
        with suppress(OSError), socket.socket(socket.AF_UNIX) as asks:
            asks.connect(fixed)
            account = account_behind(asks)
        yield fixed, account
    finally:
        os.close(descriptor)


def account_behind(connection: socket.socket) -> int | None:
    """The account at the other end of a connection; None if that is on another host, or in another network.

    Raises:
        OSError: the connection is not accepted in time, and no account is known.
    """
    if connection.family == socket.AF_UNIX:
        return int(struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[1])
    peer, own = _end(connection.getpeername()), _end(connection.getsockname())
    if peer[0] != own[0]:
        return None
    end = time.monotonic() + _PATIENCE_S
    while True:
        entries = list(_entries())
        accepted = next((one for one in entries if (one.local, one.remote) == (peer, own)), None)
        if accepted is not None and accepted.node:  # a connection that waits to be accepted belongs to nobody yet
            return accepted.account
        listening = {one.account for one in entries if one.listens and one.local[1] == peer[1] and _at(one, peer[0])}
        if len(listening) == 1:
            return listening.pop()
        if accepted is None and not listening:  # what leads to another network was set up by root
            return None
        if time.monotonic() > end:
            raise OSError("the connection was not accepted in time")
        time.sleep(_LOOK_S)


def _at(entry: _Entry, address: bytes) -> bool:
    return entry.local[0] in (address, bytes(16), _MAPPED + bytes(4))


def _end(name: tuple[str, int] | tuple[str, int, int, int]) -> tuple[bytes, int]:
    """An address and port, the former as one of IPv6."""
    host = name[0].partition("%")[0]
    return (socket.inet_pton(socket.AF_INET6, host) if ":" in host else _MAPPED + socket.inet_aton(host)), name[1]


def _entries() -> Iterator[_Entry]:
    for row in _rows():
        ends = _listed(row[_LOCAL]), _listed(row[_REMOTE])
        yield _Entry(*ends, row[_STATE] == _LISTENS, int(row[_ACCOUNT]), int(row[_NODE]))


def _rows() -> Iterator[list[str]]:
    """The words of each line of the kernel's lists, which are long where there are many connections."""
    for table in _TABLES:
        with suppress(OSError), open(table, encoding="ascii") as lines:  # noqa: PTH123  line by line
            next(lines, "")
            yield from map(str.split, lines)


def _listed(text: str) -> tuple[bytes, int]:
    """An end as the kernel lists it: words of 32 bits in its own byte order."""
    words = text.partition(":")[0]
    raw = b"".join(int(words[at : at + 8], 16).to_bytes(4, sys.byteorder) for at in range(0, len(words), 8))
    return raw if len(raw) == 16 else _MAPPED + raw, _port(text)


def _port(end: str) -> int:
    return int(end.rpartition(":")[2], 16)


def _trusted(target: Target, names: Collection[str]) -> set[int]:
    stated = target.options.get(REQUIRE_PEER)
    found = trusted_accounts(stated, names)
    if stated is None and target.server_folder is not None:
        with suppress(OSError):
            found.add((target.server_folder / "data").stat().st_uid)
    return found


def trusted_accounts(stated: str | None, names: Collection[str]) -> set[int]:
    """The account that is stated; without one root, this account, and those of these names."""
    if stated is not None:
        number = _number(stated)
        return set() if number is None else {number}
    return {0, os.geteuid(), *(number for one in names if (number := _number(one)) is not None)}


def _number(account: str) -> int | None:
    if account.isascii() and account.isdigit():
        return int(account)
    try:
        return pwd.getpwnam(account).pw_uid
    except KeyError:
        return None


def account_name(account: int | None) -> str:
    """The name of an account, or its number."""
    if account is None:
        return "(unknown)"
    try:
        return pwd.getpwuid(account).pw_name
    except KeyError:
        return str(account)
