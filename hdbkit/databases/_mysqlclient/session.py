"""A session with mysqlclient's low-level interface; results are converted only on request.

A measured call is one packet of prepared bytes. ``begin`` is sent together with the next statement, and a ``batch``
is one packet of several statements. Every answer is read completely before the next request; if that is interrupted,
the connection is closed, so that requests and answers always match.
"""

from __future__ import annotations

import fcntl
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from textwrap import shorten
from threading import Thread
from typing import Any, NamedTuple, NoReturn

from MySQLdb import Error

from hdbkit.awaiting import awaited
from hdbkit.contracts import Arguments, Row, Scope, Table
from hdbkit.contracts.operations import answer_limit_s
from hdbkit.databases._base.asking import AskingSession
from hdbkit.databases._mysqlclient.connect import ENCODERS, decoded_rows, result_of
from hdbkit.errors import ErrorClass, RolledBackByDesign, TransactionError
from hdbkit.sql import SERVER_STATEMENTS, find, in_scope, statements
from hdbkit.statement import Statement

BY_DESIGN = 30001
"""The error number with which a routine reports a rollback by design."""

_LOST = frozenset({0, 1053, 1152, 1158, 1159, 1160, 1161, 1184, 1927, 2002, 2003, 2006, 2013, 2014, 2027, 2055, 4031})
_READ_ONLY = frozenset({1290, 1836})
"""The server does not execute changes; 1290 also stands for other options, which its text names."""
_CLASSES = {
    ErrorClass.DEADLOCK: {1213},
    ErrorClass.SERIALIZATION: {1020},
    ErrorClass.LOCK_TIMEOUT: {1205},
    ErrorClass.STATEMENT_TIMEOUT: {1969, 3024},
    ErrorClass.CONSTRAINT: {1022, 1048, 1062, 1169, 1216, 1217, 1263, 1364, 1451, 1452, 1557, 1586, 1761, 3819, 4025},
    ErrorClass.RESOURCES: {
        *{200, 201},  # MariaDB's limits of temporary space
        *{1021, 1037, 1038, 1040, 1041, 1114, 1118, 1153, 1203, 1206, 1226, 1461, 1637, 2008, 2020},
    },
}
_CLASS_OF = {code: error_class for error_class, codes in _CLASSES.items() for code in codes}
_NO_SPACE = re.compile(r"(?:errcode:|os errno) (?:28|122)\b|(?:errno:|got error) 28\b", re.IGNORECASE)
"""How errors of files name a full disk or an exhausted quota; their codes stand for every failure of a file."""
_TOO_LARGE = 1153
_ADVICE = {
    1461: "; each session prepares its own: raise max_prepared_stmt_count, or use fewer virtual users",
    4501: " hdbkit sends several in one packet: set connection_sharing to 0 in this route of MySQL Router",
}
"""What the server's text does not tell, by the number of the error."""
_CANNOT_BE_PREPARED = "1295"
_QUOTES = "ANSI_QUOTES"
"""The mode in which double quotes enclose names; NO_BACKSLASH_ESCAPES is refused."""
_PLACE = re.compile(r"\0(?:\[(\d+)\])?")
"""Where a value stands in a text, with the number of its elements."""


class Template(NamedTuple):
    """A statement with a ``%b`` for each value."""

    text: bytes
    positions: tuple[tuple[int, int], ...]
    """For each place, the parameter's index and 0; for ``:word[n]`` n: the first n integers of an array, or NULL
    where it has fewer. Empty if trivial."""


