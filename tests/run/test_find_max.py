"""The search for the highest rate on the null engine, interrupted and continued."""

from __future__ import annotations

import pytest

import hdbkit
from hdbkit.api import MaxRateRun
from hdbkit.config import Load
from hdbkit.errors import SearchFailed
from tests.run.conftest import NullTarget


def test_an_interrupted_search_continues_with_its_runs_and_with_one_that_still_runs(null_target: NullTarget) -> None:
    """No rate keeps a p50 of 1 us: the rate is halved until two operations are due in a window."""
    at, load = null_target(latency_us=1000), Load(rampup_s=0, duration_s=0.5, rate=16)
    begun = hdbkit.start(at, load=load.with_(seed=1), label="top")  # its search was killed
    made: list[MaxRateRun] = []

    def interrupt(run: MaxRateRun) -> None:
        made.append(run)
        if len(made) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        hdbkit.find_max(at, "p50=1us", load=load, label="top", watch=interrupt)
    with pytest.raises(SearchFailed, match=r"p50=0.001ms does not hold even at 4 per second.*lengthen the window"):
        hdbkit.find_max(at, "p50=1us", load=load, label="top", watch=made.append)
    assert made[0].result.run_id == begun.run_id
    assert [(one.rate, one.measured) for one in made] == [(16, False), (8, True), (16, False), (8, False), (4, True)]
    (warning,) = made[-1].result.manifest.warnings
    assert warning.startswith("at this rate about 2 transactions are due in a window of 0.5 s, too few for quantiles")
    assert len(hdbkit.runs("label = 'top'")) == 3
