"""The schedule of an open loop against what happened."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from hdbkit.analysis.run.checks import check_run
from hdbkit.analysis.run.records import Window
from hdbkit.analysis.run.schedule import schedule_of
from hdbkit.analysis.run.steps import knee, steps_result
from hdbkit.analysis.run.summary import summarize
from hdbkit.charts.schedule_charts import schedule_charts
from hdbkit.config.metric import Measure, Metric
from hdbkit.report.run_tables import run_tables
from hdbkit.results.columns import OPERATIONS
from hdbkit.results.run_result import Backlog, Latencies, ScheduleResult, StepLatencies, StepResult
from tests.unit.synthetic import DETAILS, Synthetic, write_run

RATE = {"rate": 100, "arrivals": "uniform"}
PAYMENTS = Metric(name="payments/s", title="payments per second", unit="payments/s", operations=("payment",))
DUE_US = np.arange(0, 5_000_000, 10_000)
"""One user with 100 operations per second from the run's start on; the window is from 1 s to 5 s."""


def rows(start_us: np.ndarray, end_us: np.ndarray, due_us: np.ndarray = DUE_US) -> pd.DataFrame:
    """Payments of one user."""
    made = dict.fromkeys([*OPERATIONS, *DETAILS], np.zeros(len(due_us), np.int64))
    made |= {"t_start_us": start_us, "latency_us": end_us - start_us, "wait_us": start_us - due_us}
    return pd.DataFrame(made | {"operation": np.ones(len(due_us), np.int64)})


def run_of(path: Path, made: pd.DataFrame, **load: Any) -> Synthetic:
    return write_run(path / "open", users=1, rampup_s=1, duration_s=4, rows=made, load={**RATE, **load})


def stalled(from_us: int, until_us: int) -> tuple[np.ndarray, np.ndarray]:
    """Starts and ends of operations of 1 ms with a stall; those that are due in it end one after the other."""
    starts, ends, free_us = [], [], 0
    for due_us in DUE_US.tolist():
        start_us = max(due_us, free_us)
        free_us = until_us if from_us <= start_us < until_us else start_us + 1000
        starts.append(start_us)
        ends.append(free_us)
    return np.array(starts), np.array(ends)


def test_a_stall_is_in_response_time_lateness_and_backlog_and_not_in_service_time(tmp_path: Path) -> None:
    """The stall is from 2 s to 3 s: as computed in ``test_pacing``, of the 400 of the window 111 begin late.

    Operation k of these is late by 990 - 9 (k - 1) ms: the p99, the 5th largest lateness, is that of k = 5: 954 ms
    (k = 0 is not late). 99 operations are due and wait when the stall ends, and they are served within the run.
    """
    run = run_of(tmp_path, rows(*stalled(2_000_000, 3_000_000)))
    found = schedule_of(run.folder, run.manifest)
    result = found.result
    assert (result.due, result.begun, result.skipped, result.saturated) == (400, 400, 0, False)
    assert (result.offered_per_s, result.achieved_per_s) == (100, 100)
    assert result.backlog == Backlog(start=0, end=0)
    assert (result.lateness.p50_us, result.lateness.max_us) == (0, 990_000)
    assert result.lateness.p99_us == 990_000 - 9_000 * 4
    by_second = found.rows.set_index("second")
    assert by_second.due.tolist() == [100] * 5
    assert by_second.begun.tolist() == [100, 100, 1, 199, 100]
    assert by_second.backlog.tolist() == [0, 0, 99, 0, 0]
    result = summarize(run.folder, run.manifest)
    line = result.operations["payment"]
    assert (line.p95_us, line.response.p95_us, line.response.max_us) == (1_000, 820_000, 1_000_000)
    assert (line.p99_us, line.response.p99_us) == (None, None), "they need 1,000 operations"
    p95 = PAYMENTS.model_copy(update={"measure": Measure.QUANTILE, "counter": None})
    judged = summarize(run.folder, run.manifest.model_copy(update={"metric": p95}))
    assert judged.metric_value == 820, "in an open loop a quantile is one of response times, in ms"


