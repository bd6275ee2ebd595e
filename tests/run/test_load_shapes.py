"""When operations begin: keying and thinking times, in whole runs."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
import pytest

import hdbkit
from hdbkit.api import Result
from hdbkit.config import Load, Target
from hdbkit.errors import InputError
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


def operations(result: Result) -> pd.DataFrame:
    """The table of operations, in the order of their starts."""
    rows: pd.DataFrame = pq.read_table(result.folder.operations).to_pandas()
    return rows.sort_values("t_start_us", ignore_index=True)


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


def test_keying_and_thinking_are_refused_where_a_workload_has_no_times(file: Target, tmp_path: Path) -> None:
    own = folder(tmp_path, yaml="operations:\n  look: {}\n", sql=SQL)
    with pytest.raises(InputError, match="no operation of my-work has a keying or thinking time; omit keying_and_t"):
        hdbkit.run(file, own, Load(keying_and_thinking=True))
