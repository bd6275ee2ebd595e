"""The loader processes of a build, and the distribution of jobs to them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkServerProcess
from threading import Event
from types import ModuleType, TracebackType
from typing import cast

from hdbkit.build.loader import Done, Job, Sent, loader
from hdbkit.config import Target, WorkloadSpec
from hdbkit.databases import database
from hdbkit.errors import BuildFailed
from hdbkit.workloads import workload

STOPPED = "it was stopped"
_EXIT_TIMEOUT_S = 5.0
_POLL_S = 0.5  # interval for checking whether the build is to stop


class Loaders:
    """Processes that execute jobs; a context manager that ends them.

    Example:
        with Loaders(target, spec, 4, Event()) as loaders:
            loaders.do([LoadPart("item"), Step("index_item")])
    """

    def __init__(self, target: Target, spec: WorkloadSpec, count: int, stop: Event) -> None:
        self._stop = stop
        context = get_context("forkserver")
        preload = ["hdbkit.build.loader", *workload(spec).preload, *database(target.kind).preload]
        context.set_forkserver_preload(preload)
        self._processes: dict[Connection, ForkServerProcess] = {}
        self._alive, alive = context.Pipe()
        target = target.with_(password=target.secret())
        with _main_hidden():
            for index in range(count):
                ours, theirs = context.Pipe()
                arguments = (target, spec, theirs, alive)
                process = context.Process(target=loader, args=arguments, name=f"hdbkit loader {index}", daemon=True)
                process.start()
                theirs.close()
                self._processes[ours] = process
        alive.close()

    def __enter__(self) -> Loaders:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for pipe, process in self._processes.items():
            pipe.close()
            if error is not None:
                process.terminate()
        for process in self._processes.values():
            process.join(_EXIT_TIMEOUT_S)
            if process.is_alive():
                process.kill()
                process.join()
        self._alive.close()

    def do(self, jobs: Iterable[Job], on_sent: Callable[[Sent], None] = lambda _: None) -> None:
        """Execute all jobs, each on the next free loader; ``on_sent`` is called with each report of sent rows.

        Raises:
            BuildFailed: a job failed, a loader died, or the build was stopped; completed jobs are kept.
        """
        waiting = iter(jobs)
        busy = dict(zip(self._processes, waiting, strict=False))
        for pipe, job in busy.items():
            _give(pipe, job)
        while busy:
            if self._stop.is_set():
                raise BuildFailed(str(next(iter(busy.values()))), STOPPED)
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
            process = self._processes[pipe]
            process.join(_EXIT_TIMEOUT_S)
            raise BuildFailed(str(job), f"its process ended unexpectedly (exit code {process.exitcode})") from None
        return message


def _give(pipe: Connection, job: Job) -> None:
    with suppress(ConnectionError):  # a loader that died is detected when its message is read
        pipe.send(job)


@contextmanager
def _main_hidden() -> Iterator[None]:
    """Hide the caller's main script from new processes: it may have no ``__main__`` guard."""
    main = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main
