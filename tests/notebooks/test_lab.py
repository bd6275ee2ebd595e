"""What ``make lab`` starts: JupyterLab on the notebooks, with a tile for each, that asks no outside address."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, sync_playwright

from tests.architecture.source_tree import ROOT
from tests.notebooks.conftest import NOTEBOOKS

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
TILES = [
    *("Start here", "Build and check", "Run", "Sweep settings", "Compare"),
    *("Scaling virtual users", "Why processes", "Published results"),
]
TOKEN = "of-this-test"


@dataclass(frozen=True)
class Lab:
    """A running JupyterLab."""

    address: str

    def get(self, path: str) -> str:
        request = urllib.request.Request(f"{self.address}{path}", headers={"Authorization": f"token {TOKEN}"})
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.read().decode()


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """The command of the Makefile, on a port of its own and with nothing of this account's settings."""
    words = re.search(r"^lab:.*\n\t@\$\(BIN\)/jupyter lab (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert words
    home = tmp_path_factory.mktemp("home")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "jupyterlab", *words[1].split(), "--no-browser"]
    environment = {**os.environ, "HOME": str(home), "JUPYTER_TOKEN": TOKEN}
    with (home / "log").open("wb") as log:
        process = subprocess.Popen(
            [*command, f"--ServerApp.port={port}", "--ServerApp.port_retries=0"],
            cwd=ROOT, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
        )  # fmt: skip
    started = Lab(f"http://127.0.0.1:{port}")
    try:
        wait_for(started, process, home / "log")
        yield started
    finally:
        process.terminate()
        process.wait()


def wait_for(lab: Lab, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + 120
    while True:
        try:
            lab.get("/api/status")
            return
        except (urllib.error.URLError, OSError):
            assert process.poll() is None and time.monotonic() < deadline, log.read_text()
            time.sleep(0.1)


def page_config(lab: Lab) -> dict[str, Any]:
    """What the page tells the browser's half."""
    found = re.search(
        r'<script id="jupyter-config-data" type="application/json">\s*(.*?)\s*</script>', lab.get("/lab"), re.S
    )
    assert found
    return json.loads(found[1])


def test_it_serves_the_notebooks(lab: Lab) -> None:
    served = {one["name"] for one in json.loads(lab.get("/api/contents"))["content"]}
    assert {path.name for path in NOTEBOOKS} <= served


def test_it_asks_nobody_for_news_updates_or_extensions(lab: Lab) -> None:
    config = page_config(lab)
    assert config["news"] == {"disabled": True}
    assert config["extensionManager"]["can_install"] is False
    settings = json.loads(lab.get("/lab/api/settings/@jupyterlab/apputils-extension:notification"))
    assert settings["schema"]["properties"]["fetchNews"]["default"] == "false"
    assert settings["schema"]["properties"]["checkForUpdates"]["default"] is False


def test_it_carries_the_tiles(lab: Lab) -> None:
    (extension,) = [one for one in page_config(lab)["federated_extensions"] if one["name"] == "hdbkit-launcher"]
    assert "docmanager:open" in lab.get(f"/lab/extensions/hdbkit-launcher/{extension['load']}")


@pytest.mark.browser
@pytest.mark.skipif(CHROMIUM is None, reason="no chromium here; make tools brings it where it can")
def test_a_tile_opens_its_notebook_and_nothing_outside_is_asked(lab: Lab) -> None:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page()
        asked: list[str] = []
        errors: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        page.on("console", lambda line: errors.append(line.text) if line.type == "error" else None)
        page.goto(f"{lab.address}/lab?token={TOKEN}")
        page.wait_for_selector(".jp-LauncherCard:has-text('Published results')", timeout=90_000)
        assert tiles(page) == TILES
        page.click(".jp-LauncherCard:has-text('Published results')")
        page.wait_for_selector(".jp-Notebook .jp-MarkdownOutput h1:has-text('Published results')", timeout=90_000)
        browser.close()
    local = (lab.address, lab.address.replace("http", "ws"), "data:", "blob:")
    assert not [url for url in asked if not url.startswith(local)]
    assert not errors


def tiles(page: Page) -> list[str]:
    """The words of our tiles, in their order."""
    cards = page.query_selector_all(".jp-LauncherCard[data-category='Notebook'] .jp-LauncherCard-label")
    return [card.inner_text() for card in cards][: len(TILES)]
