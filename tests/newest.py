"""The newest servers and Python that `.ci/newest` has unpacked on this host."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from hdbkit.paths import cache_folder
from hdbkit.servers.place import COPIES
from tests.architecture.source_tree import ROOT

PYTHON = "python3.14"


def unpacked(package: str, part: str) -> Path | None:
    """A file or folder of a package."""
    places = (folder / "newest" / package / part for folder in (cache_folder(), COPIES))
    return next((place for place in places if place.exists()), None)


def needs(package: str, part: str) -> pytest.MarkDecorator:
    """Skip a test where a package is not unpacked."""
    missing = unpacked(package, part) is None
    return pytest.mark.skipif(missing, reason=f"not unpacked on this host; run: python .ci/newest {package}")


needs_python = needs(PYTHON, "venv")


def on_newest_python(*words: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run hdbkit of this working tree on the newest Python."""
    python = str(unpacked(PYTHON, "venv/bin/python"))
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "error"}
    command = [python, "-m", "hdbkit", *words]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
