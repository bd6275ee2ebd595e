"""A session with psycopg's low-level libpq interface; results are converted only on request.

A measured call is one ``exec_prepared`` of prepared bytes (or ``exec_params``, with its text). ``begin`` is sent
together with the next statement, and a ``batch`` is one pipeline, so that a transaction of client SQL needs few round
trips.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from functools import partial
from select import POLLIN, POLLOUT, poll
from textwrap import shorten
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, TypeVar

from psycopg import Error, NotSupportedError, adapt, pq

from hdbkit.awaiting import awaited
from hdbkit.contracts import PENDING, Arguments, Row, Scope, Table
from hdbkit.contracts.operations import answer_limit_s
from hdbkit.databases._base.asking import AskingSession
from hdbkit.databases.postgresql.encoding import ENCODER_OF, filled_in, plain_row
from hdbkit.errors import ErrorClass, RolledBackByDesign, TransactionError
from hdbkit.sql import in_scope
from hdbkit.statement import Statement

if TYPE_CHECKING:
    from psycopg.abc import Transformer
    from psycopg.pq.abc import PGconn, PGresult

_BY_DESIGN = "HK001"
"""The SQLSTATE with which a routine reports a rollback by design."""

_BINARY = int(pq.Format.BINARY)
_TUPLES = int(pq.ExecStatus.TUPLES_OK)
_SYNC = int(pq.ExecStatus.PIPELINE_SYNC)
_GOOD = frozenset({_TUPLES, pq.ExecStatus.COMMAND_OK, pq.ExecStatus.EMPTY_QUERY})
_CLASSES = {
    "40P01": ErrorClass.DEADLOCK,
    "40001": ErrorClass.SERIALIZATION,
    "2D000": ErrorClass.DEADLOCK,  # HammerDB's functions try ROLLBACK after a deadlock, which functions may not
    "55P03": ErrorClass.LOCK_TIMEOUT,
    "57014": ErrorClass.STATEMENT_TIMEOUT,
    "57P01": ErrorClass.CONNECTION_LOST,
    "57P02": ErrorClass.CONNECTION_LOST,
    "57P03": ErrorClass.CONNECTION_LOST,
    "08": ErrorClass.CONNECTION_LOST,
    "23": ErrorClass.CONSTRAINT,
    "53": ErrorClass.RESOURCES,
}

_CANCEL_S = 5.0
_READ_ONLY = "25006"
_NOT_IN_STATE = "55000"
"""Among others, prepared transactions are disabled."""
_SLOW_PLAN = re.compile(
    r"duration: ([\d.]+) ms  plan:\nQuery Text: (.*?)(?: /\*traceparent=[^\n]*\*/)?\n"
    r"(?:Query Parameters: .*?\n)?(?=[^\n]*\(cost=)",
    re.DOTALL,
)
"""Time and statement, without its trace, in a notice of auto_explain; the plan follows."""
_CONSUMING = "consuming input failed: "
"""What psycopg writes before the words of the server or of libpq."""
_FATAL = "FATAL:  "
"""What libpq writes before those of a server or pooler that then closes the connection."""

_QUERIES = (b"SELECT", b"WITH")
BoundCall = tuple[Any, ...]
"""The arguments of libpq's call: statement, values as text, formats of values (None: text), format of results; in a
call that is not prepared also the values' types (None: unknown) before these formats."""
_T = TypeVar("_T")


