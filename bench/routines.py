"""hdbkit's stored routines compared with an imitation of HammerDB's procedures: NOPM and the server's CPU time.

Debian's PostgreSQL 15, HammerDB's draws, restored data, shuffled blocks. The imitation has tables of its own.
"""

from __future__ import annotations

import statistics
from functools import partial

import hdbkit
from bench.common import blocks, show, title
from bench.side_by_side import BLOCKS, CLIENTS, SETTINGS, SPEC, WINDOW_S, Measured, Variant, measure
from hdbkit.config.specs.tproc_c import InputRules, TprocCLoad, TprocCSpec
from hdbkit.config.workload_spec import SchemaFrom
from hdbkit.loading import build
from hdbkit.servers import PrivateServer, control, private_server
from tests.hammerdb_like import copied

LOAD = TprocCLoad(virtual_users=CLIENTS, input_rules=InputRules.HAMMERDB)
HAMMERDB = TprocCSpec(schema_from=SchemaFrom.HAMMERDB)


def variants(server: PrivateServer) -> dict[str, Variant]:
    """hdbkit's routines on its tables, the imitation's on its own; the present data is kept."""
    found = {
        "hdbkit": Variant(server.target, LOAD),
        "imitation": Variant(copied(server, "hammerdb_like", rewrite=True), LOAD, HAMMERDB),
    }
    for way in found.values():
        control(way.target).keep_data()
    return found


def print_results(done: list[dict[str, Measured]]) -> None:
    """Print both ratios and their figures."""
    middle = {
        name: [
            statistics.median(getattr(one[name], what) for one in done) for what in ("metric_value", "server_cpu_us")
        ]
        for name in done[0]
    }
    metric_value = [one["hdbkit"].metric_value / one["imitation"].metric_value for one in done]
    cpu = [one["hdbkit"].server_cpu_us / one["imitation"].server_cpu_us for one in done]
    rates, times = (" and ".join(f"{middle[name][i]:,.0f}" for name in ("hdbkit", "imitation")) for i in (0, 1))
    show("routines: NOPM / the imitation's", metric_value, at_least=1.35, note=f"{rates} NOPM")
    show("routines: server CPU / the imitation's", cpu, at_most=0.72, note=f"{times} us")


def main() -> None:
    """Build, measure and print."""
    title(f"routines: {SPEC.warehouses} warehouses, {CLIENTS} clients, {BLOCKS} blocks of {WINDOW_S:g} s windows")
    with private_server("postgresql", source="installed", version="15", settings=SETTINGS) as server:
        print(f"private {hdbkit.connect(server.target).version}: {SETTINGS}", flush=True)
        build(server.target, SPEC)
        found = variants(server)
        print_results(blocks({name: partial(measure, way) for name, way in found.items()}, BLOCKS))


if __name__ == "__main__":
    main()
