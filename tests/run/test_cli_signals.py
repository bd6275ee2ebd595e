"""Ctrl-C, a closed terminal and a killed supervisor in a user's processes, on the null engine."""

from __future__ import annotations

import json
import os
import pty
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import hdbkit
from hdbkit.api import Running
from hdbkit.errors import InputError
from hdbkit.programs import start_program
from hdbkit.results.manifest import Status
from tests.conftest import HdbkitCommand
from tests.run.conftest import NullTarget

PROGRAM = [sys.executable, "-c", "from hdbkit.cli import main; main()"]
LONG = ["-u", "2", "--rampup-s", "0", "--duration-s", "600"]


@pytest.fixture(autouse=True)
def nothing_goes_on() -> Iterator[None]:
    """A test that fails leaves no run behind."""
    yield
    for run_id in hdbkit.runs()["run_id"]:
        running = hdbkit.attach(run_id)
        running.stop(at_once=True)


class Program:
    """The command line in a process group of its own, as a shell starts it."""

    def __init__(self, *words: str) -> None:
        reads, writes = zip(os.pipe(), os.pipe(), strict=True)
        self._process = start_program("hdbkit.cli", *words, stdout=writes[0], stderr=writes[1], starts_programs=True)
        for one in writes:
            os.close(one)
        self.out, self.err = (os.fdopen(one) for one in reads)
        self.pid = self._process.pid

    def ended(self) -> tuple[int, str, str]:
        """The exit code, and the rest of both outputs."""
        with self.out, self.err:
            return self._process.wait(180), self.out.read(), self.err.read()


def measuring() -> Running:
    """The only run, as soon as its window is open."""
    deadline = time.monotonic() + 180
    while time.monotonic() < deadline:
        try:
            running = hdbkit.attach()
        except InputError:
            pass
        else:
            if running.status is Status.MEASURING:
                time.sleep(0.3)  # some transactions
                return running
        time.sleep(0.02)
    raise AssertionError("the run has not begun to measure")


def supervisor_pid(running: Running) -> int:
    pid = running.manifest.supervisor_pid
    assert pid is not None
    return pid


def interrupt(program: Program) -> None:
    """Ctrl-C: the terminal's driver tells the whole group."""
    os.killpg(program.pid, signal.SIGINT)


def test_an_interrupt_of_run_closes_the_window_and_keeps_the_result(null_target: NullTarget) -> None:
    program = Program("run", null_target(latency_us=1000).url, *LONG, "--json")
    measuring()
    interrupt(program)
    code, out, _ = program.ended()
    assert code == 130
    reported = json.loads(out)
    assert reported["status"] == "stopped"
    assert reported["result"]["metric_value"] > 0


def test_an_interrupt_of_find_max_says_how_to_continue(null_target: NullTarget) -> None:
    search = Program("find-max", null_target(latency_us=1000).url, "--limit", "p95=50ms", *LONG)
    running = measuring()
    os.kill(search.pid, signal.SIGINT)
    code, _, said = search.ended()
    assert code == 130
    assert "to continue: hdbkit resume" in " ".join(said.split())
    assert said.endswith("hdbkit: stopped; finished work is kept\n")
    assert running.status is Status.STOPPED


def test_a_second_interrupt_does_not_wait_for_the_clients(null_target: NullTarget) -> None:
    program = Program("run", null_target(latency_us=3_600_000_000).url, *LONG, "--json")
    running = measuring()
    interrupt(program)
    time.sleep(1)  # the first is being obeyed: the clients, each in a call of an hour, are waited for
    assert running.status is not Status.STOPPED
    interrupt(program)
    code, out, _ = program.ended()
    assert code == 130
    assert json.loads(out)["status"] == "stopped"
    assert set(hdbkit.attach().wait().table("clients")["ended"]) == {"killed"}


