"""Several virtual users in one process on sessions that overlap: while one waits for its answer, others go on."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hdbkit.config import Load
from hdbkit.contracts import Prepared
from hdbkit.errors import CannotConnect, ErrorClass, TransactionError
from hdbkit.execution.control import Field
from hdbkit.execution.overlap import Waiting, overlap
from hdbkit.execution.user import End
from hdbkit.execution.virtual_user import VirtualUser
from hdbkit.results.columns import Outcome
from hdbkit.results.spool import read_spools
from tests.unit.test_turns import done, one_pauses, stop, users

Attempt = Callable[[Any], Any]


@pytest.fixture(autouse=True)
def own_null_database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


def serve(some: list[VirtualUser]) -> End:
    waiting = Waiting()
    try:
        return overlap(some, waiting)
    finally:
        waiting.close()
        for one in some:
            one.close()


def records(folder: Path) -> np.ndarray:
    return np.concatenate([found for _, found in read_spools(folder)])


def most_at_once(found: np.ndarray) -> int:
    """The maximum number of operations in flight."""
    edges = sorted([(at, 1) for at in found["start_ns"].tolist()] + [(at, -1) for at in found["end_ns"].tolist()])
    return int(np.cumsum([step for _, step in edges]).max())


def test_operations_of_one_process_overlap(tmp_path: Path) -> None:
    load = Load(virtual_users=20, iterations=2)
    assert serve(users(tmp_path, 20, seconds=60, load=load, latency_us=30_000)) is End.LIMIT
    assert done(tmp_path) == dict.fromkeys(range(20), 2)
    found = records(tmp_path)
    assert most_at_once(found) == 20
    assert (found["end_ns"] - found["start_ns"] >= 30_000_000).all(), "each waits for its own answer"


def test_what_cannot_be_sent_is_served_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    three = users(tmp_path, 3, seconds=60, load=Load(virtual_users=3, iterations=3), latency_us=1000)
    for one in three:
        monkeypatch.setattr(one.session, "sender", lambda _: None)
    assert serve(three) is End.LIMIT
    assert done(tmp_path) == {0: 3, 1: 3, 2: 3}
    assert most_at_once(records(tmp_path)) == 1


def test_those_that_are_due_are_served_and_their_schedule_is_kept(tmp_path: Path) -> None:
    load = Load(virtual_users=30, iterations=3, keying_and_thinking=True, keying_scale=0.001, thinking_scale=0.001)
    assert serve(users(tmp_path, 30, seconds=60, load=load, latency_us=1000)) is End.LIMIT
    found = records(tmp_path)
    assert done(tmp_path) == dict.fromkeys(range(30), 3)
    assert (found["scheduled_ns"] <= found["start_ns"]).all(), "none begins before it is due"
    for user in range(30):
        own = found[found["virtual_user"] == user]
        assert (own["scheduled_ns"][1:] > own["end_ns"][:-1]).all(), "keying follows the last answer"


def test_nothing_begins_after_the_stop_and_what_is_in_flight_is_finished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    some = users(tmp_path, 5, seconds=60, latency_us=600_000)
    last: Any = some[-1]
    send = last.session._send

    def the_last_is_sent(bound: Any) -> None:
        send(bound)
        stop(last)

    monkeypatch.setattr(last.session, "_send", the_last_is_sent)
    assert serve(some) is End.STOPPED
    found = records(tmp_path)
    assert sorted(found["virtual_user"].tolist()) == [0, 1, 2, 3, 4]
    assert (found["end_ns"] > last.shared.fields[Field.STOP_AT_NS]).all()


def test_a_deadlock_is_retried_while_others_go_on(tmp_path: Path) -> None:
    load = Load(virtual_users=4, iterations=20, max_retries=50)
    options = {"error_rate": 0.3, "error_class": "deadlock", "latency_us": 500}
    assert serve(users(tmp_path, 4, seconds=60, load=load, **options)) is End.LIMIT
    found = records(tmp_path)
    assert Counter(found["virtual_user"].tolist()) == dict.fromkeys(range(4), 20)
    assert (found["outcome"] != Outcome.FAILED).all()
    assert found["retries"].sum() > 0


def test_a_failed_operation_is_recorded_with_its_class(tmp_path: Path) -> None:
    load = Load(virtual_users=3, iterations=4, max_retries=2)
    assert serve(users(tmp_path, 3, seconds=60, load=load, error_rate=1)) is End.LIMIT
    found = records(tmp_path)
    assert len(found) == 12
    assert (found["outcome"] == Outcome.FAILED).all()
    assert (found["retries"] == 2).all()


def test_one_failure_ends_all_if_the_run_asks_for_that(tmp_path: Path) -> None:
    options = {"error_rate": 1, "error_class": "constraint"}
    two = users(tmp_path, 2, seconds=60, load=Load(virtual_users=2, raise_error=True), **options)
    assert serve(two) is End.RAISED
    assert any(user.failures.last for user in two)


def test_a_user_that_pauses_after_failures_holds_up_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    two = users(tmp_path, 2, seconds=60, latency_us=1000, error_rate=1, error_class="resources")
    one_pauses(two, monkeypatch, until=6)
    assert serve(two) is End.STOPPED
    assert done(tmp_path) == {0: 1, 1: 6}


@pytest.mark.parametrize("lost_in", ["sending", "receiving"])
def test_a_lost_connection_is_opened_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lost_in: str) -> None:
    two = users(tmp_path, 2, seconds=60, load=Load(virtual_users=2, iterations=8), latency_us=1000)
    session, connect, tried = two[0].session, two[0].connect, [0]

    def fail(*_: object) -> None:
        raise TransactionError(ErrorClass.CONNECTION_LOST, "", "gone")

    def refuse_once() -> None:
        tried[0] += 1
        if tried[0] == 1:
            raise CannotConnect("nulldb:///turns", "it is down", "start it")
        connect()

    monkeypatch.setattr(two[0], "connect", refuse_once)
    monkeypatch.setattr(session, *(("_send", fail) if lost_in == "sending" else ("_answered", fail)))
    assert serve(two) is End.LIMIT
    assert tried == [2]
    assert done(tmp_path) == {0: 8, 1: 8}
    found = records(tmp_path)
    assert found["virtual_user"][found["outcome"] == Outcome.FAILED].tolist() == [0]


def test_the_head_is_completed_from_the_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    two = users(tmp_path, 2, seconds=60, load=Load(virtual_users=2, iterations=5), latency_us=100)
    monkeypatch.setattr(two[0].shared.workload, "details_from_results", lambda _: True, raising=False)

    def head(prepared: Prepared, raw: Any) -> bytes:
        return prepared.head[:-4] + int(1000 + raw).to_bytes(4, "little")

    for one in two:
        monkeypatch.setattr(one.user, "head", head)
    assert serve(two) is End.LIMIT
    found = records(tmp_path)
    assert (found["o_id"][found["outcome"] == Outcome.COMMITTED] > 1000).all()
