"""A loader: a process with one session that does the jobs it is sent, one after the other.

It ends when the building process ends, however that ends: a thread waits on a pipe that only the builder
holds open. What it had not committed is undone by the server.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from threading import Thread

from hdbkit.config import Target, WorkloadSpec
from hdbkit.contracts import Session, SessionOptions, Workload
from hdbkit.databases import database
from hdbkit.errors import HdbkitError, InputError, TransactionError
from hdbkit.workloads import workload


@dataclass(frozen=True)
class LoadPart:
    """The job to load one part of the population, in one transaction with the note that it is there."""

    key: str

    def __str__(self) -> str:
        return f"loading {self.key}"


@dataclass(frozen=True)
class RunStatement:
    """The job to run one named statement."""

    name: str

    def __str__(self) -> str:
        return f"statement {self.name}"


Job = LoadPart | RunStatement


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
    session: Session | None = None
    try:
        with suppress(EOFError, BrokenPipeError):
            while True:
                job = jobs.recv()
                try:
                    session = session or connect(target, spec)
                    _work(session, spec, job, jobs.send)
                except HdbkitError as error:
                    jobs.send(Done(str(error)))
                else:
                    jobs.send(Done())
    finally:
        if session:
            session.close()


def _end_with(alive: Connection) -> None:
    with suppress(EOFError, OSError):
        alive.recv()
    os._exit(1)


def connect(target: Target, spec: WorkloadSpec) -> Session:
    """A session that builds: new tables and indexes go where ``spec`` says.

    Raises:
        InputError: the tablespace or the storage engine cannot be used.
    """
    session = database(target.kind).connect(target, spec.kind, SessionOptions(application="hdbkit build"))
    for place in ("tablespace", "storage_engine"):
        wanted = getattr(spec, place)
        if wanted is None:
            continue
        try:
            session.query(f"use_{place}", **{place: wanted})
        except TransactionError as error:
            session.close()
            raise InputError(f"{place} '{wanted}' cannot be used: {error.text}") from error
    return session


def _work(session: Session, spec: WorkloadSpec, job: Job, tell: Callable[[Sent], None]) -> None:
    if isinstance(job, RunStatement):
        session.query(job.name)
    else:
        _load(session, workload(spec.kind), spec, job.key, tell)


def _load(session: Session, work: Workload, spec: WorkloadSpec, key: str, tell: Callable[[Sent], None]) -> None:
    session.begin()
    try:
        rows = 0
        for load in work.part(spec, key):
            rows += session.load(load.table, load.columns, _told(load.chunks, tell))
        session.query("insert_build_part", part=key, rows=rows)
        session.commit()
    except BaseException:
        session.rollback()
        raise


def _told(chunks: Iterable[bytes], tell: Callable[[Sent], None]) -> Iterator[bytes]:
    for chunk in chunks:
        yield chunk
        tell(Sent(chunk.count(b"\n"), len(chunk)))
