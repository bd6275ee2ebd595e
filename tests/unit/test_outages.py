"""Outages: times without a completed operation in which connections were lost."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from hdbkit.analysis.run.outages import outages, outages_text
from hdbkit.analysis.run.records import window_of
from hdbkit.analysis.run.summary import summarize
from hdbkit.charts.run_charts import run_charts
from hdbkit.results.columns import ERROR_CLASSES, OPERATIONS, Outcome
from hdbkit.results.run_result import Outage
from tests.unit.synthetic import DETAILS, Synthetic, write_run

LOST, DEADLOCK = ERROR_CLASSES.index("connection_lost"), ERROR_CLASSES.index("deadlock")


def run_of(path: Path, ends_ms: list[int], failures: dict[int, int]) -> Synthetic:
    """Payments of 1 ms that end at these times, ``failures`` with an error class; the window is 1 s to 5 s."""
    ends_us = 1000 * np.array(ends_ms)
    rows = pd.DataFrame(dict.fromkeys([*OPERATIONS, *DETAILS], np.zeros(len(ends_us), np.int64)))
    rows = rows.assign(t_start_us=ends_us - 1000, latency_us=1000, operation=1)
    rows["error_class"] = [failures.get(end, 0) for end in ends_ms]
    rows["outcome"] = np.where(rows["error_class"] > 0, Outcome.FAILED.value, Outcome.COMMITTED.value)
    return write_run(path / "run", users=1, rampup_s=1, duration_s=4, rows=rows)


def found(run: Synthetic) -> list[tuple[float, float | None, int]]:
    listed = outages(run.folder, window_of(run.manifest))
    return [(one.start_s, one.end_s, one.lost) for one in listed]


STEADY = [*range(10, 5000, 10)]


@pytest.mark.parametrize(
    ("without", "failures", "expected"),
    [
        (range(2000, 3000), {2005: LOST, 2006: LOST}, [(1.99, 3.0, 2)]),
        (range(2000, 3000), {2005: LOST, 2500: LOST, 4005: LOST}, [(1.99, 3.0, 2)]),
        (range(2000, 3000), {2005: DEADLOCK}, []),
        (range(0, 500), {3: LOST}, [(0.0, 0.5, 1)]),
        (range(4000, 9000), {4005: LOST}, [(3.99, None, 1)]),
        ([*range(2000, 2200), *range(3000, 3100)], {2005: LOST, 3050: LOST}, [(1.99, 2.2, 1), (2.99, 3.1, 1)]),
        (range(2000, 2080), {2005: LOST}, []),
    ],
)
def test_an_outage_is_between_two_completed_operations(
    tmp_path: Path, without: range, failures: dict[int, int], expected: list[tuple[float, float | None, int]]
) -> None:
    ends = sorted([*(one for one in STEADY if one not in without), *failures])
    assert found(run_of(tmp_path, ends, failures)) == expected


def test_a_run_in_which_nothing_was_completed_has_one_outage(tmp_path: Path) -> None:
    assert found(run_of(tmp_path, [100, 4000], {100: LOST, 4000: LOST})) == [(0.0, None, 2)]


def test_the_chart_of_the_throughput_shades_and_describes_an_outage(tmp_path: Path) -> None:
    ends = sorted([*(one for one in STEADY if not 2000 <= one < 3000), 2005])
    run = run_of(tmp_path, ends, {2005: LOST})
    manifest = run.manifest.model_copy(update={"result": summarize(run.folder, run.manifest)})
    chart = {one.key: one for one in run_charts(run.folder, manifest)}["throughput"]
    assert "from 1.99 s to 3.00 s, when 1 transaction lost its connection (outage)" in chart.alternative
    assert [one.text for one in chart.figure.layout.annotations].count("outage") == 1
    (shade,) = (one for one in chart.figure.layout.shapes if one.x0 == 1.99)
    assert shade.x1 == 3.0


def test_an_outage_without_an_end_is_described() -> None:
    words = outages_text([Outage(start_s=1, end_s=None, lost=2)], "query")
    assert words == "No query was completed from 1.00 s on, when 2 queries lost their connection (outage)."
