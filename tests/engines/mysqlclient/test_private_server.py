"""Settings of MariaDB and MySQL: set at once or by a restart, verified by a client, restored by file and value."""

from __future__ import annotations

import os
import shutil
import signal
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import hdbkit
from hdbkit.config import Commands, ControlSpec, Load, Target, TprocCSpec
from hdbkit.config.load import Waits
from hdbkit.contracts import SERVER, ApplyBy, ServerControl
from hdbkit.databases import database, sql_session
from hdbkit.errors import InputError, ServerFailed
from hdbkit.execution.waits import SET_INSTRUMENTS
from hdbkit.processes import is_alive
from hdbkit.results.manifest import Status
from hdbkit.servers import PrivateServer, control, find_binaries, launcher, private_server
from hdbkit.servers.sql_control import IN_MEMORY
from hdbkit.workloads import workload
from tests.conftest import execute, login_options, shown

KINDS = sorted({one.kind for one in find_binaries() if one.kind in ("mariadb", "mysql")})
pytestmark = pytest.mark.skipif(not KINDS, reason="no server of MariaDB or MySQL here; see: hdbkit doctor")
FLUSH, POOL, METHOD = "innodb_flush_log_at_trx_commit", "innodb_buffer_pool_size", "innodb_flush_method"
WAITING = Load(rampup_s=0, duration_s=1.5, waits_hz=50, waits=Waits.FULL)
OTHER_METHOD = {"mariadb": "fsync", "mysql": "O_DIRECT"}


@pytest.fixture(scope="module", params=KINDS)
def server(request: pytest.FixtureRequest) -> Iterator[PrivateServer]:
    with private_server(request.param) as server:
        yield server


@pytest.fixture
def private(server: PrivateServer) -> Iterator[ServerControl]:
    """Control with the server's files."""
    it = control(server.target)
    before = it.snapshot()
    yield it
    it.restore(before)


@pytest.fixture
def once(server: PrivateServer) -> None:
    """For what is not the engine's own and takes several starts: on the quicker engine alone."""
    if server.place.kind != KINDS[0]:
        pytest.skip(f"nothing in it is the engine's; it is tested on {KINDS[0]}")


@pytest.fixture
def foreign(server: PrivateServer) -> Target:
    """The same server as one that hdbkit did not start: all rights in it, none on its host."""
    return server.admin.with_(options=login_options(server.admin), server_folder=None, may_restart=False)


@pytest.fixture
def by_sql(foreign: Target, private: ServerControl) -> ServerControl:
    """Control through SQL alone."""
    return control(foreign)


def state(snapshot: dict[str, Any]) -> dict[str, Any]:
    """What a snapshot restores; a value that was set and reset stays one that was set while the server runs."""
    return {name: one for name, one in snapshot.items() if name != IN_MEMORY}


def test_no_other_server_that_starts_removes_its_temporary_tables(server: PrivateServer) -> None:
    assert shown(server.target, "tmpdir") == str(server.folder / "tmp")


def test_values_are_reported_in_their_usual_units(private: ServerControl, server: PrivateServer) -> None:
    change = private.apply({FLUSH: "2", POOL: "256M", "innodb_io_capacity": "1k", "max_heap_table_size": "32MB"})
    assert change.applied_by is ApplyBy.RELOAD
    assert change.read_back == {
        FLUSH: "2", POOL: str(256 * 1024**2), "innodb_io_capacity": "1024", "max_heap_table_size": str(32 * 1024**2),
    }  # fmt: skip
    assert shown(server.target, FLUSH) == "2"


@pytest.mark.usefixtures("once")
def test_settings_come_back_by_file_and_by_value_with_a_restart_where_one_is_needed(
    private: ServerControl, server: PrivateServer
) -> None:
    private.maintain()  # it sets the maximum of the I/O capacity, which then is a value in memory
    private.apply({FLUSH: "0"})
    content, before = server.settings_file.read_bytes(), private.snapshot()
    change = private.apply({METHOD: OTHER_METHOD[server.place.kind], FLUSH: "2", "innodb_io_capacity": "5000"})
    assert change.applied_by is ApplyBy.RESTART
    assert change.read_back[METHOD] == OTHER_METHOD[server.place.kind]
    for _ in range(2):
        private.restore(before)
        assert server.settings_file.read_bytes() == content
        assert state(private.snapshot()) == state(before)
    assert shown(server.target, FLUSH) == "0"


