"""Each part of a sweep on a real server is killed at each step of a run: nothing is lost, nothing is left behind."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import hdbkit
from hdbkit.api import sweep_result
from hdbkit.build import build
from hdbkit.config import WorkloadSpec
from hdbkit.results.manifest import Status
from hdbkit.results.sweep_folder import Step
from hdbkit.servers import PrivateServer, private_server
from tests.soak.doomed_sweep import CALLS, RUN

SPEC = """
name: doomed
settings: {shared_buffers: [64MB, 128MB]}
virtual_users: [2]
blocks: 2
cache: restart
cooldown_s: 0.01
load: {rampup_s: 0.1, duration_s: 0.6}
"""
ROOT = Path(__file__).parents[2]
KINDS = ("postgresql", "mariadb")
CASES = [(step, victim, delay_s) for step in CALLS for victim in ("sweep", "server") for delay_s in (0, 0.05)]
CASES += [(step, victim, 0) for step in RUN for victim in ("sweep", "server")]
CASES += [("run going on", "supervisor", 0)]


@pytest.fixture(scope="module", params=KINDS)
def server(request: pytest.FixtureRequest) -> Iterator[PrivateServer]:
    with private_server(request.param, settings={"fsync": "off"} if request.param == KINDS[0] else {}) as own:
        build(own.target, WorkloadSpec(warehouses=1))
        yield own


def spec_of(server: PrivateServer, folder: Path) -> Path:
    """The sweep, of a setting that this server must be restarted for."""
    path = folder / "sweep.yaml"
    mariadb = "{innodb_log_buffer_size: [16M, 32M]}"
    path.write_text(
        SPEC if server.place.kind == KINDS[0] else SPEC.replace("{shared_buffers: [64MB, 128MB]}", mariadb)
    )
    return path


def go_on(server: PrivateServer, spec: Path, step: str = "none", victim: str = "", delay_s: float = 0) -> int:
    """The sweep in a process of its own, begun or continued, to its end or its death."""
    words = [sys.executable, "-m", "tests.soak.doomed_sweep", server.folder, spec, step, victim, delay_s]
    with spec.with_suffix(".log").open("ab") as log:
        return subprocess.run(
            [str(word) for word in words],
            cwd=ROOT,
            env=dict(os.environ),
            stdout=log,
            stderr=log,
            timeout=300,
            check=False,
        ).returncode


def orders(server: PrivateServer) -> str:
    """What the schema's checks find, with the numbers of rows."""
    return str(hdbkit.connect(server.target).check().to_string())


@pytest.mark.timeout(900)
@pytest.mark.parametrize(("step", "victim", "delay_s"), CASES)
def test_each_planned_run_exists_once_and_the_settings_are_as_before(
    server: PrivateServer, tmp_path: Path, step: str, victim: str, delay_s: float
) -> None:
    spec, before, rows = spec_of(server, tmp_path), server.settings_file.read_bytes(), orders(server)
    ended = go_on(server, spec, step, victim, delay_s)
    if victim == "sweep" and not delay_s:
        assert ended == -9, spec.with_suffix(".log").read_text()[-3000:]
    assert go_on(server, spec) == 0, spec.with_suffix(".log").read_text()[-3000:]
    result = sweep_result()
    counted = [line.number for line in result.folder.journal() if line.step in (Step.RUN_FINISHED, Step.RUN_FAILED)]
    assert sorted(counted) == [1, 2, 3, 4]
    done = result.runs.query("status == 'done'")["run_id"]
    assert done.is_unique
    assert len(done) >= 3
    assert all(hdbkit.attach(run_id).status is Status.DONE for run_id in done)
    assert server.settings_file.read_bytes() == before
    assert orders(server) == rows
