"""The null engine: no server, seeded latencies, errors on demand.

It serves to test load generator, recorder, sweeps, statistics, charts and interfaces without a server, and to measure
hdbkit's own overhead. It has no SQL and no tables, so nothing can be checked. Workloads describe themselves to it in
texts next to the SQL of other engines; see :mod:`hdbkit.databases.nulldb.state`.

Options of a target: ``latency_us`` (median of a call, 0 for none), ``spread`` (standard deviation of its logarithm),
``seed``, ``error_rate`` and ``error_class`` (failures), ``connections`` (maximum number of clients),
``stall_at_s`` and ``stall_s`` (calls that begin so long after a session's first one wait until the stall is over).
"""

from __future__ import annotations

import json
import math
import os
import random
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

from hdbkit.config import Target
from hdbkit.contracts import (
    OPERATIONS,
    PENDING,
    SERVER,
    Arguments,
    BuildLog,
    Capability,
    PartLoad,
    Row,
    Schema,
    Scope,
    Session,
    SessionOptions,
    TableLoad,
    Workload,
)
from hdbkit.databases._base.database import BaseDatabase, validated_options
from hdbkit.databases.nulldb.state import ROLLBACKS, NullSettings, State, Timer, Totals, by_design, count_of, is_count
from hdbkit.errors import CannotConnect, ErrorClass, InputError, RolledBackByDesign, TransactionError
from hdbkit.sql import ANSI

_LATENCIES = 1024


class NullSession:
    """A session that sleeps for seeded latencies and counts. Contract: :class:`hdbkit.contracts.Session`."""

    def __init__(self, target: Target, scope: Scope = SERVER) -> None:
        self.state, self._scope = State(target), scope
        options = {key: text for key, text in target.options.items() if key != "error_class"}
        try:
            numbers = {key: float(text) for key, text in options.items()}
            self._error = ErrorClass(target.options.get("error_class", "deadlock"))
        except ValueError as error:
            raise InputError(f"invalid option of the null engine: {error}") from None
        self.settings = NullSettings(self.state.folder / "settings.json")
        self._latencies = _latencies(numbers)
        self._factor = _factor(self.settings)
        self._random = random.Random(int(numbers.get("seed", 1)) + os.getpid())
        self._error_rate = numbers.get("error_rate", 0.0)
        self.connections = int(numbers["connections"]) if "connections" in numbers else None
        self._stall_s = numbers.get("stall_at_s", 0.0), numbers.get("stall_s", 0.0)
        if self._stall_s[1]:
            self.perform = self._perform_or_stall  # type: ignore[method-assign]
        self._first_s = 0.0
        self._timer: Timer | None = None
        self._sent: Any = None
        self._prepared: dict[str, tuple[Totals, int, Callable[[Arguments], bool]]] = {}

    def parameters(self, operation: str) -> tuple[str, ...]:
        """None: any arguments are accepted."""
        return ()

    def prepare(self, operations: Iterable[str]) -> None:
        """Open running totals for operations that are not prepared yet."""
        fresh = list(dict.fromkeys(name for name in operations if name not in self._prepared))
        if not fresh:
            return
        totals = Totals(self.state, fresh)
        for index, name in enumerate(fresh, 1):
            self._prepared[name] = totals, index, by_design(self._scope.statements.get(name))

    def bind(self, operation: str, arguments: Arguments) -> Any:
        """The totals for the call, and whether it is rolled back by design."""
        totals, index, rolls_back = self._prepared[operation]
        return totals, index, rolls_back(arguments)

    def perform(self, bound: Any) -> Any:
        """Sleep, fail at random, count; return how often this session has committed the operation."""
        latency_s = next(self._latencies) * self._factor
        if latency_s:
            time.sleep(latency_s)
        return self._answered(bound)

    def fileno(self) -> int:
        """A timer, which is readable when the latency is over."""
        if self._timer is None:
            self._timer = Timer()
        return self._timer.fileno()

    def sender(self, perform: Callable[[Any], Any]) -> Callable[[Any], None] | None:
        """``send`` for ``perform``."""
        return self._send if perform == self.perform else None

    def _send(self, bound: Any) -> None:
        assert self._timer is not None, "nobody waits for its descriptor"
        self._sent = bound
        self._timer.start(self._stalled_s() + next(self._latencies) * self._factor)

    def receive(self) -> Any:
        """What ``perform`` returns, when the latency is over."""
        assert self._timer is not None, "nothing was sent"
        return self._answered(self._sent) if self._timer.is_over() else PENDING

    def _answered(self, bound: Any) -> Any:
        totals, index, is_rolled_back = bound
        if self._error_rate and self._random.random() < self._error_rate:
            totals.add(0)
            raise TransactionError(self._error, "null", "failed on demand")
        if is_rolled_back:
            totals.add(0)
            raise RolledBackByDesign
        return totals.add(index)

    def _perform_or_stall(self, bound: Any) -> Any:
        """Wait until the stall is over if the call begins in it, then perform."""
        time.sleep(self._stalled_s())
        return NullSession.perform(self, bound)

    def _stalled_s(self) -> float:
        """How long the stall still takes; 0 if there is none now."""
        at_s, length_s = self._stall_s
        if not length_s:
            return 0.0
        now_s = time.monotonic()
        self._first_s = self._first_s or now_s
        return self._first_s + at_s + length_s - now_s if 0 <= now_s - self._first_s - at_s < length_s else 0.0

    def rows(self, raw: Any) -> list[Row]:
        """One row with an increasing number."""
        return [(raw,)]

    def client_path(self) -> str:
        """It has no client code."""
        return "none"

    def ask(self, operation: str, /, **arguments: Any) -> list[Row]:
        """Answer operations on settings and counts of a workload; others return no rows."""
        if operation == "set_in_session":
            self.settings.set_in_session(**arguments)
            self._factor = _factor(self.settings)
            return []
        about_settings = self.settings.answer(operation, arguments)
        if about_settings is not None:
            return about_settings
        statement = self._scope.statements.get(operation)
        if statement is None or not is_count(statement):
            return []
        record = self.state.record(self._scope.schema)
        if not record:
            raise TransactionError(ErrorClass.OTHER, "null", f"schema {self._scope.schema} is not built")
        return [(count_of(statement.text, json.loads(record["spec"]), self.state.totals()),)]

    def close(self) -> None:
        """Close the files of totals and the timer."""
        if self._timer is not None:
            self._timer.close()
            self._timer = None
        for totals in {id(totals): totals for totals, *_ in self._prepared.values()}.values():
            totals.close()
        self._prepared.clear()


