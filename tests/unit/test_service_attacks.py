"""Requests that try to occupy a service: each is rejected, at little cost."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections import deque
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from hdbkit.api import Workspace
from hdbkit.config.problems import problems_of_details
from hdbkit.errors import Problem
from hdbkit.service import requests
from hdbkit.service.request_body import MAX_DEPTH
from hdbkit.web.endpoint import MAX_HEAD_BYTES
from tests.unit.services import Answer, Service, running_service

MIB = 1024 * 1024


@pytest.mark.parametrize("head", ["", "transfer-encoding: chunked\r\n\r\n0\r\n"], ids=["headers", "trailers"])
def test_headers_and_trailers_have_a_limit(service: Service, head: str) -> None:
    line = b"x: " + bytes([97]) * 1000 + b"\r\n"
    with socket.create_connection(("127.0.0.1", service.clients["none"].port), timeout=60) as opened:
        opened.sendall(b"POST /api/jobs/run HTTP/1.1\r\nhost: a\r\n" + head.encode())
        sent = 0
        with suppress(OSError):
            while sent < 64 * MIB:
                sent += opened.send(line * 16)
        assert MAX_HEAD_BYTES / 2 < sent < 16 * MIB  # the buffers of the sockets take some


DEEP = "[" * 60_000
MANY = json.dumps({f"key{number}": 1 for number in range(15_000)})
WIDE = json.dumps({f"virtual_usres{number}": 1 for number in range(9_000)})
VALUES = [str(one) for one in range(1, 1000)]
GRID = json.dumps({"target": "nowhere", "sweep": {"factors": {"duration_s": VALUES, "rampup_s": VALUES}}})


@pytest.mark.parametrize("body", [DEEP, MANY, WIDE], ids=["deep", "many", "wide"])
def test_the_role_is_checked_before_the_content(service: Service, body: str) -> None:
    """Each body is one that is rejected with 422 once its content is read."""
    assert service.clients["settings"].post("/api/jobs/drop", body).status_code == 422
    assert service.clients["run"].post("/api/jobs/drop", body).status_code == 403


@pytest.mark.parametrize(
    ("verb", "body", "reason"),
    [
        ("run", DEEP, f"may have at most {MAX_DEPTH} lists and objects within each other"),
        ("run", "[" * 40 + "]" * 40, f"may have at most {MAX_DEPTH} lists and objects within each other"),
        ("run", MANY, "may have at most 10,000 values"),
        ("run", WIDE, "the request: has 8,981 more errors"),
        ("run", '{"target": "lab", "load": {"rate": NaN}}', "must be JSON: NaN is not a number"),
        ("run", '{"target": "lab", "load": {"rate": 1' + "0" * 5000 + "}}", "must be JSON: Exceeds the limit"),
        ("run", '{"target": "\\udc80"}', "target: must be text"),
    ],
    ids=["deep", "nested", "many", "wide", "nan", "digits", "surrogate"],
)
def test_content_that_costs_much_is_rejected_and_few_of_its_errors_are_explained(
    service: Service, monkeypatch: pytest.MonkeyPatch, verb: str, body: str, reason: str
) -> None:
    """To explain an error, the key is compared with all that are known: seconds, for thousands of them."""
    explained = list[int]()

    def counted(details: list[dict[str, Any]], of: type[BaseModel]) -> list[Problem]:
        explained.append(len(details))
        return problems_of_details(details, of)

    monkeypatch.setattr(requests, "problems_of_details", counted)
    answer = service.clients["settings"].post(f"/api/jobs/{verb}", body)
    assert (answer.status_code, reason in answer.json()["error"]) == (422, True), answer.text[:300]
    assert sum(explained) <= 20


def test_others_are_answered_while_a_grid_of_a_million_combinations_is_validated(service: Service) -> None:
    found = list[Answer]()
    sending = threading.Thread(target=lambda: found.append(service.clients["read"].post("/api/jobs/plan", GRID)))
    began, slowest_s = time.monotonic(), 0.0
    sending.start()
    while sending.is_alive():
        asked = time.monotonic()
        service.clients["none"].get("/health")
        slowest_s = max(slowest_s, time.monotonic() - asked)
    assert "there is no target 'nowhere'" in found[0].text
    assert slowest_s < (time.monotonic() - began) / 2


def test_a_request_is_validated_in_the_workspace_of_its_service(place: Workspace, tmp_path: Path) -> None:
    """Two services in one process: each knows the workloads of its own workspace only."""
    other = tmp_path / "other"
    (other / "workloads" / "theirs").mkdir(parents=True)
    (other / "workloads" / "theirs" / "workload.yaml").write_text("title: theirs\n")
    (other / "targets.yaml").write_text("lab: {kind: nulldb}\n")
    second = Workspace(results=other / "results", targets=other / "targets.yaml")
    (tmp_path / "state").mkdir()
    with running_service(place, tmp_path) as one, running_service(second, tmp_path / "state") as two:
        for service, known in ((one, "mine"), (two, "theirs")):
            answer = service.post("run", {"target": "lab", "workload": {"folder": "nowhere"}})
            assert f"of the workspace ({known}), not 'nowhere'" in answer.json()["error"]


def test_content_is_limited_and_where_no_token_is_needed_to_that_of_a_form(service: Service) -> None:
    large = service.clients["settings"].post("/api/jobs/run", " " * 262_145)
    assert (large.status_code, large.headers["connection"]) == (413, "close")
    assert service.clients["none"].post("/sign-in", "token=" + "x" * 5000).status_code == 413


@pytest.fixture
def encrypted(place: Workspace, tmp_path: Path) -> Iterator[Service]:
    with running_service(place, tmp_path, tls=True) as made:
        yield made


def test_many_honest_clients_at_once_are_all_served(encrypted: Service) -> None:
    with ThreadPoolExecutor(60) as clients:
        found = list(clients.map(lambda _: encrypted.clients["read"].get("/api/targets").status_code, range(60)))
    assert found == [200] * 60


@pytest.mark.parametrize(
    "sent", [b"", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"], ids=["silent", "half a handshake"]
)
def test_a_flood_of_connections_locks_out_nobody_who_shares_its_address(encrypted: Service, sent: bytes) -> None:
    ended, opened = threading.Event(), deque[socket.socket]()

    def flood() -> None:
        while not ended.is_set():
            with suppress(OSError):  # the service has closed it
                opened.append(socket.create_connection(("127.0.0.1", encrypted.clients["none"].port), timeout=10))
                opened[-1].sendall(sent)
            if len(opened) > 600:
                opened.popleft().close()

    flooding = threading.Thread(target=flood)
    flooding.start()
    try:
        while len(opened) < 600:
            time.sleep(0.01)
        client = encrypted.clients["read"]
        assert [client.get("/api/targets").status_code for _ in range(5)] == [200] * 5
    finally:
        ended.set()
        flooding.join()
        for one in opened:
            one.close()
