"""The panels behind the service: who reaches Voila, and what it is told. Pages are in tests/browser/test_app.py."""

from __future__ import annotations

import json
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from http.client import IncompleteRead
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import psutil
import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from hdbkit.api import Workspace
from hdbkit.service.panels.process import PANELS_OWN, PANELS_PATH, Panels, running_panels
from hdbkit.service.tokens import Role
from tests.unit.services import Client, Service, running_service
from tests.unit.test_service_pages import SAME, Browser

pytestmark = [
    pytest.mark.new_interpreters,
    pytest.mark.skipif(find_spec("voila") is None, reason="Voila is not installed (hdbkit[app])"),
]
FILE = f"{PANELS_PATH}voila/static/voila-style.js"
CHANNEL = f"{PANELS_PATH}api/kernels/1-1-1-1-1/channels"
ASKED = {
    "header": {"msg_id": "1", "msg_type": "comm_info_request", "session": "1", "username": "", "version": "5.3"},
    "parent_header": {}, "metadata": {}, "content": {}, "channel": "shell", "buffers": [],
}  # fmt: skip


class Listening(Panels):
    """Something that listens in place of Voila."""

    listens, failure = True, ""

    def __init__(self, socket: Path) -> None:
        self.socket = socket


def until(condition: Callable[[], object]) -> None:
    """Wait for a condition."""
    deadline = time.monotonic() + 180
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.fixture(scope="module")
def voila() -> Iterator[Panels]:
    with running_panels(Workspace()) as panels:
        until(lambda: panels.listens)
        yield panels


@pytest.fixture
def app(place: Workspace, tmp_path: Path, voila: Panels) -> Iterator[Service]:
    with running_service(place, tmp_path, voila) as made:
        yield made


def channel_status(app: Service, head: dict[str, str], origin: str, path: str = CHANNEL) -> int:
    """The status of the answer to a browser that opens a channel to a kernel."""
    address = f"127.0.0.1:{app.clients['none'].port}"
    try:
        opened = connect(f"ws://{address}{path}", additional_headers=head, origin=origin or f"http://{address}")  # type: ignore[arg-type]
    except InvalidStatus as error:
        return error.response.status_code
    with opened:
        return 101


def test_panels_need_a_session_with_the_role_settings(app: Service) -> None:
    assert app.clients["settings"].get(FILE).status_code == 401  # a token is no session
    allowed = Browser(app, "settings")
    found = allowed.get(FILE)
    assert (found.status_code, "javascript" in found.headers["content-type"]) == (200, True)
    assert found.headers["content-security-policy"].startswith("default-src 'none'; script-src 'self'")
    assert '<a href="/panels/open/" class="themed">' in allowed.get("/panels").text
    for role in ("read", "run"):
        browser = Browser(app, role)
        assert browser.get(FILE).status_code == browser.get(PANELS_PATH).status_code == 403
        assert "need a token with the role <code>settings</code>" in browser.get("/panels").text
    logged = [line for line in app.audit() if line["path"] == FILE]
    assert {line.get("holder_name") for line in logged} == {None, "settings", "read", "run"}


def test_a_page_of_another_site_opens_no_channel_and_sends_nothing(app: Service) -> None:
    cookie = {"cookie": Browser(app, "settings").cookie}
    assert channel_status(app, cookie, "") == 404  # Voila has no such kernel
    assert channel_status(app, cookie, "https://elsewhere.example") == 403
    assert channel_status(app, {"cookie": Browser(app, "run").cookie}, "") == 403
    assert channel_status(app, {}, "") == 403
    client = Client(app.clients["none"].port, "")
    shutdown = f"{PANELS_PATH}voila/api/shutdown/1-1-1-1-1"
    cross = {**SAME, **cookie, "sec-fetch-site": "cross-site"}
    assert client.send("POST", shutdown, "", cross).status_code == 403


def test_voila_never_sees_a_cookie_and_serves_neither_files_nor_kernels(app: Service) -> None:
    browser = Browser(app, "settings")
    for path in ("voila/files/panels.ipynb", "voila/files/..%2f__init__.py", "api/contents", "api/kernels", "login"):
        answer = browser.get(PANELS_PATH + path)
        assert (answer.status_code >= 300, "import" in answer.text) == (True, False), path
        assert "set-cookie" not in answer.headers


