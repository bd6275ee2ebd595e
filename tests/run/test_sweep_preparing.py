"""Every run of a sweep starts from the same state, and failed preparations are reported."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

import hdbkit
from hdbkit import control_groups
from hdbkit.config import Cache, Cooldown, Load, SweepSpec, Target, preparation
from hdbkit.errors import ConfigErrors
from hdbkit.execution import host
from hdbkit.experiment import start
from hdbkit.experiment.kinds.sweep.plan import SweepPlan, plan_sweep
from hdbkit.experiment.preparing import cool_down, unprepared
from hdbkit.readings import HostLoad
from hdbkit.results.folder import RunFolder
from hdbkit.servers import PrivateServer, _guard, control, private_server
from tests.run.sweep_server import FileServer, only, runner

GIB = 1 << 30


def planned(**changes: object) -> SweepPlan:
    spec = SweepSpec(settings={"flush": ["on", "off"]}, blocks=2, **changes)
    return plan_sweep(Target(kind="nulldb"), spec, "sweep-1")


@pytest.fixture
def server(tmp_path: Path) -> FileServer:
    return FileServer(tmp_path / "server")


def loads(*busy_s: float, dirty_bytes: int = 0) -> list[HostLoad]:
    """Looks at a host of one core a second apart, with so many busy seconds so far."""
    return [HostLoad(busy, float(second), dirty_bytes, GIB) for second, busy in enumerate(busy_s)]


def test_a_cache_is_emptied_after_the_maintenance_that_fills_it(server: FileServer, results: Path) -> None:
    folder = start(planned(cache="restart"), results, only(server), runner(server, results))
    assert server.calls[1:5] == ["apply", "restore_data", "maintain", "restart"]
    assert server.calls.count("restart") == 4
    runs = [RunFolder(results / line.run_id).read() for line in folder.journal.lines if line.step == "run_finished"]
    assert all(run.plan.experiment.busy_pct is None for run in runs)


def test_each_run_of_a_sweep_rests_by_default(
    server: FileServer, results: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(preparation, "REST_S", 0.05)
    folder = start(planned(cooldown="fixed"), results, only(server), runner(server, results))
    runs = [RunFolder(results / line.run_id).read() for line in folder.journal.lines if line.step == "run_finished"]
    assert {run.plan.experiment.rested_s for run in runs} == {0.05}


def test_what_cannot_be_done_before_each_run_is_reported_before_the_first(server: FileServer, results: Path) -> None:
    server.can_restart = server.can_restore_data = False
    with pytest.raises(ConfigErrors) as caught:
        start(planned(cache="restart", reset="restore"), results, only(server), runner(server, results))
    assert "use 'warm'" in str(caught.value)
    assert "use 'none' or 'auto'" in str(caught.value)
    assert server.calls == []


def test_a_sweep_changes_and_restarts_no_server_of_several_addresses(server: FileServer) -> None:
    """Its clients would go on at another one, and be measured without the settings."""
    plan = planned(cache="restart")
    several = {"target": Target(kind="postgresql", host="db1", fallbacks=("db2",))}
    (problem,) = unprepared(plan.model_copy(update=several), several["target"], server)
    assert problem.where == "target"
    assert "postgresql://db1,db2/ has several addresses, but a sweep changes or restarts" in problem.what
    loads = plan_sweep(
        several["target"], SweepSpec(factors={"isolation": ["serializable", "read_committed"]}), "sweep-2"
    )
    assert unprepared(loads, several["target"], server) == []


@pytest.mark.parametrize("keeps", [True, False])
def test_a_fault_after_which_the_settings_are_gone_is_refused(server: FileServer, keeps: bool) -> None:
    """SET GLOBAL is gone when the server has ended; a failover goes to a server that never had the settings."""
    server.keeps_settings = keeps
    for fault, refused in (
        ("kill server at 1 s", not keeps),
        ("stop server at 1 s for 1 s", not keeps),
        ("failover server at 1 s", True),
        ("restart server at 1 s", False),
        ("pause server at 1 s for 1 s; kill client at 2 s", False),
    ):
        found = unprepared(planned(load={"duration_s": 5, "fault": fault}), Target(kind="nulldb"), server)
        assert [one.where for one in found] == ["load.fault"] * refused
        assert all(f"after '{fault}' the server runs without the settings of the sweep" in one.what for one in found)


def test_the_rest_ends_when_the_servers_host_does_little(server: FileServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host, "load", lambda: HostLoad(0, time.monotonic(), 0, GIB))
    server.loads = loads(0, 0.9, 1.8, 1.85)
    rest = cool_down(Cooldown.IDLE, 60, server)
    assert 1.5 <= rest.rested_s < 30
    assert rest.busy_pct == pytest.approx(5)


def test_a_host_that_never_rests_is_waited_for_no_longer_than_asked(server: FileServer) -> None:
    server.loads = loads(0, 0.9, 1.8, dirty_bytes=GIB // 2)
    assert 1 <= cool_down(Cooldown.IDLE, 1, server).rested_s < 20


def test_pages_that_wait_for_the_disks_are_waited_for(server: FileServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host, "load", lambda: HostLoad(0, time.monotonic(), 0, GIB))
    server.loads = [*loads(0, 0, dirty_bytes=GIB // 2), *loads(0)]
    assert cool_down(Cooldown.IDLE, 60, server).rested_s >= 1


def test_a_fixed_rest_queries_no_host_and_a_rest_of_0_is_none(server: FileServer) -> None:
    began = time.monotonic()
    assert cool_down(Cooldown.FIXED, 0.2, server).busy_pct is None
    assert time.monotonic() - began >= 0.2
    assert cool_down(Cooldown.IDLE, 0, server).rested_s == 0


def test_this_host_reports_its_load() -> None:
    before = host.load()
    end = time.process_time() + 0.2
    while time.process_time() < end:
        pass
    after = host.load()
    assert after.busy_s - before.busy_s >= 0.15
    assert after.total_s > before.total_s
    assert 0 <= after.dirty_bytes < after.memory_bytes


def test_a_rampup_is_not_prolonged_where_there_are_no_full_page_images(finished: hdbkit.Result) -> None:
    assert finished.manifest.plan.load.rampup_max_s == 60
    assert finished.manifest.clock is not None
    assert finished.manifest.clock.window_start_us < 20_000_000


def test_a_rampup_continues_while_a_checkpoints_full_page_writes_fall(built: PrivateServer) -> None:
    """And the run keeps what it met: the size of the data, how the server's cache fared, and how it began."""
    control(built.target).maintain()
    load = Load(virtual_users=1, rampup_s=0.2, rampup_max_s=2, duration_s=0.5, counter_interval_s=0.2)
    done = hdbkit.run(built.target, load=load)
    assert done.manifest.clock is not None
    assert 1_000_000 < done.manifest.clock.window_start_us < 20_000_000
    data, server = done.summary.data, done.manifest.server
    assert data.bytes_after >= data.bytes_before > 50 << 20
    assert data.counted_after - data.counted_before >= done.summary.counters["counted"]
    assert (server.cache, server.cache_bytes, server.on_this_host) == ("shared_buffers", 128 << 20, True)
    assert {"wal_bytes", "wal_fpi", "file_writes", "blks_read"} <= set(done.summary.counters)
    assert done.summary.waiting_locks is not None
    page = done.report().read_text()
    assert "What the server did" in page
    assert "full-page images in the log" in page


