"""An experiment that is resumed after a kill: a server that a fault left frozen, and the data of each target."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import psutil
import pytest

from hdbkit.config import Load, SweepSpec, Target, spec_from
from hdbkit.errors import ServerDown, ServerFailed
from hdbkit.experiment import ExperimentEvent, resume, start
from hdbkit.experiment.kinds.comparison import ComparisonPlan
from hdbkit.experiment.kinds.sweep.plan import plan_sweep
from hdbkit.experiment.plan import run_plan
from hdbkit.experiment.servers import Servers
from hdbkit.experiment.settling import settle_earlier
from hdbkit.experiment.sides import Side, in_blocks
from hdbkit.faults.undo import Leftover, ServerState
from hdbkit.processes import birth_of
from hdbkit.results.experiment_folder import ExperimentFolder
from hdbkit.results.folder import RunFolder
from hdbkit.results.journal import Step
from tests.run.faults import until
from tests.run.sweep_server import DATA, FileServer, begun, measured, only, runner

PLAN = plan_sweep(Target(kind="nulldb"), SweepSpec(settings={"flush": ["on", "off"]}, blocks=2), "sweep-1")


@pytest.fixture
def frozen() -> Iterator[psutil.Process]:
    """A process that was frozen."""
    with subprocess.Popen(["sleep", "600"]) as process:
        process.send_signal(signal.SIGSTOP)
        found = psutil.Process(process.pid)
        until(lambda: found.status() == psutil.STATUS_STOPPED, "it is frozen")
        yield found
        process.kill()


@pytest.fixture
def server(tmp_path: Path) -> FileServer:
    return FileServer(tmp_path / "server")


@pytest.fixture
def killed(results: Path, server: FileServer, frozen: psutil.Process) -> ExperimentFolder:
    """A sweep that was killed with its first run, whose fault has frozen the server."""
    first = run_plan(PLAN, PLAN.runs[0], datetime.now(UTC))

    def end(_: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        start(PLAN, results, only(server), end)  # type: ignore[arg-type]
    folder = ExperimentFolder(results / "experiments" / "sweep-1")
    folder.append(Step.RUN_STARTED, 1, first.run_id)
    run = RunFolder(results / first.run_id)
    run.path.mkdir()
    run.write(begun(first).model_copy(update={"supervisor_pid": 0}))
    with Leftover(ServerState.FROZEN, {frozen.pid: birth_of(frozen.pid)}, PLAN.target).written(run.left_by_fault(0)):
        return folder


def test_a_server_that_a_killed_run_left_frozen_continues_before_it_is_asked(
    killed: ExperimentFolder,
    results: Path,
    server: FileServer,
    frozen: psutil.Process,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    heard: list[ExperimentEvent] = []
    states: list[str] = []
    monkeypatch.setattr(server, "start", lambda _: states.append(frozen.status()))
    resume(killed, only(server), runner(server, results), heard.append)
    assert states
    assert psutil.STATUS_STOPPED not in states
    assert any("was killed and has left a frozen server; hdbkit undoes it" in one.note for one in heard)


def on(server: FileServer) -> Servers:
    return Servers([Target(kind="nulldb")], only(server))


def test_the_next_sweep_undoes_it_too_before_it_restores_the_settings(
    killed: ExperimentFolder,
    results: Path,
    server: FileServer,
    frozen: psutil.Process,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    killed.save_before(server.identity, server.snapshot(), {})
    states: list[str] = []
    monkeypatch.setattr(server, "restore", lambda _: states.append(frozen.status()))
    assert [note.startswith("sweep-1 ") for note in settle_earlier(results, on(server))] == [True]
    assert states
    assert psutil.STATUS_STOPPED not in states


def test_a_restoration_that_fails_names_the_sweep_and_what_helps(
    killed: ExperimentFolder, results: Path, server: FileServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    killed.save_before(server.identity, server.snapshot(), {})

    def fail(_: object) -> None:
        raise ServerFailed("it has no kept data")

    monkeypatch.setattr(server, "restore", fail)
    with pytest.raises(ServerFailed, match=r"what sweep-1 left .* it has no kept data; .* remove .*/before.json"):
        settle_earlier(results, on(server))
    killed.before.unlink()
    assert settle_earlier(results, on(server)) == []


def test_a_fault_that_cannot_be_undone_ends_the_sweep_with_the_command_that_does(
    killed: ExperimentFolder, results: Path, server: FileServer
) -> None:
    (line,) = killed.journal.state.open_runs
    path = RunFolder(results / line.run_id).left_by_fault(0)
    path.write_text(path.read_text().replace("frozen", "killed"))
    with pytest.raises(ServerDown) as down:
        resume(killed, only(server), runner(server, results))
    command = f"run: hdbkit recover {line.run_id}, then run: hdbkit resume sweep-1"
    assert str(down.value).endswith(command)


@pytest.mark.parametrize("by_another", [False, True])
def test_the_data_of_each_target_on_a_server_are_restored(results: Path, tmp_path: Path, by_another: bool) -> None:
    """On resume, and by another experiment, on one of these targets."""
    one, other = FileServer(tmp_path / "one"), FileServer(tmp_path / "other")
    other.identity = one.identity  # two databases of a server
    servers = {"one": one, "other": other}
    sides = tuple(
        Side(name=name, target=Target(kind="nulldb", database=name), workload=spec_from({}), load=Load(), label=name)
        for name in servers
    )
    plan = ComparisonPlan(
        experiment_id="comparison-1", configurations=({"side": "one"}, {"side": "other"}), sides=sides,
        virtual_users=(1,), blocks=1, seed="1", names=("one", "other"), smallest_effect=0.02,
        runs=in_blocks(sides, (1,), (1,), "1"),
    )  # fmt: skip
    folder = ExperimentFolder(results / "experiments" / "comparison-1")
    folder.write_plan(plan)
    folder.save_before(one.identity, one.snapshot(), targets=(0, 1))
    for server in servers.values():
        server.keep_data()
    folder.append(Step.DATA_KEPT, identity=one.identity)
    for server in servers.values():  # by runs; the comparison is killed then
        server.grow()
    control = lambda target: servers[str(target.database)]  # noqa: E731
    if by_another:
        settle_earlier(results, Servers([sides[0].target], control))
    else:
        resume(folder, control, lambda run: measured(run, results))
    assert [server.data() for server in servers.values()] == [DATA, DATA]
    assert not any((server.folder / "kept").exists() for server in servers.values())
