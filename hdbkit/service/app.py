"""The service's HTTP API. ``Guard`` verifies the token before it; an error names the key, the value and what was
expected, with status 422; 404 is an unknown job, 403 a role that does not permit it, 409 a target in use.
"""

from __future__ import annotations

from importlib import metadata
from typing import Annotated, Any

from fastapi import FastAPI, Path, Query, Request
from fastapi.responses import FileResponse, Response, StreamingResponse
from pydantic.json_schema import models_json_schema

from hdbkit.api import Workspace, documents
from hdbkit.api.documents import ExperimentDocument, FindingDocument, RunDocument
from hdbkit.config.problems import did_you_mean
from hdbkit.results.folder import is_run
from hdbkit.service import answers
from hdbkit.service.answers import SECURE, Ascii, Headers, Refused, unless_known
from hdbkit.service.job_folder import Job, State
from hdbkit.service.jobs import JobStore
from hdbkit.service.live import Live, streamed
from hdbkit.service.metrics import CONTENT_TYPE, RunMetrics
from hdbkit.service.models import ErrorAnswer, ExperimentList, JobList, TargetList
from hdbkit.service.panels.process import Panels
from hdbkit.service.permissions import JOB, Permissions, Starter
from hdbkit.service.results import Experiments, listed_targets, result_file, targets_version
from hdbkit.service.sessions import BrowserSessions
from hdbkit.service.tokens import Role
from hdbkit.service.verbs import VERBS, Verb

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
_Result = RunDocument | FindingDocument | dict[str, Any]
_ABOUT = (
    "The verbs of hdbkit as jobs. Send `Authorization: Bearer TOKEN`. A job is a process of its own: it continues "
    "when the service ends, and a restarted service lists it. To follow jobs, ask at most once per second and send "
    "the `ETag` of the last answer as `If-None-Match`: the answer is 304, without content, until something changes."
)
_SCHEMA = "#/components/schemas/{model}"
_JobId = Annotated[
    str, Path(pattern=r"^[A-Za-z0-9-]{1,80}$", description="the job's id", examples=["20261124T024500123-run-1a2b3c"])
]


ExperimentId = Annotated[
    str, Path(pattern=r"^[A-Za-z0-9_.-]{1,200}$", description="the id", examples=["20261124-024500-memory-abcdef"])
]


def make_service_app(
    jobs: JobStore, workspace: Workspace, sessions: BrowserSessions | None = None, voila: Panels | None = None
) -> FastAPI:
    """Create the application; with ``sessions`` also the pages, with ``voila`` also the panels."""
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
    answers.add_handlers(app)
    live, permit = Live(jobs, workspace), Permissions()
    app.add_middleware(Headers, headers=SECURE)
    for verb in VERBS.values():
        _add_verb(app, verb, Starter(jobs, workspace, permit))
    _add_unknown_verb(app)
    _add_jobs(app, jobs, permit)
    _add_results(app, jobs, live, permit)
    _add_metrics(app, RunMetrics(workspace), permit)
    _add_experiments(app, Experiments(workspace), permit)
    _add_charts(app, workspace, permit)
    _add_targets(app, workspace, permit)
    _describe_requests(app)
    if sessions is not None:
        from hdbkit.service.pages import make_pages

        panels = None
        if voila is not None:
            from hdbkit.service.panels.passing import Passing

            panels = Passing(voila, permit, lambda scope: sessions.of(scope) is not None)
        app.mount("/", make_pages(jobs, workspace, live, permit, sessions, panels))
    return app


