"""A service for the tests of its API, pages and client."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from hdbkit.api import Workspace
from tests.unit.services import TARGETS, Service, running_service


@pytest.fixture
def place(tmp_path: Path) -> Workspace:
    """A workspace with two targets and one workload, which is not that of the process."""
    (tmp_path / "targets.yaml").write_text(TARGETS)
    (tmp_path / "workloads" / "mine").mkdir(parents=True)
    (tmp_path / "workloads" / "mine" / "workload.yaml").write_text("title: mine\n")
    return Workspace(results=tmp_path / "results", targets=tmp_path / "targets.yaml")


@pytest.fixture
def service(place: Workspace, tmp_path: Path) -> Iterator[Service]:
    with running_service(place, tmp_path) as made:
        yield made
