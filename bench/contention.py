"""hdbkit's routines on MariaDB and MySQL compared with an imitation of HammerDB's procedures, by number of users.

Each has tables of its own, loaded alike, in a database of the same server; restored data, all of them in the buffer
pool, HammerDB's draws, shuffled blocks. A server that is started loads the pages that it had last: of one of the two.
MariaDB is measured with a thread per connection, its default, and with a pool of as many threads as cores.
``python -m bench.contention mariadb --users 16 32 --blocks 2`` measures a part of it.
"""

from __future__ import annotations

import argparse
from functools import partial
from operator import attrgetter
from typing import cast

from bench.common import blocks, quick_or, server, show_ratio, title
from bench.side_by_side import BLOCKS, SPEC, WINDOW_S, Variant, measure
from hdbkit.config.specs.tproc_c import InputRules, TprocCLoad, TprocCSpec
from hdbkit.config.workload_spec import SchemaFrom
from hdbkit.contracts import Session, SqlSession
from hdbkit.databases import database
from hdbkit.loading import build
from hdbkit.servers import PrivateServer, control
from hdbkit.workloads.tproc_c.tables import TPROC_C_TABLES
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
    for table in TPROC_C_TABLES:
        cast(SqlSession, session).execute(f"CHECKSUM TABLE {table}")
        cast(SqlSession, session).execute(f"SELECT COUNT(*) FROM {table}")


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
                done, sides = blocks(ways, chosen.blocks), ("hdbkit", "imitation")
                show_ratio(f"{users} users: NOPM", done, sides, attrgetter("metric_value"), at_least=1.2)
                for where, limit in (("server", 0.9), ("client", None)):
                    cpu_us = attrgetter(f"{where}_cpu_us")
                    show_ratio(f"{users} users: {where} CPU", done, sides, cpu_us, unit="us", at_most=limit)


if __name__ == "__main__":
    main()
