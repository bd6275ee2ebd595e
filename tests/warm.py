"""What tests and the programs that their warm host forks have in common: one host for a worker and its kernels.

A worker keeps a door open, an abstract socket: a process that asks there gets a connection to the
host, from a fork that has one and gives it away.
"""

from __future__ import annotations

import os
import resource
import socket
import struct
import sys
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

from hdbkit import programs
from hdbkit.config import Target, preparation
from hdbkit.databases import database
from hdbkit.sql import SERVER_STATEMENTS, statements
from hdbkit.workloads import specification, workload
from tests import generated

if TYPE_CHECKING:
    import pytest

DOOR = "HDBKIT_TESTS_DOOR"
"""The variable with the name of the door; without it a process starts a host of its own."""
PROGRAMS = (
    "hdbkit.execution.supervisor", "hdbkit.loading.loaders", "hdbkit.api.experiment_process",
    "hdbkit.service.job_process", "hdbkit.databases.nulldb.state",
    "hdbkit.workloads.tproc_c.user", "pyarrow.pandas_compat", "plotly.graph_objects", "psycopg", "MySQLdb",
    "scipy.special", "uvicorn", "hdbkit.agent.app", "hdbkit.service.app",
)  # fmt: skip
"""What the host imports at once: programs, and what they import while they work."""

os.fsync = lambda _: None  # type: ignore[assignment]  # tests kill processes, of which the kernel keeps all, not hosts
preparation.REST_S = 0.0  # sweeps wait for no idle host, unless they give cooldown_s
generated.keep()


class _WarmHost(programs._Host):
    """The connection to a host that begins with all programs, and forks them from the first on."""

    def fork(
        self, request: programs._Request, streams: Sequence[int | None], pass_fds: Sequence[int]
    ) -> programs._Fork | None:
        if self.connection is None:
            self.take(_at_the_door() or programs.started_host("tests.warm"))
        return super().fork(request, streams, pass_fds)


def _at_the_door() -> socket.socket | None:
    if DOOR not in os.environ or threading.current_thread().name == DOOR:
        return None
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as asks:
        asks.connect("\0" + os.environ[DOOR])
        _, (given,), _, _ = socket.recv_fds(asks, 1, 1)
    return socket.socket(fileno=given)


def open_door() -> None:
    """Let the processes that this one starts, and theirs, share one host."""
    os.environ[DOOR] = f"hdbkit-tests-{os.getpid()}"
    door = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    door.bind("\0" + os.environ[DOOR])
    door.listen(64)
    threading.Thread(target=_attend, args=(door,), name=DOOR, daemon=True).start()


def leave() -> None:
    """Close the connections to the host."""
    for one in (programs._host, _WARM, _OF_THE_DOOR):
        one.forget()


def _attend(door: socket.socket) -> None:
    nice, processors = os.getpriority(os.PRIO_PROCESS, 0), tuple(os.sched_getaffinity(0))
    files = resource.getrlimit(resource.RLIMIT_NOFILE)
    while True:
        with door.accept()[0] as asks:
            _, account, _ = struct.unpack("3i", asks.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
            if account != os.getuid():
                continue  # who has the host executes programs as this account
            given = asks.fileno()
            words = ("tests.warm", (str(given),), dict[str, str](), "/", (), 0o077, nice, files, processors)
            _OF_THE_DOOR.fork(programs._Request(*words, starts_programs=True), (), [given])


def main() -> None:
    """Entry point of the host; in a fork of it, give the connection away."""
    if programs._host.connection is not None:
        with socket.socket(fileno=int(sys.argv[1])) as asks:
            socket.send_fds(asks, [b"."], [programs._host.connection.fileno()])
        return
    for name in PROGRAMS:
        programs._imported(name)
    null = database(Target(kind="nulldb", database="any"))
    workload(specification()).scope(null.dialects)  # kept for all runs on it
    statements(null.dialects, SERVER_STATEMENTS)
    programs.main()


def keep() -> None:
    """Have this process fork all programs of hdbkit."""
    programs._host = _WARM


def choose(item: pytest.Item) -> None:
    """Have a test's programs forked by the warm host of these tests, except where their start is the subject."""
    if programs._host is not _WARM:
        programs._host.forget()
    programs._host = programs._Host() if item.get_closest_marker("new_interpreters") else _WARM


_WARM, _OF_THE_DOOR = _WarmHost(), _WarmHost()
