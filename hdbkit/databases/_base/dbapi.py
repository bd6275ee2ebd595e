"""Sessions and engines on any driver that follows the Python DB-API (PEP 249).

An engine inherits from :class:`DbapiDatabase` and states how its driver is opened, which placeholders it takes, and
what its errors mean. Statements are sent as they are written, one after the other, unless an engine's session sends
several together.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import date, datetime
from decimal import Decimal
from functools import lru_cache, partial
from pathlib import Path
from textwrap import shorten
from typing import Any, NamedTuple, NoReturn, cast

from hdbkit.awaiting import awaited
from hdbkit.config import Target
from hdbkit.contracts import SERVER, Arguments, Row, Schema, Scope, Session, SessionOptions, Table, Workload
from hdbkit.contracts.operations import answer_limit_s
from hdbkit.databases._base.access import connected_in_time, first_usable
from hdbkit.databases._base.asking import AskingSession, shut_down
from hdbkit.databases._base.database import BaseDatabase
from hdbkit.databases._base.dbapi_statements import Compiled, Piece, compiled, piece, plain
from hdbkit.databases._base.file_lock import FileSchema
from hdbkit.databases._base.sql_schema import SqlDatabase, SqlSchema
from hdbkit.errors import CannotConnect, ErrorClass, RolledBackByDesign, TransactionError
from hdbkit.sql import Statement, in_scope

_ESCAPED = re.compile(r"\\(.)")
_ESCAPES = {"t": "\t", "n": "\n", "r": "\r"}
_OF_TYPE: Mapping[str, Callable[[str], Any]] = {
    "integer": int,
    "decimal": Decimal,
    "timestamp": datetime.fromisoformat,
    "date": date.fromisoformat,
    "text": str,
}
_SQLSTATES = (
    ("40P01", ErrorClass.DEADLOCK),
    ("40001", ErrorClass.SERIALIZATION),
    ("55P03", ErrorClass.LOCK_TIMEOUT),
    ("57014", ErrorClass.STATEMENT_TIMEOUT),
    ("HYT00", ErrorClass.STATEMENT_TIMEOUT),
    ("57P", ErrorClass.CONNECTION_LOST),
    ("08", ErrorClass.CONNECTION_LOST),
    ("23", ErrorClass.CONSTRAINT),
    ("53", ErrorClass.RESOURCES),
)


def class_of(sqlstate: str) -> ErrorClass:
    """The class of an error by its SQLSTATE (ISO/IEC 9075-2, and the states of ODBC and PostgreSQL)."""
    return next((found for start, found in _SQLSTATES if sqlstate.startswith(start)), ErrorClass.OTHER)


class Bound(NamedTuple):
    """A call: commands with their values, and the cursor that keeps what the driver prepared."""

    statement: Compiled
    calls: tuple[tuple[str, Any], ...]
    cursor: Any


class DbapiSession(AskingSession):
    """A connection of a DB-API driver. Contract: :class:`hdbkit.contracts.SqlSession`.

    The driver begins transactions by itself, and ``commit`` ends them; an engine whose driver does not overrides
    ``_begin``. A failed command rolls its transaction back.
    """

    returns_changed = takes_arrays = False
    autocommits = False
    """Whether the driver commits each command outside a transaction by itself."""
    rows_per_call = 1000
    """The number of rows that a bulk load hands to the driver at once."""
    values_per_insert = 0
    """The number of values of an INSERT of several rows; 0: a bulk load is the driver's ``executemany``, and a batch
    has an INSERT for each row."""
    insertion = "insert_row"
    """The statement with the beginning of a bulk load's INSERT."""
    descriptor: int | None = None
    """That of the connection's socket, as far as it is known."""

    def __init__(self, connection: Any, engine: DbapiDatabase, scope: Scope) -> None:
        self.connection, self.engine = connection, engine
        self._own = scope.statements
        self._prepared: dict[str, tuple[Compiled, Any]] = {}
        self._of_rows: dict[tuple[Compiled, int], tuple[str, Any]] = {}
        self._begun = self._closed = False
        self._cursor_asked: Any = None
        """The cursor of the question that is being asked."""
        self._encodes, self._decodes = self._overrides("encoded"), self._overrides("decoded")

    def client_path(self) -> str:
        return self.engine.driver

    def encoded(self, value: Any) -> Any:
        """A value as the driver takes it."""
        return value

    def decoded(self, value: Any) -> Any:
        """A value of a result as a plain value."""
        return value

    def query(self, statement: str, /, **arguments: Any) -> list[Row]:
        """The rows of a named statement, committed unless a transaction is open."""
        found = in_scope(self._own, self.engine.dialects, statement).filled(arguments)
        with awaited(self, f"statement {statement}", answer_limit_s(statement, self._own)):
            rows = self.rows(self._run(self._compiled(found), arguments))
        if found.makes_commands:
            for (command,) in rows:
                self.execute(command)
            return []
        return rows

    ask = query

    def execute(self, text: str) -> None:
        with awaited(self, f"statement {shorten(text, 40)}", None):
            self._run(Compiled("", (), (plain(text, self.engine.paramstyle),), False), {})

    def cancel(self) -> None:
        """By the driver: of the cursor, or of the connection."""
        for one, name in (
            (self._cursor_asked, "cancel"),
            (self.connection, "cancel"),
            (self.connection, "interrupt"),
        ):
            if cancel := getattr(one, name, None):
                cancel()
                return
        self.disconnect()

    def disconnect(self) -> None:
        """By its socket, which the engine found when it connected."""
        if self.descriptor is not None:
            shut_down(self.descriptor)

    def begin(self) -> None:
        assert not self._begun, "begin inside a transaction"
        self._begun = True
        self._guarded(self._begin)

    def commit(self) -> None:
        assert self._begun, "commit outside a transaction"
        if self.is_own:
            with awaited(self, "COMMIT", None):
                self._guarded(self._commit)
        else:
            self._guarded(self._commit)
        self._begun = False

    def rollback(self) -> None:
        if self._begun:
            self._undo()

    def parameters(self, statement: str) -> tuple[str, ...]:
        return in_scope(self._own, self.engine.dialects, statement).parameters

    def prepare(self, statements: Iterable[str]) -> None:
        """Compile named statements, each with a cursor of its own, in which the driver may keep what it prepared."""
        for name in statements:
            if name not in self._prepared:
                found = in_scope(self._own, self.engine.dialects, name)
                self._prepared[name] = self._compiled(found), self._guarded(self._cursor)

    def parse(self, statement: str) -> bool:
        """Nothing: the interface of these drivers has no call that prepares."""
        return False

    def bind(self, statement: str, arguments: Arguments) -> Bound:
        """The commands of a statement with their values."""
        known, cursor = self._prepared[statement]
        assert len(arguments) == len(known.parameters), f"{statement} has {len(known.parameters)} parameters"
        values = tuple(map(self.encoded, arguments)) if self._encodes else arguments
        return Bound(known, known.calls(values), cursor)

    def perform(self, bound: Bound) -> Any:
        """Perform one whole transaction; return the rows of its last result."""
        return self._whole((bound,), self._sent_in_turn)[0]

    def rows(self, raw: Any) -> list[Row]:
        return [tuple(map(self.decoded, row)) for row in raw] if self._decodes else list(map(tuple, raw))

    def row_count(self, raw: Any) -> int:
        return len(raw)

    def call(self, statement: str, *arguments: Any) -> list[Row]:
        return self.batch([(statement, arguments)])[0]

    def batch(self, calls: Sequence[tuple[str, Arguments]]) -> list[list[Row]]:
        """Run several prepared statements in order, together if the driver can; rows of one table in one INSERT."""
        assert self._begun, "a call outside a transaction"
        self.prepare(name for name, _ in calls)
        runs = self._runs(self.bind_all(calls))
        answers = self._guarded(self._sent_together, [run[0] if len(run) == 1 else self._as_one(run) for run in runs])
        return [self.rows(raw) for raw, run in zip(answers, runs, strict=True) for _ in run]

    def bind_all(self, calls: Sequence[tuple[str, Arguments]]) -> list[Bound]:
        return [self.bind(name, given) for name, given in calls]

    def perform_all(self, bound: Sequence[Bound]) -> list[Any]:
        """Perform a whole transaction of several statements, together if the driver can."""
        return self._whole(bound, self._sent_together)

    def perform_each(self, bound: Sequence[Bound]) -> list[Any]:
        """Perform a whole transaction of several statements, one after the other."""
        return self._whole(bound, self._sent_in_turn)

    def load(self, table: Table, chunks: Iterable[bytes]) -> int:
        """Load rows by ``executemany``, or by an INSERT of several rows at once; return their number."""
        assert self._begun, "a load outside a transaction"
        at_once = self.values_per_insert // len(table.columns)
        insert = partial(self._insert if at_once else self._insert_each, table, *self._insertion(table))
        total, cursor = 0, self._guarded(self._cursor)
        try:
            for rows in _in_groups(chunks, at_once or self.rows_per_call):
                self._guarded(insert, cursor, rows)
                total += len(rows)
        except BaseException:
            self.rollback()
            raise
        finally:
            with suppress(Exception):
                cursor.close()
        return total

    def close(self) -> None:
        self._begun, self._closed = False, True
        with suppress(Exception):
            self.connection.close()

    def _runs(self, bound: Iterable[Bound]) -> list[list[Bound]]:
        """Calls that follow each other and can be one."""
        runs: list[list[Bound]] = []
        for one in bound:
            if runs and one.statement is runs[-1][0].statement and self._continues(runs[-1], one):
                runs[-1].append(one)
            else:
                runs.append([one])
        return runs

    def _continues(self, run: Sequence[Bound], one: Bound) -> bool:
        """Whether a call of a run's statement can be one with it: INSERTs of a row, up to the number of values."""
        return 0 < (len(run) + 1) * one.statement.width <= self.values_per_insert

    def _as_one(self, run: Sequence[Bound]) -> Bound:
        """A run of several calls as one; an INSERT has a cursor for each number of rows."""
        key = run[0].statement, len(run)
        if key not in self._of_rows:
            self._of_rows[key] = key[0].of_rows(len(run)), self._guarded(self._cursor)
        text, cursor = self._of_rows[key]
        return Bound(key[0], ((text, [value for row in run for value in row.calls[0][1]]),), cursor)

    def _compiled(self, statement: Statement) -> Compiled:
        """A statement as commands for the driver."""
        return compiled(statement, self.engine.paramstyle)

    def _overrides(self, method: str) -> bool:
        """Whether the engine's own session has a method in place of that of this class."""
        return getattr(type(self), method) is not getattr(DbapiSession, method)

    def _insert_each(self, table: Table, head: str, one: Piece, cursor: Any, rows: Sequence[bytes]) -> None:
        cursor.executemany(f"{head} ({one.text})", list(map(one.picker(table.columns), self._values(table, rows))))

    def _insert(self, table: Table, head: str, one: Piece, cursor: Any, rows: Sequence[bytes]) -> None:
        """In one command; drivers whose placeholders have names or numbers cannot repeat those of a row."""
        marks = ", ".join([f"({one.text})"] * len(rows))
        cursor.execute(f"{head} {marks}", [value for row in self._values(table, rows) for value in row])

    def _insertion(self, table: Table) -> tuple[str, Piece]:
        """The beginning of an INSERT, and the placeholders of a row."""
        statement = in_scope({}, self.engine.dialects, self.insertion)
        marks = Statement("", ", ".join(f":{name}" for name in table.columns), statement.origin, "")
        head = statement.filled({"table": table.name, "columns": table.columns})
        return head.text, piece(marks, self.engine.paramstyle)

    def _values(self, table: Table, rows: Iterable[bytes]) -> Iterator[list[Any]]:
        """The values of each row as the driver takes them."""
        types = [_OF_TYPE[name] for name in table.types] or [str] * len(table.columns)
        for row in fields_of(rows):
            yield [
                self.encoded(None if field is None else convert(field))
                for convert, field in zip(types, row, strict=True)
            ]

    def _cursor(self) -> Any:
        return self.connection.cursor()

    def _begin(self) -> None:
        """Start a transaction; by default the driver does with the first command."""

    def _commit(self) -> None:
        self.connection.commit()

    def _rollback(self) -> None:
        self.connection.rollback()

    def _run(self, statement: Compiled, arguments: Mapping[str, Any]) -> Any:
        """Run the commands of a statement, and commit unless a transaction is open."""
        cursor = self._cursor_asked = self._guarded(self._cursor)
        bound = Bound(
            statement, statement.calls([self.encoded(arguments[name]) for name in statement.parameters]), cursor
        )
        try:
            rows = self._guarded(self._sent, bound)
        finally:
            with suppress(Exception):
                cursor.close()
        if not self._begun and not self.autocommits:
            self._guarded(self._commit)
        return rows

    def _whole(self, bound: Sequence[Bound], send: Callable[[Sequence[Bound]], list[Any]]) -> list[Any]:
        """Begin, run the calls and commit; a single command commits itself where the driver allows that."""
        alone = self.autocommits and len(bound) == 1 and len(bound[0].calls) == 1
        if not alone:
            self._guarded(self._begin)
        results: list[Any] = self._guarded(send, bound)
        for one, rows in zip(bound, results, strict=True):
            if one.statement.may_roll_back and not rows:
                self._undo()
                raise RolledBackByDesign
        if not alone:
            self._guarded(self._commit)
        return results

    def _sent_in_turn(self, bound: Sequence[Bound]) -> list[Any]:
        """Send calls one after the other; return the rows of each."""
        return [self._sent(one) for one in bound]

    _sent_together = _sent_in_turn

    def _sent(self, bound: Bound) -> Any:
        """Send the commands of a call; return the rows of the last that has any."""
        rows: Any = []
        for text, values in bound.calls:
            bound.cursor.execute(text, values)
            if bound.cursor.description is not None:
                rows = bound.cursor.fetchall()
        return rows

    def _guarded(self, work: Callable[..., Any], *arguments: Any) -> Any:
        """Do ``work``; an error of the driver rolls back and is raised as ``TransactionError``."""
        if self._closed:
            self._lose("", "the connection was closed")
        try:
            return work(*arguments)
        except self.engine.errors as error:
            self._raise_error(error)
        except BaseException:
            if not self._begun:
                with suppress(Exception):
                    self._rollback()
            raise

    def _raise_error(self, error: Exception) -> NoReturn:
        error_class, code, text = self.engine.described(error)
        if error_class is ErrorClass.CONNECTION_LOST:
            self._lose(code, text)
        try:
            self._undo()
        except TransactionError:
            if error_class is not ErrorClass.STATEMENT_TIMEOUT:
                raise
            raise TransactionError(error_class, code, text, lost=True) from None  # the server did not cancel in time
        raise TransactionError(error_class, code, text) from None

    def _undo(self) -> None:
        self._begun = False
        try:
            self._rollback()
        except self.engine.errors as error:
            _, code, text = self.engine.described(error)
            self._lose(code, text)

    def _lose(self, code: str, text: str) -> NoReturn:
        self.close()
        raise TransactionError(ErrorClass.CONNECTION_LOST, code, text or "the connection was lost") from None


