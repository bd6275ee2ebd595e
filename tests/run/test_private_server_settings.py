"""Settings of PostgreSQL are set, verified by a client session, and restored; a failed change is undone."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from pydantic import SecretStr

from hdbkit.config import Commands, ControlSpec, Target
from hdbkit.contracts import ApplyBy, ServerControl
from hdbkit.databases import database
from hdbkit.databases.postgresql import PostgreSQL
from hdbkit.errors import ServerDown, ServerFailed
from hdbkit.servers import PrivateServer, control, find_binaries, private_server
from hdbkit.servers.sql_control import SqlControl
from tests.conftest import execute, shown
from tests.run.conftest import password_of

pytestmark = pytest.mark.skipif(not find_binaries(), reason="no server binaries here; see: hdbkit doctor")
KIND = "postgresql"
ALL_VERSIONS = sorted({one.version.split(".")[0] for one in find_binaries() if one.kind == KIND}, key=int)
VERSIONS = ALL_VERSIONS if os.environ.get("HDBKIT_SOAK") else ALL_VERSIONS[-1:]
"""The newest; ``make soak`` runs the tests on every version."""


@pytest.fixture(scope="module", params=VERSIONS)
def server(request: pytest.FixtureRequest) -> Iterator[PrivateServer]:
    with private_server(KIND, version=request.param) as server:
        yield server


def on_each_version(test: Callable[..., None]) -> Callable[..., None]:
    """A test of what versions may do differently; the others are run on the newest one."""
    test.__dict__["on_each_version"] = True
    return test


@pytest.fixture(autouse=True)
def newest(request: pytest.FixtureRequest, server: PrivateServer) -> None:
    if "on_each_version" not in request.function.__dict__ and not server.place.version.startswith(VERSIONS[-1]):
        pytest.skip(f"it is tested on {VERSIONS[-1]}")


@pytest.fixture
def private(server: PrivateServer) -> Iterator[ServerControl]:
    """Control with the server's files."""
    it = control(server.target)
    before = it.snapshot()
    yield it
    it.restore(before)


@pytest.fixture
def foreign(server: PrivateServer) -> Target:
    """The same server as one that hdbkit did not start: all rights in it, none on its host."""
    return server.admin.with_(server_folder=None, may_restart=False)


@pytest.fixture
def by_sql(foreign: Target, private: ServerControl) -> ServerControl:
    """Control through SQL alone."""
    return control(foreign)


def test_a_reload_is_enough_where_the_server_says_so(private: ServerControl, server: PrivateServer) -> None:
    change = private.apply({"work_mem": "9MB", "synchronous_commit": "false", "wal_compression": "on"})
    assert change.applied_by is ApplyBy.RELOAD
    assert change.read_back == {"work_mem": "9MB", "synchronous_commit": "off", "wal_compression": "pglz"}
    assert shown(server.target, "work_mem") == str(9 * 1024)


@on_each_version
def test_a_restart_is_made_where_the_server_says_so(private: ServerControl, server: PrivateServer) -> None:
    change = private.apply({"shared_buffers": "64MB", "work_mem": "10MB"})
    assert change.applied_by is ApplyBy.RESTART
    assert change.read_back["shared_buffers"] == "64MB"
    assert shown(server.target, "shared_buffers") == "8192"


def test_a_value_that_stands_already_needs_no_restart(private: ServerControl) -> None:
    private.apply({"shared_buffers": "64MB"})
    assert private.apply({"shared_buffers": "65536kB"}).applied_by is ApplyBy.RELOAD


def test_settings_come_back_byte_for_byte_and_twice(private: ServerControl, server: PrivateServer) -> None:
    private.apply({"random_page_cost": "1.25"})
    content, before = server.settings_file.read_bytes(), private.snapshot()
    private.apply({"shared_buffers": "80MB", "random_page_cost": "3"})
    assert server.settings_file.read_bytes() != content
    for _ in range(2):
        private.restore(before)
        assert server.settings_file.read_bytes() == content
        assert server.settings_file.stat().st_mode & 0o777 == 0o600
        assert shown(server.target, "random_page_cost") == "1.25"
        assert shown(server.target, "shared_buffers") == "16384"


@pytest.mark.parametrize(
    ("changes", "reported"),
    [
        ({"work_mem": "12MB", "default_text_search_config": "no_such"}, "no_such"),
        ({"work_mem": "12MB", "data_directory": "/nowhere"}, "data_directory"),
    ],
)
def test_what_the_server_refuses_leaves_nothing_changed(
    private: ServerControl, server: PrivateServer, changes: dict[str, str], reported: str
) -> None:
    content = server.settings_file.read_bytes()
    with pytest.raises(ServerFailed, match=reported):
        private.apply(changes)
    assert server.settings_file.read_bytes() == content
    assert shown(server.target, "work_mem") == "4096"


