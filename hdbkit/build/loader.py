"""A loader: a process with one connection that executes the jobs it receives, one after the other.

It ends when the building process ends, for whatever reason: a thread waits on a pipe that only the building process
holds open. The server rolls back uncommitted work.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from threading import Thread

from hdbkit.config import Target, WorkloadSpec
from hdbkit.contracts import Schema, Workload
from hdbkit.databases import database
from hdbkit.errors import HdbkitError
from hdbkit.workloads import workload


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


@dataclass(frozen=True)
class Sent:
    """A message to the building process: this much more was sent to the server."""

    rows: int
    size_bytes: int


@dataclass(frozen=True)
class Done:
    """A message to the building process: the job is done, or failed with ``error``."""

    error: HdbkitError | None = None


def loader(target: Target, spec: WorkloadSpec, jobs: Connection, alive: Connection) -> None:
    """Main function of a loader: connect, work until ``jobs`` is closed, disconnect."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Thread(target=_end_with, args=(alive,), daemon=True).start()
    work, schema = workload(spec), None
    try:
        with suppress(EOFError, BrokenPipeError):
            while True:
                job = jobs.recv()
                try:
                    schema = schema or database(target.kind).schema(target, work)
                    _do(schema, work, job, jobs.send)
                except HdbkitError as error:
                    jobs.send(Done(error))
                else:
                    jobs.send(Done())
    finally:
        if schema:
            schema.close()


def _end_with(alive: Connection) -> None:
    with suppress(EOFError, OSError):
        alive.recv()
    os._exit(1)


def _do(schema: Schema, work: Workload, job: Job, send: Callable[[Sent], None]) -> None:
    if isinstance(job, Step):
        schema.do(job.name)
    else:
        schema.load(job.key, work.part(job.key), lambda rows, size_bytes: send(Sent(rows, size_bytes)))