class MysqlclientSession(AskingSession):
    """One connection, used by one process and one thread. Contract: :class:`hdbkit.contracts.SqlSession`."""

    returns_changed = takes_arrays = False
    classes: Mapping[str, ErrorClass] = {}
    """The classes of errors that only the server's product has, by code."""

    def __init__(self, connection: Any, dialects: tuple[str, ...], scope: Scope) -> None:
        self.connection = connection
        self._descriptor = int(connection.fileno())
        self.number = connection.thread_id()
        self.dialects, self._own = dialects, scope.statements
        self._templates: dict[str, Template] = {}
        self._begun = False
        self._sent_begin = False
        self._quotes_names = False
        self._max_bytes = 1 << 30
        self._takes_values = "execute_with_values" in statements(dialects, SERVER_STATEMENTS)
        self.prepares_calls = False
        """Whether the server prepares calls of routines, too."""
        self.needs_primary = False
        """Whether a server that has become read-only counts as lost."""
        if scope.sql_mode is None:
            opened = self.query("open_session")
        else:
            opened = self.query("open_session_of_users", sql_mode=scope.sql_mode)
        packet_bytes, infile, self.version, self.is_mariadb, self.sql_mode, self.max_conditions = opened[0]
        self._max_bytes, self.local_infile = int(packet_bytes) - 1, bool(infile)
        self._quotes_names = _QUOTES in self.sql_mode.split(",")
        self.statement_timeout_ms = 0
        """The timeout of statements that hdbkit set; 0: none."""
        self.lock_timeout_s = 0
        """The timeout of waits for a lock that hdbkit set; 0: none."""
        self.sends_files = False
        """Whether the connection may send files, as LOAD DATA LOCAL does."""

    def client_path(self) -> str:
        """The driver's, for every load."""
        return "mysqlclient"

    def query(self, statement: str, /, **arguments: Any) -> list[Row]:
        """The rows of a named statement (its first result set); ``{word}`` and ``:word`` take arguments."""
        found = self._find(statement).filled(arguments)
        text = _rendered(_template(found), [arguments[name] for name in found.parameters])
        with awaited(self, f"statement {statement}", answer_limit_s(statement, self._own)):
            results = [result for result in self._answered(text) if not isinstance(result, int)]
        rows = self.rows(results[0]) if results else []
        return self._run(rows) if found.makes_commands else rows

    ask = query

    def _run(self, commands: list[Row]) -> list[Row]:
        for (text,) in commands:
            self.execute(text)
        return []

    def execute(self, text: str) -> None:
        with awaited(self, f"statement {shorten(text, 40)}", None):
            self._answered(text.encode())

    def cancel(self) -> None:
        """By another session of the account."""
        with closing(self.another()) as other:
            other.ask("cancel_statement", number=self.number)

    def begin(self) -> None:
        """Start a transaction; sent together with the first statement."""
        assert not self._begun, "begin inside a transaction"
        self._begun, self._sent_begin = True, False

    def commit(self) -> None:
        assert self._begun, "commit outside a transaction"
        sent, self._begun, self._sent_begin = self._sent_begin, False, False
        if sent and self.is_own:
            with awaited(self, "COMMIT", None):
                self._exchanged(b"COMMIT")
        elif sent:
            self._exchanged(b"COMMIT")

    def rollback(self) -> None:
        sent, self._begun, self._sent_begin = self._sent_begin, False, False
        if sent:
            self._undo()

    def parameters(self, statement: str) -> tuple[str, ...]:
        return self._find(statement).parameters

    def prepare(self, statements: Iterable[str]) -> None:
        """Prepare named statements, each once.

        The server prepares a statement if the dialect can execute it with values. Calls of routines are already
        short, so the server prepares them only on request; several statements in one packet are never prepared.
        """
        for name in statements:
            if name not in self._templates:
                self._templates[name] = self._prepared_or_literal(self._find(name))

    def parse(self, statement: str) -> bool:
        """Prepare it by SQL, though clients may send it as text; of several commands, only the first."""
        found = self._find(statement)
        try:
            self._prepared(replace(found, text=found.commands[0]) if found.commands else found)
        except TransactionError as error:
            if error.code == _CANNOT_BE_PREPARED:
                return False
            raise
        return True

    def bind(self, statement: str, arguments: Arguments) -> bytes:
        return _rendered(self._templates[statement], arguments)

    def perform(self, bound: bytes) -> Any:
        """Perform one whole transaction, committed when it returns; return its last result set."""
        try:
            self.connection.query(bound)
            return self._last_result()
        except Error as error:
            self._raise_error(error)
        except BaseException:
            self.close()  # answers may be unread
            raise

    def fileno(self) -> int:
        """The connection's socket; the driver tells it to no other thread while it waits for an answer."""
        return self._descriptor

    def sender(self, perform: Callable[[Any], Any]) -> Callable[[Any], None] | None:
        """What sends an operation of ``perform``."""
        return self._send if perform == self.perform else None

    def _send(self, bound: bytes) -> None:
        try:
            self.connection.send_query(bound)
        except Error as error:
            self._raise_error(error)

    def receive(self) -> Any:
        """What has arrived: the last result set if the answer is complete.

        The driver reads an answer as a whole; so several result sets of one statement are waited for.
        """
        try:
            self.connection.read_query_result()
            return self._last_result()
        except Error as error:
            self._raise_error(error)
        except BaseException:
            self.close()  # answers may be unread
            raise

    def _last_result(self) -> Any:
        connection = self.connection
        result = connection.store_result()
        while connection.next_result() == 0:
            if connection.field_count():
                later = connection.store_result()
                result = later if result is None else result
        return result

    def rows(self, raw: Any) -> list[Row]:
        """Convert a raw result to plain values; arrays become tuples."""
        return decoded_rows(*result_of(raw))

    def row_count(self, raw: Any) -> int:
        return int(raw.num_rows())

    def call(self, statement: str, *arguments: Any) -> list[Row]:
        return self.batch([(statement, arguments)])[0]

    def batch(self, calls: Sequence[tuple[str, Arguments]]) -> list[list[Row]]:
        assert self._begun, "a call outside a transaction"
        self.prepare(name for name, _ in calls)
        results = self._answered(b";".join([_rendered(self._templates[name], given) for name, given in calls]))
        return [[] if isinstance(result, int) else list(result.fetch_row(0)) for result in results]

    def bind_all(self, calls: Sequence[tuple[str, Arguments]]) -> list[bytes]:
        return [_rendered(self._templates[name], given) for name, given in calls]

    def perform_all(self, bound: Sequence[bytes]) -> list[Any]:
        """Perform a whole transaction of several calls in one packet."""
        return self._exchanged(b";".join([b"START TRANSACTION", *bound, b"COMMIT"]))

    def perform_each(self, bound: Sequence[bytes]) -> list[Any]:
        """The same with one packet per statement."""
        send = self._exchanged
        send(b"START TRANSACTION")
        results = [send(text) for text in bound]
        send(b"COMMIT")
        return results

    def load(self, table: Table, chunks: Iterable[bytes]) -> int:
        """Bulk-load tab-separated text, with LOAD DATA LOCAL if the server allows it; return the number of rows."""
        assert self._begun, "a load outside a transaction"
        words = {"table": table.name, "columns": table.columns}
        try:
            if self.local_infile and self.sends_files:
                with piped(chunks) as path, awaited(self, f"the load of {table.name}", None):
                    text = _template(self._find("load_from_client").filled(words)).text
                    answers = self._answered(text % ENCODERS[str](path))
                    if code := self.connection.errno():  # after another statement the driver reports no error
                        self._raise_error(Error(code, self.connection.error()))
                    self._raise_warnings()
                    return int(answers[0])
            head = _template(self._find("load_by_insert").filled(words)).text
            return sum(self._inserted(table, text) for text in insertions(head, chunks, self._max_bytes))
        except BaseException:
            self.rollback()
            raise

    def _inserted(self, table: Table, text: bytes) -> int:
        with awaited(self, f"the load of {table.name}", None):
            return int(self._answered(text)[0])

    def close(self) -> None:
        self._begun = self._sent_begin = False
        self._descriptor = -1
        with suppress(Error):
            self.connection.close()

    def _prepared_or_literal(self, statement: Statement) -> Template:
        """See ``prepare``; of a CALL followed by a SELECT, the server prepares only the CALL."""
        first, *rest = statement.commands or [statement.text]
        if not first.startswith("CALL"):
            return self._prepared(statement) if self._takes_values and not rest else _template(statement)
        if not self.prepares_calls:
            return _template(statement)
        call = self._prepared(replace(statement, text=first))
        return call._replace(text=b";".join([call.text, *(one.encode() for one in rest)])) if rest else call

    def _prepared(self, statement: Statement) -> Template:
        """The EXECUTE of a statement that the server prepared, with values or with variables set before."""
        text, positions = _marked(statement, "?")
        name = f"s_{statement.name}"  # the name alone may be an SQL keyword
        self.query("prepare", name=name, text=text)
        kind, ahead = "values" if self._takes_values else "variables", ""
        marks = ["%b"] * sum(max(count, 1) for _, count in positions)
        if marks and not self._takes_values:
            marks = [f"@hdbkit_{number}" for number in range(len(marks))]
            ahead = f"SET {','.join(f'{mark}=%b' for mark in marks)};"
        execute = find(self.dialects, SERVER_STATEMENTS, f"execute_with_{kind}").text
        using = f" USING {','.join(marks)}" if marks else ""
        return Template(f"{ahead}{execute} {name}{using}".encode(), positions)

    def _find(self, name: str) -> Statement:
        found = in_scope(self._own, self.dialects, name)
        return replace(found, lexer=found.lexer.with_names_in_double_quotes()) if self._quotes_names else found

    def _answered(self, text: bytes) -> list[Any]:
        """The answers to one packet, sent together with a pending START TRANSACTION."""
        if self._begun and not self._sent_begin:
            self._sent_begin = True
            return self._exchanged(b"START TRANSACTION;" + text)[1:]
        return self._exchanged(text)

    def _exchanged(self, text: bytes) -> list[Any]:
        """Send one packet and read all its answers: result sets or numbers of changed rows."""
        connection = self.connection
        if len(text) > self._max_bytes:
            self._raise_too_large(len(text))
        try:
            connection.query(text)
            results = [connection.store_result() if connection.field_count() else connection.affected_rows()]
            while connection.next_result() == 0:
                results.append(connection.store_result() if connection.field_count() else connection.affected_rows())
        except Error as error:
            self._raise_error(error)
        except BaseException:
            self.close()  # answers may be unread
            raise
        return results

    def _raise_warnings(self) -> None:
        """Raise warnings as errors: with LOCAL, the server only warns about skipped rows and truncated values."""
        if count := self.connection.warning_count():
            hidden = [("Warning", 0, f"{count} warnings of the load, which max_error_count = 0 hides")]
            for level, code, text in self.query("warnings") or hidden:
                if level != "Note":
                    self.rollback()
                    raise TransactionError(_class_of(code, text), str(code), text)

    def _raise_error(self, error: Exception) -> NoReturn:
        """Raise the error of a failed call, after rolling back the transaction."""
        code, words = (*error.args, "")[:2] if error.args else (0, "")
        if code in _LOST or (self.needs_primary and code in _READ_ONLY and "read-only" in words.lower()):
            self._lose(code, words)
        self._undo()
        if code == BY_DESIGN:
            raise RolledBackByDesign(words) from None
        known = self.classes.get(str(code)) or _class_of(code, words)
        raise TransactionError(known, str(code), words + _ADVICE.get(code, "")) from None

    def _raise_too_large(self, size_bytes: int) -> NoReturn:
        self.rollback()
        words = (
            f"a packet of {size_bytes} bytes is larger than the server's max_allowed_packet "
            f"({self._max_bytes + 1}); raise that setting"
        )
        raise TransactionError(ErrorClass.RESOURCES, str(_TOO_LARGE), words)

    def _undo(self) -> None:
        self._begun = self._sent_begin = False
        try:
            self.connection.query(b"ROLLBACK")
        except Error as error:
            self._lose(*(*error.args, "")[:2])

    def _lose(self, code: int = 0, words: str = "") -> NoReturn:
        self.close()
        raise TransactionError(ErrorClass.CONNECTION_LOST, str(code), words or "the connection was lost") from None


