"""The service's HTTP API. ``Guard`` verifies the token before it; an error names the key, the value and what was
expected, with status 422; 404 is an unknown job, 403 a role that does not permit it, 409 a target in use.
"""

from __future__ import annotations

import json
from importlib import metadata
from pathlib import Path as FilePath
from typing import Annotated, Any

from fastapi import Body, FastAPI, Path, Query, Request
from fastapi.responses import FileResponse, Response, StreamingResponse
from pydantic import BaseModel, Field

from hdbkit.api import Workspace
from hdbkit.config.problems import did_you_mean
from hdbkit.service import answers
from hdbkit.service.answers import Ascii, ErrorAnswer, Refused
from hdbkit.service.headers import SECURE, Headers
from hdbkit.service.job_folder import Job, State
from hdbkit.service.jobs import Jobs
from hdbkit.service.live import Live, streamed
from hdbkit.service.permissions import JOB, Permissions, Starter
from hdbkit.service.reads import JOB_ID, LIMIT, MAX_LIMIT, Contents, Reads
from hdbkit.service.results import TargetAnswer, result_file
from hdbkit.service.roles import Role
from hdbkit.service.sign_in import SignIn
from hdbkit.service.verbs import VERBS, Verb
from hdbkit.web.guard import BODY

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
JobId = Annotated[str, Path(pattern=JOB_ID, description="the job's id", examples=["20261124T024500123-run-1a2b3c"])]


class JobList(BaseModel):
    """Jobs, newest first."""

    jobs: list[Job]
    total: int = Field(description="the number of jobs that were found, listed or not")


class TargetList(BaseModel):
    """The targets of the workspace."""

    targets: list[TargetAnswer]


def make_app(
    jobs: Jobs, workspace: Workspace, reads: Reads, sign_in: SignIn | None = None, voila: FilePath | None = None
) -> FastAPI:
    """Create the application; with ``sign_in`` also the pages, with ``voila``, a socket, also the panels."""
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
    live, contents, permit = Live(jobs, workspace), reads.contents, reads.permit
    app.add_middleware(Headers, headers=SECURE)
    for verb in VERBS.values():
        _add_verb(app, verb, Starter(jobs, workspace, permit))
    _add_unknown_verb(app)
    _add_jobs(app, jobs, contents, permit)
    _add_results(app, jobs, live, permit)
    _add_targets(app, contents, permit)
    if sign_in is not None:
        from hdbkit.service.pages import make_pages

        panels = None
        if voila is not None:
            from hdbkit.service.panels.passing import Passing

            panels = Passing(voila, permit, lambda scope: sign_in.sessions.of(scope) is not None)
        app.mount("/", make_pages(jobs, workspace, live, permit, sign_in, panels))
    return app


def _add_verb(app: FastAPI, verb: Verb, starter: Starter) -> None:
    """The path that starts jobs of a verb."""

    def start(request: Request, body: Any) -> Job:
        return starter.start(request, verb, body, json.loads(request.scope["state"][BODY]))

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


def _add_jobs(app: FastAPI, jobs: Jobs, contents: Contents, permit: Permissions) -> None:
    @app.get("/api/jobs", tags=["jobs"], response_model=JobList)
    def list_jobs(
        request: Request,
        search: Annotated[str, Query(max_length=200, description="words that a job must contain, all of them")] = "",
        state: State | None = None,
        verb: Annotated[str, Query(max_length=40, examples=["run"])] = "",
        limit: Annotated[int, Query(ge=1, le=MAX_LIMIT)] = LIMIT,
        offset: Annotated[int, Query(ge=0, le=1_000_000)] = 0,
    ) -> Response:
        """List the jobs, newest first."""
        permit(request, Role.READ)
        return _json(contents.jobs(search, state, verb, limit, offset))

    @app.get("/api/jobs/{job_id}", tags=["jobs"], responses=_UNKNOWN, response_model=Job)
    def get_job(request: Request, job_id: JobId) -> Response:
        """A job as it is now."""
        permit(request, Role.READ)
        return _json(contents.job(job_id))

    @app.post("/api/jobs/{job_id}/stop", tags=["jobs"], status_code=202, responses=_UNKNOWN)
    def stop_job(request: Request, job_id: JobId) -> Job:
        """Stop a job as Ctrl-C does: a run keeps its result, a sweep restores the settings."""
        permit(request, Role.RUN)
        setattr(request.state, JOB, job_id)
        return jobs.stop(job_id)


def _json(content: bytes) -> Response:
    return Response(content, media_type="application/json")


def _add_results(app: FastAPI, jobs: Jobs, live: Live, permit: Permissions) -> None:
    @app.get("/api/jobs/{job_id}/result", tags=["results"], responses=_UNKNOWN, response_model=dict[str, Any])
    def get_result(request: Request, job_id: JobId) -> FileResponse:
        """The document that the verb returned, as `--json` of the command line."""
        permit(request, Role.READ)
        return FileResponse(result_file(jobs, job_id), media_type="application/json")

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
        return streamed(live, jobs, job_id)


def _add_targets(app: FastAPI, contents: Contents, permit: Permissions) -> None:
    @app.get("/api/targets", tags=["targets"], response_model=TargetList)
    def list_targets(request: Request) -> Response:
        """The targets of the workspace."""
        permit(request, Role.READ)
        return _json(contents.targets())

    @app.get("/health", tags=["health"], responses={401: {}, 403: {}, 429: {}})
    async def health() -> dict[str, str]:
        """Whether the service answers; needs no token."""
        return {"service": "hdbkit"}
