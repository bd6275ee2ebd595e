"""TPROC-H on an embedded engine: what a killed build and a killed run leave, and how they continue."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import hdbkit
from hdbkit.build import build
from hdbkit.config import Load, Target
from hdbkit.errors import BuildFailed, HalfBuilt
from hdbkit.results.manifest import Status
from hdbkit.workloads.tproc_h.spec import TprocHSpec
from tests.run.faults import manifest_of
from tests.run.test_build import Watcher, loaders

SPEC = TprocHSpec(scale_factor=0.01, indexes="none")


@pytest.fixture
def target(tmp_path: Path) -> Iterator[Target]:
    yield Target(kind="duckdb", database=str(tmp_path / "data"))


class Killer(Watcher):
    """Kills the loader within the first table."""

    def loaded(self, rows: int, total_rows: int, size_bytes: int) -> None:
        super().loaded(rows, total_rows, size_bytes)
        if 0 < rows < 60_000:
            for loader in loaders():
                loader.kill()


def test_a_killed_build_is_no_schema_until_it_was_resumed(target: Target) -> None:
    with pytest.raises(BuildFailed, match="its process ended unexpectedly; loaded parts are kept; to resume, run"):
        build(target, SPEC, loaders=1, progress=Killer())
    for refused in (hdbkit.connect(target).check, lambda spec: hdbkit.run(target, spec)):
        with pytest.raises(HalfBuilt, match="schema tproc_h is incomplete"):
            refused(SPEC)
    assert hdbkit.connect(target).build(SPEC).rows == 86_805
    assert hdbkit.connect(target).check(SPEC)["passed"].all()


def test_recover_undoes_the_refresh_functions_of_a_killed_run(target: Target, results: Path) -> None:
    hdbkit.connect(target).build(SPEC)
    running = hdbkit.start(target, SPEC, Load(refresh="undone", query_sets=900, queries="q01"))
    view = running.live()
    while view.tick().operations_per_s == 0:
        time.sleep(0.1)
    view.close()
    pid = manifest_of(running).supervisor_pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    while running.status is not Status.ABANDONED:
        time.sleep(0.1)
    found = hdbkit.connect(target).check(SPEC).set_index("name")["passed"]
    assert not found["rows of lineitem"] or not found["orders of the build"]
    running.recover()
    assert hdbkit.connect(target).check(SPEC)["passed"].all()