@pytest.mark.skipif(not shutil.which("setsid"), reason="needs the program setsid")
def test_a_run_continues_when_its_terminal_is_closed_and_sigterm_ends_it_gracefully(null_target: NullTarget) -> None:
    ours, theirs = pty.openpty()
    words = ["setsid", "--ctty", "--wait", *PROGRAM, "run", null_target(latency_us=1000).url, *LONG]
    program = subprocess.Popen(words, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    running = measuring()
    os.close(ours)
    program.wait(timeout=180)
    assert program.returncode != 0
    time.sleep(0.5)
    assert running.status is Status.MEASURING
    os.kill(supervisor_pid(running), signal.SIGTERM)
    result = running.wait()
    assert result.manifest.status is Status.STOPPED
    assert result.metric_value


@pytest.mark.parametrize("verb", ["run", "attach"])
def test_sigterm_to_the_watcher_says_that_the_run_continues(
    null_target: NullTarget, command: HdbkitCommand, verb: str
) -> None:
    url = null_target(latency_us=1000).url
    if verb == "attach":
        command("run", url, *LONG, "--detach")
        running = measuring()
        program = Program("attach", running.run_id)
        program.err.readline()  # the first line of the run
    else:
        program = Program("run", url, *LONG)
        running = measuring()
    os.kill(program.pid, signal.SIGTERM)
    code, _, err = program.ended()
    assert code == 143
    assert f"{running.run_id} continues. Watch it with: hdbkit attach {running.run_id}; stop it with:" in err
    assert running.status is Status.MEASURING


def test_an_interrupt_of_attach_detaches_and_the_run_continues(
    null_target: NullTarget, command: HdbkitCommand
) -> None:
    command("run", null_target(latency_us=1000).url, *LONG, "--detach")
    running = measuring()
    program = Program("attach", running.run_id)
    line = program.err.readline()  # the first line of the run, after some seconds
    assert "NOPM" in line
    interrupt(program)
    code, _, err = program.ended()
    assert code == 130
    assert f"detached; {running.run_id} continues. " in err
    assert f"stop it with: hdbkit stop {running.run_id}" in err
    assert running.status is Status.MEASURING
    said = command("stop", running.run_id, "--json")
    assert said.code == 0
    assert said.json["status"] == "stopped"
    assert command("stop", running.run_id).code == 2


def test_a_run_whose_supervisor_was_killed_is_reported_everywhere_and_recovered_or_removed(
    null_target: NullTarget, command: HdbkitCommand, results: Path, tmp_path: Path
) -> None:
    command("run", null_target(latency_us=1000).url, *LONG, "--detach")
    running = measuring()
    for words in (("recover", running.run_id), ("runs", "rm", running.run_id, "--yes")):
        said = command(*words)
        assert (said.code, "is still running; stop it first" in said.err) == (2, True)
    os.kill(supervisor_pid(running), signal.SIGKILL)
    said = command("attach", running.run_id)
    assert (said.code, "its supervisor died" in said.err) == (3, True)
    for verb, code in (("attach", 3), ("stop", 2)):
        said = command(verb, running.run_id)
        assert (said.code, f"run: hdbkit recover {running.run_id}" in said.err) == (code, True)
    assert command("runs", "list", "--json").json[0]["status"] == "abandoned"
    folder, kept = results / running.run_id, tmp_path / "kept"
    shutil.copytree(folder, kept)
    said = command("recover", running.run_id, "--json")
    assert said.code == 0
    assert said.json["status"] == "stopped"
    assert hdbkit.attach(running.run_id).wait().table("seconds")["committed"].sum() > 0
    said = command("recover", running.run_id)
    assert (said.code, "there is nothing to recover" in said.err) == (2, True)
    shutil.rmtree(folder)
    kept.rename(folder)
    shutil.rmtree(folder / "spools")
    said = command("recover", running.run_id)
    assert (said.code, f"remove it with: hdbkit runs rm {running.run_id}" in said.err) == (2, True)
    assert command("runs", "rm", running.run_id, "--yes").code == 0
    assert not folder.exists()


@pytest.mark.parametrize("by", ["stop", signal.SIGHUP, signal.SIGTERM])
def test_a_sweep_of_the_terminal_that_is_asked_to_end_puts_the_settings_back(
    null_target: NullTarget,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    command: HdbkitCommand,
    by: signal.Signals | str,
) -> None:
    """By ``hdbkit stop`` in another terminal, which interrupts it as Ctrl-C does, or by a signal."""
    target = null_target(latency_us=1000).with_(may_change_settings=True)
    targets, spec = tmp_path / "targets.yaml", tmp_path / "sweep.json"
    targets.write_text(json.dumps({"lab": target.model_dump(mode="json", exclude_defaults=True)}))
    spec.write_text('{"speed": [2, 4]}')
    monkeypatch.setenv("HDBKIT_TARGETS", str(targets))
    program = Program("sweep", "lab", str(spec), "-u", "2", "--rampup-s", "0", "--duration-s", "600")
    measuring()
    assert hdbkit.connect("lab").settings()["value"]["speed"] in ("2", "4")
    if isinstance(by, signal.Signals):
        os.kill(program.pid, by)
    else:
        assert command(by).code == 0
    assert program.ended()[0] == 130
    assert hdbkit.connect("lab").settings()["value"]["speed"] == "1"
