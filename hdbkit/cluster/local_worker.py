"""Workers that hdbkit starts. One of this host reads the certificate of its cluster from a pipe: no file has it."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import signal
import sys
from typing import IO, Any

import dask.config
import distributed
from distributed.deploy.subprocess import Subprocess

from hdbkit.cluster.connection import OwnFolder
from hdbkit.processes import command_of
from hdbkit.web.endpoint import new_certificate


class LocalWorker(Subprocess):
    """Starts the process; ``content`` is its certificate and key, ``options`` are those of ``distributed.Worker``."""

    def __init__(self, scheduler: str, name: int, content: bytes, options: dict[str, Any]) -> None:
        self._given = {"scheduler": scheduler, "content": base64.b64encode(content).decode(), "options": options}
        self.name = name
        super().__init__()  # type: ignore[no-untyped-call]

    async def _start(self) -> None:
        command = command_of("hdbkit.cluster.local_worker")
        self.process = started = await asyncio.create_subprocess_exec(*command, stdin=asyncio.subprocess.PIPE)
        assert started.stdin is not None
        started.stdin.write(json.dumps(self._given).encode())
        started.stdin.close()


class RemoteWorker(distributed.Nanny):
    """The worker of a host that is reached by SSH, in a folder of its own."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **{**options, "local_directory": OwnFolder().path})


def temporary_certificate() -> bytes:
    """A certificate and its key for one cluster, which trusts nothing else."""
    return b"".join(new_certificate("localhost", "hdbkit cluster"))


def security_from(content: bytes) -> tuple[Any, IO[bytes]]:
    """TLS by which each side shows this certificate, and the file in memory that dask reads it from: keep it open."""
    file = os.fdopen(os.memfd_create("hdbkit-cluster"), "wb")
    file.write(content)
    file.flush()
    path = f"/proc/self/fd/{file.fileno()}"
    roles = ("client", "scheduler", "worker")
    parts = {f"tls_{role}_{part}": path for role in roles for part in ("cert", "key")}
    make: Any = distributed.Security
    return make(require_encryption=True, tls_ca_file=path, **parts), file


async def _served(given: dict[str, Any]) -> None:
    security, _file = security_from(base64.b64decode(given["content"]))
    async with distributed.Worker(
        given["scheduler"], security=security, local_directory=OwnFolder().path, **given["options"]
    ) as worker:
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, lambda: asyncio.ensure_future(worker.close()))
        await worker.finished()


def main() -> None:
    """Entry point; the arguments are read from the standard input."""
    with dask.config.set({"distributed.worker.http.routes": []}):
        asyncio.run(_served(json.load(sys.stdin)))
