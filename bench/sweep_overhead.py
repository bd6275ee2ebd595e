"""What a sweep needs between two runs, on the private PostgreSQL: a setting with a restart, and the data restored."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

import hdbkit
from bench.common import quick_or, server, tell, title
from hdbkit.databases import database
from hdbkit.servers import PrivateServer, control

WAREHOUSES = quick_or((1, 4), (1, 10))
TIMES = quick_or(3, 10)
GIGABYTE = 1e9


def settings_s(own: PrivateServer) -> list[float]:
    """Seconds of setting, restarting and reading back, for one value and another in turn."""
    controlled, before = control(own.target), control(own.target).snapshot()
    try:
        changes = [{"max_wal_senders": str(11 + i % 2)} for i in range(TIMES)]
        return [timed(partial(controlled.apply, one)) for one in changes]
    finally:
        controlled.restore(before)


def data_s(own: PrivateServer) -> tuple[list[float], float]:
    """Seconds of bringing the data back, and their gigabytes; changed pages are on the disk before, as in a sweep."""
    controlled = control(own.target)
    session = database(own.target.kind).connect(own.target)
    footprint = database(own.target.kind).footprint(session)
    session.close()
    assert footprint is not None
    controlled.maintain()
    controlled.keep_data()
    try:
        return [timed(controlled.restore_data) for _ in range(TIMES)], footprint.data_bytes / GIGABYTE
    finally:
        controlled.drop_kept_data()


def timed(work: Callable[[], object]) -> float:
    """How long a call takes, in seconds."""
    began = time.monotonic()
    work()
    return time.monotonic() - began


def main() -> None:
    """Tell both, the data at two sizes: what a restoring costs at any size is no matter of gigabytes."""
    title("between the runs of a sweep")
    with server() as own:
        tell("a setting applied, server restarted, read back", settings_s(own), unit="s", at_most=3)
        for warehouses in WAREHOUSES:
            connection = hdbkit.connect(own.target)
            connection.build(warehouses=warehouses)
            took, gigabytes = data_s(own)
            limit = 4 if gigabytes >= 1 else None
            tell(
                f"data of {gigabytes:.2f} GB restored, a GB",
                [one / gigabytes for one in took],
                unit="s",
                at_most=limit,
            )
            connection.drop()


if __name__ == "__main__":
    main()
