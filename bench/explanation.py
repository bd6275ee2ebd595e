"""Whether the explanation of a difference names its cause: six causes are planted, and sides that are alike.

In each block the private PostgreSQL server is measured twice as it is (for sides that are alike) and once with each
cause, in a random order. A trial is six blocks: every cause is explained against the runs of the server as it is.
Files are read and written without the system's cache, so that a small cache of the server costs reads from the disk.
``python -m bench.explanation 20`` does 20 trials, about five minutes each on two cores, and prints every sentence;
``python -m bench.explanation cost`` measures what the samples cost, in slices of one run with and without them.
"""

from __future__ import annotations

import multiprocessing
import os
import random
import re
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from functools import partial
from multiprocessing.synchronize import Event

import numpy as np
import psutil
import psycopg

import hdbkit
from bench.common import quick_or, scratch, server, show, title
from bench.unchecked import use as use_unchecked_host
from hdbkit.analysis.run.records import operations_of, window_of
from hdbkit.config.specs.tproc_c import TprocCLoad
from hdbkit.contracts import SERVER, Session, SessionOptions
from hdbkit.databases import database
from hdbkit.readings import Pooling, PoolMode
from hdbkit.results.manifest import Status
from hdbkit.servers import PrivateServer, control

USERS = WAREHOUSES = 4
BLOCKS = 6
LOAD = TprocCLoad(virtual_users=USERS, rampup_s=0.5, duration_s=2.5, waits_hz=20)
SETTINGS = {"shared_buffers": "1GB", "debug_io_direct": "data", "autovacuum": "off"}
AS_IT_IS, ALIKE, STARVED = "as it is", "alike", "starved host"
TABLES = ("warehouse", "district", "customer", "history", "orders", "new_order", "order_line", "item", "stock")
INDEXED = {
    "customer": ("c_w_id", "c_last"), "orders": ("o_w_id", "o_c_id"), "new_order": ("no_w_id",),
    "order_line": ("ol_w_id",), "item": ("i_id",), "stock": ("s_w_id",),
}  # fmt: skip
"""A column of each index of the large tables."""
_STOPPED_S, _MOVING_S = 0.004, 0.002
"""How long a slow client is stopped at a time, and how long it works between that."""
_SLICE_S = 0.5


def sql(own: PrivateServer, *texts: str) -> None:
    """Execute statements in the schema, as its owner."""
    target = own.target
    address = f"host={target.host} port={target.port} user={target.user} dbname={target.database}"
    with psycopg.connect(f"{address} passfile={target.password_file}", autocommit=True) as session:
        session.execute("SET search_path = tproc_c")
        for text in texts:
            session.execute(text)


def read_all(own: PrivateServer) -> None:
    """Read every table and index into the server's cache."""
    sql(own, *(f"SELECT count(t) FROM {one} AS t" for one in TABLES))
    scans = [
        f"SELECT count({one}) FROM {table} WHERE {one} IS NOT NULL" for table, ones in INDEXED.items() for one in ones
    ]
    sql(own, "SET enable_seqscan = off", "SET enable_bitmapscan = off", *scans)


@contextmanager
def setting(own: PrivateServer, name: str, value: str) -> Iterator[None]:
    """A setting of the server, for a time. A server that was restarted has its data in its cache again afterwards."""
    kept = control(own.target)
    before = kept.snapshot([name])
    restarted = kept.apply({name: value}).applied_by.value == "restart"
    yield
    kept.restore(before)
    if restarted:
        read_all(own)


@contextmanager
def without_index(own: PrivateServer) -> Iterator[None]:
    """Payment and order status find customers by name without their index."""
    sql(own, "DROP INDEX customer_by_name")
    yield
    sql(own, "CREATE INDEX customer_by_name ON customer (c_w_id, c_d_id, c_last, c_first, c_id)", "ANALYZE customer")


