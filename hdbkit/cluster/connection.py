"""The connection with a dask cluster: an existing scheduler, hosts reached by SSH, or processes of this host.

Connections are encrypted, and both sides show certificates: for processes of this host one that is made for the
cluster, else those in the files that dask's own configuration names (``distributed.comm.tls``).
"""

from __future__ import annotations

import asyncio
import importlib
import importlib.util
import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import IO, Any, Final, TypeVar

from hdbkit.config.cluster import Cluster, read_hosts, security_of
from hdbkit.config.served import cluster_problem, served_clusters
from hdbkit.errors import HdbkitError, MissingDriver

CONNECT_S: Final = 20.0
_DEPLOY_S: Final = 120.0
_T = TypeVar("_T")


ANSWER_S: Final = 3.0
"""How long a host may take to answer; one that takes longer is cut off."""
IMPORT_S: Final = 60.0
"""How long a worker may take to import hdbkit and to answer for the first time."""


class Unreachable(HdbkitError):
    """A load host, or the scheduler, did not answer."""


class Connection:
    """A client of a scheduler, with the workers that serve as load hosts.

    Args:
        cluster: where they come from.
        threads: of each worker that is deployed; None: one per core of its host. Users of a run need one.
    """

    def __init__(self, cluster: Cluster, threads: int | None = 1) -> None:
        self._threads = threads
        self._cluster, self._text = cluster, str(cluster)
        if problem := cluster_problem(self._text, served_clusters()):
            raise HdbkitError(problem)
        if importlib.util.find_spec("distributed") is None:
            raise MissingDriver("a cluster", "distributed", "cluster")
        try:
            self._security = security_of(self._cluster)
        except ValueError as error:
            raise HdbkitError(str(error)) from None
        self._deployed: Any = None
        self._key: IO[bytes] | None = None
        self._folder: OwnFolder | None = None
        self._client: Any = None

    def open(self) -> None:
        """Deploy what is to be deployed, and connect.

        Raises:
            HdbkitError: the scheduler cannot be reached, or the hosts cannot be started.
        """
        distributed: Any = importlib.import_module("distributed")
        try:
            if self._deployed is None:
                self._deployed = self._deploy(distributed)
            self._client = distributed.Client(
                self._cluster.scheduler if self._deployed is None else self._deployed,
                timeout=CONNECT_S,
                direct_to_workers=True,
                security=self._security,
                set_as_default=True,
            )
        except (OSError, ValueError, RuntimeError, TypeError, ImportError, TimeoutError) as error:
            raise HdbkitError(f"the cluster {self._text} cannot be used: {error or type(error).__name__}") from None

    def reopen(self) -> None:
        """Connect again after the scheduler was lost."""
        if self._client is not None and self._client.status == "running":
            return
        self._close_client()
        self.open()

    def _deploy(self, distributed: Any) -> Any:
        if self._cluster.local:
            from hdbkit.cluster.local_worker import security_from, temporary_certificate

            content = temporary_certificate()
            self._security, self._key = security_from(content)
            self._folder = OwnFolder()
            return local_cluster(self._cluster.local, self._threads, content, self._security, self._folder)
        if self._cluster.hosts is not None:
            self._folder = OwnFolder()
            return ssh_cluster(read_hosts(self._cluster.hosts), self._threads, self._security, self._folder)
        return None

    @property
    def expected(self) -> int:
        """How many workers are awaited: all that were deployed; of an existing scheduler those that are there."""
        if self._cluster.local:
            return self._cluster.local
        return len(read_hosts(self._cluster.hosts)) if self._cluster.hosts else 1

    def workers(self) -> list[str]:
        """The addresses of the workers that are there. Raises ``Unreachable``."""
        return sorted(self.threads())

    def threads(self) -> dict[str, int]:
        """The number of threads of each worker that is there. Raises ``Unreachable``."""
        try:
            return dict(self._client.nthreads())
        except (OSError, RuntimeError, TimeoutError, asyncio.CancelledError) as error:
            raise Unreachable(f"the scheduler of {self._text} does not answer: {error}") from None

    def await_workers(self) -> list[str]:
        """Wait for the expected workers; return the addresses."""
        try:
            self._client.wait_for_workers(self.expected, timeout=_DEPLOY_S)
        except (OSError, RuntimeError, TimeoutError) as error:
            found = len(self.workers())
            raise HdbkitError(
                f"the cluster {self._text} has {found} of {self.expected} workers after {_DEPLOY_S:g} s: {error}"
            ) from None
        return self.workers()

    def actors(
        self, kind: type[Any], wanted: Mapping[str, tuple[str, tuple[object, ...]]], seconds: float
    ) -> list[Any]:
        """Create an actor on each of these workers, with its key and arguments; all workers import at the same time.

        Raises ``Unreachable``, or what creating one raised.
        """
        options = {"actor": True, "allow_other_workers": False, "pure": False}
        futures = [
            self._client.submit(kind, *arguments, workers=[worker], key=key, **options)
            for worker, (key, arguments) in wanted.items()
        ]
        deadline, found = time.monotonic() + seconds, []
        for worker, future in zip(wanted, futures, strict=True):
            try:
                found.append(future.result(timeout=max(0.1, deadline - time.monotonic())))
            except (OSError, TimeoutError, asyncio.CancelledError) as error:
                for one in futures:
                    one.release()
                raise Unreachable(f"the worker {worker} does not answer: {error}") from None
            except ModuleNotFoundError as error:
                raise HdbkitError(
                    f"the worker {worker} has no module {error.name}; install the same version of hdbkit there"
                ) from None
        return found

    def task(self, function: Callable[..., object], key: str, workers: list[str], *arguments: object) -> Any:
        """Give a task to the next free one of some workers; return its future."""
        return self._client.submit(function, *arguments, key=key, workers=workers, pure=False)

    def finished(self, futures: list[Any], seconds: float) -> list[Any]:
        """Those of the tasks that have ended, after the first has, or the time has passed."""
        distributed: Any = importlib.import_module("distributed")
        with suppress(TimeoutError, asyncio.CancelledError):
            distributed.wait(futures, timeout=seconds, return_when="FIRST_COMPLETED")
        return [one for one in futures if one.done()]

    def result(self, future: Any) -> Any:
        """The result of a task that has ended; None if it was lost with its worker. Raises ``HdbkitError``."""
        if future.cancelled():
            return None
        try:
            return future.result(timeout=CONNECT_S)
        except (OSError, TimeoutError, asyncio.CancelledError):
            return None
        except Exception as error:
            raise HdbkitError(f"a load host of {self._text} failed: {error or type(error).__name__}") from error

    def cancel(self, futures: list[Any]) -> None:
        """Drop tasks; those that run already end on their own, and their results are lost."""
        with suppress(OSError, RuntimeError, TimeoutError, asyncio.CancelledError):
            self._client.cancel(futures)

    def tasks_of(self, workers: list[str], futures: list[Any]) -> list[Any]:
        """Those of the tasks that these workers have."""
        try:
            held = self._client.processing()
        except (OSError, RuntimeError, TimeoutError, asyncio.CancelledError):
            return []
        keys = {key for worker in workers for key in held.get(worker, ())}
        return [one for one in futures if one.key in keys]

    def all(
        self,
        calls: Mapping[int, Callable[[], Coroutine[Any, Any, _T]]],
        seconds: float,
        raising: tuple[type[Exception], ...] = (),
    ) -> dict[int, _T]:
        """The answers to calls that are made at the same time; one that fails or takes longer has none.

        Whatever one host does, the others are heard: an actor whose worker is lost raises errors of many kinds. Only
        errors of the kinds ``raising`` are raised.
        """

        async def each() -> dict[int, _T]:
            tasks = {asyncio.ensure_future(call()): number for number, call in calls.items()}
            done, left = await asyncio.wait(tasks, timeout=seconds) if tasks else (set(), set())
            for one in left:
                one.cancel()  # and not awaited: it may take its time
            errors = [error for one in done if not one.cancelled() and (error := one.exception())]
            if found := next((error for error in errors if isinstance(error, raising)), None):
                raise found
            return {tasks[one]: one.result() for one in done if not one.cancelled() and not one.exception()}

        try:
            return dict(self._client.sync(each, callback_timeout=seconds + CONNECT_S))
        except (OSError, RuntimeError, TimeoutError, asyncio.CancelledError):
            return {}

    def close(self) -> None:
        """Disconnect, and end what was deployed."""
        self._close_client()
        if self._deployed is not None:
            with suppress(OSError, RuntimeError, TimeoutError):
                self._deployed.close(timeout=10)
        if self._key is not None:
            self._key.close()
        if self._folder is not None:
            self._folder.close()

    def _close_client(self) -> None:
        if self._client is not None:
            with suppress(OSError, RuntimeError, TimeoutError, asyncio.CancelledError):
                self._client.close(timeout=2)
            self._client = None


