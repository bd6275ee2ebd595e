"""A session with redis-py's connection; operations are Lua scripts, and a measured call is one round trip.

A script is the body of a function of its declared parameters and returns rows as JSON, which is read on request. What
begins with ``call_`` is a function of the server that a build has loaded; other operations are sent as scripts. The
steps of a client's transactions are commands (``_redis_steps``).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from itertools import islice
from socket import MSG_DONTWAIT, socket
from ssl import SSLSocket
from typing import Any, BinaryIO, NoReturn, cast

from redis.exceptions import RedisError, ResponseError

from hdbkit.awaiting import ANSWER_LIMIT_S, awaited
from hdbkit.contracts import PENDING, Arguments, Row, Scope, Table
from hdbkit.contracts.operations import answer_limit_s
from hdbkit.databases._base.asking import AskingSession
from hdbkit.databases.redis.commands import CommandStep
from hdbkit.databases.redis.load import Convert, Loader, bulk, encoded, packed, readers
from hdbkit.databases.redis.replies import Failure, read_reply
from hdbkit.databases.redis.settings import settings_answer
from hdbkit.errors import ErrorClass, RolledBackByDesign, TransactionError
from hdbkit.sql import in_scope
from hdbkit.statement import Statement

CALL = "call_"
"""The beginning of the operations that call a function of the server."""
_BEGINNING = ("shared", "keys")
"""The texts that each script begins with: the engine's, and the workload's."""
_CLASSES = {
    "OOM": ErrorClass.RESOURCES,
    "MISCONF": ErrorClass.RESOURCES,
    "BUSY": ErrorClass.RESOURCES,
    "LOADING": ErrorClass.CONNECTION_LOST,
    "NOREPLICAS": ErrorClass.RESOURCES,
}
_BUFFER = 1 << 16
_MULTI, _EXEC, _UNWATCH = packed(b"MULTI"), packed(b"EXEC"), packed(b"UNWATCH")

BoundScript = tuple[bytes, tuple[Convert, ...]]
"""The command in the server's protocol, and what converts the columns of its result."""
Raw = tuple[bytes, tuple[Convert, ...]]
"""The rows as JSON, and what converts their columns."""


