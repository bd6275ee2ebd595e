"""The panels in a browser without JupyterLab: accessible, in a workspace of one's own, until the token is removed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hdbkit.service.panels.process import BASE
from hdbkit.workspace import Workspace
from tests.conftest import PATIENCE_MS
from tests.unit.conftest import place  # noqa: F401
from tests.unit.services import running_service
from tests.unit.test_service_browser import hold

pytestmark = [pytest.mark.browser, pytest.mark.new_interpreters, pytest.mark.flaky(reruns=1)]


def test_panels_work_in_a_workspace_of_ones_own_until_the_token_ends(
    chromium: Any,
    place: Workspace,  # noqa: F811
    tmp_path: Path,
) -> None:
    pytest.importorskip("voila", reason="Voila is not installed (hdbkit[app])")
    from hdbkit.service.panels.process import running_panels

    said: list[str] = []
    with running_panels(place) as voila, running_service(place, tmp_path, voila) as app:
        address = f"http://127.0.0.1:{app.clients['none'].port}"
        context = chromium.new_context(color_scheme="dark", viewport={"width": 400, "height": 800})
        context.set_default_timeout(PATIENCE_MS)
        page = context.new_page()
        page.on("console", lambda message: said.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on(
            "request",
            lambda one: said.append(one.url) if one.url.startswith("http") and address not in one.url else None,
        )
        try:
            page.goto(address)
            page.fill("#token", app.clients["settings"].token)
            page.click("text=Sign in")
            page.click("nav >> text=Panels")
            page.click("text=Own workspace")
            page.get_by_placeholder("a name in the targets file").fill("lab")
            hold(page)
            page.get_by_role("button", name="Test connection").click()
            page.locator(".hdbkit-state", has_text="connected").first.wait_for()
            code = page.locator(".hdbkit-call pre").first.inner_text()
            assert f"Workspace(results='{place.results / 'workspaces' / 'settings'}'" in code
            assert said == []
            app.tokens.remove("settings")
            page.get_by_role("button", name="Test connection").click()
            page.goto(f"{address}{BASE}")
            page.locator("#token").wait_for()
        finally:
            context.close()
    (channel, *_) = [line for line in app.audit() if line["method"] == "WEBSOCKET"]
    assert (channel["status"], channel["holder_name"]) == (101, "settings")
