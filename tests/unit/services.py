"""A service in the process of a test, and what is sent to it."""

from __future__ import annotations

import json
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPResponse, HTTPSConnection
from pathlib import Path
from typing import Any

from hdbkit.api import Workspace
from hdbkit.service import ServiceOptions, application
from hdbkit.service.job_folder import JOBS, JobFolder, JobRequest, State
from hdbkit.service.jobs import JobStore
from hdbkit.service.panels.process import Panels
from hdbkit.service.tokens import Role, Tokens
from hdbkit.web.endpoint import listening

TARGETS = "lab: {kind: nulldb}\nother: {kind: nulldb}\nbroken: {kind: oracel}\n"


@dataclass
class Answer:
    """What a service answered."""

    status_code: int
    headers: dict[str, str]
    text: str

    def json(self) -> Any:
        return json.loads(self.text)


@dataclass
class Client:
    """Sends requests with a token, each on a connection of its own."""

    port: int
    token: str
    tls: bool = False

    def get(self, path: str) -> Answer:
        return self.send("GET", path)

    def post(self, path: str, content: str, kind: str = "application/json") -> Answer:
        return self.send("POST", path, content, {"content-type": kind})

    def send(self, method: str, path: str, content: str = "", headers: dict[str, str] | None = None) -> Answer:
        authorized = {"authorization": f"Bearer {self.token}"} if self.token else {}
        connection = HTTPConnection("127.0.0.1", self.port, timeout=60)
        if self.tls:
            trusting = ssl.create_default_context()
            trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE
            connection = HTTPSConnection("127.0.0.1", self.port, timeout=60, context=trusting)
        try:
            connection.request(method, path, content.encode(), {**authorized, **(headers or {})})
            response: HTTPResponse = connection.getresponse()
            return Answer(response.status, dict(response.headers), response.read().decode())
        finally:
            connection.close()


@dataclass
class Service:
    """A service in this process, its folder, and a client with each role."""

    folder: Path
    tokens: Tokens
    clients: dict[str, Client]
    secrets: list[str]

    def post(self, path: str, body: Any, role: str = "settings") -> Answer:
        """Send a request with JSON."""
        return self.clients[role].post(f"/api/jobs/{path}", json.dumps(body))

    def audit(self) -> list[dict[str, Any]]:
        """The lines of its log."""
        return [json.loads(line) for line in (self.folder / "audit.ndjson").read_text().splitlines()]


def written_job(place: Workspace, number: int) -> JobFolder:
    """A job that has ended, as files."""
    folder = JobFolder(place.results / JOBS / f"20261124T0245{number:05}-run-abcdef")
    folder.path.mkdir(parents=True)
    request = {"target": "lab", "label": f"label-{number}"}
    folder.note(
        JobRequest(
            job_id=folder.path.name,
            verb="run",
            request=request,
            holder="nightly",
            created="2026-11-24T02:45:00Z",  # type: ignore[arg-type]
            pid=1,
            birth="",
        )
    )
    folder.end(State.DONE)
    return folder


@contextmanager
def running_service(
    place: Workspace, folder: Path, voila: Panels | None = None, *, tls: bool = False
) -> Iterator[Service]:
    """A service in this process, with a token of each role; ``voila``: what serves the panels."""
    tokens = Tokens(folder)
    given = {role.value: tokens.add(role.value, role) for role in Role}
    with listening(ServiceOptions(listen="127.0.0.1:0", tls=tls, state=folder), "service") as endpoint:
        guard = application(JobStore(place), place, tokens, endpoint.audit, endpoint.gate, voila=voila)
        server = endpoint.server(guard, 10, channels=voila is not None)
        thread = threading.Thread(target=server.run, args=([endpoint.gate],))
        thread.start()
        port = endpoint.gate.getsockname()[1]
        clients = {role: Client(port, token, tls) for role, token in {**given, "none": ""}.items()}
        try:
            yield Service(folder, tokens, clients, list(given.values()))
        finally:
            server.should_exit = True
            thread.join()