@pytest.mark.usefixtures("once")
def test_a_value_that_keeps_the_server_from_starting_is_undone(private: ServerControl, server: PrivateServer) -> None:
    before = private.snapshot()
    with pytest.raises(ServerFailed, match="the settings are as before"):
        private.apply({"innodb_temp_data_file_path": "nonsense"})
    assert server.running
    assert state(private.snapshot()) == state(before)


def test_what_the_server_changes_by_itself_is_not_taken_for_set(private: ServerControl) -> None:
    before = private.snapshot()
    with pytest.raises(ServerFailed, match="the settings are as before"):
        private.apply({"innodb_io_capacity": "200", "max_allowed_packet": "1048577"})
    assert state(private.snapshot()) == state(before)


@pytest.mark.usefixtures("once")
def test_a_server_that_was_left_stopped_with_a_bad_value_is_repaired(
    private: ServerControl, server: PrivateServer
) -> None:
    before = private.snapshot()
    with server.settings_file.open("a") as file:
        file.write("no_such_setting = 1\n")
    with pytest.raises(ServerFailed, match="no_such_setting"):
        server.restart()
    private.restore(before)
    assert state(private.snapshot()) == state(before)


def test_errors_are_reported_all_at_once(private: ServerControl) -> None:
    reported = private.problems({"innodb_buffer_pool_sise": ["1G"], POOL: ["1X", "64M", "1"], FLUSH: ["9", "1G"]})
    assert len(reported) == 5
    assert f"Did you mean '{POOL}'?" in reported[0]
    assert "K, M, G" in reported[1]
    assert "between" in reported[2]


def test_what_the_servers_program_refuses_is_known_without_a_start(
    private: ServerControl, server: PrivateServer
) -> None:
    starter = launcher(server.place.kind)
    with starter.trial(starter.choose(None, None), {}) as refused:
        assert "no_such_setting" in refused({"thread_stack": "320K", "no_such_setting": "1"})
        assert "adjusted to" in refused({"thread_stack": "1"})
        assert refused({"thread_stack": "320K"}) == ""
    assert private.refused([{"thread_stack": "320K"}, {FLUSH: "0"}, {}]) == []
    for name in ("port", "socket", "datadir", "skip_name_resolve"):
        assert private.problems({name: ["1"]})[0].startswith(f"{name} is never changed by hdbkit: ")


def test_through_sql_alone_settings_change_at_once_and_come_back(
    by_sql: ServerControl, server: PrivateServer
) -> None:
    by_sql.apply({FLUSH: "2"})
    before = by_sql.snapshot()
    by_sql.apply({FLUSH: "0", POOL: "256M", "innodb_io_capacity": "400"})
    assert shown(server.target, FLUSH) == "0"
    for _ in range(2):
        by_sql.restore(before)
        assert state(by_sql.snapshot()) == state(before)
    assert "may_restart" in by_sql.problems({METHOD: [OTHER_METHOD[server.place.kind]]})[0]


def test_what_is_set_through_sql_where_the_server_keeps_it_outlives_a_restart(
    by_sql: ServerControl, foreign: Target, server: PrivateServer
) -> None:
    if server.place.kind == "mariadb":
        pytest.skip("MariaDB keeps nothing that is set through SQL")
    script = f"from hdbkit.servers import PrivateServer; PrivateServer.attach({str(server.folder)!r}).restart()"
    allowing = control(
        foreign.with_(
            may_restart=True, control=ControlSpec(commands=Commands(restart=(sys.executable, "-c", script)))
        )
    )
    before = allowing.snapshot()
    with pytest.raises(ServerFailed, match="the settings are as before"):
        allowing.apply({"thread_stack": "16T"})
    assert state(allowing.snapshot()) == state(before), (
        "a server that did not start is repaired from the file that it wrote"
    )
    change = allowing.apply({METHOD: "O_DIRECT", FLUSH: "2"})
    assert change.applied_by is ApplyBy.RESTART
    assert shown(server.target, FLUSH) == "2"
    allowing.restore(before)
    assert state({**allowing.snapshot(), "file": before["file"]}) == state(before), (
        "an empty file of the server's is left"
    )


def test_an_ordinary_account_changes_nothing_and_is_reported_so(server: PrivateServer) -> None:
    ordinary = control(server.target.with_(options=login_options(server.target), server_folder=None))
    with pytest.raises(ServerFailed, match=FLUSH):
        ordinary.apply({FLUSH: "2"})
    assert ordinary.maintain() == 0
    assert shown(server.target, FLUSH) == "1"


