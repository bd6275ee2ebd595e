"""The reads that programs repeat: a job, the newest jobs, the targets. While nothing changes, content is made once.

Clients poll beside a run, often on its host, so a read must cost little: ``Reads`` answers it where it arrives,
without the application's router, validation, tasks and threads. Requests with other parameters go there, and have the
same content.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Callable
from functools import partial
from typing import TypeVar

from hdbkit.api import Workspace
from hdbkit.service.answers import encoded
from hdbkit.service.headers import SECURE, encoded_headers
from hdbkit.service.job_folder import Job, State
from hdbkit.service.jobs import Jobs
from hdbkit.service.permissions import Permissions
from hdbkit.service.results import TargetAnswer, listed_targets
from hdbkit.service.roles import Role
from hdbkit.web.guard import Answer, Scope

JOB_ID = r"^[A-Za-z0-9-]{1,80}$"
"""The form of a job's id."""
LIMIT, MAX_LIMIT = 100, 1000
"""The number of jobs in a list, and the largest."""
_KEPT_JOBS, _KEPT_LISTS = 4096, 16
_JOBS, _TARGETS = "/api/jobs", "/api/targets"
_JOB = re.compile(f"^{_JOBS}/({JOB_ID[1:-1]})$")
K = TypeVar("K")
V = TypeVar("V")
_HEADERS = [(b"content-type", b"application/json"), *encoded_headers(SECURE)]
_LIMITED = re.compile(rb"limit=([1-9][0-9]{0,3})")


class Contents:
    """The content of reads, as JSON in ASCII."""

    def __init__(self, jobs: Jobs, workspace: Workspace) -> None:
        self._jobs, self._workspace = jobs, workspace
        self._job: OrderedDict[str, tuple[Job, bytes]] = OrderedDict()  # the oldest first
        self._list: OrderedDict[tuple[object, ...], tuple[int, bytes]] = OrderedDict()
        self._targets: tuple[tuple[TargetAnswer, ...] | None, bytes] = None, b""

    def job(self, job_id: str) -> bytes:
        """A job as it is now. Raises ``NoJob``."""
        return self._of(self._jobs.find(job_id))

    def jobs(
        self, search: str = "", state: State | None = None, verb: str = "", limit: int = LIMIT, offset: int = 0
    ) -> bytes:
        """A part of the list of jobs, newest first, and the number of all that were found."""
        key, at = (search, state, verb, limit, offset), self._jobs.refresh()
        kept = self._list.get(key)
        if kept and kept[0] == at:
            return kept[1]
        found = self._jobs.listed(search, state, verb)
        listed = b", ".join([self._of(job) for job in found[offset : offset + limit]])
        content = b'{"jobs": [%b], "total": %d}' % (listed, len(found))
        _keep(self._list, key, (at, content), _KEPT_LISTS)
        return content

    def targets(self) -> bytes:
        """The targets of the workspace."""
        found = listed_targets(self._workspace)
        if found is not self._targets[0]:
            self._targets = found, b'{"targets": [%b]}' % b", ".join([encoded(one) for one in found])
        return self._targets[1]

    def _of(self, job: Job) -> bytes:
        kept = self._job.get(job.job_id)
        if kept and kept[0] is job:
            return kept[1]
        content = encoded(job)
        _keep(self._job, job.job_id, (job, content), _KEPT_JOBS)
        return content


def _keep(kept: OrderedDict[K, V], key: K, value: V, most: int) -> None:
    kept[key] = value
    while len(kept) > most:
        kept.popitem(last=False)


class Reads:
    """Answers the reads of ``Contents`` whose parameters are as usual, and no other request."""

    def __init__(self, jobs: Jobs, workspace: Workspace) -> None:
        self.contents, self.permit = Contents(jobs, workspace), Permissions()

    def __call__(self, scope: Scope) -> Callable[[], Answer] | None:
        """What answers a request, if it is such a read."""
        content = self._content(scope)
        return partial(self._answer, scope, content) if content else None

    def _answer(self, scope: Scope, make: Callable[[], bytes]) -> Answer:
        content = make()
        self.permit.of(scope, Role.READ)
        return Answer(_HEADERS, content)

    def _content(self, scope: Scope) -> Callable[[], bytes] | None:
        """What makes the content of a usual read; None for any other request."""
        if scope["method"] != "GET":
            return None
        path, query = scope["path"], scope["query_string"]
        if path == _JOBS:
            found = _LIMITED.fullmatch(query)
            limit = int(found[1]) if found else LIMIT
            usual = limit <= MAX_LIMIT and (found or not query)
            return partial(self.contents.jobs, limit=limit) if usual else None
        if query:
            return None
        if path == _TARGETS:
            return self.contents.targets
        job = _JOB.fullmatch(path)
        return partial(self.contents.job, job[1]) if job else None
