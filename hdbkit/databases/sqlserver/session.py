"""A session with SQL Server through pyodbc."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, NoReturn

from hdbkit.contracts import Row, Scope, Table
from hdbkit.databases._base.dbapi_session import Bound, DbapiSession, fields_of
from hdbkit.databases._base.dbapi_statements import Compiled, Piece, ProcedureAnswer, piece, plain_rows, with_literals
from hdbkit.databases._pyodbc import error_parts
from hdbkit.errors import RolledBackByDesign
from hdbkit.sql import SERVER_STATEMENTS, find, fragments, lexer_of
from hdbkit.statement import Statement

if TYPE_CHECKING:
    from hdbkit.databases.sqlserver import SqlServer


_ENDS: Final = ("begin", "commit", "roll_back")
_LINE: Final = "line"
"""The first column of a result that has a row for each element of arrays."""
_EXPLAINS: Final = re.compile(r"SET \w*SHOWPLAN_\w+ ON")
"""What has the server only explain the commands after it."""
_QUERY: Final = re.compile(r"(SELECT|WITH)\b")
_ELEMENT: Final = 10
"""The number of characters of an element of an array."""
_BY_DESIGN: Final = 50001
"""The error with which a natively compiled procedure rolls back by design."""


class SqlServerSession(DbapiSession):
    """A connection, which commits each statement outside of a transaction."""

    autocommits = True
    returns_changed = True
    rows_per_call = 5000
    statement_timeout_s = 0
    engine: SqlServer

    def __init__(self, connection: Any, engine: SqlServer, scope: Scope) -> None:
        super().__init__(connection, engine, scope)
        texts = (find(engine.dialects, SERVER_STATEMENTS, f"{name}_transaction").text for name in _ENDS)
        self._begin_text, self._commit_text, self._rollback_text = texts
        self._hint = ""

    def client_path(self) -> str:
        """Driver and ODBC driver."""
        return f"{self.engine.driver}, {self.engine.odbc_driver}"

    def encoded(self, value: Any) -> Any:
        """An array as JSON text, whose elements have equal widths: natively compiled procedures have no parser."""
        return f"[{','.join(f'{one:>{_ELEMENT}}' for one in value)}]" if isinstance(value, tuple) else value

    def rows(self, raw: Any) -> list[Row]:
        return plain_rows(raw)

    def limit_workers(self, degree: int) -> None:
        """Give each query a degree of parallelism; the language has none for a session."""
        form = find(self.engine.dialects, SERVER_STATEMENTS, "parallel_hint")
        self._hint = form.filled({"degree": degree}).text

    def _compiled(self, statement: Statement) -> Compiled:
        found = super()._compiled(statement)
        if not self._hint:
            return found
        pieces = (
            one._replace(text=f"{one.text}\n{self._hint}") if _QUERY.match(one.text) else one for one in found.pieces
        )
        return replace(found, pieces=tuple(pieces))

    def _run(self, statement: Compiled, arguments: Mapping[str, Any]) -> Any:
        """Commands that are only explained have their values in their texts, since only batches are explained."""
        if any(_EXPLAINS.match(one.text) for one in statement.pieces):
            calls = statement.calls([self.encoded(arguments[name]) for name in statement.parameters])
            pieces = tuple(
                Piece(with_literals(text, values, lexer_of(self.engine.dialects)), (), False)
                for text, values in calls
            )
            statement = replace(statement, parameters=(), pieces=pieces)
        return super()._run(statement, arguments)

    def _sent(self, bound: Bound) -> Any:
        """Send the commands of a call; return the rows of the last result, or the answer of a procedure."""
        cursor, results = bound.cursor, []
        for text, values in bound.calls:
            cursor.execute(text, values)
            while True:
                if cursor.description is not None:
                    results.append((cursor.description[0][0] == _LINE, len(cursor.description), cursor.fetchall()))
                if not cursor.nextset():
                    break
        if not results:
            return []
        has_lines, _, rows = results[-1]
        if not has_lines:
            return rows
        return [ProcedureAnswer(tuple(results))] if all(one[0] or one[2] for one in results) else []

    def _insert_each(self, table: Table, head: str, one: Piece, cursor: Any, rows: Sequence[bytes]) -> None:
        """In one command, as a JSON text: drivers send many parameters slowly, or ask the server for their types."""
        text = self._load_text(table.name, tuple(table.columns))
        cursor.execute(text, json.dumps(list(fields_of(rows)), ensure_ascii=False))
        while cursor.nextset():  # an error may follow the first result
            pass

    def _load_text(self, table: str, columns: tuple[str, ...]) -> str:
        dialects = self.engine.dialects
        form, known = find(dialects, SERVER_STATEMENTS, "load_rows"), fragments(dialects)
        value, field = known["loaded_value"], known["loaded_field"]
        text = form.partly_filled({"table": table, "columns": columns}).text
        text = text.replace("{values}", ", ".join(map(value.filled, columns)))
        text = text.replace("{fields}", ", ".join(field.filled(f"{one}, {at}") for at, one in enumerate(columns)))
        return piece(replace(form, text=text), self.engine.paramstyle).text

    def _raise_error(self, error: Exception) -> NoReturn:
        _, number, text = error_parts(error)
        if number == _BY_DESIGN:
            self._undo()
            raise RolledBackByDesign(text) from None
        super()._raise_error(error)

    def _begin(self) -> None:
        self.connection.execute(self._begin_text)

    def _commit(self) -> None:
        self.connection.execute(self._commit_text)

    def _rollback(self) -> None:
        self.connection.execute(self._rollback_text)
