"""A sweep on a real server, killed at random times: each run exists once, the settings are restored."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
import yaml

import hdbkit
from hdbkit.api import experiment_result
from hdbkit.config import TprocCSpec
from hdbkit.errors import InputError
from hdbkit.loading import build
from hdbkit.results.experiment_folder import find_experiment
from hdbkit.results.journal import Step
from hdbkit.results.manifest import Status
from hdbkit.servers import PrivateServer, control, private_server
from tests.run.faults import server_processes

PROGRAM = str(Path(sys.executable).with_name("hdbkit"))
SPEC = """
name: killed
settings:
  synchronous_commit: [on, off]
  shared_buffers: [64MB, 128MB]
virtual_users: [2]
blocks: 2
cooldown_s: 0
load: {rampup_s: 0.2, duration_s: 1}
"""
VICTIMS = ("sweep", "supervisor", "server", "all")
KILLS = 4


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[PrivateServer]:
    with private_server(settings={"fsync": "off"}) as server:
        build(server.target, TprocCSpec(warehouses=1))
        path = tmp_path / "targets.yaml"
        path.write_text(yaml.safe_dump({"lab": server.target.model_dump(mode="json", exclude_defaults=True)}))
        monkeypatch.setenv("HDBKIT_TARGETS", str(path))
        yield server


def settings_of(server: PrivateServer) -> dict[str, str]:
    return {name: one.value for name, one in control(server.target).settings().items()}


def go_on(spec: Path) -> subprocess.Popen[bytes]:
    """The sweep in a process of its own, begun or continued."""
    try:
        find_experiment(hdbkit.paths.results_folder(), "last")
        words = ["resume", "last"]
    except InputError:
        words = ["sweep", "lab", str(spec)]
    with spec.with_suffix(".log").open("ab") as log:
        return subprocess.Popen([PROGRAM, *words], stdout=log, stderr=log, start_new_session=True)


def kill(sweep: subprocess.Popen[bytes], server: PrivateServer, victim: str) -> None:
    """``kill -9`` of one part, or of all at once as a power cut would."""
    family = psutil.Process(sweep.pid).children(recursive=True)
    supervisors = [one for one in family if "hdbkit.execution.supervisor" in " ".join(one.cmdline())]
    parts = {
        "sweep": [psutil.Process(sweep.pid)],
        "supervisor": supervisors,
        "server": server_processes(server) if server.running else [],
    }
    parts["all"] = [*parts["sweep"], *family, *parts["server"]]
    for one in parts[victim]:
        try:
            one.kill()
        except psutil.NoSuchProcess:
            continue
    psutil.wait_procs(parts["server"] if victim in ("server", "all") else [], timeout=10)


@pytest.mark.timeout(1200)
@pytest.mark.parametrize("seed", range(5))
def test_killed_at_random_and_resumed_each_run_exists_once(server: PrivateServer, tmp_path: Path, seed: int) -> None:
    draw = random.Random(seed)
    spec = tmp_path / "sweep.yaml"
    spec.write_text(SPEC)
    before = settings_of(server)
    for _ in range(KILLS):
        sweep = go_on(spec)
        time.sleep(draw.uniform(1, 15))
        if sweep.poll() is None:
            kill(sweep, server, draw.choice(VICTIMS))
        time.sleep(0.5)
        server.start()
        if sweep.poll() is None:
            sweep.kill()
        sweep.wait()
    sweep = go_on(spec)
    assert sweep.wait(timeout=600) in (0, 1, 3), spec.with_suffix(".log").read_text()[-2000:]
    result = experiment_result()
    counted = [
        line.number for line in result.folder.journal.lines if line.step in (Step.RUN_FINISHED, Step.RUN_FAILED)
    ]
    assert sorted(counted) == list(range(1, 9))
    done = result.runs.query("status == 'done'")
    assert done["run_id"].is_unique
    for run_id in done["run_id"]:
        assert hdbkit.attach(run_id).status is Status.DONE
    assert settings_of(server) == before
