"""The service's HTTP API. ``Guard`` verifies the token before it; an error names the key, the value and what was
expected, with status 422; 404 is an unknown job, 403 a role that does not permit it, 409 a target in use.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from importlib import metadata
from typing import Annotated, Any

from fastapi import Body, FastAPI, Path, Query, Request
from fastapi.responses import FileResponse, StreamingResponse
from pydantic import BaseModel, Field

from hdbkit.config.problems import did_you_mean
from hdbkit.config.target import target_names
from hdbkit.errors import HdbkitError
from hdbkit.service import answers
from hdbkit.service.answers import Ascii, ErrorAnswer, Refused
from hdbkit.service.job_folder import Job, State
from hdbkit.service.jobs import Jobs, require_target
from hdbkit.service.limits import Bucket
from hdbkit.service.live import MAX_VIEWERS, Live
from hdbkit.service.roles import Role
from hdbkit.service.tokens import Holder
from hdbkit.service.verbs import VERBS, Verb
from hdbkit.web.guard import HOLDER
from hdbkit.workspace import Workspace

JOB = "job"
NAME = "holder_name"
LOGGED = (JOB, NAME)
"""The keys of a request's state that the log has: the job, and the name of the token."""
_ERRORS: dict[int | str, dict[str, Any]] = {
    status: {"model": ErrorAnswer, "description": about}
    for status, about in {
        401: "the token is missing, unknown or expired",
        403: "the role of the token does not permit this",
        422: "the request is invalid; nothing was started",
        429: "too many requests",
    }.items()
}
_UNKNOWN: dict[int | str, dict[str, Any]] = {
    404: {"model": ErrorAnswer, "description": "there is no such job"},
    409: {"model": ErrorAnswer, "description": "the job is not in the state for this"},
}
_BUSY: dict[int | str, dict[str, Any]] = {409: {"model": ErrorAnswer, "description": "the target is in use"}}
_ABOUT = (
    "The verbs of hdbkit as jobs. Send `Authorization: Bearer TOKEN`. A job is a process of its own: it continues "
    "when the service ends, and a restarted service lists it."
)
JobId = Annotated[
    str, Path(pattern=r"^[A-Za-z0-9-]{1,80}$", description="the job's id", examples=["20261124T024500123-run-1a2b3c"])
]


class JobList(BaseModel):
    """Jobs, newest first."""

    jobs: list[Job]
    total: int = Field(description="the number of jobs that were found, listed or not")


class TargetAnswer(BaseModel):
    """A target of the workspace."""

    name: str
    url: str = Field(description="the address, without a password; empty if its entry has errors")
    may_change_settings: bool
    error: str = Field(default="", description="what is wrong with its entry")


class TargetList(BaseModel):
    """The targets of the workspace."""

    targets: list[TargetAnswer]


def make_app(jobs: Jobs, workspace: Workspace) -> FastAPI:
    """Create the application."""
    app = FastAPI(
        title="hdbkit service",
        description=_ABOUT,
        version=metadata.version("hdbkit"),
        docs_url=None,
        redoc_url=None,
        openapi_url="/api/openapi.json",
        default_response_class=Ascii,
        responses=_ERRORS,
        generate_unique_id_function=lambda route: route.name,
    )
    answers.add_to(app)
    _secure(app)
    limits = {Role.READ: Bucket(per_s=400, burst=800), Role.RUN: Bucket(per_s=2, burst=60)}

    def permit(request: Request, role: Role) -> Holder:
        """The holder of the request's token. Raises ``Refused``."""
        holder: Holder = request.scope["state"][HOLDER]
        setattr(request.state, NAME, holder.name)
        wait_s = limits[Role.READ if role is Role.READ else Role.RUN].wait_s(holder.name)
        if wait_s:
            raise Refused(429, f"the token '{holder.name}' has sent too many requests; wait {wait_s:.1f} s", wait_s)
        if not holder.role.permits(role):
            raise Refused(403, f"this needs a token with the role '{role}'; '{holder.name}' has '{holder.role}'")
        return holder

    for verb in VERBS.values():
        _add_verb(app, verb, jobs, workspace, permit)
    _add_unknown_verb(app)
    _add_jobs(app, jobs, permit)
    _add_results(app, jobs, Live(jobs, workspace), permit)
    _add_targets(app, workspace, permit)
    return app


Permit = Callable[[Request, Role], Holder]


def _add_verb(app: FastAPI, verb: Verb, jobs: Jobs, workspace: Workspace, permit: Permit) -> None:
    """The path that starts jobs of a verb."""

    def start(request: Request, body: Any) -> Job:
        holder = permit(request, Role.READ if verb.role is Role.READ else Role.RUN)
        if not holder.role.permits(verb.needs(body)):
            permit(request, verb.needs(body))
        for field in ("target", *verb.occupies):
            if name := getattr(body, field, None):
                try:
                    require_target(name, workspace)
                except HdbkitError as error:
                    raise answers.at(field, error) from None
        given = json.loads(request.state.body)
        job = jobs.start(verb, given, holder.name)
        setattr(request.state, JOB, job.job_id)
        return job

    examples = {verb.name: {"summary": verb.summary, "value": dict(verb.example)}}
    start.__annotations__["body"] = Annotated[verb.request, Body(openapi_examples=examples)]  # type: ignore[arg-type]
    start.__annotations__["request"] = Request
    app.post(
        f"/api/jobs/{verb.name}",
        status_code=202,
        name=f"start_{verb.name.replace('-', '_')}",
        summary=verb.summary,
        description=f"{verb.summary} Needs the role `{verb.role}`.",
        tags=["start"],
        response_model=Job,
        responses=_BUSY,
    )(start)


