"""Runs the checks of a schema; a statement that fails leaves its own check undecided, and no other.

The check that every workload has, for what must be there, is here as well.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from queue import SimpleQueue
from threading import Lock
from typing import Any

from hdbkit.awaiting import threads
from hdbkit.contracts import Capability, Check, CheckSession, Database, PlannedCheck, Row, Session
from hdbkit.errors import ErrorClass, TransactionError
from hdbkit.readings import STATEMENT_READINGS

Started = Callable[[str], None]
"""Called with the name of each check and of each statement of it, as that statement is sent."""


def run_checks(
    planned: Sequence[PlannedCheck], engine: Database, session: Session, started: Started = lambda _: None
) -> Iterator[Check]:
    """Yield the result of each check that the engine can answer, until a required one fails."""
    sessions = CheckSessions([session])
    for one in _answerable(planned, engine):
        found = _result(one, engine, sessions, started)
        yield found
        if _is_last(one, found, sessions):
            return


def run_checks_at_once(
    planned: Sequence[PlannedCheck], engine: Database, sessions: Sequence[Session], started: Started = lambda _: None
) -> list[Check]:
    """As :func:`run_checks`, but each session takes the next statement as soon as it is free.

    The required checks precede the others, of which the last begin first: they take longest. ``started`` is called in
    other threads, also at once. The results have the order of the plan.
    """
    plan = list(enumerate(_answerable(planned, engine)))
    found: dict[int, Check] = {}
    shared = CheckSessions(sessions)

    def work(checks: Iterator[tuple[int, PlannedCheck]]) -> bool:
        for number, one in checks:
            found[number] = _result(one, engine, shared, started)
            if _is_last(one, found[number], shared):
                return False
        return True

    if work(one for one in plan if one[1].required):
        others = iter([one for one in reversed(plan) if not one[1].required])
        with threads(len(sessions)) as pool:
            list(pool.map(lambda _: work(others), sessions))
    return [check for _, check in sorted(found.items())]


class CheckSessions:
    """Sessions that answer one operation at a time each; one whose connection is lost answers no more."""

    def __init__(self, sessions: Sequence[Session]) -> None:
        self.at_once = len(sessions)
        self._free = SimpleQueue[Session | TransactionError]()
        self._lock = Lock()
        for session in sessions:
            self._free.put(session)

    @contextmanager
    def taken(self) -> Iterator[Session]:
        """The next free session. Raises ``TransactionError`` if the last connection is lost."""
        following = session = self._free.get()
        try:
            if isinstance(session, TransactionError):
                raise session
            yield session
        except TransactionError as error:
            with self._lock:
                self.at_once -= error.lost and error is not session
                following = error if error.lost else session
            raise
        finally:
            if following is session or not self.at_once:
                self._free.put(following)

    def ask(self, operation: str, /, **arguments: Any) -> list[Row]:
        """See :class:`hdbkit.contracts.CheckSession`."""
        with self.taken() as session:
            return session.ask(operation, **arguments)

    def ask_each(self, operation: str, arguments: Sequence[Mapping[str, Any]]) -> list[list[Row]]:
        """See :class:`hdbkit.contracts.CheckSession`."""
        if self.at_once <= 1:
            return [self.ask(operation, **one) for one in arguments]
        with threads(self.at_once) as pool:
            return list(pool.map(lambda one: self.ask(operation, **one), arguments))


def divided(ranges: list[tuple[int, int]], pieces: int) -> list[tuple[int, int]]:
    """The ranges in about this number of pieces of equal length, or as they are if they are as many."""
    length = math.ceil(sum(high - low + 1 for low, high in ranges) / pieces)
    return [(first, min(first + length - 1, high)) for low, high in ranges for first in range(low, high + 1, length)]


def _answerable(planned: Sequence[PlannedCheck], engine: Database) -> Iterator[PlannedCheck]:
    return (one for one in planned if not one.needs or one.needs in engine.capabilities)


def _result(one: PlannedCheck, engine: Database, sessions: CheckSessions, started: Started) -> Check:
    asked = _Asked(sessions, one.name, started)
    try:
        return one.decide(asked)
    except TransactionError as error:
        return Check(one.name, None, _reason(error, asked.statement, engine, sessions))


def _is_last(one: PlannedCheck, found: Check, sessions: CheckSessions) -> bool:
    """Whether no session can answer a further check, or none makes sense."""
    return not sessions.at_once or (one.required and found.passed is False)


def all_there(
    name: str, expected: Sequence[str], required: bool = False, needs: Capability | None = None
) -> PlannedCheck:
    """Whether the statement ``list_<name>`` returns all ``expected`` names."""
    decide = partial(_all_there, name=name, expected=expected)
    return PlannedCheck(name, decide, of_catalog=True, required=required, needs=needs)


def _all_there(session: CheckSession, *, name: str, expected: Sequence[str]) -> Check:
    there = {row[0] for row in session.ask(f"list_{name}")}
    missing = ", ".join(one for one in expected if one not in there)
    return Check(name, not missing, f"missing: {missing}" if missing else f"all {len(expected)} are there")


class _Asked:
    """Reports each statement, and keeps the name of the last."""

    def __init__(self, sessions: CheckSessions, check: str, started: Started) -> None:
        self._sessions, self._check, self._started = sessions, check, started
        self.at_once = max(1, sessions.at_once)
        self.statement = ""

    def ask(self, operation: str, /, **arguments: Any) -> list[Row]:
        self._asked(operation)
        return self._sessions.ask(operation, **arguments)

    def ask_each(self, operation: str, arguments: Sequence[Mapping[str, Any]]) -> list[list[Row]]:
        self._asked(operation)
        return self._sessions.ask_each(operation, arguments)

    def _asked(self, operation: str) -> None:
        self.statement = operation
        self._started(f"{self._check} (statement {operation})")


def _reason(error: TransactionError, statement: str, engine: Database, sessions: CheckSessions) -> str:
    if error.error_class is not ErrorClass.STATEMENT_TIMEOUT:
        return f"could not be checked: statement {statement}: {error}"
    try:
        with sessions.taken() as session:
            limit = next((one for one in engine.timeouts(session) if one.ends == STATEMENT_READINGS), None)
    except TransactionError:
        limit = None
    reason = f"the timeout of {limit.seconds:g} s, which {limit.setter} sets" if limit else error.text
    return f"could not be checked: statement {statement} was ended by {reason}"