def test_an_account_that_may_not_analyze_is_given_the_grant(server: PrivateServer) -> None:
    target = server.target
    execute(server.maintenance, "CREATE USER lim@'127.0.0.1' IDENTIFIED BY 'secret'")
    execute(server.maintenance, f"GRANT SELECT ON {target.database}.* TO lim@'127.0.0.1'")
    limited = target.with_(user="lim", password="secret", server_folder=None, options=login_options(target))
    try:
        schema = database(target).schema(limited, workload(TprocCSpec(warehouses=1)))
        with closing(schema), pytest.raises(InputError, match=r"omit --analyze, or run as .*: GRANT INSERT ON"):
            schema.analyze()
    finally:
        execute(server.maintenance, "DROP USER lim@'127.0.0.1'")


def test_the_server_itself_names_the_privileges_that_an_account_lacks(server: PrivateServer) -> None:
    ordinary = control(
        server.target.with_(options=login_options(server.target), server_folder=None, may_restart=False)
    )
    tried = {FLUSH: "2", "max_connections": "150"}
    wanted = {name: [text] for name, text in tried.items()}
    (problem,) = ordinary.problems(wanted)
    grants = problem.partition(f"in database {server.target.database}: ")[2].partition("; or name")[0].split("; ")
    try:
        for grant in grants:
            assert grant.startswith("GRANT ") and " ON *.* TO 'hdbkit'@'" in grant
            execute(server.maintenance, grant)
        before = ordinary.snapshot()
        assert ordinary.problems(wanted) == []
        assert ordinary.apply(tried).read_back == tried
        assert ordinary.apply({POOL: "153597K"}).rounded == {POOL}, "servers round it to their chunks"
        ordinary.restore(before)
        assert shown(server.target, FLUSH) == "1"
    finally:
        for grant in grants:
            execute(server.maintenance, grant.replace("GRANT", "REVOKE").replace(" TO ", " FROM "))


def test_rest_leaves_nothing_undone_and_every_setting_as_it_was(
    private: ServerControl, server: PrivateServer
) -> None:
    execute(server.target, "CREATE TABLE t (n int PRIMARY KEY, x int)")
    execute(server.target, "INSERT INTO t SELECT seq, 0 FROM (SELECT 1 AS seq UNION SELECT 2 UNION SELECT 3) AS s")
    execute(server.target, "UPDATE t SET x = x + 1")
    before = private.snapshot()
    seen: list[dict[str, float]] = []
    while not seen or any(seen[-1].values()):
        assert len(seen) < 20, seen
        assert private.maintain() > 0
        seen.append(left_undone(server))
    assert state(private.snapshot()) == state(before)
    execute(server.target, "DROP TABLE t")


def left_undone(server: PrivateServer) -> dict[str, float]:
    """What rest leaves; a server may write statistics of its own in between, so it is looked at more than once."""
    session = database(server.place.kind).connect(server.admin)
    left = {str(what): float(amount) for what, amount in session.ask("rest_left")}
    session.close()
    return left


@pytest.mark.usefixtures("once")
def test_data_come_back_as_they_were_kept_and_settings_stay(private: ServerControl, server: PrivateServer) -> None:
    private.apply({FLUSH: "2", "sort_buffer_size": "1M"})
    execute(server.target, "CREATE TABLE t (n integer)")
    execute(server.target, "INSERT INTO t VALUES (1)")
    assert private.keep_data() > 0
    execute(server.target, "INSERT INTO t VALUES (2)")
    execute(server.target, "CREATE TABLE other (n integer)")
    assert private.restore_data() > 0
    assert shown(server.target, FLUSH) == "2"
    execute(server.target, "CREATE TABLE other (n integer)")  # it is gone
    execute(server.target, "ALTER TABLE t ADD UNIQUE (n), ADD CHECK (n = 1)")
    private.drop_kept_data()
    private.drop_kept_data()
    with pytest.raises(ServerFailed, match="no kept data"):
        private.restore_data()
    execute(server.target, "DROP TABLE t, other")


@pytest.mark.usefixtures("once")
@pytest.mark.parametrize("first", ["settings", "data"])
def test_a_folder_that_a_killed_restoring_left_away_is_put_back(
    private: ServerControl, server: PrivateServer, first: str
) -> None:
    before = private.snapshot()
    private.keep_data()
    server.stop()
    shutil.copytree(server.place.data, server.folder / "data-fresh")
    for path in [server.folder / "data-fresh", *(server.folder / "data-fresh").rglob("*")]:
        server.place.give(path)
    server.place.data.rename(server.folder / "data-old")
    (server.folder / "data-kept.new-begun").mkdir()
    if first == "settings":
        private.restore(before)
        assert server.running
    private.restore_data()
    assert server.running
    private.drop_kept_data()
    assert {path.name for path in server.folder.glob("data*")} == {"data"}


