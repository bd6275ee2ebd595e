"""A time without a completed operation is found, with what sessions waited for; chance makes none."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from hdbkit.analysis.run.checks import check_run
from hdbkit.analysis.run.records import window_of
from hdbkit.analysis.run.standstills import standstill
from hdbkit.analysis.run.warnings import run_warnings
from hdbkit.readings import BLOCKER
from hdbkit.results import columns
from hdbkit.results.manifest import CheckLine
from tests.unit.synthetic import Synthetic, operations, with_result, write_run, write_table

FROM_US, TO_US = 6_000_000, 9_000_000


def paused(seconds: float = 14.5) -> pd.DataFrame:
    """Operations of four users, none of which is completed for 3 s."""
    rows = operations(4, seconds)
    ends = rows["t_start_us"] + rows["latency_us"]
    return rows[~ends.between(FROM_US, TO_US)]


def waits(blocked_by: int) -> pd.DataFrame:
    """Samples of sessions that wait for a lock during the pause."""
    at = np.arange(FROM_US + 50_000, TO_US, 100_000)
    own = {"session": 11, "virtual_user": 0, "class": "lock", "event": "relation", "table": "stock"}
    return pd.DataFrame(
        {"t_us": at, "t_returned_us": at + 1000, **own, "blocked_by": blocked_by, "blocked_by_user": -1}
    )


def check(run: Synthetic) -> CheckLine:
    return {line.name: line for line in check_run(run.folder, run.manifest)}["no standstill"]


def test_a_standstill_fails_a_check_that_names_its_time_its_wait_and_who_held_it(tmp_path: Path) -> None:
    run = write_run(tmp_path / "a-run", duration_s=12, rows=paused())
    write_table(run.folder.table("waits"), waits(77), columns.WAITS)
    failed = check(run)
    assert failed.passed is False
    assert "for 3 s from 6 s of the run on (usually" in failed.detail
    assert "sessions waited for relation on stock (100 % of the samples), held by session 77" in failed.detail
    named = pd.DataFrame({"t_us": [7_000_000], "kind": [BLOCKER], "text": ["session 77 (pg_dump of backup, idle)"]})
    write_table(run.folder.table("events"), named, columns.EVENTS)
    assert "(100 % of the samples): session 77 (pg_dump of backup, idle)" in check(run).detail
    (warning,) = [str(one) for one in run_warnings(with_result(run).manifest) if "completed for" in one]
    assert "(100 % of the samples): session 77 (pg_dump of backup, idle)" in warning


def test_a_standstill_that_moves_the_mean_by_less_than_a_drift_may_is_a_warning_and_no_failure(
    tmp_path: Path,
) -> None:
    run = write_run(tmp_path / "a-run", duration_s=70, rows=paused(72.5))
    assert check(run).passed is True
    assert any("completed for 3 s" in warning for warning in run_warnings(with_result(run).manifest))


def test_a_standstill_at_either_end_of_the_window_is_found(tmp_path: Path) -> None:
    for number, (begin_us, end_us) in enumerate(((0, 5_000_000), (10_000_000, 15_000_000))):
        rows = operations(4, 14.5)
        rows = rows[~(rows["t_start_us"] + rows["latency_us"]).between(begin_us, end_us)]
        assert check(write_run(tmp_path / str(number), duration_s=12, rows=rows)).passed is False


def test_failed_operations_do_not_hide_a_standstill(tmp_path: Path) -> None:
    rows = operations(4, 14.5)
    rows.loc[(rows["t_start_us"] + rows["latency_us"]).between(FROM_US, TO_US), "outcome"] = 2
    assert check(write_run(tmp_path / "a-run", duration_s=12, rows=rows)).passed is False


@pytest.mark.parametrize("per_s", [2, 20, 400])
def test_operations_that_end_at_random_moments_do_not_stand_still(tmp_path: Path, per_s: int) -> None:
    """Of 30 runs with an exponential time between two ends none has an unusual gap."""
    draw = np.random.default_rng(1)
    unusual = 0
    for number in range(30 if per_s < 400 else 5):
        at = np.cumsum(draw.exponential(1e6 / per_s, 62 * per_s)).astype(np.int64)
        rows = operations(1, 1)[:1].drop(columns=["t_start_us"]).merge(pd.DataFrame({"t_start_us": at}), how="cross")
        run = write_run(tmp_path / f"{number}", users=1, duration_s=55, rows=rows.assign(latency_us=10))
        found = standstill(run.folder, run.manifest, window_of(run.manifest))
        unusual += bool(found and found.unusual)
    assert unusual == 0


def test_one_user_whose_slow_operations_take_most_of_the_time_does_not_stand_still(tmp_path: Path) -> None:
    latency_us = np.tile(np.r_[np.full(99, 1_000), 1_500_000], 8)
    begin_us = np.r_[0, latency_us.cumsum()[:-1]]
    rows = operations(1, 1)[:1].drop(columns=["t_start_us", "latency_us"])
    rows = rows.merge(pd.DataFrame({"t_start_us": begin_us, "latency_us": latency_us}), how="cross")
    assert check(write_run(tmp_path / "a-run", users=1, rampup_s=1, duration_s=11, rows=rows)).passed is True


def test_a_gap_of_the_own_samples_is_stated(tmp_path: Path) -> None:
    run = write_run(tmp_path / "a-run", duration_s=12)
    host = pd.read_parquet(run.folder.table("host"))
    write_table(run.folder.table("host"), host[~host["t_us"].between(5_000_000, 9_000_000)], columns.HOST)
    assert "own samples have gaps: host" in check(run).detail


def test_a_gap_of_fewer_than_four_users_may_be_one_long_operation_and_fails_nothing(tmp_path: Path) -> None:
    run = write_run(tmp_path / "a-run", duration_s=12, rows=paused())
    load = run.manifest.plan.load.with_(virtual_users=3)
    plan = run.manifest.plan.model_copy(update={"load": load})
    manifest = run.manifest.model_copy(update={"plan": plan})
    (line,) = [one for one in check_run(run.folder, manifest) if one.name == "no standstill"]
    assert line.passed is True
