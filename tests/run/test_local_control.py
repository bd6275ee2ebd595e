"""A server on this host, stopped and started by commands: settings in a file, restored byte for byte."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hdbkit.config import Commands, ControlSpec, Target
from hdbkit.contracts import ApplyBy, ServerControl
from hdbkit.errors import ConfigErrors, InputError, ServerFailed
from hdbkit.servers import PrivateServer, control
from hdbkit.servers.file_control import FileControl
from hdbkit.servers.power import CommandPower
from tests.run.agents import own_target


@pytest.fixture
def config(built: PrivateServer) -> Iterator[Path]:
    """The server's own file, which reads a folder of others at its end."""
    config, folder = built.place.data / "postgresql.conf", built.place.data / "conf.d"
    content = config.read_bytes()
    folder.mkdir()
    built.place.give(folder)
    with config.open("a") as file:
        file.write("include_dir = 'conf.d'\n")
    yield config
    config.write_bytes(content)
    for path in folder.iterdir():
        path.unlink()
    folder.rmdir()


def value(it: ServerControl, name: str) -> str:
    return it.settings()[name].value


def test_a_file_of_ours_in_a_folder_comes_and_goes(built: PrivateServer, config: Path) -> None:
    folder = config.parent / "conf.d"
    it = control(own_target(built, drop_in=folder))
    before = it.snapshot()
    assert it.apply({"work_mem": "9MB"}).applied_by is ApplyBy.RELOAD
    (ours,) = folder.iterdir()
    assert it.identity == str(ours)
    change = control(own_target(built, drop_in=folder)).apply(
        {"shared_buffers": "64MB", "cluster_name": "it's \\ odd"}
    )
    assert change.applied_by is ApplyBy.RESTART
    assert change.read_back == {"shared_buffers": "64MB", "cluster_name": "it's \\ odd"}
    assert value(it, "work_mem") == str(9 * 1024), "what was set before stays"
    for _ in range(2):
        it.restore(before)
        assert list(folder.iterdir()) == []
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
    content, before = config.read_bytes(), it.snapshot()
    with config.open("a") as file:
        file.write("shared_buffers = '4TB'\n")
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
    before, restart, refused = it.snapshot(), it.power.restart, []

    def refuse_once() -> None:
        if not refused:
            refused.append("its memory is still in use")
            raise ServerFailed(refused[0])
        restart()

    monkeypatch.setattr(it.power, "restart", refuse_once)
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
    with pytest.raises(ServerFailed, match="the command false failed with exit code 1: it left no message"):
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


def test_a_restart_command_of_an_earlier_file_is_understood() -> None:
    earlier = Target.model_validate({"kind": "nulldb", "restart_command": ["ssh", "db1"]})
    assert earlier.control == ControlSpec(commands=Commands(restart=("ssh", "db1")))
