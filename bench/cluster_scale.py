"""What the coordinator of 100 load hosts with 500 users each costs: its CPU time per second of a run, and its memory.

The hosts are simulated: 100 dask workers in one process, whose actors answer as those of a host with 500 users on the
null engine do. The coordinator, its connections and its messages are real. Seconds of the run are compressed: hosts
are asked several times per second, and the CPU time is divided by the number of times.
"""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from bench.common import quick_or, show, title
from hdbkit.cluster import coordinator, hosts
from hdbkit.cluster.host import facts
from hdbkit.config import Load, Target
from hdbkit.config.cluster import Cluster
from hdbkit.execution.control import ClientState, Control
from hdbkit.execution.live_sums import Sums
from hdbkit.execution.load_generator import Ending
from hdbkit.plan import RunPlan, new_run_id
from hdbkit.results.folder import RunFolder
from hdbkit.results.spool import record_type
from hdbkit.workloads import specification

HOSTS, USERS = quick_or(10, 100), 500
SECONDS = quick_or(60, 600)
"""Seconds of the simulated run."""
COMPRESSED = 4
OPERATIONS_PER_S = 5_000
"""Of each host; the size of a message depends on it only by the number of digits."""


class SimulatedHost:
    """Answers for 500 users as :class:`hdbkit.cluster.host.LoadHost` does."""

    def __init__(self, run_id: str, number: int) -> None:
        self._number, self._draw = number, np.random.default_rng(number)
        self._clients = range(number * USERS, (number + 1) * USERS)
        self._known, self._stopped = False, False
        self._sums = [self._second() for _ in range(10)]

    def _second(self) -> Any:
        """What a host with these users completes in a second."""
        records = np.zeros(OPERATIONS_PER_S, record_type({}))
        records["operation"] = self._draw.choice(5, OPERATIONS_PER_S, p=[0.45, 0.43, 0.04, 0.04, 0.04])
        records["end_ns"] = self._draw.lognormal(15, 0.7, OPERATIONS_PER_S)
        sums = Sums()
        sums.add(records, is_paced=False)
        return sums.sent

    def facts(self, target: str) -> dict[str, Any]:
        return facts(target) | {"name": f"host{self._number}"}

    async def clock(self) -> tuple[int, int]:
        return time.monotonic_ns(), time.monotonic_ns()

    def held(self) -> bool:
        return True

    def prepare(self, order: str, secret: object) -> None:
        pass

    async def look(self, number: int) -> bytes:
        received_ns = time.monotonic_ns()
        states = {} if self._known else dict.fromkeys(self._clients, int(ClientState.READY))
        endings = dict.fromkeys(self._clients, Ending.DONE.value) if self._stopped else {}
        self._known = True
        answer = {"states": states, "endings": endings, "sums": self._sums[number % 10], "cpu_s": 0.5, "error": ""}
        return json.dumps({**answer, "received_ns": received_ns, "answered_ns": time.monotonic_ns()}).encode()

    async def start_at(self, start_ns: int) -> int:
        return time.monotonic_ns()

    async def stop(self) -> None:
        self._stopped = True

    def ended(self) -> bool:
        return self._stopped

    def files(self) -> list[tuple[str, int, str]]:
        return []

    def forget(self) -> None:
        pass


def serve() -> None:
    """The hosts, in a process of their own; prints the scheduler's address and serves until its input ends."""
    distributed: Any = importlib.import_module("distributed")

    options = {"host": "127.0.0.1", "protocol": "tcp", "dashboard_address": "127.0.0.1:0", "memory_limit": 0}
    with distributed.LocalCluster(
        n_workers=HOSTS, threads_per_worker=1, processes=False, silence_logs="CRITICAL", **options
    ) as own:
        print(f"unencrypted:{own.scheduler_address}", flush=True)
        sys.stdin.read()


def measure(scheduler: str, folder: Path) -> dict[str, float]:
    """Coordinate a run of so many seconds; return what it cost."""
    load = Load(virtual_users=HOSTS * USERS, rampup_s=0, duration_s=SECONDS, cluster=Cluster.parse(scheduler))
    target, spec = Target(kind="nulldb", database="simulated"), specification()
    plan = RunPlan(run_id=new_run_id(datetime.now(UTC), target, spec, load), target=target, workload=spec, load=load)
    run = RunFolder(folder / plan.run_id)
    run.spools.mkdir(parents=True)
    Control.create(run.control, load.virtual_users).close()
    generator = coordinator.ClusterLoad(run, plan)
    generator.prepare(plan.users)
    while generator.ready() < load.virtual_users:
        generator.wait(0.1)
    generator.start_at(time.monotonic_ns() + round(1e9 * generator.head_start_s))
    there, own = generator._hosts, psutil.Process()
    time.sleep(10 / COMPRESSED)
    cpu_s, rss, began_s = time.process_time(), own.memory_info().rss, time.monotonic()
    messages = sum(one.noted.messages for one in there)
    time.sleep(SECONDS / COMPRESSED)
    used_s, took_s = time.process_time() - cpu_s, time.monotonic() - began_s
    seconds = (sum(one.noted.messages for one in there) - messages) / HOSTS
    grown = own.memory_info().rss - rss
    cut_offs = sum(len(one.noted.cut_offs) for one in there)
    generator.stop()
    generator.collect()
    return {
        "seconds": seconds,
        "per_s": seconds / took_s,
        "core_pct": 100 * used_s / seconds,
        "grown_mb": grown / 2**20,
        "cut_offs": cut_offs,
    }


def main() -> None:
    """Start the hosts, coordinate them, print what it cost."""
    title(f"The coordinator of {HOSTS} simulated load hosts with {USERS} users each")
    hosts.LoadHost = SimulatedHost  # type: ignore[assignment, attr-defined]
    coordinator._LOOK_S = 1 / COMPRESSED  # type: ignore[misc]
    words = [sys.executable, "-c", "from bench.cluster_scale import serve; serve()"]
    with (
        tempfile.TemporaryDirectory() as folder,
        subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as serving,
    ):
        assert serving.stdin and serving.stdout
        found = measure(serving.stdout.readline().strip(), Path(folder))
        serving.stdin.close()
    show(
        "seconds of the run, one message of each host in each", [found["seconds"]], note=f"{found['per_s']:.1f} per s"
    )
    show("CPU time of the coordinator, of one core", [found["core_pct"]], unit="%", at_most=10)
    show("growth of the memory over the run", [found["grown_mb"]], unit="MiB", at_most=5)
    show("hosts that did not answer in time", [found["cut_offs"]], at_most=0)
    os._exit(0)


if __name__ == "__main__":
    main()
