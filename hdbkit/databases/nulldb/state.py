"""The state of a null database: its schema, its settings, a timer, and the texts that describe its workload.

It contains the build record, the settings, and one file of running totals per session, written only by that session.

A **count** is a sum of products. A factor is a whole number, a field of the specification of the built schema, or
``commits(operation)``: the number of commits of that operation in this database.

    -- name: count_sales
    100 * shops + commits(sell)

An **operation** needs a text only if it can be rolled back by design. The text lists its parameters in order and the
condition: a value, or any element of an array, is greater than a number.

    -- name: sell
    (:shop, :things) ROLLBACK IF :things > 5000

The null engine ignores all other texts, such as SQL for all engines.

``speed`` divides every latency (reload), ``commit`` off shortens calls by a fifth (session), ``buffers`` has no
effect and requires a restart, which a null database does not support.
"""

from __future__ import annotations

import ctypes
import json
import math
import mmap
import os
import re
import shutil
import stat
import struct
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

from hdbkit.config import Target
from hdbkit.contracts import Arguments, Row
from hdbkit.errors import ErrorClass, InputError, TransactionError
from hdbkit.files import draft_of
from hdbkit.statement import Statement

_NUMBER = struct.Struct("<q")
ROLLBACKS = "rollbacks"


class State:
    """The folder of a null database."""

    def __init__(self, target: Target) -> None:
        name = target.database or "null"
        if not name.replace("-", "").replace("_", "").isalnum():
            raise InputError(f"the name of a null database may only contain letters, digits, - and _, not {name!r}")
        parent = Path(tempfile.gettempdir()) / f"hdbkit-nulldb-{os.geteuid()}"
        _require_own(parent)
        self.folder = parent / name

    def record(self, schema: str) -> dict[str, Any]:
        """The build record of a schema, without its parts; empty if there is none."""
        try:
            content: dict[str, Any] = json.loads((self._schema(schema) / "build.json").read_bytes())
        except FileNotFoundError:
            return {}
        return content

    def write_record(self, schema: str, content: Mapping[str, Any]) -> None:
        """Replace the build record."""
        folder = self._schema(schema)
        folder.mkdir(parents=True, exist_ok=True)
        with draft_of(folder / "build.json") as draft:
            draft.write_text(json.dumps(content))

    def parts(self, schema: str) -> dict[str, int]:
        """The loaded parts, with their rows."""
        files = self._schema(schema).glob("*.part")
        return {unquote(file.stem): int(file.read_text()) for file in sorted(files)}

    def write_part(self, schema: str, part: str, rows: int) -> None:
        """Record a part; each has its own file, since several processes load."""
        (self._schema(schema) / f"{quote(part, safe='')}.part").write_text(str(rows))

    def remove_schema(self, schema: str) -> None:
        """Remove the build record."""
        shutil.rmtree(self._schema(schema), ignore_errors=True)

    def _schema(self, schema: str) -> Path:
        return self.folder / "schemas" / quote(schema, safe="")

    def totals(self) -> Counter[str]:
        """Commits by operation, and ``rollbacks``, over all past and present sessions."""
        found: Counter[str] = Counter()
        for path in (self.folder / "totals").glob("*.bin"):
            head, newline, numbers = path.read_bytes().partition(b"\n")
            names = head.decode().split()
            if newline and len(numbers) == _NUMBER.size * len(names):
                found.update(dict(zip(names, (value for (value,) in _NUMBER.iter_unpack(numbers)), strict=True)))
        return found


def _require_own(folder: Path) -> None:
    """Create a folder for this account alone; another account may have made one of its name, with links in it."""
    with suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o022:
        raise InputError(f"{folder} is not a folder that this account alone can write; remove it, or set TMPDIR")


class Totals:
    """Running totals of one session: rollbacks, and the commits of some operations."""

    def __init__(self, state: State, operations: Sequence[str]) -> None:
        names = (ROLLBACKS, *operations)
        head = " ".join(names).encode() + b"\n"
        folder = state.folder / "totals"
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{os.getpid()}-{time.monotonic_ns()}.bin"
        path.write_bytes(head + bytes(_NUMBER.size * len(names)))
        with path.open("r+b") as file:
            self._file = mmap.mmap(file.fileno(), 0)
        self._numbers = [0] * len(names)
        self._start = len(head)

    def add(self, index: int) -> int:
        """Count a rollback (index 0) or a commit of an operation (index from 1); return the new total."""
        number = self._numbers[index] + 1
        self._numbers[index] = number
        _NUMBER.pack_into(self._file, self._start + _NUMBER.size * index, number)
        return number

    def close(self) -> None:
        """Close the file."""
        self._file.close()


_FACTOR = r"(?:\d+|\w+|commits\(\w+\))"
_TERM = rf"{_FACTOR}(?:\s*\*\s*{_FACTOR})*"
_COUNT = re.compile(rf"{_TERM}(?:\s*\+\s*{_TERM})*")
_COMMITS = re.compile(r"commits\((\w+)\)")
_ROLLBACK = re.compile(r"\bROLLBACK IF :(\w+) > (\d+)$")


