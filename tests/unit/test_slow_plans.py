"""The plans of slow executions that a client notes."""

from __future__ import annotations

from pathlib import Path

from hdbkit.databases.postgresql.session import _SLOW_PLAN
from hdbkit.execution.client_notes import MAX_STATEMENTS, SlowPlans, slowest_plans
from hdbkit.files import read_lines


def test_a_routine_that_makes_statements_of_its_own_fills_no_disk(tmp_path: Path) -> None:
    plans = SlowPlans(tmp_path, 1)
    for number in range(5000):
        ms = 1.0 + number * 7919 % 5000
        plans.note(1, ms, f"SELECT {ms}", "Result")
    plans._lines.close()
    lines = read_lines(tmp_path / "00001.slow_plans")
    assert len(lines) < 10 * MAX_STATEMENTS
    assert [one["ms"] for one in slowest_plans(lines)] == [*range(5000, 5000 - MAX_STATEMENTS, -1)]


def test_a_statement_has_neither_its_trace_nor_its_parameters() -> None:
    text = "SELECT\n$1 /*traceparent='00-1-2-01'*/\nQuery Parameters: $1 = 'a secret\nof two lines'\nResult  (cost=0)"
    found = _SLOW_PLAN.match(f"duration: 3.0 ms  plan:\nQuery Text: {text}")
    assert found
    assert found[2] == "SELECT\n$1"
