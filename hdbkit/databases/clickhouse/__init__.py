"""ClickHouse in a process of this host, through chdb: a folder, no server to install, columns, no transactions.

What fails cannot be undone, and keys may be there twice. So a build that was interrupted begins again.
"""

from __future__ import annotations

import hashlib
import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from hdbkit.config import Target
from hdbkit.contracts import BuildLog, Capability, SessionOptions, Table
from hdbkit.contracts import Schema as Schema
from hdbkit.contracts import Workload as Workload
from hdbkit.databases._base.dbapi_session import DbapiSession
from hdbkit.databases._base.file_database import FileDatabase
from hdbkit.databases._base.file_lock import FileSchema
from hdbkit.databases.clickhouse.server import account_of
from hdbkit.errors import CannotConnect, ErrorClass, MissingDriver
from hdbkit.sql import ANSI, in_scope

_SERVER = Path(__file__).with_name("server.py")
_PATIENCE_S = 60.0
_GROUP_BYTES = 16 << 20
_CODE = re.compile(r"Code: (\d+)\. DB::Exception: (.*)", re.DOTALL)
_CLASSES = {
    "159": ErrorClass.STATEMENT_TIMEOUT,
    "241": ErrorClass.RESOURCES,
    "243": ErrorClass.RESOURCES,
    "349": ErrorClass.CONSTRAINT,
    "469": ErrorClass.CONSTRAINT,
}
"""By ClickHouse's codes: timeout, memory, disk, null in a column without nulls, violated constraint."""


class ClickHouseError(Exception):
    """An error of ClickHouse, or the end of the process that has the database open."""


class _Remote:
    """A session of that process, as a connection of a driver."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.close, self.fileno = connection.close, connection.fileno

    def answer(self, text: str, values: Any = None) -> tuple[Any, Any]:
        """The columns and rows of a command; the columns of a change are None."""
        try:
            self._connection.send((text, values))
            found: tuple[Any, Any] | str = self._connection.recv()
        except (EOFError, OSError) as error:
            raise ClickHouseError(f"the process that has the database open has ended ({error})") from None
        if isinstance(found, str):
            raise ClickHouseError(found)
        return found

    def cursor(self) -> _Cursor:
        """A cursor."""
        return _Cursor(self)

    def commit(self) -> None:
        """Nothing is open."""

    rollback = commit


class _Cursor:
    def __init__(self, connection: _Remote) -> None:
        self._connection, self.description, self._rows = connection, None, ()

    def execute(self, text: str, values: Any = None) -> None:
        self.description, self._rows = self._connection.answer(text, values)

    def fetchall(self) -> Any:
        return self._rows

    def close(self) -> None:
        pass


class ClickHouseSession(DbapiSession):
    """A session; its transactions are commands that are final one by one."""

    autocommits = True

    def load(self, table: Table, chunks: Iterable[bytes]) -> int:
        """Load rows as tab-separated text, about 16 MB at once."""
        assert self._begun, "a load outside a transaction"
        statement = in_scope({}, self.engine.dialects, "insert_text")
        insert = statement.filled({"table": table.name, "columns": table.columns}).text
        total, group = 0, b""
        for chunk in chunks:
            group += chunk
            if len(group) >= _GROUP_BYTES:
                total, group = total + self._insert_text(insert, group), b""
        return total + self._insert_text(insert, group)

    def _insert_text(self, insert: str, group: bytes) -> int:
        if group:
            self._guarded(self.connection.answer, f"{insert}\n{group.decode()}")
        return group.count(b"\n")

    def fileno(self) -> int:
        """The connection's socket."""
        return int(self.connection.fileno())


class ClickHouseSchema(FileSchema):
    """A schema whose interrupted build begins again: a part that was loaded in part looks like the others."""

    def log(self) -> BuildLog:
        """Without parts as long as the build is not complete."""
        found = super().log()
        return found if found.finished else BuildLog(found.exists, found.tables, found.spec)

    def create(self, spec: str) -> None:
        """Empty what an interrupted build left, also of a part that was not recorded, or that is still inserted."""
        found = super().log()
        if found.spec and not found.finished:
            for table in (*found.tables, "build_part"):
                self.session.query("end_inserts", table=table)
                self.session.query("empty_table", table=table)
        super().create(spec)


class ClickHouse(FileDatabase):
    """Contract: :class:`hdbkit.contracts.Database`."""

    kind = "clickhouse"
    title = "ClickHouse"
    dialects: tuple[str, ...] = (ANSI, kind)
    driver = "chdb"
    paramstyle = "format"
    extra = "clickhouse"
    capabilities = frozenset(
        {
            Capability.SQL,
            Capability.TABLES,
            Capability.DECIMALS,
            Capability.STATEMENT_TIMEOUT,
            Capability.PARALLEL_WORKERS,
            Capability.PLANS,
        }
    )
    options = ("max_threads", "max_memory_usage")
    preload: tuple[str, ...] = ("hdbkit.databases.clickhouse",)
    session_type = ClickHouseSession
    schema_type = ClickHouseSchema
    errors = (ClickHouseError,)

    def driver_version(self) -> str:
        """The library, which is never imported here: nothing of it survives a fork."""
        try:
            return f"chdb {version('chdb')}"
        except PackageNotFoundError:
            raise MissingDriver(self.kind, "chdb", self.extra) from None

    def opened(self, target: Target, options: SessionOptions) -> _Remote:
        """A session of the process that has the folder open, which is started if there is none."""
        folder = self.path(target)
        self.driver_version()
        name = f"hdbkit-clickhouse-{hashlib.sha256(bytes(folder.resolve())).hexdigest()[:32]}"
        end, problem = time.monotonic() + _PATIENCE_S, "its process does not start"
        while time.monotonic() < end:
            try:
                connection = connected_clickhouse(name, target.url)
                problem = connection.recv()
            except (EOFError, OSError):
                subprocess.run([sys.executable, "-P", _SERVER, folder, name], check=False)
                time.sleep(0.02)
                continue
            if not problem:
                return _Remote(connection)
            connection.close()
            break
        raise CannotConnect(target.url, problem, "close it in other programs, and check the folder's permissions")

    def set_up(self, session: DbapiSession, target: Target, options: SessionOptions) -> None:
        """What standard SQL demands of a session, the options of the target, and the limits."""
        session.query("set_up")
        wanted = dict(target.options)
        if options.parallel_workers is not None:
            wanted["max_threads"] = str(1 + options.parallel_workers)
        if options.statement_timeout_ms:
            wanted["max_execution_time"] = str(options.statement_timeout_ms / 1000)
        for name, value in wanted.items():
            session.query("set_option", name=name, value=value)

    def described(self, error: Exception) -> tuple[ErrorClass, str, str]:
        """By ClickHouse's code; a text without one is the end of the process."""
        if found := _CODE.search(str(error)):
            return _CLASSES.get(found[1], ErrorClass.OTHER), found[1], found[2]
        return ErrorClass.CONNECTION_LOST, "", str(error)


def connected_clickhouse(name: str, url: str) -> Connection:
    """A connection to the process of this account that serves an address.

    Raises:
        OSError: none serves it.
        CannotConnect: another account does, whose answers could execute code here.
    """
    with socket.socket(socket.AF_UNIX) as plain:
        plain.connect(f"\0{name}")
        if account_of(plain) != os.getuid():
            raise CannotConnect(url, "another account has taken its address on this host", "use another folder")
        return Connection(plain.detach())


DATABASE = ClickHouse()
