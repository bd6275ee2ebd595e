"""One JupyterLab and one page for all tests, as ``make lab`` starts it; a null database with a schema for each."""

from __future__ import annotations

import re
import shutil
import uuid
from collections.abc import Iterator
from typing import Any

import pytest

from hdbkit import api
from hdbkit.config import Target
from hdbkit.execution.handle import RunHandle
from hdbkit.results.folder import run_folders
from tests.architecture.source_tree import ROOT
from tests.browser.lab import Desk, Lab
from tests.conftest import PATIENCE_MS
from tests.widgets.conftest import build_null

QUIET = {"fetchNews": "false", "checkForUpdates": False, "doNotDisturbMode": True}
"""JupyterLab's own settings of its messages: it asks nobody for news, and none lies over the page."""


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """The command of the Makefile over a copy of the notebooks, with nothing of this account's settings."""
    pytest.importorskip("jupyterlab", reason="JupyterLab is not installed")
    words = re.search(r"^lab:.*\n\t@\$\(BIN\)/jupyter lab (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert words
    home = tmp_path_factory.mktemp("lab")
    shutil.copytree(ROOT / "notebooks", home / "notebooks", ignore=shutil.ignore_patterns(".ipynb_checkpoints"))
    started = Lab.start(home / "notebooks", home, [*words[1].split(), "--expose-app-in-browser"], QUIET, cwd=home)
    yield started
    started.stop()


@pytest.fixture(scope="module")
def page(chromium: Any, lab: Lab) -> Iterator[Desk]:
    """JupyterLab in a browser."""
    context = chromium.new_context(viewport={"width": 1280, "height": 1000})
    context.set_default_timeout(PATIENCE_MS)
    made = Desk(lab, context)
    made.load()
    yield made
    context.close()


@pytest.fixture
def desk(page: Desk) -> Iterator[Desk]:
    """The page without a notebook; what a test opens, its kernels and its runs end with it and leave nothing."""
    page.clear()
    yield page
    page.clear()
    for folder in run_folders(page.lab.results):
        handle = RunHandle(folder)
        handle.stop(at_once=True)
        handle.wait()
    shutil.rmtree(page.lab.results, ignore_errors=True)
    assert page.outside == []


@pytest.fixture
def built() -> Iterator[Target]:
    """A null database of one warehouse at two milliseconds a call."""
    target = build_null(Target.parse(f"nulldb:///b{uuid.uuid4().hex[:12]}?latency_us=2000"))
    yield target
    api.connect(target).drop()


def copied(lab: Lab, name: str, **parameters: Any) -> str:
    """One of the project's notebooks in the laboratory, with other parameters; its name there."""
    text = (ROOT / "notebooks" / name).read_text(encoding="utf-8")
    return lab.with_parameters(f"{uuid.uuid4().hex[:6]}-{name}", text, parameters)
