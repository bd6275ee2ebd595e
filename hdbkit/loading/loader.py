"""Loaders: processes with one connection each that execute the jobs they receive, one after the other.

They are forks of one process (``main``), which imports what they need. It ends when the building process ends or
dismisses it, and they end with it. The server rolls back uncommitted work.
"""

from __future__ import annotations

import importlib
import os
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING

from hdbkit.config import Target, WorkloadSpec
from hdbkit.contracts import PartLoad, Schema
from hdbkit.databases import database
from hdbkit.errors import HdbkitError, TransactionError
from hdbkit.processes import die_with_parent
from hdbkit.workloads import workload

if TYPE_CHECKING:
    from hdbkit.loading.data_files import DataFiles


KEEP_ALIVE_S = 5.0
"""How long a session waits at most without a question; some balancers and poolers end it after less than a minute."""


@dataclass(frozen=True)
class LoadPart:
    """A job: load one part of the population and record it, in one transaction."""

    key: str

    def __str__(self) -> str:
        return f"loading {self.key}"


@dataclass(frozen=True)
class Step:
    """A job: do one step of a schema, such as an index."""

    name: str

    def __str__(self) -> str:
        return f"step {self.name}"


Job = LoadPart | Step
Rows = Callable[[str], Iterator[PartLoad]]
"""What loads a part, by its key."""


@dataclass(frozen=True)
class Sent:
    """A message to the building process: this much more was sent to the server."""

    rows: int
    size_bytes: int


@dataclass(frozen=True)
class Done:
    """A message to the building process: the job is done, or failed with ``error``."""

    error: HdbkitError | None = None


@dataclass(frozen=True)
class Orders:
    """What the process of the loaders receives first; ``pipes`` has the descriptor of each loader's jobs."""

    target: Target
    spec: WorkloadSpec
    pipes: tuple[int, ...]
    files: DataFiles | None = None
    """Where the rows come from; None: each loader makes its own."""


def main() -> None:
    """Entry point of the loaders' process; its standard input is a connection with the building process."""
    building = Connection(sys.stdin.fileno())
    orders: Orders = building.recv()
    for module in (*workload(orders.spec).preload, *database(orders.target).preload):
        importlib.import_module(module)
    loaders = [_fork(orders, pipe) for pipe in orders.pipes]
    for pipe in orders.pipes:
        os.close(pipe)
    with suppress(EOFError, ConnectionError):  # it has died, and no loader may outlive it
        building.recv()
        for pid in loaders:
            os.waitpid(pid, 0)
    os._exit(0)


def _fork(orders: Orders, own: int) -> int:
    """Start a loader. No other may hold its pipe, whose end is how the building process learns of its death."""
    parent = os.getpid()
    if pid := os.fork():
        return pid
    try:
        die_with_parent(parent)
        for pipe in orders.pipes:
            if pipe != own:
                os.close(pipe)
        _load(orders, Connection(own))
    except BaseException:
        traceback.print_exc()
    os._exit(0)


def _load(orders: Orders, jobs: Connection) -> None:
    """Connect, work until ``jobs`` is closed, disconnect."""
    target, work, schema = orders.target, workload(orders.spec), None
    rows = partial(orders.files.part, work) if orders.files else work.part
    try:
        with suppress(EOFError, ConnectionError):
            while True:
                while not jobs.poll(KEEP_ALIVE_S):
                    _keep_alive(target, schema)
                job = jobs.recv()
                try:
                    schema = schema or database(target).schema(target, work)
                    _do(schema, rows, job, jobs.send)
                except HdbkitError as error:
                    jobs.send(Done(error))
                else:
                    jobs.send(Done())
    finally:
        if schema:
            schema.close()


def _keep_alive(target: Target, schema: Schema | None) -> None:
    """Use the session of a loader that waits, which what is between it and the server may end when it is idle."""
    if schema:
        with suppress(TransactionError):  # the next job reports it
            database(target).version(schema.session)


def _do(schema: Schema, rows: Rows, job: Job, send: Callable[[Sent], None]) -> None:
    if isinstance(job, Step):
        schema.do(job.name)
    else:
        schema.load(job.key, rows(job.key), lambda rows, size_bytes: send(Sent(rows, size_bytes)))
