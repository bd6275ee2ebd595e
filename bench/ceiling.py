"""The maximum calls per second of one client: a no-op statement, with client and server on one core.

On one core nobody waits for the wake-up of another core, so what is seen is the path through client and server.
hdbkit's side is its measured loop, whole: batches bound ahead, clocks, call, record in the spool.
"""

from __future__ import annotations

import gc
import os
import shutil
import subprocess
import time
from array import array
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from bench.common import blocks, pgbench, postgres_environment, program, quick_or, scratch, server, show_ratio, title
from hdbkit.config import Load, TprocCSpec
from hdbkit.contracts import Prepared
from hdbkit.databases import database
from hdbkit.databases.postgresql.session import PsycopgSession
from hdbkit.execution.control import Field
from hdbkit.execution.failures import ErrorCounts, Failures
from hdbkit.execution.user import Loop
from hdbkit.results.spool import Heads, SpoolWriter
from hdbkit.servers import PrivateServer
from hdbkit.workloads import workload

SECONDS = 1
BLOCKS = quick_or(5, 21)
WORK = workload(TprocCSpec())
LOOP = Path(__file__).with_name("ceiling.tcl")


class NoOp:
    """A virtual user whose call takes no inputs, so that none are drawn."""

    def __init__(self, session: PsycopgSession) -> None:
        (head,) = Heads(0, WORK.details).pack([0])
        self._batch, self.calls = [Prepared(0, session.perform, (b"noop", [], *session._formats), head)] * 500, 0

    def next_batch(self) -> Sequence[Prepared]:
        self.calls += 500
        return self._batch

    def head(self, prepared: Prepared, raw: object) -> bytes:
        return prepared.head


def by_hdbkit(own: PrivateServer, folder: Path) -> float:
    """Calls per second through the measured loop."""
    session = database(own.target).connect(own.target)
    assert isinstance(session, PsycopgSession)
    session.connection.prepare(b"noop", b"SELECT 1")
    path = folder / "noop.spool"
    fields, spool, user = memoryview(array("q", [0] * 16)), SpoolWriter(path, 0, WORK.details), NoOp(session)
    failures = Failures(ErrorCounts(folder, 0, ("noop",)), Load(), fields)
    gc.set_threshold(100_000)  # as a client does
    began = time.monotonic_ns()
    fields[Field.STOP_AT_NS] = began + SECONDS * 1_000_000_000
    Loop(spool, fields, failures, pause=lambda _: None).run(user)
    took_s = (time.monotonic_ns() - began) / 1e9
    spool.close()
    path.unlink()
    session.close()
    return user.calls / took_s


def by_pgbench(own: PrivateServer, folder: Path) -> float:
    """Calls per second of pgbench."""
    script = folder / "noop.sql"
    script.write_text("SELECT 1;\n", encoding="utf-8")
    ended = pgbench(own, "tproc_c", "--protocol=prepared", f"--time={SECONDS}", "--file", script)
    return float(ended.out.rpartition("tps = ")[2].split()[0])


def by_tcl(own: PrivateServer) -> float:
    """Calls per second of a Tcl loop."""
    return float(program(["tclsh", LOOP, "", str(SECONDS)], postgres_environment(own)).out)


def has_tcl() -> bool:
    """Whether tclsh and its package for PostgreSQL are installed."""
    if shutil.which("tclsh") is None:
        return False
    asked = subprocess.run(["tclsh"], input=b"package require Pgtcl", capture_output=True, check=False)
    return asked.returncode == 0 and not asked.stderr


def on_core(core: int, pid: int) -> None:
    """Pin this process and the server, with its later child processes, to one core."""
    os.sched_setaffinity(pid, {core})
    os.sched_setaffinity(0, {core})


def main() -> None:
    """Print both ratios."""
    title("ceiling: no-op calls a second, one client, client and server on one core")
    with scratch() as folder, server() as own:
        session = database(own.target).connect(own.target)
        postmaster = database(own.target).server_process(session)
        session.close()
        assert postmaster
        everywhere = os.sched_getaffinity(0)
        on_core(min(everywhere), postmaster)
        ways: dict[str, Callable[[], float]] = {
            "hdbkit": partial(by_hdbkit, own, folder),
            "pgbench": partial(by_pgbench, own, folder),
        }
        if has_tcl():
            ways["Tcl"] = partial(by_tcl, own)
        done = blocks(ways, BLOCKS)
        os.sched_setaffinity(0, everywhere)
    show_ratio("calls / pgbench's", done, ("hdbkit", "pgbench"), float, unit="/s", at_least=0.7)
    if "Tcl" in ways:
        show_ratio("calls / a Tcl loop's", done, ("hdbkit", "Tcl"), float, unit="/s", at_least=1)
    else:
        print("a Tcl loop is not measured: tclsh or libpgtcl (a package of Debian) is not installed")


if __name__ == "__main__":
    main()
