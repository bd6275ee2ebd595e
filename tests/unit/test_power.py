"""The commands of a target."""

from __future__ import annotations

from pathlib import Path

import pytest

from hdbkit.config import Commands, ControlSpec
from hdbkit.config.problems import without_secrets
from hdbkit.errors import ServerFailed
from hdbkit.servers.power import CommandPower, power_of, run_command


@pytest.mark.parametrize(
    "line",
    [
        "PGPASSWORD=hunter2 was used",
        "password: hunter2",
        'the "password" "hunter2"',
        "my password is hunter2",
        "patronictl --password hunter2 failover",
        "ALTER USER a IDENTIFIED BY 'hunter2'",
        "Authorization: Bearer hunter2",
        "api_key = hunter2",
        "connecting to postgresql://bench:hunter2@db1/bench",
        "db_pass=hunter2",
        '{"user": "bench", "pass": "hunter2"}',
        "openssl enc -pass hunter2",
        "+ mysql -phunter2 -e 'SELECT 1'",
        "sshpass -p hunter2 ssh db1",
        "curl -u bench:hunter2 https://db1",
        "curl --user=bench:hunter2 https://db1",
        f"password={'x' * 5000}hunter2",
    ],
)
def test_a_secret_in_the_output_of_a_command_is_dropped(line: str) -> None:
    code, output = run_command(["sh", "-c", 'echo promoting; printf "%s\\n" "$0"; exit 3', line])
    assert code == 3
    assert output.startswith("promoting | ")
    assert "hunter2" not in output


@pytest.mark.parametrize("word", ["x", "password", "-p", "--password", "://:", "-u"])
def test_the_time_to_look_for_secrets_grows_with_the_length_of_a_line(word: str) -> None:
    """As the square or the cube of its length it would take minutes."""
    assert word in without_secrets(word * 20_000)


@pytest.mark.parametrize(
    "line",
    [
        'FATAL:  password authentication failed for user "bench"',
        "3 checks passed: all",
        "psql -h db1 -p 5432 -U bench",
        "systemctl -u postgresql: not found",
    ],
)
def test_other_output_of_a_command_is_kept(line: str) -> None:
    assert run_command(["echo", line]) == (0, line)


class Server:
    """Commands of a server whose first start fails while ``busy`` exists; ``calls`` has what ran."""

    def __init__(self, folder: Path) -> None:
        self.busy, self.calls = folder / "busy", folder / "calls"
        self.busy.touch()

    def power(self, timeout_s: float) -> CommandPower:
        words = {"start": f"test ! -e {self.busy}", "stop": f"rm {self.busy}", "status": "true"}
        commands = {name: ["sh", "-c", f"echo {name} >> {self.calls}; {text}"] for name, text in words.items()}
        return CommandPower(Commands(**commands), timeout_s=timeout_s)

    @property
    def called(self) -> list[str]:
        return [one for one in self.calls.read_text().split() if one != "status"]


def test_a_server_that_recovers_is_not_stopped(tmp_path: Path) -> None:
    """Its port opens when it has recovered, and its process is there before."""
    server, answers = Server(tmp_path), iter([False, False, True])
    server.power(600).start_ended(lambda: next(answers))
    assert server.called == ["start"]


def test_a_stop_that_was_interrupted_is_finished_when_nothing_answers_in_time(tmp_path: Path) -> None:
    server = Server(tmp_path)
    server.power(0.2).start_ended(lambda: False)
    assert server.called == ["start", "stop", "start"]


def test_a_command_that_restarts_a_server_has_the_time_that_the_target_gives_it() -> None:
    power = power_of(ControlSpec(commands=Commands(restart=["sleep", "600"]), restart_timeout_s=0.1))
    assert power is not None
    with pytest.raises(ServerFailed, match=r"the command sleep did not finish within 0\.1 s"):
        power.restart()
