"""Loads the parts of a population on many hosts: each part is a task of dask, which runs it on the next free host.

A part is loaded exactly once, whatever is lost: its rows and its line in the schema's build record are one
transaction, and the record has each part once. So a part whose host was lost is given to another host, and counts as
loaded if the lost one had committed it.

The order goes to an actor on the worker directly, with the password, which neither a task nor the scheduler has. A
task names the build and a part. A host without heartbeats of the build ends its loaders, so that the server rolls
back what they have not committed, and another host can load it.
"""

from __future__ import annotations

import importlib
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path
from queue import SimpleQueue
from threading import Event
from typing import Any, Final

from pydantic import SecretStr

from hdbkit.cluster.connection import ANSWER_S, IMPORT_S, Connection, Unreachable
from hdbkit.cluster.host import facts, require_same
from hdbkit.config import Target, WorkloadSpec
from hdbkit.config.cluster import Cluster
from hdbkit.errors import BuildFailed, HdbkitError, InputError
from hdbkit.loading.data_files import DataFiles
from hdbkit.loading.loaders import STOPPED, Hosts, Loaders, LoadJob, LoadPart, Sent
from hdbkit.plan import random_letters

HEARTBEAT_TIMEOUT_S: Final = 15.0
"""A host without a heartbeat of the build for this long ends its loaders."""


@dataclass(frozen=True)
class Order:
    """What a host needs to load parts; the password comes beside it."""

    target: Target
    spec: WorkloadSpec
    loaders: int
    files: Path | None = None


@dataclass(frozen=True)
class Loaded:
    """The end of a part: loaded, failed with ``error``, or left to other hosts by a worker that has no loaders."""

    rows: int = 0
    size_bytes: int = 0
    error: BuildFailed | None = None
    left_by: str = ""
    """The address of this worker."""


class PartLoader:
    """The loaders of this host for one build: an actor, which tasks of its worker find by the id of the build."""

    def __init__(self, build_id: str) -> None:
        self._build_id = build_id
        self._stop = threading.Event()
        self._heartbeat_s = time.monotonic()
        self._idle: SimpleQueue[Loaders] = SimpleQueue()
        self._count = 0

    def facts(self, target: str) -> dict[str, Any]:
        """See :func:`hdbkit.cluster.host.facts`."""
        return facts(target)

    def prepare(self, order: Order, secret: SecretStr | None) -> str:
        """Start the loader processes; return why this host cannot load, or an empty text."""
        files = None if order.files is None else DataFiles(order.files)
        try:
            if files:
                files.require(order.spec)
        except HdbkitError as error:
            return str(error)
        target = order.target if secret is None else order.target.with_(password=secret.get_secret_value())
        for _ in range(order.loaders):
            self._idle.put(Loaders(target, order.spec, 1, self._stop, files))
            self._count += 1
        self._heartbeat_s = time.monotonic()
        _of_builds[self._build_id] = self
        threading.Thread(target=self._end_without_heartbeat, name="hdbkit-loaders", daemon=True).start()
        return ""

    async def heartbeat(self) -> None:
        """Note that the build continues."""
        self._heartbeat_s = time.monotonic()

    def load(self, key: str) -> Loaded:
        """Load one part with the next idle loader."""
        loaders, rows, size_bytes = self._idle.get(), 0, 0

        def add(sent: Sent) -> None:
            nonlocal rows, size_bytes
            rows, size_bytes = rows + sent.rows, size_bytes + sent.size_bytes

        try:
            loaders.do([LoadPart(key)], add)
        except BuildFailed as error:
            return Loaded(left_by=_address()) if self._stop.is_set() else Loaded(error=error)
        finally:
            self._idle.put(loaders)
        return Loaded(rows, size_bytes)

    def _end_without_heartbeat(self) -> None:
        while not self._stop.wait(1):
            if time.monotonic() > self._heartbeat_s + HEARTBEAT_TIMEOUT_S:
                self.end()

    def end(self) -> None:
        """End the loader processes; what they have not committed is rolled back by the server."""
        _of_builds.pop(self._build_id, None)
        self._stop.set()
        for _ in range(self._count):
            with suppress(OSError):
                self._idle.get().end(in_order=False)
        self._count = 0


