"""Runs the checks of a schema one by one; a statement that fails leaves its own check undecided, and no other.

The check that every workload has, for what must be there, is here as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from hdbkit.contracts import Capability, Check, CheckSession, Database, PlannedCheck, Row, Session
from hdbkit.errors import ErrorClass, TransactionError
from hdbkit.readings import STATEMENTS

Started = Callable[[str], None]
"""Called with the name of each check and of each statement of it, as that statement is sent."""


def run_checks(
    planned: Sequence[PlannedCheck], engine: Database, session: Session, started: Started = lambda _: None
) -> Iterator[Check]:
    """Yield the result of each check that the engine can answer, until a required one fails."""
    for one in planned:
        if one.needs and one.needs not in engine.capabilities:
            continue
        asked = _Asked(session, one.name, started)
        try:
            found = one.decide(asked)
        except TransactionError as error:
            yield Check(one.name, None, _reason(error, asked.statement, engine, session))
            if error.lost:
                return
            continue
        yield found
        if one.required and found.passed is False:
            return


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
