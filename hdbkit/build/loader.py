"""A loader: a process with one connection that does the jobs it is sent, one after the other.

It ends when the building process ends, however that ends: a thread waits on a pipe that only the builder
holds open. What it had not committed is undone by the server.
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
    """The job to load one part of the population, in one transaction with the note that it is there."""

    key: str

    def __str__(self) -> str:
        return f"loading {self.key}"


@dataclass(frozen=True)
class Step:
    """The job to do one step of a schema, such as an index."""

    name: str

    def __str__(self) -> str:
        return f"step {self.name}"


Job = LoadPart | Step


@dataclass(frozen=True)
class Sent:
    """A message to the builder: so much more was handed to the server."""

    rows: int
    size_bytes: int


@dataclass(frozen=True)
class Done:
    """A message to the builder: the job is done, or ``problem`` says why it is not."""

    problem: str | None = None


def loader(target: Target, spec: WorkloadSpec, jobs: Connection, alive: Connection) -> None:
    """The life of a loader: connect, work until the builder closes ``jobs``, disconnect."""
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
                    jobs.send(Done(str(error)))
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
