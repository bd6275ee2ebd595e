"""What faults of the server do, on processes and commands that need no server."""

from __future__ import annotations

import os
import subprocess
import threading
import time
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from hdbkit.config import Commands, ControlSpec, Load, Target
from hdbkit.config.fault import Fault
from hdbkit.contracts import SessionOptions
from hdbkit.errors import (
    CannotConnect,
    ErrorClass,
    HdbkitError,
    InputError,
    NoneFree,
    NothingListens,
    NotReady,
    Rejected,
    RunFailed,
    ServerFailed,
    TransactionError,
)
from hdbkit.execution.handle import RunHandle, require_done
from hdbkit.faults import actions
from hdbkit.faults import undo as undoing
from hdbkit.faults.actions import Actions, check_faults
from hdbkit.faults.undo import Leftover, ServerState, left_behind, undo, undo_all
from hdbkit.plan import RunPlan
from hdbkit.processes import birth_of
from hdbkit.results.folder import RunFolder
from hdbkit.results.manifest import Status
from hdbkit.workloads import specification
from tests.run.faults import until
from tests.run.sweep_server import begun

NO_SESSION: Any = None
TARGET = Target.parse("postgresql://bench@127.0.0.1:9/x").with_(may_restart=True)


class Server:
    """A server of files: it accepts connections while ``running`` exists; ``calls`` has the commands that ran."""

    def __init__(self, folder: Path) -> None:
        self.running, self.calls = folder / "running", folder / "calls"
        self.calls.touch()

    def target(self, **commands: str) -> Target:
        """Its target with shell commands; without one, each does what it should."""
        usual = {"start": f"touch {self.running}", "stop": f"rm {self.running}", "status": f"test -e {self.running}"}
        words = {
            name: ["sh", "-c", f"echo {name} >> {self.calls}; {text}"] for name, text in {**usual, **commands}.items()
        }
        return TARGET.with_(control=ControlSpec(commands=Commands(**words)))

    def failure(self, *_: object) -> CannotConnect | None:
        return None if self.running.exists() else NothingListens(TARGET.url, "nothing listens", "start it")

    @property
    def called(self) -> list[str]:
        """The commands that ran, without those that only ask."""
        return [one for one in self.calls.read_text().split() if one != "status"]


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Server:
    found = Server(tmp_path)
    monkeypatch.setattr(undoing, "_failure", found.failure)
    return found


@pytest.fixture
def leftover(tmp_path: Path) -> Callable[..., Path]:
    def written(state: ServerState, processes: dict[int, str], target: Target = TARGET) -> Path:
        with Leftover(state, processes, target).written(tmp_path / "fault-0.json"):
            return tmp_path / "fault-0.json"

    return written


Written = Callable[..., Path]


def test_a_fault_that_still_begins_is_undone_when_it_has_begun(tmp_path: Path, server: Server) -> None:
    """As by ``hdbkit recover``, when the supervisor was killed while the server stops."""
    server.running.touch()
    stopping, go = (tmp_path / name for name in ("stopping", "go"))
    os.mkfifo(go)
    target = server.target(stop=f"touch {stopping}; cat {go}; rm {server.running}")
    path = tmp_path / "fault-0.json"
    action = Actions(target, 1).of(Fault.parse("stop server at 0 s for 9 s"), path)
    beginning, ending = threading.Thread(target=action.begin), threading.Thread(target=undo, args=(path, target))
    beginning.start()
    until(stopping.exists, "the server is being stopped")
    ending.start()
    ending.join(0.5)  # long enough for one that does not wait
    go.write_text("")
    beginning.join()
    ending.join()
    assert server.running.exists()
    assert not path.exists()
    action.end()
    assert server.running.exists()


def test_a_killed_server_is_started_although_its_status_command_reports_the_process(
    server: Server, leftover: Written
) -> None:
    """A zombie that nobody waited for, or another process with the id in the server's file."""
    path = leftover(ServerState.KILLED, {1: "another boot/1"})
    undo(path, server.target(status="true"))
    assert server.called == ["start"]
    assert not path.exists()


def test_a_start_command_that_succeeds_and_starts_nothing_is_repeated(server: Server, leftover: Written) -> None:
    """One that finds the id of the killed process in the server's file, and takes it for a running server."""
    path = leftover(ServerState.KILLED, {1: "another boot/1"})
    dead = server.running.with_name("dead")  # the killed process, which is there for its first status
    start = f"test $(grep -c start {server.calls}) = 1 && touch {dead} || touch {server.running}"
    undo(path, server.target(start=start, status=f"test -e {server.running} || rm {dead}"))
    assert server.called == ["start", "start"]
    assert not path.exists()


