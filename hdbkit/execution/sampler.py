"""The server's counters and the host's load over time, one JSON object a line, on disk as soon as taken.

Sampling has a thread and a connection of its own: a server that does not answer holds up nobody else.
"""

from __future__ import annotations

import json
import queue
import threading
import time
from collections.abc import Mapping
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from hdbkit.contracts import Session, SessionOptions
from hdbkit.databases import database
from hdbkit.errors import HdbkitError
from hdbkit.execution import host
from hdbkit.plan import RunPlan
from hdbkit.workloads import workload

COUNTED_NAME = "new_orders"


class Lines:
    """A file with one JSON object a line; each is in the file before ``add`` returns."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("ab", buffering=0)
        self._lock = threading.Lock()

    def add(self, row: Mapping[str, Any]) -> None:
        """Append one object."""
        with self._lock:
            self._file.write(json.dumps(row).encode() + b"\n")


class Sampler(threading.Thread):
    """Samples in the background; ``take`` asks for one now."""

    def __init__(self, plan: RunPlan, folder: Path, interval_s: float) -> None:
        super().__init__(name="hdbkit-sampler", daemon=True)
        self._plan, self._interval_s = plan, interval_s
        self._counters, self._host = Lines(folder / "counters.ndjson"), Lines(folder / "host.ndjson")
        self._asked: queue.Queue[tuple[str, Future[float]] | None] = queue.Queue()
        self._database, self._workload = database(plan.target.kind), workload(plan.workload.kind)
        self._session: Session | None = None
        self._server_pid: int | None = None

    def take(self, edge: str, timeout_s: float) -> float:
        """Sample now, as an edge of the window; the middle of the query in ns of the monotonic clock.

        Raises:
            HdbkitError: the server refused, or did not answer in time.
        """
        future: Future[float] = Future()
        self._asked.put((edge, future))
        try:
            return future.result(timeout_s)
        except TimeoutError:
            raise HdbkitError(f"the server did not tell its counters within {timeout_s:g} s") from None

    def stop(self) -> None:
        """End the thread after what was asked."""
        self._asked.put(None)

    def run(self) -> None:
        """Serve what is asked for; between, sample the host each second and the counters each interval."""
        next_host = next_counters = time.monotonic()
        while True:
            try:
                asked = self._asked.get(timeout=max(min(next_host, next_counters) - time.monotonic(), 0))
            except queue.Empty:
                now = time.monotonic()
                if now >= next_host:
                    next_host = now + 1
                    self._host.add({"t_ns": time.monotonic_ns(), **host.sample(self._server_pid)})
                if now >= next_counters:
                    next_counters = now + self._interval_s
                    self._quietly("")
                continue
            if asked is None:
                break
            self._answer(*asked)
            next_counters = time.monotonic() + self._interval_s
        if self._session:
            self._session.close()

    def _answer(self, edge: str, future: Future[float]) -> None:
        try:
            middle_ns = self._sample(edge)
        except Exception as error:
            self._forget_session()
            future.set_exception(error)
        else:
            future.set_result(middle_ns)
        self._host.add({"t_ns": time.monotonic_ns(), **host.sample(self._server_pid)})

    def _quietly(self, edge: str) -> None:
        try:
            self._sample(edge)
        except HdbkitError:
            self._forget_session()

    def _forget_session(self) -> None:
        if self._session:
            self._session.close()
        self._session = None

    def _sample(self, edge: str) -> float:
        session = self._connected()
        sent = time.monotonic_ns()
        total = self._workload.counted_total(session)
        returned = time.monotonic_ns()
        self._add(edge, sent, returned, {COUNTED_NAME: total})
        engine_sent = time.monotonic_ns()
        engine = self._database.counters(session)
        self._add(edge, engine_sent, time.monotonic_ns(), engine)
        return (sent + returned) / 2

    def _add(self, edge: str, sent: int, returned: int, values: Mapping[str, float]) -> None:
        for name, value in values.items():
            row = {"edge": edge, "sent_ns": sent, "returned_ns": returned, "name": name, "value": float(value)}
            self._counters.add(row)

    def _connected(self) -> Session:
        if self._session is None:
            options = SessionOptions(statement_timeout_ms=30_000, application="hdbkit sampler")
            self._session = self._database.connect(self._plan.target, self._plan.workload.kind, options)
            self._server_pid = self._database.server_process(self._session)
        return self._session
