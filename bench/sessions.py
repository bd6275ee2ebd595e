"""Thousands of sessions in two client processes, with the keying and thinking times of TPC-C 5.2.5.7, and without.

The theoretical rate is that of users who are answered at once: the sessions divided by their mean keying and thinking
time. It is calculated from the times of this run, so that it has no sampling error.
``python -m bench.sessions postgresql mariadb pool pgbouncer pgbench`` runs those named; ``pool`` is MariaDB with its
pool of threads, without which as many sessions as behind PgBouncer are as many threads.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

import pyarrow.parquet as pq

import hdbkit
from bench.client import operations_of
from bench.common import (
    SETTINGS,
    Figures,
    blocks,
    figures,
    pgbench,
    pss_mib,
    quick_or,
    scratch,
    show,
    show_figures,
    title,
)
from bench.custom import CONTENT, Example, examples
from hdbkit.analysis.run.records import window_of
from hdbkit.config import Target
from hdbkit.execution.control import Control
from hdbkit.paths import results_folder
from hdbkit.servers import PrivateServer, private_server
from tests.run.poolers import pgbouncer

PROCESSES = 2
WAREHOUSES = 8
DIRECT, POOLED = quick_or((200, 1000), (1000, 10_000))
POOL = 16
RAMPUP_S, WINDOW_S = quick_or((20, 20), (60, 90))
WINDOW_ALONE_S = quick_or(8, 15)
"""The window without pauses."""
WARM_S = 8
LOGINS_PER_S = 150
BLOCKS = quick_or(1, 3)
WAYS = ("postgresql", "mariadb", "pool", "pgbouncer", "pgbench")


class Memory(threading.Thread):
    """The maximum memory of the client processes of a run, with their share of common pages (PSS)."""

    def __init__(self, results: Path) -> None:
        super().__init__(daemon=True)
        self._results, self._ended = results, threading.Event()
        self.most_mib = 0.0

    def run(self) -> None:
        while not self._ended.wait(2):
            for path in self._results.glob("*/control.bin"):
                with suppress(OSError, ValueError):
                    page = Control(path)
                    self.most_mib = max(self.most_mib, sum(map(pss_mib, page.pids())))
                    page.close()

    def stop(self) -> None:
        self._ended.set()
        self.join()


@contextmanager
def server(kind: str, connections: int, **settings: str) -> Iterator[PrivateServer]:
    """A private server with a schema that accepts this number of connections."""
    settings = {**SETTINGS[kind], "max_connections": str(connections), **settings}
    with private_server(kind, settings=settings) as own:
        print(f"private {hdbkit.connect(own.target).version}: {settings}", flush=True)
        hdbkit.connect(own.target).build(warehouses=WAREHOUSES)
        yield own


def tell_keying(what: str, target: Target, sessions: int) -> None:
    """Rate, lateness and memory of so many sessions that key and think."""
    load = hdbkit.Load(
        virtual_users=PROCESSES,
        sessions_per_user=sessions // PROCESSES,
        keying_and_thinking=True,
        connect_rate=LOGINS_PER_S,
        rampup_s=RAMPUP_S,
        duration_s=WINDOW_S,
    )
    memory = Memory(results_folder())
    memory.start()
    began = time.monotonic()
    result = hdbkit.run(target, load=load)
    took_s = time.monotonic() - began
    memory.stop()
    window, rows = window_of(result.manifest), pq.read_table(result.folder.operations).to_pandas()
    rows["t_due_us"] = rows["t_start_us"] - rows["wait_us"]
    rows = rows.sort_values(["virtual_user", "t_start_us"])
    rows["t_end_us"] = rows["t_start_us"] + rows["latency_us"]
    waited_us = rows["t_due_us"] - rows.groupby("virtual_user")["t_end_us"].shift()
    chosen = rows["t_end_us"].between(window.start_us, window.end_us) & waited_us.notna()
    response_us = (rows["wait_us"] + rows["latency_us"])[chosen]
    late_ms, waited_us = rows["wait_us"][chosen] / 1000, waited_us[chosen]
    ratio = waited_us.mean() / (waited_us.mean() + response_us.mean())
    summary = result.summary
    note = (
        f"{summary.operations_per_s:.1f} /s, {summary.failed} failed, service p99 "
        f"{rows['latency_us'][chosen].quantile(0.99) / 1000:.1f} ms, client CPU "
        f"{summary.client_cpu_us_per_operation:.0f} us, {took_s:.0f} s in all"
    )
    show(f"{what}: rate / theoretical rate", [ratio], at_least=0.995, note=note)
    shares = ", ".join(f"p{share * 100:g} {late_ms.quantile(share):.2f}" for share in (0.5, 0.95, 0.999))
    show(f"{what}: lateness p99", [late_ms.quantile(0.99)], unit="ms", at_most=50, note=f"{shares} ms")
    show(f"{what}: memory of all clients (PSS)", [memory.most_mib / 1024], unit="GiB", at_most=1)
    for line in result.checks[result.checks["passed"] == False].itertuples():  # noqa: E712
        print(f"    check failed: {line.name}: {line.detail}", flush=True)


def by_hdbkit(own: PrivateServer, one: Example) -> Figures:
    """Those of a run of sessions without pauses."""
    each = DIRECT // PROCESSES
    load = hdbkit.Load(virtual_users=PROCESSES, sessions_per_user=each, rampup_s=WARM_S, duration_s=WINDOW_ALONE_S)
    return figures(hdbkit.run(own.target, one.spec, load).summary)


def by_pgbench(own: PrivateServer, one: Example) -> Figures:
    """Those of pgbench: a long run less a short one, with its logins and the first plans of each connection."""
    counts = ("--protocol=prepared", f"--client={DIRECT}", f"--jobs={PROCESSES}", f"--define=content={CONTENT}")
    short, long = (
        pgbench(own, one.schema, *counts, f"--time={seconds}", *one.files)
        for seconds in (WARM_S, WARM_S + WINDOW_ALONE_S)
    )
    done = operations_of(long) - operations_of(short)
    return done / WINDOW_ALONE_S, (long.cpu_s - short.cpu_s) * 1e6 / done


def tell_beside(own: PrivateServer, folder: Path) -> None:
    """Throughput and client CPU beside pgbench with as many clients and threads, and the same statements."""
    for one in examples(folder):
        hdbkit.connect(own.target).build(one.spec)
        done = blocks({"hdbkit": partial(by_hdbkit, own, one), "pgbench": partial(by_pgbench, own, one)}, BLOCKS)
        what = f"{DIRECT} sessions without pauses, {one.name}"
        show_figures(what, done, ("hdbkit", "pgbench"), rate=0.95, cpu=1.5)


def main() -> None:
    """Print all figures, or those of the ways that are named."""
    wanted = sys.argv[1:] or WAYS
    title("sessions: thousands of connections in two client processes")
    with scratch() as folder:
        if "mariadb" in wanted:
            with server("mariadb", DIRECT + 100) as own:
                tell_keying(f"MariaDB, {DIRECT} sessions", own.target, DIRECT)
        if "pool" in wanted:
            with server("mariadb", POOLED + 100, thread_handling="pool-of-threads") as own:
                tell_keying(f"MariaDB with a pool of threads, {POOLED} sessions", own.target, POOLED)
        if set(wanted) <= {"mariadb", "pool"}:
            return
        with server("postgresql", DIRECT + 100) as own:
            if "postgresql" in wanted:
                tell_keying(f"PostgreSQL, {DIRECT} sessions", own.target, DIRECT)
            if "pgbouncer" in wanted:
                with pgbouncer(own, "transaction", default_pool_size=POOL, max_client_conn=POOLED + 100) as target:
                    tell_keying(f"PgBouncer, {POOLED} sessions", target, POOLED)
            if "pgbench" in wanted:
                tell_beside(own, folder)


if __name__ == "__main__":
    main()
