"""During a run the server is stopped, restarted, killed or frozen, or has no connections or disk space left."""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import psycopg
import pytest

import hdbkit
from hdbkit.api import Result, Running
from hdbkit.api import result as result_of
from hdbkit.config import Load, TprocCLoad
from hdbkit.errors import RunFailed
from hdbkit.results.manifest import Status
from hdbkit.servers import PrivateServer
from tests.run.faults import (
    ask,
    client_pids,
    full,
    kept_orders,
    kill_server,
    rows,
    schema_orders,
    server_processes,
    sessions_of,
    signal_all,
    small_file_system,
    supervisor_of,
    until,
    wait_for,
)
from tests.run.warehouse import built_server

USERS = 4
SOME = TprocCLoad(virtual_users=USERS, rampup_s=0.3, duration_s=5, counter_interval_s=0.25, keep_order_ids=True)
ENDLESS = SOME.model_copy(update={"duration_s": 600})
SESSIONS = ENDLESS.model_copy(update={"virtual_users": 1, "sessions_per_user": USERS})
"""The same sessions in one client process, where they overlap."""
BRACKET = "schema's count bracketed by the clients"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PrivateServer]:
    """A durable server with a schema of one warehouse, that every test leaves running.

    Each commit waits a little, so that the clients leave some of this host to others.
    """
    with built_server(tmp_path_factory, {"fsync": "on", "synchronous_commit": "on"}) as server:
        ask(server, "ALTER SYSTEM SET commit_delay = 10000")
        ask(server, "ALTER SYSTEM SET commit_siblings = 0")
        ask(server, "SELECT pg_reload_conf()")
        ask(server, "CHECKPOINT")  # a stop in the middle of a run need not write it all
        yield server


@pytest.fixture(autouse=True)
def running_again(server: PrivateServer) -> Iterator[None]:
    yield
    for run_id in hdbkit.runs()["run_id"]:
        hdbkit.attach(run_id).stop(at_once=True)
    server.start()


def measuring(server: PrivateServer, load: Load = SOME) -> Running:
    running = hdbkit.start(server.target, load=load)
    wait_for(running, Status.MEASURING)
    time.sleep(1)
    return running


def client_cpu_s(running: Running) -> float:
    return sum(sum(psutil.Process(pid).cpu_times()[:2]) for pid in client_pids(running))


def stopped(running: Running) -> Result:
    """Let it work again for two seconds, and stop it."""
    view = running.live()
    until(lambda: view.tick().operations_per_s > 20, "it works again")
    view.close()
    time.sleep(2)
    running.stop()
    return running.wait()


def assert_survived(result: Result, clients: int = USERS) -> None:
    """Every client lived until the run was stopped, and it worked again at the end."""
    assert result.manifest.status is Status.STOPPED
    assert list(result.table("clients")["ended"]) == ["done"] * clients
    assert result.checks.set_index("name").loc[BRACKET, "passed"], result.checks.to_string()
    (again,) = rows(
        result,
        "select count(*) from {t} "
        "where outcome = 0 and t_start_us > (select max(t_start_us) from {t} where outcome = 2)",
    )
    assert again[0] > 20


def assert_on_the_timeline(result: Result, error_class: str) -> None:
    """The failures have their class, their text, and their second."""
    errors = result.table("errors")
    assert error_class in set(errors["error_class"])
    assert (errors["text"].str.len() > 10).all()
    seconds = result.table("seconds").groupby("second")["failed"].sum()
    assert 0 < (seconds > 0).sum() < len(seconds)
    assert result.summary.errors[error_class] == result.summary.failed == seconds.sum()


@pytest.mark.parametrize("load", [ENDLESS, SESSIONS], ids=["processes", "overlapping sessions"])
def test_a_server_restarted_in_the_window(server: PrivateServer, load: Load) -> None:
    """The outage is on the timeline, and no new order is lost or counted twice."""
    before = schema_orders(server)
    running = measuring(server, load)
    server.stop()
    until(lambda: not server.running, "it is down")
    time.sleep(0.5)
    before_s = client_cpu_s(running)
    time.sleep(1)
    assert client_cpu_s(running) - before_s < 0.1 * USERS, "the clients spin"
    server.start()
    result = stopped(running)
    assert_survived(result, load.virtual_users)
    assert_on_the_timeline(result, "connection_lost")
    kept, there = kept_orders(result), schema_orders(server) - before
    assert len(kept) > 20
    assert kept - there == set()
    assert len(there - kept) <= USERS, "committed, but the answer was lost with the server"
    (outage,) = result.summary.outages
    assert outage.end_s - outage.start_s > 1.5
    assert 0 < outage.lost <= result.summary.failed, "some may have been lost before the last commit"
    assert "(outage)" in result.charts()["throughput"].alternative
    connecting = result.table("errors").query("operation == '(connecting)'")
    assert connecting["text"].str.contains("nothing listens on").any()
    assert USERS <= connecting["count"].sum() < 100
    (at_s,) = result.summary.server_restarts_s
    assert any(f"was restarted during the run, {at_s:.0f} s after its start" in one for one in result.warnings)
    assert "restart of the server (1, " in result.charts()["throughput"].alternative