def test_a_killed_server_that_somebody_else_started_is_left_alone(server: Server, leftover: Written) -> None:
    server.running.touch()
    path = leftover(ServerState.KILLED, {1: "another boot/1"})
    undo(path, server.target())
    assert server.called == []
    assert not path.exists()


def test_a_server_that_starts_and_accepts_no_connection_is_not_undone(
    tmp_path: Path, server: Server, leftover: Written
) -> None:
    target = server.target(start="true", status="true")
    path = leftover(ServerState.KILLED, {1: "another boot/1"})
    soon = target.with_(control=target.control.model_copy(update={"restart_timeout_s": 0.2}))
    (failed,) = undo_all(RunFolder(tmp_path), soon)
    assert failed == (
        f"a fault could not be undone: the server of {TARGET.described} does not answer: nothing listens; "
        f"what is to be undone stays in {path}"
    )
    assert path.exists()


@pytest.mark.parametrize(
    ("error", "answers"),
    [
        (CannotConnect(TARGET.url, "none of its addresses can be used", "check them"), False),
        (NotReady(TARGET.url, "the server is starting up", "wait"), False),
        (TransactionError(ErrorClass.CONNECTION_LOST, "08006", "the pooler cannot connect"), False),
        (Rejected(TARGET.url, "wrong user or password", "set it"), True),
        (NoneFree(TARGET.url, "all connections are in use", "use fewer"), True),
    ],
)
def test_a_server_answers_if_its_first_address_does_or_rejects_the_account(
    monkeypatch: pytest.MonkeyPatch, error: HdbkitError, answers: bool
) -> None:
    asked: list[str] = []

    class Engine:
        def connect(self, target: Target, options: SessionOptions) -> None:
            asked.append(target.url)
            raise error

    monkeypatch.setattr(undoing, "database", lambda _: Engine())
    assert (undoing._failure(TARGET.with_(fallbacks=("db2",)), 60) is None) is answers
    assert asked == [TARGET.url]


def test_a_server_that_holds_a_statement_back_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """As a pooler does while its server is down."""
    done = threading.Event()

    class Engine:
        def connect(self, target: Target, options: SessionOptions) -> None:
            done.wait()
            raise CannotConnect(TARGET.url, "it was closed", "none")

    monkeypatch.setattr(undoing, "database", lambda _: Engine())
    try:
        assert str(undoing._failure(TARGET, 0.01)) == "a statement was not answered within 0.01 s"
    finally:
        done.set()


