"""The time until many clients are connected and prepared, and the memory of each."""

from __future__ import annotations

import statistics
import time

import hdbkit
from bench.common import pss_mib, quick_or, scratch, server, show, title
from hdbkit.execution.control import Control
from hdbkit.paths import results_folder
from hdbkit.results.catalog import find_run
from hdbkit.results.manifest import Status
from hdbkit.servers import PrivateServer

CLIENTS = 200
REPEATS = quick_or(1, 3)


def start_run(own: PrivateServer) -> tuple[float, list[float]]:
    """Seconds from the call to the common start, and the proportional memory of each client in MiB."""
    load = hdbkit.Load(virtual_users=CLIENTS, rampup_s=4, duration_s=1, keying_and_thinking=True)
    began_ns = time.monotonic_ns()
    running = hdbkit.start(own.target, load=load)
    folder = find_run(results_folder(), running.run_id)
    while running.status is Status.STARTING:
        time.sleep(0.02)
    clock = folder.read().clock
    assert clock
    time.sleep(1.5)
    page = Control(folder.control)
    memory = [pss_mib(page.pid(client)) for client in range(CLIENTS)]
    page.close()
    running.wait()
    return (clock.start_monotonic_ns - began_ns) / 1e9, memory


def main() -> None:
    """Print both figures."""
    title(f"start: {CLIENTS} clients on a private server")
    with scratch(), server(1) as own:
        done = [start_run(own) for _ in range(REPEATS)]
    show("from the call to the common start of all", [one[0] for one in done], unit="s", at_most=5)
    show("memory of a client (PSS), median", [statistics.median(one[1]) for one in done], unit="MiB", at_most=10)
    show("memory of a client (PSS), greatest", [max(one[1]) for one in done], unit="MiB", at_most=10)


if __name__ == "__main__":
    main()
