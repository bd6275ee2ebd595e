"""What the sender of a request may do, by its role and by how much it has asked; and the start of a job.

The order is the same for every request: role, number of requests, and only then its content.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Collection, Iterator
from typing import Any

from starlette.requests import HTTPConnection, Request

from hdbkit.api import Workspace
from hdbkit.config import Load, SweepSpec
from hdbkit.config.served import cluster_problem
from hdbkit.errors import ConfigErrors, HdbkitError, Problem
from hdbkit.service import answers
from hdbkit.service.answers import Refused
from hdbkit.service.job_folder import Job
from hdbkit.service.jobs import JobStore, require_target
from hdbkit.service.request_body import content_of
from hdbkit.service.tokens import Holder, Role
from hdbkit.service.verbs import Verb
from hdbkit.web.guard import BODY, HOLDER, header

JOB = "job"
NAME = "holder_name"
LOGGED_FIELDS = (JOB, NAME)
"""The keys of a request's state that the log has: the job, and the name of the token."""


class Permissions:
    """Permits requests by role and number, whether of the API or of a page."""

    def __init__(self) -> None:
        self._reads, self._starts = Bucket(per_s=50, burst=400), Bucket(per_s=2, burst=60)

    def __call__(self, request: HTTPConnection, role: Role, *, starts: bool = False) -> Holder:
        """The holder of the request's token; ``starts``: whether it starts or stops something. Raises ``Refused``."""
        state = request.scope["state"]
        holder: Holder = state[HOLDER]
        state[NAME] = holder.name
        require(holder, role)
        wait_s = (self._starts if starts else self._reads).wait_s(holder.name)
        if wait_s:
            raise Refused(429, f"the token '{holder.name}' has sent too many requests; wait {wait_s:.1f} s", wait_s)
        return holder


def require(holder: Holder, role: Role) -> None:
    """Check that a holder has a role. Raises ``Refused``."""
    if not holder.role.permits(role):
        raise Refused(403, f"this needs a token with the role '{role}'; '{holder.name}' has '{holder.role}'")


class Starter:
    """Starts jobs of those who may."""

    def __init__(self, jobs: JobStore, workspace: Workspace, permit: Permissions) -> None:
        self._jobs, self._workspace, self._permit = jobs, workspace, permit

    def start(self, request: Request, verb: Verb) -> Job:
        """Start the job that a request asks for. Raises ``Refused``, ``Busy`` and ``ConfigErrors``."""
        holder = self._permit(request, verb.role, starts=True)
        given = content_of(header(request.scope, b"content-type"), request.scope["state"][BODY])
        wanted = verb.request.of(given, self._workspace)
        try:
            wanted.look_up(self._workspace)
        except HdbkitError as error:
            raise answers.at_field("id", error) from None
        require(holder, verb.needs(wanted))
        require_permitted(wanted, self._jobs.clusters)
        for field in ("target", *verb.occupies):
            named = getattr(wanted, field, None) or []
            for name in [named] if isinstance(named, str) else named:
                try:
                    require_target(name, self._workspace)
                except HdbkitError as error:
                    raise answers.at_field(field, error) from None
        job = self._jobs.start(verb, wanted, given, holder.name)
        setattr(request.state, JOB, job.job_id)
        return job


_MAX_HOLDERS = 10_000


class Bucket:
    """Permits ``per_s`` requests per second of each holder, and ``burst`` at once."""

    def __init__(self, per_s: float, burst: int) -> None:
        self._per_s, self._burst = per_s, burst
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def wait_s(self, holder: str) -> float:
        """Take one request; 0 if it is permitted, else the seconds until one is."""
        now = time.monotonic()
        left, at = self._left.get(holder, (float(self._burst), now))
        left = min(left + (now - at) * self._per_s, self._burst)
        permitted = left >= 1
        self._left[holder] = (left - 1 if permitted else left, now)
        self._left.move_to_end(holder)
        while len(self._left) > _MAX_HOLDERS:
            self._left.popitem(last=False)
        return 0.0 if permitted else (1 - left) / self._per_s


_NO_CLUSTER = "none"
"""The value of the factor ``cluster`` for this host alone."""


def require_permitted(request: Any, clusters: Collection[str]) -> None:
    """Check that a request names no other cluster. Raises ``ConfigErrors`` with each key that does.

    Its settings are checked by its job, which asks the server what they are.
    """
    if problems := list(_of_clusters(request, clusters)):
        raise ConfigErrors("the request", problems)


def _of_clusters(request: Any, clusters: Collection[str]) -> Iterator[Problem]:
    for place, text in _clusters_of(request):
        if text not in (None, "", _NO_CLUSTER) and (problem := cluster_problem(str(text), clusters)):
            yield Problem(place, problem)


def _clusters_of(request: Any) -> Iterator[tuple[str, Any]]:
    """Each place of a request that names a cluster."""
    yield from (("id", load.cluster) for load in getattr(request, "loads", ()))
    for name in type(request).model_fields:
        value = getattr(request, name)
        if name == "cluster":
            yield name, value
        elif isinstance(value, Load):
            yield f"{name}.cluster", value.cluster
        elif isinstance(value, SweepSpec):
            yield from ((f"{name}.{place}", text) for place, text in _clusters_of(value))
            yield from ((f"{name}.factors.cluster", text) for text in value.factors.get("cluster", ()))
