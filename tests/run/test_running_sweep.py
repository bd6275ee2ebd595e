"""Detached sweeps: they survive the process that started them, and every process can read the journal."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

import hdbkit
from hdbkit.api import RunningSweep, attach_sweep, running_sweeps, start_sweep
from hdbkit.api.sweep_process import launch
from hdbkit.config import Load, SweepSpec, Target
from hdbkit.errors import ConfigErrors, InputError, SweepFailed
from hdbkit.results.sweep_folder import SweepFolder
from hdbkit.servers import PrivateServer
from hdbkit.sweep_runner import EventKind, SweepStatus
from tests.conftest import HdbkitCommand
from tests.run.conftest import NullTarget, password_of

SHORT = SweepSpec(
    name="speed",
    settings={"speed": ("1", "2")},
    virtual_users=(2,),
    blocks=2,
    load=Load(rampup_s=0.1, duration_s=0.5),
)
TINY = SHORT.with_(settings={"speed": ("1",)})
LONG = SHORT.with_(load=Load(rampup_s=0, duration_s=600))


@pytest.fixture(autouse=True)
def nothing_goes_on() -> Iterator[None]:
    """A test that fails leaves neither sweep nor run behind."""
    yield
    for sweep in running_sweeps():
        sweep.stop()
    for run_id in hdbkit.runs()["run_id"]:
        hdbkit.attach(run_id).stop(at_once=True)


@pytest.fixture
def target(null_target: NullTarget) -> Target:
    return null_target(latency_us=1000).with_(may_change_settings=True)


def speed(target: Target) -> str:
    """The setting that is swept, as the server has it now."""
    return str(hdbkit.connect(target).settings()["value"]["speed"])


def pid_of(running: RunningSweep) -> int:
    pid = running.folder.journal.state.executed_by
    assert pid is not None
    return pid


def until(true: Callable[[], Any]) -> None:
    deadline = time.monotonic() + 60
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def begun(running: RunningSweep) -> RunningSweep:
    """The sweep, as soon as its first run measures."""
    until(lambda: running.progress().run_id)
    until(lambda: hdbkit.runs()["status"].eq("measuring").any())
    return running


def change_plan(running: RunningSweep, change: Callable[[dict[str, Any]], None]) -> None:
    path = running.folder.path / "plan.json"
    plan = json.loads(path.read_text())
    change(plan)
    path.write_text(json.dumps(plan))


def test_a_sweep_of_its_own_process_ends_as_one_that_is_waited_for(target: Target) -> None:
    running = start_sweep(target, TINY)
    steps: list[EventKind] = []
    done = running.wait(lambda step: steps.append(step.kind))
    assert list(done.runs["status"]) == ["done"] * 2
    assert steps == [EventKind.SAVED, *[EventKind.STARTED, EventKind.FINISHED] * 2, EventKind.RESTORED]
    assert (running.progress().ended_runs, running.progress().left_s) == (2, 0)
    assert speed(target) == "1"
    assert done.folder.report.is_file()
    assert running_sweeps() == []


def test_the_progress_of_a_sweep_names_block_and_run(target: Target) -> None:
    started = begun(start_sweep(target, LONG))
    running = attach_sweep("last")
    now = running.progress()
    assert [one.sweep_id for one in running_sweeps()] == [started.sweep_id]
    assert (now.status, now.total, now.blocks, now.ended_runs) == (SweepStatus.RUNNING, 4, 2, 0)
    assert now.planned is not None
    assert (now.planned.number, now.planned.block) == (1, 1)
    assert now.run_id in set(hdbkit.runs()["run_id"])
    assert now.left_s > 1800


def test_a_stopped_sweep_puts_the_settings_back_and_can_be_resumed(target: Target) -> None:
    running = begun(start_sweep(target, LONG.with_(settings={"speed": ("2",)})))
    assert speed(target) == "2"
    running.stop()
    running.wait()
    assert running.status is SweepStatus.STOPPED
    assert speed(target) == "1"
    change_plan(running, lambda plan: plan["spec"]["load"].update(duration_s=0.5))
    resumed = start_sweep(resume_id=running.sweep_id, blocks=3)
    assert list(resumed.wait().runs["status"]) == ["done"] * 3
    assert resumed.status is SweepStatus.DONE


def test_a_sweep_continues_when_the_one_who_started_it_is_killed(target: Target) -> None:
    program = (
        "import os, sys; from hdbkit.api import *; from hdbkit.config import *; "
        "start_sweep(Target(**eval(sys.argv[1])), SweepSpec(**eval(sys.argv[2]))); os.kill(os.getpid(), 9)"
    )
    words = [str(one.model_dump(mode="json")) for one in (target, TINY)]
    ended = subprocess.run([sys.executable, "-c", program, *words], check=False)
    assert ended.returncode == -signal.SIGKILL
    assert list(attach_sweep().wait().runs["status"]) == ["done"] * 2


def test_a_killed_sweep_is_reported_as_such_and_the_next_one_puts_the_settings_back(target: Target) -> None:
    running = begun(start_sweep(target, LONG))
    os.kill(pid_of(running), signal.SIGKILL)
    with pytest.raises(SweepFailed, match=f"its process was killed; .*hdbkit sweep --resume {running.sweep_id}"):
        running.wait()
    assert running.status is SweepStatus.KILLED
    assert running_sweeps() == []
    hdbkit.attach().stop()  # its run goes on by itself
    start_sweep(target, TINY).wait()
    assert running.folder.journal.state.changed is False
    assert speed(target) == "1"


def test_a_process_that_the_journal_cannot_name_does_not_begin(target: Target, results: Path) -> None:
    folder = SweepFolder(results / "sweeps" / "unnamed")
    (folder.path / "journal.ndjson").mkdir(parents=True)
    with pytest.raises(IsADirectoryError):
        launch(folder, target)
    assert not [one for one in Path("/proc").glob("[0-9]*") if str(folder.path).encode() in command_line(one)]


def command_line(process: Path) -> bytes:
    try:
        return (process / "cmdline").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return b""


def test_what_breaks_a_sweep_down_is_reported_in_its_sentence(target: Target) -> None:
    running = begun(start_sweep(target, LONG))
    running.stop()
    running.wait()
    change_plan(running, lambda plan: plan["target"].update(database="gone"))
    with pytest.raises(SweepFailed, match=f"{running.sweep_id} failed: .* hdbkit build"):
        start_sweep(resume_id=running.sweep_id).wait()
    assert running.status is SweepStatus.FAILED
    assert speed(target) == "1"


def test_errors_are_reported_before_a_process_or_a_folder_is_made(target: Target, results: Path) -> None:
    with pytest.raises(ConfigErrors, match="Did you mean 'speed'"):
        start_sweep(target, SHORT.with_(settings={"sped": ("1", "2")}))
    with pytest.raises(InputError, match="may_change_settings: true"):
        start_sweep(target.with_(may_change_settings=False), SHORT)
    assert not list(results.glob("sweeps/2*"))


def test_a_server_is_swept_by_one_at_a_time_and_a_sweep_by_one_process(target: Target) -> None:
    running = begun(start_sweep(target, LONG))
    with pytest.raises(InputError, match="another sweep is running"):
        start_sweep(target, SHORT)
    with pytest.raises(InputError, match="is already running"):
        start_sweep(resume_id=running.sweep_id)


def test_of_two_that_resume_a_sweep_at_once_one_is_refused_and_the_other_does_it(target: Target) -> None:
    running = begun(start_sweep(target, LONG))
    running.stop()
    running.wait()
    change_plan(running, lambda plan: plan["spec"]["load"].update(duration_s=0.5))
    with ThreadPoolExecutor(2) as both:
        asked = [both.submit(start_sweep, target, resume_id=running.sweep_id) for _ in range(2)]
    (refused,) = [str(one.exception()) for one in asked if one.exception()]
    assert "is already running" in refused
    assert attach_sweep(running.sweep_id).wait().failed == 0


def test_a_sweep_of_the_terminal_is_seen_and_stopped_from_elsewhere(
    target: Target, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: HdbkitCommand
) -> None:
    named(target, tmp_path, monkeypatch)
    words = [sys.executable, "-c", "from hdbkit.cli import main; main()", "sweep", "lab"]
    program = subprocess.Popen([*words, str(tmp_path / "long.json"), "--json"], stdout=subprocess.PIPE)
    until(running_sweeps)
    begun(attach_sweep())
    assert command("stop").code == 0
    program.communicate(timeout=60)
    assert program.returncode == 130
    assert speed(target) == "1"


def named(target: Target, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The target as ``lab``, and files of both sweeps."""
    (folder / "targets.yaml").write_text(json.dumps({"lab": target.model_dump(mode="json", exclude_defaults=True)}))
    monkeypatch.setenv("HDBKIT_TARGETS", str(folder / "targets.yaml"))
    for name, spec in (("tiny", TINY), ("long", LONG)):
        (folder / f"{name}.json").write_text(spec.model_dump_json())


