"""Several virtual users in one process: a paused or disconnected user does not delay the others."""

from __future__ import annotations

import itertools
import tempfile
import time
from array import array
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from hdbkit.config import Load, Target, WorkloadSpec
from hdbkit.databases import database
from hdbkit.errors import CannotConnect, ErrorClass, TransactionError
from hdbkit.execution.control import Field
from hdbkit.execution.failures import ErrorCounts
from hdbkit.execution.turns import take_turns
from hdbkit.execution.user import End
from hdbkit.execution.virtual_user import Shared, VirtualUser
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
        run_id="turns", target=target, workload=WorkloadSpec(), load=load or Load(virtual_users=count, max_retries=0)
    )
    engine, work = database("nulldb"), workload(plan.workload)
    fields = memoryview(array("q", [0] * 16))
    spool = SpoolWriter(folder / "00000.spool", 0, work.details)
    errors = ErrorCounts(folder, 0, work.operations)
    shared = Shared(plan, engine, work, work.scope(engine.dialects), fields, spool, errors)
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
    load = Load(virtual_users=3, start_delay_ms=200)
    three = users(tmp_path, 3, seconds=1, load=load, latency_us=1000)
    common_ns = three[0].start_ns
    assert take_turns(three) is End.STOPPED
    first: dict[int, int] = {}
    for _, records in read_spools(tmp_path):
        for user, start_ns in zip(records["virtual_user"].tolist(), records["start_ns"].tolist(), strict=True):
            first.setdefault(user, start_ns)
    for index in range(3):
        assert first[index] >= common_ns + index * 200_000_000


def test_a_user_that_pauses_after_failures_holds_up_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    two = users(tmp_path, 2, seconds=1, latency_us=1000, error_rate=1, error_class="resources")
    for user, pause_s in zip(two, (10.0, 0.0), strict=True):
        monkeypatch.setattr(user.failures, "pause_s", lambda _, pause_s=pause_s: pause_s)
    assert take_turns(two) is End.STOPPED
    counts = done(tmp_path)
    assert counts[0] == 1
    assert counts[1] > 5


def test_a_user_without_a_connection_holds_up_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    two = users(tmp_path, 2, seconds=0.8, latency_us=1000)
    refused = []

    def refuse() -> None:
        refused.append(time.monotonic())
        raise CannotConnect("nulldb:///turns", "it is down", "start it")

    lost = two[0]
    monkeypatch.setattr(lost, "connect", refuse)
    batch = lost.user.next_batch()

    def fail(_: object) -> None:
        raise TransactionError(ErrorClass.CONNECTION_LOST, "", "gone")

    batch[3].perform = fail
    monkeypatch.setattr(lost.user, "next_batch", lambda: batch)
    assert take_turns(two) is End.STOPPED
    counts = done(tmp_path)
    assert counts[0] == 4
    assert counts[1] > 10
    assert 1 < len(refused) < 5  # after 0.05, 0.1, 0.2 and 0.4 s
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


def test_users_that_drew_ahead_begin_with_what_they_drew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    two = users(tmp_path, 2, seconds=60, latency_us=100, load=Load(virtual_users=2, iterations=20))
    for user in two:
        user.draw_ahead()
        monkeypatch.setattr(user.user, "next_batch", lambda: pytest.fail("drawn after the start"))
    assert take_turns(two) is End.LIMIT
    assert done(tmp_path) == {0: 20, 1: 20}
