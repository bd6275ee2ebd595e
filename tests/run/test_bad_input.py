"""Wrong input on a real server: one clear sentence, exit code 2, nothing created or changed."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
import yaml

from hdbkit.config import Target
from hdbkit.servers import PrivateServer
from hdbkit.servers.place import free_port
from tests.conftest import HdbkitCommand, Said
from tests.run.conftest import password_of

OTHER_PASSWORD = "an-account-of-the-test"
STATE = (
    "SELECT rolname, rolconnlimit FROM pg_roles ORDER BY 1",
    "SELECT datname FROM pg_database ORDER BY 1",
    "SELECT name, setting FROM pg_settings WHERE name NOT IN ('application_name') ORDER BY 1",
    "SELECT relname, relfilenode FROM pg_class WHERE relnamespace = 'tproc_c'::regnamespace ORDER BY 1",
    "SELECT d_id, d_next_o_id FROM tproc_c.district ORDER BY 1",
)


def ask(server: PrivateServer, *texts: str) -> list[Any]:
    """What the administrator is told."""
    admin = server.admin
    place = {"host": admin.host, "port": admin.port, "user": admin.user, "password": password_of(admin)}
    with psycopg.connect(**place, dbname=server.target.database, autocommit=True) as connection:
        cursors = [connection.execute(text) for text in texts]
        return [cursor.fetchall() if cursor.description else None for cursor in cursors]


@pytest.fixture(scope="module")
def other_account(built: PrivateServer) -> Iterator[str]:
    """An account that may log in and nothing else; its name."""
    ask(built, f"CREATE ROLE visitor LOGIN PASSWORD '{OTHER_PASSWORD}'")
    yield "visitor"
    ask(built, "DROP OWNED BY visitor", "DROP ROLE visitor")


@pytest.fixture
def target(built: PrivateServer, monkeypatch: pytest.MonkeyPatch) -> Target:
    """The address alone, as a user types it; the password is in the environment."""
    monkeypatch.setenv("HDBKIT_PASSWORD", password_of(built.target))
    plain = built.target
    return Target(kind=plain.kind, host=plain.host, port=plain.port, database=plain.database, user=plain.user)


@pytest.fixture
def named(built: PrivateServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    """The server under a name, with the permission to change its settings."""
    path = tmp_path / "targets.yaml"
    entry = built.target.model_dump(mode="json", exclude_defaults=True)
    path.write_text(yaml.safe_dump({"lab": entry}))
    monkeypatch.setenv("HDBKIT_TARGETS", str(path))
    return "lab"


@pytest.fixture(autouse=True)
def unchanged(built: PrivateServer, other_account: str, results: Path) -> Iterator[None]:
    """Nothing of the server changes, and nothing is made."""
    before = ask(built, *STATE)
    yield
    assert ask(built, *STATE) == before
    assert list(results.rglob("*")) == []


def refused(said: Said, *words: str) -> None:
    """One sentence with these words, exit code 2, and no traceback."""
    assert said.code == 2, said
    assert said.out == ""
    assert said.err.startswith("hdbkit: ")
    assert said.err.count("\n") == 1
    assert "Traceback" not in said.err
    assert [word for word in words if word not in said.err] == []


def test_a_wrong_host(command: HdbkitCommand, target: Target) -> None:
    said = command("run", target.with_(host="no-such-host.invalid").url)
    refused(said, "@no-such-host.invalid:", "there is no host 'no-such-host.invalid'", "check the name")


def test_a_wrong_port(command: HdbkitCommand, target: Target) -> None:
    port = free_port()
    refused(command("run", target.with_(port=port).url), f"nothing listens on 127.0.0.1, port {port}", "check host")


def test_a_wrong_password(command: HdbkitCommand, target: Target, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HDBKIT_PASSWORD", "quite-wrong")
    said = command("run", target.url)
    refused(said, f"user '{target.user}'", "or password", "set HDBKIT_PASSWORD")
    assert "quite-wrong" not in said.err


def test_no_password(command: HdbkitCommand, target: Target, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HDBKIT_PASSWORD")
    monkeypatch.setenv("PGPASSFILE", "/nowhere")
    refused(command("run", target.url), "a password is required, but none was given", "set HDBKIT_PASSWORD")


def test_a_password_in_the_url_is_refused_and_not_repeated(command: HdbkitCommand, target: Target) -> None:
    said = command("run", target.url.replace("@", ":hunter2@"))
    refused(said, "contains a password", "HDBKIT_PASSWORD")
    assert "hunter2" not in said.err


def test_a_wrong_database(command: HdbkitCommand, target: Target) -> None:
    said = command("run", target.with_(database="tpc").url)
    refused(said, "there is no database 'tpc'", "create it, name another")


@pytest.mark.parametrize("verb", [("run",), ("check",), ("build",), ("drop", "--yes")], ids=lambda verb: verb[0])
def test_an_account_without_privilege(
    command: HdbkitCommand, target: Target, other_account: str, verb: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HDBKIT_PASSWORD", OTHER_PASSWORD)
    said = command(*verb, target.with_(user=other_account).url)
    granted = {"run": "GRANT USAGE ON SCHEMA", "check": "TO visitor"}.get(verb[0], f"GRANT {target.user} TO visitor")
    refused(said, "lacks privileges", "the schema", "run as an administrator in", granted)


def test_an_administrator_who_may_not_create(
    command: HdbkitCommand, target: Target, other_account: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HDBKIT_ADMIN_PASSWORD", OTHER_PASSWORD)
    admin, wanted = target.with_(user=other_account), target.with_(user="fresh", database="fresh")
    said = command("build", wanted.url, "--admin", admin.url)
    refused(
        said, admin.url, "permission denied to create role", "use an account that may create accounts and databases"
    )


def test_a_wrong_password_of_the_administrator_names_its_variable(
    command: HdbkitCommand, target: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HDBKIT_ADMIN_PASSWORD", "not-this-one")
    said = command("build", target.with_(user="fresh").url, "--admin", target.with_(user="postgres").url)
    refused(said, "set HDBKIT_ADMIN_PASSWORD")


def test_an_error_is_found_before_an_account_is_created(command: HdbkitCommand, built: PrivateServer) -> None:
    wanted = built.target.with_(user="fresh", database="fresh")
    said = command("build", wanted.url, "--admin", built.admin.url, "--warehouses", 0)
    assert said.code == 2
    assert "warehouses: must be 1 or more, not 0" in said.err


WITHOUT_DRIVER = """
import sys
sys.modules["psycopg"] = None
from hdbkit.cli import main
for verb in ("run", "check", "build"):
    try:
        main([verb, sys.argv[1]])
    except SystemExit as ended:
        sys.stderr.write(f"{ended.code}\\n")
