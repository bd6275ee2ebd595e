"""Busy sessions along a run, and the charts of sessions that key and think."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from hdbkit.analysis.run.records import window_of
from hdbkit.analysis.run.schedule import busy_sessions
from hdbkit.analysis.run.summary import summarize
from hdbkit.charts.run_charts import run_charts
from hdbkit.results.columns import OPERATIONS
from tests.unit.synthetic import DETAILS, Synthetic, write_run

Operation = tuple[int, float, float, float]
"""Session, scheduled start, start and end in seconds."""
LIST: list[Operation] = [
    (0, 0.5, 0.5, 2.25),  # busy for 0.5, 1 and 0.25 s of the seconds
    (0, 1.0, 2.25, 2.75),  # was due while its session was busy
    (1, 1.5, 1.75, 1.75),
    (1, 3.0, 3.0, 9.0),  # longer than the window
]


def run_of(path: Path, **load: object) -> Synthetic:
    sessions, due_us, start_us, end_us = np.array(LIST).T * [[1], [1e6], [1e6], [1e6]]
    rows = pd.DataFrame(dict.fromkeys([*OPERATIONS, *DETAILS], np.zeros(len(LIST), np.int64)))
    rows = rows.assign(operation=1, virtual_user=sessions.astype(int), t_start_us=start_us.astype(int))
    rows = rows.assign(wait_us=(start_us - due_us).astype(int), latency_us=(end_us - start_us).astype(int))
    return write_run(path / "run", users=2, rampup_s=1, duration_s=4, rows=rows, load=dict(load))


def test_a_session_is_busy_from_the_scheduled_start_to_the_end(tmp_path: Path) -> None:
    run = run_of(tmp_path)
    window = window_of(run.manifest)
    assert busy_sessions(run.folder, window)["busy"].tolist() == pytest.approx([0.5, 1.5 - 0.25, 0.75, 1, 1])
    in_steps = busy_sessions(run.folder, window, step_s=2)
    assert in_steps["second"].tolist() == [0, 2]
    assert in_steps["busy"].tolist() == pytest.approx([0.875, 0.875])


def test_sessions_that_key_and_think_have_charts_of_lateness_and_busy_sessions(tmp_path: Path) -> None:
    run = run_of(tmp_path, keying_and_thinking=True)
    manifest = run.manifest.model_copy(update={"result": summarize(run.folder, run.manifest)})
    charts = {one.key: one for one in run_charts(run.folder, manifest)}
    assert "the latest start was 1,250.0 ms late" in charts["lateness"].alternative
    assert "In the window 1 of 2 sessions were busy on average, and 1.25 in the" in charts["busy"].alternative


def test_users_that_never_wait_have_no_charts_of_a_schedule(tmp_path: Path) -> None:
    run = run_of(tmp_path)
    manifest = run.manifest.model_copy(update={"result": summarize(run.folder, run.manifest)})
    assert not {one.key for one in run_charts(run.folder, manifest)} & {"lateness", "busy"}
