"""The panels in browsers without JupyterLab: accessible, for several people at once, until a token is removed."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import psutil
import pytest

from hdbkit.api import Workspace
from hdbkit.service.panels.process import PANELS_PATH
from hdbkit.service.tokens import Role
from tests.conftest import PATIENCE_MS
from tests.unit.conftest import place  # noqa: F401
from tests.unit.services import running_service
from tests.unit.test_app import until
from tests.unit.test_service_browser import hold

pytestmark = [pytest.mark.browser, pytest.mark.new_interpreters]
LATE_S = 9.0
"""For so long a kernel answers nothing, as on a busy host, when a page asks it for its widgets."""


def hold_kernels() -> None:
    """Stop the kernels that this process started for a while."""
    kernels = [one for one in psutil.Process().children(recursive=True) if "ipykernel_launcher" in str(one.cmdline())]
    for one in kernels:
        one.suspend()
    threading.Timer(LATE_S, lambda: [one.resume() for one in kernels]).start()


def signed_in(chromium: Any, address: str, token: str, said: list[str]) -> Any:
    """A browser's page with the panels of an own workspace; errors and foreign addresses go to ``said``."""
    context = chromium.new_context(color_scheme="dark", viewport={"width": 400, "height": 800})
    context.set_default_timeout(PATIENCE_MS)
    page = context.new_page()
    page.once("websocket", lambda _: hold_kernels())
    page.on("console", lambda message: said.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on(
        "request", lambda one: said.append(one.url) if one.url.startswith("http") and address not in one.url else None
    )
    page.goto(address)
    page.fill("#token", token)
    page.click("text=Sign in")
    page.click("nav >> text=Panels")
    page.click("text=Own workspace")
    page.get_by_placeholder("a name in the targets file").wait_for()
    return page


def try_target(page: Any, target: str, answer: str) -> None:
    """Test the connection of a target until the panel answers: a page whose kernel is not ready takes no click."""
    found = page.locator(".hdbkit-state, .hdbkit-error", has_text=answer).first
    name = page.get_by_placeholder("a name in the targets file")
    for _ in range(6):
        name.fill("")  # a value that the page has already is not sent again
        name.fill(target)
        page.get_by_role("button", name="Test connection").click()
        for _ in range(60):
            if found.is_visible():
                return
            page.wait_for_timeout(500)
    pytest.fail(f"no answer {answer!r} for the target {target}")


@pytest.mark.parametrize("people", [("settings",), pytest.param(("settings", "other"), marks=pytest.mark.long)])
def test_panels_work_for_people_in_workspaces_of_their_own_until_a_token_ends(
    chromium: Any,
    place: Workspace,  # noqa: F811
    tmp_path: Path,
    people: tuple[str, ...],
) -> None:
    pytest.importorskip("voila", reason="Voila is not installed (hdbkit[app])")
    from hdbkit.service.panels.process import running_panels

    said: list[str] = []
    with running_panels(place) as voila, running_service(place, tmp_path, voila) as app:
        until(lambda: voila.listens)
        address = f"http://127.0.0.1:{app.clients['none'].port}"
        tokens = {"settings": app.clients["settings"].token, "other": app.tokens.add("other", Role.SETTINGS)}
        pages = {name: signed_in(chromium, address, tokens[name], said) for name in people}
        try:
            hold(pages["settings"])
            for name, page in pages.items():
                try_target(page, "lab", "connected")
                code = page.locator(".hdbkit-call pre").first.inner_text()
                assert f"Workspace(results='{place.results / 'workspaces' / name}'" in code
            assert said == []
            app.tokens.remove("settings")
            ended = pages["settings"]
            ended.get_by_role("button", name="Test connection").click()
            ended.goto(f"{address}{PANELS_PATH}")
            ended.locator("#token").wait_for()
            for name in people[1:]:
                try_target(pages[name], "nowhere", "nowhere")
        finally:
            for page in pages.values():
                page.context.close()
    channels = [line for line in app.audit() if line["method"] == "WEBSOCKET" and line["status"] == 101]
    assert {line["holder_name"] for line in channels} == set(people)
