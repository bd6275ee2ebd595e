"""Detached sweeps: they survive the process that started them, and every process can read the journal."""

from __future__ import annotations

import importlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NoReturn

import pytest
from pydantic import SecretStr

import hdbkit
from hdbkit import programs
from hdbkit.api import RunningExperiment, attach_experiment, executing, running_experiments, start_sweep
from hdbkit.api.executing import launch
from hdbkit.config import Load, SweepSpec, Target
from hdbkit.errors import ConfigErrors, DamagedResult, ExperimentFailed, HdbkitError, InputError
from hdbkit.experiment import EventKind, ExperimentStatus
from hdbkit.experiment.kinds.sweep.plan import SweepPlan
from hdbkit.processes import birth_of
from hdbkit.programs import Process
from hdbkit.results.experiment_folder import ExperimentFolder
from hdbkit.results.journal import Step
from hdbkit.servers import PrivateServer
from tests.conftest import HdbkitCommand
from tests.run.conftest import NullTarget, password_of

SHORT = SweepSpec(
    name="speed", settings={"speed": ("1", "2")}, virtual_users=(2,), blocks=2, load=Load(rampup_s=0, duration_s=0.4)
)
TINY = SHORT.with_(settings={"speed": ("2",)})
LIMITED = Load(rampup_s=0, duration_s=60, iterations=50)
LONG = SHORT.with_(settings={"speed": ("2", "3")}, load=Load(rampup_s=0, duration_s=600))


@pytest.fixture(autouse=True)
def nothing_goes_on() -> Iterator[None]:
    """A test that fails leaves neither sweep nor run behind."""
    yield
    for sweep in running_experiments():
        sweep.stop()
    for run_id in hdbkit.runs()["run_id"]:
        hdbkit.attach(run_id).stop(at_once=True)


@pytest.fixture
def target(null_target: NullTarget) -> Target:
    return null_target(latency_us=1000).with_(may_change_settings=True)


def speed(target: Target) -> str:
    """The setting that is swept, as the server has it now."""
    return str(hdbkit.connect(target).settings()["value"]["speed"])


def pid_of(running: RunningExperiment) -> int:
    pid = running.folder.journal.state.executed_by
    assert pid is not None
    return pid


def until(true: Callable[[], Any]) -> None:
    deadline = time.monotonic() + 180
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def begun(running: RunningExperiment) -> RunningExperiment:
    """The sweep, as soon as its first run measures."""
    until(lambda: running.progress().run_id)
    until(lambda: hdbkit.runs()["status"].eq("measuring").any())
    return running


def interrupted(*_: object) -> NoReturn:
    raise KeyboardInterrupt


@pytest.fixture
def no_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """A sweep of this process is interrupted where its first run would begin."""
    monkeypatch.setattr(executing, "execute", interrupted)


@pytest.fixture
def stopped(target: Target, no_run: None) -> RunningExperiment:
    """A sweep that was stopped before its first run."""
    with pytest.raises(KeyboardInterrupt):
        hdbkit.sweep(target, TINY)
    return attach_experiment()


def change_plan(running: RunningExperiment, change: Callable[[dict[str, Any]], None]) -> None:
    plan = json.loads((running.folder.path / "plan.json").read_text())
    change(plan)
    running.folder.write_plan(SweepPlan.model_validate(plan))


def test_a_detached_sweep_continues_when_its_starter_is_killed_and_ends_as_one_that_is_waited_for(
    target: Target, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: HdbkitCommand
) -> None:
    tiny = named(target, tmp_path, monkeypatch)
    program = "import os, sys; from hdbkit.cli import main\ntry: main(sys.argv[1:])\nfinally: os.kill(os.getpid(), 9)"
    words = [sys.executable, "-c", program, "sweep", "lab", tiny, "--detach"]
    ended = subprocess.run(words, stdout=subprocess.DEVNULL, check=False)
    assert ended.returncode == -signal.SIGKILL
    running = attach_experiment()
    said = command("attach", running.experiment_id)
    assert "run   2 of 2" in said.err
    assert "the server's settings are restored" in said.err
    assert "report.html" in said.out
    steps: list[EventKind] = []
    done = running.wait(lambda step: steps.append(step.kind))
    assert list(done.runs["status"]) == ["done"] * 2
    assert steps == [
        EventKind.SAVED,
        *[EventKind.STARTED, EventKind.FINISHED] * 2,
        EventKind.RESTORED,
        EventKind.SPENT,
    ]
    assert (running.progress().ended_runs, running.progress().left_s) == (2, 0)
    assert speed(target) == "1"
    assert done.folder.report.is_file()
    assert running_experiments() == []


