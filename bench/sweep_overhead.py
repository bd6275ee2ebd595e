"""The time of a sweep between two runs on private PostgreSQL: a setting with a restart, and restoring the data."""

from __future__ import annotations

from functools import partial

import hdbkit
from bench.common import quick_or, server, show, timed, title
from hdbkit.databases import database
from hdbkit.servers import PrivateServer, control

WAREHOUSES = quick_or((1, 4), (1, 10))
TIMES = quick_or(3, 10)
GIGABYTE = 1e9


def settings_s(own: PrivateServer) -> list[float]:
    """Seconds of setting, restarting and reading back, for two values in turn."""
    controlled, before = control(own.target), control(own.target).snapshot()
    try:
        changes = [{"max_wal_senders": str(11 + i % 2)} for i in range(TIMES)]
        return [timed(partial(controlled.apply, one)) for one in changes]
    finally:
        controlled.restore(before)


def data_s(own: PrivateServer) -> tuple[list[float], float]:
    """Seconds of restoring the data, and its gigabytes; dirty pages are written before, as in a sweep."""
    controlled = control(own.target)
    session = database(own.target).connect(own.target)
    footprint = database(own.target).footprint(session)
    session.close()
    assert footprint is not None
    controlled.maintain()
    controlled.keep_data()
    try:
        return [timed(controlled.restore_data) for _ in range(TIMES)], footprint.data_bytes / GIGABYTE
    finally:
        controlled.drop_kept_data()


def main() -> None:
    """Print both, with the data at two sizes, since restoring has a fixed cost."""
    title("between the runs of a sweep")
    with server() as own:
        show("a setting applied, server restarted, read back", settings_s(own), unit="s", at_most=3)
        for warehouses in WAREHOUSES:
            connection = hdbkit.connect(own.target)
            connection.build(warehouses=warehouses)
            took, gigabytes = data_s(own)
            limit = 4 if gigabytes >= 1 else None
            show(
                f"data of {gigabytes:.2f} GB restored, a GB",
                [one / gigabytes for one in took],
                unit="s",
                at_most=limit,
            )
            connection.drop()


if __name__ == "__main__":
    main()
