"""What a load host does for a run: an actor on its dask worker, called by the coordinator without the scheduler.

The actor holds nothing but the path of a folder: the users belong to a process of their own
(:mod:`hdbkit.cluster.host_process`), which outlives the worker. Any worker of the host can answer for them later.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import math
import os
import platform
import shutil
import time
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any

from pydantic import SecretStr

from hdbkit.config import Target
from hdbkit.config.withheld import handed_on
from hdbkit.control_groups import limits
from hdbkit.databases import database
from hdbkit.errors import HdbkitError
from hdbkit.execution.control import Control, Field, Stop
from hdbkit.execution.host import process_cpu_s, waited_for_core_s
from hdbkit.execution.live_sums import Sums
from hdbkit.execution.load_hosts import ends
from hdbkit.paths import data_folder, state_folder
from hdbkit.plan import RunPlan
from hdbkit.processes import ONE_THREAD, birth_of, boot_id
from hdbkit.programs import DEVNULL, Process, start_program
from hdbkit.results.columns import ENDING_LINES, ERROR_LINES, HOST_LINES, SOURCES_OF_CLIENTS
from hdbkit.results.folder import RunFolder
from hdbkit.results.spool import SpoolTails, trim

ORDER = "order.json"
PROCESS = "process"
_COLLECTED = (*("*.spool", "*.reason"), *(source.name for source in (HOST_LINES, ENDING_LINES, *SOURCES_OF_CLIENTS)))


def runs_folder() -> Path:
    """Where a host keeps the files of its users until they are collected."""
    return state_folder() / "load_hosts"


class LoadHost:
    """One part of the users of a run, on one host; ``number`` counts from 0."""

    def __init__(self, run_id: str, number: int) -> None:
        self.folder = RunFolder(runs_folder() / run_id / f"{number:03d}")
        self._page: Control | None = None
        self._tails: SpoolTails | None = None
        self._is_paced, self._looks = False, -1
        self._clients = range(0)
        self._sent: dict[str, dict[int, Any]] = {"states": {}, "endings": {}}
        self._cpu_s: dict[int, float] = {}

    def facts(self, target: str) -> dict[str, Any]:
        """See :func:`hdbkit.cluster.host.facts`."""
        return facts(target)

    async def clock(self) -> tuple[int, int]:
        """The host's monotonic clock, when a message was received and when it is answered."""
        return time.monotonic_ns(), time.monotonic_ns()

    def held(self) -> bool:
        """Whether this host has files of this part."""
        return (self.folder.path / ORDER).is_file()

    def prepare(self, order: str, secret: SecretStr | None) -> None:
        """Start the users' process. A second call changes nothing."""
        if self.held():
            return
        content = json.loads(order)
        plan = RunPlan.model_validate(content["plan"])
        self.folder.path.mkdir(parents=True, mode=0o700)  # that of a worker's process may permit others to read
        self.folder.spools.mkdir(mode=0o700)
        page = Control.create(self.folder.control, len(plan.load.clients))
        page.fields[Field.HEARD_AT_NS] = time.monotonic_ns()
        page.close()
        target = plan.target.with_(password=secret) if secret else plan.target
        environment = {**os.environ, **ONE_THREAD, **(handed_on(target) if secret is not None else {})}
        with self.folder.supervisor_errors.open("wb") as errors:
            (self.folder.path / ORDER).write_text(order, encoding="utf-8")
            process = start_program(
                "hdbkit.cluster.host_process",
                str(self.folder.path),
                environment=environment,
                stdout=DEVNULL,
                stderr=errors.fileno(),
            )
        (self.folder.path / PROCESS).write_text(f"{process.pid} {birth_of(process.pid)}", encoding="ascii")
        _started.append(process)

    async def look(self, number: int) -> bytes:
        """What is new since the last look, as JSON; all that is known unless ``number`` counts on.

        One message per second. Dask would send each part of a dictionary in a frame of its own, which costs the
        coordinator several times as much.
        """
        received_ns = time.monotonic_ns()
        found = await asyncio.to_thread(self._look, number)
        return json.dumps({**found, "received_ns": received_ns, "answered_ns": time.monotonic_ns()}).encode()

    def _look(self, number: int) -> dict[str, Any]:
        page = self._opened()
        page.fields[Field.HEARD_AT_NS] = time.monotonic_ns()
        if number != self._looks + 1:
            self._sent = {"states": {}, "endings": {}}
        self._looks = number
        sums = Sums()
        for records in self._tails.new(0) if self._tails else ():
            sums.add(records, self._is_paced)
        states = {client: int(page.state(client)) for client in self._clients}
        return {
            "states": self._changes("states", states),
            "endings": self._changes("endings", self._endings()),
            "sums": sums.sent,
            "cpu_s": self._grown_cpu_s(page),
            "error": self._error(),
        }

    def _changes(self, kind: str, now: dict[int, Any]) -> dict[int, Any]:
        before, self._sent[kind] = self._sent[kind], now
        return {key: value for key, value in now.items() if before.get(key) != value}

    def _opened(self) -> Control:
        if self._page is None:
            order = json.loads((self.folder.path / ORDER).read_bytes())
            self._is_paced, self._clients = order["is_paced"], range(*order["clients"])
            self._tails = SpoolTails(self.folder.spools)
            self._page = Control(self.folder.control)
        return self._page

    def _endings(self) -> dict[int, str]:
        known = {row["client"]: row["ended"] for row in ends(self.folder.spools)}
        if self._is_running():
            return known
        return {**dict.fromkeys(self._clients, "killed" if known else "failed"), **known}

    def _is_running(self) -> bool:
        """Whether the users' process is alive."""
        with suppress(OSError, ValueError):
            pid, _, birth = (self.folder.path / PROCESS).read_text(encoding="ascii").partition(" ")
            for one in _started:
                one.poll()
            return bool(birth) and birth_of(int(pid)) == birth
        return False

    def _grown_cpu_s(self, page: Control) -> float:
        pids = [pid for client in self._clients if (pid := page.pid(client))]
        before, self._cpu_s = self._cpu_s, {pid: process_cpu_s(pid) for pid in pids}
        grown = [used - before[pid] for pid, used in self._cpu_s.items() if pid in before]
        return sum(one for one in grown if not math.isnan(one))

    def _error(self) -> str:
        """The newest text of an error of the first client that has one."""
        for path in sorted(self.folder.spools.glob(ERROR_LINES.name))[:1]:
            with suppress(OSError, ValueError):
                return str(max(json.loads(path.read_bytes()), key=lambda row: row["last_ns"])["text"])
        return ""

    async def start_at(self, start_ns: int) -> int:
        """Publish the start, on the host's clock; return the present time of that clock."""
        self._opened().fields[Field.START_AT_NS] = start_ns
        return time.monotonic_ns()

    async def stop(self) -> None:
        """Let no further operation begin."""
        fields = self._opened().fields
        fields[Field.STOP_AT_NS] = min(fields[Field.STOP_AT_NS], time.monotonic_ns())

    async def kill(self) -> None:
        """Let the users' process kill every client that is still running."""
        fields = self._opened().fields
        fields[Field.STOP_REQUEST] = Stop.AT_ONCE

    def readings(self) -> list[tuple[int, int, float, float]]:
        """Number, process, CPU time and wait for cores of each client."""
        page = self._opened()
        pids = {client: page.pid(client) for client in self._clients}
        return [
            (client, pid, *((process_cpu_s(pid), waited_for_core_s(pid)) if pid else (math.nan, math.nan)))
            for client, pid in pids.items()
        ]

    def reasons(self) -> str:
        """Why clients failed, without duplicates."""
        found = [path.read_text("utf-8") for path in sorted(self.folder.spools.glob("*.reason"))]
        with suppress(OSError):
            found += [self.folder.supervisor_errors.read_text("utf-8").strip()] if not self._is_running() else []
        return " ".join(dict.fromkeys(one for one in found if one))

    def ended(self) -> bool:
        """Whether the users' process has ended, so that its files are final."""
        return self.held() and not self._is_running()

    def files(self) -> list[tuple[str, int, str]]:
        """The files to collect: name, size and SHA-256. Call it once the process has ended."""
        for path in self.folder.spools.glob("*.spool"):
            trim(path)
        paths = sorted(path for pattern in _COLLECTED for path in self.folder.spools.glob(pattern))
        return [(path.name, path.stat().st_size, digest_of(path)) for path in paths]

    def chunk(self, name: str, offset: int, length: int) -> bytes:
        """A piece of a file."""
        with (self.folder.spools / Path(name).name).open("rb") as file:
            file.seek(offset)
            return file.read(length)

    def forget(self) -> None:
        """Remove the files of this part, which are collected."""
        if self.ended():
            shutil.rmtree(self.folder.path, ignore_errors=True)
            with suppress(OSError):
                self.folder.path.parent.rmdir()