def _add_verb(app: FastAPI, verb: Verb, starter: Starter) -> None:
    """The path that starts jobs of a verb."""

    def start(request: Request) -> Job:
        return starter.start(request, verb)

    examples = {verb.name: {"summary": verb.summary, "value": dict(verb.example)}}
    content = {"schema": {"$ref": _SCHEMA.format(model=verb.request.__name__)}, "examples": examples}
    app.post(
        f"/api/jobs/{verb.name}",
        status_code=202,
        name=f"start_{verb.name.replace('-', '_')}",
        summary=verb.summary,
        description=f"{verb.summary} Needs the role `{verb.role}`.",
        tags=["start"],
        response_model=Job,
        responses=_BUSY,
        openapi_extra={"requestBody": {"content": {"application/json": content}, "required": True}},
    )(start)


def _add_unknown_verb(app: FastAPI) -> None:
    @app.post("/api/jobs/{verb}", include_in_schema=False)
    def start_unknown(verb: str) -> None:
        """Answer a verb that is none."""
        listed = ", ".join(VERBS)
        raise Refused(404, f"there is no verb '{verb[:40]}' (known: {listed}).{did_you_mean(verb[:40], list(VERBS))}")


def _add_jobs(app: FastAPI, jobs: JobStore, permit: Permissions) -> None:
    @app.get("/api/jobs", tags=["jobs"], response_model=JobList)
    def list_jobs(
        request: Request,
        search: Annotated[str, Query(max_length=200, description="words that a job must contain, all of them")] = "",
        state: State | None = None,
        verb: Annotated[str, Query(max_length=40, examples=["run"])] = "",
        limit: Annotated[int, Query(ge=1, le=1000)] = 100,
        offset: Annotated[int, Query(ge=0, le=1_000_000)] = 0,
    ) -> Response:
        """List the jobs, newest first."""
        permit(request, Role.READ)

        def content() -> JobList:
            found = jobs.listed(search, state, verb)
            return JobList(jobs=found[offset : offset + limit], total=len(found))

        return unless_known(request, jobs.refresh(), content)

    @app.get("/api/jobs/{job_id}", tags=["jobs"], responses=_UNKNOWN, response_model=Job)
    def get_job(request: Request, job_id: _JobId) -> Response:
        """A job as it is now."""
        permit(request, Role.READ)
        return unless_known(request, jobs.refresh(), lambda: jobs.find(job_id))

    @app.post("/api/jobs/{job_id}/stop", tags=["jobs"], status_code=202, responses=_UNKNOWN)
    def stop_job(request: Request, job_id: _JobId) -> Job:
        """Stop a job as Ctrl-C does: a run keeps its result, a sweep restores the settings."""
        permit(request, Role.RUN, starts=True)
        setattr(request.state, JOB, job_id)
        return jobs.stop(job_id)


def _add_results(app: FastAPI, jobs: JobStore, live: Live, permit: Permissions) -> None:
    @app.get("/api/jobs/{job_id}/result", tags=["results"], responses=_UNKNOWN, response_model=_Result)
    def get_result(request: Request, job_id: _JobId) -> FileResponse:
        """The document that the verb returned, as `--json` of the command line; typed for runs and experiments."""
        permit(request, Role.READ)
        return FileResponse(result_file(jobs, job_id), media_type="application/json")

    @app.get(
        "/api/jobs/{job_id}/live",
        tags=["results"],
        responses=_UNKNOWN
        | {200: {"content": {"text/event-stream": {}}, "description": "events until the job ends"}},
        response_class=StreamingResponse,
    )
    async def get_live(request: Request, job_id: _JobId) -> StreamingResponse:
        """Server-sent events: `tick` once per second with state, rate and p95; `end` when the job has ended."""
        permit(request, Role.READ)
        return streamed(live, jobs, job_id, request)


def _add_metrics(app: FastAPI, metrics: RunMetrics, permit: Permissions) -> None:
    @app.get(
        "/api/metrics",
        tags=["results"],
        responses={200: {"content": {"application/openmetrics-text": {}}, "description": "OpenMetrics"}},
        response_class=Response,
    )
    def get_metrics(request: Request) -> Response:
        """The figures of the running runs of the results folder, for Prometheus."""
        permit(request, Role.READ)
        return Response(metrics.text(), media_type=CONTENT_TYPE)


