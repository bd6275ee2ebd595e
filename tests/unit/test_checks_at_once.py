"""Checks that several sessions carry out at once."""

from __future__ import annotations

from threading import Barrier
from types import SimpleNamespace
from typing import Any, cast

from hdbkit.contracts import Capability, Check, CheckSession, Database, PlannedCheck, Row, Session
from hdbkit.errors import ErrorClass, TransactionError
from hdbkit.workloads.checking import divided, run_checks_at_once

ENGINE = cast(Database, SimpleNamespace(capabilities=frozenset({Capability.TABLES})))
TOGETHER_S = 20


class Asked:
    """Answers every statement, the first once ``both`` have one; a lost connection answers none."""

    def __init__(self, both: Barrier | None = None, lost: bool = False) -> None:
        self._both, self._lost = both, lost

    def ask(self, operation: str, /, **arguments: Any) -> list[Row]:
        if self._both and operation != "tables":
            self._both.wait(TOGETHER_S)
            self._both = None
        if self._lost:
            raise TransactionError(ErrorClass.CONNECTION_LOST, "08006", "gone")
        return [(operation,)]


def planned(name: str, passed: bool = True, **given: Any) -> PlannedCheck:
    def decide(session: CheckSession) -> Check:
        return Check(name, passed, str(session.ask(name)[0][0]))

    return PlannedCheck(name, decide, **given)


def found(plan: list[PlannedCheck], *sessions: Asked) -> list[tuple[str, bool | None]]:
    lines = run_checks_at_once(plan, ENGINE, [cast(Session, one) for one in sessions])
    return [(line.name, line.passed) for line in lines]


def test_two_sessions_answer_at_once_in_the_order_of_the_plan() -> None:
    both = Barrier(2)
    sessions = Asked(both=both), Asked(both=both)
    plan = [planned("tables", required=True), *(planned(name, name != "b") for name in "abcd")]
    assert found(plan, *sessions) == [("tables", True), ("a", True), ("b", False), ("c", True), ("d", True)]


def test_nothing_is_asked_after_a_required_check_failed() -> None:
    plan = [planned("a"), planned("tables", passed=False, required=True)]
    assert found(plan, Asked(), Asked()) == [("tables", False)]


def test_a_lost_session_leaves_one_check_undecided_and_the_rest_to_the_other() -> None:
    both = Barrier(2)
    lines = found([planned(name) for name in "abcdef"], Asked(both, lost=True), Asked(both))
    assert [name for name, _ in lines] == [*"abcdef"]
    assert sorted(str(passed) for _, passed in lines) == ["None", *["True"] * 5]


def test_parts_of_one_check_are_answered_at_once_in_their_order() -> None:
    def decide(session: CheckSession) -> Check:
        rows = session.ask_each("sums", [{"low": low} for low in range(session.at_once)])
        return Check("sums", len(rows) == 2, "")

    both = Barrier(2)
    assert found([PlannedCheck("sums", decide)], Asked(both), Asked(both)) == [("sums", True)]


def test_a_range_is_divided_among_the_sessions() -> None:
    assert divided([(1, 20)], 1) == [(1, 20)]
    assert divided([(1, 20)], 3) == [(1, 7), (8, 14), (15, 20)]
    assert divided([(1, 7), (29, 35), (58, 64)], 2) == [(1, 7), (29, 35), (58, 64)]
    assert divided([(1, 2)], 16) == [(1, 1), (2, 2)]
