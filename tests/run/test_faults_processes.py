"""Processes that are killed, hang, or are interrupted, on the null engine."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator

import psutil
import pytest

import hdbkit
from hdbkit.api import Running
from hdbkit.api import result as result_of
from hdbkit.config import Load
from hdbkit.errors import RunFailed
from hdbkit.execution import handle
from hdbkit.files import read_lines
from hdbkit.results.columns import COUNTED
from hdbkit.results.manifest import Status
from hdbkit.results.spool import SpoolReader, spool_path
from tests.conftest import HdbkitCommand
from tests.run.conftest import NullTarget
from tests.run.faults import client_pids, folder_of, gone, log_of, rows, supervisor_of, until, wait_for

SOME = Load(virtual_users=4, rampup_s=0.2, duration_s=3, counter_interval_s=0.2)
LONG = SOME.model_copy(update={"duration_s": 600})


@pytest.fixture(autouse=True)
def nothing_goes_on() -> Iterator[None]:
    """A test that fails leaves no run behind."""
    yield
    for run_id in hdbkit.runs()["run_id"]:
        hdbkit.attach(run_id).stop(at_once=True)


def measuring(null_target: NullTarget, load: Load, **options: object) -> Running:
    running = hdbkit.start(null_target(latency_us=1000, **options), load=load)
    wait_for(running, Status.MEASURING)
    time.sleep(0.5)
    until(lambda: is_counted(running), "a count lies in the window")
    return running


def is_counted(running: Running) -> bool:
    """Whether the schema's count was read after the start of the window."""
    lines = [row for row in read_lines(folder_of(running).spools / "counters.ndjson") if row["name"] == COUNTED]
    starts = [row["returned_ns"] for row in lines if row["edge"] == "start"]
    return bool(starts) and any(not row["edge"] and row["sent_ns"] > starts[0] for row in lines)


def finished_by(running: Running, client: int) -> int:
    """How many operations a client has in its spool."""
    reader = SpoolReader(spool_path(folder_of(running).spools, client))
    count = reader.read().size
    reader.close()
    return int(count)


def test_a_killed_client_is_reported_and_what_it_finished_is_kept(null_target: NullTarget) -> None:
    running = measuring(null_target, SOME)
    victim = psutil.Process(client_pids(running)[2])
    victim.kill()
    until(lambda: gone([victim]), "the client is dead")
    finished = finished_by(running, 2)
    result = running.wait()
    assert result.manifest.status is Status.DONE
    kept = dict(rows(result, "select virtual_user, count(*) from {t} group by 1"))
    assert kept[2] == finished > 10
    assert min(kept[0], kept[1], kept[3]) > kept[2]
    assert result.summary.clients_lost == 1
    assert list(result.table("clients").set_index("client")["ended"]) == ["done", "done", "killed", "done"]
    assert {"event": "client lost", "client": 2}.items() <= log_of(running)[0].items()
    checks = result.checks.set_index("name")
    assert not checks.loc["clients ended as planned", "passed"]
    assert checks.loc["schema's count bracketed by the clients", "passed"]


def test_a_run_whose_clients_are_all_killed_ends_in_a_sentence(null_target: NullTarget) -> None:
    running = measuring(null_target, LONG)
    for pid in client_pids(running):
        os.kill(pid, signal.SIGKILL)
    with pytest.raises(RunFailed, match="all clients were killed; finished work is kept"):
        running.wait()
    assert rows(folder_of(running), "select count(distinct virtual_user) from {t}") == [(4,)]


@pytest.mark.alone
def test_a_killed_supervisor_takes_all_its_processes_with_it(null_target: NullTarget, command: HdbkitCommand) -> None:
    running = measuring(null_target, LONG)
    supervisor = supervisor_of(running)
    family = [supervisor, *supervisor.children(recursive=True)]
    assert set(client_pids(running)) < {one.pid for one in family}
    supervisor.kill()
    until(lambda: gone(family), "all its processes are gone", timeout_s=10)
    until(lambda: running.status is Status.ABANDONED, "the kernel has ended its last thread")
    finished = {user: finished_by(running, user) for user in range(4)}
    assert command("recover", running.run_id).code == 1  # as of a run: its clients did not end as planned
    result = result_of(running.run_id)
    assert result.manifest.status is Status.STOPPED
    assert result.manifest.history[-1].note == "recovered: its supervisor had died"
    assert dict(rows(result, "select virtual_user, count(*) from {t} group by 1")) == finished
    assert result.metric_value
    assert result.checks.set_index("name").loc["schema's count bracketed by the clients", "passed"]
    assert result.report().is_file()
    assert not folder_of(running).spools.exists()


