"""Several virtual users in one process: a paused or disconnected user does not delay the others."""

from __future__ import annotations

import functools
import itertools
import tempfile
import time
from array import array
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hdbkit.config import Load, Target, TprocCSpec
from hdbkit.databases import database
from hdbkit.errors import CannotConnect, ErrorClass, TransactionError
from hdbkit.execution.control import Field
from hdbkit.execution.failures import ErrorCounts
from hdbkit.execution.overlap import take_turns
from hdbkit.execution.usage import Usage
from hdbkit.execution.user import End
from hdbkit.execution.virtual_user import SharedParts, VirtualUser
from hdbkit.plan import RunPlan
from hdbkit.results.spool import SpoolWriter, read_spools
from hdbkit.workloads import workload


@pytest.fixture(autouse=True)
def own_null_database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


def users(folder: Path, count: int, seconds: float, load: Load | None = None, **options: Any) -> list[VirtualUser]:
    """Connected users of a client that stops after so many seconds."""
    target = Target(kind="nulldb", database="turns", options={key: str(value) for key, value in options.items()})
    plan = RunPlan(
        run_id="turns", target=target, workload=TprocCSpec(), load=load or Load(virtual_users=count, max_retries=0)
    )
    engine, work = database("nulldb"), workload(plan.workload)
    fields = memoryview(array("q", [0] * 16))
    spool = SpoolWriter(folder / "00000.spool", 0, work.details)
    errors = ErrorCounts(folder, 0, work.operations)
    shared = SharedParts(plan, engine, work, work.scope(engine.dialects), fields, spool, errors)
    made = [VirtualUser(shared, one) for one in plan.users]
    for one in made:
        one.connect()
    fields[Field.START_AT_NS] = time.monotonic_ns()
    fields[Field.STOP_AT_NS] = time.monotonic_ns() + round(seconds * 1e9)
    return made


def done(folder: Path) -> Counter[int]:
    """The number of records of each user."""
    return Counter(user for _, records in read_spools(folder) for user in records["virtual_user"].tolist())


def test_users_of_one_process_start_apart(tmp_path: Path) -> None:
    load = Load(virtual_users=3, start_delay_ms=200, iterations=20)
    three = users(tmp_path, 3, seconds=60, load=load, latency_us=1000)
    common_ns = three[0].start_ns
    assert take_turns(three) is End.LIMIT
    first: dict[int, int] = {}
    for _, records in read_spools(tmp_path):
        for user, start_ns in zip(records["virtual_user"].tolist(), records["start_ns"].tolist(), strict=True):
            first.setdefault(user, start_ns)
    for index in range(3):
        assert first[index] >= common_ns + index * 200_000_000


def one_pauses(two: list[VirtualUser], monkeypatch: pytest.MonkeyPatch, until: int) -> None:
    """Let the first of two users pause for a minute after a failure, and stop both at that failure of the second."""
    failures = itertools.count(1)

    def no_pause(_: object) -> float:
        if next(failures) == until:
            stop(two[1])
        return 0.0

    monkeypatch.setattr(two[0].failures, "pause_s", lambda _: 60.0)
    monkeypatch.setattr(two[1].failures, "pause_s", no_pause)


def stop(user: VirtualUser) -> None:
    user.shared.fields[Field.STOP_AT_NS] = time.monotonic_ns()


def test_a_user_that_pauses_after_failures_holds_up_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    two = users(tmp_path, 2, seconds=50, latency_us=1000, error_rate=1, error_class="resources")
    one_pauses(two, monkeypatch, until=6)
    assert take_turns(two) is End.STOPPED
    assert done(tmp_path) == {0: 1, 1: 6}


def test_a_user_without_a_connection_holds_up_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    two = users(tmp_path, 2, seconds=60, latency_us=1000)
    lost, other = two
    refused: list[float] = []
    others: list[int] = []  # operations of the other user, at each refusal
    performed = itertools.count()

    def refuse() -> None:
        refused.append(time.monotonic())
        others.append(next(performed))
        if len(refused) == 3:  # after 0.05, 0.1 and 0.2 s
            stop(lost)
        raise CannotConnect("nulldb:///turns", "it is down", "start it")

    def fail(_: object) -> None:
        raise TransactionError(ErrorClass.CONNECTION_LOST, "", "gone")

    def count(perform: Callable[[Any], Any], bound: Any) -> Any:
        next(performed)
        return perform(bound)

    batch, of_other = lost.user.next_batch(), other.user.next_batch()
    batch[3].perform = fail
    for one in of_other:
        one.perform = functools.partial(count, one.perform)
    monkeypatch.setattr(lost, "connect", refuse)
    monkeypatch.setattr(lost.user, "next_batch", lambda: batch)
    monkeypatch.setattr(other.user, "next_batch", lambda: of_other)
    assert take_turns(two) is End.STOPPED
    assert done(tmp_path)[0] == 4
    assert len(refused) == 3
    assert all(later > sooner + 1 for sooner, later in itertools.pairwise(others)), "the other user goes on"
    pauses = [later - sooner for sooner, later in itertools.pairwise(refused)]
    assert min(pauses) >= 0.1


def test_a_process_ends_when_all_its_users_are_at_their_limit(tmp_path: Path) -> None:
    three = users(tmp_path, 3, seconds=60, load=Load(virtual_users=3, iterations=7))
    assert take_turns(three) is End.LIMIT
    assert done(tmp_path) == {0: 7, 1: 7, 2: 7}


def test_one_failure_ends_all_where_the_run_asks_for_that(tmp_path: Path) -> None:
    options = {"error_rate": 1, "error_class": "constraint"}
    two = users(tmp_path, 2, seconds=60, load=Load(virtual_users=2, raise_error=True), **options)
    assert take_turns(two) is End.RAISED
    assert done(tmp_path) == {0: 1}
    assert "failed on demand" in str(two[0].failures.last)


@pytest.mark.parametrize("count", [1, 2])
def test_users_that_drew_ahead_begin_with_what_they_drew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    made = users(tmp_path, count, seconds=60, latency_us=100, load=Load(virtual_users=count, iterations=20))
    for user in made:
        user.draw_ahead()
        monkeypatch.setattr(user.user, "next_batch", lambda: pytest.fail("drawn after the start"))
    end = made[0].run(Usage()) if count == 1 else take_turns(made)
    assert end is End.LIMIT
    assert done(tmp_path) == dict.fromkeys(range(count), 20)