@contextmanager
def connected(cluster: Cluster) -> Iterator[Connection]:
    """A connection for the block."""
    connection = Connection(cluster)
    connection.open()
    try:
        yield connection
    finally:
        connection.close()


_LOOPBACK: Final = "127.0.0.1"
_NO_PAGES: Final = {"dashboard": False, "dashboard_address": f"{_LOOPBACK}:0"}
"""dask's HTTP server has no encryption: it is on loopback, at a free port, and without pages."""
_WORKER: Final = {"memory_limit": 0, **_NO_PAGES}


def local_cluster(count: int, threads: int | None, content: bytes, security: Any, folder: OwnFolder) -> Any:
    """Workers in processes of this host, which do not import the program that starts them.

    Other accounts of the host reach the ports, so both sides show the certificate ``content`` that was made for them.
    """
    options = {**_WORKER, "host": _LOOPBACK, "silence_logs": "ERROR"}
    options |= {} if threads is None else {"nthreads": threads}
    return _cluster(
        "hdbkit.cluster.local_worker.LocalWorker",
        [{"content": content, "options": options}] * count,
        {"protocol": "tls", "host": _LOOPBACK},
        security,
        folder,
    )


def ssh_cluster(hosts: Sequence[str], threads: int | None, security: Any, folder: OwnFolder) -> Any:
    """A worker on each host (``user@host:port``); the same Python must be at the same path there.

    Raises:
        HdbkitError: a host refuses the connection, or its worker does not start.
        MissingDriver: asyncssh is not installed.
    """
    if importlib.util.find_spec("asyncssh") is None:
        raise MissingDriver("a cluster by SSH", "asyncssh", "cluster")
    kwargs = _WORKER if threads is None else {**_WORKER, "nthreads": threads}
    own = "hdbkit.cluster.local_worker.RemoteWorker"
    options = [{**_address(host), "kwargs": kwargs, "worker_class": own} for host in hosts]
    try:
        return _cluster("distributed.deploy.ssh.Worker", options, {"protocol": "tls"}, security, folder)
    except Exception as error:  # asyncssh has errors of its own, and dask raises plain ones
        reason = str(error) or type(error).__name__
        raise HdbkitError(f"the load hosts cannot be started by SSH: {reason} (see docs/cluster.md)") from None


