"""Thousands of sessions in two client processes, with the keying and thinking times of TPC-C 5.2.5.7, and without.

The theoretical rate is that of users who are answered at once: the sessions divided by their mean keying and thinking
time. It is calculated from the times of this run, so that it has no sampling error.
``python -m bench.sessions postgresql mariadb pgbouncer pgbench`` runs those named.
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
from bench.common import SETTINGS, Ended, blocks, postgres_environment, program, quick_or, scratch, show, title
from bench.custom import CONTENT, READ, ROWS, SCALE, TRANSFER, UPDATE, Figures, example
from hdbkit.analysis.run.records import window_of
from hdbkit.config import Target
from hdbkit.config.specs.custom import CustomSpec
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
WAYS = ("postgresql", "mariadb", "pgbouncer", "pgbench")


class Memory(threading.Thread):
    """The maximum memory of the client processes of a run, with their share of common pages (PSS)."""

    def __init__(self, results: Path) -> None:
        super().__init__(daemon=True)
        self._results, self._ended = results, threading.Event()
        self.most_bytes = 0

    def run(self) -> None:
        while not self._ended.wait(2):
            for path in self._results.glob("*/control.bin"):
                with suppress(OSError, ValueError):
                    page = Control(path)
                    self.most_bytes = max(self.most_bytes, sum(map(_pss_bytes, page.pids())))
                    page.close()

    def stop(self) -> None:
        self._ended.set()
        self.join()


def _pss_bytes(pid: int) -> int:
    with suppress(OSError):
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return 1024 * int(line.split()[1])
    return 0


@contextmanager
def server(kind: str, connections: int) -> Iterator[PrivateServer]:
    """A private server with a schema that accepts this number of connections."""
    settings = {**SETTINGS[kind], "max_connections": str(connections)}
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
    show(f"{what}: memory of all clients (PSS)", [memory.most_bytes / 2**30], unit="GiB", at_most=1)
    for line in result.checks[result.checks["passed"] == False].itertuples():  # noqa: E712
        print(f"    check failed: {line.name}: {line.detail}", flush=True)


def by_hdbkit(own: PrivateServer, spec: CustomSpec) -> Figures:
    """Operations per second of sessions without pauses, and client CPU in microseconds per operation."""
    each = DIRECT // PROCESSES
    load = hdbkit.Load(virtual_users=PROCESSES, sessions_per_user=each, rampup_s=WARM_S, duration_s=WINDOW_ALONE_S)
    found = hdbkit.run(own.target, spec, load).summary
    return found.operations_per_s or 0.0, found.client_cpu_us_per_operation or 0.0


def by_pgbench(own: PrivateServer, schema: str, files: list[str]) -> Figures:
    """The same of pgbench: a long run less a short one, with its logins and the first plans of each connection."""
    short, long = (_pgbench(own, schema, files, seconds) for seconds in (WARM_S, WARM_S + WINDOW_ALONE_S))
    done = operations_of(long) - operations_of(short)
    return done / WINDOW_ALONE_S, (long.cpu_s - short.cpu_s) * 1e6 / done


def _pgbench(own: PrivateServer, schema: str, files: list[str], seconds: int) -> Ended:
    command: list[str | Path] = [own.place.binaries / "pgbench", "--no-vacuum", "--protocol=prepared", *files]
    counts = [f"--client={DIRECT}", f"--jobs={PROCESSES}", f"--time={seconds}", f"--define=content={CONTENT}"]
    return program([*command, *counts], postgres_environment(own, schema))


def tell_beside(own: PrivateServer, folder: Path) -> None:
    """Throughput and client CPU beside pgbench with as many clients and threads, and the same statements."""
    transfers, entries = example("tpcb-like", scale=SCALE), example("key-value", rows=ROWS)
    for name, text in {"transfer": TRANSFER, "read": READ, "update": UPDATE}.items():
        (folder / name).write_text(text.format(scale=SCALE, rows=ROWS), encoding="utf-8")
    cases = (
        ("key-value", entries, "key_value", ["-f", f"{folder / 'read'}@95", "-f", f"{folder / 'update'}@5"]),
        ("TPC-B-like", transfers, "tpcb_like", ["-f", str(folder / "transfer")]),
    )
    for name, spec, schema, files in cases:
        hdbkit.connect(own.target).build(spec)
        ways = {"hdbkit": partial(by_hdbkit, own, spec), "pgbench": partial(by_pgbench, own, schema, files)}
        done = blocks(ways, BLOCKS)
        rates, cpu = ([one["hdbkit"][i] / one["pgbench"][i] for one in done] for i in (0, 1))
        notes = ["; ".join(f"{one['hdbkit'][i]:,.0f} and {one['pgbench'][i]:,.0f}" for one in done) for i in (0, 1)]
        what = f"{DIRECT} sessions without pauses, {name}"
        show(f"{what}: throughput / pgbench", rates, at_least=0.95, note=f"{notes[0]} /s")
        show(f"{what}: client CPU / pgbench", cpu, at_most=1.5, note=f"{notes[1]} us")


def main() -> None:
    """Print all figures, or those of the ways that are named."""
    wanted = sys.argv[1:] or WAYS
    title("sessions: thousands of connections in two client processes")
    with scratch() as folder:
        if "mariadb" in wanted:
            with server("mariadb", DIRECT + 100) as own:
                tell_keying(f"MariaDB, {DIRECT} sessions", own.target, DIRECT)
        if set(wanted) == {"mariadb"}:
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
