"""The schedule of a virtual user: when its next operation is due."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from hdbkit.arrivals import due_us
from hdbkit.config import Load
from hdbkit.contracts import Prepared, ThinkTimes
from hdbkit.errors import ErrorClass, TransactionError
from hdbkit.execution.control import NEVER_NS, Field
from hdbkit.execution.failures import ErrorCounts, Failures
from hdbkit.execution.pacing import ActiveUsers, OpenLoop, Pacer
from hdbkit.execution.user import End, Loop, Recorder

START_NS = 5 * 10**9
OVER = memoryview(array("q", [0] * len(Field)))
"""A control page whose stop time has passed, so that nothing sleeps."""
FIRST, SECOND = (Prepared(operation, print, None, b"") for operation in range(2))
WAITS = [ThinkTimes(keying_s=18, thinking_s=12), ThinkTimes(keying_s=2)]


def pacer(seed: int = 1, **load: Any) -> Pacer:
    return Pacer(WAITS, Load(keying_and_thinking=True, **load), seed, OVER, start_ns=1000)


def thinking_s(of: Pacer, draws: int) -> list[float]:
    """The pauses between the ends of operations and the keying of the next."""
    found = []
    for _ in range(draws):
        of.done(FIRST, end_ns=0)
        found.append(of.due_ns(SECOND) / 1e9 - 2)
    return found


def test_users_begin_with_a_thinking_time_of_their_own() -> None:
    """So that those who share a keying time do not all send at the same moment."""
    one = pacer(thinking_scale=0)
    assert (one.due_ns(FIRST), one.due_ns(SECOND)) == (1000 + 18 * 10**9, 1000 + 2 * 10**9)
    assert one.wait(SECOND) == one.due_ns(SECOND)
    thought_s = [pacer(seed).due_ns(FIRST) / 1e9 - 18 for seed in range(2000)]
    assert np.mean(thought_s) == pytest.approx(12, rel=0.1)


def test_an_operation_is_due_after_thinking_about_the_last_and_keying_it() -> None:
    one = pacer(thinking_scale=0)
    one.done(FIRST, end_ns=5000)
    assert one.due_ns(SECOND) == 5000 + 2 * 10**9


def test_thinking_times_are_exponential_up_to_ten_times_their_mean() -> None:
    """TPC-C 5.2.5.4; the mean of the limited distribution is 1 - exp(-10) of the mean."""
    drawn = np.array(thinking_s(pacer(), 40_000))
    assert drawn.mean() == pytest.approx(12, rel=0.02)
    assert np.quantile(drawn, 0.5) == pytest.approx(12 * np.log(2), rel=0.03)
    assert drawn.min() >= 0
    assert drawn.max() == pytest.approx(120), "some of 40,000 reach the limit: exp(-10) is 1 in 22,026"


def test_thinking_times_follow_from_the_seed_of_the_user() -> None:
    assert thinking_s(pacer(seed=7), 20) == thinking_s(pacer(seed=7), 20)
    assert thinking_s(pacer(seed=7), 20) != thinking_s(pacer(seed=8), 20)


def test_keying_and_thinking_are_scaled_apart() -> None:
    one = pacer(keying_scale=0.5, thinking_scale=0)
    assert one.due_ns(FIRST) == 1000 + 9 * 10**9
    half, whole = thinking_s(pacer(thinking_scale=0.5), 50), thinking_s(pacer(), 50)
    assert half == pytest.approx([time_s / 2 for time_s in whole])


def test_an_operation_without_a_thinking_time_is_followed_at_once() -> None:
    one = pacer()
    one.done(SECOND, end_ns=7000)
    assert one.due_ns(SECOND) == 7000 + 2 * 10**9


class Clock:
    """A clock of the test: sleeping and working let it go on."""

    def __init__(self) -> None:
        self.now_ns = START_NS

    def monotonic_ns(self) -> int:
        return self.now_ns

    def sleep(self, seconds: float) -> None:
        self.now_ns += round(seconds * 1e9)


class Stalling:
    """A user whose operations take 1 ms; those that begin in the stall, from 1 s to 2 s, wait until it is over."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock

    def next_batch(self) -> Sequence[Prepared]:
        return [Prepared(0, self.perform, None, b"")] * 7

    def perform(self, bound: None) -> None:
        at_s = (self.clock.now_ns - START_NS) / 1e9
        self.clock.sleep(max(0.0, 2 - at_s) if 1 <= at_s < 2 else 0.001)

    def head(self, prepared: Prepared, raw: object) -> bytes:
        return prepared.head


class Records:
    """Keeps scheduled start, start and end of each operation, in ms since the start."""

    def __init__(self) -> None:
        self.rows: list[list[float]] = []

    def append(self, scheduled_ns: int, start_ns: int, end_ns: int, *_: object) -> None:
        self.rows.append([(at_ns - START_NS) / 1e6 for at_ns in (scheduled_ns, start_ns, end_ns)])

    @property
    def written(self) -> int:
        return len(self.rows)


def open_loop(monkeypatch: pytest.MonkeyPatch, limit_ms: float = 0) -> np.ndarray:
    """A user with an arrival every 10 ms for 4 s, and a stall of 1 s; a row per operation as in ``Records``."""
    clock, records, page = Clock(), Records(), memoryview(array("q", [0] * len(Field)))
    page[Field.STOP_AT_NS] = START_NS + 4 * 10**9
    monkeypatch.setattr("time.monotonic_ns", clock.monotonic_ns)
    monkeypatch.setattr("time.sleep", clock.sleep)
    arrivals = due_us(Load(rate=100, arrivals="uniform"), 100, index=0)
    pacing = OpenLoop(arrivals, limit_ms, page, START_NS)
    loop = Loop(cast("Recorder", records), page, cast("Failures", None), clock.sleep, pacing)
    assert loop.run(Stalling(clock)) is End.STOPPED
    return np.array(records.rows)