def _cluster(
    kind: str, workers: Sequence[dict[str, Any]], scheduler: dict[str, Any], security: Any, folder: OwnFolder
) -> Any:
    distributed: Any = importlib.import_module("distributed")
    module, _, name = kind.rpartition(".")
    worker = getattr(importlib.import_module(module), name)
    settings = {"distributed.scheduler.http.routes": [], "temporary-directory": folder.path}
    with importlib.import_module("dask").config.set(settings):
        return distributed.SpecCluster(
            {number: {"cls": worker, "options": options} for number, options in enumerate(workers)},
            {"cls": distributed.Scheduler, "options": {**scheduler, **_NO_PAGES, "security": security}},
            security=security,
            silence_logs="ERROR",
        )


class OwnFolder:
    """A new folder for the files of a scheduler or a worker; it is removed once this process has ended or closed it.

    dask's own is ``dask-scratch-space`` in the folder for temporary files. It imports modules from there and follows
    links, so an account that makes the folder first would execute programs as ours. dask ends a worker, and its
    children, by SIGKILL: a shell that is nobody's child waits for the end of a pipe and removes the folder.
    """

    def __init__(self) -> None:
        self.path = tempfile.mkdtemp(prefix="hdbkit-dask-")
        ended, self._held = os.pipe()
        remove = 'exec 3<&0; { read -r _ <&3; exec rm -rf -- "$0"; } &'
        try:
            subprocess.run(
                ["/bin/sh", "-c", remove, self.path],
                stdin=ended,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd="/",
                start_new_session=True,
                check=True,
            )
        finally:
            os.close(ended)

    def close(self) -> None:
        """Have it removed now."""
        held, self._held = self._held, -1
        if held >= 0:
            os.close(held)


def _address(line: str) -> dict[str, Any]:
    """The host and the options of its connection."""
    user, _, place = line.rpartition("@")
    host, _, port = place.partition(":")
    options: dict[str, Any] = {**({"username": user} if user else {}), **({"port": int(port)} if port else {})}
    return {"address": host, "connect_options": options}
