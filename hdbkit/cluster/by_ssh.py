"""Workers on hosts that are reached by SSH, with the scheduler in this process. Deployment is dask's."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from typing import Any

from hdbkit.errors import MissingDriver


def ssh_cluster(hosts: Sequence[str], security: Any) -> Any:
    """Start a worker on each host (``user@host:port``); the same Python must be at the same path there.

    Raises:
        MissingDriver: asyncssh is not installed.
    """
    if importlib.util.find_spec("asyncssh") is None:
        raise MissingDriver("a cluster by SSH", "asyncssh", "cluster")
    distributed: Any = importlib.import_module("distributed")
    worker: Any = importlib.import_module("distributed.deploy.ssh").Worker

    workers = {
        number: {
            "cls": worker,
            "options": {**_address(host), "kwargs": {"nthreads": 1, "memory_limit": 0, "dashboard": False}},
        }
        for number, host in enumerate(hosts)
    }
    scheduler = {
        "cls": distributed.Scheduler,
        "options": {"protocol": "tls", "security": security, "dashboard": False},
    }
    return distributed.SpecCluster(workers, scheduler, security=security, silence_logs="ERROR")


def _address(line: str) -> dict[str, Any]:
    """The host and the options of its connection."""
    user, _, place = line.rpartition("@")
    host, _, port = place.partition(":")
    options: dict[str, Any] = {**({"username": user} if user else {}), **({"port": int(port)} if port else {})}
    return {"address": host, "connect_options": options}