def test_what_another_account_has_written_is_not_undone(
    tmp_path: Path, server: Server, leftover: Written, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder that was received would have its commands run, with the account that looks at it."""
    with monkeypatch.context() as somebody:
        somebody.setenv("XDG_STATE_HOME", str(tmp_path / "somebody"))
        path = leftover(ServerState.KILLED, {1: "another boot/1"}, server.target())
    (failed,) = undo_all(RunFolder(tmp_path))
    assert "was not written by this account, so nothing in it is executed" in failed
    (left,) = left_behind(RunFolder(tmp_path))
    assert left.startswith("an unknown state (")
    assert server.called == []
    assert path.exists()


def test_what_was_changed_afterwards_is_not_undone(tmp_path: Path, server: Server, leftover: Written) -> None:
    path = leftover(ServerState.KILLED, {1: "another boot/1"}, server.target())
    path.write_text(path.read_text().replace("touch", "rm -rf"))
    (failed,) = undo_all(RunFolder(tmp_path))
    assert "was not written by this account" in failed
    assert server.called == []


def test_what_was_caused_on_another_host_is_not_undone_here(tmp_path: Path, server: Server) -> None:
    """An account with one home folder on several hosts."""
    with Leftover(ServerState.KILLED, {1: "another boot/1"}, server.target(), host="db7").written(
        tmp_path / "fault-0.json"
    ):
        pass
    (failed,) = undo_all(RunFolder(tmp_path))
    assert "it was caused on host db7; recover the run there" in failed
    assert server.called == []


def test_a_recovery_uses_the_commands_that_the_target_had(tmp_path: Path, server: Server, leftover: Written) -> None:
    leftover(ServerState.KILLED, {1: "another boot/1"}, server.target())
    assert undo_all(RunFolder(tmp_path)) == []
    assert server.called == ["start"]


def test_a_server_that_somebody_else_started_has_its_time_to_recover(
    server: Server, leftover: Written, monkeypatch: pytest.MonkeyPatch
) -> None:
    failures = iter([NotReady(TARGET.url, "the server is starting up", "wait")] * 3)
    monkeypatch.setattr(undoing, "_START_S", 0.0)
    monkeypatch.setattr(undoing, "_failure", lambda *_: next(failures, None))
    undo(leftover(ServerState.KILLED, {1: "another boot/1"}), server.target())
    assert server.called == []


def test_a_server_that_ends_again_after_its_start_is_not_waited_for(
    tmp_path: Path, server: Server, leftover: Written, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(undoing, "_START_S", 0.0)
    leftover(ServerState.KILLED, {1: "another boot/1"})
    alive = tmp_path / "alive"
    status = f"test -e {alive} && rm {alive}"  # it has ended when it is asked again
    (failed,) = undo_all(RunFolder(tmp_path), server.target(start=f"touch {alive}", status=status))
    assert "does not answer: nothing listens" in failed


@pytest.mark.parametrize("known", [True, False])
def test_a_stop_that_was_interrupted_is_finished_before_the_start(
    server: Server, leftover: Written, known: bool
) -> None:
    """The server still runs, and would end after it was found to be running."""
    server.running.touch()
    with subprocess.Popen(["sleep", "60"]) as process:
        path = leftover(ServerState.DOWN, {process.pid: birth_of(process.pid)} if known else {})
        undo(path, server.target(stop=f"kill {process.pid}; rm {server.running}"))
    assert server.called == ["stop", "start"]
    assert not path.exists()


def test_what_a_server_takes_after_its_start_is_no_part_of_the_undoing(server: Server, leftover: Written) -> None:
    """Its recovery, or a pooler that connects again after a delay of its own."""
    path = leftover(ServerState.KILLED, {1: "another boot/1"})
    begun = time.monotonic_ns()
    done_ns = undo(path, server.target(start=f"(sleep 1; touch {server.running}) &", status="true"))
    assert time.monotonic_ns() - done_ns >= 0.5e9
    assert done_ns > begun


def test_what_is_left_is_told_when_a_supervisor_died_and_by_recover(
    tmp_path: Path, server: Server, leftover: Written
) -> None:
    plan = RunPlan(run_id="a-run", target=server.target(), workload=specification(None), load=Load())
    folder = RunFolder(tmp_path)
    folder.write(begun(plan).model_copy(update={"supervisor_pid": 0}).moved_to(Status.FAILED, "its supervisor died"))
    path = leftover(ServerState.KILLED, {1: "another boot/1"}, server.target())
    handle = RunHandle(folder)
    assert handle.left_by_faults == ["a killed server"]
    with pytest.raises(RunFailed, match="died, and a fault has left a killed server; run: hdbkit recover"):
        require_done(folder.read().model_copy(update={"status": Status.ABANDONED}), handle.left_by_faults)
    handle.recover()
    assert not path.exists()
    assert server.called == ["start"]
    assert folder.read().warnings == ["a fault had left a killed server, until it was undone by recover"]


def test_a_failover_runs_the_command_of_the_target(tmp_path: Path, server: Server) -> None:
    fault, path = Fault.parse("failover server at 0 s"), tmp_path / "fault-0.json"
    done = Actions(server.target(failover="true"), 1).of(fault, path)
    done.begin()
    done.end()
    assert server.called == ["failover"]
    failing = Actions(server.target(failover="echo no standby; exit 3"), 1).of(fault, path)
    with pytest.raises(ServerFailed, match=r"control\.commands\.failover failed with exit code 3: no standby"):
        failing.begin()


@pytest.mark.parametrize(
    ("sentence", "commands", "needs"),
    [
        ("stop server at 0 s for 1 s", {"restart": ["true"]}, "control.commands.stop"),
        ("stop server at 0 s for 1 s", {"stop": ["true"]}, "commands that start"),
        ("stop server at 0 s for 1 s", {"stop": ["true"], "restart": ["true"]}, None),
        ("kill server at 0 s", {"stop": ["true"]}, "commands that start"),
        ("restart server at 0 s", {"stop": ["true"]}, "commands that restart"),
    ],
)
def test_the_commands_that_a_fault_needs_are_checked_before_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sentence: str, commands: dict[str, list[str]], needs: str | None
) -> None:
    monkeypatch.setattr(actions, "_server_pid", lambda *_: os.getpid())
    target = TARGET.with_(control=ControlSpec(commands=Commands(**commands)))
    with pytest.raises(InputError, match=needs) if needs else nullcontext():
        check_faults(target, [Fault.parse(sentence)], 1, NO_SESSION, tmp_path)
