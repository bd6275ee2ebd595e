"""Faults that a run causes itself: what they do, what the result says, and that nothing stays broken."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

import hdbkit
from hdbkit.api import Running
from hdbkit.config import Load
from hdbkit.errors import InputError, RunFailed
from hdbkit.execution.folder_setup import FAULTS
from hdbkit.results.manifest import Status
from hdbkit.servers import PrivateServer
from tests.run.conftest import NullTarget
from tests.run.faults import (
    SOME,
    ask,
    check_short_faults,
    folder_of,
    gone,
    passed,
    rows,
    run_with,
    server_processes,
    supervisor_of,
    until,
)
from tests.run.file_systems import own_file_system
from tests.run.warehouse import built_server


@pytest.fixture(scope="module")
def disk() -> Iterator[Path | None]:
    """The file system of the server alone; None where it cannot be mounted."""
    with own_file_system() as place:
        yield place


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, disk: Path | None) -> Iterator[PrivateServer]:
    with built_server(tmp_path_factory, {}, disk and disk / "server") as server:
        ask(server, "CHECKPOINT")
        yield server


def answers(server: PrivateServer) -> bool:
    with suppress(Exception):
        return bool(ask(server, "SELECT 1"))
    return False


def test_each_fault_has_its_effect_and_no_acknowledged_commit_is_lost(server: PrivateServer) -> None:
    faults = (
        "delay network at 0.5 s for 0.7 s by 60 ms; cut network at 2 s for 0.8 s; reset network at 3.5 s; "
        "kill client at 4 s; kill server at 5 s for 0.5 s"
    )
    result = run_with(server, faults)
    assert [line.fault for line in result.manifest.faults] == faults.split("; ")
    delayed, cut, reset, client, killed = result.summary.faults
    line = result.manifest.faults[0]
    within = f"t_start_us >= {line.effective_us} and t_start_us + latency_us < {line.undo_us}"
    ((n, shortest_us),) = rows(result, f"select count(*), min(latency_us) from {{t}} where {within}")
    assert n > 0
    assert shortest_us >= 60_000
    assert 0.4 <= cut.outage_s <= cut.first_success_after_s  # of 0.8 s; a slow host begins late
    assert (delayed.errors, cut.errors, client.errors) == ({}, {}, {})
    assert reset.errors == {"connection_lost": 4}
    assert killed.errors["connection_lost"] >= 3
    assert killed.outage_s > 0.2
    assert killed.lowest_rate < killed.rate_before
    assert passed(result, "faults caused")
    assert passed(result, "acknowledged commits kept")
    for disturbed in ("no transaction failed", "clients ended as planned", "Little's law", "steady state"):
        assert passed(result, disturbed) is not False, result.checks.to_string()
    assert result.manifest.software["client_path"].endswith("through the proxy of network faults")
    assert "Kill server at 5 s for 0.5 s: " in result.charts()["faults"].alternative
    assert "no acknowledged commit was lost" in result.report().read_text()


@pytest.mark.long
def test_a_disk_accepts_no_writes_for_a_while(server: PrivateServer, disk: Path | None) -> None:
    if disk is None:
        pytest.skip("only root may mount and freeze a file system, and mkfs.ext4 makes it")
    result = run_with(server, "pause disk at 0.4 s for 0.8 s", duration_s=3)
    (effect,) = result.summary.faults
    assert effect.outage_s >= 0.4, effect  # of 0.8 s; a slow host begins late
    assert result.summary.failed == 0
    assert passed(result, "faults caused")
    assert passed(result, "acknowledged commits kept")
    (disk / "written").touch()


@pytest.mark.long
def test_a_short_pause_and_a_short_cut_lose_no_connection(server: PrivateServer) -> None:
    check_short_faults(server)


@pytest.mark.long
def test_commits_that_a_server_acknowledged_and_lost_are_counted(server: PrivateServer) -> None:
    """It acknowledges them before they are written, and writes them every ten seconds."""
    for setting in ("synchronous_commit = off", "wal_writer_delay = '10s'", "wal_writer_flush_after = '1GB'"):
        ask(server, f"ALTER SYSTEM SET {setting}")
    ask(server, "SELECT pg_reload_conf()")
    try:
        result = run_with(server, "kill server at 1 s", duration_s=3)
    finally:
        ask(server, "ALTER SYSTEM RESET ALL")
        ask(server, "SELECT pg_reload_conf()")
    assert result.summary.lost_commits > 0
    assert passed(result, "acknowledged commits kept") == False  # noqa: E712  NumPy's
    assert f"{result.summary.lost_commits:,} acknowledged commit" in result.checks.to_string()


def interrupted(server: PrivateServer, fault: str) -> Running:
    """A run whose fault is in effect."""
    load = SOME.model_copy(update={"fault": fault, "duration_s": 600})
    running = hdbkit.start(server.target, load=load)
    until(lambda: "effective" in noted(running), "the fault is in effect")
    return running


def noted(running: Running) -> list[str]:
    path = folder_of(running).spools / FAULTS
    return [json.loads(line)["event"] for line in path.read_text().splitlines()] if path.is_file() else []


def injector_of(running: Running) -> psutil.Process:
    children = supervisor_of(running).children()
    return next(one for one in children if any("hdbkit.faults.injector" in word for word in one.cmdline()))


def test_a_fault_is_undone_when_its_supervisor_is_killed(server: PrivateServer) -> None:
    running = interrupted(server, "pause server at 0.3 s for 60 s")
    supervisor_of(running).kill()
    until(lambda: answers(server), "the server is back")


@pytest.mark.long
def test_only_one_run_at_a_time_disturbs_a_server_until_its_last_fault_is_undone(server: PrivateServer) -> None:
    running = interrupted(server, "pause server at 0.3 s for 60 s")
    supervisor, injector = supervisor_of(running), injector_of(running)
    load = SOME.model_copy(update={"fault": "pause server at 1 s for 1 s"})
    injector.suspend()
    try:
        supervisor.kill()
        until(lambda: running.status is Status.ABANDONED, "the run is abandoned")
        for one in server_processes(server):
            one.resume()
        with pytest.raises(InputError, match=r"another run causes faults on .*; wait until it ends, or stop it"):
            hdbkit.start(server.target, load=load)
    finally:
        injector.resume()
    until(lambda: gone([injector]), "the fault is undone")
    again = hdbkit.start(server.target, load=load)
    again.stop(at_once=True)
    with suppress(RunFailed):  # it was stopped before its start
        again.wait()


def test_runs_that_disturb_only_their_own_clients_may_run_together(null_target: NullTarget) -> None:
    load = Load(virtual_users=2, rampup_s=0, duration_s=600, fault="kill client at 599 s")
    target = null_target()
    both = [hdbkit.start(target, load=load) for _ in range(2)]
    for running in both:
        running.stop(at_once=True)
    for running in both:
        with suppress(RunFailed):  # it was stopped before its start
            running.wait()


def test_a_fault_is_undone_when_its_run_is_stopped(server: PrivateServer) -> None:
    running = interrupted(server, "stop server at 0.3 s for 60 s")
    running.stop()
    result = running.wait()
    assert answers(server)
    assert result.manifest.status is Status.STOPPED
    assert passed(result, "faults caused")
    assert not result.folder.left_by_faults()


def test_a_fault_is_undone_when_the_process_that_caused_it_is_killed_and_the_run_fails(server: PrivateServer) -> None:
    running = interrupted(server, "pause server at 0.3 s for 60 s")
    injector_of(running).kill()
    with pytest.raises(RunFailed, match="was killed by signal 9; what it had begun is undone"):
        running.wait()
    assert answers(server)
    assert not folder_of(running).left_by_faults()


def test_what_a_killed_process_left_is_reported_as_undone_only_when_it_is(null_target: NullTarget) -> None:
    load = Load(virtual_users=2, rampup_s=0, duration_s=600, fault="kill client at 599 s")
    running = hdbkit.start(null_target(), load=load)
    until(lambda: running.status is Status.MEASURING, "it is measured")
    folder_of(running).left_by_fault(0).write_text("damaged")
    injector_of(running).kill()
    with pytest.raises(RunFailed, match=r"killed by signal 9; a fault could not be undone: .* cannot be read"):
        running.wait()


def test_recover_undoes_a_fault_when_supervisor_and_injector_were_killed(server: PrivateServer) -> None:
    running = interrupted(server, "kill server at 0.3 s for 60 s")
    supervisor, injector = supervisor_of(running), injector_of(running)
    supervisor.suspend()  # so that it does not notice
    injector.kill()
    supervisor.kill()
    until(lambda: running.status is Status.ABANDONED, "the run is abandoned")
    assert not server.running
    running.recover()
    assert answers(server)
    assert not folder_of(running).left_by_faults()


def test_what_cannot_be_caused_is_refused_before_the_run(server: PrivateServer, null_target: NullTarget) -> None:
    target = server.target
    for other, fault, reason in (
        (target.with_(may_restart=False), "kill server at 1 s", "must set 'may_restart: true'"),
        (target, "failover server at 1 s", r"needs the command 'control\.commands\.failover'"),
        (target, "kill 9 clients at 1 s", "needs 9 clients, but the run has 4"),
        (target.with_(fallbacks=("localhost:1",)), "cut network at 1 s for 1 s", "a target with one address"),
        (null_target(), "cut network at 1 s for 1 s", "needs host and port"),
    ):
        with pytest.raises(InputError, match=reason):
            hdbkit.start(other, load=SOME.model_copy(update={"fault": fault}))
    assert answers(server)
