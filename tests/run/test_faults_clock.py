"""The wall clock changes during a run: durations and windows use the monotonic clock."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import hdbkit
from hdbkit.config import Load
from hdbkit.results.manifest import Status
from tests.run.conftest import NullTarget
from tests.run.faults import rows

PACKAGE = Path(hdbkit.__file__).parent
JUMPING = """
import os, time, pathlib
real, real_ns, calls = time.time, time.time_ns, [0]
def step():
    calls[0] += 1
    return (calls[0] % 3 - 1) * 86_400
time.time = lambda: real() + step()
time.time_ns = lambda: real_ns() + step() * 1_000_000_000
pathlib.Path({reported!r}, str(os.getpid())).touch()
"""
MAX_US = 60_000_000
"""No time of the run may be as long, however busy the host: a jump of the clock is of a day."""
WALL_CLOCK = {  # the end of a certificate, a clock of a server beside ours, the start of a run, stamps of its log
    "execution/questions.py": {"datetime.now", "time.time"},
    "execution/supervisor.py": {"datetime.now"},
    "execution/watching.py": {"datetime.now"},
}


@pytest.mark.new_interpreters
def test_a_wall_clock_that_jumps_by_days_changes_no_duration_and_no_window(
    null_target: NullTarget, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reported = tmp_path / "reported"
    reported.mkdir()
    (tmp_path / "sitecustomize.py").write_text(JUMPING.format(reported=str(reported)))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    load = Load(virtual_users=2, rampup_s=0.5, duration_s=2, counter_interval_s=0.2)
    result = hdbkit.run(null_target(latency_us=2000), load=load)
    assert list(reported.iterdir())  # the supervisor, of which the clients are forks, had the jumping clock
    assert result.manifest.status is Status.DONE
    assert result.summary.window_s == pytest.approx(2, abs=60)  # a jump is of 86,400 s
    clock = result.manifest.clock
    assert clock is not None
    assert clock.window_start_us == pytest.approx(500_000, abs=60_000_000)
    (bounds,) = rows(result, "select min(t_start_us), max(t_start_us), min(latency_us), max(latency_us) from {t}")
    assert 0 <= bounds[0] < bounds[1] < MAX_US
    assert 2000 <= bounds[2] <= bounds[3] < MAX_US
    for name in ("host", "counters"):
        table = result.table(name)
        assert table.filter(regex="^t_").max().max() < MAX_US


def test_nothing_that_measures_asks_the_wall_clock() -> None:
    found: dict[str, set[str]] = {}
    for room in ("execution", "databases", "workloads", "analysis"):
        for path in sorted((PACKAGE / room).rglob("*.py")):
            calls = {
                ast.unparse(one.func) for one in ast.walk(ast.parse(path.read_text())) if isinstance(one, ast.Call)
            }
            wall = calls & {"time.time", "time.time_ns", "datetime.now", "datetime.datetime.now", "datetime.utcnow"}
            if wall:
                found[str(path.relative_to(PACKAGE))] = wall
    assert found == WALL_CLOCK
