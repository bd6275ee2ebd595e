"""The loaders of a build, and the distribution of jobs to them.

Loaders have one connection each and execute the jobs they receive, one after the other. They are forks of one
process (``main``), which imports what they need. It ends when the building process ends or dismisses it, and they end
with it. The server rolls back uncommitted work.
"""

from __future__ import annotations

import importlib
import os
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from functools import partial
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from pathlib import Path
from threading import Event
from types import TracebackType
from typing import ClassVar, NoReturn, Protocol, cast

from hdbkit.config import Target, WorkloadSpec
from hdbkit.contracts import PartLoad, Schema
from hdbkit.databases import database
from hdbkit.errors import BuildFailed, HdbkitError, TransactionError
from hdbkit.loading.data_files import DataFiles
from hdbkit.processes import ONE_THREAD, die_with_parent
from hdbkit.programs import start_program
from hdbkit.workloads import workload

STOPPED = "it was stopped"
_EXIT_TIMEOUT_S = 5.0
_CANCEL_S = 3.0
"""How long loaders that are stopped may take to cancel what they execute."""
_POLL_S = 0.5  # interval for checking whether the build is to stop


class PartLoaders(Protocol):
    """What loads the parts of a population: the processes of this host, or those of several hosts."""

    count: int
    """The number of processes."""

    def do(
        self, jobs: Iterable[LoadJob], on_sent: Callable[[Sent], None] = ..., meanwhile: Callable[[], None] = ...
    ) -> None:
        """Load all parts; ``on_sent`` is called with rows that were sent, ``meanwhile`` again and again."""


class Hosts(Protocol):
    """Opens the loaders of several hosts for a build."""

    def __call__(
        self,
        target: Target,
        spec: WorkloadSpec,
        stop: Event,
        files: Path | None,
        recorded: Callable[[], Mapping[str, int]],
    ) -> AbstractContextManager[PartLoaders]:
        """The loaders, which are ended with the block; ``recorded`` are the parts in the schema's build record."""