@pytest.mark.parametrize(
    "changes", [{"shared_buffers": "4TB"}, {"shared_preload_libraries": "no_such_library"}], ids="-".join
)
def test_a_value_that_keeps_the_server_from_starting_is_undone(
    private: ServerControl, server: PrivateServer, changes: dict[str, str]
) -> None:
    content = server.settings_file.read_bytes()
    with pytest.raises(ServerFailed, match="the settings are as before"):
        private.apply(changes)
    assert server.running
    assert server.settings_file.read_bytes() == content
    assert shown(server.target, "shared_buffers") == "16384"


def test_a_server_that_was_left_stopped_with_a_bad_value_is_repaired(
    private: ServerControl, server: PrivateServer
) -> None:
    """As after a kill between setting and restarting."""
    before = private.snapshot()
    with server.settings_file.open("a") as file:
        file.write("shared_buffers = '4TB'\n")
    with pytest.raises(ServerFailed):
        server.restart()
    assert not server.running
    private.restore(before)
    assert shown(server.target, "shared_buffers") == "16384"


def test_of_two_that_start_it_at_once_one_waits_for_the_other(server: PrivateServer) -> None:
    server.stop()
    with ThreadPoolExecutor() as pool:
        list(pool.map(PrivateServer.start, [PrivateServer.attach(server.folder) for _ in range(2)]))
    assert server.running


def test_a_list_is_set_item_by_item_and_emptied(private: ServerControl) -> None:
    change = private.apply({"shared_preload_libraries": "plpgsql, plpgsql"})
    assert change.read_back == {"shared_preload_libraries": "plpgsql, plpgsql"}
    assert private.apply({"shared_preload_libraries": ""}).read_back == {"shared_preload_libraries": ""}


def test_a_value_is_only_a_value(private: ServerControl) -> None:
    odd = 'it\'s; \\ "odd" %s $1'
    assert private.apply({"cluster_name": odd}).read_back == {"cluster_name": odd}


@pytest.mark.parametrize(
    ("own", "words"),
    [("ROLE hdbkit", "the account's own setting"), ("DATABASE hdbkit", "the database's own setting")],
)
def test_an_own_setting_that_wins_is_named(
    private: ServerControl, server: PrivateServer, own: str, words: str
) -> None:
    execute(server.admin, f"ALTER {own} SET work_mem = '1MB'")
    try:
        with pytest.raises(ServerFailed, match=f"1MB, not 11MB: {words} takes precedence"):
            private.apply({"work_mem": "11MB"})
    finally:
        execute(server.admin, f"ALTER {own} RESET work_mem")
    assert private.settings()["work_mem"].value == "4096"


@on_each_version
def test_errors_are_reported_all_at_once_and_change_nothing(private: ServerControl, server: PrivateServer) -> None:
    content = server.settings_file.read_bytes()
    reported = private.problems(
        {"shared_bufers": ["1GB"], "work_mem": ["1MB", "1"], "block_size": ["1"], "fsync": ["on", "perhaps"]}
    )
    assert len(reported) == 4
    assert "Did you mean 'shared_buffers'?" in reported[0]
    assert "work_mem" in reported[1]
    assert "cannot be changed" in reported[2]
    assert "perhaps" in reported[3]
    assert server.settings_file.read_bytes() == content


def test_a_foreign_server_is_left_alone_unless_its_target_allows_changes(foreign: Target) -> None:
    refusing = control(foreign.with_(may_change_settings=False))
    assert "may_change_settings" in refusing.problems({"work_mem": ["1MB"]})[0]
    with pytest.raises(ServerFailed, match="may_change_settings"):
        refusing.apply({"work_mem": "1MB"})


def test_a_restart_is_refused_where_the_target_does_not_allow_it(
    by_sql: ServerControl, server: PrivateServer
) -> None:
    assert by_sql.problems({"work_mem": ["1MB"]}) == []
    assert "may_restart" in by_sql.problems({"shared_buffers": ["64MB"]})[0]
    forbidding = control(server.target.with_(may_restart=False))
    assert "may_restart" in forbidding.problems({"shared_buffers": ["64MB"]})[0]


@on_each_version
def test_through_sql_alone_settings_change_and_come_back(by_sql: ServerControl, server: PrivateServer) -> None:
    by_sql.apply({"random_page_cost": "1.5", "temp_tablespaces": "pg_default,pg_default"})
    before = by_sql.snapshot()
    assert before["entries"] == {"random_page_cost": "1.5", "temp_tablespaces": "pg_default, pg_default"}
    by_sql.apply({"random_page_cost": "2", "work_mem": "13MB", "temp_tablespaces": ""})
    assert shown(server.target, "work_mem") == str(13 * 1024)
    for _ in range(2):
        by_sql.restore(before)
        assert by_sql.snapshot() == before
        assert shown(server.target, "work_mem") == "4096"
        assert shown(server.target, "random_page_cost") == "1.5"


def restarted_by(*command: str) -> ControlSpec:
    return ControlSpec(commands=Commands(restart=command))


