"""A server on this host, stopped and started by commands: settings in a file, restored byte for byte."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from hdbkit.api import Workspace
from hdbkit.cli.exits import Exit, guarded
from hdbkit.config import Commands, ControlSpec, SweepSpec, Target
from hdbkit.contracts import ApplyBy, ServerControl
from hdbkit.errors import ConfigErrors, InputError, RunFailed, ServerDown, ServerFailed
from hdbkit.experiment import EventKind, ExperimentEvent, resume, start
from hdbkit.experiment.kinds.sweep.plan import plan_sweep
from hdbkit.plan import RunPlan
from hdbkit.results.experiment_folder import experiment_folder
from hdbkit.results.experiment_runs import runs_frame
from hdbkit.results.manifest import Manifest
from hdbkit.servers import PrivateServer, control, server_access
from hdbkit.servers.file_control import FileControl
from hdbkit.servers.power import CommandPower
from hdbkit.servers.sql_control import SqlControl
from tests.run.agents import own_target
from tests.run.sweep_server import measured


@pytest.fixture
def config(built: PrivateServer, drop_in: Path) -> Path:
    """The server's own file, which reads a folder of others at its end."""
    return built.place.data / "postgresql.conf"


def value(it: ServerControl, name: str) -> str:
    return it.settings()[name].value


def test_a_file_of_ours_in_a_folder_comes_and_goes(built: PrivateServer, drop_in: Path) -> None:
    it = control(own_target(built, drop_in=drop_in))
    before = it.snapshot()
    assert it.apply({"work_mem": "9MB"}).applied_by is ApplyBy.RELOAD
    (ours,) = drop_in.iterdir()
    assert it.identity == str(ours)
    change = control(own_target(built, drop_in=drop_in)).apply(
        {"shared_buffers": "64MB", "cluster_name": "it's \\ odd"}
    )
    assert change.applied_by is ApplyBy.RESTART
    assert change.read_back == {"shared_buffers": "64MB", "cluster_name": "it's \\ odd"}
    assert value(it, "work_mem") == str(9 * 1024), "what was set before stays"
    for _ in range(2):
        it.restore(before)
        assert list(drop_in.iterdir()) == []
        assert value(it, "shared_buffers") == "16384"


def test_a_value_that_keeps_the_server_from_starting_is_reported_and_undone(
    built: PrivateServer, config: Path
) -> None:
    content = config.read_bytes()
    it = control(own_target(built, config_file=config))
    with pytest.raises(ServerFailed, match=r"Cannot allocate memory.*the settings are as before"):
        it.apply({"work_mem": "8MB", "shared_buffers": "4TB"})
    assert config.read_bytes() == content
    assert config.stat().st_mode & 0o777 == 0o600
    assert (value(it, "shared_buffers"), value(it, "work_mem")) == ("16384", "4096")


def test_a_server_that_was_left_down_is_repaired_from_the_file(built: PrivateServer, config: Path) -> None:
    """As after a kill between setting and restarting."""
    it = control(own_target(built, config_file=config))
    assert isinstance(it, FileControl)
    content, before = config.read_bytes(), it.snapshot()
    it._keep(None, {"shared_buffers": "4TB"}, {})  # type: ignore[arg-type]
    with pytest.raises(ServerFailed):
        it.restart()
    assert not built.running
    control(own_target(built, config_file=config)).restore(before)
    assert config.read_bytes() == content
    assert value(it, "shared_buffers") == "16384"


def test_a_server_that_has_ended_is_started_before_it_is_set(built: PrivateServer, config: Path) -> None:
    it = control(own_target(built, config_file=config))
    heard: list[str] = []
    before, it.say = it.snapshot(), heard.append
    built.kill()
    assert it.apply({"work_mem": "8MB"}).read_back == {"work_mem": "8MB"}
    assert heard == [f"the server of {config} was stopped; hdbkit starts it again"]
    it.restore(before)
    assert value(it, "work_mem") == "4096"