def test_what_was_never_begun_is_backlog_and_saturates_the_load(tmp_path: Path) -> None:
    """Operations take 20 ms where one is due each 10 ms: every second one has not begun at the end."""
    start_us = np.arange(0, 5_000_000, 20_000)
    run = run_of(tmp_path, rows(start_us, start_us + 20_000, DUE_US[:250]))
    result = schedule_of(run.folder, run.manifest).result
    assert (result.due, result.begun, result.saturated) == (400, 200, True)
    assert result.backlog == Backlog(start=50, end=250)
    kept = next(one for one in check_run(run.folder, run.manifest) if one.name == "schedule kept")
    assert kept.passed is False
    assert kept.detail.startswith("50.0 of 100.0 transactions/s that were due")
    assert "use a lower rate" in kept.detail
    summary = summarize(run.folder, run.manifest).model_copy(update={"clients_lost": 1})
    killed = run.manifest.model_copy(update={"result": summary})
    kept = next(one for one in check_run(run.folder, killed) if one.name == "schedule kept")
    assert kept.detail.endswith(": 1 client ended early, so operations of its users did not begin")


def test_what_the_limit_gives_up_is_skipped_and_no_backlog(tmp_path: Path) -> None:
    """Every second operation is skipped, each when it would have begun 5 ms late or more."""
    served = DUE_US[::2]
    run = run_of(tmp_path, rows(served, served + 15_000, served), latency_limit_ms=4)
    result = schedule_of(run.folder, run.manifest).result
    assert (result.due, result.begun, result.skipped) == (400, 200, 200)
    assert result.backlog == Backlog(start=0, end=0)
    assert result.saturated


def test_the_texts_of_charts_repeat_the_result_of_a_window_that_begins_within_a_second(tmp_path: Path) -> None:
    """20,000 operations per second in the first second of the window, 1 later: whole seconds miss the first one."""
    seconds = pd.DataFrame({"second": range(5), "due": [1, 20_000, 1, 1, 1], "begun": [1, 20_000, 1, 1, 1]})
    seconds = seconds.assign(skipped=0, backlog=0, late_p50_us=0.0, late_p99_us=0.0, late_max_us=0.0)
    result = ScheduleResult(
        offered_per_s=5000.75, achieved_per_s=5000.75, due=20_003, begun=20_003, late=0, skipped=7, saturated=False,
        backlog=Backlog(start=0, end=2), lateness=Latencies(max_us=1_234_567, p99_us=1_000),
    )  # fmt: skip
    window = Window(1_000_400, 5_000_400)
    texts = [one.alternative for one in schedule_charts(seconds, result, window, "payment")]
    assert "5,000.8 payments per second were due" in texts[0]
    assert "5,000.8 began" in texts[0]
    assert "1,234.6 ms late" in texts[1]
    assert "2 payments were due" in texts[2]
    assert "In the window 7 payments were skipped" in texts[2]


def test_a_user_that_reached_its_limit_of_iterations_is_offered_no_more(tmp_path: Path) -> None:
    served = DUE_US[:150]
    run = run_of(tmp_path, rows(served, served + 1000, served), iterations=150)
    result = schedule_of(run.folder, run.manifest).result
    assert (result.due, result.begun, result.saturated) == (50, 50, False)
    short = run.manifest.clock.model_copy(update={"window_end_us": 2_000_000})  # type: ignore[union-attr]
    lines = check_run(run.folder, run.manifest.model_copy(update={"clock": short}))
    (detail,) = [one.detail for one in lines if one.name == "schedule kept"]
    assert detail.endswith("; the window ended after 1 of 4 s, so these are rates until then")


def test_operations_of_a_user_that_was_lost_are_missed(tmp_path: Path) -> None:
    served = DUE_US[:300]
    run = run_of(tmp_path, rows(served, served + 1000, served))
    result = schedule_of(run.folder, run.manifest).result
    assert (result.due, result.begun, result.backlog.end) == (400, 200, 200)


@pytest.mark.parametrize("load", [{}, {"keying_and_thinking": True}])
def test_a_closed_loop_has_no_schedule(tmp_path: Path, load: dict[str, bool]) -> None:
    run = write_run(tmp_path / "closed", users=1, duration_s=2, load=load)
    assert run.manifest.rate_per_s is None
    assert "schedule kept" not in {one.name for one in check_run(run.folder, run.manifest)}