@pytest.mark.long
def test_a_server_that_is_away_at_the_start_of_the_window_opens_it_later(server: PrivateServer) -> None:
    load = SOME.model_copy(update={"rampup_s": 2, "duration_s": 4})
    running = hdbkit.start(server.target, load=load)
    wait_for(running, Status.RAMPUP)
    kill_server(server)
    time.sleep(3)
    server.start()
    result = running.wait()
    clock = result.manifest.clock
    assert clock is not None
    assert clock.window_start_us is not None
    assert clock.window_start_us > 2_900_000
    assert result.manifest.status is Status.DONE
    assert result.summary.window_s == pytest.approx(4, abs=1)
    assert result.checks.set_index("name").loc[BRACKET, "passed"]


def test_a_server_that_stays_away_fails_the_run_and_its_last_count_closes_the_window(server: PrivateServer) -> None:
    running = measuring(server, SOME.model_copy(update={"duration_s": 6}))
    kill_server(server)
    with pytest.raises(RunFailed, match=r"counters could not be read \(end\) for 10 s: cannot connect to .*nothing"):
        running.wait()
    result = result_of(running.run_id)
    assert 0.5 < result.summary.window_s < 5.5
    assert result.metric_value
    checks = result.checks.set_index("name")
    assert checks.loc[BRACKET, "passed"]
    assert "the last count before the run was interrupted" in checks.loc["window's edges read at once", "detail"]
    assert set(result.table("errors")["error_class"]) == {"connection_lost"}


@pytest.mark.long
def test_a_server_frozen_for_5_seconds(server: PrivateServer) -> None:
    running = measuring(server, ENDLESS)
    frozen = server_processes(server)
    signal_all(frozen, signal.SIGSTOP)
    time.sleep(1)
    before_s = client_cpu_s(running)
    time.sleep(4)
    spent_s = client_cpu_s(running) - before_s
    signal_all(frozen, signal.SIGCONT)
    result = stopped(running)
    assert spent_s < 0.1 * USERS, "the clients spin"
    assert result.summary.failed == 0
    assert list(result.table("clients")["ended"]) == ["done"] * USERS
    assert result.checks.set_index("name").loc[BRACKET, "passed"]
    assert rows(result, "select count(*) from {t} where latency_us > 4500000") == [(USERS,)]
    busy = set(result.table("seconds")["second"])
    assert len(set(range(max(busy))) - busy) >= 3  # seconds without a single end


@pytest.mark.alone
def test_a_server_frozen_at_the_end_of_the_window_makes_its_edge_doubtful(server: PrivateServer) -> None:
    running = measuring(server, SOME.model_copy(update={"duration_s": 3, "counter_interval_s": 60}))
    time.sleep(0.2)
    frozen = server_processes(server)
    signal_all(frozen, signal.SIGSTOP)
    time.sleep(4)
    signal_all(frozen, signal.SIGCONT)
    result = running.wait()
    assert result.manifest.status is Status.DONE
    assert not result.checks.set_index("name").loc["window's edges read at once", "passed"]


