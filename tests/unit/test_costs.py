"""A cost that jumps, within a run or since earlier runs, is found and named; what costs as much as before is not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from hdbkit.analysis.run.checks import check_run
from hdbkit.analysis.run.cost_jumps import jumps
from hdbkit.config import Load, Target, TprocCSpec
from hdbkit.plan import RunPlan
from hdbkit.results import columns
from hdbkit.results.manifest import CheckLine, Phase
from tests.unit.synthetic import Synthetic, counters_of, operations, with_result, write_run, write_table

CHECK = "no jump in the cost of a transaction"
SLEV = 4


def run_id(second: int, users: int = 2, scale: str = "c-w2") -> str:
    return f"20260101-0000{second:02}-nulldb-{scale}-u{users}-aaaaaa"


def slower_from(rows: pd.DataFrame, second: float, factor: float) -> pd.DataFrame:
    """The rows with a stock level that takes so many times as long from this second on."""
    late = (rows["operation"] == SLEV) & (rows["t_start_us"] >= second * 1e6)
    return rows.assign(latency_us=np.where(late, rows["latency_us"] * factor, rows["latency_us"]).astype(np.int64))


def sampled(rows: pd.DataFrame, each: dict[str, float], jumps_at_s: float = 99, times: float = 1) -> pd.DataFrame:
    """Counters of the server each second: per transaction what ``each`` says, ``times`` as much from a second on."""
    known = counters_of(rows, 2_000_000, 14_000_000)
    end_us = (rows["t_start_us"] + rows["latency_us"]).to_numpy()
    found = [known]
    for second in range(15):
        done, late = (end_us <= second * 1e6).sum(), ((end_us <= second * 1e6) & (end_us > jumps_at_s * 1e6)).sum()
        values = {name: cost * (done + (times - 1) * late) for name, cost in each.items()}
        values |= {"commits": done, "rollbacks": 0}
        edge = {2: "start", 14: "end"}.get(second, "")
        at = {"t_sent_us": second * 1_000_000, "t_returned_us": second * 1_000_000, "edge": edge}
        found.append(pd.DataFrame([{**at, "name": name, "value": value} for name, value in values.items()]))
    return pd.concat([known[known["name"] == columns.COUNTED], *found[1:]])


def make(
    folder: Path, rows: pd.DataFrame | None = None, counters: pd.DataFrame | None = None, users: int = 2, **more: Any
) -> Synthetic:
    rows = operations(users, 14.5) if rows is None else rows
    run = write_run(folder, users=users, duration_s=more.pop("duration_s", 12), rows=rows, **more)
    if counters is not None:
        write_table(run.folder.table("counters"), counters, columns.COUNTERS)
    return with_result(run)


def line(run: Synthetic) -> CheckLine:
    return {check.name: check for check in check_run(run.folder, run.manifest)}[CHECK]


def test_an_operation_that_becomes_slow_within_the_run_is_named(tmp_path: Path) -> None:
    found = line(make(tmp_path / run_id(1), slower_from(operations(2, 14.5), 8, 50)))
    assert found.passed is False
    assert "median latency of stock_level (ms):" in found.detail
    assert "earlier in the run" in found.detail
    assert "payment" not in found.detail


@pytest.mark.parametrize("names", [("blks_hit", "blks_read"), ("page_requests",), ("scanned_rows",)])
def test_work_of_the_server_that_multiplies_within_the_run_is_named(tmp_path: Path, names: tuple[str, ...]) -> None:
    rows = operations(2, 14.5)
    level = {name: 400.0 / len(names) for name in names}
    steady = line(make(tmp_path / run_id(1), rows, sampled(rows, level)))
    assert steady.passed is True
    run = make(tmp_path / run_id(2, scale="c-w3"), rows, sampled(rows, level, jumps_at_s=9, times=10))
    lists = line(replace(run, manifest=run.manifest.model_copy(update={"lists": [(["payment"], 9)]})))
    assert "earlier in the run" not in lists.detail, "the parts of lists consist of unlike operations"
    found = line(run)
    assert found.passed is False
    what = "rows read by full scans" if names == ("scanned_rows",) else "pages requested"
    assert found.detail.startswith(f"{what}: 4,")
    assert "but 400 earlier in the run" in found.detail


def test_earlier_runs_with_other_user_counts_show_what_the_server_reads(tmp_path: Path) -> None:
    few, many = operations(2, 14.5), operations(4, 14.5)
    make(tmp_path / run_id(1), few, sampled(few, {"page_requests": 60.0}))
    plan = RunPlan(
        run_id=run_id(2, 4),
        target=Target(kind="nulldb", host="db1", database="bench"),
        workload=TprocCSpec(warehouses=2),
        load=Load(virtual_users=4, rampup_s=2, duration_s=12),
    )
    found = line(make(tmp_path / run_id(2, 4), many, sampled(many, {"page_requests": 6000.0}), plan=plan))
    assert found.passed is False
    assert found.detail.startswith("pages requested: 6,000, but 60 in 1 earlier run")


def test_latencies_are_compared_with_runs_of_as_many_users(tmp_path: Path) -> None:
    make(tmp_path / run_id(1))
    slow = slower_from(operations(2, 14.5), 0, 50)
    found = line(make(tmp_path / run_id(2), slow))
    assert found.passed is False
    assert "in 1 earlier run" in found.detail
    assert line(make(tmp_path / run_id(3))).passed is True  # faster than the last
    other = slower_from(operations(3, 14.5), 0, 50)
    assert line(make(tmp_path / run_id(4, 3), other, users=3)).passed is True


def test_another_load_is_no_earlier_run(tmp_path: Path) -> None:
    make(tmp_path / run_id(1))
    slow = slower_from(operations(2, 14.5), 0, 50)
    assert line(make(tmp_path / run_id(2), slow, load={"all_warehouses": True})).passed is True


def test_a_short_first_run_cannot_be_compared(tmp_path: Path) -> None:
    found = line(make(tmp_path / run_id(1), operations(2, 6), duration_s=3))
    assert found.passed is None
    assert found.detail == "there is no earlier run of this configuration, and it is shorter than 10 s"


def test_what_comes_before_all_users_have_started_is_no_earlier_level(tmp_path: Path) -> None:
    run = make(tmp_path / run_id(1), slower_from(operations(2, 24.5), 10, 50), duration_s=22)
    assert line(run).passed is False
    starts = Phase(name="starts", measured=False, start_us=0, end_us=11_000_000)
    changed = run.manifest.model_copy(update={"phases": [starts]})
    assert {one.name: one for one in check_run(run.folder, changed)}[CHECK].passed is True


def test_a_busy_host_makes_all_operations_slower_which_is_no_jump() -> None:
    """Five to eight times as slow as before, and stock levels alone sixty times."""
    before = {"new_order": 4.0, "payment": 3.0, "delivery": 6.0, "stock_level": 5.0}
    busy = {name: (one, one * times) for (name, one), times in zip(before.items(), (5, 8, 6, 7), strict=True)}
    assert jumps(busy, "") == []
    assert [one.what for one in jumps(busy | {"stock_level": (5.0, 300.0)}, "")] == ["stock_level"]
    assert [one.what for one in jumps({"only": (5.0, 40.0)}, "")] == ["only"]