_started: list[Process] = []
"""Processes that this worker has started, to be waited for; another worker may find them running."""


def digest_of(path: Path) -> str:
    """The SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def facts(target: str) -> dict[str, Any]:
    """What hosts must have in common, and what describes this one; ``target`` is a target as JSON."""
    return {
        "name": platform.node(),
        "cores": limits().cores,
        "machine": _machine(),
        "clock": _clock(),
        "versions": {
            "Python": platform.python_version(),
            "hdbkit": version("hdbkit"),
            "code of hdbkit": _code(),
            "driver": database(Target.model_validate_json(target)).driver_version(),
            "distributed": version("distributed"),
        },
    }


def require_same(here: dict[str, Any], there: dict[str, Any], worker: str) -> None:
    """Compare the facts of a worker with those of this host. Raises ``HdbkitError`` for the first difference."""
    for what, ours in here["versions"].items():
        if (theirs := there["versions"].get(what)) != ours:
            raise HdbkitError(
                f"the load host {there['name']} ({worker}) has {what} {theirs}, but this host has {ours}; "
                "install the same on all hosts"
            )


def _machine() -> str:
    try:
        return boot_id()
    except OSError:
        return platform.node()


def _clock() -> str:
    """Identity of the monotonic clock: processes of one boot and time namespace read the same; empty if unknown."""
    try:
        return f"{boot_id()} {Path('/proc/self/ns/time').readlink()}"
    except OSError:
        return ""


def _code() -> str:
    """A digest of hdbkit's own files: a checkout may differ without another version."""
    digest = hashlib.sha256()
    for root in (Path(__file__).parents[1], data_folder("schemas")):
        for path in sorted(one for one in root.rglob("*") if one.suffix in (".py", ".sql", ".yaml", ".lua")):
            digest.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:12]
