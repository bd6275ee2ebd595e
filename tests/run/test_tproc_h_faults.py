"""TPROC-H on an embedded engine: what a killed build and a killed run leave, and how they continue."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pandas as pd
import pytest

import hdbkit
from hdbkit.api.running import Running
from hdbkit.config import Target, TprocHLoad
from hdbkit.config.specs.tproc_h import TprocHSpec
from hdbkit.errors import BuildFailed, HalfBuilt, InputError
from hdbkit.loading import build
from hdbkit.results.manifest import Status
from tests.run.faults import manifest_of
from tests.run.test_build import loaders

SPEC = TprocHSpec(scale_factor=0.01, indexes="none")


@pytest.fixture
def target(tmp_path: Path) -> Iterator[Target]:
    yield Target(kind="duckdb", database=str(tmp_path / "data"))


def kill_the_loader() -> None:
    """As soon as there is one."""
    while not (found := loaders()):
        time.sleep(0.002)
    found[0].kill()


def test_a_killed_build_is_no_schema_until_it_was_resumed(target: Target) -> None:
    threading.Thread(target=kill_the_loader, daemon=True).start()
    with pytest.raises(BuildFailed, match="its process ended unexpectedly; loaded parts are kept; to resume, run"):
        build(target, SPEC, loaders=1)
    for refused in (hdbkit.connect(target).check, lambda spec: hdbkit.run(target, spec)):
        with pytest.raises(HalfBuilt, match="schema tproc_h is incomplete"):
            refused(SPEC)
    assert hdbkit.connect(target).build(SPEC).rows == 86_805
    assert hdbkit.connect(target).check(SPEC)["passed"].all()


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """A file system of its own, with 2 MB."""
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", tmp_path], check=False, stderr=-3)
    if mounted.returncode:
        pytest.skip("only root may mount a small file system")
    yield tmp_path
    subprocess.run(["umount", "-l", tmp_path], check=True)


def test_a_build_on_a_full_disk_says_so_and_is_resumed_when_there_is_space(small: Path) -> None:
    target = Target(kind="duckdb", database=str(small / "data"))
    full = r"resources .*No space left on device; provide what is lacking; loaded parts are kept; to resume, run"
    with pytest.raises(BuildFailed, match=full):
        build(target, SPEC, loaders=1)
    with pytest.raises(HalfBuilt, match="schema tproc_h is incomplete"):
        hdbkit.connect(target).check(SPEC)
    subprocess.run(["mount", "-o", "remount,size=64m", small], check=True)
    assert hdbkit.connect(target).build(SPEC).passed


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Target:
    """A schema of scale factor 0.01."""
    target = Target(kind="duckdb", database=str(tmp_path_factory.mktemp("file") / "data"))
    hdbkit.connect(target).build(SPEC)
    return target


def test_queries_that_lack_space_fail_with_the_reason_and_the_others_run(whole: Target, results: Path) -> None:
    little = whole.with_(options={"threads": "1", "memory_limit": "7MB", "temp_directory": ""})
    result = hdbkit.run(little, SPEC, TprocHLoad(queries="q06,q09,q18"))
    done = result.executions()
    assert {*zip(done["operation"], done["outcome"], done["error"], strict=True)} == {
        ("q06", "committed", ""),
        ("q09", "failed", "resources"),
        ("q18", "failed", "resources"),
    }
    assert result.summary.metric_unknown == "q09, q18: failed and never completed"
    detail = result.checks.set_index("name").loc["no query failed", "detail"]
    assert "; q09: Out of Memory Error: " in detail
    assert "; q18: Out of Memory Error: " in detail


def kill(running: Running) -> None:
    """Kill the supervisor, and so the clients."""
    pid = manifest_of(running).supervisor_pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    while running.status is not Status.ABANDONED:
        time.sleep(0.1)


def stop_at_once(running: Running) -> None:
    """Stop, and wait for the end."""
    running.stop(at_once=True)
    warnings = running.wait().manifest.warnings
    assert any("were not undone, as it was stopped at once; run: hdbkit recover" in one for one in warnings)


@pytest.mark.parametrize("end", [kill, pytest.param(stop_at_once, marks=pytest.mark.long)])
def test_recover_undoes_the_refresh_functions_of_a_run_that_did_not(
    whole: Target, results: Path, end: Callable[[Running], None]
) -> None:
    running = hdbkit.start(whole, SPEC, TprocHLoad(refresh="undone", query_sets=90, queries="q01"))
    view = running.live()
    while not (lists := view.tick().in_lists) or lists.finished < 3:
        time.sleep(0.1)
    view.close()
    end(running)
    found = hdbkit.connect(whole).check(SPEC).set_index("name")["passed"]
    assert not found["rows of lineitem"] or not found["orders of the build"]
    recovered = running.recover()
    assert "the changes of the run were undone by recover" in recovered.manifest.warnings
    kept = sum(len(pd.read_parquet(path)) for path in recovered.folder.operations.glob("*.parquet"))
    assert len(recovered.executions()) == kept >= lists.finished
    assert hdbkit.connect(whole).check(SPEC)["passed"].all()
    with pytest.raises(InputError, match="there is nothing to recover"):
        running.recover()
