"""hdbkit's stored routines compared with an imitation of HammerDB's procedures, and with client SQL.

Debian's PostgreSQL 15, restored data, shuffled blocks. The imitation has tables of its own and HammerDB's draws.
0.52 of the stored routines is 1.25 times the best of the known benchmarks that send client SQL.
"""

from __future__ import annotations

from functools import partial
from operator import attrgetter

import hdbkit
from bench.common import blocks, show_ratio, title
from bench.side_by_side import BLOCKS, CLIENTS, SETTINGS, SPEC, WINDOW_S, Variant, measure
from hdbkit.config.specs.tproc_c import InputRules, Routines, TprocCLoad, TprocCSpec
from hdbkit.config.workload_spec import SchemaFrom
from hdbkit.loading import build
from hdbkit.servers import PrivateServer, control, private_server
from tests.hammerdb_like import copied

LOAD = TprocCLoad(virtual_users=CLIENTS, input_rules=InputRules.HAMMERDB)
HAMMERDB = TprocCSpec(schema_from=SchemaFrom.HAMMERDB)


def beside_imitation(server: PrivateServer) -> None:
    """Print NOPM and the server's CPU time beside those of the imitation."""
    sides = {
        "hdbkit": Variant(server.target, LOAD),
        "imitation": Variant(copied(server, "hammerdb_like", rewrite=True), LOAD, HAMMERDB),
    }
    for way in sides.values():
        control(way.target).keep_data()
    done = blocks({name: partial(measure, way) for name, way in sides.items()}, BLOCKS)
    names = ("hdbkit", "imitation")
    show_ratio("routines: NOPM / the imitation's", done, names, attrgetter("metric_value"), at_least=1.35)
    cpu_us = attrgetter("server_cpu_us")
    show_ratio("routines: server CPU / the imitation's", done, names, cpu_us, unit="us", at_most=0.72)


def client_sql(server: PrivateServer) -> None:
    """Print the throughput of client SQL beside that of the routines, on the same tables."""
    load = TprocCLoad(virtual_users=CLIENTS)
    ways = {name.value: Variant(server.target, load.with_(routines=name)) for name in Routines}
    done = blocks({name: partial(measure, way) for name, way in ways.items()}, BLOCKS)
    rate = attrgetter("operations_per_s")
    show_ratio("client SQL: throughput / the routines'", done, ("client", "stored"), rate, unit="/s", at_least=0.52)


def main() -> None:
    """Build, measure and print."""
    title(f"routines: {SPEC.warehouses} warehouses, {CLIENTS} clients, {BLOCKS} blocks of {WINDOW_S:g} s windows")
    with private_server("postgresql", source="installed", version="15", settings=SETTINGS) as server:
        print(f"private {hdbkit.connect(server.target).version}: {SETTINGS}", flush=True)
        build(server.target, SPEC)
        beside_imitation(server)
        client_sql(server)


if __name__ == "__main__":
    main()