def _add_unknown_verb(app: FastAPI) -> None:
    @app.post("/api/jobs/{verb}", include_in_schema=False)
    def start_unknown(verb: str) -> None:
        """Answer a verb that is none."""
        listed = ", ".join(VERBS)
        raise Refused(404, f"there is no verb '{verb[:40]}' (known: {listed}).{did_you_mean(verb[:40], list(VERBS))}")


def _add_jobs(app: FastAPI, jobs: Jobs, permit: Permit) -> None:
    @app.get("/api/jobs", tags=["jobs"])
    def list_jobs(
        request: Request,
        search: Annotated[str, Query(max_length=200, description="words that a job must contain, all of them")] = "",
        state: State | None = None,
        verb: Annotated[str, Query(max_length=40, examples=["run"])] = "",
        limit: Annotated[int, Query(ge=1, le=1000)] = 100,
        offset: Annotated[int, Query(ge=0, le=1_000_000)] = 0,
    ) -> JobList:
        """List the jobs, newest first."""
        permit(request, Role.READ)
        found = jobs.listed(search, state, verb)
        return JobList(jobs=found[offset : offset + limit], total=len(found))

    @app.get("/api/jobs/{job_id}", tags=["jobs"], responses=_UNKNOWN)
    def get_job(request: Request, job_id: JobId) -> Job:
        """A job as it is now."""
        permit(request, Role.READ)
        return jobs.find(job_id)

    @app.post("/api/jobs/{job_id}/stop", tags=["jobs"], status_code=202, responses=_UNKNOWN)
    def stop_job(request: Request, job_id: JobId) -> Job:
        """Stop a job as Ctrl-C does: a run keeps its result, a sweep restores the settings."""
        permit(request, Role.RUN)
        setattr(request.state, JOB, job_id)
        return jobs.stop(job_id)


def _add_results(app: FastAPI, jobs: Jobs, live: Live, permit: Permit) -> None:
    @app.get("/api/jobs/{job_id}/result", tags=["results"], responses=_UNKNOWN, response_model=dict[str, Any])
    def get_result(request: Request, job_id: JobId) -> FileResponse:
        """The document that the verb returned, as `--json` of the command line."""
        permit(request, Role.READ)
        return FileResponse(_result_file(jobs, job_id), media_type="application/json")

    @app.get(
        "/api/jobs/{job_id}/live",
        tags=["results"],
        responses=_UNKNOWN
        | {200: {"content": {"text/event-stream": {}}, "description": "events until the job ends"}},
        response_class=StreamingResponse,
    )
    async def get_live(request: Request, job_id: JobId) -> StreamingResponse:
        """Server-sent events: `tick` once per second with state, rate and p95; `end` when the job has ended."""
        permit(request, Role.READ)
        if live.viewers >= MAX_VIEWERS:
            raise Refused(429, f"{MAX_VIEWERS} viewers are connected, the maximum; wait 5 s", 5)
        jobs.find(job_id)
        events: AsyncIterator[str] = live.events(job_id)
        return StreamingResponse(events, media_type="text/event-stream", headers={"cache-control": "no-store"})


def _result_file(jobs: Jobs, job_id: str) -> str:
    """The file with the result of a job. Raises ``Refused`` if there is none."""
    job, file = jobs.find(job_id), jobs.folder(job_id).result_file
    if job.state is State.RUNNING:
        raise Refused(409, f"job {job_id} is running; it has no result yet")
    if not file.is_file():
        raise Refused(409, f"job {job_id} has no result: it {_ENDS[job.state]}{job.error and ': '}{job.error}")
    return str(file)


_ENDS = {
    State.DONE: "is done, but its file was removed",
    State.FAILED: "failed",
    State.STOPPED: "was stopped",
    State.KILLED: "was killed",
}


def _add_targets(app: FastAPI, workspace: Workspace, permit: Permit) -> None:
    @app.get("/api/targets", tags=["targets"])
    def list_targets(request: Request) -> TargetList:
        """The targets of the workspace."""
        permit(request, Role.READ)
        return TargetList(targets=[_target(workspace, name) for name in target_names(workspace.targets)])

    @app.get("/health", tags=["health"], responses={401: {}, 403: {}, 429: {}})
    async def health() -> dict[str, str]:
        """Whether the service answers; needs no token."""
        return {"service": "hdbkit"}


def _target(workspace: Workspace, name: str) -> TargetAnswer:
    try:
        target = workspace.target(name)
    except HdbkitError as error:
        return TargetAnswer(name=name, url="", may_change_settings=False, error=str(error))
    return TargetAnswer(name=name, url=target.url, may_change_settings=target.may_change_settings)


def _secure(app: FastAPI) -> None:
    """Keep the body of a request for the job's file; send headers that keep answers out of frames and caches."""

    @app.middleware("http")
    async def secured(request: Request, call_next: Any) -> Any:
        if request.method == "POST":
            request.state.body = await request.body()
        answer = await call_next(request)
        answer.headers["x-content-type-options"] = "nosniff"
        answer.headers["referrer-policy"] = "no-referrer"
        answer.headers.setdefault("cache-control", "no-store")
        answer.headers.setdefault("x-frame-options", "DENY")
        return answer