def test_a_sweep_reports_its_progress_excludes_others_and_puts_the_settings_back_when_it_is_stopped(
    target: Target, command: HdbkitCommand
) -> None:
    started = begun(start_sweep(target, LONG))
    running = attach_experiment("last")
    now = running.progress()
    assert [one.experiment_id for one in running_experiments()] == [started.experiment_id]
    assert (now.status, now.total, now.blocks, now.ended_runs) == (ExperimentStatus.RUNNING, 4, 2, 0)
    assert now.planned is not None
    assert (now.planned.number, now.planned.block) == (1, 1)
    assert now.run_id in set(hdbkit.runs()["run_id"])
    assert now.left_s is not None
    assert now.left_s > 1800
    assert speed(target) in ("2", "3")
    with pytest.raises(InputError, match="another experiment is running"):
        start_sweep(target, SHORT)
    with pytest.raises(InputError, match="is already running"):
        hdbkit.start_experiment(running.experiment_id)
    said = command("stop")
    assert said.code == 0
    waits = "this waits for run 1 to end its operations, and then for the server's settings to be restored"
    assert f"stopping {running.experiment_id}: {waits}" in said.err
    assert "the experiment stops; the server is restored" in said.err and "settings are restored" in said.err
    running.wait()
    assert running.status is ExperimentStatus.STOPPED
    assert speed(target) == "1"


def test_of_two_that_resume_a_stopped_sweep_at_once_one_is_refused_and_the_other_does_it(
    target: Target, stopped: RunningExperiment
) -> None:
    assert (stopped.status, speed(target)) == (ExperimentStatus.STOPPED, "1")
    with ThreadPoolExecutor(2) as both:
        asked = [both.submit(hdbkit.start_experiment, stopped.experiment_id, target, blocks=3) for _ in range(2)]
    (refused,) = [str(one.exception()) for one in asked if one.exception()]
    assert "is already running" in refused
    assert list(attach_experiment(stopped.experiment_id).wait().runs["status"]) == ["done"] * 3
    assert stopped.status is ExperimentStatus.DONE


def test_a_killed_sweep_is_reported_as_such_and_the_next_one_puts_the_settings_back(
    target: Target, no_run: None
) -> None:
    running = begun(start_sweep(target, LONG))
    os.kill(pid_of(running), signal.SIGKILL)
    with pytest.raises(ExperimentFailed, match=f"its process was killed; .*hdbkit resume {running.experiment_id}"):
        running.wait()
    assert running.status is ExperimentStatus.KILLED
    assert running_experiments() == []
    assert speed(target) in ("2", "3")
    hdbkit.attach().stop()  # its run goes on by itself
    with pytest.raises(KeyboardInterrupt):
        hdbkit.sweep(target, TINY)
    assert running.folder.journal.state.changed is False
    assert speed(target) == "1"


def test_a_process_that_the_journal_cannot_name_does_not_begin(target: Target, results: Path) -> None:
    folder = ExperimentFolder(results / "experiments" / "unnamed")
    (folder.path / "journal.ndjson").mkdir(parents=True)
    with pytest.raises(DamagedResult, match="Is a directory"):
        launch(folder, [target])
    assert not [one for one in Path("/proc").glob("[0-9]*") if str(folder.path).encode() in command_line(one)]


def command_line(process: Path) -> bytes:
    try:
        return (process / "cmdline").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return b""


def test_what_breaks_a_sweep_down_is_reported_in_its_sentence(target: Target, stopped: RunningExperiment) -> None:
    change_plan(stopped, lambda plan: plan["target"].update(database="gone"))
    with pytest.raises(ExperimentFailed, match=f"{stopped.experiment_id} failed: .* hdbkit build"):
        hdbkit.start_experiment(stopped.experiment_id).wait()
    assert stopped.status is ExperimentStatus.FAILED
    assert speed(target) == "1"