class DbapiDatabase(BaseDatabase):
    """An SQL engine on a DB-API driver. Contract: :class:`hdbkit.contracts.Database`."""

    paramstyle = "qmark"
    """The placeholders of the driver: qmark, numeric, named, format or pyformat."""
    driver: str
    """The name of the driver."""
    session_type: type[DbapiSession] = DbapiSession
    schema_type: type[SqlSchema] = SqlSchema
    no_answer: frozenset[str] = frozenset()
    """The codes of errors after which a question of the server has no answer: this account may not ask it."""

    @property
    def errors(self) -> tuple[type[Exception], ...]:
        """The exceptions of the driver."""
        raise NotImplementedError

    def described(self, error: Exception) -> tuple[ErrorClass, str, str]:
        """The class of an error, its code and its text; by default the driver's first argument is the SQLSTATE."""
        code, text = (*map(str, error.args), "", "")[:2]
        return class_of(code), code, text or code

    def asked(self, session: Session, operation: str, /, **arguments: Any) -> list[Row]:
        """The answer to a question of the server; none where a privilege is missing, which doctor reports."""
        try:
            return super().asked(session, operation, **arguments)
        except TransactionError as error:
            if error.code in self.no_answer:
                return []
            raise

    def opened(self, target: Target, options: SessionOptions) -> Any:
        """A connection of the driver to the only address of ``target``. Raises ``CannotConnect``."""
        raise NotImplementedError

    def connect(self, target: Target, scope: Scope = SERVER, options: SessionOptions | None = None) -> DbapiSession:
        """A session at the first usable address."""
        self.check_options(target)
        return first_usable(target, lambda one: self._connect(one, scope, options or SessionOptions()))

    def _connect(self, target: Target, scope: Scope, options: SessionOptions) -> DbapiSession:
        connection, descriptor = self._opened(target, options)
        session = self.session_type(connection, self, scope)
        session.reached_by(self, target, options)
        session.descriptor = descriptor
        try:
            self.set_up(session, target, options)
            self._limit_locks(session, options)
        except TransactionError as error:
            session.close()
            raise CannotConnect(target.url, error.text, "check the server and the options of the target") from None
        return session

    def _opened(self, target: Target, options: SessionOptions) -> tuple[Any, int | None]:
        """A connection, and the descriptor of its socket if that is known."""
        return connected_in_time(target, options, lambda: self.opened(target, options))

    def set_up(self, session: DbapiSession, target: Target, options: SessionOptions) -> None:
        """Set the options of a new session, such as its isolation level and timeouts."""

    def limit_locks(self, session: DbapiSession, milliseconds: int) -> None:
        """Limit waits of a new session for locks; does nothing on an engine that cannot, or does it in ``set_up``."""

    def _limit_locks(self, session: DbapiSession, options: SessionOptions) -> None:
        """One of hdbkit's own goes on without the limit where the server lacks it."""
        try:
            if options.lock_limit_ms:
                self.limit_locks(session, options.lock_limit_ms)
        except TransactionError as error:
            if error.lost or not options.is_own:
                raise

    def schema(self, target: Target, workload: Workload) -> Schema:
        return self.schema_type(cast(SqlDatabase, self.at(target)), target, workload)


