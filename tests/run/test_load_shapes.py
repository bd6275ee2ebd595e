"""When operations begin: keying and thinking times, in whole runs."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

import hdbkit
from hdbkit.config import Load, Target, TprocCLoad
from hdbkit.config.load import Arrivals
from hdbkit.databases.nulldb.state import State
from hdbkit.errors import InputError, RunFailed
from hdbkit.results.manifest import Status
from tests.run.conftest import NullTarget, operations
from tests.unit.own_workload import folder

SQL = """\
-- name: look
SELECT 1;
"""


@pytest.fixture
def file(tmp_path: Path) -> Target:
    """An empty database in a file, for workloads without tables."""
    path = tmp_path / "empty.db"
    with closing(sqlite3.connect(path)) as made:
        made.execute("PRAGMA user_version = 1")
    return Target(kind="sqlite", database=str(path))


def test_operations_of_an_own_workload_wait_for_their_keying_times(file: Target, tmp_path: Path) -> None:
    own = folder(tmp_path, yaml="operations:\n  look: {keying_s: 1, thinking_s: 5}\n", sql=SQL)
    load = Load(rampup_s=0, duration_s=60, iterations=3, keying_and_thinking=True, keying_scale=0.1, thinking_scale=0)
    rows = (
        pq.read_table(hdbkit.run(file, own, load).folder.operations)
        .to_pandas()
        .sort_values("t_start_us", ignore_index=True)
    )
    end_us = rows["t_start_us"] + rows["latency_us"]
    due_us = rows["t_start_us"] - rows["wait_us"]
    assert due_us.tolist() == pytest.approx([100_000, *(end_us[:2] + 100_000)], abs=2), "whole microseconds"


def test_options_without_effect_are_a_warning(file: Target, tmp_path: Path) -> None:
    own = folder(tmp_path, yaml="operations:\n  look: {}\n", sql=SQL)
    load = Load(rampup_s=0, duration_s=60, iterations=1, arrivals=Arrivals.UNIFORM, keying_scale=0.5)
    warnings = {"keying_scale has no effect without keying_and_thinking", "arrivals has no effect without a rate"}
    assert warnings <= {*hdbkit.run(file, own, load).warnings}  # a crowded host has a warning, too


def test_keying_and_thinking_are_refused_where_a_workload_has_no_times(file: Target, tmp_path: Path) -> None:
    own = folder(tmp_path, yaml="operations:\n  look: {}\n", sql=SQL)
    with pytest.raises(InputError, match="no operation of my-work has a keying or thinking time; omit keying_and_t"):
        hdbkit.run(file, own, Load(keying_and_thinking=True))


def test_a_stall_is_hidden_by_service_time_and_shown_by_response_time(null_target: NullTarget) -> None:
    """100 operations per second; all calls that begin between 1 s and 2 s wait until 2 s.

    With calls that take no time, the operation due k * 10 ms into the stall has a response time of
    1000 - 10 k ms: of 300 operations 100 are slow, the p95 is the 16th slowest (850 ms), the p75 the 76th (250 ms).
    """
    load = Load(rate=100, arrivals="uniform", rampup_s=0, duration_s=3.3, iterations=300)
    result = hdbkit.run(null_target(stall_at_s=1, stall_s=1), load=load)
    rows = operations(result)
    assert (rows["t_start_us"] - rows["wait_us"]).tolist() == [10_000 * at for at in range(300)]
    service_ms, response_ms = rows["latency_us"] / 1000, (rows["latency_us"] + rows["wait_us"]) / 1000
    quantiles = [0.5, 0.75, 0.95]
    shown = np.quantile(response_ms, quantiles, method="inverted_cdf")
    assert shown[1:] == pytest.approx([250, 850], abs=100), "a busy host delays each a little"
    assert shown[0] < 100
    assert np.quantile(service_ms, 0.99, method="inverted_cdf") < 100
    assert (service_ms > 900).sum() == 1
    assert result.manifest.rate_per_s == 100
    assert result.table("schedule")["due"].sum() == 300
    assert result.checks.set_index("name")["passed"]["schedule kept"]


def test_a_rate_beyond_the_capacity_is_reported_as_saturation(null_target: NullTarget) -> None:
    """A user with calls of 20 ms serves at most 50 per second."""
    load = Load(virtual_users=1, rate=500, rampup_s=0, duration_s=2, latency_limit_ms=100)
    result = hdbkit.run(null_target(latency_us=20_000), load=load)
    schedule = result.summary.schedule
    assert schedule.saturated
    assert schedule.offered_per_s == pytest.approx(500, rel=0.2), "Poisson: 1,000 +- 32 are due"
    assert schedule.achieved_per_s <= 51
    assert schedule.skipped > 500
    assert operations(result)["wait_us"].max() < 2_000_000, "what is too late is skipped, not served"
    assert not result.checks.set_index("name")["passed"]["schedule kept"]


def test_a_rate_of_the_metric_is_divided_by_its_share_of_the_mix(null_target: NullTarget) -> None:
    target = null_target(latency_us=100)
    load = TprocCLoad(rate=9, rate_of="metric", mix={"new_order": 1, "payment": 9}, rampup_s=0, duration_s=1)
    assert hdbkit.run(target, load=load).manifest.rate_per_s == pytest.approx(90 / 0.99)


def test_each_step_of_a_rate_is_a_phase_with_its_figures(null_target: NullTarget) -> None:
    load = Load(steps="1 s at 50/s; 1 s at 200/s", rampup_s=0.2, arrivals="uniform", virtual_users=4)
    result = hdbkit.run(null_target(latency_us=100), load=load)
    phases = [(one.name, one.measured) for one in result.manifest.phases]
    assert phases == [("rampup", False), ("1 s at 50/s", True), ("1 s at 200/s", True)]
    rows = operations(result)
    due_s = (rows["t_start_us"] - rows["wait_us"]) / 1e6
    assert [int(((due_s >= from_s) & (due_s < from_s + 1)).sum()) for from_s in (0.2, 1.2)] == pytest.approx(
        [50, 200], abs=1
    )
    assert [str(one.step) for one in result.summary.steps] == ["1 s at 50/s", "1 s at 200/s"]
    assert "steps" in result.charts()
    assert "1 s at 200/s" in result.report().read_text("utf-8")


def test_steps_of_users_let_the_others_pause(null_target: NullTarget) -> None:
    """Users 1 and 2 share a process; they are active from 1 s to 2 s."""
    load = Load(steps="1 s at 1 user; 1 s at 3 users; 1 s at 1 user", rampup_s=0, users_per_process=2)
    rows = operations(hdbkit.run(null_target(latency_us=5000), load=load))
    assert sorted(rows["virtual_user"].unique()) == [0, 1, 2]
    others = rows[rows["virtual_user"] > 0]
    assert others["t_start_us"].between(1_000_000, 2_500_000).all(), "one that was due in time may begin later"
    assert (rows["wait_us"] == 0).all()
    assert rows["t_start_us"].max() > 2_000_000


def test_logins_are_paced(null_target: NullTarget) -> None:
    """Five users of two processes log in at 0, 0.5, 1, 1.5 and 2 s; then all begin together."""
    load = Load(virtual_users=5, users_per_process=3, connect_rate=2, rampup_s=0, duration_s=60, iterations=3)
    target = null_target()
    result = hdbkit.run(target, load=load)
    files = (State(target).folder / "totals").glob("*.bin")
    _, *logins_s = sorted(int(one.stem.partition("-")[2]) / 1e9 for one in files)  # the first is of the check before
    assert len(logins_s) == 5
    assert logins_s[-1] - logins_s[0] > 1, "2 s, less the time that the first process needs to begin"
    begun = {event.status: event.at for event in result.manifest.history}
    assert (begun[Status.RAMPUP] - begun[Status.STARTING]).total_seconds() >= 2
    assert len(operations(result)) == 15


def test_a_run_is_stopped_while_its_users_log_in(null_target: NullTarget) -> None:
    running = hdbkit.start(null_target(), load=Load(virtual_users=100, users_per_process=50, connect_rate=1))
    running.stop()
    with pytest.raises(RunFailed, match="stopped before the start"):
        running.wait()
