"""Runs whose start, or the wait for them, is interrupted or fails do not continue."""

from __future__ import annotations

import signal
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import hdbkit
from hdbkit.api import Workspace
from hdbkit.config import Load, Target
from hdbkit.errors import ServerFailed
from hdbkit.execution import handle
from hdbkit.execution.handle import RunHandle, execute, execute_together
from hdbkit.experiment import settling
from hdbkit.experiment.servers import Server
from hdbkit.plan import RunPlan
from hdbkit.results.experiment_folder import ExperimentFolder
from hdbkit.results.folder import RunFolder
from hdbkit.results.journal import Step
from hdbkit.workloads import specification
from tests.run.faults import until
from tests.run.sweep_server import FileServer

LOAD = Load(virtual_users=1, rampup_s=0, duration_s=600)


@pytest.fixture
def target() -> Iterator[Target]:
    """A null database of its own, with a schema."""
    made = Target(kind="nulldb", database=f"i{uuid.uuid4().hex[:12]}")
    hdbkit.connect(made).build(warehouses=1)
    yield made
    hdbkit.connect(made).drop()


@pytest.mark.parametrize("by", ["start", "execute"])
def test_the_run_does_not_continue(target: Target, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by: str) -> None:
    started, supervisor = [], handle._supervisor

    def interrupted(folder: RunFolder, *others: Any) -> Any:
        process = supervisor(folder, *others)
        started.append(RunHandle(folder, process))
        signal.raise_signal(signal.SIGINT)
        return process

    monkeypatch.setattr(handle, "_supervisor", interrupted)
    with pytest.raises(KeyboardInterrupt):
        if by == "start":
            Workspace(results=tmp_path).start(target, load=LOAD)
        else:
            execute(RunPlan(run_id="a-run", target=target, workload=specification(None), load=LOAD), tmp_path)
    until(lambda: started[0].status().ended, "the run has ended")


def test_a_run_does_not_continue_where_one_of_the_same_time_cannot_start(
    target: Target, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started, supervisor = [], handle._supervisor

    def second_fails(folder: RunFolder, *others: Any) -> Any:
        if started:
            raise ServerFailed("its cache cannot be emptied")
        process = supervisor(folder, *others)
        started.append(RunHandle(folder, process))
        return process

    monkeypatch.setattr(handle, "_supervisor", second_fails)
    plans = [
        RunPlan(run_id=one, target=target, workload=specification(None), load=LOAD) for one in ("a-run", "b-run")
    ]
    with pytest.raises(ServerFailed):
        execute_together(plans, tmp_path)
    assert started[0].status().ended


@pytest.mark.parametrize("patient", [False, True])
def test_the_run_of_a_killed_experiment_does_not_continue_where_nobody_waits_for_it(
    target: Target, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, patient: bool
) -> None:
    """Who waited was interrupted, or has waited for long enough."""
    running = Workspace(results=tmp_path).start(target, load=LOAD)
    server, folder = FileServer(tmp_path / "server"), ExperimentFolder(tmp_path / "experiments" / "one")
    folder.path.mkdir(parents=True)
    folder.save_before(server.identity, server.snapshot())
    folder.append(Step.RUN_STARTED, 1, running.run_id)

    def interrupted(_: object) -> None:
        raise KeyboardInterrupt

    if patient:
        monkeypatch.setattr(settling, "_PATIENCE_S", -LOAD.max_duration_s)
        settling.settle(folder, {server.identity: Server(server, (server,))})
        assert running.status.ended
    else:
        monkeypatch.setattr(settling, "_waited_for", interrupted)
        with pytest.raises(KeyboardInterrupt):
            settling.settle(folder, {server.identity: Server(server, (server,))})
    assert not folder.journal.state.changed
    until(lambda: running.status.ended, "the run has ended")