class RedisSession(AskingSession):
    """One connection, used by one process and one thread. Contract: :class:`hdbkit.contracts.OptimisticSession`."""

    def __init__(
        self, connection: Any, dialects: tuple[str, ...], scope: Scope, database: int = 0, tag: str = ""
    ) -> None:
        self.connection, self._dialects, self.scope = connection, dialects, scope
        self._socket: socket = connection._sock
        self.prefix = f"{scope.schema}:" if scope.schema else ""
        self.common = f"{self.prefix}{tag}:" if tag else self.prefix
        """The beginning of keys without a hash tag; a node of a cluster has them under its own, ``tag``."""
        self.library = f"{scope.schema}_{database}"
        """The name of the schema's functions: functions are the same in all databases of a server."""
        self._heads: dict[str, tuple[bytes, int, tuple[Convert, ...]]] = {}
        self._steps: dict[str, CommandStep] = {}
        self._stream = cast(BinaryIO, self._socket.makefile("rb"))
        self._watches = False
        self._sent = 0
        self._reply = b""
        self._converts: tuple[Convert, ...] = ()

    @property
    def nodes(self) -> tuple[RedisSession, ...]:
        """The sessions with the servers that have the keys: this one."""
        return (self,)

    def client_path(self) -> str:
        """The driver's, for every load."""
        return "redis-py"

    def parameters(self, operation: str) -> tuple[str, ...]:
        """The names that the script declares."""
        return self.find(operation).parameters

    def find(self, operation: str) -> Statement:
        """The text of an operation. Raises ``InputError`` if it does not exist."""
        return in_scope(self.scope.statements, self._dialects, operation)

    def command(self, *words: str | bytes | int) -> Any:
        """The reply to a command that needs no work. Raises ``TransactionError``."""
        return self._replied(f"command {words[0]!s}", ANSWER_LIMIT_S, *words)

    def _replied(self, what: str, limit_s: float | None, *words: str | bytes | int) -> Any:
        with awaited(self, what, limit_s):
            if self.connection._sock is None:  # redis-py would connect again
                self._lost(None)
            try:
                self.connection.send_command(*words)
                return self.connection.read_response(disable_decoding=True)
            except ResponseError as error:
                self._failed(str(error))
            except (RedisError, OSError) as error:
                self._lost(error)

    def ask(self, operation: str, /, **arguments: Any) -> list[Row]:
        """The rows of a script, or of what only a command of the server knows."""
        if operation == "list_routines":
            return [(name,) for name in self.functions()]
        about_settings = settings_answer(self.command, operation, arguments)
        if about_settings is not None:
            return about_settings
        statement = self.find(operation)
        given = [encoded(arguments[name]) for name in statement.parameters]
        text = f"{self.beginning()}\n{_function('run', statement)}\nreturn reply(run(unpack(ARGV)))\n"
        limit_s = answer_limit_s(operation, self.scope.statements)
        raw = self._replied(f"statement {operation}", limit_s, "EVAL", text, 0, *given)
        return self.rows((raw, readers(statement.returns))) if raw else []

    def beginning(self) -> str:
        """What every script of the schema begins with."""
        texts = [self.find(name).text for name in _BEGINNING if name == "shared" or name in self.scope.statements]
        return "\n".join([f"local prefix, common = {json.dumps(self.prefix)}, {json.dumps(self.common)}", *texts])

    def function(self, name: str) -> str:
        """The name of a function of the schema in the server."""
        return f"{self.library}_{name}"

    def load_functions(self, names: Iterable[str], reading: frozenset[str]) -> None:
        """Make the operations ``call_<name>`` functions of the server, in place of those that there are."""
        self.command("FUNCTION", "LOAD", "REPLACE", self.library_code(names, reading))

    def library_code(self, names: Iterable[str], reading: frozenset[str]) -> str:
        """The library of these functions as a text; those that are only ``reading`` may run on a replica."""
        texts = [f"#!lua name={self.library}", self.beginning()]
        for name in names:
            flags = "'allow-cross-slot-keys'" + (", 'no-writes'" if name in reading else "")
            texts += [
                _function(f"run_{name}", self.find(CALL + name)),
                f"redis.register_function{{ function_name = '{self.function(name)}', flags = {{ {flags} }},",
                f"    callback = function(_, values) return reply(run_{name}(unpack(values))) end }}",
            ]
        return "\n".join(texts)

    def loaded_code(self) -> str:
        """The text of the library in the server; empty if there is none."""
        libraries = self.command("FUNCTION", "LIST", "LIBRARYNAME", self.library, "WITHCODE")
        return "".join(_named(library)[b"library_code"].decode() for library in libraries)

    def functions(self) -> list[str]:
        """The names of the schema's functions in the server."""
        found = self.command("FUNCTION", "LIST", "LIBRARYNAME", self.library)
        words = {_named(one)[b"name"].decode() for library in found for one in _named(library)[b"functions"]}
        return sorted(word.removeprefix(self.function("")) for word in words)

    def prepare(self, operations: Iterable[str]) -> None:
        """Note functions and steps; send other scripts to the server."""
        for name in operations:
            if name in self._heads:
                continue
            statement = self.find(name)
            if statement.is_commands:
                self._step(name)
                continue
            if name.startswith(CALL):
                words = [b"FCALL", self.function(name.removeprefix(CALL)).encode(), b"0"]
            else:
                text = f"{self.beginning()}\n{_function('run', statement)}\nreturn reply(run(unpack(ARGV)))\n"
                words = [b"EVALSHA", self.command("SCRIPT", "LOAD", text), b"0"]
            head = b"*%d\r\n%b" % (len(words) + len(statement.parameters), b"".join(map(bulk, words)))
            self._heads[name] = head, len(statement.parameters), readers(statement.returns)

    def bind(self, operation: str, arguments: Arguments) -> BoundScript:
        """The command's bytes."""
        head, count, converts = self._heads[operation]
        assert len(arguments) == count, f"{operation} has {count} parameters"
        return b"".join([head, *(bulk(encoded(value)) for value in arguments)]), converts

    def perform(self, bound: BoundScript) -> Raw:
        """Perform one whole function: nothing else runs in the server meanwhile."""
        text, converts = bound
        try:
            self._socket.sendall(text)
            reply = self._socket.recv(_BUFFER)
            while not reply.endswith(b"\r\n") or (reply[:1] == b"$" and not _whole(reply)):
                more = self._socket.recv(_BUFFER)
                if not more:
                    break
                reply += more
        except OSError as error:
            self._lost(error)
        if reply[:1] != b"$":
            self._failed(reply[1:].decode(errors="replace").strip()) if reply else self._lost(None)
        start = reply.index(b"\n") + 1
        if start == len(reply):
            raise RolledBackByDesign
        return reply[start:-2], converts

    def fileno(self) -> int:
        """The connection's socket."""
        return self._socket.fileno()

    def sender(self, perform: Callable[[Any], Any]) -> Callable[[Any], None] | None:
        """What sends a function; none if the connection is encrypted, as a part of its data may be in the driver."""
        return self._send_one if perform == self.perform and not isinstance(self._socket, SSLSocket) else None

    def _send_one(self, bound: BoundScript) -> None:
        text, self._converts = bound
        self._reply = b""
        try:
            self._socket.sendall(text)
        except OSError as error:
            self._lost(error)

    def receive(self) -> Any:
        """What has arrived: the result of a function if the answer is complete."""
        try:
            more = self._socket.recv(_BUFFER, MSG_DONTWAIT)
        except BlockingIOError:
            return PENDING
        except OSError as error:
            self._lost(error)
        if not more:
            self._lost(None)
        self._reply += more
        reply = self._reply
        if not reply.endswith(b"\r\n") or (reply[:1] == b"$" and not _whole(reply)):
            return PENDING
        if reply[:1] != b"$":
            self._failed(reply[1:].decode(errors="replace").strip())
        start = reply.index(b"\n") + 1
        if start == len(reply):
            raise RolledBackByDesign
        return reply[start:-2], self._converts

    def rows(self, raw: Raw) -> list[Row]:
        """Convert the JSON of a result to plain values; arrays become tuples."""
        text, converts = raw
        if not converts:
            return [tuple(row) for row in json.loads(text)]
        return [
            tuple(convert(value) for convert, value in zip(converts, row, strict=True)) for row in json.loads(text)
        ]

    def read(self, steps: Sequence[tuple[str, Arguments]]) -> list[list[Row]]:
        made = [self._step(name) for name, _ in steps]
        self._watches = self._watches or any(step.watches for step in made)
        text = b"".join(step.encoded(given) for step, (_, given) in zip(made, steps, strict=True))
        replies = iter(self._exchanged(text, sum(step.commands for step in made)))
        return [step.rows([*islice(replies, step.commands)]) for step in made]

    def change(self, steps: Sequence[tuple[str, Arguments]]) -> None:
        """All changes behind MULTI, unless a watched key was changed."""
        if not steps and not self._watches:
            return
        made = [(self._step(name), given) for name, given in steps]
        text = b"".join([_MULTI, *(step.encoded(given) for step, given in made), _EXEC])
        *_, done = self._exchanged(text, 2 + sum(step.commands for step, _ in made))
        self._watches = False
        if done is None:
            raise TransactionError(ErrorClass.SERIALIZATION, "EXEC", "a watched key was changed")
        for reply in done:
            if isinstance(reply, Failure):
                self._failed(reply)

    def release(self) -> None:
        if self._watches:
            self._watches = False
            with suppress(TransactionError):
                self._exchanged(_UNWATCH, 1)

    def _step(self, name: str) -> CommandStep:
        if name not in self._steps:
            self._steps[name] = CommandStep(self.find(name), self.prefix)
        return self._steps[name]

    def _exchanged(self, text: bytes, commands: int) -> list[Any]:
        """The replies to that many commands; the first error among them fails."""
        try:
            self._socket.sendall(text)
            replies = [read_reply(self._stream) for _ in range(commands)]
        except (OSError, ValueError) as error:  # ValueError: the stream is closed
            self._lost(error)
        except EOFError:
            self._lost(None)
        for reply in replies:
            if isinstance(reply, Failure):
                self.release()
                self._failed(reply)
        return replies

    def load(self, table: Table, chunks: Iterable[bytes]) -> int:
        """Load rows, of which a chunk is encoded while the server works on the one before; their number."""
        lines = self.find(f"load_{table.name}").text.splitlines()
        loader, rows = Loader(table.name, lines, table.columns, self.prefix), 0
        for chunk in chunks:
            self.send([command for _, command in loader.keyed(chunk)])
            rows += chunk.count(b"\n")
        self.settle()
        return rows

    def send(self, commands: Sequence[bytes]) -> None:
        """Send commands of a bulk load when those sent before are carried out."""
        self.settle()
        try:
            self._socket.sendall(b"".join(commands))
        except OSError as error:
            self._lost(error)
        self._sent = len(commands)

    def settle(self) -> None:
        """Wait until the commands of a bulk load are carried out."""
        sent, self._sent = self._sent, 0
        self._replies(sent)

    def _replies(self, count: int) -> None:
        """Read that many replies of one line each; the first error among them fails."""
        failed, last = b"", b"\n"
        while count > 0:
            try:
                text = self._socket.recv(_BUFFER)
            except OSError as error:
                self._lost(error)
            if not text:
                self._lost(None)
            count -= text.count(b"\n")
            found = (last[-1:] + text).find(b"\n-")
            failed, last = failed or (text[found:] if found >= 0 else b""), text
        if failed:
            self._failed(failed.split(b"\r")[0].decode(errors="replace").lstrip("-"))

    def close(self) -> None:
        with suppress(Exception):
            self._stream.close()
            self.connection.disconnect()

    def _failed(self, text: str) -> NoReturn:
        """Raise the error of the server, whose message begins with a code."""
        code, _, reason = text.partition(" ")
        code, reason = (code, reason) if code.isupper() else ("ERR", text)
        raise TransactionError(_CLASSES.get(code, ErrorClass.OTHER), code, reason)

    def _lost(self, error: Exception | None) -> NoReturn:
        self.close()
        reason = str(error) if error else "the server closed the connection"
        raise TransactionError(ErrorClass.CONNECTION_LOST, "", reason) from error


def _function(name: str, statement: Statement) -> str:
    """A script as a Lua function of its parameters."""
    return f"local function {name}({', '.join(statement.parameters)})\n{statement.text}\nend"


def _named(pairs: Any) -> dict[bytes, Any]:
    """A map of the protocol, which is a list of names and values."""
    return pairs if isinstance(pairs, dict) else dict(zip(pairs[::2], pairs[1::2], strict=True))


def _whole(reply: bytes) -> bool:
    """Whether a reply of one text is complete."""
    start = reply.index(b"\n") + 1
    return len(reply) >= start + int(reply[1 : start - 2]) + 2 or reply.startswith(b"$-1")
