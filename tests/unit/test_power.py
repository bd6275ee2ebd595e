"""The commands of a target."""

from __future__ import annotations

import pytest

from hdbkit.config.problems import without_secrets
from hdbkit.servers.power import run_command


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
