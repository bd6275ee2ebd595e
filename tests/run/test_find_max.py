"""The search for the highest rate on the null engine, interrupted, killed and continued."""

from __future__ import annotations

import os
import signal

import pytest

import hdbkit
from hdbkit.config import Load
from hdbkit.errors import ExperimentFailed, SearchFailed
from hdbkit.experiment import EventKind, ExperimentEvent
from tests.run.conftest import NullTarget, wait_for


def test_a_search_that_was_stopped_and_killed_goes_on_with_its_runs(null_target: NullTarget) -> None:
    """No rate keeps a p50 of 1 us: the rate is halved until two operations are due in a window."""
    at, load = null_target(latency_us=1000), Load(rampup_s=0, duration_s=0.5, rate=16)
    ended: list[ExperimentEvent] = []

    def interrupt(event: ExperimentEvent) -> None:
        if event.kind is EventKind.FINISHED:
            ended.append(event)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        hdbkit.find_max(at, "p50=1us", load=load, label="top", watch=interrupt)
    running = hdbkit.start_experiment("last")
    wait_for(lambda: running.progress().done >= 2)
    os.kill(running.folder.journal.state.executed_by or 0, signal.SIGKILL)
    with pytest.raises(ExperimentFailed, match="its process was killed"):
        running.wait()
    with pytest.raises(SearchFailed, match=r"p50=0.001ms does not hold even at 4 per second.*lengthen the window"):
        hdbkit.resume_experiment("last", watch=ended.append)
    runs = hdbkit.runs("label = 'top'").iloc[::-1]
    rates = [hdbkit.result(one).manifest.plan["load"]["rate"] for one in runs["run_id"][runs["status"] == "done"]]
    assert rates == [16, 8, 4]
    seeds = [hdbkit.result(one).manifest.plan["load"]["seed"] for one in runs["run_id"][runs["status"] == "done"]]
    assert seeds == [load.seed, load.seed + 1, load.seed + 2]
