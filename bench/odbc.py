"""ODBC compared with the engine's own driver: client SQL on the same tables, in short alternating slices.

One session of each driver, in this process, on prepared tables; and the ways in which pyodbc can load rows.
"""

from __future__ import annotations

import os
import random
import time
from contextlib import closing
from decimal import Decimal
from functools import partial

from bench.common import blocks, postgres_environment, quick_or, scratch, server, show, show_figures, title
from hdbkit.config import Target, TprocCSpec
from hdbkit.contracts import SqlSession, TableLoad
from hdbkit.databases import database, sql_session
from hdbkit.servers import PrivateServer
from hdbkit.workloads import workload
from hdbkit.workloads.tproc_c import client

WORK = workload(TprocCSpec(warehouses=1))
SLICES = quick_or(20, 100)
TRANSACTIONS = 30
OWN, ODBC = "own", "odbc"
WAYS = {"an INSERT of several rows": 500, "executemany": 0}
"""By way of loading, the values of one INSERT."""


def through_odbc(own: PrivateServer) -> Target:
    """The same server and schema; the driver finds the password in libpq's password file."""
    target = own.target
    options = {"driver": "PostgreSQL Unicode", "server": str(target.host), "port": str(target.port)}
    options |= {"Protocol": "7.4-1", "ConnSettings": "SET search_path TO tproc_c"}
    return Target(kind="odbc", database=target.database, user=target.user, options=options)


def some_of_each(session: SqlSession, rng: random.Random) -> None:
    """Transactions in the proportions of the mix."""
    for _ in range(TRANSACTIONS):
        kind, d_id, c_id = rng.random(), rng.randint(1, 10), rng.randint(1, 3000)
        lines = rng.randint(5, 15)
        items = tuple(rng.randint(1, 100_000) for _ in range(lines))
        if kind < 0.45:
            client.new_order(session, (1, d_id, c_id, items, (1,) * lines, (5,) * lines))
        elif kind < 0.88:
            client.payment(session, (1, d_id, 1, d_id, c_id, None, Decimal("12.34")))
        elif kind < 0.92:
            client.order_status(session, (1, d_id, c_id, None))
        elif kind < 0.96:
            client.delivery(session, (1, 3))
        else:
            client.stock_level(session, (1, d_id, 15))


def measured(session: SqlSession, rng: random.Random) -> tuple[float, float]:
    """Transactions per second of a slice, and microseconds of the client's CPU per transaction."""
    began, used = time.perf_counter(), time.process_time()
    some_of_each(session, rng)
    wall_s, cpu_s = time.perf_counter() - began, time.process_time() - used
    return TRANSACTIONS / wall_s, 1e6 * cpu_s / TRANSACTIONS


def compare_drivers(own: PrivateServer) -> None:
    """Client SQL through both, the same transactions in each."""
    sessions, ways = {}, {}
    for name, target in {OWN: own.target, ODBC: through_odbc(own)}.items():
        sessions[name] = sql_session(target, WORK.scope(database(target).dialects))
        sessions[name].prepare(client.statements(sessions[name]))
        some_of_each(sessions[name], random.Random(1))
        ways[name] = partial(measured, sessions[name], random.Random(2))
    done = blocks(ways, SLICES)
    show_figures("client SQL", done, (ODBC, OWN), rate=0.5)
    for session in sessions.values():
        session.close()


def compare_loads(own: PrivateServer) -> None:
    """The same chunk of stock in each way, rolled back."""
    target = through_odbc(own)
    loads = (one for one in WORK.part("warehouse-1") if isinstance(one, TableLoad))
    load = next(one for one in loads if one.table.name == "stock")
    chunk = next(load.chunks)
    with closing(sql_session(target, WORK.scope(database(target).dialects))) as session:
        session.execute("CREATE TEMPORARY TABLE stock AS SELECT * FROM tproc_c.stock WHERE s_w_id = 0")
        for way, values in WAYS.items():
            session.values_per_insert = values  # type: ignore[attr-defined]
            rates = []
            for _ in range(quick_or(2, 5)):
                session.begin()
                began = time.perf_counter()
                rows = session.load(load.table, [chunk])
                rates.append(rows / (time.perf_counter() - began))
                session.rollback()
            show(f"rows of stock per second by {way}", rates)


def main() -> None:
    """Build, measure and print."""
    title(f"ODBC: {SLICES} slices of {TRANSACTIONS} transactions with each driver, in random order")
    with scratch(), server(1) as own:
        os.environ.update(postgres_environment(own))
        compare_drivers(own)
        compare_loads(own)


if __name__ == "__main__":
    main()