def test_a_server_out_of_connections(server: PrivateServer) -> None:
    user = server.target.user
    running = measuring(server, ENDLESS)
    ask(server, f"ALTER ROLE {user} CONNECTION LIMIT 0")
    try:
        ask(server, f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '{user}'")
        time.sleep(0.3)
        before_s = client_cpu_s(running)
        time.sleep(1)
        assert client_cpu_s(running) - before_s < 0.1 * USERS, "the clients spin"
    finally:
        ask(server, f"ALTER ROLE {user} CONNECTION LIMIT -1")
    result = stopped(running)
    assert_survived(result)
    assert_on_the_timeline(result, "connection_lost")
    connecting = result.table("errors").query("operation == '(connecting)'")
    assert connecting["text"].str.contains("too many connections for role").any()
    failed = result.checks.set_index("name").loc["no transaction failed"]
    assert not failed["passed"]
    assert re.match(r"\d+ logins? refused, from \d.*too many connections", failed["detail"])


@pytest.fixture
def small_disk(server: PrivateServer) -> Iterator[Path]:
    """The folder of a small file system on which the measured database lies."""
    name = server.target.database
    with small_file_system(server, "512m") as mount:
        place = mount / "space"
        place.mkdir()
        server.place.give(place)
        ask(server, f"CREATE TABLESPACE small LOCATION '{place}'")
        ask(server, f"ALTER DATABASE {name} SET TABLESPACE small")
        yield mount
        ask(server, f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'")
        ask(server, f"ALTER DATABASE {name} SET TABLESPACE pg_default")
        ask(server, "DROP TABLESPACE small")


@pytest.fixture
def small_log(server: PrivateServer) -> Iterator[Path]:
    """The folder of a small file system on which the server's write-ahead log lies; it ends the server when full."""
    log = server.folder / "data" / "pg_wal"
    with small_file_system(server, "640m") as mount:
        server.stop()
        subprocess.run(["cp", "-a", log, mount / "log"], check=True)
        shutil.rmtree(log)
        log.symlink_to(mount / "log")
        server.start()
        yield mount
        server.stop()
        log.unlink()
        subprocess.run(["cp", "-a", mount / "log", log], check=True)


def test_a_server_out_of_disk(server: PrivateServer, small_disk: Path) -> None:
    running = measuring(server, ENDLESS)
    with full(small_disk):
        time.sleep(2.5)
        before_s = client_cpu_s(running)
        time.sleep(1)
        spent_s = client_cpu_s(running) - before_s
    result = stopped(running)
    assert spent_s < 0.5 * USERS, "the clients spin"
    assert result.summary.errors["resources"] == result.summary.failed > 0
    errors = result.table("errors").query("error_class == 'resources'")
    assert errors["text"].str.contains("could not").all()
    assert result.checks.set_index("name").loc[BRACKET, "passed"]


def has_no_log_left(server: PrivateServer) -> bool:
    """Whether the server has ended; until then, it goes on to the next file of its log."""
    with suppress(psycopg.OperationalError):
        ask(server, "SELECT pg_switch_wal()")
    return not server.running


@pytest.mark.long
def test_a_server_whose_log_has_no_disk_loses_no_acknowledged_new_order(
    server: PrivateServer, small_log: Path
) -> None:
    before = schema_orders(server)
    running = measuring(server, ENDLESS)
    with full(small_log):
        until(lambda: has_no_log_left(server), "the server has ended", timeout_s=200)
    server.start()
    result = stopped(running)
    kept, there = kept_orders(result), schema_orders(server) - before
    assert len(kept) > 20
    assert kept - there == set()
    assert len(there - kept) <= USERS
    assert {"connection_lost"} <= set(result.table("errors")["error_class"])


def test_every_acknowledged_new_order_outlives_a_killed_server(server: PrivateServer) -> None:
    before = schema_orders(server)
    running = measuring(server, ENDLESS)
    kill_server(server)
    time.sleep(0.5)
    server.start()
    result = stopped(running)
    assert_survived(result)
    kept, there = kept_orders(result), schema_orders(server) - before
    assert len(kept) > 20
    assert kept - there == set()
    assert len(there - kept) <= USERS  # committed, but the acknowledgement was lost with the server
    assert result.summary.engine_tpm is None or result.summary.engine_tpm > 0  # a crash sets counters back


def test_after_a_killed_supervisor_schema_and_parquet_hold_the_same_new_orders(server: PrivateServer) -> None:
    before = schema_orders(server)
    running = measuring(server, ENDLESS)
    time.sleep(1)
    supervisor = supervisor_of(running)
    supervisor.kill()
    until(lambda: running.status is Status.ABANDONED, "it is abandoned")
    result = running.recover()
    until(lambda: sessions_of(server) == 0, "the server has noticed")
    kept, there = kept_orders(result), schema_orders(server) - before
    assert len(kept) > 20
    assert kept - there == set()
    assert len(there - kept) <= USERS  # those in flight
    assert result.metric_value
    assert result.checks.set_index("name").loc[BRACKET, "passed"]
