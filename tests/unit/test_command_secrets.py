"""Passwords in the commands of a target: found by name, option or URL, and never repeated."""

from __future__ import annotations

import pytest

from hdbkit.config import Commands, Target
from hdbkit.config.control_spec import secret_in
from hdbkit.errors import ConfigErrors

PASSWORD = "hunter2"


@pytest.mark.parametrize(
    ("command", "shown"),
    [
        (["patronictl", "--password", PASSWORD, "restart"], "--password"),
        (["tool", f"--password={PASSWORD}", "stop"], "--password=..."),
        (["env", f"PGPASSWORD={PASSWORD}", "pg_ctl", "stop"], "PGPASSWORD=..."),
        (["env", f"MYSQL_PWD={PASSWORD}", "x"], "MYSQL_PWD=..."),
        (["admin", "-u", "root", f"-p{PASSWORD}", "shutdown"], "-p..."),
        (["sh", "-c", f"export API_KEY='{PASSWORD}' && stop it"], "API_KEY=..."),
        (["sh", "-c", f"tool --token {PASSWORD}"], "--token"),
        (["/usr/bin/curl", "-X", "POST", "-u", f"admin:{PASSWORD}", "http://db1:8008/restart"], "-u NAME:..."),
        (["psql", f"postgresql://admin:{PASSWORD}@db1/x", "-c", "SELECT"], "postgresql://admin:...@db1/x"),
    ],
)
def test_a_command_with_a_password_is_refused_without_repeating_it(command: list[str], shown: str) -> None:
    assert secret_in(command) == shown
    for name in Commands.model_fields:
        with pytest.raises(ConfigErrors, match="has a password, which plans and manifests would repeat") as refused:
            Target(kind="nulldb", control={"commands": {name: command}})
        assert PASSWORD not in str(refused.value)


@pytest.mark.parametrize(
    "command",
    [
        ["systemctl", "restart", "postgresql@18-main"],
        ["ssh", "-p", "2222", "-p2222", "admin@db1", "sudo", "systemctl", "stop", "mysql"],
        [
            "setpriv",
            "--reuid",
            "70",
            "pg_ctl",
            "-D",
            "/data",
            "-p",
            "/usr/bin/postgres",
            "-p/usr/bin/postgres",
            "stop",
        ],
        ["docker", "exec", "-u", "postgres:dba", "db1", "pg_ctl", "stop"],
        ["tool", "--password-file", "/etc/x", "--token-file=/etc/y", "--no-password", "--password"],
        ["sh", "-c", 'PGPASSWORD="$(cat /etc/x)" tool --password "$PASSWORD" stop'],
        ["curl", "-X", "POST", "http://db1:8008/switchover"],
        ["sh", "-c", "it's stopped"],
    ],
)
def test_what_only_looks_like_a_password_is_accepted(command: list[str]) -> None:
    assert secret_in(command) is None
    assert Commands(restart=command).restart == tuple(command)
