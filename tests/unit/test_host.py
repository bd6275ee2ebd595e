"""CPU time of a server whose workers come and go, and what of a running total belongs to the window."""

from __future__ import annotations

import math
import resource
import subprocess
import sys
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hdbkit.analysis.run.host import grown
from hdbkit.analysis.run.windows import Window
from hdbkit.execution import host

WORKERS = """
import os, time
for _ in range(40):
    if not os.fork():
        end = time.process_time() + 0.02
        while time.process_time() < end: pass
        os._exit(0)
    os.wait()
print(flush=True)
input()
"""


def children_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def test_no_worker_that_ends_is_lost_or_counted_twice() -> None:
    used_s = -children_s()
    server = subprocess.Popen([sys.executable, "-c", WORKERS], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert server.stdout is not None
    seen: list[float] = []
    while server.poll() is None and len(seen) < 20_000:
        seen.append(host.process_tree_cpu_s(server.pid))
        if seen[-1] > 0.75:  # of 0.8 s
            break
    server.stdout.readline()
    last = host.process_tree_cpu_s(server.pid)
    server.communicate(b"\n")
    used_s += children_s()
    known = [one for one in seen if not math.isnan(one)]
    assert len(known) > 10
    falls = [(one, after) for one, after in pairwise(known) if after < one]
    assert falls == []
    assert last == pytest.approx(used_s, abs=0.2)
    assert math.isnan(host.process_tree_cpu_s(server.pid))


@given(
    steps=st.lists(st.floats(-1, 5), min_size=1, max_size=30),
    gaps=st.lists(st.booleans(), min_size=31, max_size=31),
    edges=st.tuples(st.integers(0, 30_000_000), st.integers(1, 30_000_000)),
)
def test_a_total_grows_within_its_samples_or_is_unknown(
    steps: list[float], gaps: list[bool], edges: tuple[int, int]
) -> None:
    values = np.cumsum([100.0, *steps])
    times = np.arange(len(values)) * 1_000_000
    sampled = pd.DataFrame({"t_us": times, "total_s": np.where(gaps[: len(values)], math.nan, values)})
    window = Window(edges[0], edges[0] + edges[1])
    found = grown(sampled, "total_s", window)
    known = sampled.dropna()
    if known.empty:
        assert found is None
        return
    before, after = known[known["t_us"] <= window.start_us], known[known["t_us"] >= window.end_us]
    low = known.index[0] if before.empty else before.index[-1]
    high = known.index[-1] if after.empty else after.index[0]
    used = known.loc[low:high, "total_s"].to_numpy()
    if len(used) < 2 or (np.diff(used) < 0).any():
        assert found is None
    else:
        assert found is not None
        assert 0 <= found <= used[-1] - used[0] + 1e-9