@pytest.mark.long
def test_each_run_of_a_sweep_may_begin_with_an_empty_cache(built: PrivateServer) -> None:
    spec = SweepSpec(
        settings={"synchronous_commit": ("off",)},
        virtual_users=(1,),
        blocks=2,
        reset="none",
        cache=Cache.RESTART,
        load=Load(rampup_s=0, duration_s=60, iterations=200),
    )
    done = hdbkit.sweep(built.target, spec)
    assert list(done.runs["status"]) == ["done"] * 2
    manifests = [RunFolder(done.folder.root / run_id).read() for run_id in done.runs["run_id"]]
    assert all(one.plan.experiment.restarted_s > 0 for one in manifests)
    grown = [one.measured.data.counted_after for one in manifests]
    assert grown == sorted(grown)
    page = done.report().read_text()
    assert "Growth of the data" in page
    assert "What the server did, per transaction" in page


def test_a_private_server_has_a_control_group_of_its_own_that_goes_with_it() -> None:
    with private_server() as own:
        pid = _guard.server_pid(str(own.folder), own._note())
        assert pid is not None
        group = control_groups.own_cgroup(pid)
        if group is None:
            pytest.skip("no control group can be made here")
        own.restart()
        pid = _guard.server_pid(str(own.folder), own._note())
        assert pid is not None
        assert control_groups.own_cgroup(pid) == group
        before = host.ServerCpu(pid).total_s()
        for _ in range(3):
            hdbkit.connect(own.target)  # each session is a process that ends, and is counted
        assert host.ServerCpu(pid).total_s() > before
        (group / "cgroup.procs").write_text(str(os.getpid()))
        assert control_groups.own_cgroup(pid) is None
        (group.parent / "cgroup.procs").write_text(str(os.getpid()))
    assert not group.exists()
