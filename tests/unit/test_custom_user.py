"""A virtual user of a user-defined workload: what it draws, and what it binds to its statements."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, cast

import pytest

from hdbkit.config import CustomLoad, Load
from hdbkit.contracts import Arguments, Prepared, Route, Session, UserPlan
from hdbkit.errors import ConfigErrors
from hdbkit.workloads import metric_of, specification, workload
from tests.unit.own_workload import folder

YAML = """\
parameters: {rows: 1000}
operations:
  look: {weight: 3}
  change: {statements: [change, note]}
  wait: {}
variables:
  id: {uniform: {max: 1000000}}
  number: {sequence: {start: 1}}
"""
SQL = """\
-- name: look
SELECT content FROM things WHERE id = :id;
-- name: change
UPDATE things SET number = :number WHERE id = :id;
-- name: note
INSERT INTO notes VALUES (:number);
-- name: wait
SELECT 1;
"""
PARAMETERS = {"look": ("id",), "change": ("number", "id"), "note": ("number",), "wait": ()}


class Recording:
    """A session that binds a call as its name and arguments."""

    def prepare(self, statements: Iterable[str]) -> None: ...

    def parameters(self, statement: str) -> tuple[str, ...]:
        return PARAMETERS[statement]

    def bind(self, statement: str, arguments: Arguments) -> Any:
        return statement, *arguments

    def bind_all(self, calls: Sequence[tuple[str, Arguments]]) -> Any:
        return [self.bind(*call) for call in calls]

    def perform(self, bound: Any) -> None: ...

    perform_all = perform_each = perform


@pytest.fixture
def batch(tmp_path: Path) -> list[Prepared]:
    work = workload(specification(folder(tmp_path, YAML, SQL)))
    load = work.load(Load(virtual_users=1))
    user = work.user(cast("Session", Recording()), load, UserPlan(0, 7))
    return [*user.next_batch(), *user.next_batch()]


def test_each_operation_has_its_statements_and_their_values(batch: list[Prepared]) -> None:
    looks, changes, waits = ([one.bound for one in batch if one.operation == kind] for kind in range(3))
    assert {look[0] for look in looks} == {"look"}
    assert len({look[1] for look in looks}) > 0.9 * len(looks)
    assert all([name for name, *_ in change] == ["change", "note"] for change in changes)
    assert set(waits) == {("wait",)}


def test_a_variable_has_one_value_in_all_statements_of_an_operation(batch: list[Prepared]) -> None:
    changes = [one.bound for one in batch if one.operation == 1]
    assert all(change[1] == note[1] for change, note in changes)


def test_only_operations_that_use_a_variable_draw_it(batch: list[Prepared]) -> None:
    numbers = [one.bound[0][1] for one in batch if one.operation == 1]
    assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))  # none went to another operation


def test_reads_go_to_the_reader_and_a_read_only_load_has_no_others(tmp_path: Path) -> None:
    yaml = YAML.replace("look: {weight", "look: {reads_only: true, weight")
    assert yaml != YAML
    work = workload(specification(folder(tmp_path, yaml, SQL)))
    own, reader = Recording(), Recording()
    user = work.user(
        cast("Session", own),
        work.load(Load(virtual_users=1)),
        UserPlan(0, 7),
        {"look": Route((cast("Session", reader),))},
    )
    performs = {one.operation: one.perform for one in user.next_batch()}
    assert performs[0].__self__ is reader
    assert performs[1].__self__ is performs[2].__self__ is own
    load = work.load(Load(read_only=True))
    assert [name for name, weight in work.mix(load).items() if weight] == ["look"]
    assert metric_of(work, load).name == "reads/s"
    with pytest.raises(ConfigErrors, match="at least one operation with reads_only: true needs a weight above 0"):
        work.load(CustomLoad(read_only=True, weights={"change": 1}))
