"""The search for the highest rate on the null engine, interrupted, killed and continued."""

from __future__ import annotations

import os
import signal

import pytest

import hdbkit
from hdbkit.config import Load
from hdbkit.errors import ExperimentFailed, SearchFailed
from hdbkit.experiment import EventKind, ExperimentEvent
from hdbkit.results.journal import Step
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
        hdbkit.run_experiment(hdbkit.plan_max_rate(at, "p50=1us", load=load, label="top"), watch=interrupt)
    running = hdbkit.start_experiment("last")
    wait_for(lambda: running.progress().done >= 2)
    os.kill(running.folder.journal.state.executed_by or 0, signal.SIGKILL)
    with pytest.raises(ExperimentFailed, match="its process was killed"):
        running.wait()
    with pytest.raises(SearchFailed, match=r"p50=0.001ms does not hold even at 4 per second.*lengthen the window"):
        hdbkit.resume_experiment("last", watch=ended.append)
    lines = [one for one in running.folder.journal.lines if one.step is Step.RUN_FINISHED]
    loads = [hdbkit.result(one.run_id).manifest.plan.load for one in lines]
    assert [(one.number, load.rate, load.seed) for one, load in zip(lines, loads, strict=True)] == [
        (1, 16, 1), (2, 8, 2), (3, 4, 3),
    ]  # fmt: skip