def is_count(statement: Statement | None) -> bool:
    """Whether a text is a count."""
    return statement is not None and _COUNT.fullmatch(statement.text) is not None


def count_of(text: str, spec: Mapping[str, object], totals: Mapping[str, int]) -> int:
    """The value of a count."""

    def factor(word: str) -> int:
        operation = _COMMITS.fullmatch(word)
        if operation:
            return totals.get(operation[1], 0)
        return int(word) if word.isdigit() else int(str(spec[word]))

    return sum(math.prod(factor(word.strip()) for word in term.split("*")) for term in text.split("+"))


def by_design(statement: Statement | None) -> Callable[[Arguments], bool]:
    """A predicate: whether a call with given arguments is rolled back by design."""
    rule = _ROLLBACK.search(statement.text) if statement is not None else None
    if statement is None or rule is None:
        return lambda _: False
    position, bound = statement.parameters.index(rule[1]), int(rule[2])

    def is_above(arguments: Arguments) -> bool:
        value = arguments[position]
        return bool((max(value) if isinstance(value, tuple) else value) > bound)

    return is_above


_KNOWN: dict[str, tuple[Any, ...]] = {  # unit, default, apply by, minimum, maximum, choices, kind, description
    "speed": (None, "1", "reload", 0.01, 100, None, "real", "divides every latency"),
    "commit": (None, "on", "session", None, None, None, "bool", "off shortens calls by a fifth"),
    "buffers": ("8kB", "1024", "restart", 16, 1 << 30, None, "integer", "has no effect"),
}


class NullSettings:
    """A file with the settings that were changed, and the time of the last reload."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._in_session: dict[str, str] = {}

    def value(self, name: str) -> str:
        """The current value in this session."""
        return self._in_session.get(name) or str(self._entries().get(name, _KNOWN[name][1]))

    def set_in_session(self, name: str, value: str) -> None:
        """Set a value for this session. Raises ``TransactionError`` if the setting has one value for all."""
        if _KNOWN[name][2] != "session":
            raise TransactionError(ErrorClass.OTHER, "null", f"{name} cannot be set in a session")
        self._in_session[name] = value

    def answer(self, operation: str, arguments: Mapping[str, Any]) -> list[Row] | None:
        """The result of an operation on settings; None for other operations."""
        match operation:
            case "control_settings":
                return [self._row(name) for name in _KNOWN]
            case "file_entries":
                return list(self._entries().items())
            case "settings_loaded_at":
                return [(self._read().get("loaded_ns", 0), 0)]
            case "set_setting":
                self._write({**self._entries(), str(arguments["name"]): str(arguments["value"])})
            case "reset_setting":
                self._write({name: old for name, old in self._entries().items() if name != arguments["name"]})
            case "reload_settings":
                self._write(self._entries())
            case _:
                return None
        return []

    def all(self) -> dict[str, dict[str, Any]]:
        """Every setting, and whether it was changed."""
        chosen = self._entries()
        return {
            name: {"value": self.value(name), "unit": unit, "default": default, "changed": name in chosen}
            for name, (unit, default, *_) in _KNOWN.items()
        }

    def _row(self, name: str) -> Row:
        unit, default, apply_by, low, high, choices, kind, text = _KNOWN[name]
        value = self.value(name)
        return (name, value, unit, default, apply_by, low, high, choices, kind, text, value, None, False)

    def _read(self) -> dict[str, Any]:
        try:
            content: dict[str, Any] = json.loads(self._path.read_bytes())
        except FileNotFoundError:
            return {}
        return content

    def _entries(self) -> dict[str, str]:
        return dict(self._read().get("entries", {}))

    def _write(self, entries: Mapping[str, str]) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with draft_of(self._path) as draft:
            draft.write_text(json.dumps({"entries": entries, "loaded_ns": time.monotonic_ns()}))


_SPEC = struct.Struct("@qqqq")
"""``struct itimerspec``: interval and first expiration, each in seconds and nanoseconds."""
_FLAGS = os.O_NONBLOCK | os.O_CLOEXEC
_libc = ctypes.CDLL(None, use_errno=True)


class Timer:
    """A timer that runs once after each start."""

    def __init__(self) -> None:
        self._fd = _libc.timerfd_create(time.CLOCK_MONOTONIC, _FLAGS)
        if self._fd < 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))

    def fileno(self) -> int:
        """Its descriptor."""
        return int(self._fd)

    def start(self, seconds: float) -> None:
        """Run for so long; 0 is over at once."""
        whole_s, left_ns = divmod(max(1, round(seconds * 1e9)), 10**9)
        _libc.timerfd_settime(self._fd, 0, _SPEC.pack(0, 0, whole_s, left_ns), None)

    def is_over(self) -> bool:
        """Whether it has run out since its start; said once."""
        try:
            return bool(os.read(self._fd, 8))
        except BlockingIOError:
            return False

    def close(self) -> None:
        """Close it."""
        os.close(self._fd)