def test_the_command_line_starts_a_sweep_and_attaches_to_it(
    target: Target, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: HdbkitCommand
) -> None:
    named(target, tmp_path, monkeypatch)
    sweep_id = command("sweep", "lab", tmp_path / "tiny.json", "--detach", "--json").json["sweep_id"]
    said = command("attach", sweep_id)
    assert "run   2 of 2" in said.err
    assert "the server's settings are restored" in said.err
    assert "report.html" in said.out


def comparable(sweep: Path) -> dict[str, Any]:
    """A sweep's plan without its id and the name under which its target was given."""
    plan: dict[str, Any] = json.loads((sweep / "plan.json").read_text())
    plan.pop("sweep_id")
    plan["target"].pop("name")
    return plan


def test_the_same_sweep_has_the_same_plan_from_api_process_and_command_line(
    target: Target, tmp_path: Path, results: Path, monkeypatch: pytest.MonkeyPatch, command: HdbkitCommand
) -> None:
    named(target, tmp_path, monkeypatch)
    hdbkit.sweep(target, TINY)
    for start in (
        lambda: start_sweep(target, TINY),
        lambda: command("sweep", "lab", tmp_path / "tiny.json", "--detach"),
    ):
        start()
        attach_sweep().stop()
        attach_sweep().wait()
    first, *others = [comparable(path) for path in results.glob("sweeps/2*")]
    assert others == [first, first]


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
    spec = SHORT.with_(settings={"synchronous_commit": ("off",)}, load=Load(rampup_s=0.2, duration_s=1))
    running = start_sweep(target, spec)
    line = Path(f"/proc/{pid_of(running)}/cmdline").read_bytes()
    done = running.wait()
    assert list(done.runs["status"]) == ["done"] * 2
    secret = password_of(account).encode()
    assert secret not in line
    assert [path for path in running.folder.root.rglob("*") if path.is_file() and secret in path.read_bytes()] == []
    assert hdbkit.connect(target).settings()["value"]["synchronous_commit"] == "on"
