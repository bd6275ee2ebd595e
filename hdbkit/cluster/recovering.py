"""Collects what the load hosts of a run still have, after its supervisor or their connection was lost."""

from __future__ import annotations

import os
import sys
import time
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Final

from hdbkit.cluster.connection import Connection, Unreachable, connected
from hdbkit.cluster.hosts import Collector, actors_of, noted, read_clocks
from hdbkit.errors import HdbkitError
from hdbkit.execution.load_hosts import missing, noted_hosts, write_hosts
from hdbkit.files import results_umask
from hdbkit.results.folder import RunFolder

_ANSWER_S: Final = 5.0
_END_S: Final = 30.0
"""How long users that are still running may take to end."""


def collect(folder: RunFolder) -> None:
    """Find the parts that are missing on whichever workers hold them, end their users, collect their files.

    Raises:
        HdbkitError: the cluster cannot be used.
    """
    plan = folder.read().plan
    assert plan.load.cluster is not None
    with connected(plan.load.cluster) as connection:
        connection.await_workers()
        found = _holders(connection, plan.run_id, [one.number for one in missing(folder.spools)])
        for method in ("stop", "kill"):
            connection.all({one: partial(_call, actor, method) for one, actor in found.items()}, _ANSWER_S)
        hosts = {one.number: one for one in noted_hosts(folder.spools)}
        for number, one in read_clocks(connection, found).items():
            hosts[number].add(noted(one))
        deadline, collector = time.monotonic() + _END_S, Collector(folder.spools, connection)
        while found and time.monotonic() < deadline:
            for number in collector.collect(found):
                hosts[number].is_complete = True
                del found[number]
            time.sleep(0.2 if found else 0)
        write_hosts(folder.spools, list(hosts.values()))


def _holders(connection: Connection, run_id: str, numbers: list[int]) -> dict[int, Any]:
    """By part an actor on a worker that holds its files."""
    found: dict[int, Any] = {}
    for worker in connection.workers():
        for number in [one for one in numbers if one not in found]:
            with suppress(Unreachable):
                (actor,) = actors_of(connection, run_id, {number: worker})
                if connection.all({number: partial(_call, actor, "held")}, _ANSWER_S).get(number):
                    found[number] = actor
    return found


async def _call(actor: Any, method: str) -> Any:
    return await getattr(actor, method)()


def main() -> None:
    """Entry point: ``python ... FOLDER``; the last line of standard error is the reason of a failure."""
    os.umask(results_umask())
    try:
        collect(RunFolder(Path(sys.argv[1])))
    except HdbkitError as error:
        sys.exit(str(error))
