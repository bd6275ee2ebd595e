"""Programs start in new interpreters first, and then as forks of a warm host with all that was asked for."""

from __future__ import annotations

import json
import os
import resource
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import pytest

from hdbkit import programs
from hdbkit.processes import is_alive
from hdbkit.programs import DEVNULL, PIPE, Process, start_program


def _limits() -> str:
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return f"{programs._umask():o} {os.getpriority(os.PRIO_PROCESS, 0)} {len(os.sched_getaffinity(0))} {files}"


def main() -> None:
    """The program of these tests: report what it has and read its input to the end."""
    word, number = sys.argv[1:]
    read = sys.stdin.buffer.read()
    held = signal.SIGUSR1 in signal.pthread_sigmask(signal.SIG_BLOCK, [])
    text = f"{word} {os.environ.get('ANSWER')} {Path.cwd()} {os.getsid(0) == os.getpid()} {held} {read!r} {_limits()}"
    os.write(int(number), text.encode())
    if word == "fails":
        raise SystemExit(7)
    if word == "asks":  # and is gone before it reads the answer
        asks = programs._host.connection
        assert asks is not None
        socket.send_fds(
            asks,
            [json.dumps(asdict(programs._Request("no.such", (), {}, "/", (), 0, 0, (0, 0), (), False))).encode()],
            [1],
        )
        select.select([asks], [], [])
    if word == "waits":
        time.sleep(600)


@pytest.fixture
def own_host(monkeypatch: pytest.MonkeyPatch) -> Iterator[programs._Host]:
    """A host of this test alone."""
    host = programs._Host()
    monkeypatch.setattr(programs, "_host", host)
    yield host
    host.forget()


def started(word: str, given: bytes = b"", *, starts_programs: bool = False) -> tuple[Process, str]:
    ours, theirs = os.pipe()
    process = start_program(
        "tests.unit.test_programs", word, str(theirs), environment={**os.environ, "ANSWER": "42"},
        stdin=PIPE, stdout=DEVNULL, stderr=DEVNULL, pass_fds=[theirs],
        starts_programs=starts_programs,
    )  # fmt: skip
    os.close(theirs)
    assert process.stdin is not None
    process.stdin.write(given)
    process.stdin.close()
    with os.fdopen(ours, "rb", buffering=0) as file:
        return process, file.read(4096).decode()


def test_the_second_program_is_a_fork_with_all_that_a_new_interpreter_has(
    own_host: programs._Host, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
    umask, processors = os.umask(0o027), os.sched_getaffinity(0)
    limit, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        first, answer = started("ends", b"words")
        resource.setrlimit(resource.RLIMIT_NOFILE, (open_files(os.getpid()) + 60, most))
        started("ends", b"words")[0].wait(60)  # the host has what this process has now
        few = open_files(os.getpid()) + 90
        resource.setrlimit(resource.RLIMIT_NOFILE, (few, most))
        os.umask(0o077)
        os.sched_setaffinity(0, {min(processors)})
        second, again = started("ends", b"words")
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, most))
        os.sched_setaffinity(0, processors)
        os.umask(umask)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    assert isinstance(first, subprocess.Popen)
    assert isinstance(second, programs._Fork)
    nice = os.getpriority(os.PRIO_PROCESS, 0)
    common = f"ends 42 {tmp_path} True True b'words'"
    assert (answer, again) == (f"{common} 27 {nice} {len(processors)} {limit}", f"{common} 77 {nice} 1 {few}")
    assert (first.wait(60), second.wait(60)) == (0, 0)


def test_a_fork_reports_its_exit_code_its_command_line_and_that_it_was_killed(own_host: programs._Host) -> None:
    own_host.take(programs.started_host())
    failed, _ = started("fails")
    assert failed.wait(60) == 7
    waiting, _ = started("waits")
    assert waiting.poll() is None
    assert b"waits" in Path(f"/proc/{waiting.pid}/cmdline").read_bytes()
    with pytest.raises(subprocess.TimeoutExpired):
        waiting.wait(0.01)
    waiting.kill()
    assert waiting.wait(60) == -signal.SIGKILL


