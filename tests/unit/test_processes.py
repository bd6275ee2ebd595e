"""Reading the state of processes at any moment of their lives."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing
from itertools import islice
from pathlib import Path

import pytest

from hdbkit.processes import birth_of, is_alive, is_leaving, runs_as_long
from hdbkit.servers import _guard

AGAIN = '[ "$1" -eq 0 ] && exec sleep 60; exec sh "$0" $(($1 - 1)) "$2"'
"""A shell that replaces its program by itself, again and again."""
TIMES = 500


@pytest.fixture
def changing(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process that replaces its program many hundred times."""
    script = tmp_path / "again"
    script.write_text(AGAIN)
    with subprocess.Popen(["sh", str(script), str(TIMES), "the-word"]) as process:
        yield process
        process.kill()


def program_of(pid: int) -> bytes:
    return Path(f"/proc/{pid}/cmdline").read_bytes()


def test_a_process_that_replaces_its_program_is_alive(changing: subprocess.Popen[bytes]) -> None:
    looks = 0
    while not program_of(changing.pid).startswith(b"sleep"):
        assert is_alive(changing.pid, "the-word") or program_of(changing.pid).startswith(b"sleep")
        looks += 1
    assert looks > TIMES / 10


@pytest.fixture
def cats() -> Iterator[Iterator[subprocess.Popen[bytes]]]:
    """Processes that end when their input does, one after the other; each has its program when it is handed out."""

    def made() -> Iterator[subprocess.Popen[bytes]]:
        while True:
            with subprocess.Popen(["cat", "/dev/stdin"], stdin=subprocess.PIPE) as process:
                while not program_of(process.pid):
                    time.sleep(0.001)
                yield process
                process.kill()

    with closing(made()) as processes:
        yield processes


def end(process: subprocess.Popen[bytes]) -> None:
    assert process.stdin is not None
    process.stdin.close()


def test_a_process_that_is_ending_is_alive(cats: Iterator[subprocess.Popen[bytes]]) -> None:
    for process in islice(cats, 200):
        end(process)
        while is_alive(process.pid, "stdin"):
            pass
        assert process.poll() == 0, "it was still ending"
        assert not is_alive(process.pid)


def test_a_server_has_ended_when_its_files_are_closed(cats: Iterator[subprocess.Popen[bytes]]) -> None:
    for process in islice(cats, 200):
        end(process)
        while program_of(process.pid):
            pass
        while _guard.is_ending(process.pid):
            assert is_leaving(process.pid)
        assert process.poll() == 0, "its files may still be open"
        assert not is_leaving(process.pid)


def test_the_argument_identifies_a_process_whose_id_was_reused(cats: Iterator[subprocess.Popen[bytes]]) -> None:
    process = next(cats)
    assert is_alive(process.pid)
    assert is_alive(process.pid, "stdin")
    assert not is_alive(process.pid, "run-of-another-day")
    assert not is_leaving(process.pid)
    end(process)
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)  # a zombie
    assert not is_alive(process.pid)
    assert is_leaving(process.pid)
    assert not _guard.is_ending(process.pid)


def test_the_birth_of_a_process_is_its_own_until_it_ends(cats: Iterator[subprocess.Popen[bytes]]) -> None:
    process = next(cats)
    assert birth_of(process.pid) == birth_of(process.pid)
    assert birth_of(process.pid) not in ("", birth_of(os.getpid()))
    end(process)
    process.wait()
    assert birth_of(process.pid) == ""


def test_a_process_is_known_by_how_long_it_runs() -> None:
    process = subprocess.Popen(["sleep", "60"])
    try:
        assert runs_as_long(process.pid, 0)
        assert not runs_as_long(process.pid, 3600)
    finally:
        process.kill()
        process.wait()
    assert not runs_as_long(process.pid, 0)
