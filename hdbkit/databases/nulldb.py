"""The null engine: no server, seeded latencies, errors on demand.

With it the pool, the recorder, sweeps, statistics, charts and faces are tried without a server, and hdbkit's own
overhead is measured. A database is a small folder that its sessions share: what was "built", the settings, and
one file of running totals a session. It keeps no tables, so there is nothing in it to check.

Options of a target: ``latency_us`` (median of a call, 0 for none), ``spread`` (standard deviation of its logarithm),
``seed``, ``error_rate`` and ``error_class`` (refusals), ``connections`` (how many clients it allows).
"""

from __future__ import annotations

import json
import math
import mmap
import os
import random
import struct
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from hdbkit.config import Target
from hdbkit.contracts import Arguments, Capability, Row, Session, SessionOptions
from hdbkit.databases._null_settings import NullSettings
from hdbkit.errors import CannotConnect, ErrorClass, InputError, RolledBackByDesign, TransactionError
from hdbkit.files import draft_of
from hdbkit.readings import Footprint

_TOTALS = struct.Struct("<qqq")  # new orders, commits, rollbacks
_LARGEST_ITEM = 100_000
_FIRST_TOTAL = 30_010  # the sum of the next order ids of a warehouse after its build
_LATENCIES = 1024
_OPTIONS = {"latency_us", "spread", "seed", "error_rate", "error_class", "connections"}


class State:
    """What the sessions of one null database share."""

    def __init__(self, target: Target) -> None:
        name = target.database or "null"
        if not name.replace("-", "").replace("_", "").isalnum():
            raise InputError(f"a null database is named by letters, digits, - and _, not {name!r}")
        self.folder = Path(tempfile.gettempdir()) / f"hdbkit-nulldb-{os.getuid()}" / name

    @property
    def totals(self) -> Path:
        """The folder of the sessions' running totals."""
        return self.folder / "totals"

    def read(self, name: str) -> dict[str, Any]:
        """A small JSON file of the state; empty when it is not there."""
        try:
            content: dict[str, Any] = json.loads((self.folder / f"{name}.json").read_bytes())
        except FileNotFoundError:
            return {}
        return content

    def write(self, name: str, content: Mapping[str, Any]) -> None:
        """Replace a small JSON file of the state."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with draft_of(self.folder / f"{name}.json") as draft:
            draft.write_text(json.dumps(content))

    def remove(self, name: str) -> None:
        """Remove a small JSON file of the state."""
        (self.folder / f"{name}.json").unlink(missing_ok=True)

    def sums(self) -> tuple[int, int, int]:
        """New orders, commits and rollbacks of all sessions that ever were."""
        total = [0, 0, 0]
        for path in self.totals.glob("*.bin"):
            content = path.read_bytes()
            if len(content) >= _TOTALS.size:
                total = [a + b for a, b in zip(total, _TOTALS.unpack_from(content), strict=True)]
        return total[0], total[1], total[2]


class NullSession:
    """A session that sleeps for a seeded while and counts."""

    returns_changed = takes_arrays = False

    def __init__(self, target: Target) -> None:
        self._state = State(target)
        unknown = sorted(set(target.options) - _OPTIONS)
        if unknown:
            raise InputError(
                f"unknown option '{unknown[0]}' of the null engine (known: {', '.join(sorted(_OPTIONS))})"
            )
        options = {key: text for key, text in target.options.items() if key != "error_class"}
        try:
            numbers = {key: float(text) for key, text in options.items()}
            self._error = ErrorClass(target.options.get("error_class", "deadlock"))
        except ValueError as error:
            raise InputError(f"an option of the null engine is wrong: {error}") from None
        self.settings = NullSettings(self._state.folder / "settings.json")
        self._latencies = _latencies(numbers, self.settings)
        self._random = random.Random(int(numbers.get("seed", 1)) + os.getpid())
        self._error_rate = numbers.get("error_rate", 0.0)
        self.connections = int(numbers["connections"]) if "connections" in numbers else None
        self._in_transaction = False
        self._totals: mmap.mmap | None = None
        self._counted = self._committed = self._rolled_back = 0

    # -- the measured path --------------------------------------------------------------------------------

    def prepare(self, statements: Iterable[str]) -> None:
        """Open this session's running totals; there is nothing to prepare."""
        if self._totals is None:
            self._state.totals.mkdir(parents=True, exist_ok=True)
            path = self._state.totals / f"{os.getpid()}-{time.monotonic_ns()}.bin"
            path.write_bytes(bytes(_TOTALS.size))
            with path.open("r+b") as file:
                self._totals = mmap.mmap(file.fileno(), 0)

    def bind(self, statement: str, arguments: Arguments) -> Any:
        """What ``perform`` needs to know: is it the counted call, and is it to be rolled back by design?"""
        counted = statement == "call_new_order"
        by_design = counted and any(item > _LARGEST_ITEM for item in arguments[3])
        return counted, by_design

    def perform(self, bound: Any) -> Any:
        """Sleep, perhaps refuse, count."""
        latency_s = next(self._latencies)
        if latency_s:
            time.sleep(latency_s)
        counted, by_design = bound
        if self._error_rate and self._random.random() < self._error_rate:
            self._rolled_back += 1
            self._publish()
            raise TransactionError(self._error, "null", "refused on demand")
        if by_design:
            self._rolled_back += 1
            self._publish()
            raise RolledBackByDesign
        self._counted += counted
        self._committed += 1
        self._publish()
        return self._counted

    def _publish(self) -> None:
        if self._totals is not None:
            _TOTALS.pack_into(self._totals, 0, self._counted, self._committed, self._rolled_back)

    def rows(self, raw: Any) -> list[Row]:
        """One row with a number that grows."""
        return [(raw,)]

    # -- everything else ----------------------------------------------------------------------------------

    def query(self, statement: str, /, **arguments: Any) -> list[Row]:
        """The few statements that a build and a run need; others give no rows."""
        about_settings = self.settings.answer(statement, arguments)
        if about_settings is not None:
            return about_settings
        build = self._state.read("build")
        match statement:
            case "insert_build_spec":
                self._state.write("build", {"spec": arguments["spec"], "parts": []})
            case "insert_build_part":
                self._state.write(
                    "build", build | {"parts": [*build["parts"], [arguments["part"], arguments["rows"]]]}
                )
            case "finish_build":
                self._state.write("build", build | {"finished": True})
        return self._answers(statement, build)

    def _answers(self, statement: str, build: Mapping[str, Any]) -> list[Row]:
        rows: dict[str, list[Row]] = {
            "schema_exists": [(bool(build),)],
            "list_tables": [("build_spec",), ("build_part",)],
            "select_build_spec": [(build.get("spec"),)],
            "select_build_finished": [(build.get("finished", False),)],
            "select_build_parts": [tuple(part) for part in build.get("parts", [])],
        }
        if statement == "count_new_orders":
            return [(_FIRST_TOTAL * int(json.loads(build["spec"])["warehouses"]) + self._state.sums()[0],)]
        return rows.get(statement, []) if build or statement == "schema_exists" else []

    def execute(self, text: str) -> None:
        """Run a command about a setting, which a statement made."""
        self.settings.execute(text)

    def begin(self) -> None:
        """Start a transaction."""
        self._in_transaction = True

    def commit(self) -> None:
        """Commit it."""
        self._in_transaction = False

    def rollback(self) -> None:
        """Undo it."""
        self._in_transaction = False

    def call(self, statement: str, *arguments: Any) -> list[Row]:
        """A statement inside a transaction."""
        assert self._in_transaction, "a call belongs into a transaction"
        return self.query(statement)

    def batch(self, calls: Sequence[tuple[str, Arguments]]) -> list[list[Row]]:
        """Several of them."""
        return [self.call(statement, *arguments) for statement, arguments in calls]

    def load(self, table: str, columns: Sequence[str], chunks: Iterable[bytes]) -> int:
        """Read all chunks and keep nothing."""
        assert self._in_transaction, "a load belongs into a transaction"
        return sum(chunk.count(b"\n") for chunk in chunks)

    def close(self) -> None:
        """Let go of the totals; they stay in the file."""
        if self._totals is not None:
            self._totals.close()
            self._totals = None


