"""A session on any driver that follows the Python DB-API (PEP 249)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import date, datetime
from decimal import Decimal
from functools import partial
from textwrap import shorten
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from hdbkit.awaiting import awaited
from hdbkit.contracts import Arguments, Row, Scope, Table
from hdbkit.contracts.operations import answer_limit_s
from hdbkit.databases._base.asking import AskingSession, shut_down
from hdbkit.databases._base.dbapi_statements import Compiled, Piece, compiled, piece, plain_piece
from hdbkit.errors import ErrorClass, RolledBackByDesign, TransactionError
from hdbkit.sql import in_scope
from hdbkit.statement import Statement

if TYPE_CHECKING:
    from hdbkit.databases._base.dbapi import DbapiDatabase


_ESCAPED = re.compile(r"\\(.)")
_ESCAPES = {"t": "\t", "n": "\n", "r": "\r"}
_OF_TYPE: Mapping[str, Callable[[str], Any]] = {
    "integer": int,
    "decimal": Decimal,
    "timestamp": datetime.fromisoformat,
    "date": date.fromisoformat,
    "text": str,
}


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
            self._run(Compiled("", (), (plain_piece(text, self.engine.paramstyle),), False), {})

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
