"""DuckDB, embedded in the client: a file, no server, columns instead of rows, several threads for each query.

A file is open for writing in one process at a time, or for reading in many. So a session opens it for each
transaction and for each question anew, and keeps it open, for reading, only once operations are prepared.

DuckDB 2.0.1 reads the file's header before it locks the file. If another process commits and closes the file in
between, what it has committed is lost. So sessions hold a lock of their own, on ``<file>-lock``, while it is open.
"""

from __future__ import annotations

import errno
import io
import os
import re
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from hdbkit.config import Target
from hdbkit.contracts import SERVER, Capability, Scope, SessionOptions, Table
from hdbkit.contracts import Schema as Schema
from hdbkit.contracts import Workload as Workload
from hdbkit.databases._base.dbapi_session import DbapiSession
from hdbkit.databases._base.dbapi_statements import Compiled
from hdbkit.databases._base.file_database import FileDatabase
from hdbkit.databases._base.file_lock import ProcessLock
from hdbkit.errors import ErrorClass, InputError, MissingDriver, TransactionError
from hdbkit.sql import ANSI, in_scope

if TYPE_CHECKING:
    import duckdb

_ESCAPED = re.compile(rb"\\[^N]")
_LOCK_TIMEOUT_S = 60.0
_LOOK_S = 0.02
_GROUP_BYTES = 16 << 20
_NO_SPACE = os.strerror(errno.ENOSPC)
_CLASSES = {
    "ConstraintException": ErrorClass.CONSTRAINT,
    "TransactionException": ErrorClass.SERIALIZATION,
    "OutOfMemoryException": ErrorClass.RESOURCES,
    "InterruptException": ErrorClass.STATEMENT_TIMEOUT,
    "ConnectionException": ErrorClass.CONNECTION_LOST,
}


@cache
def _reads(text: str) -> bool:
    """Whether commands change nothing."""
    import duckdb

    kinds = {one.type for one in duckdb.extract_statements(text)}
    return kinds <= {duckdb.StatementType.SELECT, duckdb.StatementType.EXPLAIN}


def _interrupt(connection: duckdb.DuckDBPyConnection, after_s: float, over: threading.Event) -> None:
    """Interrupt a connection's query ``after_s`` seconds from now, until it is over."""
    left_s = after_s
    while not over.wait(left_s):
        connection.interrupt()
        left_s = _LOOK_S


class _Cursor:
    """The session's open file as a cursor: a cursor of the driver would have a transaction of its own."""

    def __init__(self, session: DuckdbSession) -> None:
        self._session = session
        self._has_rows = False

    @property
    def description(self) -> Any:
        """The columns of the result; None after a change, of which the driver returns the number of rows."""
        return self._session.connection.description if self._has_rows else None

    def execute(self, text: str, values: Any = None) -> None:
        """Run a command, at most for the session's timeout."""
        self._has_rows = _reads(text)
        began = time.monotonic()
        with self._session.limited():
            self._session.connection.execute(text, values)
        if self._has_rows:
            self._session.require_in_time(began)

    def executemany(self, text: str, values: Any) -> None:
        """Run a command with each of the values."""
        self._session.connection.executemany(text, values)

    def fetchall(self) -> Any:
        """All rows of the result."""
        return self._session.connection.fetchall()

    def close(self) -> None:
        """Nothing is kept."""