def test_a_sweep_from_elsewhere_is_resumed_on_the_target_that_is_named_and_no_other(
    target: Target,
    stopped: RunningExperiment,
    tmp_path: Path,
    command: HdbkitCommand,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ran = tmp_path / "ran"
    control = {"commands": {"start": ["touch", str(ran)], "stop": ["true"], "status": ["false"]}}
    server = {"kind": "postgresql", "host": "127.0.0.1", "port": 1, "user": "u", "options": {}, "may_restart": True}
    with monkeypatch.context() as somebody:
        somebody.setenv("XDG_STATE_HOME", str(tmp_path / "somebody"))
        change_plan(stopped, lambda plan: plan["target"].update(server, control=control))
    journal = stopped.folder.path / "journal.ndjson"
    journal.write_text(journal.read_text().replace("nulldb://", "another://"))
    for refused in (command("resume", "last"), command("resume", "last", "--detach")):
        assert refused.code == 2
        assert f"hdbkit resume {stopped.experiment_id} --target TARGET --accept" in refused.err
    with pytest.raises(InputError, match="--accept"):
        hdbkit.start_experiment("last", target)
    assert not ran.exists()
    with pytest.raises(InputError, match="was run on another://"):
        hdbkit.start_experiment("last", target, accept=True)
    assert not stopped.folder.is_own
    journal.write_text(journal.read_text().replace("another://", "nulldb://"))
    done = hdbkit.start_experiment("last", target, accept=True).wait()
    assert set(done.runs["status"]) == {"done"}
    stopped.folder.append(Step.STARTED, pid=os.getpid(), birth=birth_of(os.getpid()))
    with pytest.raises(InputError, match="is not stopped"):
        stopped.stop()  # the plan is this account's, but its journal names any process
    stopped.folder.append(Step.STOPPED)
    assert not ran.exists()


def test_errors_are_reported_before_a_process_or_a_folder_is_made(target: Target, results: Path) -> None:
    with pytest.raises(ConfigErrors, match="Did you mean 'speed'"):
        start_sweep(target, SHORT.with_(settings={"sped": ("1", "2")}))
    with pytest.raises(InputError, match="may_change_settings: true"):
        start_sweep(target.with_(may_change_settings=False), SHORT)
    assert not list(results.glob("experiments/2*"))


def named(target: Target, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The target as ``lab``, and a file of a short sweep, which it returns."""
    (folder / "targets.yaml").write_text(json.dumps({"lab": target.model_dump(mode="json", exclude_defaults=True)}))
    monkeypatch.setenv("HDBKIT_TARGETS", str(folder / "targets.yaml"))
    (folder / "tiny.json").write_text(TINY.model_dump_json())
    return folder / "tiny.json"


def comparable(sweep: Path) -> dict[str, Any]:
    """A sweep's plan without its id and the name under which its target was given."""
    plan: dict[str, Any] = json.loads((sweep / "plan.json").read_text())
    plan.pop("experiment_id")
    plan["target"].pop("name")
    return plan


def test_the_same_sweep_has_the_same_plan_from_api_process_and_command_line(
    stopped: RunningExperiment,
    target: Target,
    tmp_path: Path,
    results: Path,
    monkeypatch: pytest.MonkeyPatch,
    command: HdbkitCommand,
) -> None:
    """The plan is on disk before the process of a sweep starts; here none does."""
    tiny = named(target, tmp_path, monkeypatch)
    monkeypatch.setattr(importlib.import_module("hdbkit.api.experiments"), "launch", lambda *_: None)
    prepared = start_sweep(target, TINY)
    assert command("sweep", "lab", tiny, "--detach").code == 0
    first, *others = [comparable(path) for path in results.glob("experiments/2*")]
    assert others == [first, first]

    def ends_at_once(*_: object, stderr: int, **__: object) -> Process:
        process = subprocess.Popen(["sh", "-c", "echo no memory >&2"], stdin=subprocess.PIPE, stderr=stderr)
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        return process

    monkeypatch.setattr(programs, "start_program", ends_at_once)
    with pytest.raises(HdbkitError, match=r"ended before it began \(no memory\); correct the cause, then run"):
        launch(prepared.folder, [target])


def test_a_password_in_memory_reaches_the_process_and_no_command_line(built: PrivateServer) -> None:
    place, account = built.target, built.admin
    target = Target(
        kind=place.kind,
        host=place.host,
        port=place.port,
        database=place.database,
        user=account.user,
        password=SecretStr(password_of(account)),
        may_change_settings=True,
    )
    spec = SHORT.with_(settings={"synchronous_commit": ("off",)}, load=LIMITED)
    running = start_sweep(target, spec)
    line = Path(f"/proc/{pid_of(running)}/cmdline").read_bytes()
    done = running.wait()
    assert list(done.runs["status"]) == ["done"] * 2
    secret = password_of(account).encode()
    assert secret not in line
    assert [path for path in running.folder.root.rglob("*") if path.is_file() and secret in path.read_bytes()] == []
    assert hdbkit.connect(target).settings()["value"]["synchronous_commit"] == "on"