def _class_of(code: int, words: str) -> ErrorClass:
    return ErrorClass.RESOURCES if _NO_SPACE.search(words) else _CLASS_OF.get(code, ErrorClass.OTHER)


def _template(statement: Statement) -> Template:
    """A statement that is sent with literals."""
    text, positions = _marked(replace(statement, text=statement.text.replace("%", "%%")), "%b")
    is_trivial = positions == tuple((index, 0) for index in range(len(positions)))
    return Template(text.encode(), () if is_trivial else positions)


def _marked(statement: Statement, mark: str) -> tuple[str, tuple[tuple[int, int], ...]]:
    """The text with ``mark`` for each value, and the positions of a template."""
    indexes, positions = list[int](), list[tuple[int, int]]()

    def place_of(_: str, index: int) -> str:
        indexes.append(index - 1)
        return "\0"

    def marks_of(place: re.Match[str]) -> str:
        count = int(place[1] or 0)
        positions.append((indexes[len(positions)], count))
        return ",".join([mark] * max(count, 1))

    return _PLACE.sub(marks_of, statement.rendered(place_of)), tuple(positions)


def _rendered(template: Template, values: Sequence[Any]) -> bytes:
    text, positions = template
    if not positions:
        return text % tuple([ENCODERS[type(value)](value) for value in values])
    literals = list[bytes]()
    for index, count in positions:
        value = values[index]
        literals += _elements(value, count) if count else [ENCODERS[type(value)](value)]
    return text % tuple(literals)