class DuckdbSession(DbapiSession):
    """A session, which opens the file when it needs it. ``connection`` is None while it is not open."""

    autocommits = True
    engine: DuckDB

    def __init__(self, engine: DuckDB, target: Target, scope: Scope, options: SessionOptions) -> None:
        super().__init__(None, engine, scope)
        self._target, self._options, self._writes = target, options, False
        self._lock: ProcessLock | None = None
        self._patience_s = options.lock_timeout_ms / 1000 or _LOCK_TIMEOUT_S

    def begin(self) -> None:
        """Open the file for writing, and start a transaction."""
        assert not self._begun, "begin inside a transaction"
        self._leave()
        self._open(reading=False)
        super().begin()

    def commit(self) -> None:
        """Commit, and close the file; with prepared operations it is open for reading again."""
        super().commit()
        self._leave()
        self._resume()

    def prepare(self, statements: Iterable[str]) -> None:
        """Compile statements; the file stays open for reading."""
        if self.connection is None:
            self._open(reading=True)
        super().prepare(statements)

    def load(self, table: Table, chunks: Iterable[bytes]) -> int:
        """Load rows as Arrow tables; text with escapes row by row."""
        assert self._begun, "a load outside a transaction"
        total = 0
        try:
            for group in _joined(chunks, _GROUP_BYTES):
                if _ESCAPED.search(group):
                    total += super().load(table, [group])
                else:
                    total += self._guarded(self._insert_arrow, table, group)
        except BaseException:
            self.rollback()
            raise
        return total

    @contextmanager
    def limited(self) -> Iterator[None]:
        """Interrupt what runs in the block after the session's timeout, if it has one.

        An interrupt before a query is planned has no effect, so it is repeated.
        """
        if not self._options.statement_timeout_ms:
            yield
            return
        import duckdb

        over = threading.Event()
        waits = partial(_interrupt, self.connection, self._options.statement_timeout_ms / 1000, over)
        waiting = threading.Thread(target=waits, daemon=True)
        waiting.start()
        try:
            yield
        except duckdb.InterruptException:
            raise self._took_longer() from None
        finally:
            over.set()
            waiting.join()

    def require_in_time(self, began: float) -> None:
        """Raise the error of an interrupt if a query took longer than the timeout: the interrupt came too late."""
        timeout_s = self._options.statement_timeout_ms / 1000
        if timeout_s and time.monotonic() - began > timeout_s:
            raise self._took_longer()

    def _took_longer(self) -> Exception:
        import duckdb

        return duckdb.InterruptException(
            f"the query took longer than {self._options.statement_timeout_ms / 1000:g} s"
        )

    def close(self) -> None:
        """Close the file; never raises."""
        self._begun, self._closed = False, True
        self._leave()

    def _insert_arrow(self, table: Table, text: bytes) -> int:
        from pyarrow import csv, string

        columns = list(table.columns)
        rows = csv.read_csv(
            io.BytesIO(text),
            csv.ReadOptions(column_names=columns, block_size=_GROUP_BYTES * 2),
            csv.ParseOptions(delimiter="\t", quote_char=False, double_quote=False),
            csv.ConvertOptions(
                column_types=dict.fromkeys(columns, string()), null_values=["\\N"], strings_can_be_null=True
            ),
        )
        self.connection.register("given_rows", rows)
        insert = in_scope({}, self.engine.dialects, "insert_arrow")
        self.connection.execute(insert.filled({"table": table.name, "columns": table.columns}).text)
        return int(rows.num_rows)

    def _cursor(self) -> _Cursor:
        return _Cursor(self)

    def _begin(self) -> None:
        self.connection.begin()

    def _rollback(self) -> None:
        import duckdb

        if self._writes and self.connection is not None:
            with suppress(duckdb.TransactionException):  # outside a transaction there is nothing to undo
                self.connection.rollback()
            self._leave()
            self._resume()

    def _run(self, statement: Compiled, arguments: Any) -> Any:
        """Run a statement; outside a transaction with a file that is open only for it."""
        if self.connection is not None or self._closed:
            return super()._run(statement, arguments)
        with self._opened(reading=all(_reads(piece.text) for piece in statement.pieces)):
            return super()._run(statement, arguments)

    @contextmanager
    def _opened(self, reading: bool) -> Iterator[None]:
        self._open(reading)
        try:
            yield
        finally:
            self._leave()

    def _resume(self) -> None:
        """Open the file for reading if operations are prepared."""
        if self._prepared and not self._closed:
            self._guarded(self._open, True)

    def _open(self, reading: bool) -> None:
        self.connection, self._lock = self.engine.waited(self._target, reading, self._patience_s)
        self._writes = not reading

    def _leave(self) -> None:
        opened, self.connection = self.connection, None
        try:
            if opened is not None:
                opened.close()
        finally:
            if self._lock is not None:
                self._lock.end()


