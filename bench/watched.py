"""A run that is watched live and the same run without a watcher: what the panel costs the clients.

The panel lives in a process of its own, as in a kernel, and looks twice a second; both ways alternate in shuffled
blocks on one server.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
from functools import partial

import hdbkit
from bench.common import blocks, quick_or, scratch, server, show, title
from hdbkit.servers import PrivateServer

CLIENTS = WAREHOUSES = 8
BLOCKS = quick_or(3, 8)
LOAD = hdbkit.Load(virtual_users=CLIENTS, rampup_s=1, duration_s=quick_or(4, 8))
WATCHER = "import sys, hdbkit.widgets; panel = hdbkit.widgets.RunPanel(); print(flush=True); "
WATCHER += "panel.attach(sys.stdin.readline().strip()).wait(); print(len(panel.live.points))"


def throughput(own: PrivateServer, watched: bool) -> float:
    """Transactions per second of a run. Raises ``RuntimeError`` if the panel did not watch it."""
    if not watched:
        return float(hdbkit.run(own.target, load=LOAD).summary["operations_per_s"])
    with subprocess.Popen(
        [sys.executable, "-c", WATCHER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=os.environ, text=True
    ) as watcher:
        assert watcher.stdin is not None and watcher.stdout is not None
        watcher.stdout.readline()  # wait until its imports are done
        running = hdbkit.start(own.target, load=LOAD)
        watcher.stdin.write(f"{running.run_id}\n")
        watcher.stdin.flush()
        result = running.wait()
        points = int(watcher.stdout.read() or 0)
    if points < LOAD.duration_s:
        raise RuntimeError(f"the panel read the run only {points} times in {LOAD.duration_s} s")
    return float(result.summary["operations_per_s"])


def main() -> None:
    """Print the ratio of both throughputs."""
    title(f"watched: a run of {CLIENTS} clients with its panel open, beside the same without")
    with scratch(), server(WAREHOUSES) as own:
        throughput(own, watched=False)  # warm up the server
        ways = {name: partial(throughput, own, watched) for name, watched in (("watched", True), ("alone", False))}
        done = blocks(ways, BLOCKS)
        rates = " and ".join(f"{statistics.median(one[name] for one in done):,.0f}" for name in ways)
        ratios = [one["watched"] / one["alone"] for one in done]
        show(f"{CLIENTS} clients: throughput watched / alone", ratios, at_least=0.98, note=f"{rates} /s")


if __name__ == "__main__":
    main()
