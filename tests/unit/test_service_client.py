"""The client sends and returns the models of the service; every operation has a method."""

from __future__ import annotations

import inspect
import socket
import subprocess
import sys
import threading
from typing import Any

import pytest

from hdbkit import client
from hdbkit.api import Workspace
from hdbkit.client import Client, RequestFailed
from hdbkit.config import Load, TprocHSpec
from hdbkit.errors import ConfigErrors, InputError
from hdbkit.service import requests
from hdbkit.service.app import make_service_app
from hdbkit.service.job_folder import State
from hdbkit.service.jobs import JobStore
from tests.unit.services import Service


def test_each_operation_of_the_document_is_a_method(place: Workspace) -> None:
    document: dict[str, Any] = make_service_app(JobStore(place), place).openapi()
    operations = {one["operationId"]: one for path in document["paths"].values() for one in path.values()}
    read = {name for name in operations if not name.startswith("start_") and name != "health"}
    methods = {name: one for name, one in vars(Client).items() if not name.startswith("_")}
    assert methods.keys() - {"start", "wait"} == read
    for name in read:
        named = {one["name"] for one in operations[name].get("parameters", ())}
        assert set(inspect.signature(methods[name]).parameters) - {"self"} == named


def test_the_client_needs_no_library_of_the_service() -> None:
    program = "import hdbkit.client, sys; sys.exit('fastapi' in sys.modules or 'starlette' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_a_request_is_sent_as_it_was_given_and_read_as_the_same(place: Workspace) -> None:
    asked = requests.RunRequest(target="lab", workload=TprocHSpec(scale_factor=2), load=Load(virtual_users=8))
    sent = asked.model_dump(mode="json", exclude_unset=True)
    workload = {"kind": "tproc_h", "scale_factor": 2}
    assert sent == {"target": "lab", "workload": workload, "load": {"virtual_users": 8}}
    assert requests.RunRequest.of(sent, place) == asked
    named = requests.BuildRequest(target="lab", workload={"folder": "mine"})  # type: ignore[arg-type]
    assert named.model_dump(mode="json", exclude_unset=True)["workload"] == {"kind": "custom", "folder": "mine"}
    with pytest.raises(ConfigErrors, match="virtual_user"):
        requests.RunRequest(target="lab", load={"virtual_user": 8})  # type: ignore[arg-type]


def test_a_client_starts_a_job_waits_for_it_and_reads_what_it_returned(service: Service) -> None:
    client = Client(f"http://127.0.0.1:{service.clients['read'].port}", service.clients["read"].token)
    job = client.wait(client.start(requests.EnginesRequest()).job_id)
    assert job.state is State.DONE
    found = client.get_result(job.job_id)
    assert isinstance(found, dict)
    assert found["engines"]
    assert [one.job_id for one in client.list_jobs("engines", state=State.DONE).jobs] == [job.job_id]
    assert [one.name for one in client.list_targets().targets] == ["lab", "other", "broken"]


def test_a_client_raises_what_the_service_answered(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    address = f"http://127.0.0.1:{service.clients['settings'].port}"
    client = Client(address, service.clients["settings"].token)
    with pytest.raises(RequestFailed, match="target: there is no target 'nowhere'") as failed:
        client.start(requests.RunRequest(target="nowhere"))
    assert failed.value.status == 422
    assert failed.value.problems[0].where == "target"
    with pytest.raises(RequestFailed, match="there is no job 'a-b'"):
        client.get_job("a-b")
    with pytest.raises(RequestFailed, match="a valid token is needed") as failed:
        Client(address, "x" * 43).list_targets()
    assert failed.value.status == 401
    with pytest.raises(RequestFailed, match=r"http://127.0.0.1:1 cannot be reached"):
        Client("http://127.0.0.1:1", "x").list_targets()
    monkeypatch.delenv("HDBKIT_SERVICE_TOKEN", raising=False)
    with pytest.raises(InputError, match="no token is given; set HDBKIT_SERVICE_TOKEN"):
        Client(address)
    with pytest.raises(InputError, match="the token has a character that no token has"):
        Client(address, "x\r\nHost: y")
    for wrong in (
        "localhost:8448",
        "https://me:secret@host",
        "https://:secret@host",
        "https://host/api",
        "http://h:99999",
    ):
        with pytest.raises(InputError, match="the service's address must be such as") as unusable:
            Client(wrong, "x")
        assert "secret" not in str(unusable.value)


def _answering(answer: bytes) -> Client:
    """A client of a server that sends this to the first request."""
    server = socket.create_server(("127.0.0.1", 0))

    def send() -> None:
        with server, server.accept()[0] as connection:
            connection.recv(65_536)
            connection.sendall(b"HTTP/1.1 " + answer)

    threading.Thread(target=send, daemon=True).start()
    return Client(f"http://127.0.0.1:{server.getsockname()[1]}", "x", timeout_s=10)


def test_a_hostile_answer_is_a_failed_request_and_no_command_of_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "_MAX_BYTES", 1 << 20)
    for answer, said in (
        (b"200 OK\r\n\r\n" + b"[" * 200_000, "Invalid JSON: recursion limit"),
        (b'200 OK\r\n\r\n{"job_id": 5}', "sent an answer that this version cannot read: job_id: "),
        (b"200 OK\r\n\r\n" + b"x" * (2 << 20), "sent more than 1 MiB, the maximum of an answer"),
        (b"200 OK\r\nContent-Length: 9\r\n\r\n{}", "did not send its whole answer"),
        (b"302 Found\r\nLocation: http://127.0.0.1:1/\r\n\r\n", "status 302"),
        (b'422 No\r\n\r\n{"error": "\\u001b[2J"}', r"^\ufffd\[2J$"),
    ):
        with pytest.raises(RequestFailed, match=said):
            _answering(answer).get_job("a-b")
    with pytest.raises(RequestFailed, match="Invalid JSON"):
        list(_answering(b"200 OK\r\n\r\ndata: {wrong\n").get_live("a-b"))
