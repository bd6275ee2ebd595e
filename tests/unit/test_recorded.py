"""Sessions that the server saw at work belong to operations of the records."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from hdbkit.analysis.run.checks import check_run
from hdbkit.results import columns
from hdbkit.results.manifest import CheckLine
from tests.unit.synthetic import operations, write_run, write_table


def samples(rows: pd.DataFrame, seconds: float) -> pd.DataFrame:
    """Ten samples a second, each asked for 1 ms, of the users that have an operation in the middle of it."""
    at = (np.arange(0.05, seconds, 0.1) * 1e6).astype(int)
    seen = []
    for user, of_user in rows.sort_values("t_start_us").groupby("virtual_user"):
        starts = of_user["t_start_us"].to_numpy()
        ends = starts + of_user["latency_us"].to_numpy()
        last = np.searchsorted(starts, at + 500, "right") - 1
        active = (last >= 0) & (ends[last] >= at + 500)
        seen.append(pd.DataFrame({"t_us": at[active], "virtual_user": user}))
    own = {"session": 1, "class": "running", "event": "", "table": "", "blocked_by": -1, "blocked_by_user": -1}
    found = pd.concat(seen, ignore_index=True).assign(**own)
    return found.assign(t_returned_us=found["t_us"] + 1000)[list(columns.WAITS)]


def check(folder: Path, kept: pd.DataFrame, seen: pd.DataFrame) -> CheckLine:
    run = write_run(folder, duration_s=20, rows=kept)
    write_table(run.folder.table("waits"), seen, columns.WAITS)
    return {line.name: line for line in check_run(run.folder, run.manifest)}["active sessions recorded"]


@pytest.mark.parametrize("lost", [0.0, 0.05])
def test_records_that_were_lost_are_found_by_the_samples_of_sessions(tmp_path: Path, lost: float) -> None:
    rows = operations(4, 22)
    kept = rows[np.random.default_rng(4).random(len(rows)) >= lost]
    found = check(tmp_path / "a", kept, samples(rows, 22))
    assert found.passed is (not lost), found.detail
    assert "samples of sessions that work or wait" in found.detail
