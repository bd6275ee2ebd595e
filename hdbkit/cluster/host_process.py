"""The process of a load host's users: it starts their clients, samples the host, and ends them at the time limit.

It belongs to no worker and needs no connection: the loss of the coordinator or the scheduler does not end users
before the planned end of the run, unless the load asks for that (``cut_off_hosts``). It reads the control page of its
folder, which the actor (:mod:`hdbkit.cluster.host`) writes.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
import time
from pathlib import Path
from typing import Any, Final

from hdbkit.cluster.host import ORDER
from hdbkit.config.cluster import CutOff
from hdbkit.execution import host
from hdbkit.execution.control import NEVER_NS, Control, Field, Stop
from hdbkit.execution.local_pool import LocalPool
from hdbkit.files import JsonLines, replace_file
from hdbkit.plan import RunPlan
from hdbkit.results.columns import ENDING_LINES, HOST_LINES
from hdbkit.results.folder import RunFolder
from hdbkit.results.spool import trim

HEARD_S: Final = 5.0
"""A coordinator that was not heard for this long is out of reach."""
_BEFORE_START_S: Final = 60.0
"""Users that wait for the start end when the coordinator was not heard for this long."""
_GRACE_S: Final = 10.0
_POLL_S: Final = 0.1
_SAMPLE_S: Final = 1.0


class UsersOfHost:
    """The users of one host, from the start of their clients to their end."""

    def __init__(self, folder: RunFolder) -> None:
        order: dict[str, Any] = json.loads((folder.path / ORDER).read_bytes())
        self._folder, self._plan = folder, RunPlan.model_validate(order["plan"])
        self._limit_s: float | None = order["limit_s"]
        self._page = Control(folder.control)
        self._pool = LocalPool(folder, self._plan, range(*order["clients"]))
        self._samples = JsonLines(folder.spools / HOST_LINES.name)
        self._host = host.HostSamples()
        self._sampled_s = 0.0
        self._known = -1

    def run(self) -> None:
        """Serve until the last client has ended."""
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if soft != hard:
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        self._pool.prepare(self._plan.users)
        while not self._pool.all_ended():
            self._pool.wait(_POLL_S)
            self._sample()
            self._keep_limits()
            self._note_endings()
        self._sample(last=True)
        self._note_endings()
        for path in self._folder.spools.glob("*.spool"):
            trim(path)

    def _keep_limits(self) -> None:
        fields, now = self._page.fields, time.monotonic_ns()
        start_ns, silent_s = fields[Field.START_AT_NS], (now - fields[Field.HEARD_AT_NS]) / 1e9
        if fields[Field.STOP_REQUEST] == Stop.AT_ONCE:
            self._pool.kill()
        elif start_ns == NEVER_NS:
            if silent_s > _BEFORE_START_S:
                self._pool.kill()
        elif (self._limit_s is not None and now > start_ns + 1e9 * self._limit_s) or (
            silent_s > HEARD_S and self._plan.load.cut_off_hosts is CutOff.STOP
        ):
            self._pool.stop()
        if now > fields[Field.STOP_AT_NS] + 1e9 * (_GRACE_S + HEARD_S):
            self._pool.kill()

    def _sample(self, last: bool = False) -> None:
        if last or time.monotonic() >= self._sampled_s + _SAMPLE_S:
            self._sampled_s = time.monotonic()
            self._samples.try_to_add({"t_ns": time.monotonic_ns(), **self._host.take()})

    def _note_endings(self) -> None:
        endings = self._pool.endings()
        if len(endings) != self._known:
            self._known = len(endings)
            content = [{"client": client, "ended": ending.value} for client, ending in endings.items()]
            replace_file(self._folder.spools / ENDING_LINES.name, json.dumps(content).encode())


def main() -> None:
    """Entry point: ``python ... FOLDER``."""
    os.umask(0o077)
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    UsersOfHost(RunFolder(Path(sys.argv[1]))).run()
