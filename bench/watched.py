"""A run that is watched live and the same run without a watcher: what the panel costs the clients.

The panel lives in a process of its own, as in a kernel, and looks twice a second; both ways alternate in shuffled
blocks on one server. The CPU time of that process is measured within the window. On a host whose clients and server
use all cores it is what the panel takes from them, and it varies much less than the throughput. A browser is not
part of it.
"""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from functools import partial
from operator import attrgetter

import hdbkit
from bench.common import blocks, quick_or, scratch, server, show, show_ratio, title
from hdbkit.servers import PrivateServer

CLIENTS = WAREHOUSES = 8
BLOCKS = quick_or(3, 8)
LOAD = hdbkit.Load(virtual_users=CLIENTS, rampup_s=1, duration_s=quick_or(4, 8))
WATCHED_S = LOAD.duration_s - 2
WATCHER = """
import sys, time, hdbkit.widgets
panel = hdbkit.widgets.RunPanel()
print(flush=True)
panel.attach(sys.stdin.readline().strip())
while not panel.view.live.points and not panel.stop.disabled:
    time.sleep(0.05)
began_s = time.process_time()
time.sleep(float(sys.argv[1]))
print(time.process_time() - began_s)
panel.wait()
print(len(panel.view.live.points))
"""
"""Prints a line when its imports are done, its CPU seconds while the run is measured, and the number of points."""


@dataclass(frozen=True)
class Measured:
    """A run: its operations per second, and the CPU time per second of the process that watched it."""

    per_s: float
    cpu: float = 0.0


def measure(own: PrivateServer, watched: bool) -> Measured:
    """Measure a run. Raises ``RuntimeError`` if the panel did not watch it."""
    if not watched:
        return Measured(hdbkit.run(own.target, load=LOAD).operations_per_s or 0.0)
    with subprocess.Popen(
        [sys.executable, "-c", WATCHER, str(WATCHED_S)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=os.environ, text=True,
    ) as watcher:  # fmt: skip
        assert watcher.stdin is not None and watcher.stdout is not None
        watcher.stdout.readline()
        running = hdbkit.start(own.target, load=LOAD)
        watcher.stdin.write(f"{running.run_id}\n")
        watcher.stdin.flush()
        result = running.wait()
        cpu_s, points = watcher.stdout.read().split() or ("0", "0")
    if int(points) < LOAD.duration_s:
        raise RuntimeError(f"the panel read the run only {points} times in {LOAD.duration_s} s")
    return Measured(result.operations_per_s or 0.0, float(cpu_s) / WATCHED_S)


def main() -> None:
    """Print the CPU time of the watching process, and the ratio of both throughputs."""
    title(f"watched: a run of {CLIENTS} clients with its panel open, beside the same without")
    with scratch(), server(WAREHOUSES) as own:
        measure(own, watched=False)  # warm up the server
        ways = {name: partial(measure, own, watched) for name, watched in (("watched", True), ("alone", False))}
        done = blocks(ways, BLOCKS)
        cores = os.cpu_count() or 1
        shares = [100 * one["watched"].cpu / cores for one in done]
        show(f"CPU time of the watching process, of {cores} cores", shares, unit="%", at_most=2)
        what, per_s = f"{CLIENTS} clients: throughput watched / alone", attrgetter("per_s")
        show_ratio(what, done, ("watched", "alone"), per_s, unit="/s", at_least=0.98)


if __name__ == "__main__":
    main()