class PsycopgSession(AskingSession):
    """One connection, used by one process and one thread. Contract: :class:`hdbkit.contracts.SqlSession`."""

    returns_changed = takes_arrays = True
    questions: ClassVar[int] = 0
    """The questions of this process that the server counts as transactions of their own."""

    def __init__(self, connection: PGconn, dialects: tuple[str, ...], scope: Scope, *, prepares: bool = True) -> None:
        self.connection = connection
        self.number = connection.backend_pid
        self.needs_primary = False
        """Whether a server that has become read-only counts as lost."""
        self._prepares = prepares
        """Whether statements are prepared; else each call has its text, and the server plans it for its values."""
        self._execute: Callable[..., PGresult] = connection.exec_prepared  # looked up once: it is the measured call
        self._send: Callable[..., None] = connection.send_query_prepared
        self._formats: tuple[int | None, ...] = (None, _BINARY)
        if not prepares:
            self._execute, self._send = connection.exec_params, connection.send_query_params
            self._formats = (None, *self._formats)
        self._uncommented = self._execute, self._send
        self._texts: dict[bytes, bytes] = {}
        """The texts of prepared statements, by their names."""
        self.prepares_questions = False
        """Whether a query that is asked again is prepared; no pooler may be between this session and the server."""
        self._asked: dict[bytes, bytes | None] = {}
        """The names of queries that were asked again, by their texts; None: asked once; empty: cannot be prepared."""
        self._opening: tuple[bytes, ...] = (b"BEGIN",)
        self.dialects, self.scope = dialects, scope
        self._two_types: dict[str, bool] = {}
        self._calls: dict[str, bytes] = {}
        """The first of ``bind``: the name of a prepared statement, or its text."""
        self._attempts: set[bytes] = set()
        """The first of ``bind`` of statements whose empty result is a rollback by design."""
        self._readers: dict[str, Transformer] = {}
        self._begun = False
        self._sent_begin = False
        self._sent: BoundCall | None = None
        """The call that was sent; None: a pipeline."""
        self._received: list[PGresult] = []
        self._finished: Callable[[list[PGresult]], Any] = list
        """The result of a pipeline that was sent, from all that was received."""

    def client_path(self) -> str:
        """The driver's, for every load."""
        return "psycopg"

    def query(self, statement: str, /, **arguments: Any) -> list[Row]:
        """The rows of a named statement; ``{word}`` and ``:word`` take arguments."""
        found = self._find(statement)
        with awaited(self, f"statement {statement}", answer_limit_s(statement, self.scope.statements)):
            rows = self._rows_for(found, arguments)
        PsycopgSession.questions += not self._begun
        return self._run(rows) if found.makes_commands else rows

    ask = query

    def lift_limits(self) -> None:
        """Let no timeout of the account end this session or its work, which may use the server's parallel workers."""
        self.query("lift_own_limits", in_transaction="false")

    def _rows_for(self, statement: Statement, arguments: dict[str, Any]) -> list[Row]:
        text, values = filled_in(statement, arguments)
        self._send_begin()
        if values:
            return self.rows(self._checked(self._exchanged(self.connection.exec_params, text, values)))
        if name := self._again(text):
            return self.rows(self._checked(self._exchanged(self.connection.exec_prepared, name, [])))
        return self.rows(self._checked(self._exchanged(self.connection.exec_, text)))

    def _again(self, text: bytes) -> bytes:
        """The name of a query that was asked before and is prepared now: of what is sampled, planning costs most."""
        if not self.prepares_questions or self._begun or not text.startswith(_QUERIES):
            return b""
        if text not in self._asked:
            self._asked[text] = None
            return b""
        if self._asked[text] is None:
            name = b"asked_%d" % sum(one is not None for one in self._asked.values())
            prepared = self._exchanged(self.connection.prepare, name, text).status in _GOOD
            self._asked[text] = name if prepared else b""
        return self._asked[text] or b""

    def _run(self, commands: list[Row]) -> list[Row]:
        for (text,) in commands:
            self.execute(text)
        return []

    def execute(self, text: str) -> None:
        with awaited(self, f"statement {shorten(text, 40)}", None):
            self._checked(self._exchanged(self.connection.exec_, text.encode()))

    def cancel(self) -> None:
        """By a request over a connection of its own, which a pooler passes on; before libpq 17 by another session.

        What libpq had before for such a request waits for the server while it holds the GIL.
        """
        try:
            request = self.connection.cancel_conn()
        except NotSupportedError:
            with closing(self.another()) as other:
                other.ask("cancel_statement", number=self.number)
            return
        request.start()
        state, end = pq.PollingStatus.WRITING, time.monotonic() + _CANCEL_S
        while state in (pq.PollingStatus.READING, pq.PollingStatus.WRITING) and time.monotonic() < end:
            ready = poll()
            ready.register(request.socket, POLLIN if state == pq.PollingStatus.READING else POLLOUT)
            ready.poll(1000 * _CANCEL_S)
            state = pq.PollingStatus(request.poll())
        request.finish()

    def begin(self) -> None:
        """Start a transaction; sent together with the first statement."""
        assert not self._begun, "begin inside a transaction"
        self._begun, self._sent_begin = True, False

    def commit(self) -> None:
        assert self._begun, "commit outside a transaction"
        sent, self._begun, self._sent_begin = self._sent_begin, False, False
        if sent and self.is_own:
            with awaited(self, "COMMIT", None):
                self._checked(self._exchanged(self.connection.exec_, b"COMMIT"))
        elif sent:
            self._checked(self._exchanged(self.connection.exec_, b"COMMIT"))

    def rollback(self) -> None:
        sent, self._begun, self._sent_begin = self._sent_begin, False, False
        if not sent or self.connection.status != pq.ConnStatus.OK:
            return
        self._exchanged(self.connection.exec_, b"ROLLBACK")

    def parameters(self, statement: str) -> tuple[str, ...]:
        """The names of its parameters, in the order of ``bind``; twice of a value that has two types."""
        found = self._find(statement)
        return tuple(name for name, _ in found.uses) if self._has_two_types(found) else found.parameters

    def _has_two_types(self, found: Statement) -> bool:
        """Whether a value is used with several types, for which the server finds none in common."""
        if len(found.uses) == len(found.parameters):
            return False
        if found.name not in self._two_types:
            text = found.rendered(lambda _, index: f"${index}").encode()
            with awaited(self, f"PREPARE of {found.name}"):
                self._two_types[found.name] = self._exchanged(self.connection.prepare, b"", text).status not in _GOOD
        return self._two_types[found.name]

    def prepare(self, statements: Iterable[str]) -> None:
        """Prepare named statements, each once, or only read their texts."""
        for name in statements:
            if name in self._calls:
                continue
            found = self._find(name)
            call = text = (
                found.rendered_by_use("${}".format)
                if self._has_two_types(found)
                else found.rendered(lambda _, index: f"${index}")
            ).encode()
            if self._prepares:
                call = name.encode()
                with awaited(self, f"PREPARE of {name}"):
                    self._checked(self._exchanged(self.connection.prepare, call, text))
                self._texts[call] = text
            self._calls[name] = call
            if found.may_roll_back:
                self._attempts.add(call)

    def parse(self, statement: str) -> bool:
        """Prepare it, unless a pooler allows no prepared statements."""
        self.prepare([statement])
        return self._prepares

    def bind(self, statement: str, arguments: Arguments) -> BoundCall:
        """A call as bytes, ready for ``perform``. Results are binary, which saves the server their conversion."""
        return self._calls[statement], [ENCODER_OF[type(value)](value) for value in arguments], *self._formats

    def perform(self, bound: BoundCall) -> PGresult:
        try:
            result = self._execute(*bound)
        except Error as error:
            self._lost(str(error))
        if result.status != _TUPLES:
            self._checked(result)
        if not result.ntuples and bound[0] in self._attempts:
            raise RolledBackByDesign
        return result

    def comment(self, text: str) -> None:
        """See :class:`hdbkit.contracts.CommentedSession`; the transaction's beginning and end have none."""
        self._execute, self._send = self._uncommented
        if text:
            after = f" /*{text}*/".encode()
            self._execute = partial(self._commented, self.connection.exec_params, after)
            self._send = partial(self._commented, self.connection.send_query_params, after)

    def report_plans(self, receive: Callable[[float, str, str], None]) -> None:
        """See :class:`hdbkit.contracts.PlanReportingSession`."""

        def noticed(notice: PGresult) -> None:
            text = (notice.error_field(pq.DiagnosticField.MESSAGE_PRIMARY) or b"").decode("utf-8", "replace")
            if found := _SLOW_PLAN.match(text):
                receive(float(found[1]), found[2], text[found.end() :])

        self.connection.notice_handler = noticed

    def _commented(self, send: Callable[..., _T], after: bytes, call: bytes, values: Any, *formats: int | None) -> _T:
        return send(self._texts.get(call, call) + after, values, None, *formats[-2:])

    def fileno(self) -> int:
        """The connection's socket."""
        return self.connection.socket

    def sender(self, perform: Callable[[Any], Any]) -> Callable[[Any], None] | None:
        """What sends an operation of ``perform`` or ``perform_all``."""
        if perform == self.perform:
            return self._send_one
        return self._send_all if perform == self.perform_all else None

    def _send_one(self, bound: BoundCall) -> None:
        self._sent, self._received = bound, []
        try:
            self._send(*bound)
        except Error as error:
            self._lost(str(error))

    def _send_all(self, bound: Sequence[BoundCall]) -> None:
        self._sent, self._received, self._begun = None, [], True
        opened = self._exchanged(self._send_pipeline, bound, True)
        self._finished = partial(self._all_behind, opened)

    def receive(self) -> Any:
        """What has arrived: the result of ``perform`` or ``perform_all`` if the answer is complete."""
        connection, received = self.connection, self._received
        try:
            connection.consume_input()
            while not connection.is_busy():
                result = connection.get_result()
                if result is not None and result.status != _SYNC:
                    received.append(result)
                elif result is not None or not connection.pipeline_status:
                    break
                elif connection.status != pq.ConnStatus.OK:
                    self._lost(connection.error_message.decode("utf-8", "replace"))
            else:
                return PENDING
        except Error as error:
            self._lost(str(error).removeprefix(_CONSUMING).partition("\n")[0])
        return self._finished(received) if self._sent is None else self._one_of(self._sent, received)

    def _one_of(self, bound: BoundCall, received: Sequence[PGresult]) -> PGresult:
        """The result of a call that was sent; ``perform`` has the same inline, as it is the measured call."""
        result = received[-1] if received else None
        if result is None or result.status != _TUPLES:
            result = self._checked(result)
        if not result.ntuples and bound[0] in self._attempts:
            raise RolledBackByDesign
        return result

    def _all_behind(self, opened: int, received: Sequence[PGresult]) -> list[PGresult]:
        """The results of a pipeline behind those of its opening."""
        self.connection.exit_pipeline_mode()
        results = [self._checked(result) for result in received][opened:]
        self._begun = self._sent_begin = False
        return results

    def rows(self, raw: PGresult) -> list[Row]:
        """Convert a raw result to plain values; arrays become tuples."""
        if not raw.ntuples:
            return []
        reader = adapt.Transformer()
        reader.set_pgresult(raw)
        return [plain_row(row) for row in reader.load_rows(0, raw.ntuples, tuple)]

    def row_count(self, raw: PGresult) -> int:
        return int(raw.ntuples)

    def call(self, statement: str, *arguments: Any) -> list[Row]:
        return self.batch([(statement, arguments)])[0]

    def batch(self, calls: Sequence[tuple[str, Arguments]]) -> list[list[Row]]:
        assert self._begun, "a call outside a transaction"
        self.prepare(name for name, _ in calls)
        results = self._round_trip([self.bind(*call) for call in calls])
        for result in results:
            self._checked(result)
        return [self._rows_of(name, result) for (name, _), result in zip(calls, results, strict=True)]

    def bind_all(self, calls: Sequence[tuple[str, Arguments]]) -> list[BoundCall]:
        """Several calls as bytes."""
        return [self.bind(*call) for call in calls]

    def perform_all(self, bound: Sequence[BoundCall]) -> list[PGresult]:
        """Perform a whole transaction of several calls in one round trip."""
        self._begun = True
        results = self._exchanged(self._pipelined, bound, True)
        for result in results:
            self._checked(result)
        self._begun = self._sent_begin = False
        return results

    def perform_each(self, bound: Sequence[BoundCall]) -> list[PGresult]:
        run, call = self.connection.exec_, self._execute
        self._begun = self._sent_begin = True
        try:
            self._checked(run(b";".join(self._opening)))
            results = [self._checked(call(*one)) for one in bound]
            self._checked(run(b"COMMIT"))
        except Error as error:
            self._lost(str(error))
        self._begun = self._sent_begin = False
        return results

    def _rows_of(self, statement: str, result: PGresult) -> list[Row]:
        """See ``rows``; the loaders of a prepared statement's columns are determined once."""
        if not result.ntuples:
            return []
        known = self._readers.get(statement)
        reader = known or self._readers.setdefault(statement, adapt.Transformer())
        reader.set_pgresult(result, set_loaders=known is None)
        return [plain_row(row) for row in reader.load_rows(0, result.ntuples, tuple)]

    def load(self, table: Table, chunks: Iterable[bytes]) -> int:
        """Bulk-load tab-separated text with COPY; return the number of rows."""
        assert self._begun, "a load outside a transaction"
        self._send_begin()
        names = ", ".join(self._identifier(column) for column in table.columns)
        text = f"COPY {self._identifier(table.name)} ({names}) FROM STDIN"
        with awaited(self, f"the load of {table.name}", None):
            started = self._exchanged(self.connection.exec_, text.encode())
        if started.status != pq.ExecStatus.COPY_IN:
            self._raise_error(started)
        try:
            for chunk in chunks:
                self.connection.put_copy_data(chunk)
            self.connection.put_copy_end()
        except Error:
            pass  # the server rejected the rows or is gone: the result has the reason
        except BaseException:
            self.connection.put_copy_end(b"the source of the rows failed")
            self._last_result()
            self.rollback()
            raise
        with awaited(self, f"the load of {table.name}", None):
            return self._checked(self._last_result()).command_tuples or 0

    def close(self) -> None:
        self.connection.finish()

    def _find(self, name: str) -> Statement:
        found = in_scope(self.scope.statements, self.dialects, name)
        with suppress(Error):  # a closed connection has no parameters; the statement then fails by itself
            if self.connection.parameter_status(b"standard_conforming_strings") == b"off":
                return replace(found, lexer=found.lexer.with_backslashes())
        return found

    def _identifier(self, name: str) -> str:
        return pq.Escaping(self.connection).escape_identifier(name.encode()).decode()

    def _send_begin(self) -> None:
        if self._begun and not self._sent_begin:
            self._checked(self._exchanged(self.connection.exec_, b";".join(self._opening)))
            self._sent_begin = True

    def _round_trip(self, calls: Sequence[BoundCall]) -> list[PGresult]:
        if len(calls) == 1 and self._sent_begin:
            return [self._exchanged(self._execute, *calls[0])]
        return self._exchanged(self._pipelined, calls)

    def _pipelined(self, calls: Sequence[BoundCall], commit: bool = False) -> list[PGresult]:
        """All calls in one round trip, after a pending BEGIN, and before COMMIT if ``commit`` is set."""
        connection, opened = self.connection, self._send_pipeline(calls, commit)
        results = []
        for _ in range(opened + len(calls) + commit):
            results.append(self._next_result())
            if connection.status != pq.ConnStatus.OK:
                self._raise_error(results[-1])
            self._wait()
            connection.get_result()  # the end of one statement's results
        self._next_result()  # the answer to the sync
        connection.exit_pipeline_mode()
        return results[opened:]

    def _send_pipeline(self, calls: Sequence[BoundCall], commit: bool) -> int:
        """Send what ``_pipelined`` has; return how many statements precede the calls."""
        connection, opening = self.connection, () if self._sent_begin else self._opening
        connection.enter_pipeline_mode()
        for text in opening:
            connection.send_query_params(text, None)
        self._sent_begin = True
        for call in calls:
            self._send(*call)
        if commit:
            connection.send_query_params(b"COMMIT", None)
        connection.pipeline_sync()
        return len(opening)

    def _wait(self) -> None:
        """Wait for the next result without the GIL, which ``get_result`` would hold."""
        if not self.connection.is_busy():
            return
        readable = poll()
        readable.register(self.connection.socket, POLLIN)
        while self.connection.is_busy():
            readable.poll()
            self.connection.consume_input()

    def _next_result(self) -> PGresult:
        self._wait()
        result = self.connection.get_result()
        if result is None:
            self._lost(self.connection.error_message.decode("utf-8", "replace"))
        return result

    def _last_result(self) -> PGresult | None:
        """The result of the last request, after reading all results."""
        self._exchanged(self._wait)
        result = self._exchanged(self.connection.get_result)
        while self._exchanged(self.connection.get_result) is not None:
            pass
        return result

    def _exchanged(self, send: Callable[..., _T], *arguments: Any) -> _T:
        """The result of ``send``; an error of the driver itself means that the connection was lost."""
        try:
            return send(*arguments)
        except Error as error:
            self._lost(str(error))

    def _checked(self, result: PGresult | None) -> PGresult:
        if result is None:
            self._lost("the server sent no result")
        if result.status not in _GOOD:
            self._raise_error(result)
        return result

    def _raise_error(self, result: PGresult) -> NoReturn:
        """Raise the error of a failed call, after rolling back the transaction."""
        code = (result.error_field(pq.DiagnosticField.SQLSTATE) or b"").decode()
        stated = result.error_field(pq.DiagnosticField.MESSAGE_PRIMARY)  # by the server; some give no code
        words = (stated or result.error_message).decode("utf-8", "replace").strip()
        if self.connection.status != pq.ConnStatus.OK and not code:  # what was said before the connection was closed
            words = self.connection.error_message.decode("utf-8", "replace").partition("\n")[0].removeprefix(_FATAL)
        if (
            not (code or stated)
            or self.connection.status != pq.ConnStatus.OK
            or (self.needs_primary and code == _READ_ONLY)
        ):
            self._lost(words, code)
        self.rollback()
        if code == _BY_DESIGN:
            raise RolledBackByDesign(words)
        known = _CLASSES.get(code) or _CLASSES.get(code[:2], ErrorClass.OTHER)
        hint = result.error_field(pq.DiagnosticField.MESSAGE_HINT)
        if hint and (known is ErrorClass.RESOURCES or code == _NOT_IN_STATE):  # it names the setting
            words = f"{words}; {hint.decode('utf-8', 'replace').strip()}"
        raise TransactionError(known, code, words)

    def _lost(self, text: str, code: str = "") -> NoReturn:
        self._begun = self._sent_begin = False
        raise TransactionError(ErrorClass.CONNECTION_LOST, code or "08006", text.strip() or "the connection was lost")
