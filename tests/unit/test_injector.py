"""The process that causes faults, without a server: what its handle reports, and what it does with signals."""

from __future__ import annotations

import asyncio
import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from hdbkit.config import Target
from hdbkit.config.fault import Faults
from hdbkit.errors import HdbkitError
from hdbkit.faults import injector
from hdbkit.faults.actions import FaultAction
from hdbkit.faults.injector import Injector
from tests.run.faults import until

NULL = Target.parse("nulldb:///x")
SERVER = Target.parse("postgresql://bench@127.0.0.1:9/x")


@pytest.fixture
def client() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(["sleep", "600"]) as process:
        yield process
        process.kill()


@pytest.mark.parametrize(
    ("program", "listening_s", "reason"),
    [("", 60.0, "ended before it answered"), ("import time; time.sleep(60)", 0.2, "did not answer within 0.2 s")],
)
def test_a_process_that_does_not_answer_is_an_error_and_is_ended(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, program: str, listening_s: float, reason: str
) -> None:
    started: list[subprocess.Popen[bytes]] = []

    def start(_: str, *, stdin: int, pass_fds: Sequence[int]) -> subprocess.Popen[bytes]:
        started.append(subprocess.Popen([sys.executable, "-c", program], stdin=stdin, pass_fds=pass_fds))
        return started[-1]

    monkeypatch.setattr(injector, "start_program", start)
    monkeypatch.setattr(injector, "_LISTENING_S", listening_s)
    with pytest.raises(HdbkitError, match=f"the process that causes the faults {reason}, so nothing was measured"):
        Injector(NULL, Faults.parse("cut network at 1 s for 1 s").each, 1, tmp_path, tmp_path / "notes")
    assert started[0].returncode is not None


def test_times_that_a_full_disk_did_not_take_are_reported(tmp_path: Path, client: subprocess.Popen[bytes]) -> None:
    own = Injector(NULL, Faults.parse("kill client at 0 s").each, 1, tmp_path, tmp_path / "notes")
    resource.prlimit(own.pid, resource.RLIMIT_FSIZE, (0, 0))
    own.begin(time.monotonic_ns(), [client.pid])
    until(own.over, "the fault is over")
    assert client.wait() == -signal.SIGKILL
    assert own.close() == ["4 times of faults could not be written, since the disk was full"]
    assert own.close() == []


def test_a_signal_ends_the_faults_and_not_the_process(tmp_path: Path, client: subprocess.Popen[bytes]) -> None:
    own = Injector(
        SERVER, Faults.parse("kill client at 600 s; reset network at 9 s").each, 1, tmp_path, tmp_path / "notes"
    )
    own.begin(time.monotonic_ns(), [client.pid])
    assert own.target.port not in (None, SERVER.port)
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
        os.kill(own.pid, number)
    until(own.over, "the faults are over")
    assert not own.ended
    assert own.close() == []
    assert own.ended
    assert client.poll() is None


def test_no_note_is_written_while_a_disk_is_frozen(tmp_path: Path) -> None:
    """What waits for it could not thaw it."""
    notes, when_undone = tmp_path / "notes", list[list[str]]()

    def events() -> list[str]:
        return [json.loads(line)["event"] for line in notes.read_text().splitlines()]

    (fault,) = Faults.parse("pause disk at 0 s for 0.01 s").each
    supervisor: Any = None
    run = injector._Run(supervisor, injector.InjectorOrders(NULL, (fault,), 1, tmp_path, notes))
    asyncio.run(run._begin_and_end(0, fault, FaultAction(lambda: None, lambda: when_undone.append(events()))))
    run._notes.close()
    assert when_undone == [["begin"]]
    assert events() == ["begin", "effective", "undo", "end"]
