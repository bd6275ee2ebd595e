"""IBM's driver for Db2 as sessions use it: connections and cursors that keep what they prepared.

This is a layer on the module ``ibm_db``, since the cursors of ``ibm_db_dbi`` prepare a statement at each execution
and ask for the type of each value. Every error of the driver is raised as :class:`CliError`.
"""

from __future__ import annotations

import os
import re
import socket
import stat
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any, Final

from hdbkit.errors import MissingDriver

DB2: Final = "db2"
_DRIVER: Final = "ibm_db"
_STATE: Final = re.compile(r"SQLSTATE=(\w{5})\s+SQLCODE=(-?\d+)")
_PREFIX: Final = re.compile(r"^.*?\[IBM\]\[CLI Driver\](?:\[[^\]]*\])?\s*")
_CALL: Final = re.compile(r"\s*CALL\b", re.IGNORECASE)
_NOT_ACTIVE: Final = "08003"
"""The SQLSTATE of a connection that does not exist; the driver's own text has none."""
_LOST: Final = "08006"
"""The SQLSTATE of a connection that broke."""
_DECIMALS: Final = frozenset({"decimal", "numeric"})
_ONE_STATEMENT: Final = 0
"""The driver's number for an option of a statement."""


class CliError(Exception):
    """An error of the driver: SQLSTATE, SQLCODE and text."""

    def __init__(self, state: str, code: int, text: str) -> None:
        super().__init__(state, code, text)
        self.state, self.code, self.text = state, code, text


def cli_driver() -> Any:
    """The driver's module. Raises ``MissingDriver``, which names a client library that cannot be loaded."""
    try:
        import ibm_db
    except ModuleNotFoundError:
        raise MissingDriver(DB2, _DRIVER, DB2) from None
    except ImportError as error:
        raise MissingDriver(f"{DB2} (whose client library cannot be loaded: {error})", _DRIVER, DB2) from None
    return ibm_db


def error_of(error: BaseException) -> CliError:
    """An exception of the driver, which is of no class of its own, by what its text states."""
    if isinstance(error, SystemError) and error.__cause__ is not None:  # raised while another one was raised
        return error_of(error.__cause__)
    text = " ".join(str(error).split())
    found = _STATE.search(text)
    if found is None:
        return CliError(_NOT_ACTIVE if "not active" in text else "", 0, text or type(error).__name__)
    return CliError(found[1], int(found[2]), _PREFIX.sub("", text[: found.start()]).strip() or text)


def _guarded(work: Callable[..., Any], *arguments: Any) -> Any:
    try:
        return work(*arguments)
    except Exception as error:
        raise error_of(error) from None


class CliConnection:
    """A connection of the driver, whose transactions end by ``commit`` and ``rollback``."""

    def __init__(self, text: str, port: int) -> None:
        self.module = cli_driver()
        options = {self.module.SQL_ATTR_AUTOCOMMIT: self.module.SQL_AUTOCOMMIT_OFF}
        self._socket = OwnSocket(partial(_guarded, self.module.connect, text, "", "", options), port)
        self.handle = self._socket.connection
        self.statement_timeout_s = 0
        """The timeout of statements that are prepared from now on; 0: none."""

    @property
    def product(self) -> tuple[str, str]:
        """Name and version of the server as it states them; Apache Derby states no name."""
        found = _guarded(self.module.server_info, self.handle)
        return str(found.DBMS_NAME), str(found.DBMS_VER)

    def cursor(self) -> Cursor:
        """A cursor."""
        return Cursor(self)

    def commit(self) -> None:
        """Commit; on a connection that is not that of the login, roll back and raise.

        The driver replaces a connection that broke between two transactions, whatever its keywords say: the new one
        lacks what the session has set, and the loss would not be counted.
        """
        if self._socket.was_replaced:
            self.rollback()
        _guarded(self.module.commit, self.handle)

    def rollback(self) -> None:
        """Roll back; raises on a connection that is not that of the login, whose errors may say something else."""
        _guarded(self.module.rollback, self.handle)
        if self._socket.was_replaced:
            raise CliError(_LOST, 0, "the connection broke, and the driver replaced it")

    def close(self) -> None:
        """Close the connection."""
        _guarded(self.module.close, self.handle)


class _Prepared:
    """A prepared statement, and which columns of its results are decimals."""

    def __init__(self, connection: CliConnection, text: str) -> None:
        self._module = connection.module
        self.handle = _guarded(self._module.prepare, connection.handle, text)
        self.is_call = _CALL.match(text) is not None
        self._decimals: dict[int, tuple[int, ...]] = {}
        """By the number of a result, its columns of decimals."""
        if connection.statement_timeout_s:
            option = {self._module.SQL_ATTR_QUERY_TIMEOUT: connection.statement_timeout_s}
            _guarded(self._module.set_option, self.handle, option, _ONE_STATEMENT)

    def decimals(self, result: int, handle: Any, width: int) -> tuple[int, ...]:
        """The columns of decimals of a result, which the driver returns as texts; asked once."""
        if result not in self._decimals:
            types = [_guarded(self._module.field_type, handle, column) for column in range(width)]
            self._decimals[result] = tuple(column for column, name in enumerate(types) if name in _DECIMALS)
        return self._decimals[result]


