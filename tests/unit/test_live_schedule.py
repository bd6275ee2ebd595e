"""The schedule of a run in progress, with arrivals that are known by hand: two sessions, every 2 ms each."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hdbkit.config import Load, TprocCSpec
from hdbkit.execution.live_schedule import LiveSchedule, ScheduleTick
from hdbkit.results.manifest import Manifest, Status
from hdbkit.results.spool import Records, record_type
from hdbkit.workloads import workload
from tests.unit.synthetic import plan_of

MS = 1_000_000
START = 5_000 * MS


def watched(load: Load) -> LiveSchedule | None:
    rate = {"rate_per_s": load.rate} if load.is_open else {}
    manifest = Manifest(
        run_id="a", notice="", status=Status.MEASURING, plan=plan_of(load=load), operations=["new_order"],
        metric=workload(TprocCSpec()).metric, noun="transaction", paced=load.paced, **rate,
    )  # fmt: skip
    return LiveSchedule.of(manifest, START)


def records(*rows: tuple[int, float, float, float]) -> Records:
    """Rows of session, scheduled start, start, end; in ms since the start."""
    made = np.zeros(len(rows), record_type({}))
    for place, (session, *times) in enumerate(rows):
        made[place]["virtual_user"] = session
        for name, at in zip(("scheduled_ns", "start_ns", "end_ns"), times, strict=True):
            made[place][name] = START + round(at * MS)
    return made


def at(view: LiveSchedule, since_ms: float, now_ms: float, *rows: tuple[int, float, float, float]) -> ScheduleTick:
    pieces = [records(*rows)] if rows else []
    return view.at(pieces, START + round(since_ms * MS), START + round(now_ms * MS))


def open_loop(**more: Any) -> LiveSchedule:
    view = watched(Load(virtual_users=2, rate=1000, arrivals="uniform", **more))
    assert view is not None
    return view


def test_what_is_due_and_has_no_record_is_busy_or_waits() -> None:
    view = open_loop()  # session 0 is due at 0, 2, 4 ... ms, session 1 at 1, 3, 5 ...
    first = at(view, 0, 6.5, (0, 0, 0, 1), (0, 2, 2, 3), (0, 4, 4, 5), (0, 6, 6, 6.4))
    assert (first.offered_per_s, first.achieved_per_s) == (pytest.approx(6 / 6.5e-3), pytest.approx(4 / 6.5e-3))
    assert (first.busy, first.backlog) == (1, 2), "session 1: due at 1, and behind it 3 and 5"
    second = at(view, 6.5, 8.5, (1, 1, 1, 7), (1, 3, 7, 8), (0, 8, 8, 8.2))
    assert (second.offered_per_s, second.busy, second.backlog) == (pytest.approx(1000), 1, 1), "5; 7 waits"
    assert second.late_ms == pytest.approx((0, 3.92, 4)), "0, 0 and 4 ms"


def test_what_is_to_be_skipped_or_beyond_the_limit_of_iterations_is_no_backlog() -> None:
    assert at(open_loop(latency_limit_ms=3), 0, 8.5).backlog == 3, "6, 7 and 8; older than 5.5 ms are skipped"
    assert at(open_loop(), 0, 8.5).backlog == 7
    limited = at(open_loop(iterations=1), 0, 8.5, (0, 0, 0, 1))
    assert (limited.busy, limited.backlog) == (1, 3), "session 1 alone"


def test_a_first_look_at_a_run_in_progress_believes_that_the_past_kept_its_schedule() -> None:
    late = at(open_loop(), 100_000, 100_002, (1, 99_991, 100_000, 100_001))
    assert (late.busy, late.backlog) == (2, 5), "session 0 is due at 100,002; session 1 since 99,993"
    assert late.offered_per_s == pytest.approx(1000)


def test_arrivals_of_all_intervals_are_seen_once() -> None:
    view = open_loop()
    seen = [at(view, since, since + 25_000).offered_per_s for since in range(0, 100_000, 25_000)]
    assert seen == pytest.approx([1000] * 4)


def test_without_a_rate_the_busy_sessions_are_a_mean_of_what_has_ended() -> None:
    view = watched(Load(virtual_users=2, keying_and_thinking=True))
    assert view is not None
    found = at(view, 0, 10, (0, 0, 1, 6), (1, 2, 2, 6))
    assert (found.busy, found.late_ms[2]) == (pytest.approx(1), 1)
    assert found.text == "late p99 0.99 ms, busy sessions 1", "neither the offered rate nor the backlog is known"


def test_only_users_with_a_process_each_and_no_schedule_have_none() -> None:
    assert watched(Load(virtual_users=2)) is None
    assert watched(Load(virtual_users=2, users_per_process=2)) is not None
    assert watched(Load(sessions_per_user=2)) is not None