class NullSchema(Schema):
    """A build record without rows, which are discarded. Contract: :class:`hdbkit.contracts.Schema`."""

    session: Session

    def __init__(self, target: Target, workload: Workload) -> None:
        validated_options(DATABASE, workload.spec.storage)
        scope = workload.scope(DATABASE.dialects)
        self.session = DATABASE.connect(target, scope)
        self._state, self._name, self.target = State(target), scope.schema, target

    def log(self) -> BuildLog:
        record = self._state.record(self._name)
        if not record:
            return BuildLog(exists=False)
        parts = self._state.parts(self._name)
        return BuildLog(True, spec=record["spec"], finished=record["finished"], parts=parts)

    def create(self, spec: str) -> None:
        if self._state.record(self._name).get("spec") != spec:
            self._state.write_record(self._name, {"spec": spec, "finished": False})

    def load(self, part: str, loads: Iterable[PartLoad], sent: Callable[[int, int], None]) -> None:
        """Read all rows and record their number."""
        rows = 0
        for load in loads:
            for chunk in load.chunks if isinstance(load, TableLoad) else ():
                lines = chunk.count(b"\n")
                rows += lines
                sent(lines, len(chunk))
        self._state.write_part(self._name, part, rows)

    def finish(self) -> None:
        self._state.write_record(self._name, {**self._state.record(self._name), "finished": True})

    def drop(self) -> list[str]:
        """Remove the build record."""
        self._state.remove_schema(self._name)
        return [f"schema {self._name}"]


class NullDatabase(BaseDatabase):
    """The engine without a server. Contract: :class:`hdbkit.contracts.Database`."""

    kind = "nulldb"
    title = "null engine"
    dialects: tuple[str, ...] = (ANSI, kind)
    capabilities = frozenset(
        {
            Capability.STORED_ROUTINES,
            Capability.ACROSS_SHARDS,
            Capability.SETTINGS,
            Capability.SCHEMAS,
            Capability.ISOLATION,
            Capability.LOCK_TIMEOUT,
            Capability.STATEMENT_TIMEOUT,
            Capability.CHANGE_TIMEOUT,
            Capability.COUNTS_COMMITS,
            Capability.COUNTS_ROLLBACKS,
            Capability.OVERLAPS,
        }
    )
    answers = frozenset(one.name for one in OPERATIONS if Capability.SETTINGS in one.needs)
    preload: tuple[str, ...] = ("hdbkit.databases.nulldb",)
    files_per_session = 2  # its totals and its timer
    options = ("latency_us", "spread", "seed", "error_rate", "error_class", "connections", "stall_at_s", "stall_s")
    option_values = MappingProxyType({"error_class": [*ErrorClass]})

    def driver_version(self) -> str:
        """It needs no driver."""
        return "none"

    def behind_proxy(self, target: Target, port: int) -> Target:
        return target

    def connect(self, target: Target, scope: Scope = SERVER, options: SessionOptions | None = None) -> Session:
        """Open a session. Raises ``CannotConnect`` if the target has a host."""
        self.check_options(target)
        if target.host:
            raise CannotConnect(target.url, "the null engine has no host", "write nulldb:///name")
        return NullSession(target, scope)

    def schema(self, target: Target, workload: Workload) -> Schema:
        """The build record."""
        return NullSchema(target, workload)

    def free_connections(self, session: Session) -> int | None:
        """The target's option ``connections``."""
        return _own(session).connections

    def counters(self, session: Session) -> dict[str, float]:
        """Commits and rollbacks of all sessions."""
        totals = _own(session).state.totals()
        rollbacks = totals.pop(ROLLBACKS, 0)
        return {"commits": totals.total(), "rollbacks": rollbacks}

    def settings_of(self, session: Session) -> dict[str, dict[str, Any]]:
        """Its three settings."""
        return _own(session).settings.all()

    def password_source(self, target: Target) -> str | None:
        """It needs no password."""
        return "not required"


def _own(session: Session) -> NullSession:
    assert isinstance(session, NullSession)
    return session


def _factor(settings: NullSettings) -> float:
    """The factor of each latency that the settings make."""
    return (0.8 if settings.value("commit") == "off" else 1.0) / float(settings.value("speed"))


def _latencies(options: Mapping[str, float]) -> Iterator[float]:
    """A repeating sequence of seeded latencies in seconds."""
    median_us = options.get("latency_us", 0.0)
    source = random.Random(int(options.get("seed", 1)))
    spread = options.get("spread", 0.0)
    drawn = [median_us / 1e6 * math.exp(source.gauss(0, spread)) for _ in range(_LATENCIES)]
    while True:
        yield from drawn


DATABASE = NullDatabase()
