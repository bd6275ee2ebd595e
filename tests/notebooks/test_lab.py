"""``make lab`` starts JupyterLab on the notebooks, with a tile for each, and requests no external address."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from tests.architecture.source_tree import ROOT
from tests.browser.lab import Lab
from tests.notebooks.conftest import NOTEBOOKS

TILES = [
    *("Start here", "Build and check", "Run", "Sweep settings", "Compare"),
    *("Scaling virtual users", "Why processes", "Published results", "Compare engines", "Own workload"),
]


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """The command of the Makefile, on a port of its own and with nothing of this account's settings."""
    words = re.search(r"^lab:.*\n\t@\$\(BIN\)/jupyter lab (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert words
    started = Lab.start(ROOT / "notebooks", tmp_path_factory.mktemp("home"), words[1].split(), cwd=ROOT)
    yield started
    started.stop()


def page_config(lab: Lab) -> dict[str, Any]:
    """What the page tells the browser's half."""
    found = re.search(
        r'<script id="jupyter-config-data" type="application/json">\s*(.*?)\s*</script>', lab.read("lab"), re.S
    )
    assert found
    return json.loads(found[1])


def test_it_serves_the_notebooks(lab: Lab) -> None:
    served = {one["name"] for one in lab.ask("api/contents")["content"]}
    assert {path.name for path in NOTEBOOKS} <= served


def test_it_requests_no_news_updates_or_extensions(lab: Lab) -> None:
    config = page_config(lab)
    assert config["news"] == {"disabled": True}
    assert config["extensionManager"]["can_install"] is False
    settings = lab.ask("lab/api/settings/@jupyterlab/apputils-extension:notification")
    assert settings["schema"]["properties"]["fetchNews"]["default"] == "false"
    assert settings["schema"]["properties"]["checkForUpdates"]["default"] is False


def test_it_carries_the_tiles(lab: Lab) -> None:
    (extension,) = [one for one in page_config(lab)["federated_extensions"] if one["name"] == "hdbkit-launcher"]
    assert "docmanager:open" in lab.read(f"lab/extensions/hdbkit-launcher/{extension['load']}")


@pytest.mark.browser
def test_a_tile_opens_its_notebook_and_nothing_outside_is_asked(lab: Lab, chromium: Any) -> None:
    page = chromium.new_page()
    asked: list[str] = []
    errors: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda line: errors.append(line.text) if line.type == "error" else None)
    page.goto(f"{lab.url}/lab?token={lab.token}")
    page.wait_for_selector(".jp-LauncherCard:has-text('Published results')", timeout=90_000)
    assert tiles(page) == TILES
    page.click(".jp-LauncherCard:has-text('Published results')")
    page.wait_for_selector(".jp-Notebook .jp-MarkdownOutput h1:has-text('Published results')", timeout=90_000)
    page.close()
    local = (lab.url, lab.url.replace("http", "ws"), "data:", "blob:")
    assert not [url for url in asked if not url.startswith(local)]
    assert not errors


def tiles(page: Any) -> list[str]:
    """The words of our tiles, in their order."""
    cards = page.query_selector_all(".jp-LauncherCard[data-category='Notebook'] .jp-LauncherCard-label")
    return [card.inner_text() for card in cards][: len(TILES)]
