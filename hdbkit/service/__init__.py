"""The service: ``hdbkit serve`` offers the verbs of the API as jobs by HTTP, ``hdbkit app`` the panels beside them.

The rules that must not break:

* A job is a verb in a process of its own, which does not depend on the service. Its files in the results folder are
  all that is known of it, so a restarted service lists and follows it.
* A request names targets, workloads and results of the workspace, never a path, an address or a password.
* What the service's account keeps goes only to targets of the targets file (``config.withheld``), and a setting is
  changed by its type, none that guards access (``servers.permitted``).
* What was stored is text until it is escaped; HTML is shown only with this account's seal (``report.page``).
* Every request needs a token with a role, except for the page that asks for one. A cookie is valid for pages, never
  for the API, and changes something only with the token of its session's forms.
* No token and no password is in a file, a log line or a command line; tokens are kept as hashes.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import Field

from hdbkit.api import Workspace
from hdbkit.config.cluster import FORMS, Cluster
from hdbkit.errors import InputError
from hdbkit.service.tokens import Role, Tokens
from hdbkit.web.endpoint import EndpointOptions, listening, require_web
from hdbkit.web.gate import RequestGate
from hdbkit.web.guard import ANYONE, AuditLog, ConnectionScope, Guard, bearer_token

if TYPE_CHECKING:
    from hdbkit.service.jobs import JobStore
    from hdbkit.service.panels.process import Panels

__all__ = ["ServiceOptions", "Started", "serve"]


_SERVICE = "service"
SERVICE_PORT = 8448
_API = "/api/"
FIRST = "first"
"""The name of the token that a service makes if there is no valid one."""
FIRST_DAYS = 7
_HEALTH = "/health"
_ADVICE = "a valid token is needed: Authorization: Bearer TOKEN; make one with: hdbkit token add NAME --role run"
_NICE = 10
"""Requests give way to the runs beside them. Jobs, which another thread starts, do not."""
_RESERVED = 256
"""Connections beyond those without a valid token yet: viewers of live pages keep theirs."""


class ServiceOptions(EndpointOptions):
    """Options of a service, whose state are the hashes of its tokens."""

    listen: str = Field(default=f"127.0.0.1:{SERVICE_PORT}", description="address and port; port 0: any free port")
    panels: bool = Field(default=False, description="with the panels of the notebooks")
    cluster: tuple[str, ...] = Field(
        default=(), description=f"a cluster that requests may use: {FORMS}; repeat for several"
    )
    text_setting: tuple[str, ...] = Field(
        default=(), description="text setting of servers that requests may change; its value may name a file"
    )


@dataclass(frozen=True)
class StartedService:
    """What a client needs: the address, the fingerprint (None without TLS), and the first token if one was made."""

    url: str
    fingerprint: str | None
    token: str | None
    audit_log: Path
    results: Path


def serve_verbs(
    options: ServiceOptions,
    workspace: Workspace,
    say: Callable[[StartedService], None],
    note: Callable[[str], None] = lambda _: None,
) -> None:
    """Listen until SIGINT or SIGTERM. Jobs continue after it.

    ``say`` is called once, when the service listens; ``note`` with what becomes of the panels, by a thread.

    Raises:
        InputError: the options are invalid, the address is not available, or another service has the results folder.
    """
    require_web("the service", _SERVICE)
    from hdbkit.service.jobs import JobStore

    for one in options.cluster:
        try:
            Cluster.parse(one)
        except ValueError as error:
            raise InputError(f"--cluster: {error}") from None
    with JobStore.alone(workspace), listening(options, _SERVICE) as endpoint:
        tokens = Tokens(endpoint.state)
        made = None
        if not any(one.is_valid for one in tokens.listed()):
            made = tokens.add(FIRST, Role.SETTINGS, FIRST_DAYS)
        secure = endpoint.certificate is not None
        jobs = JobStore(workspace, options.cluster, options.text_setting)
        with _panels(options, workspace, note) as voila:
            os.nice(_NICE)
            guard = application(jobs, workspace, tokens, endpoint.audit, endpoint.gate, secure=secure, voila=voila)
            say(StartedService(endpoint.url, endpoint.fingerprint, made, endpoint.audit.path, workspace.results))
            endpoint.serve(guard, _RESERVED, channels=options.panels)


@contextmanager
def _panels(options: ServiceOptions, workspace: Workspace, note: Callable[[str], None]) -> Iterator[Panels | None]:
    """Voila, which runs for the block, if it is wanted."""
    if not options.panels:
        yield None
        return
    from hdbkit.service.panels.process import running_panels

    with running_panels(workspace, options.cluster, options.text_setting, note) as panels:
        yield panels


def application(
    jobs: JobStore,
    workspace: Workspace,
    tokens: Tokens,
    audit: AuditLog,
    gate: RequestGate,
    *,
    secure: bool = False,
    voila: Panels | None = None,
) -> Guard:
    """The API and the pages of a workspace behind their guard.

    Args:
        jobs: what starts them, with what requests may name.
        workspace: what they work in.
        tokens, audit, gate: who may send requests, the log, and the socket.
        secure: whether they are reached by TLS only.
        voila: what serves the panels.
    """
    from hdbkit.service.app import make_service_app
    from hdbkit.service.pages.rendering import STATIC_FILES
    from hdbkit.service.permissions import LOGGED_FIELDS
    from hdbkit.service.sessions import SESSION, SIGN_IN, BrowserSessions

    sessions = BrowserSessions(tokens, secure)
    open_to_all = {_HEALTH, SIGN_IN, *STATIC_FILES}

    def who(scope: ConnectionScope) -> object | None:
        if scope["path"] in open_to_all:
            return ANYONE
        if scope["path"].startswith(_API):
            return tokens.holder(bearer_token(scope))
        found = sessions.of(scope)
        if found is None:
            return None
        scope["state"][SESSION], holder = found
        return holder

    app = make_service_app(jobs, workspace, sessions, voila)
    return Guard(app, who, audit, gate, advice=_ADVICE, logged=LOGGED_FIELDS, wrong=sessions.wrong, sign_in=SIGN_IN)
