"""What holds for every test: nothing is written to the project's own results."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def results(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder where this test's runs land."""
    folder = tmp_path_factory.mktemp("results")
    monkeypatch.setenv("HDBKIT_RESULTS", str(folder))
    return folder
