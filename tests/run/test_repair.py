"""Values that an ordinary account sets through SQL, with which the server does not start or rejects sessions."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from hdbkit.cli.exits import Exit, guarded
from hdbkit.config import ControlSpec, SweepSpec, Target
from hdbkit.databases import sql_session
from hdbkit.databases.postgresql import PostgreSQL
from hdbkit.errors import CannotConnect, ConfigErrors, InputError, ServerDown, ServerFailed
from hdbkit.experiment import executing, resume, start
from hdbkit.experiment.kinds.sweep.plan import plan_sweep
from hdbkit.plan import RunPlan
from hdbkit.results.experiment_folder import experiment_folder
from hdbkit.results.experiment_runs import runs_frame
from hdbkit.results.manifest import Manifest
from hdbkit.servers import PrivateServer, control, server_access
from hdbkit.servers.sql_control import SqlControl
from tests.run.agents import commands_of, own_target
from tests.run.faults import answered
from tests.run.sweep_server import measured

SETTINGS = ("shared_buffers", "max_connections")
GRANTS = [
    *(f"GRANT ALTER SYSTEM ON PARAMETER {name} TO hdbkit" for name in SETTINGS),
    "GRANT SELECT ON pg_file_settings TO hdbkit",
    "GRANT EXECUTE ON FUNCTION pg_show_all_file_settings() TO hdbkit",
    "GRANT EXECUTE ON FUNCTION pg_reload_conf() TO hdbkit",
]


@pytest.fixture(scope="module")
def ordinary(built: PrivateServer) -> Iterator[Target]:
    """The server with commands, and the account of the measured clients, which may set these settings by SQL."""
    with closing(sql_session(built.admin)) as admin:
        for grant in GRANTS:
            admin.execute(grant)
        commands = ControlSpec(commands=commands_of(built))
        yield built.target.with_(server_folder=None, may_change_settings=True, may_restart=True, control=commands)
    with closing(sql_session(built.admin)) as admin:
        for grant in GRANTS:
            admin.execute(grant.replace("GRANT", "REVOKE").replace(" TO ", " FROM "))


def auto_file(server: PrivateServer) -> str:
    """The content of the file that the server itself writes its changed settings to."""
    return (server.place.data / "postgresql.auto.conf").read_text()


def test_the_file_of_an_account_that_may_not_see_the_data_folder_is_found_by_the_servers_process(
    built: PrivateServer, ordinary: Target
) -> None:
    it, content = control(ordinary), auto_file(built)
    with pytest.raises(ServerFailed, match=r"Cannot allocate memory.*the settings are as before") as failed:
        it.apply({"shared_buffers": "7TB"})
    assert f"| {built.place.log}: " in str(failed.value), "the log that no target names"
    assert auto_file(built) == content
    assert it.settings()["shared_buffers"].value == "16384"


def test_the_message_of_a_server_whose_log_is_written_by_another_process_is_shown(
    built: PrivateServer, ordinary: Target
) -> None:
    admin = ordinary.with_(user=built.place.admin_user)
    before = control(admin).snapshot()
    try:
        control(admin).apply({"logging_collector": "on"})
        with pytest.raises(ServerFailed, match=r"FATAL: .*Cannot allocate memory"):
            control(admin).apply({"shared_buffers": "7TB"})
        access = built.place.data / "pg_hba.conf"
        right = access.read_bytes()
        access.write_bytes(right + b"no such line\n")
        try:
            with pytest.raises(ServerFailed, match=r"data/log/.*\.log: .*could not load .*pg_hba\.conf"):
                control(admin).restart()
        finally:
            access.write_bytes(right)
            control(admin).start()
    finally:
        control(admin).restore(before)


@pytest.fixture(autouse=True)
def brief(monkeypatch: pytest.MonkeyPatch) -> None:
    """Little patience, and no trial of the configurations by the server's programs, which other tests check."""
    monkeypatch.setattr(SqlControl, "refused", lambda *_: [])
    for patience in ("_START_PATIENCE_S", "_SESSION_PATIENCE_S"):
        monkeypatch.setattr(server_access, patience, 0.3)


@pytest.fixture
def unseen(monkeypatch: pytest.MonkeyPatch) -> None:
    """The server's process and file are out of reach, as on another host; its commands are not."""
    monkeypatch.setattr(PostgreSQL, "server_process", lambda *_: None)


@pytest.mark.parametrize("reach", ["file", "commands"])
def test_a_server_that_keeps_its_last_connections_for_superusers_is_restored(
    built: PrivateServer, ordinary: Target, reach: str, request: pytest.FixtureRequest
) -> None:
    if reach == "commands":
        request.getfixturevalue("unseen")
    content, before = auto_file(built), control(ordinary).snapshot()
    control(ordinary).apply({"max_connections": "4"})
    with closing(sql_session(ordinary)):  # the only connection is in use
        with pytest.raises(InputError, match="all connections are in use"):
            control(ordinary).settings()
        control(ordinary).restore(before)
    assert auto_file(built) == content
    assert control(ordinary).settings()["max_connections"].value == "200"