def _elements(values: Sequence[int], count: int) -> list[bytes]:
    return [b"%d" % value for value in values[:count]] + [b"NULL"] * (count - len(values))


_PIPE_BYTES = 1 << 20
_STATEMENT_BYTES = 1 << 20


@contextmanager
def piped(chunks: Iterable[bytes]) -> Iterator[str]:
    """A path from which the chunks can be read once, inside the ``with`` block.

    An error of the source is raised at the end of the ``with`` block, after the rows before it were read.
    """
    reading, writing = os.pipe()
    with suppress(OSError):  # the kernel limits the pipe memory of an account
        fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
    failed: list[BaseException] = []
    writer = Thread(target=_write, args=(chunks, writing, failed), daemon=True)
    writer.start()
    try:
        yield f"/dev/fd/{reading}"
    finally:
        os.close(reading)
        writer.join()
    if failed:
        raise failed[0]


def _write(chunks: Iterable[bytes], writing: int, failed: list[BaseException]) -> None:
    try:
        for chunk in chunks:
            left = memoryview(chunk)
            while left:
                left = left[os.write(writing, left) :]
    except BrokenPipeError:
        pass  # the server rejected the rows or is gone, which the driver reports
    except BaseException as error:
        failed.append(error)
    finally:
        os.close(writing)


def insertions(head: bytes, chunks: Iterable[bytes], max_bytes: int) -> Iterator[bytes]:
    """INSERT statements of whole rows after ``head``; at most ``max_bytes`` each, unless one row is longer."""
    room = min(max_bytes, _STATEMENT_BYTES) - len(head)
    for chunk in chunks:
        rows: list[bytes] = []
        size = 0
        for line in chunk.removesuffix(b"\n").split(b"\n"):
            row = _row(line)
            if rows and size + len(row) >= room:
                yield head + b",".join(rows)
                rows, size = [], 0
            rows.append(row)
            size += len(row) + 1
        if rows:
            yield head + b",".join(rows)


def _row(line: bytes) -> bytes:
    r"""A line as a row of literals; text and literals escape ``\\`` and ``\t`` alike, and only ``\N`` is null."""
    fields = line.replace(b"'", b"''").split(b"\t")
    return b"(%b)" % b",".join([b"NULL" if field == rb"\N" else b"'%b'" % field for field in fields])
