"""Variants of the transactions, measured side by side: same clients, inputs, server and time.

Each variant is a separate database, restored before each of its runs, and a function that creates users on it.
"""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.synchronize import Barrier
from pathlib import Path

from bench.common import quick_or
from hdbkit.config import Load, Target
from hdbkit.config.specs.tproc_c import TprocCSpec
from hdbkit.contracts import Prepared, Session, User, UserPlan
from hdbkit.databases import database
from hdbkit.errors import RolledBackByDesign, TransactionError
from hdbkit.servers import control
from hdbkit.workloads import workload

CLIENTS = 4
RAMPUP_S, WINDOW_S = quick_or((1.0, 4.0), (3.0, 10.0))
BLOCKS = quick_or(2, 4)
SPEC = TprocCSpec(warehouses=quick_or(4, 10))
SETTINGS = {"shared_buffers": "1GB", "synchronous_commit": "off", "max_wal_size": "8GB", "autovacuum": "off"}
_TICK_S = 0.01


@dataclass(frozen=True)
class Variant:
    """A database, the schema in it, and how it is used."""

    target: Target
    load: Load
    spec: TprocCSpec = SPEC

    def connect(self) -> Session:
        """A session with the statements of the workload."""
        engine = database(self.target)
        return engine.connect(self.target, workload(self.spec).scope(engine.dialects))


@dataclass(frozen=True)
class Measured:
    """The result of a window; CPU times are per transaction, in microseconds."""

    metric_value: float
    operations_per_s: float
    server_cpu_us: float
    client_cpu_us: float
    failed: int


def measure(variant: Variant, prepare: Callable[[Session], None] = lambda _: None) -> Measured:
    """Restore the data, start all clients together, and read the counters at both edges of the window.

    ``prepare`` is called once the data are restored.
    """
    control(variant.target).restore_data()
    watcher = variant.connect()
    prepare(watcher)
    server = database(variant.target).server_process(watcher)
    assert server is not None
    context = multiprocessing.get_context("fork")
    users = variant.load.virtual_users
    barrier = context.Barrier(users + 1)
    pipes, clients = [], []
    for index in range(users):
        mine, theirs = context.Pipe(duplex=False)
        clients.append(context.Process(target=_client, args=(variant, index, barrier, theirs)))
        clients[-1].start()
        pipes.append(mine)
    barrier.wait(60)
    time.sleep(RAMPUP_S)
    before = _edge(watcher, server)
    time.sleep(WINDOW_S)
    seconds, cpu_s, orders = (after - then for after, then in zip(_edge(watcher, server), before, strict=True))
    results = [pipe.recv() for pipe in pipes]
    for client in clients:
        client.join()
    watcher.close()
    done, client_cpu_s, failed = (sum(column) for column in zip(*results, strict=True))
    rate = done / WINDOW_S
    return Measured(60 * orders / seconds, rate, cpu_s / seconds * 1e6 / rate, client_cpu_s * 1e6 / done, failed)


def _edge(watcher: Session, server: int) -> tuple[float, float, int]:
    """The clock, the server's CPU time and the number of orders."""
    return time.monotonic(), server_cpu_s(server), watcher.ask("count_new_orders")[0][0]


def _client(variant: Variant, index: int, barrier: Barrier, pipe: Connection) -> None:
    """One client: its transactions in the window, and their CPU time, including inputs."""
    session = variant.connect()
    work = workload(variant.spec)
    user = work.user(session, work.load(variant.load), UserPlan(index, variant.load.seed * 1000 + index))
    batch = user.next_batch()
    barrier.wait(60)
    window = time.monotonic() + RAMPUP_S
    _work(user, batch, window)
    cpu_s = time.process_time()
    done, failed = _work(user, user.next_batch(), window + WINDOW_S)
    pipe.send((done, time.process_time() - cpu_s, failed))
    time.sleep(1)  # the CPU time of this session's server process is still to be read
    session.close()


def _work(user: User, batch: Sequence[Prepared], until: float) -> tuple[int, int]:
    """The number of transactions until a time of the monotonic clock, and of failed ones."""
    clock, done, failed = time.monotonic, 0, 0
    while True:
        for prepared in batch:
            if clock() >= until:
                return done, failed
            try:
                prepared.perform(prepared.bound)
            except RolledBackByDesign:
                pass
            except TransactionError as error:
                if not failed:
                    print(f"a transaction failed: {error}", flush=True)
                failed += 1
            done += 1
        batch = user.next_batch()


def server_cpu_s(postmaster: int) -> float:
    """CPU time of a server and its processes, including those that have ended."""
    total = 0
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(path.parent.name) == postmaster:
            total += sum(map(int, fields[11:15]))
        elif int(fields[1]) == postmaster:
            total += sum(map(int, fields[11:13]))
    return total * _TICK_S
