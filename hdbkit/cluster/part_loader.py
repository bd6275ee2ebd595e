"""What a load host does for a build: tasks load parts with the host's own loader processes.

The order goes to an actor on the worker directly, with the password, which neither a task nor the scheduler has. A
task names the build and a part. A host without heartbeats of the build ends its loaders, so that the server rolls
back what they have not committed, and another host can load it.
"""

from __future__ import annotations

import importlib
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from typing import Any, Final

from pydantic import SecretStr

from hdbkit.cluster.versions import facts
from hdbkit.config import Target, WorkloadSpec
from hdbkit.errors import BuildFailed, HdbkitError
from hdbkit.loading.data_files import DataFiles
from hdbkit.loading.loader import LoadPart, Sent
from hdbkit.loading.loaders import Loaders

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
        """See :func:`hdbkit.cluster.versions.facts`."""
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
