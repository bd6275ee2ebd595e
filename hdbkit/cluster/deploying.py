"""Workers that hdbkit has dask start, for the time of one run or build; the scheduler is in this process."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Sequence
from typing import Any, Final

from hdbkit.errors import HdbkitError, MissingDriver

_LOOPBACK: Final = "127.0.0.1"
_NO_PAGES: Final = {"dashboard": False, "dashboard_address": f"{_LOOPBACK}:0"}
"""dask's HTTP server has no encryption: it is on loopback, at a free port, and without pages."""
_WORKER: Final = {"memory_limit": 0, **_NO_PAGES}


def local_cluster(count: int, threads: int | None, content: bytes, security: Any) -> Any:
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
    )


def ssh_cluster(hosts: Sequence[str], threads: int | None, security: Any) -> Any:
    """A worker on each host (``user@host:port``); the same Python must be at the same path there.

    Raises:
        HdbkitError: a host refuses the connection, or its worker does not start.
        MissingDriver: asyncssh is not installed.
    """
    if importlib.util.find_spec("asyncssh") is None:
        raise MissingDriver("a cluster by SSH", "asyncssh", "cluster")
    kwargs = _WORKER if threads is None else {**_WORKER, "nthreads": threads}
    options = [{**_address(host), "kwargs": kwargs} for host in hosts]
    try:
        return _cluster("distributed.deploy.ssh.Worker", options, {"protocol": "tls"}, security)
    except Exception as error:  # asyncssh has errors of its own, and dask raises plain ones
        reason = str(error) or type(error).__name__
        raise HdbkitError(f"the load hosts cannot be started by SSH: {reason} (see docs/cluster.md)") from None


def _cluster(kind: str, workers: Sequence[dict[str, Any]], scheduler: dict[str, Any], security: Any) -> Any:
    distributed: Any = importlib.import_module("distributed")
    module, _, name = kind.rpartition(".")
    worker = getattr(importlib.import_module(module), name)
    with importlib.import_module("dask").config.set({"distributed.scheduler.http.routes": []}):
        return distributed.SpecCluster(
            {number: {"cls": worker, "options": options} for number, options in enumerate(workers)},
            {"cls": distributed.Scheduler, "options": {**scheduler, **_NO_PAGES, "security": security}},
            security=security,
            silence_logs="ERROR",
        )


def _address(line: str) -> dict[str, Any]:
    """The host and the options of its connection."""
    user, _, place = line.rpartition("@")
    host, _, port = place.partition(":")
    options: dict[str, Any] = {**({"username": user} if user else {}), **({"port": int(port)} if port else {})}
    return {"address": host, "connect_options": options}