def test_a_host_that_is_a_fork_of_the_command_line_has_nothing_of_it_but_its_modules() -> None:
    program = """
import atexit, os, signal, sys
from pathlib import Path
from hdbkit import programs
from tests.unit.test_programs import open_files, started
atexit.register(print, "twice?")
signal.signal(signal.SIGTERM, lambda *_: None)
sys.stdout.write("once ")
kept = open(os.devnull)
programs.fork_host(serves_one=False)
process, answer = started("waits")
line = Path(f"/proc/{process.pid}/cmdline").read_bytes()
files = open_files(process.pid)
process.kill()
failed = started("fails")[0].wait(60)
print(type(process).__name__, answer.split()[:2], b"from tests.unit" in line, files, failed, process.wait(60))
programs.fork_host(serves_one=True)
last, _ = started("waits")
print("both hosts ended:", os.wait()[1], os.wait()[1], last.poll(), programs._host.connection)
last.kill()
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, check=True, text=True, env={}, timeout=60
    )
    assert done.stdout == "once _Fork ['waits', '42'] True 5 7 -9\nboth hosts ended: 0 0 None None\ntwice?\n", (
        done.stderr
    )


def test_a_host_that_is_forked_later_has_what_was_imported_until_then_and_no_handler_of_a_signal() -> None:
    program = """
import os, signal, threading, time
from hdbkit import processes, programs
from tests.unit.test_programs import started
signal.signal(signal.SIGTERM, lambda *_: None)
programs.fork_host_later()
print("hosts so far:", len(processes.children_of(os.getpid())))
threading.Thread(target=time.sleep, args=[0.1]).start()  # it ends in time
waits, _ = started("waits")
os.kill(waits.pid, signal.SIGTERM)
print(type(waits).__name__, waits.wait(60), "the host ended:", os.wait()[1], programs._host.connection)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, check=True, text=True, env={}, timeout=60
    )
    assert done.stdout == "hosts so far: 0\n_Fork -9 the host ended: 0 None\n", done.stderr


def open_files(pid: int) -> int:
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))


def test_a_program_starts_in_a_new_interpreter_where_the_host_has_ended(own_host: programs._Host) -> None:
    own_host.take(programs.started_host())
    fork, _ = started("ends")
    assert isinstance(fork, programs._Fork)
    assert own_host.connection is not None
    own_host.connection.shutdown(2)
    process, answer = started("ends")
    assert isinstance(process, subprocess.Popen)
    assert answer.startswith("ends 42")
    process.wait(60)


def host_of(fork: Process) -> int:
    return int(Path(f"/proc/{fork.pid}/stat").read_text().rpartition(")")[2].split()[1])


def has_ended(pid: int) -> bool:
    deadline = time.monotonic() + 60
    while is_alive(pid) and time.monotonic() < deadline:
        time.sleep(0.01)
    return not is_alive(pid)


def test_a_host_ends_when_nobody_can_ask_it(own_host: programs._Host) -> None:
    own_host.take(programs.started_host())
    fork, _ = started("waits")
    parent = host_of(fork)
    own_host.forget()
    assert has_ended(parent)
    assert fork.poll() is None
    fork.kill()
    fork.wait(60)


def test_a_host_ends_with_the_last_fork_that_can_ask_it(own_host: programs._Host) -> None:
    own_host.take(programs.started_host())
    fork, _ = started("waits", starts_programs=True)
    parent = host_of(fork)
    own_host.forget()
    fork.kill()
    fork.wait(60)
    assert has_ended(parent)


def test_a_host_survives_a_process_that_was_killed_while_it_asked(own_host: programs._Host) -> None:
    own_host.take(programs.started_host())
    before, _ = started("waits")
    asking, _ = started("asks", starts_programs=True)
    assert asking.wait(60) == 0
    after, _ = started("waits")
    assert host_of(after) == host_of(before)
    for one in (before, after):
        one.kill()
        one.wait(60)