class NullDatabase:
    """The engine without a server."""

    kind = "nulldb"
    title = "null engine"
    capabilities = frozenset({Capability.STORED_ROUTINES, Capability.SETTINGS, Capability.SCHEMAS})
    extra = ""
    dialects = (kind,)
    levels: frozenset[str] = frozenset()
    preload: tuple[str, ...] = ("hdbkit.databases.nulldb",)

    def driver_version(self) -> str:
        """It needs no driver."""
        return "none"

    def connect(self, target: Target, group: str, options: SessionOptions | None = None) -> Session:
        """A session; refused when the target names a host, since there is none."""
        if target.host:
            raise CannotConnect(target.url, "the null engine has no host", "write nulldb:///name")
        return NullSession(target)

    def version(self, session: Session) -> str:
        """Its name."""
        return "null engine"

    def free_connections(self, session: Session) -> int | None:
        """As many as the target's option ``connections`` says."""
        assert isinstance(session, NullSession)
        return session.connections

    def counters(self, session: Session) -> dict[str, float]:
        """Commits and rollbacks of all sessions."""
        assert isinstance(session, NullSession)
        _, commits, rollbacks = session._state.sums()
        return {"commits": commits, "rollbacks": rollbacks}

    def footprint(self, session: Session) -> Footprint | None:
        """It keeps no tables."""
        return None

    def server_process(self, session: Session) -> int | None:
        """There is none."""
        return None

    def settings_of(self, session: Session) -> dict[str, dict[str, Any]]:
        """Its three settings."""
        assert isinstance(session, NullSession)
        return session.settings.all()

    def slow_load(self, session: Session) -> str | None:
        """Nothing is loaded."""
        return None

    def password_place(self, target: Target) -> str | None:
        """There is nobody to let in."""
        return "none is needed"

    def provision(self, admin: Target, target: Target) -> list[str]:
        """Nothing is needed."""
        return []


def _latencies(options: Mapping[str, float], settings: NullSettings) -> Iterator[float]:
    """Seeded latencies in seconds, again and again; its settings shorten them."""
    median_us = options.get("latency_us", 0.0) / float(settings.value("speed"))
    if settings.value("commit") == "off":
        median_us *= 0.8
    source = random.Random(int(options.get("seed", 1)))
    spread = options.get("spread", 0.0)
    drawn = [median_us / 1e6 * math.exp(source.gauss(0, spread)) for _ in range(_LATENCIES)]
    while True:
        yield from drawn


DATABASE = NullDatabase()