def test_a_run_stays_abandoned_after_a_reboot_and_its_recovery_can_be_killed_and_repeated(
    null_target: NullTarget,
) -> None:
    """After a reboot the supervisor's process id may be that of another process."""
    running = measuring(null_target, LONG)
    supervisor_of(running).kill()
    until(lambda: running.status is Status.ABANDONED, "it is abandoned")
    folder = folder_of(running)
    folder.write(folder.read().model_copy(update={"supervisor_pid": os.getpid()}))
    assert hdbkit.attach(running.run_id).status is Status.ABANDONED
    half = f"""
import os, signal
from hdbkit.execution import finish
finish.summarize = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
import hdbkit
hdbkit.attach({running.run_id!r}).recover()
"""
    assert subprocess.run([sys.executable, "-c", half], check=False).returncode == -signal.SIGKILL
    result = running.recover()
    assert result.metric_value
    assert result.checks["name"].is_unique


def test_a_supervisor_that_died_before_it_noted_anything_is_known_at_once(
    null_target: NullTarget, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = subprocess.Popen(["true"])
    monkeypatch.setattr(handle, "start_program", lambda *_, **__: ended)
    running = hdbkit.start(null_target())
    running._handle._process.wait()
    again = hdbkit.attach(running.run_id)
    assert again.status is Status.ABANDONED
    again.recover()
    assert again.status is Status.STOPPED


def test_a_client_that_hangs_is_ended_and_reported(null_target: NullTarget) -> None:
    running = measuring(null_target, SOME)
    os.kill(client_pids(running)[0], signal.SIGSTOP)
    result = running.wait()  # SIGKILL ends a stopped process too
    assert result.manifest.status is Status.DONE
    assert dict(result.table("clients").set_index("client")["ended"])[0] == "killed"
    assert [line["client"] for line in log_of(running) if line["event"] == "client killed at the end"] == [0]
    assert rows(result, "select count(*) > 10 from {t} where virtual_user = 0") == [(True,)]


def test_clients_whose_transactions_all_fail_rest_between_them(null_target: NullTarget) -> None:
    target = null_target(error_rate=1, error_class="resources")
    with pytest.raises(RunFailed, match="no transaction was completed"):
        hdbkit.run(target, load=SOME)
    counts = dict(rows(hdbkit.result(), "select virtual_user, count(*) from {t} where outcome = 2 group by 1"))
    assert len(counts) == 4
    assert max(counts.values()) < 75  # without a rest they would be tens of thousands


def test_an_interrupted_kernel_stops_the_run_and_has_its_result(null_target: NullTarget) -> None:
    script = f"""
import hdbkit
result = hdbkit.run({null_target(latency_us=1000).url!r}, load=hdbkit.Load(rampup_s=0, duration_s=600))
print(result.manifest.status.value, result.metric_value > 0)
"""
    kernel = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    until(lambda: len(hdbkit.runs()) == 1, "the run begins")
    wait_for(hdbkit.attach(), Status.MEASURING)
    time.sleep(0.5)
    kernel.send_signal(signal.SIGINT)
    out, _ = kernel.communicate(timeout=180)
    assert out == "stopped True\n"


def test_a_client_whose_supervisor_has_ended_already_ends_at_once() -> None:
    ended = subprocess.Popen(["true"])
    ended.wait()
    program = (
        "import os\n"
        "from hdbkit.execution.client import client_main\n"
        "child = os.fork()\n"
        "if not child:\n"
        f"    client_main(None, None, None, {ended.pid})\n"
        "assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=180, check=False)
    assert (done.returncode, done.stderr) == (0, "")