def test_service_time_hides_a_stall_and_response_time_shows_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 400 operations one waits for the whole stall, and those that are due in it begin when it is over.

    The operation due at 1000 + 10 k ms (k = 0 ... 99) begins behind k others of 1 ms, at 2000 + (k - 1) ms, and ends
    1 ms later: its response time is 1000 - 9 k ms. The backlog is served 11 operations later: the one of
    k = 110 has a response time of 10 ms, that of k = 111 of 1 ms again. So 111 are slower than 1 ms: the
    p95 (the 380th of 400) is the 21st slowest, k = 20: 820 ms; the p99 the 5th slowest, k = 4: 964 ms.
    """
    due, start, end = open_loop(monkeypatch).T
    assert due.tolist() == [10.0 * at for at in range(400)], "no arrival is left out or delayed"
    service, response = end - start, end - due
    assert np.quantile(service, [0.5, 0.95, 0.99], method="inverted_cdf") == pytest.approx([1, 1, 1])
    assert np.quantile(response, [0.5, 0.95, 0.99], method="inverted_cdf") == pytest.approx([1, 820, 964])
    assert (np.sort(service)[-2:]).tolist() == pytest.approx([1, 1000])
    assert int((response > 1.5).sum()) == 111


def test_what_could_only_begin_too_late_is_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    """At 2000 ms everything due before 1900 ms is given up; what is due then begins with a backlog of 10."""
    due, start, _ = open_loop(monkeypatch, limit_ms=100).T
    given_up = {10.0 * at for at in range(400)} - {*due.tolist()}
    assert given_up == {10.0 * at for at in range(101, 190)}
    assert (start - due).max() == pytest.approx(100)


def test_what_begins_is_not_skipped_any_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """Arrivals every 10 ms, of which those are skipped that are due before 900 ms."""
    clock = Clock()
    monkeypatch.setattr("time.monotonic_ns", clock.monotonic_ns)
    arrivals = due_us(Load(rate=100, arrivals="uniform"), 100, index=0)
    pacing = OpenLoop(arrivals, 100, OVER, START_NS)
    clock.sleep(1)
    due_ns = pacing.due_ns(FIRST)
    clock.sleep(1)
    active = ActiveUsers([(0, NEVER_NS)], pacing, OVER)
    assert due_ns == pacing.begin(FIRST) == active.begin(FIRST) == START_NS + 900 * 10**6


def test_a_paced_user_begins_at_its_scheduled_start() -> None:
    own = pacer(thinking_scale=0)
    assert own.begin(FIRST) == own.due_ns(FIRST) == 1000 + 18 * 10**9
    assert ActiveUsers([(50 * 10**9, NEVER_NS)], own, OVER).begin(FIRST) == 50 * 10**9
    assert ActiveUsers([(50 * 10**9, NEVER_NS)], None, OVER).begin(FIRST) == 0, "a closed loop has no schedule"


def test_a_user_pauses_while_it_is_not_active(monkeypatch: pytest.MonkeyPatch) -> None:
    """Active from 1 s to 2 s, and from 3 s on; operations take 400 ms."""
    clock, records, page = Clock(), Records(), memoryview(array("q", [0] * len(Field)))
    page[Field.STOP_AT_NS] = START_NS + 4 * 10**9
    monkeypatch.setattr("time.monotonic_ns", clock.monotonic_ns)
    monkeypatch.setattr("time.sleep", clock.sleep)
    active_ns = [(START_NS + 10**9, START_NS + 2 * 10**9), (START_NS + 3 * 10**9, NEVER_NS)]
    pacing = ActiveUsers(active_ns, None, page)
    user = Stalling(clock)
    monkeypatch.setattr(user, "perform", lambda _: clock.sleep(0.4))
    loop = Loop(cast("Recorder", records), page, cast("Failures", None), clock.sleep, pacing)
    assert loop.run(user) is End.STOPPED
    scheduled, start, _ = np.array(records.rows).T
    assert start.tolist() == pytest.approx([1000, 1400, 1800, 3000, 3400, 3800])
    assert (scheduled == start).all(), "it is a closed loop: nothing is late"


def test_retries_are_made_at_once_then_after_pauses_that_double(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    error = TransactionError(ErrorClass.SERIALIZATION, "40001", "could not serialize access")

    def fails(_: object) -> None:
        raise error

    page, pauses = memoryview(array("q", [NEVER_NS] * len(Field))), list[float]()
    monkeypatch.setattr("time.sleep", pauses.append)
    failures = Failures(ErrorCounts(tmp_path, 0, ["first"]), Load(max_retries=9), page)
    assert failures.settle(Prepared(0, fails, None, b""), error).retries == 9
    assert len(pauses) == 8
    for number, pause_s in enumerate(pauses):
        assert 0.5 <= pause_s / min(0.001 * 2**number, 0.1) <= 1.5


def test_an_active_user_keeps_its_own_schedule() -> None:
    own = pacer(thinking_scale=0)
    active = ActiveUsers([(0, 10**9), (50 * 10**9, NEVER_NS)], own, OVER)
    assert own.due_ns(FIRST) == 1000 + 18 * 10**9
    assert active.wait(FIRST) == 50 * 10**9
    active.done(FIRST, end_ns=60 * 10**9)
    assert active.due_ns(SECOND) == 62 * 10**9
    assert ActiveUsers([(0, 10**9)], own, OVER).due_ns(SECOND) == NEVER_NS