def _add_experiments(app: FastAPI, experiments: Experiments, permit: Permissions) -> None:
    @app.get("/api/experiments", tags=["experiments"])
    def list_experiments(
        request: Request,
        limit: Annotated[int, Query(ge=1, le=200)] = 50,
        offset: Annotated[int, Query(ge=0, le=1_000_000)] = 0,
    ) -> ExperimentList:
        """List sweeps, comparisons, profiles, searches and release tests, newest first, whoever started them."""
        permit(request, Role.READ)
        found, total = experiments.listed(limit, offset)
        return ExperimentList(experiments=found, total=total)

    @app.get("/api/experiments/{experiment_id}", tags=["experiments"], responses=_UNKNOWN)
    def get_experiment(request: Request, experiment_id: ExperimentId) -> ExperimentDocument:
        """An experiment as it is now; the verb `report` returns its result."""
        permit(request, Role.READ)
        return experiments.find(experiment_id)

    @app.post("/api/experiments/{experiment_id}/stop", tags=["experiments"], status_code=202, responses=_UNKNOWN)
    def stop_experiment(request: Request, experiment_id: ExperimentId) -> ExperimentDocument:
        """Stop an experiment as Ctrl-C does: the server is restored, and the verb `resume` continues it."""
        permit(request, Role.RUN, starts=True)
        return experiments.stop(experiment_id)


def _add_charts(app: FastAPI, workspace: Workspace, permit: Permissions) -> None:
    @app.get(
        "/api/runs/{run_id}/charts/{key}",
        tags=["results"],
        responses=_UNKNOWN
        | {200: {"content": {"application/json": {}, "image/svg+xml": {}}, "description": "the chart"}},
        response_class=Response,
    )
    def get_chart(
        request: Request,
        run_id: ExperimentId,
        key: Annotated[str, Path(pattern=r"^[a-z0-9_]{1,60}$", description="its key", examples=["throughput"])],
        svg: Annotated[
            bool, Query(description="as an image, instead of JSON with question, words, figure and CSV")
        ] = False,
    ) -> Response:
        """One chart of a run of the workspace; `hdbkit chart RUN` lists the keys."""
        permit(request, Role.READ)
        if not is_run(workspace.results, run_id):
            raise Refused(404, f"there is no run '{run_id}'")
        charts = workspace.result(run_id).charts()
        if key not in charts:
            raise Refused(404, f"run {run_id} has no chart '{key}' (it has: {', '.join(charts)})")
        if svg:
            return Response(charts[key].image("svg", title=True), media_type="image/svg+xml")
        return Response(documents.as_text(charts[key].spec()), media_type="application/json")


def _add_targets(app: FastAPI, workspace: Workspace, permit: Permissions) -> None:
    @app.get("/api/targets", tags=["targets"], response_model=TargetList)
    def list_targets(request: Request) -> Response:
        """The targets of the workspace."""
        permit(request, Role.READ)
        version = targets_version(workspace)
        return unless_known(request, version, lambda: TargetList(targets=list(listed_targets(workspace, version))))

    @app.get("/health", tags=["health"], responses={401: {}, 403: {}, 429: {}})
    async def health() -> dict[str, str]:
        """Whether the service answers; needs no token."""
        return {"service": "hdbkit"}


def _describe_requests(app: FastAPI) -> None:
    """Add the models of requests to the OpenAPI document: jobs validate these, after role and number of requests."""
    made = app.openapi

    def document() -> dict[str, Any]:
        if app.openapi_schema is None:
            requests = {verb.request for verb in VERBS.values()}
            _, found = models_json_schema([(one, "validation") for one in requests], ref_template=_SCHEMA)
            schemas = made()["components"]["schemas"]
            schemas |= found["$defs"]
            made()["components"]["schemas"] = dict(sorted(schemas.items()))
        return made()

    app.openapi = document  # type: ignore[method-assign]
