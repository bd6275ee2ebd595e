"""One JupyterLab for all tests; a null database with a schema for each."""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hdbkit import api
from hdbkit.config import Target, WorkloadSpec
from hdbkit.execution.handle import RunHandle
from hdbkit.results.folder import run_folders
from tests.browser.lab import Lab
from tests.conftest import CHROMIUM

QUIET = {"fetchNews": "false", "checkForUpdates": False, "doNotDisturbMode": True}
"""JupyterLab's own settings of its messages: it asks nobody for news, and none lies over the page."""


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    pytest.importorskip("jupyterlab", reason="JupyterLab is not installed")
    if CHROMIUM is None:
        pytest.skip("no chromium here; make tools brings it where it can")
    home = tmp_path_factory.mktemp("lab")
    (home / "notebooks").mkdir()
    words = ["--allow-root", "--expose-app-in-browser", f"--ServerApp.root_dir={home / 'notebooks'}"]
    started = Lab.start(home / "notebooks", home, words, QUIET)
    yield started
    started.stop()


@pytest.fixture
def context(chromium: Any, lab: Lab) -> Iterator[Any]:
    """A browser of its own, with cookies of its own; its kernels and its runs end with it, and leave nothing."""
    made = chromium.new_context(viewport={"width": 1280, "height": 1000})
    made.set_default_timeout(120_000)
    yield made
    made.close()
    lab.end_kernels()
    for folder in run_folders(lab.results):
        handle = RunHandle(folder)
        handle.stop(at_once=True)
        handle.wait()
    shutil.rmtree(lab.results, ignore_errors=True)


@pytest.fixture
def built() -> Iterator[Target]:
    """A null database of one warehouse at two milliseconds a call."""
    target = Target.parse(f"nulldb:///b{uuid.uuid4().hex[:12]}?latency_us=2000")
    api.connect(target).build(workload=WorkloadSpec())
    yield target
    api.connect(target).drop()


def copied(lab: Lab, name: str, **parameters: Any) -> str:
    """One of the project's notebooks in the laboratory, with other parameters; its name there."""
    text = (Path(__file__).parents[2] / "notebooks" / name).read_text(encoding="utf-8")
    return lab.with_parameters(f"{uuid.uuid4().hex[:6]}-{name}", text, parameters)