@contextmanager
def hot_row(own: PrivateServer) -> Iterator[None]:
    """Each payment also updates the only row of a table, and keeps its lock for a millisecond."""
    sql(
        own,
        "CREATE SCHEMA hot",
        "CREATE TABLE hot.total (n bigint NOT NULL)",
        "INSERT INTO hot.total VALUES (0)",
        "CREATE FUNCTION hot.add_up() RETURNS trigger LANGUAGE plpgsql AS "
        "'BEGIN UPDATE hot.total SET n = n + 1; PERFORM pg_sleep(0.001); RETURN NULL; END'",
        "CREATE TRIGGER add_up AFTER UPDATE ON warehouse FOR EACH ROW EXECUTE FUNCTION hot.add_up()",
    )
    yield
    sql(own, "DROP TRIGGER add_up ON warehouse", "DROP SCHEMA hot CASCADE")


def _busy() -> None:
    parent = os.getppid()
    while os.getppid() == parent:
        sum(range(100_000))


@contextmanager
def starved(_own: PrivateServer) -> Iterator[None]:
    """Other processes take processors: four for each core."""
    others = [multiprocessing.Process(target=_busy, daemon=True) for _ in range(4 * (os.cpu_count() or 1))]
    for one in others:
        one.start()
    yield
    for one in others:
        one.kill()
        one.join()


def slow_down(results: str, ended: Event) -> None:
    """Stop and continue the clients of the present run, again and again."""
    while not ended.wait(0.05):
        clients = [one for one in psutil.process_iter(["cmdline"]) if _is_client(one, results)]
        until = time.monotonic() + 1
        while clients and time.monotonic() < until and not ended.is_set():
            for act, seconds in ((psutil.Process.suspend, _STOPPED_S), (psutil.Process.resume, _MOVING_S)):
                for one in clients:
                    with suppress(psutil.Error):
                        act(one)
                time.sleep(seconds)


@contextmanager
def slow_client(_own: PrivateServer) -> Iterator[None]:
    """Clients that are stopped two thirds of the time."""
    ended = multiprocessing.Event()
    slower = multiprocessing.Process(target=slow_down, args=(os.environ["HDBKIT_RESULTS"], ended), daemon=True)
    slower.start()
    yield
    ended.set()
    slower.join()


def _is_client(process: psutil.Process, results: str) -> bool:
    """Whether this is a client of a run in a folder: a fork of the run's supervisor."""
    with suppress(psutil.Error):
        words, parent = process.cmdline(), process.parent()
        return bool(words and words[-1].startswith(results) and parent and parent.cmdline() == words)
    return False


CAUSES: Mapping[str, tuple[str, Callable[[PrivateServer], AbstractContextManager[None]]]] = {
    ALIKE: ("", lambda _: nullcontext()),
    "commits wait": (r"waits for log", partial(setting, name="synchronous_commit", value="on")),
    "missing index": (r"no longer uses customer_by_name|Seq Scan", without_index),
    "hot row": (r"waits for lock of total", hot_row),
    "small cache": (r"waits for disk|pages read", partial(setting, name="shared_buffers", value="24MB")),
    STARVED: (r"waits for a processor", starved),
    "slow client": (r"client", slow_client),
}
"""What is planted: how, and what the first cause that is named must contain."""


def measured(own: PrivateServer, trial: str) -> None:
    """The runs of a trial: a label for each cause."""
    for block in range(BLOCKS):
        ways = [AS_IT_IS, *CAUSES]
        random.Random(f"{trial} {block}").shuffle(ways)
        for way in ways:
            with ExitStack() as planted:
                planted.enter_context(CAUSES.get(way, CAUSES[ALIKE])[1](own))
                running = hdbkit.start(own.target, load=LOAD, label=f"{trial} {way}")
                if way == STARVED:  # only until the window ends: what follows would take minutes
                    while running.status in (Status.STARTING, Status.RAMPUP, Status.MEASURING):
                        time.sleep(0.05)
                    planted.close()
                running.wait()


