"""The jobs of a results folder: starts, lists, searches and stops them. One service at a time has the folder."""

from __future__ import annotations

import os
import secrets
import signal
import threading
from collections.abc import Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

from hdbkit.api import Workspace
from hdbkit.config import served
from hdbkit.config.problems import did_you_mean
from hdbkit.config.target import target_names
from hdbkit.errors import DamagedResult, HdbkitError, InputError
from hdbkit.processes import birth_of
from hdbkit.programs import Process, waiting_program
from hdbkit.results.folder import make_folder, only_one
from hdbkit.service.job_folder import JOBS, Job, JobFolder, JobRequest, Signs, State
from hdbkit.service.requests import Request
from hdbkit.service.tokens import Role
from hdbkit.service.verbs import VERBS, Verb

MAX_RUNNING = 8
"""Jobs that may run at once, beside those of ``MAX_READING``."""
MAX_READING = 4
"""Jobs that only read and may run at once: whoever may start no other does not keep others from theirs."""


class Busy(HdbkitError):
    """The job cannot start while others are running."""


class NoJob(HdbkitError):
    """There is no job of this id."""


class JobStore:
    """All jobs of a results folder. Jobs that have ended are kept in memory, so that a long list is quick to read.

    Jobs may use ``clusters`` and change ``text_settings``, and no others.
    """

    def __init__(
        self, workspace: Workspace, clusters: Collection[str] = (), text_settings: Collection[str] = ()
    ) -> None:
        self._workspace, self.clusters = workspace, frozenset(clusters)
        self._served = served.served_environment(clusters, text_settings)
        self._root = make_folder(workspace.results / JOBS, exist_ok=True)
        self._starting, self._lock = threading.Lock(), threading.Lock()  # the second is held for moments only
        self._launcher = ThreadPoolExecutor(1, "launcher")  # jobs inherit its priority, not that of the event loop
        self._launcher.submit(int).result()
        self._processes: list[Process] = []
        self._ended: dict[str, Job] = {}
        self._running: dict[str, _Running] = {}
        self._changes, self._began = 0, secrets.token_hex(4)
        for path in sorted(self._root.iterdir()):
            self._running[path.name] = _Running(JobFolder(path))
        self.refresh()

    @contextmanager
    @staticmethod
    def alone(workspace: Workspace) -> Iterator[None]:
        """Be the only service of a results folder. Raises ``InputError`` if there is another."""
        with only_one(workspace.results, JOBS, f"another service uses {workspace.results}; stop it first"):
            yield

    def start(self, verb: Verb, request: Request, given: dict[str, Any], holder: str) -> Job:
        """Start the job of a request, sent as ``given``, in a process of its own. Raises ``Busy``."""
        wanted = verb.targets(request.model_dump(include=set(verb.occupies)))
        with self._starting:
            self.refresh()
            with self._lock:
                running = [one.job for one in self._running.values()]
            only_reads = _only_reads(verb.name)
            alike = [one for one in running if _only_reads(one.verb) is only_reads]
            limit = MAX_READING if only_reads else MAX_RUNNING
            if len(alike) >= limit:
                what = "jobs that only read results" if only_reads else "jobs"
                raise Busy(f"{limit} {what} are running, the maximum; wait until one ends, or stop one")
            for other in running:
                if taken := wanted & _targets_of(other):
                    raise Busy(
                        f"the target '{min(taken)}' is in use by job {other.job_id} ({other.verb}); "
                        "wait until it ends, or stop it"
                    )
            folder, process = self._launcher.submit(self._launched, verb, given, holder).result()
            with self._lock:
                self._processes.append(process)
                self._running[folder.path.name] = started = _Running(folder)
                self._changes += started.look()
                return started.job

    def find(self, job_id: str) -> Job:
        """The job of this id; the same object as long as nothing has changed. Raises ``NoJob``."""
        with self._lock:
            if job_id in self._running:
                self._look_at(job_id)
            found = self._ended.get(job_id) or (self._running[job_id].job if job_id in self._running else None)
        if found is None:
            raise NoJob(f"there is no job '{job_id}'")
        return found

    def folder(self, job_id: str) -> JobFolder:
        """The folder of a job that ``find`` has found."""
        return JobFolder(self._root / self.find(job_id).job_id)

    def listed(self, search: str = "", state: State | None = None, verb: str = "") -> list[Job]:
        """The jobs, newest first, whose id, verb, state, request, error or run contain every word of ``search``."""
        self.refresh()
        with self._lock:
            running = [one.job for one in self._running.values()]
            found = sorted([*self._ended.values(), *running], key=lambda job: job.job_id, reverse=True)
        words = search.lower().split()
        return [
            job
            for job in found
            if (state is None or job.state is state)
            and (not verb or job.verb == verb)
            and (not words or all(word in job.words for word in words))
        ]

    def stop(self, job_id: str) -> Job:
        """Stop a job as Ctrl-C stops its verb; does nothing if it has ended. Raises ``NoJob``."""
        job = self.find(job_id)
        if job.state is State.RUNNING:
            asked = self.folder(job_id).asked
            if birth_of(asked.pid) == asked.birth:
                with suppress(ProcessLookupError):
                    os.kill(asked.pid, signal.SIGINT)
        return job

    def refresh(self) -> str:
        """Look at all running jobs; the version of all jobs, which changes whenever one of them does."""
        with self._lock:
            self._processes[:] = [one for one in self._processes if one.poll() is None]  # no zombies
            for name in list(self._running):
                self._look_at(name)
            return f"{self._began}-{self._changes}"

    def _look_at(self, name: str) -> None:
        """Read a running job again if it has changed; one that has ended is moved to the others."""
        one = self._running[name]
        try:
            changed = one.look()
        except DamagedResult:  # the service ended before it wrote the job, or someone changed its files
            del self._running[name]
            self._changes += 1
            return
        self._changes += changed
        if one.job.state is not State.RUNNING:
            self._ended[name] = one.job
            del self._running[name]

    def _launched(self, verb: Verb, request: dict[str, Any], holder: str) -> tuple[JobFolder, Process]:
        """Start the process of a new job, which waits until its folder names it."""
        now = datetime.now(UTC)
        job_id = f"{now:%Y%m%dT%H%M%S}{now.microsecond // 1000:03}-{verb.name}-{secrets.token_hex(3)}"
        folder = JobFolder(make_folder(self._root / job_id))
        environment = {**os.environ, **self._workspace.environment, **self._served}
        waiting = waiting_program(
            "hdbkit.service.job_process", str(folder.path), errors=folder.errors_file, environment=environment
        )
        with waiting as process:  # one that no job names must not start
            birth = birth_of(process.pid)
            folder.note(
                JobRequest(
                    job_id=job_id,
                    verb=verb.name,
                    request=request,
                    holder=holder,
                    created=now,
                    pid=process.pid,
                    birth=birth,
                )
            )
        return folder, process


