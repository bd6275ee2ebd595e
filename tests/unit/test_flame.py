"""Sampled stacks: read from perf, kept by a run, and drawn as flame graphs and as differences."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path
from xml.etree import ElementTree

import pytest

from hdbkit.charts.flame import flame_differences, flame_svg, flames
from hdbkit.execution.profiler import Profiler, rows
from hdbkit.results import columns
from hdbkit.results.writer import write_rows
from tests.unit.synthetic import Synthetic, write_queries

BASE, NEW = {"main;sort": 30, "main;<sum>": 10}, {"main;sort": 30, "main;<sum>": 30, "main;read;wait": 60}


def profiled(folder: Path, stacks: dict[str, int]) -> Synthetic:
    run = write_queries(folder, {"q01": 0.5})
    found = [{"t_us": 0, "part": "server", "stack": stack} for stack, n in stacks.items() for _ in range(n)]
    write_rows(run.folder.table("profile"), columns.PROFILE, found)
    return run


def test_a_box_is_as_wide_as_its_share_and_a_difference_has_both_shares() -> None:
    drawn = ElementTree.fromstring(flame_svg("server", NEW, BASE))
    titles = {one[0].text: one[1] for one in drawn}
    assert [title for title in titles if title and title.startswith("<sum>")] == ["<sum>: 25 % instead of 25 %"]
    assert titles["wait: 50 % instead of 0 %"].get("width") == "600.0"
    assert titles["sort: 25 % instead of 75 %"].get("fill") != titles["wait: 50 % instead of 0 %"].get("fill")


def test_the_flame_graphs_of_runs_and_of_their_difference_name_functions(tmp_path: Path) -> None:
    base, new = (
        [(run.folder, run.folder.read())] for run in (profiled(tmp_path / "a", BASE), profiled(tmp_path / "b", NEW))
    )
    assert [one.key for one in flames(new)] == ["flame-server"]
    assert "executed most often: wait 50 %" in flames(new)[0].alternative
    (apart,) = flame_differences(base, new, ("old", "new"))
    keys = {flame_differences(base, new, ("old", f"work={one}"))[0].key for one in ("1", "-1", "1" * 300, "1" * 301)}
    assert len(keys) == 4 and max(map(len, keys)) < 100
    assert "sort -50 %" in apart.alternative and "wait +50 %" in apart.alternative


@pytest.mark.skipif(not shutil.which("perf"), reason="perf is not installed")
def test_perf_samples_this_process(tmp_path: Path) -> None:
    profiler, start_ns = Profiler(tmp_path), time.monotonic_ns()
    profiler.begin([os.getpid()], None)
    until = time.process_time() + 1.0
    while time.process_time() < until:
        sum(range(1000))
    if profiler.end():
        pytest.skip("perf is not permitted here")
    found = rows(tmp_path, {os.getpid()}, start_ns)
    assert found and all(one["part"] == "clients" and 0 < one["t_us"] < 60_000_000 for one in found)
    assert any("Py" in one["stack"] and ";" in one["stack"] for one in found)