class DuckDB(FileDatabase):
    """Contract: :class:`hdbkit.contracts.Database`."""

    kind = "duckdb"
    title = "DuckDB"
    driver = "duckdb"
    dialects: tuple[str, ...] = (ANSI, kind)
    capabilities = frozenset(
        {
            Capability.SQL,
            Capability.TABLES,
            Capability.DECIMALS,
            Capability.LOCK_TIMEOUT,
            Capability.STATEMENT_TIMEOUT,
            Capability.PARALLEL_WORKERS,
            Capability.PLANS,
        }
    )
    options = ("threads", "memory_limit", "temp_directory")
    preload: tuple[str, ...] = ("duckdb", "hdbkit.databases.duckdb")
    suffixes = ("", ".wal")

    @property
    def errors(self) -> tuple[type[Exception], ...]:
        import duckdb

        return (duckdb.Error,)

    def driver_version(self) -> str:
        """The library. Raises ``MissingDriver`` if it is not installed."""
        try:
            import duckdb
        except ImportError:
            raise MissingDriver(self.kind, "duckdb", self.extra) from None
        return f"duckdb {duckdb.__version__}"

    def connect(self, target: Target, scope: Scope = SERVER, options: SessionOptions | None = None) -> DuckdbSession:
        """A session; the file is opened when it is needed, and created by the first change."""
        self.check_options(target)
        self.path(target)
        wanted = options or SessionOptions()
        if wanted.parallel_workers is not None:
            target = target.with_(options={**target.options, "threads": str(1 + wanted.parallel_workers)})
        return DuckdbSession(self, target, scope, wanted)

    def waited(
        self, target: Target, reading: bool, patience_s: float
    ) -> tuple[duckdb.DuckDBPyConnection, ProcessLock | None]:
        """The open file and its lock, as soon as no other process has it open in another way.

        A file that does not exist is empty, and needs no lock to be read.

        Raises:
            TransactionError: that took longer than ``patience_s``, or the file cannot be opened.
            InputError: it cannot be opened because of an option of the target.
        """
        import duckdb

        end, path = time.monotonic() + patience_s, Path(target.database or "").absolute()
        config = cast("dict[str, Any]", dict(target.options))
        while True:
            try:
                if reading and not path.exists():
                    return duckdb.connect(":memory:", config=config), None
                opened = _opened(path, reading, config)
                if opened is not None:
                    return opened
                problem = f"another session has the file open, and the lock {_lock_file(path)}"
            except duckdb.ConnectionException as error:  # the user's program has it open, in this process
                problem = str(error)
            except duckdb.IOException as error:  # another program has it open, if it names a lock
                problem = str(error)
                if "lock" not in problem.lower():
                    raise TransactionError(ErrorClass.OTHER, type(error).__name__, problem) from None
            except (OSError, duckdb.Error) as error:
                raise InputError(f"{target.described} cannot be opened: {error}") from None
            if time.monotonic() >= end:
                raise TransactionError(ErrorClass.LOCK_TIMEOUT, "IOException", problem)
            time.sleep(_LOOK_S)

    def described(self, error: Exception) -> tuple[ErrorClass, str, str]:
        """By the driver's class of exception."""
        name, text = type(error).__name__, str(error)
        known = ErrorClass.RESOURCES if _NO_SPACE in text else _CLASSES.get(name, ErrorClass.OTHER)
        return known, name, text


def _lock_file(path: Path) -> Path:
    """The file of the lock of a database: the same for all paths that lead to it."""
    return Path(f"{path.resolve()}-lock")


def _opened(
    path: Path, reading: bool, config: dict[str, Any]
) -> tuple[duckdb.DuckDBPyConnection, ProcessLock] | None:
    """The open file and its lock; None if another has the lock. Raises ``OSError`` and the driver's errors."""
    import duckdb

    lock = ProcessLock.take(_lock_file(path), writes=not reading)
    if lock is None:
        return None
    try:
        try:
            return duckdb.connect(str(path), read_only=reading, config=config), lock
        except duckdb.ConnectionException:  # another session of this process has it open for writing
            if not reading:
                raise
            return duckdb.connect(str(path), config=config), lock
    except BaseException:
        lock.end()
        raise


def _joined(chunks: Iterable[bytes], size: int) -> Iterator[bytes]:
    """Chunks together, about ``size`` bytes each."""
    found: list[bytes] = []
    for chunk in chunks:
        found.append(chunk)
        if sum(map(len, found)) >= size:
            yield b"".join(found)
            found = []
    if found:
        yield b"".join(found)


DATABASE = DuckDB()
