"""A session over mysqlclient's low-level interface; a result stays raw until it is asked for.

A measured call is one packet of ready-made bytes; that of a routine bypasses the driver where the connection allows
it (:mod:`hdbkit.databases._mysqlclient_wire`). ``begin`` goes out in front of the first statement behind it, and
a ``batch`` is one packet of several statements. Every answer is read to its end before anything else is sent; where
that is interrupted the connection is closed, so that it never gets out of step.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, NamedTuple, NoReturn

from MySQLdb import Error

from hdbkit.contracts import Arguments, Row, Scope, Table
from hdbkit.databases._mysqlclient_load import insertions, piped
from hdbkit.databases._mysqlclient_values import ENCODERS, plain, result_of
from hdbkit.databases._mysqlclient_wire import Call, answer_of, wire
from hdbkit.errors import ErrorClass, RolledBackByDesign, TransactionError
from hdbkit.sql import SERVER_STATEMENTS, Statement, find, in_scope, statements

BY_DESIGN = 30001
"""The error number with which a routine rolls back an order for the unused item."""

_LOST = frozenset({0, 1053, 1152, 1158, 1159, 1160, 1161, 1184, 1927, 2002, 2003, 2006, 2013, 2014, 2027, 2055, 4031})
_CLASSES = {
    ErrorClass.DEADLOCK: {1213},
    ErrorClass.SERIALIZATION: {1020},
    ErrorClass.LOCK_TIMEOUT: {1205},
    ErrorClass.STATEMENT_TIMEOUT: {1969, 3024},
    ErrorClass.CONSTRAINT: {1022, 1048, 1062, 1169, 1216, 1217, 1263, 1364, 1451, 1452, 1557, 1586, 1761, 3819, 4025},
    ErrorClass.RESOURCES: {1021, 1037, 1038, 1040, 1041, 1114, 1118, 1153, 1203, 1206, 1226, 1461, 1637, 2008, 2020},
}
_CLASS_OF = {code: error_class for error_class, codes in _CLASSES.items() for code in codes}
_TOO_LARGE = 1153


class Template(NamedTuple):
    """A statement with a ``%b`` for each value, and which parameter stands at each; none when each stands once."""

    text: bytes
    places: tuple[int, ...]
    answers_last: bool = False
    """A CALL that answers nothing, with a SELECT of one row behind it."""


class MysqlclientSession:
    """One connection, used by one process and one thread. Contract: :class:`hdbkit.contracts.SqlSession`."""

    returns_changed = takes_arrays = False

    def __init__(self, connection: Any, dialects: tuple[str, ...], scope: Scope) -> None:
        self._driver, self._wire = connection, wire(connection)
        self._dialects, self._own = dialects, scope.statements
        self._templates: dict[str, Template] = {}
        self._begun = False
        self._sent_begin = False
        self._max_bytes = 1 << 30
        self._takes_values = "execute_with_values" in statements(dialects, SERVER_STATEMENTS)
        self.prepares_calls = False
        """Whether routines' calls are prepared by the server too."""
        packet_bytes, infile = self.query("open_session")[0]
        self._max_bytes, self.local_infile = int(packet_bytes) - 1, bool(infile)

    @property
    def connection(self) -> Any:
        """The driver's connection, which nobody else reads from."""
        if self._wire:
            self._wire.leave()
        return self._driver

    @property
    def client_path(self) -> str:
        """What times the calls of routines: our own code over the driver's socket, or the driver."""
        return "hdbkit wire code" if self._wire and not self.prepares_calls else "mysqlclient"

    def query(self, statement: str, /, **arguments: Any) -> list[Row]:
        """The rows of a named statement (its first result that has any); ``{word}`` and ``:word`` take arguments."""
        found = self._find(statement).filled(arguments)
        text = _rendered(_template(found), [arguments[name] for name in found.parameters])
        results = [result for result in self._answered(text) if not isinstance(result, int)]
        rows = self.rows(results[0]) if results else []
        return self._run(rows) if found.makes_commands else rows

    ask = query

    def _run(self, commands: list[Row]) -> list[Row]:
        for (text,) in commands:
            self.execute(text)
        return []

    def execute(self, text: str) -> None:
        """Run a command that a named statement composed, such as one that takes no parameters."""
        self._answered(text.encode())

    def begin(self) -> None:
        """Start a transaction; it goes out with the first statement."""
        assert not self._begun, "begin inside a transaction"
        self._begun, self._sent_begin = True, False

    def commit(self) -> None:
        """Commit; a refusal raises and nothing is left."""
        assert self._begun, "commit outside a transaction"
        sent, self._begun, self._sent_begin = self._sent_begin, False, False
        if sent:
            self._exchanged(b"COMMIT")

    def rollback(self) -> None:
        """Undo; does nothing outside a transaction and nothing on a lost connection."""
        sent, self._begun, self._sent_begin = self._sent_begin, False, False
        if sent:
            self._undo()

    def parameters(self, statement: str) -> tuple[str, ...]:
        """The names of its values, in the order of ``bind``."""
        return self._find(statement).parameters

    def prepare(self, statements: Iterable[str]) -> None:
        """Make named statements ready to be filled with values, each once.

        Where the dialect can execute a statement with values, the server prepares it. A routine's call is as short as
        its execution would be, so that it is prepared on request only; several statements in one packet never are.
        """
        for name in statements:
            if name not in self._templates:
                self._templates[name] = self._made_ready(self._find(name))

    def bind(self, statement: str, arguments: Arguments) -> bytes:
        """A call as the bytes that are sent."""
        template = self._templates[statement]
        text = _rendered(template, arguments)
        return Call.of(text) if self._wire and template.answers_last else text

    def perform(self, bound: bytes) -> Any:
        """One whole transaction in one call, committed when it returns; its first result that has rows."""
        try:
            if type(bound) is Call and self._wire:
                return self._wire.asked(bound)
            connection = self.connection
            connection.query(bound)
            result = connection.store_result()
            while connection.next_result() == 0:
                if connection.field_count():
                    later = connection.store_result()
                    result = later if result is None else result
        except Error as error:
            self._refuse(error)
        except BaseException:
            self.close()  # answers may be left that nobody reads
            raise
        return result

    def rows(self, raw: Any) -> list[Row]:
        """A raw result as plain values; arrays become tuples."""
        return plain(*(answer_of(raw) if isinstance(raw, bytes) else result_of(raw)))

    def call(self, statement: str, *arguments: Any) -> list[Row]:
        """A prepared statement inside a transaction."""
        return self.batch([(statement, arguments)])[0]

    def batch(self, calls: Sequence[tuple[str, Arguments]]) -> list[list[Row]]:
        """Several prepared statements in one round trip, in their order."""
        assert self._begun, "a call outside a transaction"
        self.prepare(name for name, _ in calls)
        results = self._answered(b";".join([_rendered(self._templates[name], given) for name, given in calls]))
        return [[] if isinstance(result, int) else list(result.fetch_row(0)) for result in results]

    def bind_all(self, calls: Sequence[tuple[str, Arguments]]) -> list[bytes]:
        """Several calls as the bytes that are sent."""
        return [_rendered(self._templates[name], given) for name, given in calls]

    def perform_all(self, bound: Sequence[bytes]) -> list[Any]:
        """A whole transaction of several calls in one packet, committed when it returns."""
        return self._exchanged(b";".join([b"START TRANSACTION", *bound, b"COMMIT"]))

    def perform_each(self, bound: Sequence[bytes]) -> list[Any]:
        """The same with a packet for each statement."""
        send = self._exchanged
        send(b"START TRANSACTION")
        results = [send(text) for text in bound]
        send(b"COMMIT")
        return results

    def load(self, table: Table, chunks: Iterable[bytes]) -> int:
        """Bulk-load tab-separated text, by LOAD DATA LOCAL where the server lets us; the number of rows."""
        assert self._begun, "a load outside a transaction"
        words = {"table": table.name, "columns": table.columns}
        try:
            if self.local_infile:
                with piped(chunks) as path:
                    text = _template(self._find("load_from_client").filled(words)).text
                    (rows,) = self._answered(text % ENCODERS[str](path))
                    self._refuse_warnings()
                    return int(rows)
            head = _template(self._find("load_by_insert").filled(words)).text
            return sum(self._answered(text)[0] for text in insertions(head, chunks, self._max_bytes))
        except BaseException:
            self.rollback()
            raise

    def close(self) -> None:
        """End the connection; never raises."""
        self._begun = self._sent_begin = False
        if self._wire:
            self._wire.close()
        with suppress(Error):
            self._driver.close()

    def _made_ready(self, statement: Statement) -> Template:
        """As ``prepare`` says; of a CALL with a SELECT behind it the server prepares the CALL."""
        first, _, rest = statement.text.partition(";")
        if not first.startswith("CALL"):
            return self._prepared(statement) if self._takes_values and not rest else _template(statement)
        if not self.prepares_calls:
            return _template(statement)._replace(answers_last=bool(rest))
        call = self._prepared(replace(statement, text=first))
        return call._replace(text=b";".join([call.text, rest.encode()])) if rest else call

    def _prepared(self, statement: Statement) -> Template:
        """The execution of a statement that the server prepared: with values, or variables that are set before."""
        text, places = _marked(statement, "?")
        name = f"s_{statement.name}"  # the name alone may be a word of SQL
        self.query("prepare", name=name, text=text)
        kind, marks, ahead = "values" if self._takes_values else "variables", ["%b"] * len(places), ""
        if marks and not self._takes_values:
            marks = [f"@hdbkit_{number}" for number in range(len(places))]
            ahead = f"SET {','.join(f'{mark}=%b' for mark in marks)};"
        execute = find(self._dialects, SERVER_STATEMENTS, f"execute_with_{kind}").text
        using = f" USING {','.join(marks)}" if marks else ""
        return Template(f"{ahead}{execute} {name}{using}".encode(), places)

    def _find(self, name: str) -> Statement:
        return in_scope(self._own, self._dialects, name)

    def _answered(self, text: bytes) -> list[Any]:
        """The answers to one packet, behind the start of the transaction if that is still to be sent."""
        if self._begun and not self._sent_begin:
            self._sent_begin = True
            return self._exchanged(b"START TRANSACTION;" + text)[1:]
        return self._exchanged(text)

    def _exchanged(self, text: bytes) -> list[Any]:
        """One packet and all its answers: a result, or how many rows were changed."""
        connection = self.connection
        if len(text) > self._max_bytes:
            self._refuse_large(len(text))
        try:
            connection.query(text)
            results = [connection.store_result() if connection.field_count() else connection.affected_rows()]
            while connection.next_result() == 0:
                results.append(connection.store_result() if connection.field_count() else connection.affected_rows())
        except Error as error:
            self._refuse(error)
        except BaseException:
            self.close()  # answers may be left that nobody reads
            raise
        return results

    def _refuse_warnings(self) -> None:
        """With LOCAL a server only warns of rows that it left out and of values that it cut: that is a refusal."""
        if self.connection.warning_count():
            for level, code, text in self.query("warnings"):
                if level != "Note":
                    self.rollback()
                    raise TransactionError(_CLASS_OF.get(code, ErrorClass.OTHER), str(code), text)

    def _refuse(self, error: Exception) -> NoReturn:
        """Raise what a refusal means, after rolling back what was begun."""
        code, words = (*error.args, "")[:2] if error.args else (0, "")
        if code in _LOST:
            self._lose(code, words)
        self._undo()
        if code == BY_DESIGN:
            raise RolledBackByDesign(words) from None
        raise TransactionError(_CLASS_OF.get(code, ErrorClass.OTHER), str(code), words) from None

    def _refuse_large(self, size_bytes: int) -> NoReturn:
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
        raise TransactionError(ErrorClass.CONNECTION_LOST, str(code), words or "the connection is lost") from None


def _template(statement: Statement) -> Template:
    """A statement that is sent whole, with literals in it."""
    text, places = _marked(replace(statement, text=statement.text.replace("%", "%%")), "%b")
    return Template(text.encode(), () if places == tuple(range(len(places))) else places)


def _marked(statement: Statement, mark: str) -> tuple[str, tuple[int, ...]]:
    """The text with ``mark`` for each value, and which parameter stands at each mark."""
    numbers: list[int] = []

    def place(_: str, index: int) -> str:
        numbers.append(index - 1)
        return mark

    return statement.rendered(place), tuple(numbers)


def _rendered(template: Template, values: Sequence[Any]) -> bytes:
    text, places, _ = template
    literals = [ENCODERS[type(value)](value) for value in values]
    return text % tuple([literals[place] for place in places] if places else literals)