class FileDatabase(DbapiDatabase):
    """An engine that is a library: the database is a file or folder of this host, and there is no server.

    A lock on a file next to the database reserves a schema.
    """

    answers = frozenset({"claim_schema"})
    schema_type: type[SqlSchema] = FileSchema
    suffixes: tuple[str, ...] = ()
    """What its files end with, behind the name of the database: the database, and its logs."""

    def _opened(self, target: Target, options: SessionOptions) -> tuple[Any, int | None]:
        """In this thread: a file answers."""
        return self.opened(target, options), None

    def files(self, target: Target) -> tuple[Path, ...]:
        """The database and its logs."""
        return tuple(Path(f"{target.database}{suffix}") for suffix in self.suffixes)

    def path(self, target: Target) -> Path:
        """The file or folder of a target. Raises ``CannotConnect`` if it names none, or there is no place for it."""
        path = Path(target.database or "")
        if target.host or not target.database:
            advice = f"write {self.kind}:///file, or {self.kind}:////folder/file"
            raise CannotConnect(target.url, f"{self.title} has no host", advice)
        if not path.parent.is_dir():
            raise CannotConnect(target.url, f"there is no folder {path.parent}", "create it, or correct the path")
        return path.absolute()


class ExploredDatabase(DbapiDatabase):
    """An engine whose servers differ: with a target it is what its server is, else the engine in general."""

    def __init__(self, target: Target | None = None) -> None:
        self._target = target

    def at(self, target: Target) -> DbapiDatabase:
        """The engine of this server, one in a process."""
        return engine_at(type(self), target)

    def connect(self, target: Target, scope: Scope = SERVER, options: SessionOptions | None = None) -> DbapiSession:
        """A session of the target's own engine."""
        if self._target is None:
            return self.at(target).connect(target, scope, options)
        return super().connect(target, scope, options)


@lru_cache(maxsize=64)
def engine_at(kind: type[ExploredDatabase], target: Target) -> ExploredDatabase:
    """An engine of this kind that is what the server of a target is."""
    return kind(target)


def _in_groups(chunks: Iterable[bytes], size: int) -> Iterator[list[bytes]]:
    """Groups of ``size`` rows, whatever the chunks; the last may be smaller."""
    waiting: list[bytes] = []
    for chunk in chunks:
        waiting += chunk.removesuffix(b"\n").split(b"\n") if chunk else ()
        whole = len(waiting) - len(waiting) % size
        for start in range(0, whole, size):
            yield waiting[start : start + size]
        del waiting[:whole]
    if waiting:
        yield waiting


def fields_of(rows: Iterable[bytes]) -> Iterator[list[str | None]]:
    r"""The fields of rows of tab-separated text; ``\N`` is null."""
    for row in rows:
        yield [None if field == rb"\N" else _text(field.decode()) for field in row.split(b"\t")]


def _text(field: str) -> str:
    return _ESCAPED.sub(lambda m: _ESCAPES.get(m[1], m[1]), field) if "\\" in field else field
