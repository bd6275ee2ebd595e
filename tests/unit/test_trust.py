"""Files that another account owns or may write decide nothing: no command, address or code is read from them."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from hdbkit.config.cluster import read_hosts
from hdbkit.errors import InputError
from hdbkit.trust import TRUST_VARIABLE, trusted
from tests.conftest import HdbkitCommand

NOBODY = 65534
IS_ROOT = os.geteuid() == 0


def test_what_another_account_may_write_is_not_read_and_the_command_that_mends_it_works(tmp_path: Path) -> None:
    file = tmp_path / "params" / "targets.yaml"
    file.parent.mkdir()
    file.write_text("lab: {kind: nulldb}")
    assert trusted(file) == file
    for path, mode in ((file, 0o646), (file.parent, 0o777)):
        before = path.stat().st_mode
        path.chmod(mode)
        with pytest.raises(InputError, match="may be written by other accounts") as error:
            trusted(file)
        command = str(error.value).partition("run: ")[2].partition(", or name")[0]
        subprocess.run(command.split(), check=True)
        assert trusted(file) == file
        path.chmod(before)
    file.parent.chmod(0o1777)  # as /tmp: others cannot replace the file
    assert trusted(file) == file


@pytest.mark.skipif(not IS_ROOT, reason="needs root to make files of another account")
def test_what_another_account_owns_is_not_read_also_through_a_link_or_below_its_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs, own = tmp_path / "theirs", tmp_path / "own"
    for one in (theirs, own):
        one.mkdir()
        (one / "targets.yaml").write_text("lab: {kind: nulldb}")
    os.chown(theirs / "targets.yaml", NOBODY, NOBODY)
    (own / "link.yaml").symlink_to(theirs / "targets.yaml")
    for path in (theirs / "targets.yaml", own / "link.yaml"):
        with pytest.raises(InputError, match="belongs to the account"):
            trusted(path)
    os.chown(theirs / "targets.yaml", 0, 0)
    os.chown(theirs, NOBODY, NOBODY)  # it may replace the file
    with pytest.raises(InputError, match="belongs to the account"):
        trusted(theirs / "targets.yaml")
    monkeypatch.setenv(TRUST_VARIABLE, f"/nowhere:{theirs}")
    assert trusted(theirs / "targets.yaml") == theirs / "targets.yaml"


_COMMANDS = (
    ("doctor", "lab"),
    ("sweep", "lab", "sweep.yaml"),
    ("run", "lab"),
    ("plan", "lab", "sweep.yaml"),
    ("run", "nulldb://", "--workload", "mine"),
    ("run", "nulldb://", "--params", "load.yaml"),
    ("run", "nulldb://", "--cluster", "ssh:hosts.txt"),
    ("check", "server"),
)


@pytest.mark.skipif(not IS_ROOT, reason="needs root to make files of another account")
def test_no_command_uses_a_file_of_another_account_in_the_working_folder(
    command: HdbkitCommand, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    executed = tmp_path / "executed"
    for name, text in (
        ("params/targets.yaml", f"lab: {{kind: nulldb, control: {{commands: {{status: [touch, '{executed}']}}}}}}"),
        ("sweep.yaml", "{factors: {isolation: [serializable, read_committed]}, blocks: 2}"),
        ("mine/workload.yaml", "{operations: {read: }}"),
        ("mine/statements.sql", "-- name: read\nSELECT 1"),
        ("load.yaml", "{virtual_users: 1}"),
        ("hosts.txt", "127.0.0.1"),
        ("server/server.json", "{}"),
    ):
        file = tmp_path / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)
        os.chown(file, NOBODY, NOBODY)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("HDBKIT_TARGETS", raising=False)
    for words in (
        "doctor lab",
        "run lab",
        "sweep nulldb:// sweep.yaml",
        "plan lab sweep.yaml",
        "run nulldb:// --workload mine",
        "run nulldb:// --params load.yaml",
        "check ./server",
    ):
        said = command(*words.split())
        assert (said.code, "belongs to the account" in " ".join(said.err.split())) == (2, True), words + said.err
    with pytest.raises(ValueError, match="belongs to the account"):
        read_hosts(Path("hosts.txt"))
    assert not executed.exists()
