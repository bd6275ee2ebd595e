"""Redis compared with PostgreSQL: throughput and client CPU time; a build compared with ``redis-cli --pipe``.

Both servers are up all the time, and one of them under load: the same warehouses, clients, inputs and moment. Redis
writes its log every second, PostgreSQL about as often (``synchronous_commit`` off). The floor of the build is Redis's
own client with the same commands, ready-made in its protocol, over as many connections.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from operator import attrgetter
from os import getloadavg
from pathlib import Path

import hdbkit
from bench.build import CONNECTIONS, by_hdbkit
from bench.build import SPEC as BUILT
from bench.common import blocks, program, quick_or, scratch, server, show_ratio, title
from hdbkit.config.specs.tproc_c import InputRules, TprocCSpec
from hdbkit.contracts import TableLoad
from hdbkit.databases import database
from hdbkit.databases._base.access import in_account_file
from hdbkit.databases.redis.load import Loader
from hdbkit.results.run_result import RunResult
from hdbkit.servers import PrivateServer, control
from hdbkit.workloads import workload

SPEC = TprocCSpec(warehouses=quick_or(2, 4))
CLIENTS = quick_or((2,), (1, 2, 4))
BLOCKS = quick_or(2, 4)
RAMPUP_S, WINDOW_S = 1, quick_or(3, 5)


def measured(own: PrivateServer, clients: int) -> RunResult:
    """The result of a run."""
    load = hdbkit.TprocCLoad(
        virtual_users=clients, rampup_s=RAMPUP_S, duration_s=WINDOW_S, input_rules=InputRules.HAMMERDB
    )
    found = hdbkit.run(own.target, load=load).summary
    print(f"  {own.target.kind}, {clients} clients: {found.metric_value:,.0f} NOPM", flush=True)
    return found


def compare_runs(redis: PrivateServer, postgres: PrivateServer) -> None:
    """Print the ratios for each number of clients."""
    both, sides = {"redis": redis, "postgresql": postgres}, ("redis", "postgresql")
    for own in both.values():
        hdbkit.connect(own.target).build(SPEC)
    for clients in CLIENTS:
        done = blocks({kind: partial(measured, own, clients) for kind, own in both.items()}, BLOCKS)
        show_ratio(f"{clients} clients: NOPM / PostgreSQL's", done, sides, attrgetter("metric_value"), at_least=3)
        for where, limit in (("client", 1.3), ("server", None)):
            what, cpu_us = f"{clients} clients: {where} CPU", attrgetter(f"{where}_cpu_us_per_operation")
            show_ratio(f"{what} / PostgreSQL's", done, sides, cpu_us, unit="us", at_most=limit)


def commands(own: PrivateServer, folder: Path) -> list[Path]:
    """A file for each part of the population: its commands in Redis's protocol."""
    engine, work = database(own.target), workload(BUILT)
    scope = work.scope(engine.dialects)
    files = []
    for part in work.parts(engine.dialects):
        files.append(folder / f"{part.key}.commands")
        with files[-1].open("wb") as file:
            for load in (one for one in work.part(part.key) if isinstance(one, TableLoad)):
                lines = scope.statements[f"load_{load.table.name}"].text.splitlines()
                loader = Loader(load.table.name, lines, load.table.columns, f"{scope.schema}:")
                for chunk in load.chunks:
                    file.writelines(command for _, command in loader.keyed(chunk))
    return files


def by_client(own: PrivateServer, files: list[Path]) -> float:
    """Seconds of the load by redis-cli."""
    target = own.target
    control(target).maintain()
    secret = {"REDISCLI_AUTH": in_account_file(target.password_file, target.user or "default") or ""}
    words = f"redis-cli -h {target.host} -p {target.port} --user {target.user} --pipe"
    schema = database(target).schema(target, workload(BUILT))
    schema.create(workload(BUILT).record)
    began = time.monotonic()
    with ThreadPoolExecutor(CONNECTIONS) as pool:
        list(pool.map(lambda path: program(["sh", "-c", f"{words} < {path}"], secret), files))
    took_s = time.monotonic() - began
    schema.drop()
    schema.close()
    return took_s


def compare_loads(own: PrivateServer, folder: Path) -> None:
    """Print the ratio of the times of a load."""
    files = commands(own, folder)
    ways: dict[str, Callable[[], float]] = {
        "hdbkit": lambda: by_hdbkit(own, BUILT)[0],
        "redis-cli": partial(by_client, own, files),
    }
    done = blocks(ways, quick_or(2, 3))
    what = f"load of {BUILT.warehouses} warehouses / redis-cli's"
    show_ratio(what, done, ("hdbkit", "redis-cli"), float, unit="s", at_most=1.5)


def main() -> None:
    """Print all figures."""
    title(f"redis: {SPEC.warehouses} warehouses, stored routines, beside the same on PostgreSQL; {BLOCKS} blocks")
    with scratch() as folder, server(kind="redis") as redis, server() as postgres:
        compare_runs(redis, postgres)
        print(f"load of the machine: {getloadavg()[0]:.1f}", flush=True)
        hdbkit.connect(redis.target).drop()
        compare_loads(redis, folder)


if __name__ == "__main__":
    main()
