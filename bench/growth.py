"""hdbkit's own cost as the number of clients and the duration grow, on the null engine with 20 ms per call."""

from __future__ import annotations

import os
import re
import shutil
import time
from pathlib import Path

import psutil

import hdbkit
from bench.common import quick_or, scratch, show, title
from hdbkit.config import Target
from hdbkit.databases.nulldb.state import State
from hdbkit.execution.control import Control
from hdbkit.paths import results_folder
from hdbkit.results.catalog import find_run
from hdbkit.results.folder import RunFolder
from hdbkit.results.manifest import Status

CLIENTS = (1, 8, 64, 256)
LATENCIES_US = (20_000, 100)
REPEATS = quick_or(1, 2)
WINDOW_S = quick_or(4, 8)
EARLY_S, LATE_S = quick_or((2, 10), (5, 60))


def null_target(latency_us: int) -> Target:
    """A null database for this process."""
    options = {"latency_us": str(latency_us)}
    return Target(kind="nulldb", database=f"bench-{os.getpid()}-{latency_us}", options=options)


def start(latency_us: int, users: int, duration_s: float) -> tuple[hdbkit.Running, RunFolder]:
    """A run on the null engine, at the start of its window."""
    target = null_target(latency_us)
    load = hdbkit.Load(virtual_users=users, rampup_s=1, duration_s=duration_s)
    running = hdbkit.start(target, load=load)
    while running.status in (Status.STARTING, Status.RAMPUP):
        time.sleep(0.02)
    return running, find_run(results_folder(), running.run_id)


def costs(users: int) -> tuple[float, float]:
    """CPU of the clients in microseconds per transaction, and of the supervisor in percent of a core."""
    running, folder = start(LATENCIES_US[0], users, WINDOW_S)
    supervisor = psutil.Process(folder.read().supervisor_pid)
    began, before = time.monotonic(), sum(supervisor.cpu_times()[:2])
    time.sleep(WINDOW_S - 1)
    share = (sum(supervisor.cpu_times()[:2]) - before) / (time.monotonic() - began)
    return running.wait().summary.client_cpu_us_per_operation or 0.0, 100 * share


def grown_mib() -> float:
    """The growth of a client's private memory from early to late in a run, after many segments of its spool."""
    running, folder = start(LATENCIES_US[1], 1, LATE_S)
    page = Control(folder.control)
    time.sleep(EARLY_S)
    early = own_mib(page.pid(0))
    time.sleep(LATE_S - EARLY_S - 0.5)
    late = own_mib(page.pid(0))
    page.close()
    running.wait()
    return late - early


def own_mib(pid: int) -> float:
    """The anonymous memory of a process."""
    found = re.search(r"^RssAnon:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text(encoding="utf-8"), re.MULTILINE)
    assert found
    return int(found[1]) / 1024


def main() -> None:
    """Print each growth."""
    title("growth: the null engine at 20 ms a call")
    with scratch():
        for latency_us in LATENCIES_US:
            hdbkit.connect(null_target(latency_us)).build(warehouses=1)
        done = [{users: costs(users) for users in CLIENTS} for _ in range(REPEATS)]
        for users in CLIENTS:
            cpu = [one[users][0] / one[CLIENTS[0]][0] for one in done]
            us = ", ".join(f"{one[users][0]:.0f}" for one in done)
            limit = 1.1 if users != CLIENTS[0] else None
            show(f"{users} clients: CPU a transaction / that of {CLIENTS[0]}", cpu, at_most=limit, note=f"{us} us")
            show(f"{users} clients: supervisor, of one core", [one[users][1] for one in done], unit="%", at_most=2)
        name = f"a client's memory at {LATE_S} s less that at {EARLY_S} s"
        show(name, [grown_mib()], unit="MiB", at_most=0.5, note="at 0.1 ms a call")
        for latency_us in LATENCIES_US:
            shutil.rmtree(State(null_target(latency_us)).folder)


if __name__ == "__main__":
    main()
