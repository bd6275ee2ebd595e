"""The commands of a target."""

from __future__ import annotations

import pytest

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
    ],
)
def test_a_secret_in_the_output_of_a_command_is_dropped(line: str) -> None:
    code, output = run_command(["sh", "-c", 'echo promoting; printf "%s\\n" "$0"; exit 3', line])
    assert code == 3
    assert output.startswith("promoting | ")
    assert "hunter2" not in output


def test_other_output_of_a_command_is_kept() -> None:
    line = 'FATAL:  password authentication failed for user "bench"'
    assert run_command(["echo", line]) == (0, line)
