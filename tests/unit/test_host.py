"""CPU time of a server whose workers come and go, and what of a running total belongs to the window."""

from __future__ import annotations

import math
import os
import re
import resource
import subprocess
import sys
from itertools import pairwise

import numpy as np
import pandas as pd
import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hdbkit.analysis.run.host import grown
from hdbkit.analysis.run.records import Window
from hdbkit.execution import host, process_tree
from hdbkit.execution.process_tree import TreeCpu
from hdbkit.results.manifest import HostFacts

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


def test_one_row_has_what_the_kernel_counts_of_the_host_and_what_reading_it_cost() -> None:
    samples = host.HostSamples()
    first, second = samples.take(), samples.take()
    assert len(second["cores_busy_s"]) == len(second["cores_interrupts_s"]) == psutil.cpu_count()
    assert sum(second["cores_busy_s"]) == pytest.approx(busy_s(second), abs=1)
    assert second["context_switches"] >= first["context_switches"] > second["soft_interrupts_sched"] > 0
    assert 0 < first["reading_s"] < second["reading_s"] < 1
    assert {device for name, device, _ in second[host.DEVICES] if name == "net_sent_bytes"} == interfaces()
    assert {"interrupts", "device_interrupts", "threads_running", "soft_interrupts_net_rx"} <= set(second)


def interfaces() -> set[str]:
    return {*psutil.net_io_counters(pernic=True)} - {"lo"}


def busy_s(row: dict[str, float]) -> float:
    return sum(row[f"cpu_{part}_s"] for part in ("user", "system", "steal"))


@pytest.mark.parametrize("listed", [True, False], ids=["listed by the kernel", "found by their parents"])
def test_no_worker_that_ends_is_lost_or_counted_twice(listed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process_tree, "_LISTS_CHILDREN", listed)
    looks = 0
    while looks <= 10:  # a busy host allows few of them
        looks += len(looked_at())


def looked_at() -> list[float]:
    """The CPU times of a server while its workers come and go; they only grow, and the last is all that it used."""
    used_s = -children_s()
    server = subprocess.Popen([sys.executable, "-c", WORKERS], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert server.stdout is not None
    seen: list[float] = []
    tree = TreeCpu(server.pid)
    while server.poll() is None and len(seen) < 20_000:
        seen.append(tree.total_s())
        if seen[-1] > 0.75:  # of 0.8 s
            break
    server.stdout.readline()
    last = tree.total_s()
    server.communicate(b"\n")
    used_s += children_s()
    known = [one for one in seen if not math.isnan(one)]
    falls = [(one, after) for one, after in pairwise(known) if after < one]
    assert falls == []
    assert last == pytest.approx(used_s, abs=0.2)
    assert math.isnan(tree.total_s())
    return known


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
    spanned = min(window.end_us, known["t_us"].max()) - max(window.start_us, known["t_us"].min())
    if known.empty or spanned < 0.95 * (window.end_us - window.start_us):
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
        assert 0 <= found <= (used[-1] - used[0]) / 0.95 + 1e-9


class Processes:
    """A server's processes as the kernel shows them; before each reading of one, whatever is due happens."""

    MAIN = 1

    def __init__(self, events: list[tuple[int, int]]) -> None:
        self.due = sorted(events, reverse=True)
        self.unlisted: set[int] = set()
        self._readings = 0
        self.used_s = dict.fromkeys(range(2, 6), 1.0)
        self.states = dict.fromkeys(self.used_s, b"S")
        self.waited_s = 0.0

    def reading(self) -> None:
        """Let workers compute, end, and be waited for, as planned for this moment."""
        self._readings += 1
        while self.due and self.due[-1][0] <= self._readings:
            worker = self.due.pop()[1]
            if self.states.get(worker) == b"Z":
                del self.states[worker]
                self.waited_s += self.used_s[worker]
            elif worker in self.states:
                self.used_s[worker] += 1
                self.states[worker] = b"Z" if self.used_s[worker] > 2 else b"S"

    def stat_fields(self, pid: int) -> list[bytes]:
        """State, parent, CPU time, that of those waited for, threads: an odd worker has two."""
        self.reading()
        if pid != self.MAIN and pid not in self.states:
            raise ProcessLookupError
        own_s, waited_s = (1.5, self.waited_s) if pid == self.MAIN else (self.used_s[pid], 0.0)
        state, parent, threads = (b"S", 0, 9) if pid == self.MAIN else (self.states[pid], self.MAIN, 1 + pid % 2)
        times = [round(seconds * os.sysconf("SC_CLK_TCK")) for seconds in (own_s, 0, waited_s, 0)]
        return [state, *(str(number).encode() for number in (parent, *[0] * 9, *times, 0, 0, threads))]

    def children_of(self, pid: int) -> list[str]:
        """Those that nobody has waited for; the first is missing at some readings."""
        self.reading()
        listed = list(map(str, self.states))
        return listed[1:] if self._readings in self.unlisted else listed

    def counted(self, pid: str) -> bytes:
        """What the scheduler counted of the first thread of a worker, which rests in one with two threads."""
        self.reading()
        return b"0 0 1" if int(pid) % 2 else f"{self.used_s.get(int(pid), 0):.0f} 0 1".encode()


@given(
    events=st.lists(st.tuples(st.integers(1, 200), st.integers(2, 5)), max_size=12),
    unlisted=st.sets(st.integers(1, 200), max_size=40),
)
def test_in_whatever_order_workers_end_the_total_never_decreases(
    events: list[tuple[int, int]], unlisted: set[int]
) -> None:
    kernel, tree = Processes(events), TreeCpu(Processes.MAIN)
    with pytest.MonkeyPatch.context() as patched:
        for name in ("stat_fields", "children_of"):
            patched.setattr(process_tree, name, getattr(kernel, name))
        patched.setattr(process_tree, "_counted", kernel.counted)
        patched.setattr(process_tree, "_AGAIN_S", 0)
        seen = [tree.total_s()]
        kernel.unlisted = unlisted if seen[0] > 0 else set()
        seen += [tree.total_s(of_all=not number % 5) for number in range(20)]
        kernel.states, kernel.due = dict.fromkeys(kernel.states, b"S"), []
        last = tree.total_s()
    known = [one for one in [*seen, last] if not math.isnan(one)]
    assert known == sorted(known)
    assert all(5.5 <= one <= 1.5 + sum(kernel.used_s.values()) for one in known)
    assert last == 1.5 + sum(kernel.used_s.values())


def test_the_facts_of_a_host_are_those_that_a_manifest_keeps() -> None:
    assert host.this_host_facts().keys() == HostFacts.model_fields.keys()
    assert all(re.search(r"^\w[\w-]* \(.*\d GB\)$", one) for one in host._disks())
