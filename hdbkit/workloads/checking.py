"""Runs the checks of a schema; a statement that fails leaves its own check undecided, and no other.

The check that every workload has, for what must be there, is here as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, NamedTuple

from hdbkit.contracts import Capability, Check, CheckSession, Database, PlannedCheck, Row, Session
from hdbkit.errors import ErrorClass, TransactionError
from hdbkit.readings import STATEMENTS

Started = Callable[[str], None]
"""Called with the name of each check and of each statement of it, as that statement is sent."""


def run_checks(
    planned: Sequence[PlannedCheck], engine: Database, session: Session, started: Started = lambda _: None
) -> Iterator[Check]:
    """Yield the result of each check that the engine can answer, until a required one fails."""
    for one in _answerable(planned, engine):
        found = _result(one, engine, session, started)
        yield found.check
        if found.last:
            return


def run_checks_at_once(
    planned: Sequence[PlannedCheck], engine: Database, sessions: Sequence[Session], started: Started = lambda _: None
) -> list[Check]:
    """As :func:`run_checks`, but each session takes the next check as soon as it is free.

    The required checks precede the others, of which the last begin first: they take longest. ``started`` is called in
    other threads, also at once. The results have the order of the plan.
    """
    plan = list(enumerate(_answerable(planned, engine)))
    found: dict[int, Check] = {}

    def work(session: Session, checks: Iterator[tuple[int, PlannedCheck]]) -> bool:
        for number, one in checks:
            result = _result(one, engine, session, started)
            found[number] = result.check
            if result.last:
                return False
        return True

    if work(sessions[0], (one for one in plan if one[1].required)):
        others = iter([one for one in reversed(plan) if not one[1].required])
        with ThreadPoolExecutor(len(sessions)) as threads:
            list(threads.map(partial(work, checks=others), sessions))
    return [check for _, check in sorted(found.items())]


def _answerable(planned: Sequence[PlannedCheck], engine: Database) -> Iterator[PlannedCheck]:
    return (one for one in planned if not one.needs or one.needs in engine.capabilities)


class _Result(NamedTuple):
    check: Check
    last: bool
    """Whether the session can answer no further check, or none makes sense."""


def _result(one: PlannedCheck, engine: Database, session: Session, started: Started) -> _Result:
    asked = _Asked(session, one.name, started)
    try:
        found = one.decide(asked)
    except TransactionError as error:
        return _Result(Check(one.name, None, _reason(error, asked.statement, engine, session)), error.lost)
    return _Result(found, one.required and found.passed is False)


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

    def __init__(self, session: Session, check: str, started: Started) -> None:
        self._session, self._check, self._started = session, check, started
        self.statement = ""

    def ask(self, operation: str, /, **arguments: Any) -> list[Row]:
        self.statement = operation
        self._started(f"{self._check} (statement {operation})")
        return self._session.ask(operation, **arguments)


def _reason(error: TransactionError, statement: str, engine: Database, session: Session) -> str:
    if error.error_class is not ErrorClass.STATEMENT_TIMEOUT:
        return f"could not be checked: statement {statement}: {error}"
    try:
        limit = next((one for one in engine.timeouts(session) if one.ends == STATEMENTS), None)
    except TransactionError:
        limit = None
    reason = f"the timeout of {limit.seconds:g} s, which {limit.setter} sets" if limit else error.text
    return f"could not be checked: statement {statement} was ended by {reason}"