_of_builds: dict[str, PartLoader] = {}
"""By build, what is prepared in the process of this worker."""


def load_part(build_id: str, key: str) -> Loaded:
    """Load one part on this worker: a task. A worker that was not prepared, or has ended its loaders, leaves it."""
    own = _of_builds.get(build_id)
    return own.load(key) if own else Loaded(left_by=_address())


def _address() -> str:
    distributed: Any = importlib.import_module("distributed")
    return str(distributed.get_worker().address)


_PREPARED_S: Final = 60.0
_LOOK_S: Final = 1.0
_LOST_S: Final = HEARTBEAT_TIMEOUT_S + 5
"""A host that does not answer for this long has ended its loaders, and its parts are given to others."""


class ClusterLoaders:
    """The loaders of all hosts of a cluster; a context manager that ends them.

    Args:
        cluster: where the hosts come from, as in :class:`hdbkit.config.Load`.
        loaders: loader processes of each host, at most as many as its worker has threads; None: one per thread.
        order: what the hosts load, and into what.
        stop: ends the load when it is set.
        recorded: the parts in the schema's build record, with their rows.
    """

    def __init__(
        self,
        cluster: Cluster,
        loaders: int | None,
        order: Order,
        stop: Event,
        recorded: Callable[[], Mapping[str, int]],
    ) -> None:
        self._connection = Connection(cluster, loaders)
        self._cluster, self._loaders, self._order = cluster, loaders, order
        self._stop, self._recorded = stop, recorded
        self._id = random_letters()
        self._workers: list[str] = []
        self._actors: dict[int, Any] = {}
        self._answered_s: dict[int, float] = {}
        self._tried = 0
        self.count = 0
        """Loader processes of all hosts together."""

    def __enter__(self) -> ClusterLoaders:
        try:
            self._prepare()
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def _prepare(self) -> None:
        self._connection.open()
        self._workers = self._connection.await_workers()
        threads = self._connection.threads()
        wanted = {
            worker: (f"hdbkit-loaders-{self._id}-{number}", (self._id,))
            for number, worker in enumerate(self._workers)
        }
        self._actors = dict(enumerate(self._connection.actors(PartLoader, wanted, IMPORT_S)))
        target = self._order.target.model_dump_json()
        here = facts(target)
        for number, there in self._each("facts", lambda _: (target,)).items():
            require_same(here, there, self._workers[number])
        secret = self._order.target.secret()
        counts = {
            number: min(self._loaders or threads[worker], threads[worker])
            for number, worker in enumerate(self._workers)
        }
        orders = {number: replace(self._order, loaders=count) for number, count in counts.items()}
        self.count = sum(counts.values())
        kept = None if secret is None else SecretStr(secret)
        for number, problem in self._each("prepare", lambda number: (orders[number], kept)).items():
            if problem:
                raise InputError(f"the load host {self._workers[number]}: {problem}")
        self._answered_s = dict.fromkeys(self._actors, time.monotonic())

    def _each(self, method: str, arguments: Callable[[int], tuple[Any, ...]]) -> dict[int, Any]:
        """The answers of all hosts. Raises ``HdbkitError`` if one does not answer."""
        found = self._connection.all(
            {number: partial(_call, actor, method, *arguments(number)) for number, actor in self._actors.items()},
            _PREPARED_S,
            raising=(HdbkitError,),
        )
        if silent := [self._workers[number] for number in self._actors if number not in found]:
            raise HdbkitError(f"the load host {silent[0]} of {self._cluster} does not answer")
        return found

    def do(
        self,
        jobs: Iterable[LoadJob],
        on_sent: Callable[[Sent], None] = lambda _: None,
        meanwhile: Callable[[], None] = lambda: None,
    ) -> None:
        """Load all parts, each on the next free host; ``on_sent`` is called with the rows of each part.

        ``meanwhile`` is called about once per second.

        Raises:
            BuildFailed: a part failed, no host is left, or the build was stopped; loaded parts are kept.
        """
        waiting = (job.key for job in jobs if isinstance(job, LoadPart))
        given: dict[Any, str] = {}
        next_s = 0.0
        try:
            while True:
                # one more for each host than it has loaders, so that none waits for its next part
                for key in islice(waiting, max(0, self.count + len(self._actors) - len(given))):
                    given[self._task(key)] = key
                if not given:
                    return
                if self._stop.is_set():
                    raise BuildFailed(f"loading {next(iter(given.values()))}", STOPPED)
                if time.monotonic() >= next_s:
                    next_s = time.monotonic() + _LOOK_S
                    self._look(given)
                meanwhile()
                for future in self._connection.finished(list(given), _LOOK_S):
                    if future in given and (sent := self._end_of(future, given)):
                        on_sent(sent)
        finally:
            self._connection.cancel(list(given))

    def _task(self, key: str) -> Any:
        self._tried += 1
        workers = [self._workers[number] for number in self._actors]
        return self._connection.task(load_part, f"hdbkit-{self._id}-{self._tried}-{key}", workers, self._id, key)

    def _end_of(self, future: Any, given: dict[Any, str]) -> Sent | None:
        """What a part has added to the server; None if it must be loaded again, and was given to others."""
        key, found = given.pop(future), self._connection.result(future)
        if isinstance(found, Loaded) and not found.error and not found.left_by:
            return Sent(found.rows, found.size_bytes)
        if (rows := self._recorded().get(key)) is not None:  # a host that was lost had committed it
            return Sent(rows, 0)
        if isinstance(found, Loaded) and found.error:
            raise found.error
        if isinstance(found, Loaded):
            self._drop([one for one in self._actors if self._workers[one] == found.left_by], given)
        given[self._task(key)] = key
        return None

    def _look(self, given: dict[Any, str]) -> None:
        """Find hosts that are lost, and give their parts to others. Raises ``BuildFailed`` if none is left."""
        now = time.monotonic()
        answers = self._connection.all(
            {number: partial(_call, actor, "heartbeat") for number, actor in self._actors.items()}, ANSWER_S
        )
        self._answered_s |= dict.fromkeys(answers, time.monotonic())
        try:
            there = set(self._connection.workers())
        except Unreachable as error:
            raise BuildFailed("loading", str(error)) from None
        self._drop(
            [
                number
                for number in self._actors
                if self._workers[number] not in there or now > self._answered_s[number] + _LOST_S
            ],
            given,
        )

    def _drop(self, lost: list[int], given: dict[Any, str]) -> None:
        """Give the parts of these hosts to others."""
        for number in lost:
            del self._actors[number]
        if not self._actors:
            raise BuildFailed("loading", f"all load hosts of {self._cluster} were lost")
        if lost:
            again = self._connection.tasks_of([self._workers[number] for number in lost], list(given))
            self._connection.cancel(again)
            for future in again:
                key = given.pop(future)
                given[self._task(key)] = key

    def _end(self) -> None:
        self._connection.all(
            {number: partial(_call, actor, "end") for number, actor in self._actors.items()}, ANSWER_S
        )
        self._connection.close()


async def _call(actor: Any, method: str, *arguments: object) -> Any:
    return await getattr(actor, method)(*arguments)


def cluster_loaders(cluster: Cluster, loaders: int | None) -> Hosts:
    """What opens the loaders of a cluster for a build; see :class:`ClusterLoaders`."""

    @contextmanager
    def opened(
        target: Target, spec: WorkloadSpec, stop: Event, files: Path | None, recorded: Callable[[], Mapping[str, int]]
    ) -> Iterator[ClusterLoaders]:
        with ClusterLoaders(cluster, loaders, Order(target, spec, 0, files), stop, recorded) as found:
            yield found

    return opened