@pytest.mark.long
def test_what_a_kernel_sends_is_for_this_account_and_for_valid_tokens_only(app: Service, voila: Panels) -> None:
    port = app.clients["none"].port
    app.clients["leaving"] = Client(port, app.tokens.add("leaving", Role.SETTINGS))
    browser, leaving = Browser(app, "settings"), Browser(app, "leaving")
    page = leaving.get(PANELS_PATH).text
    kernel = re.findall(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", page)[0]
    (process,) = (one for one in psutil.process_iter(["cmdline"]) if kernel in " ".join(one.info["cmdline"] or []))
    place = Path(process.info["cmdline"][-1])
    assert json.loads(place.read_bytes())["transport"] == "ipc"
    assert place.parent.stat().st_mode & 0o077 == 0
    url, origin = f"ws://127.0.0.1:{port}{PANELS_PATH}api/kernels/{kernel}/channels", f"http://127.0.0.1:{port}"
    assert (
        channel_status(app, {"cookie": browser.cookie}, "", PANELS_PATH) == 403
    )  # no other path than that of a channel
    of_kernel = url.partition(str(port))[2]
    assert channel_status(app, {"cookie": browser.cookie}, "", of_kernel) == 404  # it is of another token
    for path in (of_kernel.removesuffix("/channels"), f"{PANELS_PATH}voila/api/shutdown/{kernel}"):
        assert browser.get(path).status_code == 404
        assert browser.post(path, {}).status_code == 404
    with connect(url, additional_headers={"cookie": leaving.cookie}, origin=origin) as asking:  # type: ignore[arg-type]
        asking.send(json.dumps(ASKED))
        while json.loads(asking.recv(timeout=60))["header"]["msg_type"] != "comm_info_reply":
            pass
        with connect(url, additional_headers={"cookie": leaving.cookie}, origin=origin) as silent:  # type: ignore[arg-type]
            app.tokens.remove("leaving")
            asking.send(json.dumps(ASKED))
            with pytest.raises(ConnectionClosed):
                while True:
                    asking.recv(timeout=60)
            silent.close()


def test_without_the_option_there_are_no_panels(service: Service) -> None:
    browser = Browser(service, "settings")
    assert browser.get("/panels").status_code == browser.get(FILE).status_code == 404
    assert "/panels" not in browser.get("/").text


def test_while_voila_starts_its_page_loads_again_and_what_fails_is_reported_beside_the_other_pages(
    place: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def slow(*_: Any) -> list[str]:
        return ["sh", "-c", f"until [ -e {tmp_path}/go ]; do sleep 0.05; done; echo 'no such module' >&2; exit 1"]

    monkeypatch.setattr("hdbkit.service.panels.process.command_of", slow)
    notes: list[str] = []
    with running_panels(Workspace(), note=notes.append) as panels, running_service(place, tmp_path, panels) as app:
        browser = Browser(app, "settings")
        page = [browser.get(PANELS_PATH) for _ in range(70)][-1]  # that it loads again is no start
        assert (page.status_code, '<meta http-equiv="refresh" content="2">' in page.text) == (503, True)
        assert "<script" not in page.text
        assert browser.get("/").status_code == browser.get("/panels").status_code == 200
        assert channel_status(app, {"cookie": browser.cookie}, "") >= 400
        assert Browser(app, "read").get(PANELS_PATH).status_code == 403
        (tmp_path / "go").touch()
        until(lambda: len(notes) == 2)
        page = browser.get(PANELS_PATH)
        assert (page.status_code, "refresh" in page.text) == (503, False)
        assert "Voila has not started: no such module; restart the service" in page.text
        assert browser.get("/").status_code == 200
    assert notes[0] == "Voila starts, which serves the panels; the other pages are served meanwhile"
    assert notes[1].startswith("Voila has not started: no such module; the other pages are still served")


@pytest.mark.parametrize("sent", [b"", b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n"])
def test_a_voila_that_ends_while_a_page_loads_leaves_no_traceback(
    place: Workspace, tmp_path: Path, capsys: pytest.CaptureFixture[str], sent: bytes
) -> None:
    ending = tmp_path / "ending"
    with socket.socket(socket.AF_UNIX) as listener, running_service(place, tmp_path, Listening(ending)) as app:
        listener.bind(str(ending))
        listener.listen()
        listener.settimeout(60)
        browser = Browser(app, "settings")
        asked = threading.Thread(target=_end_after, args=(listener, sent))
        asked.start()
        if sent:
            with pytest.raises(IncompleteRead):
                browser.get(PANELS_PATH)
        else:
            assert (browser.get(PANELS_PATH).status_code, "the panels have ended" in browser.get(FILE).text) == (
                503,
                True,
            )
        asked.join()
    assert "Traceback" not in capsys.readouterr().err


def _end_after(listener: socket.socket, sent: bytes) -> None:
    """Answer requests with a part of an answer."""
    for _ in range(1 if sent else 2):
        connection, _ = listener.accept()
        with connection:
            connection.recv(65536)
            connection.sendall(sent)


def test_the_header_of_ones_own_workspace_cannot_be_sent(app: Service) -> None:
    """The name comes from the token: a browser cannot open the workspace of another."""
    from hdbkit.service.panels.passing import _headers

    holder = next(one for one in app.tokens.listed() if one.name == "settings")
    scope = {"headers": [(PANELS_OWN.encode(), b"other"), (b"cookie", b"x")], "query_string": b"workspace=own"}
    assert _headers(scope, holder) == [(PANELS_OWN, "settings")]
