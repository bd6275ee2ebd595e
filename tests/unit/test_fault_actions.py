"""What faults of the server do, on processes and commands that need no server."""

from __future__ import annotations

import os
import subprocess
import threading
from pathlib import Path

import pytest

from hdbkit.config import Commands, ControlSpec, Target
from hdbkit.config.fault import Fault
from hdbkit.faults.actions import Actions, _check_disk
from hdbkit.faults.undo import undo
from tests.run.faults import until


def test_a_fault_that_still_begins_is_undone_when_it_has_begun(tmp_path: Path) -> None:
    """As by ``hdbkit recover``, when the supervisor was killed while the server stops."""
    running, stopping, go = (tmp_path / name for name in ("running", "stopping", "go"))
    running.touch()
    os.mkfifo(go)
    commands = Commands(
        start=["touch", str(running)],
        stop=["sh", "-c", f"touch {stopping}; cat {go}; rm {running}"],
        status=["test", "-e", str(running)],
    )
    target = Target.parse("postgresql://bench@127.0.0.1:9/x").with_(
        may_restart=True, control=ControlSpec(commands=commands)
    )
    path = tmp_path / "fault-0.json"
    action = Actions(target, 1).of(Fault.parse("stop server at 0 s for 9 s"), path)
    beginning, undoing = threading.Thread(target=action.begin), threading.Thread(target=undo, args=(path, target))
    beginning.start()
    until(stopping.exists, "the server is being stopped")
    undoing.start()
    undoing.join(0.5)  # long enough for one that does not wait
    go.write_text("")
    beginning.join()
    undoing.join()
    assert running.exists()
    assert not path.exists()
    action.end()
    assert running.exists()


@pytest.mark.skipif(os.geteuid() != 0 or not Path("/dev/shm").is_dir(), reason="only root may freeze a file system")
def test_a_disk_is_compared_with_the_place_of_results_that_do_not_exist_yet(tmp_path: Path) -> None:
    with subprocess.Popen(["sleep", "60"], cwd="/dev/shm") as process:
        try:
            _check_disk(Fault.parse("pause disk at 1 s for 1 s"), process.pid, tmp_path / "results" / "new")
        finally:
            process.kill()
