"""What the sender of a request may do, by its role and by how much it has asked; and the start of a job.

The order is the same for every request: role, number of requests, and only then its content.
"""

from __future__ import annotations

from starlette.requests import HTTPConnection, Request

from hdbkit.api import Workspace
from hdbkit.errors import HdbkitError
from hdbkit.service import answers
from hdbkit.service.answers import Refused
from hdbkit.service.job_folder import Job
from hdbkit.service.jobs import Jobs, require_target
from hdbkit.service.limits import Bucket
from hdbkit.service.permitted import require_permitted
from hdbkit.service.requests import content_of
from hdbkit.service.roles import Role
from hdbkit.service.tokens import Holder
from hdbkit.service.verbs import Verb
from hdbkit.web.guard import BODY, HOLDER, header

JOB = "job"
NAME = "holder_name"
LOGGED = (JOB, NAME)
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

    def __init__(self, jobs: Jobs, workspace: Workspace, permit: Permissions) -> None:
        self._jobs, self._workspace, self._permit = jobs, workspace, permit

    def start(self, request: Request, verb: Verb) -> Job:
        """Start the job that a request asks for. Raises ``Refused``, ``Busy`` and ``ConfigErrors``."""
        holder = self._permit(request, verb.role, starts=True)
        given = content_of(header(request.scope, b"content-type"), request.scope["state"][BODY])
        wanted = verb.request.of(given, self._workspace)
        try:
            wanted.look_up(self._workspace)
        except HdbkitError as error:
            raise answers.at("id", error) from None
        require(holder, verb.needs(wanted))
        require_permitted(wanted, self._jobs.clusters)
        for field in ("target", *verb.occupies):
            named = getattr(wanted, field, None) or []
            for name in [named] if isinstance(named, str) else named:
                try:
                    require_target(name, self._workspace)
                except HdbkitError as error:
                    raise answers.at(field, error) from None
        job = self._jobs.start(verb, wanted, given, holder.name)
        setattr(request.state, JOB, job.job_id)
        return job