MISTYPED = {"password": SecretStr("mistyped"), "password_file": None}
REJECTED: dict[str, dict[str, Any]] = {
    "wrong user 'hdbkit' or password": {"user": "hdbkit", **MISTYPED},
    "wrong user 'nobody' or password": {"user": "nobody", **MISTYPED},
    "there is no database 'none'": {"database": "none"},
    "does not support TLS": {"options": {"sslmode": "require"}},
    "no more connections are allowed": {"user": "limited", **MISTYPED},
}


@pytest.mark.parametrize("place", ["own", "file"])
def test_a_server_that_rejects_the_account_is_neither_repaired_nor_restarted(
    built: PrivateServer, ordinary: Target, place: str
) -> None:
    """As after a mistyped or rotated password: the server is healthy, and its file may have other changes by now."""
    config = built.place.data / ("postgresql.conf" if place == "file" else "postgresql.auto.conf")
    right = own_target(built, config_file=config) if place == "file" else ordinary
    content, before = config.read_bytes(), control(right).snapshot()
    config.write_bytes(content + b"# of an administrator\n")
    with closing(sql_session(built.admin)) as admin:
        admin.execute("CREATE ROLE limited LOGIN CONNECTION LIMIT 0 PASSWORD 'mistyped'")
        try:
            for reason, changes in REJECTED.items():
                it = control(right.with_(**changes))
                with pytest.raises(CannotConnect, match=reason):
                    it.start(before)
                with pytest.raises(ServerDown, match=reason):
                    it.restore(before)
            admin.execute("SELECT 1")  # the server was not restarted
            assert config.read_bytes() == content + b"# of an administrator\n"
        finally:
            admin.execute("DROP ROLE limited")
            config.write_bytes(content)


def test_a_value_that_leaves_too_few_connections_is_refused_before_the_first_run(
    built: PrivateServer, ordinary: Target, results: Path
) -> None:
    spec = SweepSpec(settings={"max_connections": ["100", "4"]}, blocks=2, virtual_users=[2])
    with pytest.raises(ConfigErrors) as failed:
        start(plan_sweep(ordinary, spec, "sweep-1"), results, control, never)
    assert [one.what for one in failed.value.problems] == [
        "with max_connections = 4 the server accepts 1 connections, but a run of 2 virtual users needs 4"
    ]
    assert not experiment_folder(results, "sweep-1").planned


def test_a_sweep_that_is_locked_out_ends_with_its_own_exit_code_and_is_resumed(
    built: PrivateServer,
    ordinary: Target,
    results: Path,
    unseen: None,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Its file is out of reach, its server cannot be restarted for a while, another session has all connections."""
    monkeypatch.setattr(executing, "too_few_connections", lambda *_: [])
    broken, content, others = results / "cannot restart", auto_file(built), []
    stop = ("sh", "-c", f'test ! -e "{broken}" && exec "$@"', "sh", *ordinary.control.commands.stop)
    commands = ordinary.control.commands.model_copy(update={"stop": stop})
    target = ordinary.with_(control=ControlSpec(commands=commands))
    spec = SweepSpec(settings={"max_connections": ["100", "4"]}, blocks=2, cooldown_s=0)

    def run_one(run: RunPlan) -> Manifest:
        assert run.experiment is not None
        if run.experiment.settings["max_connections"] == "4" and not others:
            others.append(sql_session(target))
            broken.touch()
            raise InputError("all connections are in use")
        return measured(run, results)

    plan = plan_sweep(target, spec, "sweep-1")
    assert guarded(lambda: start(plan, results, control, run_one)) == Exit.SERVER_DOWN
    reported = capsys.readouterr().err
    assert (
        "remove the lines of max_connections from the server's data folder/postgresql.auto.conf, start it ("
        in reported
    )
    assert "), then run: hdbkit resume sweep-1" in reported
    folder = experiment_folder(results, "sweep-1")
    with pytest.raises(ServerDown, match=r"is down or rejects .* remove the lines of max_connections from "):
        resume(folder, control, run_one)
    broken.unlink()
    resume(folder, control, run_one)
    assert auto_file(built) == content
    assert "planned" not in list(runs_frame(folder)["status"])


def test_a_server_with_one_connection_left_is_restored_before_the_next_run(
    built: PrivateServer, ordinary: Target, results: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The change of the settings needs a second session."""
    monkeypatch.setattr(executing, "too_few_connections", lambda *_: [])
    spec, content = SweepSpec(settings={"max_connections": ["100", "4"]}, blocks=2, cooldown_s=0), auto_file(built)
    folder = start(plan_sweep(ordinary, spec, "sweep-1"), results, control, lambda run: measured(run, results))
    assert set(runs_frame(folder)["status"]) == {"done"}
    assert any("all connections are in use" in line.note for line in folder.journal.lines)
    assert auto_file(built) == content


def never(_: RunPlan) -> Manifest:
    raise AssertionError


def test_maintenance_vacuums_the_tables_of_its_account_and_no_other(built: PrivateServer, ordinary: Target) -> None:
    """VACUUM alone writes a warning to the server's log for each table of another account, such as the catalog's."""
    before = len(built.place.log.read_text())
    control(ordinary).maintain()
    assert "vacuum" not in built.place.log.read_text()[before:]
    recent = "SELECT count(*) FROM pg_stat_user_tables WHERE last_vacuum > now() - interval '1 min'"
    assert answered(built.admin, recent)[0][0] >= 9
