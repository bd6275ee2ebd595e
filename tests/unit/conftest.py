"""A service for the tests of its API, pages and client."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from hdbkit.service.roles import Role
from hdbkit.service.serve import ServiceOptions, application
from hdbkit.service.tokens import Tokens
from hdbkit.web.endpoint import listening
from hdbkit.workspace import Workspace
from tests.unit.services import TARGETS, Client, Service


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    """A workspace with two targets and one workload."""
    (tmp_path / "targets.yaml").write_text(TARGETS)
    (tmp_path / "workloads" / "mine").mkdir(parents=True)
    (tmp_path / "workloads" / "mine" / "workload.yaml").write_text("title: mine\n")
    monkeypatch.setenv("HDBKIT_RESULTS", str(tmp_path / "results"))
    monkeypatch.setenv("HDBKIT_TARGETS", str(tmp_path / "targets.yaml"))
    return Workspace()


@pytest.fixture
def service(place: Workspace, tmp_path: Path) -> Iterator[Service]:
    tokens = Tokens(tmp_path)
    given = {role.value: tokens.add(role.value, role) for role in Role}
    with listening(ServiceOptions(listen="127.0.0.1:0", tls=False, state=tmp_path), "service") as endpoint:
        server = endpoint.server(application(place, tokens, endpoint.audit, endpoint.gate), 10)
        thread = threading.Thread(target=server.run, args=([endpoint.gate],))
        thread.start()
        port = endpoint.gate.getsockname()[1]
        clients = {role: Client(port, token) for role, token in {**given, "none": ""}.items()}
        yield Service(tmp_path, tokens, clients, list(given.values()))
        server.should_exit = True
        thread.join()