class Loaders:
    """Processes that execute jobs; a context manager that ends them.

    Example:
        with Loaders(target, spec, 4, Event()) as loaders:
            loaders.do([LoadPart("item"), LoadStep("index_item")])
    """

    def __init__(
        self, target: Target, spec: WorkloadSpec, count: int, stop: Event, files: DataFiles | None = None
    ) -> None:
        self._stop, self.count = stop, count
        pairs = [Pipe() for _ in range(count)]
        self._pipes, theirs = [ours for ours, _ in pairs], [theirs for _, theirs in pairs]
        orders = _Orders(target.with_(password=target.secret()), spec, tuple(pipe.fileno() for pipe in theirs), files)
        self._building, building = Pipe()
        self._process = start_program(  # in a session of its own: Ctrl-C is handled by the building process
            "hdbkit.loading.loaders",
            environment={**os.environ, **ONE_THREAD},
            stdin=building.fileno(),
            pass_fds=orders.pipes,
        )
        for pipe in (building, *theirs):
            pipe.close()
        _give(self._building, orders)

    def __enter__(self) -> Loaders:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end(in_order=error is None)

    def end(self, in_order: bool) -> None:
        """End the processes: in order when they are idle, else at once; the server rolls back what they have open."""
        for pipe in self._pipes:
            pipe.close()
        if in_order:
            _give(self._building, "end in order")
        self._building.close()  # without a word its loaders end at once
        try:
            self._process.wait(_EXIT_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def do(
        self,
        jobs: Iterable[LoadJob],
        on_sent: Callable[[Sent], None] = lambda _: None,
        meanwhile: Callable[[], None] = lambda: None,
    ) -> None:
        """Execute all jobs, each on the next free loader once the steps that it comes ``after`` are done.

        ``on_sent`` is called with each report of sent rows, and ``meanwhile`` at least twice per second.

        Raises:
            BuildFailed: a job failed, a loader died, or the build was stopped; completed jobs are kept.
        """
        waiting, idle, done = list(jobs), list(self._pipes), set[str]()
        busy: dict[Connection, LoadJob] = {}
        while busy or waiting:
            while idle and (job := next((one for one in waiting if one.after <= done), None)):
                waiting.remove(job)
                _give(pipe := idle.pop(0), job)
                busy[pipe] = job
            if self._stop.is_set():
                raise BuildFailed(str(next(iter(busy.values()))), STOPPED)
            meanwhile()
            for pipe in cast("list[Connection]", wait(list(busy), _POLL_S)):
                message = self._received(pipe, busy[pipe])
                if isinstance(message, Sent):
                    on_sent(message)
                    continue
                if message.error is not None:
                    raise BuildFailed(str(busy[pipe]), str(message.error)) from message.error
                if isinstance(finished := busy.pop(pipe), LoadStep):
                    done.add(finished.name)
                idle.append(pipe)

    def _received(self, pipe: Connection, job: LoadJob) -> Sent | Done:
        try:
            message: Sent | Done = pipe.recv()
        except (EOFError, ConnectionError):
            raise BuildFailed(str(job), "its process ended unexpectedly") from None
        return message


def _give(pipe: Connection, message: LoadJob | _Orders | str) -> None:
    with suppress(ConnectionError):  # a loader that died is detected when its message is read
        pipe.send(message)


KEEP_ALIVE_S = 5.0
"""How long a session waits at most without a question; some balancers and poolers end it after less than a minute."""


@dataclass(frozen=True)
class LoadPart:
    """A job: load one part of the population and record it, in one transaction."""

    key: str
    after: ClassVar[frozenset[str]] = frozenset()

    def __str__(self) -> str:
        return f"loading {self.key}"


@dataclass(frozen=True)
class LoadStep:
    """A job: do one step of a schema, such as an index, once the steps named in ``after`` are done."""

    name: str
    after: frozenset[str] = frozenset()

    def __str__(self) -> str:
        return f"step {self.name}"


LoadJob = LoadPart | LoadStep
_Rows = Callable[[str], Iterator[PartLoad]]
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
class _Orders:
    """What the process of the loaders receives first; ``pipes`` has the descriptor of each loader's jobs."""

    target: Target
    spec: WorkloadSpec
    pipes: tuple[int, ...]
    files: DataFiles | None = None
    """Where the rows come from; None: each loader makes its own."""


def main() -> None:
    """Entry point of the loaders' process; its standard input is a connection with the building process."""
    building = Connection(sys.stdin.fileno())
    orders: _Orders = building.recv()
    for module in (*workload(orders.spec).preload, *database(orders.target).preload):
        importlib.import_module(module)
    with suppress(HdbkitError):  # each loader reports it
        _ = database(orders.target).capabilities  # the server is asked what it is once, ahead of the forks
    loaders = [_fork(orders, pipe) for pipe in orders.pipes]
    for pipe in orders.pipes:
        os.close(pipe)
    try:
        building.recv()
    except (EOFError, ConnectionError):  # it has stopped or died, and no loader may outlive it
        _stop(loaders)
    else:
        for pid in loaders:
            os.waitpid(pid, 0)
    os._exit(0)


def _stop(loaders: list[int]) -> None:
    """Let the loaders cancel in the server what they execute; what is left of them ends with this process."""
    for pid in loaders:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)
    end = time.monotonic() + _CANCEL_S
    while loaders and time.monotonic() < end:
        time.sleep(0.02)
        loaders = [pid for pid in loaders if not os.waitpid(pid, os.WNOHANG)[0]]


def _fork(orders: _Orders, own: int) -> int:
    """Start a loader. No other may hold its pipe, whose end is how the building process learns of its death."""
    parent = os.getpid()
    if pid := os.fork():
        return pid
    try:
        signal.signal(signal.SIGTERM, _interrupted)
        die_with_parent(parent)
        for pipe in orders.pipes:
            if pipe != own:
                os.close(pipe)
        _load(orders, Connection(own))
    except KeyboardInterrupt:
        pass
    except BaseException:
        traceback.print_exc()
    os._exit(0)


def _interrupted(*_: object) -> NoReturn:
    raise KeyboardInterrupt


def _load(orders: _Orders, jobs: Connection) -> None:
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


def _do(schema: Schema, rows: _Rows, job: LoadJob, send: Callable[[Sent], None]) -> None:
    if isinstance(job, LoadStep):
        schema.do(job.name)
    else:
        schema.load(job.key, rows(job.key), lambda rows, size_bytes: send(Sent(rows, size_bytes)))