def test_a_start_that_what_is_left_of_a_killed_server_prevents_is_tried_again(
    built: PrivateServer, config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    it = control(own_target(built, config_file=config))
    assert isinstance(it, FileControl)
    assert it.power is not None
    before, start, refused = it.snapshot(), it.power.start, []

    def refuse_once(ended: bool = False) -> None:
        if not refused:
            refused.append("its memory is still in use")
            raise ServerFailed(refused[0])
        start(ended)

    monkeypatch.setattr(it.power, "start", refuse_once)
    built.kill()
    assert it.apply({"work_mem": "8MB"}).read_back == {"work_mem": "8MB"}
    assert refused
    it.restore(before)


def test_commands_run_as_they_stand_and_without_our_passwords(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HDBKIT_PASSWORD", "hush")
    reported = tmp_path / "reported"
    script = "import os, sys; print(sys.argv[2], 'HDBKIT_PASSWORD' in os.environ, file=open(sys.argv[1], 'w'))"
    command = (sys.executable, "-c", script, str(reported), "$HOME; touch x")
    CommandPower(Commands(restart=command)).restart()
    assert reported.read_text() == "$HOME; touch x False\n"
    with pytest.raises(ServerFailed, match="the command false failed with exit code 1: to see the reason here, name"):
        CommandPower(Commands(restart=("false",))).restart()
    with pytest.raises(ServerFailed, match="no-such-program cannot be run"):
        CommandPower(Commands(restart=("/no-such-program",))).restart()


def test_what_a_target_says_of_its_control_must_fit_together(tmp_path: Path) -> None:
    with pytest.raises(ConfigErrors, match="mutually exclusive"):
        ControlSpec(config_file="/a", drop_in="/b")
    with pytest.raises(ConfigErrors, match="belong in the target of the agent"):
        ControlSpec(agent="https://db1", drop_in="/b")
    with pytest.raises(ConfigErrors, match="in plain text"):
        ControlSpec(agent="http://db1")
    with pytest.raises(ConfigErrors, match="64 hexadecimal"):
        ControlSpec(agent="https://db1", fingerprint="ab:cd")
    with pytest.raises(InputError, match=f"folder {tmp_path}/none does not exist"):
        control(Target(kind="postgresql", control=ControlSpec(drop_in=tmp_path / "none")))


def auto_file(server: PrivateServer) -> Path:
    """The file that the server itself writes its changed settings to."""
    return server.place.data / "postgresql.auto.conf"


def test_a_server_with_commands_and_no_file_comes_back_from_a_value_that_it_does_not_start_with(
    built: PrivateServer,
) -> None:
    it = control(own_target(built))
    content = auto_file(built).read_bytes()
    with pytest.raises(ServerFailed, match=r"superuser_reserved_connections.*the settings are as before"):
        it.apply({"max_connections": "1"})
    assert auto_file(built).read_bytes() == content
    assert value(it, "max_connections") == "200"


def test_without_commands_a_server_that_is_down_is_reported_with_what_to_do(
    built: PrivateServer, config: Path
) -> None:
    it = control(own_target(built))
    before = it.snapshot()
    assert before["file"] == {"path": str(auto_file(built)), "content": auto_file(built).read_text()}
    built.stop()
    only_sql = control(own_target(built).with_(control=ControlSpec()))
    with pytest.raises(ServerDown, match=r"is down or rejects.*remove .* from .*, start it$"):
        only_sql.restore({**before, "identity": "anything"})
    it.start()
    assert it.snapshot() == before


def test_a_sweep_that_left_a_server_down_is_resumed_with_its_file_repaired(
    built: PrivateServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after a kill between ``ALTER SYSTEM`` and the restart."""
    monkeypatch.setattr(server_access, "_START_PATIENCE_S", 0.5)
    target = own_target(built)
    it = control(target)
    content, before = auto_file(built).read_bytes(), it.snapshot()
    with auto_file(built).open("a") as file:
        file.write("max_connections = '1'\n")
    with pytest.raises(ServerFailed):
        it.restart()
    assert not built.running
    control(target).start(before)
    assert auto_file(built).read_bytes() == content
    assert value(it, "max_connections") == "200"


@pytest.mark.parametrize("name", ["port", "listen_addresses", "data_directory", "unix_socket_directories"])
def test_what_clients_find_a_server_by_is_never_swept(built: PrivateServer, name: str) -> None:
    (problem,) = control(own_target(built)).problems({name: ["1", "2"]})
    assert problem.startswith(f"{name} is never changed by hdbkit: ")


def test_configurations_that_a_server_does_not_start_with_are_found_before_the_first_run(
    built: PrivateServer,
) -> None:
    it = control(own_target(built))
    tried = [{"max_connections": "1"}, {"max_connections": "50", "work_mem": "8MB"}, {"shared_buffers": "256MB"}]
    refusal, together = it.refused(
        [*tried, {"wal_level": "minimal"}, {"wal_level": "minimal", "max_wal_senders": "0"}]
    )
    assert refusal.startswith("the server would not start with max_connections = 1: ")
    assert "superuser_reserved_connections" in refusal
    assert together.startswith("the server would not start with wal_level = minimal: ")
    assert "max_wal_senders" in together


def test_a_sweep_whose_server_cannot_be_started_again_ends_with_its_own_exit_code_and_is_resumed(
    built: PrivateServer, results: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(server_access, "_START_PATIENCE_S", 0.5)
    monkeypatch.setattr(SqlControl, "refused", lambda *_: [])
    target, broken = own_target(built), results / "cannot start"
    start_command = ("sh", "-c", f'test ! -e "{broken}" && exec "$@"', "sh", *target.control.commands.start)
    commands = target.control.commands.model_copy(update={"start": start_command})
    target = target.with_(control=target.control.model_copy(update={"commands": commands}))
    spec = SweepSpec(settings={"work_mem": ["4MB", "9MB"]}, blocks=2, cooldown_s=0)
    plan = plan_sweep(target, spec, "sweep-1")

    def run_one(run: RunPlan) -> Manifest:
        assert run.experiment is not None
        if run.experiment.number == 2 and not broken.exists():
            broken.touch()
            built.kill()
            raise RunFailed(run.run_id, "the server ended")
        return measured(run, results)

    reported: list[ExperimentEvent] = []
    assert guarded(lambda: start(plan, results, control, run_one, reported.append)) == Exit.SERVER_DOWN == 4
    assert "), then run: hdbkit resume sweep-1" in capsys.readouterr().err
    assert EventKind.RESTORED not in [one.kind for one in reported]
    folder = experiment_folder(results, "sweep-1")
    assert list(runs_frame(folder)["status"]) == ["done", "failed", "planned", "planned"]
    with pytest.raises(ServerDown, match="experiment sweep-1 failed: the server of"):
        Workspace(results=results).attach_experiment(folder.experiment_id).wait()
    broken.unlink()
    resume(folder, control, run_one, reported.append)
    assert any("hdbkit starts it again" in one.note for one in reported)
    assert list(runs_frame(folder)["status"]) == ["done", "failed", "done", "done"]
    assert "work_mem" not in auto_file(built).read_text()
