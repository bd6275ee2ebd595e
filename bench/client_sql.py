"""Client SQL compared with stored routines on one server: the throughput if the client sends every statement.

Debian's PostgreSQL 15, restored data, shuffled blocks. 0.52 of the stored routines is 1.25 times the best of the
known benchmarks that send client SQL.
"""

from __future__ import annotations

import statistics
from functools import partial

import hdbkit
from bench.common import blocks, show, title
from bench.side_by_side import BLOCKS, CLIENTS, SETTINGS, SPEC, WINDOW_S, Measured, Variant, measure
from hdbkit.config.specs.tproc_c import Routines, TprocCLoad
from hdbkit.loading import build
from hdbkit.servers import PrivateServer, control, private_server


def variants(server: PrivateServer) -> dict[str, Variant]:
    """Both variants on the same tables, whose present data is kept."""
    control(server.target).keep_data()
    return {name.value: Variant(server.target, TprocCLoad(virtual_users=CLIENTS, routines=name)) for name in Routines}


def print_results(done: list[dict[str, Measured]]) -> None:
    """Print the ratio and the CPU time of both."""
    ratios = [one["client"].operations_per_s / one["stored"].operations_per_s for one in done]
    middle = {
        name: [
            statistics.median(getattr(one[name], what) for one in done)
            for what in ("operations_per_s", "client_cpu_us", "server_cpu_us")
        ]
        for name in ("client", "stored")
    }
    rates, client_us, server_us = (" and ".join(f"{of[i]:,.0f}" for of in middle.values()) for i in range(3))
    show("client SQL: throughput / the stored routines'", ratios, at_least=0.52, note=f"{rates} /s")
    print(f"CPU per transaction, client SQL and stored: {client_us} us of the clients, {server_us} us of the server")


def main() -> None:
    """Build, measure and print."""
    title(f"client SQL: {SPEC.warehouses} warehouses, {CLIENTS} clients, {BLOCKS} blocks of {WINDOW_S:g} s windows")
    with private_server("postgresql", source="installed", version="15", settings=SETTINGS) as server:
        print(f"private {hdbkit.connect(server.target).version}: {SETTINGS}", flush=True)
        build(server.target, SPEC)
        print_results(blocks({name: partial(measure, way) for name, way in variants(server).items()}, BLOCKS))


if __name__ == "__main__":
    main()