class Cursor:
    """What executes statements; each text is prepared once."""

    def __init__(self, connection: CliConnection) -> None:
        self.connection = connection
        self._module = connection.module
        self._known: dict[str, _Prepared] = {}
        self._prepared: _Prepared | None = None
        self._handle: Any = None
        self._result = self.width = 0
        """The number of the current result, and of its columns; 0 columns: no result."""

    @property
    def description(self) -> list[str] | None:
        """The names of the columns of the current result; None if there is none."""
        if not self.width:
            return None
        return [str(_guarded(self._module.field_name, self._handle, column)) for column in range(self.width)]

    def execute(self, text: str, values: Sequence[Any] = ()) -> None:
        """Execute a statement."""
        self._prepared = prepared = self._prepare(text)
        self._handle, self._result = prepared.handle, 0
        _guarded(self._module.execute, prepared.handle, *((tuple(values),) if values else ()))
        self.width = int(_guarded(self._module.num_fields, prepared.handle) or 0)

    def executemany(self, text: str, rows: Sequence[Sequence[Any]]) -> None:
        """Execute a statement for each of the rows, which are sent as arrays."""
        _guarded(self._module.execute_many, self._prepare(text).handle, tuple(map(tuple, rows)))
        self.width = 0

    def fetchall(self) -> list[tuple[Any, ...]]:
        """The rows of the current result, with decimals."""
        assert self._prepared is not None, "no result"
        decimals = self._prepared.decimals(self._result, self._handle, self.width)  # before its last row closes it
        rows = _guarded(self._module.fetchall, self._handle) or []
        if not decimals:
            return list(rows)
        kept = {*decimals}
        return [
            tuple(
                Decimal(value) if column in kept and value is not None else value for column, value in enumerate(row)
            )
            for row in rows
        ]

    def nextset(self) -> bool:
        """Whether a call has a further result, which is then the current one; other statements have one at most."""
        assert self._prepared is not None, "no result"
        if not self._prepared.is_call:
            return False
        following = _guarded(self._module.next_result, self._prepared.handle)
        if following is False or following is None:
            return False
        self._handle, self._result = following, self._result + 1
        self.width = int(_guarded(self._module.num_fields, following) or 0)
        return True

    def close(self) -> None:
        """Free the statements; never raises."""
        for one in self._known.values():
            with suppress(Exception):
                self._module.free_stmt(one.handle)
        self._known.clear()

    def _prepare(self, text: str) -> _Prepared:
        if text not in self._known:
            self._known[text] = _Prepared(self.connection, text)
        return self._known[text]


def connection_text(attributes: Mapping[str, str]) -> str:
    """A connection string."""
    return "".join(f"{name}={value};" for name, value in attributes.items())


_DESCRIPTORS: Final = Path("/proc/self/fd")
_LOGIN: Final = threading.Lock()
"""One login at a time, so that what is new is its own."""


class OwnSocket:
    """The socket that ``login`` opened to ``port``; unknown if there is not exactly one."""

    def __init__(self, login: Callable[[], Any], port: int) -> None:
        with _LOGIN:
            before = _sockets()
            self.connection = login()
            """What ``login`` returned."""
            new = [one for one in _sockets() - before if _leads_to(one[0], port)]
        self._known = new[0] if len(new) == 1 else None

    @property
    def was_replaced(self) -> bool:
        """Whether the connection has another socket by now; a call of the operating system, no round trip."""
        if self._known is None:
            return False
        descriptor, number = self._known
        try:
            return os.fstat(descriptor).st_ino != number
        except OSError:
            return True


def _sockets() -> set[tuple[int, int]]:
    """Descriptor and inode number of each socket of this process; a new socket never has the number of another."""
    found = set()
    with suppress(OSError):
        for one in _DESCRIPTORS.iterdir():
            with suppress(OSError):  # that of the list itself
                state = os.fstat(int(one.name))
                if stat.S_ISSOCK(state.st_mode):
                    found.add((int(one.name), state.st_ino))
    return found


def _leads_to(descriptor: int, port: int) -> bool:
    with suppress(OSError), closing(socket.socket(fileno=os.dup(descriptor))) as one:
        return one.family in (socket.AF_INET, socket.AF_INET6) and one.getpeername()[1] == port
    return False
