"""The pages as an application of their own: each needs a session, except for the one that asks for a token."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any
from urllib.parse import parse_qsl, quote

from fastapi import FastAPI, Path, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, HTMLResponse, RedirectResponse, Response, StreamingResponse
from markupsafe import Markup
from starlette.exceptions import HTTPException

from hdbkit.api import Workspace
from hdbkit.errors import HdbkitError
from hdbkit.report.page import page_content, read_content
from hdbkit.report.run_report import run_page
from hdbkit.results.folder import RunFolder, is_run
from hdbkit.service.answers import Headers, Refused, status_of
from hdbkit.service.job_folder import State
from hdbkit.service.jobs import JobStore
from hdbkit.service.live import Live, streamed
from hdbkit.service.pages.rendering import STATIC_FILES, render, shown_value, static_file
from hdbkit.service.panels.process import PANELS_PATH
from hdbkit.service.permissions import JOB, Permissions
from hdbkit.service.results import listed_targets, result_file, targets_version
from hdbkit.service.sessions import SESSION, SIGN_IN, BrowserSession, BrowserSessions, is_from_this_site
from hdbkit.service.tokens import Role
from hdbkit.web.guard import BODY, HOLDER, Application

PER_PAGE = 50
_MAX_FIELDS = 100
_KEPT_S = 3600
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; "
    "connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
_RunId = Annotated[str, Path(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,200}$")]
_JobId = Annotated[str, Path(pattern=r"^[A-Za-z0-9-]{1,80}$")]


def make_pages(
    jobs: JobStore,
    workspace: Workspace,
    live: Live,
    permit: Permissions,
    sessions: BrowserSessions,
    panels: Application | None,
) -> FastAPI:
    """Create the application of the pages; ``panels`` is the one behind the page of the panels."""
    app = FastAPI(openapi_url=None, docs_url=None, redoc_url=None, default_response_class=HTMLResponse)
    app.add_exception_handler(HdbkitError, _failed)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _plain)
    app.add_middleware(Headers, headers={"content-security-policy": _POLICY})
    _add_files(app)
    _add_sign_in(app, sessions)
    _add_results(app, jobs, workspace, permit)
    _add_jobs(app, jobs, workspace, live, permit)
    _add_targets(app, workspace, permit)
    app.state.has_panels = panels is not None
    if panels is not None:
        _add_panels(app, panels, permit)
    return app


def _add_files(app: FastAPI) -> None:
    @app.get("/static/{name}")
    async def get_file(request: Request, name: str) -> Response:
        path = request.url.path
        if path not in STATIC_FILES:
            raise Refused(404, f"there is no file {name[:40]!r}")
        kept = {"cache-control": f"public, max-age={_KEPT_S}"}
        return Response(static_file(path), media_type=STATIC_FILES[path], headers=kept)


def _add_sign_in(app: FastAPI, sessions: BrowserSessions) -> None:
    @app.get(SIGN_IN)
    async def ask_for_token() -> Response:
        return HTMLResponse(render("sign_in.html", error=""))

    @app.post(SIGN_IN)
    async def take_token(request: Request) -> Response:
        if not is_from_this_site(request.scope):
            raise Refused(403, "the form was not sent from this page; open it again")
        try:
            cookie = sessions.cookie_for(request.scope, _fields(request).get("token", "").strip())
        except Refused as refused:
            return HTMLResponse(render("sign_in.html", error=str(refused)), refused.status)
        return RedirectResponse("/", 303, {"set-cookie": cookie})

    @app.post("/sign-out")
    async def end_session(request: Request) -> Response:
        _require_form(request)
        return RedirectResponse(SIGN_IN, 303, {"set-cookie": sessions.sign_out(request.scope)})


def _add_results(app: FastAPI, jobs: JobStore, workspace: Workspace, permit: Permissions) -> None:
    @app.get("/")
    def list_results(
        request: Request,
        where: Annotated[str, Query(max_length=500)] = "",
        page: Annotated[int, Query(ge=1, le=100_000)] = 1,
    ) -> Response:
        permit(request, Role.READ)
        runs = workspace.runs(where.strip() or None)
        shown = runs.iloc[(page - 1) * PER_PAGE : page * PER_PAGE]
        table = Markup(shown.html(lambda run_id: f"/runs/{run_id}")) if len(shown) else ""  # noqa: S704 (escaped)
        return _page(
            request, "results.html", table=table, total=len(runs), where=where, page=page,
            pages=-(-len(runs) // PER_PAGE), query=f"where={quote(where)}", running=jobs.listed("", State.RUNNING),
        )  # fmt: skip

    @app.get("/runs/{run_id}")
    def show_run(request: Request, run_id: _RunId) -> Response:
        permit(request, Role.READ)
        if not is_run(workspace.results, run_id):
            raise Refused(404, f"there is no run {run_id}")
        folder = RunFolder(workspace.results / run_id)
        content = read_content(folder.report) or page_content(run_page(folder, folder.read()))
        return _page(request, "run.html", run_id=run_id, report=content)


def _add_jobs(app: FastAPI, jobs: JobStore, workspace: Workspace, live: Live, permit: Permissions) -> None:
    @app.get("/jobs")
    def list_jobs(
        request: Request,
        search: Annotated[str, Query(max_length=200)] = "",
        state: str = "",
        page: Annotated[int, Query(ge=1, le=100_000)] = 1,
    ) -> Response:
        permit(request, Role.READ)
        wanted = next((one for one in State if one.value == state), None)
        found = jobs.listed(search, wanted)
        first = (page - 1) * PER_PAGE
        query = f"search={quote(search)}&state={quote(wanted or '')}"
        return _page(
            request, "jobs.html", jobs=found[first : first + PER_PAGE], total=len(found), search=search, state=wanted,
            states=list(State), page=page, pages=-(-len(found) // PER_PAGE), query=query,
        )  # fmt: skip

    @app.get("/jobs/{job_id}")
    def show_job(request: Request, job_id: _JobId) -> Response:
        permit(request, Role.READ)
        job = jobs.find(job_id)
        result = None if job.state is State.RUNNING else shown_value(job, jobs.folder(job_id), workspace)
        return _page(
            request, "job.html", job=job, result=result, has_result=jobs.folder(job_id).result_file.is_file()
        )

    @app.get("/jobs/{job_id}/live")
    async def follow_job(request: Request, job_id: _JobId) -> StreamingResponse:
        permit(request, Role.READ)
        return streamed(live, jobs, job_id, request)

    @app.get("/jobs/{job_id}/result.json")
    def download_result(request: Request, job_id: _JobId) -> FileResponse:
        permit(request, Role.READ)
        return FileResponse(result_file(jobs, job_id), media_type="application/json", filename=f"{job_id}.json")

    @app.post("/jobs/{job_id}/stop")
    async def stop_job(request: Request, job_id: _JobId) -> Response:
        _require_form(request)
        permit(request, Role.RUN, starts=True)
        setattr(request.state, JOB, job_id)
        await asyncio.to_thread(jobs.stop, job_id)
        return RedirectResponse(f"/jobs/{job_id}", 303)


def _add_targets(app: FastAPI, workspace: Workspace, permit: Permissions) -> None:
    @app.get("/targets")
    def list_targets(request: Request) -> Response:
        permit(request, Role.READ)
        return _page(request, "targets.html", targets=listed_targets(workspace, targets_version(workspace)))


def _add_panels(app: FastAPI, panels: Application, permit: Permissions) -> None:
    @app.get("/panels")
    def choose_workspace(request: Request) -> Response:
        permit(request, Role.READ)
        return _page(request, "panels.html")

    app.mount(PANELS_PATH.rstrip("/"), panels)


def _page(request: Request, name: str, **values: Any) -> HTMLResponse:
    """A page for a signed-in browser."""
    session: BrowserSession = request.scope["state"][SESSION]
    holder = request.scope["state"][HOLDER]
    allowed = {role.value for role in Role if holder.role.permits(role)}
    common = {"holder": holder, "allowed": allowed, "has_panels": request.app.state.has_panels}
    return HTMLResponse(render(name, form_token=session.form_token, **common, **values))


def _fields(request: Request) -> dict[str, str]:
    """The fields of a form, which the browser sends URL-encoded. Raises ``Refused``."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/x-www-form-urlencoded":
        raise Refused(422, "a form must be sent as application/x-www-form-urlencoded")
    try:
        pairs = parse_qsl(
            request.scope["state"][BODY].decode("ascii"), keep_blank_values=True, max_num_fields=_MAX_FIELDS
        )
    except ValueError:
        raise Refused(422, f"a form has at most {_MAX_FIELDS} fields, URL-encoded") from None
    return dict(pairs)


def _require_form(request: Request) -> dict[str, str]:
    """The fields of a form that was made for this session and sent from this site. Raises ``Refused``."""
    session: BrowserSession = request.scope["state"][SESSION]
    sent = _fields(request)
    if not (is_from_this_site(request.scope) and session.has_sent(sent.pop("form_token", ""))):
        raise Refused(403, "the form was not made for this session; open the page again")
    return sent


async def _failed(_: Request, error: Exception) -> Response:
    assert isinstance(error, HdbkitError)
    return _error(status_of(error), str(error))


async def _invalid(_: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    return _error(422, f"the address is not valid: {error.errors()[0]['msg'].lower()}")


async def _plain(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return _error(error.status_code, str(error.detail))


def _error(status: int, text: str) -> HTMLResponse:
    return HTMLResponse(render("error.html", status=status, text=text), status)
