"""An interrupt in the instant in which a run's process starts."""

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
from hdbkit.execution import handle
from hdbkit.execution.handle import RunHandle, execute
from hdbkit.plan import RunPlan
from hdbkit.results.folder import RunFolder
from hdbkit.workloads import specification
from tests.run.faults import until

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