class _Running:
    """A job that has not ended, or not to our knowledge; its files are read again when they or its process change."""

    job: Job

    def __init__(self, folder: JobFolder) -> None:
        self._folder = folder
        self._signs: Signs | None = None

    def look(self) -> bool:
        """Bring ``job`` up to date; whether it has changed. Raises ``DamagedResult``."""
        signs = self._folder.signs(self.asked)
        if signs == self._signs:
            return False
        self.job, self._signs = self._folder.read(), signs
        return True

    @cached_property
    def asked(self) -> JobRequest:
        """What never changes. Raises ``DamagedResult``."""
        return self._folder.asked


def _only_reads(verb: str) -> bool:
    """Whether a token that may start nothing else may start a verb."""
    return verb in VERBS and VERBS[verb].role is Role.READ


def _targets_of(job: Job) -> frozenset[str]:
    """The targets that a job occupies."""
    verb = VERBS.get(job.verb)
    return frozenset() if verb is None else verb.targets(job.request)


def require_target(name: str, workspace: Workspace) -> None:
    """Check that a target is in the targets file, and that its entry is valid. Raises ``InputError``."""
    known = target_names(workspace.targets)
    if name not in known:
        listed, file = ", ".join(known) or "none", workspace.targets.name
        raise InputError(f"there is no target '{name}' in {file} (known: {listed}).{did_you_mean(name, known)}")
    workspace.target(name)
