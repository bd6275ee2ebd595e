"""hdbkit's routines on MariaDB and MySQL compared with an imitation of HammerDB's procedures, by number of users.

Each has tables of its own, loaded alike, in a database of the same server; restored data, all of them in the buffer
pool, HammerDB's draws, shuffled blocks. A server that is started loads the pages that it had last: of one of the two.
MariaDB is measured with a thread per connection, its default, and with a pool of as many threads as cores.
``python -m bench.contention mariadb --users 16 32 --blocks 2`` measures a part of it.
"""

from __future__ import annotations

import argparse
import statistics
from functools import partial
from typing import cast

from bench.common import blocks, quick_or, server, show, title
from bench.side_by_side import BLOCKS, SPEC, WINDOW_S, Measured, Variant, measure
from hdbkit.config.specs.tproc_c import InputRules, TprocCLoad, TprocCSpec
from hdbkit.config.workload_spec import SchemaFrom
from hdbkit.contracts import Session, SqlSession
from hdbkit.databases import database
from hdbkit.loading import build
from hdbkit.servers import PrivateServer, control
from hdbkit.workloads.tproc_c.tables import TABLES
from tests.hammerdb_like import converted

CASES: tuple[tuple[str, dict[str, str]], ...] = (
    ("mariadb", {}),
    ("mariadb", {"thread_handling": "pool-of-threads"}),
    ("mysql", {}),
)
"""The engines, with settings beside those of all benches."""
USERS = quick_or((16,), (1, 4, 16, 32))
HAMMERDB = TprocCSpec(schema_from=SchemaFrom.HAMMERDB)


def variants(own: PrivateServer, users: int) -> dict[str, Variant]:
    """hdbkit's routines on its tables, the imitation's on its own."""
    load = TprocCLoad(virtual_users=users, input_rules=InputRules.HAMMERDB)
    return {
        "hdbkit": Variant(own.target, load),
        "imitation": Variant(own.target.with_(database="hammerdb_like"), load, HAMMERDB),
    }


def warm(session: Session) -> None:
    """Read every row and the smallest index of each table."""
    for table in TABLES:
        cast(SqlSession, session).execute(f"CHECKSUM TABLE {table}")
        cast(SqlSession, session).execute(f"SELECT COUNT(*) FROM {table}")


def print_results(users: int, done: list[dict[str, Measured]]) -> None:
    """Print both ratios and their figures."""

    def ratios(what: str) -> list[float]:
        return [getattr(one["hdbkit"], what) / getattr(one["imitation"], what) for one in done]

    def figures(what: str) -> str:
        middle = (statistics.median(getattr(one[name], what) for one in done) for name in ("hdbkit", "imitation"))
        return " and ".join(f"{value:,.0f}" for value in middle)

    note = f"{figures('metric_value')} NOPM"
    show(f"{users} users: NOPM / the imitation's", ratios("metric_value"), at_least=1.2, note=note)
    note = f"{figures('server_cpu_us')} us"
    show(f"{users} users: server CPU / the imitation's", ratios("server_cpu_us"), at_most=0.9, note=note)
    failed = [one[name].failed for one in done for name in one]
    print(f"client CPU {figures('client_cpu_us')} us; failed {failed}", flush=True)


def options() -> argparse.Namespace:
    """What the command line selects: cases, numbers of users, blocks; by default everything."""
    names = [case_name(kind, settings) for kind, settings in CASES]
    parser = argparse.ArgumentParser(prog="python -m bench.contention")
    parser.add_argument("cases", nargs="*", metavar="CASE", help=f"by default all: {', '.join(names)}")
    parser.add_argument("--users", nargs="+", type=int, default=USERS)
    parser.add_argument("--blocks", type=int, default=BLOCKS)
    chosen = parser.parse_args()
    if unknown := set(chosen.cases).difference(names):
        parser.error(f"there is no case {', '.join(sorted(unknown))}; choose from {', '.join(names)}")
    return chosen


def case_name(kind: str, settings: dict[str, str]) -> str:
    """The name of a case: the engine and the values of its settings."""
    return " ".join((kind, *settings.values()))


def main() -> None:
    """Build, measure and print."""
    chosen = options()
    for kind, settings in CASES:
        case = case_name(kind, settings)
        if chosen.cases and case not in chosen.cases:
            continue
        title(f"contention: {case}, {SPEC.warehouses} warehouses, {chosen.blocks} blocks of {WINDOW_S:g} s windows")
        with server(kind=kind, more=settings) as own:
            for way in variants(own, 1).values():
                database(way.target).provision(own.admin, way.target)
                build(way.target, SPEC)
            converted(way.target)
            control(own.target).keep_data()
            for users in chosen.users:
                ways = {name: partial(measure, way, warm) for name, way in variants(own, users).items()}
                print_results(users, blocks(ways, chosen.blocks))


if __name__ == "__main__":
    main()
