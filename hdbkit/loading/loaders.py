"""The loaders of a build, and the distribution of jobs to them."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, suppress
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from pathlib import Path
from threading import Event
from types import TracebackType
from typing import Protocol, cast

from hdbkit.config import Target, WorkloadSpec
from hdbkit.errors import BuildFailed
from hdbkit.loading.data_files import DataFiles
from hdbkit.loading.loader import Done, Job, Orders, Sent
from hdbkit.processes import ONE_THREAD
from hdbkit.programs import start_program

STOPPED = "it was stopped"
_EXIT_TIMEOUT_S = 5.0
_POLL_S = 0.5  # interval for checking whether the build is to stop


class PartLoaders(Protocol):
    """What loads the parts of a population: the processes of this host, or those of several hosts."""

    count: int
    """The number of processes."""

    def do(
        self, jobs: Iterable[Job], on_sent: Callable[[Sent], None] = ..., meanwhile: Callable[[], None] = ...
    ) -> None:
        """Load all parts; ``on_sent`` is called with rows that were sent, ``meanwhile`` again and again."""
        ...


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
        ...


class Loaders:
    """Processes that execute jobs; a context manager that ends them.

    Example:
        with Loaders(target, spec, 4, Event()) as loaders:
            loaders.do([LoadPart("item"), Step("index_item")])
    """

    def __init__(
        self, target: Target, spec: WorkloadSpec, count: int, stop: Event, files: DataFiles | None = None
    ) -> None:
        self._stop, self.count = stop, count
        pairs = [Pipe() for _ in range(count)]
        self._pipes, theirs = [ours for ours, _ in pairs], [theirs for _, theirs in pairs]
        orders = Orders(target.with_(password=target.secret()), spec, tuple(pipe.fileno() for pipe in theirs), files)
        self._building, building = Pipe()
        self._process = start_program(  # in a session of its own: Ctrl-C is handled by the building process
            "hdbkit.loading.loader",
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
        jobs: Iterable[Job],
        on_sent: Callable[[Sent], None] = lambda _: None,
        meanwhile: Callable[[], None] = lambda: None,
    ) -> None:
        """Execute all jobs, each on the next free loader; ``on_sent`` is called with each report of sent rows.

        ``meanwhile`` is called at least twice per second.

        Raises:
            BuildFailed: a job failed, a loader died, or the build was stopped; completed jobs are kept.
        """
        waiting = iter(jobs)
        busy = dict(zip(self._pipes, waiting, strict=False))
        for pipe, job in busy.items():
            _give(pipe, job)
        while busy:
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
                del busy[pipe]
                following = next(waiting, None)
                if following is not None:
                    busy[pipe] = following
                    _give(pipe, following)

    def _received(self, pipe: Connection, job: Job) -> Sent | Done:
        try:
            message: Sent | Done = pipe.recv()
        except (EOFError, ConnectionError):
            raise BuildFailed(str(job), "its process ended unexpectedly") from None
        return message


def _give(pipe: Connection, message: Job | Orders | str) -> None:
    with suppress(ConnectionError):  # a loader that died is detected when its message is read
        pipe.send(message)