def judged(trial: str) -> dict[str, bool]:
    """Whether each explanation of a trial is right, with its sentence on the screen."""
    found = {}
    for way, (words, _) in CAUSES.items():
        why = hdbkit.Workspace().compare(f"{trial} {AS_IT_IS}", f"{trial} {way}").explanation
        assert why is not None
        first = why.sentence.split(";")[0]
        found[way] = bool(re.search(words, first)) and bool(why.causes) if words else not why.causes
        print(f"{trial} {way}: {'right' if found[way] else 'WRONG'}: {why.sentence}", flush=True)
    return found


def asked(session: Session, until_s: float, hz: float) -> None:
    """Ask what sessions wait for, this often, until a time of the monotonic clock."""
    while (left_s := until_s - time.monotonic()) > 0:
        time.sleep(min(left_s, 1 / hz) if hz else left_s)
        if hz:
            session.ask("session_waits")


def cost(own: PrivateServer, hz: float) -> list[float]:
    """The throughput of each slice of one run in which waits are sampled, over that of its neighbour without."""
    running = hdbkit.start(own.target, load=LOAD.with_(rampup_s=3, duration_s=quick_or(10, 60), waits_hz=0))
    edges_ns, asks = [time.monotonic_ns()], []
    options = SessionOptions(pooling=Pooling(PoolMode.DIRECT))
    session = database(own.target).connect(own.target, SERVER, options)
    while running.status in (Status.STARTING, Status.RAMPUP, Status.MEASURING):
        for each_hz in random.sample((hz, 0), 2):
            asked(session, edges_ns[-1] / 1e9 + _SLICE_S, each_hz)
            edges_ns.append(time.monotonic_ns())
            asks.append(bool(each_hz))
    session.close()
    result = running.wait()
    clock = result.manifest.clock
    assert clock is not None
    window = window_of(result.manifest)
    with operations_of(result.folder, window) as records:
        ends_us = records.project("t_end_us").fetchnumpy()["t_end_us"]
    edges_us = (np.array(edges_ns) - clock.start_monotonic_ns) / 1000
    per_s = np.histogram(ends_us, edges_us)[0] / np.diff(edges_us)
    pairs = [
        (per_s[first], per_s[first + 1]) if asks[first] else (per_s[first + 1], per_s[first])
        for first in range(0, len(asks), 2)
        if edges_us[first] >= window.start_us and edges_us[first + 2] <= window.end_us
    ]
    return [float(sampled / alone) for sampled, alone in pairs]


def main() -> None:
    """Print the cost of samples, or do trials and print each sentence and how many were right."""
    word = sys.argv[1] if len(sys.argv) > 1 else str(quick_or(1, 3))
    title("explanation: planted causes on the private server, 4 users, six blocks of 2.5 s a trial")
    with scratch(), server(WAREHOUSES, more=SETTINGS) as own:
        use_unchecked_host()
        read_all(own)
        hdbkit.run(own.target, load=LOAD)
        if word == "cost":
            for hz in (10.0, 50.0):
                ratios = cost(own, hz)
                mean = statistics.fmean(ratios)
                error = statistics.stdev(ratios) / len(ratios) ** 0.5
                show(f"throughput with samples at {hz:g} Hz / without, mean", [mean], at_least=0.99)
                print(f"    standard error {error:.4f}, {len(ratios)} pairs of slices", flush=True)
            return
        trials = [f"trial {number}" for number in range(int(word))]
        found = []
        for trial in trials:
            began = time.monotonic()
            measured(own, trial)
            found.append(judged(trial))
            print(f"{trial}: {time.monotonic() - began:.0f} s, load {os.getloadavg()[0]:.1f}", flush=True)
    for way in CAUSES:
        right = sum(one[way] for one in found)
        show(f"{way}: explained right, of {len(found)} trials", [right], at_least=0.95 * len(found))


if __name__ == "__main__":
    main()
