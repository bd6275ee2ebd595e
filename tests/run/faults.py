"""Shared by the tests of faults: a run to disturb, its processes, and its kept files."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import duckdb
import psutil
import psycopg
import pytest

import hdbkit
from hdbkit.api import Result, Running
from hdbkit.config import Load, Target
from hdbkit.execution.control import Control
from hdbkit.paths import results_folder
from hdbkit.results.folder import RunFolder
from hdbkit.results.manifest import Manifest, Status
from hdbkit.servers import PrivateServer
from tests.run.conftest import password_of

Order = tuple[int, int, int]
"""An order's key: w_id, d_id, o_id."""


def wait_for(running: Running, status: Status) -> None:
    """Wait until the run is there."""
    until(lambda: running.status is status, f"{running.run_id} is {status.value}")


def until(condition: Callable[[], bool], what: str, timeout_s: float = 180) -> None:
    """Wait for a condition."""
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, f"it never came about that {what}"
        time.sleep(0.02)


def folder_of(running: Running) -> RunFolder:
    return RunFolder(results_folder() / running.run_id)


def manifest_of(running: Running) -> Manifest:
    return folder_of(running).read()


def log_of(running: Running) -> list[dict[str, Any]]:
    return [json.loads(line) for line in folder_of(running).log.read_text().splitlines()]


def supervisor_of(running: Running) -> psutil.Process:
    """The supervisor's process, once the run has told it."""
    pid = manifest_of(running).supervisor_pid
    assert pid is not None
    return psutil.Process(pid)


def client_pids(running: Running) -> list[int]:
    """The clients' process ids, from the control page."""
    page = Control(folder_of(running).control)
    pids = page.pids()
    page.close()
    return pids


def gone(processes: list[psutil.Process]) -> bool:
    """Whether all have ended; a zombie has."""
    return all(map(_has_ended, processes))


def _has_ended(process: psutil.Process) -> bool:
    try:
        return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:  # between the two looks
        return True


def rows(result: Result | RunFolder, query: str) -> list[tuple[Any, ...]]:
    """A query over the kept transactions, which are ``{t}``."""
    folder = result if isinstance(result, RunFolder) else result.folder
    return duckdb.sql(query.format(t=f"'{folder.operations}/*.parquet'")).fetchall()  # type: ignore[union-attr]


def kept_orders(result: Result) -> set[Order]:
    """The keys of all acknowledged new orders."""
    found = rows(result, "select w_id, d_id, o_id from {t} where operation = 0 and outcome = 0")
    assert len(found) == len(set(found))
    return set(found)


def ask(server: PrivateServer, text: str) -> list[tuple[Any, ...]]:
    """What the administrator is told, in a database of his own."""
    return answered(server.maintenance, text)


def schema_orders(server: PrivateServer) -> set[Order]:
    """The keys of all orders that the schema holds."""
    schema = "tproc_c." if server.place.kind == "postgresql" else ""
    return set(answered(server.admin, f"SELECT o_w_id, o_d_id, o_id FROM {schema}orders"))


def answered(place: Target, text: str) -> list[tuple[Any, ...]]:
    account: dict[str, Any] = {"host": place.host, "port": place.port, "user": place.user}
    account |= {"password": password_of(place), "connect_timeout": 15}
    if place.kind == "postgresql":
        with psycopg.connect(**account, dbname=place.database, autocommit=True) as connection:
            cursor = connection.execute(text)
            return cursor.fetchall() if cursor.description else []
    with closing(import_module("MySQLdb").connect(**account, database=place.database, autocommit=True)) as connection:
        cursor = connection.cursor()
        cursor.execute(text)
        return list(cursor.fetchall())


def sessions_of(server: PrivateServer) -> int:
    """The number of sessions of the measured account."""
    user, table = server.target.user, "information_schema.processlist WHERE user"
    if server.place.kind == "postgresql":
        table = "pg_stat_activity WHERE usename"
    return int(ask(server, f"SELECT count(*) FROM {table} = '{user}'")[0][0])


def server_processes(server: PrivateServer) -> list[psutil.Process]:
    """The server's main process, and all others behind it."""
    pid = int((server.folder / server.place.pid_file).read_text().splitlines()[0])
    main = psutil.Process(pid)
    return [main, *main.children(recursive=True)]


def signal_all(processes: list[psutil.Process], number: signal.Signals) -> None:
    for one in processes:
        try:
            os.kill(one.pid, number)
        except ProcessLookupError:
            continue


def kill_server(server: PrivateServer) -> None:
    """End every process of the server as a power cut would."""
    processes = server_processes(server)
    signal_all(processes, signal.SIGKILL)
    psutil.wait_procs(processes, timeout=60)


@contextmanager
def full(folder: Path) -> Iterator[None]:
    """The file system of ``folder`` has no byte left inside the block."""
    filler = folder / f"filler-{time.monotonic_ns()}"
    with filler.open("wb", buffering=0) as file:
        for size in (1 << 20, 4096, 1):
            try:
                while True:
                    file.write(bytes(size))
            except OSError:
                continue
    try:
        yield
    finally:
        filler.unlink()


@contextmanager
def small_file_system(server: PrivateServer, size: str) -> Iterator[Path]:
    """A folder that the server may write to, on a small file system of its own."""
    mount = Path("/tmp") / f"hdbkit-small-disk-{os.getpid()}"
    mount.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", mount], check=False).returncode:
        mount.rmdir()
        pytest.skip("only root may mount a small file system")
    try:
        server.place.give(mount)
        yield mount
    finally:
        subprocess.run(["umount", "-l", mount], check=True)
        mount.rmdir()


SOME = Load(virtual_users=4, rampup_s=0.3, duration_s=8, counter_interval_s=0.5)


def run_with(server: PrivateServer, fault: str, duration_s: float = 8) -> Result:
    """A run that causes faults itself."""
    return hdbkit.run(server.target, load=SOME.model_copy(update={"fault": fault, "duration_s": duration_s}))


def passed(result: Result, name: str) -> Any:
    return result.checks.set_index("name").loc[name, "passed"]


def check_short_faults(server: PrivateServer) -> None:
    """Faults that hold everything back for a moment: nothing fails, also not when the run and its proxy end."""
    result = run_with(server, "pause server at 0.4 s for 0.4 s; cut network at 1.2 s for 0.4 s", duration_s=2)
    for effect in result.summary.faults:
        assert effect.outage_s >= 0.2, effect  # of 0.4 s; a slow host begins late
        assert effect.errors == {}, effect
    assert result.summary.failed == 0
    assert passed(result, "faults caused")
    assert passed(result, "acknowledged commits kept")