def at_rates(*done: tuple[str, float, float], length_s: float = 60, error_per_s: float = 0) -> list[StepResult]:
    """Steps with their text, offered and completed per second, and the standard error of the latter."""
    times = StepLatencies(p50_us=None, p95_us=None, p99_us=None)
    return [
        StepResult(
            step=f"{length_s:g} s {text}",
            start_s=0,
            end_s=length_s,
            users=None,
            failed=0,
            service=times,
            offered_per_s=offered,
            completed_per_s=completed,
            completed_error_per_s=error_per_s,
        )
        for text, offered, completed in done
    ]


def test_the_knee_is_the_throughput_where_the_offered_rate_is_no_longer_followed() -> None:
    followed, beyond = (("at 200/s", 200, 200.0), ("at 250/s", 250, 250.0)), (("at 400/s", 400, 300.0),)
    ramp = ("from 1 to 100/s", 50.5, 20.0)
    found = knee(at_rates(*beyond, *followed, ramp))
    assert found is not None
    assert found[:3] == pytest.approx((300, 250, 400))
    assert knee(at_rates(*followed)) is None, "all are followed"
    assert knee(at_rates(("from 1 to 100/s", 50.5, 20.0))) is None
    repeated = knee(at_rates(*followed, *beyond, ("at 250/s", 250, 100.0)))
    assert repeated is not None
    assert (repeated.low, repeated.high) == (200, 250), "steps of equal rates count together"


def test_a_stall_within_a_step_is_no_knee() -> None:
    """One of ten stretches has done a third: 93 % of the rate in all, as little as where it was so throughout."""
    even, stalled = (at_rates(("at 500/s", 500, 465.0), error_per_s=each) for each in (2.0, 33.0))
    assert knee(even) is not None
    assert knee(stalled) is None


def test_a_step_that_is_too_short_decides_nothing_about_the_knee() -> None:
    """Of 10 operations 7 were completed: by chance, at the 95 % level, 15 could have been."""
    steps = at_rates(("at 100/s", 100, 100.0), length_s=600) + at_rates(("at 200/s", 200, 140.0), length_s=0.05)
    assert knee(steps) is None
    ends = at_rates(("at 400/s", 400, 150.0), length_s=600)
    found = knee(steps + ends)
    assert found is not None
    assert (found.low, found.high) == (100, 400)


def test_each_step_has_its_own_figures(tmp_path: Path) -> None:
    """Steps of 1 s at 100/s and 3 s at 50/s; an operation of the second step takes 2 ms and begins 1 ms late."""
    due_us = np.concatenate([np.arange(0, 2_000_000, 10_000), np.arange(2_000_000, 5_000_000, 20_000)])
    late_us = np.where(due_us >= 2_000_000, 1000, 0)
    made = rows(due_us + late_us, due_us + 2 * late_us + 1000, due_us)
    run = write_run(
        tmp_path / "steps", users=1, rampup_s=1, duration_s=4, rows=made,
        load={"arrivals": "uniform", "steps": "1 s at 100/s; 3 s at 50/s"}, metric=PAYMENTS,
    )  # fmt: skip
    first, second = steps_result(run.folder, run.manifest)
    assert (str(first.step), first.start_s, first.end_s) == ("1 s at 100/s", 1, 2)
    assert (str(second.step), second.start_s, second.end_s) == ("3 s at 50/s", 2, 5)
    assert (first.offered_per_s, second.offered_per_s) == pytest.approx((100, 50))
    assert (first.completed_per_s, second.completed_per_s) == (100, 50)
    assert (first.service.p50_us, first.response.p50_us) == (1000, 1000)
    assert (second.service.p50_us, second.response.p50_us) == (2000, 3000)
    assert [one.users for one in (first, second)] == [None, None]
    schedule = schedule_of(run.folder, run.manifest).result
    assert (schedule.due, schedule.begun, schedule.saturated) == (250, 250, False)
    summary = summarize(run.folder, run.manifest).model_copy(update={"steps": [first, second]})
    shown = run_tables(run.manifest.model_copy(update={"result": summary}))[0]
    assert shown.head[:3] == ["step", "offered per second", "completed per second"]
    assert shown.rows[1][:3] == ["3 s at 50/s", "50", "50"]
    names = {one.name for one in check_run(run.folder, run.manifest)}
    assert "schedule kept" in names
    assert not names & {"steady state", "Little's law"}, "they are about an even load"