def test_data_of_a_foreign_server_cannot_be_kept(by_sql: ServerControl) -> None:
    assert not by_sql.can_restore_data
    with pytest.raises(ServerFailed):
        by_sql.keep_data()


@pytest.mark.parametrize("kind", KINDS)
def test_a_folder_or_program_that_the_environment_names_comes_first(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    starter = launcher(kind)
    folder = starter.choose(None, None).folder
    for named in (folder, folder / starter.program):
        monkeypatch.setenv("HDBKIT_MYSQLD", str(named))
        first = starter.find()[0]
        assert (first.folder, first.source) == (folder, "named")
    monkeypatch.setenv("HDBKIT_MYSQLD", "/nowhere")
    assert starter.choose(None, None).source != "named"
    with pytest.raises(InputError, match="HDBKIT_MYSQLD"):
        starter.choose("1.0", None)


@pytest.fixture
def sleeping(tmp_path: Path) -> Path:
    """A workload whose operations wait in the server."""
    (tmp_path / "workload.yaml").write_text("name: sleeping\noperations: {sleep: {}}\n")
    (tmp_path / "statements.sql").write_text("-- name: sleep\nSELECT SLEEP(0.01);\n")
    return tmp_path


def recorded(server: PrivateServer) -> dict[tuple[str, ...], int]:
    """What the server records of waits: each instrument and consumer, whether it is on, and timed."""
    with closing(sql_session(server.admin)) as session:
        found = {}
        for table in ("instruments", "consumers"):
            session.connection.query(f"SELECT * FROM performance_schema.setup_{table}")  # type: ignore[attr-defined]
            rows = session.connection.store_result().fetch_row(0)  # type: ignore[attr-defined]
            found |= {row: number for number, row in enumerate(rows)}
        return found


def watched_while_others_run(server: PrivateServer, sleeping: Path) -> None:
    """What is recorded for a watch is left alone by a run, and reported when it was turned off."""
    before = recorded(server)
    with ThreadPoolExecutor(1) as thread:
        watched = thread.submit(hdbkit.watch, server.target, WAITING.with_(duration_s=12))
        while recorded(server) == before:
            time.sleep(0.05)
        beside = hdbkit.run(server.target, sleeping, WAITING.with_(duration_s=0.2, waits=Waits.BASIC))
        assert not any("was killed" in one for one in beside.manifest.warnings)
        assert recorded(server) != before
        with closing(database(server.target).connect(server.admin, SERVER)) as session:
            session.ask(SET_INSTRUMENTS, enabled="NO", names="events_waits_current")
        assert any("the server stopped recording some of it" in one for one in watched.result().manifest.warnings)


def test_what_is_recorded_of_waits_for_a_run_is_as_before_also_when_it_is_killed(
    private: ServerControl, server: PrivateServer, foreign: Target, sleeping: Path, results: Path
) -> None:
    if server.place.kind == "mariadb":
        with pytest.raises(InputError, match="performance_schema is off; set performance_schema=ON"):
            hdbkit.watch(server.target, WAITING)
        private.apply({"performance_schema": "ON"})
    plain = foreign.with_(user=server.target.user)
    with pytest.raises(InputError, match=r"hdbkit may not sample them .* name another in .* control\.user"):
        hdbkit.watch(plain, WAITING)
    assert not list(results.glob("*"))
    before = recorded(server)
    found = hdbkit.run(server.target, sleeping, WAITING).summary.waits
    assert recorded(server) == before
    assert found is not None and found.samples <= 14, "InnoDB lists transactions anew if nobody asked for 0.1 s"
    assert any("Item_func_sleep" in one.event for one in found.waits)

    killed = hdbkit.start(server.target, sleeping, WAITING.with_(duration_s=60))
    while killed.status is not Status.MEASURING:
        time.sleep(0.05)
    assert recorded(server) != before
    pid = killed.manifest.supervisor_pid or 0
    os.kill(pid, signal.SIGKILL)
    while is_alive(pid):
        time.sleep(0.01)
    with pytest.raises(InputError, match=f"undo them first: hdbkit recover {killed.run_id}"):
        hdbkit.result(killed.run_id).remove()
    after = hdbkit.run(server.target, sleeping, WAITING.with_(duration_s=0.2, waits=Waits.BASIC))
    assert any(f"run {killed.run_id} was killed; " in one for one in after.manifest.warnings)
    assert recorded(server) == before
    watched_while_others_run(server, sleeping)
    assert recorded(server) == before
