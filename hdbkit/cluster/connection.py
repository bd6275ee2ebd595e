"""The connection with a dask cluster: an existing scheduler, hosts reached by SSH, or processes of this host.

Connections beyond this host are encrypted, and both sides show certificates: dask's own configuration names the files
(``distributed.comm.tls``).
"""

from __future__ import annotations

import asyncio
import importlib.util
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, Final, TypeVar

from hdbkit.config.cluster import Cluster, parse_cluster, read_hosts
from hdbkit.errors import HdbkitError, MissingDriver

CONNECT_S: Final = 20.0
_DEPLOY_S: Final = 120.0
_T = TypeVar("_T")


class Unreachable(HdbkitError):
    """A load host, or the scheduler, did not answer."""


class Connection:
    """A client of a scheduler, with the workers that serve as load hosts."""

    def __init__(self, text: str) -> None:
        self._cluster = parse_cluster(text)
        self._text = text
        self._security = _security(self._cluster)
        self._deployed: Any = None
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
                self._text if self._deployed is None else self._deployed,
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
            return distributed.LocalCluster(
                n_workers=self._cluster.local,
                threads_per_worker=1,
                host="127.0.0.1",
                memory_limit=0,
                dashboard_address=None,
                silence_logs="ERROR",
            )
        if self._cluster.hosts is not None:
            from hdbkit.cluster.by_ssh import ssh_cluster

            return ssh_cluster(read_hosts(self._cluster.hosts), self._security)
        return None

    @property
    def expected(self) -> int:
        """How many workers are awaited: all that were deployed; of an existing scheduler those that are there."""
        if self._cluster.local:
            return self._cluster.local
        return len(read_hosts(self._cluster.hosts)) if self._cluster.hosts else 1

    def workers(self) -> list[str]:
        """The addresses of the workers that are there. Raises ``Unreachable``."""
        try:
            return sorted(self._client.nthreads())
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

    def actor(self, kind: type[Any], worker: str, key: str, *arguments: object) -> Any:
        """Create an actor on a worker. Raises ``Unreachable``, or what creating it raised."""
        options = {"workers": [worker], "allow_other_workers": False, "pure": False, "key": key}
        future = self._client.submit(kind, *arguments, actor=True, **options)
        try:
            return future.result(timeout=CONNECT_S)
        except (OSError, TimeoutError, asyncio.CancelledError) as error:
            future.release()
            raise Unreachable(f"the worker {worker} does not answer: {error}") from None
        except ModuleNotFoundError as error:
            raise HdbkitError(
                f"the worker {worker} has no module {error.name}; install the same version of hdbkit there"
            ) from None

    def all(self, calls: Mapping[int, Callable[[], Coroutine[Any, Any, _T]]], seconds: float) -> dict[int, _T]:
        """The answers to calls that are made at the same time; one that fails or takes longer has none."""

        async def each() -> dict[int, _T]:
            found: dict[int, _T] = {}

            async def one(number: int) -> None:
                with suppress(OSError, RuntimeError, TimeoutError, asyncio.CancelledError):
                    found[number] = await asyncio.wait_for(calls[number](), seconds)

            await asyncio.gather(*(one(number) for number in calls))
            return found

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

    def _close_client(self) -> None:
        if self._client is not None:
            with suppress(OSError, RuntimeError, TimeoutError, asyncio.CancelledError):
                self._client.close(timeout=2)
            self._client = None


@contextmanager
def connected(text: str) -> Iterator[Connection]:
    """A connection for the block."""
    connection = Connection(text)
    connection.open()
    try:
        yield connection
    finally:
        connection.close()


def _security(cluster: Cluster) -> Any:
    """Certificates from dask's configuration. Raises ``HdbkitError`` where they are needed and missing."""
    if importlib.util.find_spec("distributed") is None:
        raise MissingDriver("a cluster", "distributed", "cluster")
    distributed: Any = importlib.import_module("distributed")
    security = distributed.Security()
    names = ("tls_ca_file", "tls_client_cert", "tls_client_key")
    if not cluster.needs_tls and not cluster.scheduler.startswith("tls:"):
        return None
    if missing := [name for name in names if not getattr(security, name)]:
        raise HdbkitError(
            f"connections with other load hosts are encrypted, but dask's configuration lacks {', '.join(missing)}; "
            "name the files under distributed.comm.tls (see docs/cluster.md)"
        )
    security.require_encryption = True
    return security
