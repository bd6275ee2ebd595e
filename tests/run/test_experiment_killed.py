"""A sweep that is killed with ``kill -9`` at any point loses nothing and leaves nothing behind."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

from hdbkit.config import SweepSpec, Target
from hdbkit.errors import CannotConnect
from hdbkit.experiment import EventKind, ExperimentEvent, resume, start
from hdbkit.experiment.kinds.sweep.plan import SweepPlan, plan_sweep
from hdbkit.plan import RunPlan
from hdbkit.results.experiment_folder import ExperimentFolder, experiment_folder
from hdbkit.results.experiment_runs import runs_frame
from hdbkit.results.folder import RunFolder
from hdbkit.results.journal import Step
from hdbkit.results.manifest import Manifest, Status
from tests.run.sweep_server import DATA, DEFAULTS, Doom, FileServer, only, runner
from tests.unit.synthetic import figures


def planned(experiment_id: str = "sweep-1", blocks: int = 2) -> SweepPlan:
    spec = SweepSpec(settings={"flush": ["on", "off"]}, blocks=blocks, cache="restart", cooldown_s=0.001)
    return plan_sweep(Target(kind="nulldb"), spec, experiment_id)


def go_on(
    server: FileServer, results: Path, run_one: Callable[[RunPlan], Manifest] | None = None
) -> ExperimentFolder:
    """Start the sweep, or continue it."""
    run_one = run_one or runner(server, results)
    folder = experiment_folder(results, "sweep-1")
    if folder.planned:
        return resume(folder, only(server), run_one)
    return start(planned(), results, only(server), run_one)


def killed_at(step: int, server: Path, results: Path) -> bool:
    """Go on with the sweep in a process of its own that is killed at ``step``; whether it was."""
    child = os.fork()
    if child:
        return os.WIFSIGNALED(os.waitpid(child, 0)[1])
    doom, fsync = Doom(step), os.fsync

    def doomed_fsync(descriptor: int) -> None:
        doom.step()
        fsync(descriptor)

    os.fsync = doomed_fsync
    try:
        go_on(FileServer(server, doom), results)
    except BaseException as error:
        os.write(2, f"{error!r}\n".encode())
        os._exit(1)
    os._exit(0)


def assert_whole(server: FileServer, folder: ExperimentFolder) -> None:
    frame = runs_frame(folder)
    assert list(frame["status"]) == ["done"] * 4
    assert frame["run_id"].nunique() == 4
    ended = [line.number for line in folder.journal.lines if line.step in (Step.RUN_FINISHED, Step.RUN_FAILED)]
    assert sorted(ended) == [1, 2, 3, 4]
    assert (server.now(), server.data()) == (DEFAULTS, DATA)
    assert not (server.folder / "kept").exists()


@pytest.mark.long
@pytest.mark.timeout(900)
def test_killed_at_each_step_and_resumed_each_run_exists_once(tmp_path: Path) -> None:
    step, killed = 0, True
    while killed:
        step += 1
        server, results = tmp_path / f"server-{step}", tmp_path / f"results-{step}"
        FileServer(server)
        killed = killed_at(step, server, results)
        alive = FileServer(server)
        assert_whole(alive, go_on(alive, results))
    assert step > 75


@pytest.mark.parametrize("seed", range(4))
def test_killed_again_and_again_at_random_each_run_exists_once(tmp_path: Path, results: Path, seed: int) -> None:
    draw = random.Random(seed)
    server = FileServer(tmp_path / "server")
    kills = sum(killed_at(draw.randrange(5, 40), server.folder, results) for _ in range(8))
    assert kills >= 2
    assert_whole(server, go_on(server, results))


def test_the_next_sweep_restores_what_a_killed_one_left(tmp_path: Path, results: Path) -> None:
    server = FileServer(tmp_path / "server")
    while server.now() == DEFAULTS:
        assert killed_at(30, server.folder, results)
    assert server.data() != DATA or (server.folder / "kept").exists()
    reported: list[ExperimentEvent] = []
    saved: list[object] = []
    folder = experiment_folder(results, "sweep-2")

    def watch(event: ExperimentEvent) -> None:
        reported.append(event)
        if event.kind is EventKind.SAVED:
            saved.append(folder.read_before(server.identity)["settings"])

    start(planned("sweep-2"), results, only(server), runner(server, results), watch)
    assert reported[0].kind is EventKind.SETTLED
    assert "sweep-1 was killed; the server's original settings are restored" in reported[0].note
    assert server.now() == DEFAULTS
    assert saved == [DEFAULTS]
    left = [name for name in ("sweep-1", "sweep-2") if experiment_folder(results, name).before.exists()]
    assert left == [], "the server's files, which are in the snapshot, are not kept"


def test_a_server_that_a_killed_sweep_left_down_is_restored_before_it_is_asked(tmp_path: Path, results: Path) -> None:
    server = FileServer(tmp_path / "server")
    while server.now() == DEFAULTS:
        assert killed_at(30, server.folder, results)
    ask = server.problems

    def problems(changes: Mapping[str, Sequence[str]]) -> list[str]:
        if "restore" not in server.calls:
            raise CannotConnect("server", "connection refused", "start it")
        return ask(changes)

    server.problems = problems
    assert_whole(server, go_on(server, results))


_OUTLIVING = """
import json, sys, time
path = sys.argv[1]
while (manifest := json.load(open(path)))["status"] != "measuring":
    time.sleep(0.01)
time.sleep(0.6)
manifest["status"] = sys.argv[2]
manifest["result"] = json.loads(sys.argv[3])
json.dump(manifest, open(path + ".new", "w"))
__import__("os").replace(path + ".new", path)
"""


@pytest.mark.parametrize("end", [Status.DONE, Status.STOPPED])
def test_a_run_that_outlives_its_sweep_is_waited_for(tmp_path: Path, results: Path, end: Status) -> None:
    """It counts when it is whole, and is done again when it is not; it never meets another run on the server."""
    server = FileServer(tmp_path / "server")

    def killed_while_running(plan: RunPlan) -> Manifest:
        path = results / plan.run_id / "manifest.json"
        whole = runner(server, results)(plan)
        words = [str(path), end.value, figures(77.0).model_dump_json()]
        child = subprocess.Popen([sys.executable, "-c", _OUTLIVING, *words], start_new_session=True)
        going = whole.model_copy(update={"status": Status.MEASURING, "supervisor_pid": child.pid, "result": None})
        RunFolder(path.parent).write(going)
        os.kill(os.getpid(), signal.SIGKILL)
        return going

    if not (child := os.fork()):
        go_on(server, results, killed_while_running)
    os.waitpid(child, 0)
    folder = go_on(server, results)
    assert_whole(server, folder)
    adopted = [line.run_id for line in folder.journal.lines if "ended by itself" in line.note]
    assert len(adopted) == (1 if end is Status.DONE else 0)
    if adopted:
        assert RunFolder(results / adopted[0]).read().result == figures(77.0)