"""


@pytest.mark.new_interpreters
def test_a_missing_driver(target: Target) -> None:
    words = [sys.executable, "-c", WITHOUT_DRIVER, target.url]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    lines = done.stderr.splitlines(keepends=True)
    for sentence, code in zip(lines[::2], lines[1::2], strict=True):
        refused(
            Said(int(code), done.stdout, sentence),
            "postgresql needs the Python driver 'psycopg'",
            "run: pip install 'hdbkit[postgresql]'",
        )
    assert len(lines) == 6


def test_a_missing_schema(command: HdbkitCommand, target: Target) -> None:
    other = target.with_(database="postgres")
    for verb in ("run", "check"):
        refused(command(verb, other.url), "there is no schema of TPROC-C", f"run: hdbkit build {other.url}")


def test_another_scale(command: HdbkitCommand, target: Target) -> None:
    said = command("run", target.url, "--warehouses", 5)
    refused(said, "has warehouses 1", "needs 5", f"hdbkit build {target.url} --warehouses 5")


def test_a_schema_that_is_built_already(command: HdbkitCommand, target: Target) -> None:
    refused(command("build", target.url), "already built", f"run: hdbkit drop {target.url}")


def test_too_few_connections_for_an_account(command: HdbkitCommand, built: PrivateServer, target: Target) -> None:
    ask(built, f"ALTER ROLE {target.user} CONNECTION LIMIT 3")
    try:
        said = command("run", target.url, "-u", 4)
    finally:
        ask(built, f"ALTER ROLE {target.user} CONNECTION LIMIT -1")
    refused(said, "4 virtual users need 5 more connections", "allows 2", "fewer virtual users")


def test_more_users_than_the_server_allows(command: HdbkitCommand, target: Target) -> None:
    refused(command("run", target.url, "-u", 5000), "5000 virtual users need 5001 more connections", "raise")


def test_a_server_that_may_not_be_changed(command: HdbkitCommand, target: Target, tmp_path: Path) -> None:
    sweep = tmp_path / "s.yaml"
    sweep.write_text("settings: {checkpoint_timeout: [5min, 10min]}\n")  # no setting of a session
    said = command("sweep", target.url, sweep)
    assert said.code == 2
    assert "does not set 'may_change_settings: true'; its settings are not changed" in said.err


def test_every_error_of_a_sweep_file_is_reported_with_its_line(
    command: HdbkitCommand, named: str, tmp_path: Path
) -> None:
    sweep = tmp_path / "s.yaml"
    sweep.write_text("blokcs: 3\nvirtual_users: [0]\nsettings: {work_mem: []}\nload:\n  rampup_s: soon\n")
    said = command("sweep", named, sweep)
    assert said.code == 2
    assert said.err.splitlines() == [
        f"hdbkit: {sweep} has 4 errors; nothing was started:",
        "  line 3    settings.work_mem: give at least one value",
        "  line 2    virtual_users: each must be between 1 and 100000, not 0",
        "  line 5    load.rampup_s: must be a number, not 'soon'",
        "  line 1    blokcs: unknown key. Did you mean 'blocks'?",
    ]


def test_every_error_about_the_server_s_settings_is_reported(
    command: HdbkitCommand, named: str, tmp_path: Path
) -> None:
    sweep = tmp_path / "s.json"
    sweep.write_text('{"shared_bufers": ["1GB"], "work_mem": ["1kB"], "wal_level": ["most"], "block_size": [1]}')
    said = command("sweep", named, sweep)
    assert said.code == 2
    assert "has 4 errors; nothing was started:" in said.err
    for words in (
        "the server has no setting 'shared_bufers'. Did you mean 'shared_buffers'?",
        "work_mem must be between 64 and 2147483647 (in kB), not 1kB",
        "wal_level must be one of minimal, replica, logical, not 'most'",
        "block_size cannot be changed; its value is 8192",
    ):
        assert words in said.err
    assert "Traceback" not in said.err


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("-u", "0", "--rampup-s", "-3"), "the load has 2 errors; nothing was started:"),
        (("--mix", "new_odrer=1"), "unknown transaction 'new_odrer'. Did you mean 'new_order'?"),
        (("--mix", "45/43"), "--mix must read like first=45,second=55"),
        (("--isolation", "dirty"), "'dirty' is not one of 'read_committed'"),
        (("--virtual-user", "4"), "No such option: --virtual-user"),
        (("--params", "/nowhere.yaml"), "there is no file /nowhere.yaml"),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_wrong_options_of_a_run(
    command: HdbkitCommand, target: Target, words: tuple[str, ...], sentence: str
) -> None:
    said = command("run", target.url, *words)
    assert said.code == 2
    assert sentence in " ".join(said.err.split())
    assert "Traceback" not in said.err


def test_a_wrong_name_of_a_target_or_a_database(command: HdbkitCommand, named: str) -> None:
    refused(command("run", "labb"), "there is no target 'labb'", "Did you mean 'lab'?", "known: lab")
    refused(
        command("run", "postgresq://a@b/c"), "there is no kind of database 'postgresq'", "Did you mean 'postgresql'?"
    )


def test_a_results_folder_that_cannot_be_written(
    command: HdbkitCommand, target: Target, named: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("HDBKIT_RESULTS", str(tmp_path / "file" / "results"))
    refused(command("run", target.url), str(tmp_path / "file"), "HDBKIT_RESULTS")
    sweep = tmp_path / "s.yaml"
    sweep.write_text("settings: {synchronous_commit: [on, off]}\n")
    refused(command("sweep", named, sweep), str(tmp_path / "file"), "HDBKIT_RESULTS")
    sweep.unlink()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "targets.yaml"]