def test_a_restart_command_restarts_a_foreign_server(
    by_sql: ServerControl, foreign: Target, server: PrivateServer
) -> None:
    script = f"from hdbkit.servers import PrivateServer; PrivateServer.attach({str(server.folder)!r}).restart()"
    allowing = control(foreign.with_(may_restart=True, control=restarted_by(sys.executable, "-c", script)))
    before = allowing.snapshot()
    assert allowing.apply({"shared_buffers": "72MB"}).applied_by is ApplyBy.RESTART
    allowing.restore(before)
    assert shown(server.target, "shared_buffers") == "16384"
    failing = control(foreign.with_(may_restart=True, control=restarted_by("false")))
    with pytest.raises(ServerFailed, match="false failed with exit code 1"):
        failing.apply({"shared_buffers": "72MB"})


def test_a_server_that_stays_down_is_reported_with_what_to_remove_where_and_no_secret(
    by_sql: ServerControl,
    foreign: Target,
    private: ServerControl,
    server: PrivateServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(PostgreSQL, "server_process", lambda *_: None)  # as from another host
    execute(server.admin, "ALTER SYSTEM SET primary_conninfo = 'password=hush'")
    script = f"from hdbkit.servers import PrivateServer; PrivateServer.attach({str(server.folder)!r}).restart()"
    breaking = control(foreign.with_(may_restart=True, control=restarted_by(sys.executable, "-c", script)))
    assert isinstance(breaking, SqlControl)
    with pytest.raises(ServerDown) as failed:
        breaking.apply({"shared_preload_libraries": "no_such_library"})
    reported = str(failed.value)
    assert not server.running
    assert "shared_preload_libraries = no_such_library was not applied" in reported
    assert f"the server of {breaking._named} is down" in reported
    assert f"remove the lines of shared_preload_libraries from {server.settings_file}" in reported
    assert "hush" not in reported


def test_a_server_is_one_under_all_names_of_this_host(foreign: Target, server: PrivateServer) -> None:
    known = foreign.with_(password=SecretStr(password_of(foreign)))
    hosts = ("127.0.0.1", "localhost", str(server.place.sockets))
    names = {control(known.with_(host=host)).identity for host in hosts}
    assert len(names) == 1
    assert names.pop().startswith(f"{foreign.kind}://localhost:{foreign.port}/")
    with private_server(KIND) as other:
        assert control(other.admin.with_(server_folder=None)).identity != control(foreign).identity


def test_settings_of_one_server_are_not_restored_on_another(private: ServerControl) -> None:
    with pytest.raises(ServerFailed, match="/elsewhere"):
        private.restore({**private.snapshot(), "identity": "/elsewhere"})


def test_rest_is_reached_or_skipped_where_the_account_may_not(by_sql: ServerControl, server: PrivateServer) -> None:
    assert by_sql.maintain() > 0
    assert control(server.target.with_(server_folder=None)).maintain() == 0


def test_a_value_that_lets_no_one_connect_is_undone(
    private: ServerControl, by_sql: ServerControl, server: PrivateServer
) -> None:
    for it in (private, by_sql):
        with pytest.raises(ServerFailed, match="the settings are as before"):
            it.apply({"session_preload_libraries": "no_such_library"})
        assert shown(server.admin, "session_preload_libraries") == ""


@on_each_version
def test_data_come_back_as_they_were_kept(private: ServerControl, server: PrivateServer) -> None:
    assert private.can_restore_data
    execute(server.admin, "CREATE SCHEMA kept AUTHORIZATION hdbkit")
    execute(server.target, "CREATE TABLE kept.t (n integer); INSERT INTO kept.t VALUES (1)")
    idle = database(server.target).connect(server.target)  # a session in the way
    assert private.keep_data() > 0
    for _ in range(2):
        execute(server.target, "INSERT INTO kept.t VALUES (2); DROP TABLE IF EXISTS kept.other")
        assert private.restore_data() > 0
        execute(server.target, "DO $$ BEGIN ASSERT (SELECT sum(n) FROM kept.t) = 1; END $$")
    idle.close()
    private.drop_kept_data()
    private.drop_kept_data()
    with pytest.raises(ServerFailed, match="no database 'hdbkit_kept'"):
        private.restore_data()
    execute(server.target, "DROP SCHEMA kept CASCADE")


@on_each_version
@pytest.mark.parametrize(
    "killed_at",
    [
        "DROP DATABASE hdbkit WITH (FORCE)",
        "UPDATE pg_database SET datconnlimit = -2 WHERE datname = 'hdbkit'",  # what a drop begins with
    ],
)
def test_data_that_a_killed_server_left_half_replaced_are_restored(
    private: ServerControl, server: PrivateServer, killed_at: str
) -> None:
    private.keep_data()
    execute(server.maintenance, killed_at)
    assert private.apply({"work_mem": "5MB"}).read_back == {"work_mem": "5MB"}
    private.drop_kept_data()


def test_data_of_a_foreign_server_cannot_be_kept(by_sql: ServerControl) -> None:
    assert not by_sql.can_restore_data
    with pytest.raises(ServerFailed):
        by_sql.keep_data()
