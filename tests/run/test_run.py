"""A run on the null engine, from plan to complete folder."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import pytest

import hdbkit
from hdbkit.api import Result, Running, Workspace
from hdbkit.cli import progress
from hdbkit.config import Isolation, Load, TprocCLoad, TprocCSpec
from hdbkit.errors import InputError, RunFailed, SchemaProblem
from hdbkit.execution.control import Control, Field, Stop
from hdbkit.execution.folder_setup import make_run_folder
from hdbkit.execution.handle import RunHandle
from hdbkit.execution.live import Tick
from hdbkit.execution.precheck import precheck
from hdbkit.paths import results_folder
from hdbkit.plan import RunPlan
from hdbkit.results.columns import OPERATIONS
from hdbkit.results.folder import RunFolder
from hdbkit.results.manifest import Status
from hdbkit.servers import PrivateServer
from tests.run.conftest import NullTarget

SHORT = Load(virtual_users=2, rampup_s=0, duration_s=0.5)


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """Where the runs are that several tests read."""
    return Workspace(results=tmp_path_factory.mktemp("own"))


def rows(result: object, query: str) -> list[tuple[object, ...]]:
    folder = result.folder  # type: ignore[attr-defined]
    return duckdb.sql(query.format(t=f"'{folder.operations}/*.parquet'")).fetchall()


def test_every_transaction_of_the_window_is_kept_and_counted(finished: Result) -> None:
    start, end = finished.manifest.clock.window_start_us, finished.manifest.clock.window_end_us
    in_window = f"t_start_us + latency_us >= {start} and t_start_us + latency_us < {end}"
    kept = rows(
        finished, f"select count(*), count(distinct virtual_user) from {{t}} where outcome < 2 and {in_window}"
    )
    assert kept == [(finished.summary.completed, 2)]
    assert finished.metric_value is not None
    assert finished.metric_value > 0
    failed = [check for check in finished.manifest.checks if check.passed is False]
    assert not [check for check in failed if check.name not in ("CPU pressure", "Little's law")]


def test_users_start_apart_before_the_ramp_up(null_target: NullTarget) -> None:
    load = Load(virtual_users=3, start_delay_ms=200, rampup_s=0.2, duration_s=0.3)
    result = hdbkit.run(null_target(latency_us=1000), load=load)
    started = rows(result, "select virtual_user, min(t_start_us) from {t} group by all order by all")
    assert [200_000 * user <= at_us for user, at_us in started] == [True] * 3
    assert [(one.name, one.measured) for one in result.manifest.phases] == [
        ("starts", False),
        ("rampup", False),
        ("window", True),
    ]
    assert result.manifest.clock.window_start_us >= 600_000


def test_a_run_folder_is_complete_and_has_no_spool_left(finished: Result) -> None:
    names = {path.name for path in finished.folder.path.iterdir()}
    assert {"manifest.json", "settings.json", "operations", "log.ndjson"} <= names
    assert {f"{table}.parquet" for table in ("seconds", "counters", "host", "clients", "errors")} <= names
    assert not {"spools", "control.bin"} & names
    reported = finished.summary.per_operation
    assert (reported.round_trips, reported.sent_bytes, reported.received_bytes) == (None, None, None)  # no connection
    assert reported.context_switches > 0.5  # each call sleeps
    assert finished.summary.client_cpu_us_per_operation > 0
    described = rows(finished, "select column_name from (describe select * from {t})")
    assert [name for (name,) in described] == [*OPERATIONS, "w_id", "d_id", "o_id"]


def test_order_ids_are_kept_when_asked_for(finished: Result) -> None:
    assert rows(finished, "select count(*) > 0 from {t} where operation = 0 and outcome = 0") == [(True,)]
    assert rows(finished, "select count(*) from {t} where operation = 0 and outcome = 0 and o_id = 0") == [(0,)]
    assert rows(finished, "select count(*) from {t} where operation <> 0 and o_id <> 0") == [(0,)]


def test_a_run_has_its_phases_with_their_times(finished: Result) -> None:
    manifest = finished.manifest
    assert manifest.clock is not None
    rampup, window = manifest.phases
    assert [(one.name, one.measured) for one in manifest.phases] == [("rampup", False), ("window", True)]
    assert rampup.start_us == 0
    assert rampup.end_us is not None
    assert rampup.end_us >= 300_000  # and as long as full-page writes last
    assert window.start_us == pytest.approx(manifest.clock.window_start_us, abs=1000)
    assert window.end_us is not None
    assert window.end_us - window.start_us == pytest.approx(1_000_000, abs=1000)


def test_runs_are_found_again_by_condition(copied: Result) -> None:
    found = hdbkit.runs("label = 'finished' and metric_value > 0")
    assert copied.run_id in list(found["run_id"])
    assert not len(hdbkit.runs("label = 'another'"))
    with pytest.raises(InputError, match="columns: run_id"):
        hdbkit.runs("speed > 3")


def test_a_copied_folder_is_whole(finished: Result, copied: Result, results: Path) -> None:
    assert copied.folder.path == results / finished.run_id
    assert (copied.manifest, copied.summary) == (finished.manifest, finished.summary)
    assert rows(copied, "select count(*) from {t}") == [(copied.table("clients")["operations"].sum(),)]
    assert copied.report().is_file()
    assert list(hdbkit.runs()["run_id"]) == [finished.run_id]
    assert "not comparable to published results" in copied.manifest.notice


def test_a_stop_is_no_error_when_the_run_has_just_ended(copied: Result, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RunHandle, "status", lambda _: Status.MEASURING)
    RunHandle(copied.folder).stop()


@pytest.fixture(scope="module")
def limited(null_target: NullTarget, own: Workspace) -> tuple[Result, Result]:
    """60 iterations of each of five users with one seed: each in a process of its own, and two in a process."""
    target, limits = null_target(), {"rampup_s": 0, "duration_s": 60, "iterations": 60, "seed": 7}
    alone = own.run(target, load=Load(virtual_users=5, **limits))
    shared = own.run(target, load=Load(virtual_users=5, users_per_process=2, **limits))
    return alone, shared


def test_iterations_end_a_run_before_its_time(limited: tuple[Result, Result]) -> None:
    for result in limited:
        assert rows(result, "select virtual_user, count(*) from {t} group by 1 order by 1") == [
            (user, 60) for user in range(5)
        ]
        assert result.summary.window_s < 60
        assert result.manifest.status is Status.DONE


def test_the_same_seed_draws_the_same_work_however_users_share_processes(limited: tuple[Result, Result]) -> None:
    drawn = "select virtual_user, list((operation, w_id, d_id) order by t_start_us) from {t} group by 1 order by 1"
    alone, shared = (rows(result, drawn) for result in limited)
    assert alone == shared
    assert len({tuple(work) for _, work in alone}) == 5


def test_users_of_one_process_take_turns(limited: tuple[Result, Result]) -> None:
    _, shared = limited
    [(order,)] = rows(shared, "select list(virtual_user order by t_start_us) from {t} where virtual_user < 2")
    counts = [order[:end].count(0) - order[:end].count(1) for end in range(len(order))]
    assert max(map(abs, counts)) == 1
    clients = shared.table("clients")
    assert clients[["client", "users", "first_user"]].to_numpy().tolist() == [[0, 2, 0], [1, 2, 2], [2, 1, 4]]
    assert list(clients["operations"]) == [120, 120, 60]
    assert (clients["pid"].nunique(), set(clients["ended"])) == (3, {"done"})
    checks = shared.checks.set_index("name")["passed"]
    assert checks["clients ended as planned"]
    assert checks["every transaction accounted for"]


def test_keying_and_thinking_keep_to_their_schedule_in_shared_processes_too(null_target: NullTarget) -> None:
    """Ten users in one process, and one alone in another."""
    load = TprocCLoad(
        virtual_users=11,
        users_per_process=10,
        rampup_s=0,
        duration_s=4,
        keying_and_thinking=True,
        thinking_scale=0.01,
        mix={"payment": 1},
    )
    result = hdbkit.run(null_target(latency_us=1000), load=load)
    of_each = rows(result, "select virtual_user, count(*), min(t_start_us), max(wait_us) from {t} group by 1")
    assert sorted(user for user, *_ in of_each) == list(range(11))
    for user, count, first_us, max_wait_us in of_each:
        assert 1 <= count <= 2
        assert first_us >= 3_000_000  # TPC-C 5.2.5.7: a payment is keyed in 3 s
        assert 0 <= max_wait_us < (500_000 if user < 10 else 2_000_000)  # a fraction of the keying time


def test_a_user_that_reconnects_draws_the_same_in_every_run(null_target: NullTarget) -> None:
    target = null_target(
        error_rate=1, error_class="connection_lost"
    )  # each connection is lost with its first operation
    drawn = "select virtual_user, list((operation, d_id) order by t_start_us) from {t} group by 1 order by 1"
    found = []
    for each in (1, 3):
        load = Load(virtual_users=3, users_per_process=each, rampup_s=0, duration_s=60, iterations=8, seed=5)
        with pytest.raises(RunFailed, match="no transaction was completed") as failed:
            hdbkit.run(target, load=load)
        found.append(rows(hdbkit.result(failed.value.run_id), drawn))
    assert found[0] == found[1]
    assert [len(set(work)) > 3 for _, work in found[0]] == [True] * 3  # each connection draws something else
    assert len({tuple(work) for _, work in found[0]}) == 3


def test_deadlocks_are_tried_again_and_counted(null_target: NullTarget) -> None:
    target = null_target(latency_us=500, error_rate=0.2, error_class="deadlock")
    result = hdbkit.run(target, load=SHORT)
    assert result.summary.failed == 0
    assert result.summary.retries > 10
    errors = result.table("errors")
    assert set(errors["error_class"]) == {"deadlock"}
    assert errors["count"].sum() > 10
    assert 0 <= errors["count"].sum() - errors["retried"].sum() <= 2  # one a user, refused after the end


def test_a_failure_that_no_try_mends_is_counted_by_class(null_target: NullTarget) -> None:
    target = null_target(latency_us=500, error_rate=0.1, error_class="constraint")
    result = hdbkit.run(target, load=SHORT)
    assert result.summary.failed > 5
    assert result.summary.errors["constraint"] == result.summary.failed
    assert not result.passed


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"error_rate": 1, "error_class": "constraint"}, r"; \d+ transactions failed in the window: constraint \d+;"),
        ({"latency_us": 1_200_000, "spread": 0}, "; give a longer duration_s, or find out what the server waits for"),
    ],
)
def test_a_run_in_whose_window_nothing_is_completed_has_failed(
    null_target: NullTarget, options: dict[str, Any], reason: str
) -> None:
    with pytest.raises(RunFailed, match=rf"no transaction was completed in the window of \S+ s{reason}"):
        hdbkit.run(null_target(**options), load=Load(virtual_users=1, rampup_s=0, duration_s=0.5))


def test_raise_error_ends_the_run_at_the_first_failure(null_target: NullTarget) -> None:
    target = null_target(latency_us=500, error_rate=0.1, error_class="constraint")
    began = time.monotonic()
    with pytest.raises(RunFailed, match="constraint"):
        hdbkit.run(target, load=Load(virtual_users=2, rampup_s=0, duration_s=400, raise_error=True))
    assert time.monotonic() - began < 400


STEPS = """
from hdbkit.contracts import PlannedPhase
from hdbkit.workloads.tproc_c import TprocC
TprocC.phases = lambda self, load: (
    PlannedPhase("warm", 0.2, measured=False),
    PlannedPhase("first", 0.3, measured=True),
    PlannedPhase("rest", None, measured=True),
    PlannedPhase("after", 0.2, measured=False),
)
"""
"""Phases of another kind of workload."""


def test_measured_phases_adjoin_and_one_without_a_length_ends_with_its_users(
    null_target: NullTarget, results: Path
) -> None:
    load = Load(virtual_users=2, rampup_s=0, duration_s=1, iterations=400)
    plan = RunPlan(run_id="steps", target=null_target(latency_us=2000), workload=TprocCSpec(warehouses=2), load=load)
    made = f"""{STEPS}
import sys
from pathlib import Path
from hdbkit.execution import folder_setup, precheck, supervisor
from hdbkit.plan import RunPlan
plan = RunPlan.model_validate_json({plan.model_dump_json()!r})
ready = precheck.precheck(plan.target, plan.workload, lambda _: plan, Path())
sys.argv[1:] = [str(folder_setup.make_run_folder(ready, Path({str(results)!r})).path)]
supervisor.main()
"""
    subprocess.run([sys.executable, "-c", made], check=True, timeout=180)
    result = hdbkit.result("steps")
    warm, first, rest, after = result.manifest.phases
    assert (warm.start_us, first.end_us) == (0, rest.start_us)
    assert rest.end_us is not None
    assert 800_000 < rest.end_us <= after.start_us  # 400 calls of 2 ms
    clock = result.manifest.clock
    assert clock is not None
    assert clock.window_start_us == pytest.approx(first.start_us, abs=20_000)
    assert clock.window_end_us == pytest.approx(rest.end_us, abs=200_000)
    assert rows(result, "select count(*) from {t}") == [(800,)]
    assert [event.status for event in result.manifest.history][-1] is Status.DONE


def test_stopping_in_rampup_keeps_the_transactions_and_claims_no_figure(null_target: NullTarget) -> None:
    running = hdbkit.start(null_target(latency_us=1000), load=Load(rampup_s=600, duration_s=1))
    wait_for(running, Status.RAMPUP)
    time.sleep(0.3)
    running.stop()
    result = running.wait()
    assert result.metric_value is None
    assert rows(result, "select count(*) > 0 from {t}") == [(True,)]


@pytest.fixture(scope="module")
def stopped(null_target: NullTarget, own: Workspace) -> tuple[Tick, Result]:
    """A run that was watched until a tick had latencies, and then stopped by another handle."""
    load = Load(virtual_users=3, users_per_process=2, rampup_s=0, duration_s=60)
    running = own.start(null_target(latency_us=2000), load=load)
    wait_for(running, Status.MEASURING)
    with closing(running.live()) as view:
        while not (tick := view.tick()).p50_us.get("new_order"):
            assert not running.status.ended, "no tick of the run reported a committed operation"
            time.sleep(0.3)
    own.attach(running.run_id).stop()
    return tick, running.wait()


def test_live_ticks_report_throughput_and_latency(stopped: tuple[Tick, Result]) -> None:
    tick, result = stopped
    assert 0 < tick.metric_value < 60_000  # 2 processes at 2 ms a call
    assert (tick.metric, tick.headline, tick.connected) == (result.manifest.metric, "new_order", 3)
    assert 2000 <= tick.p50_us["new_order"] < 200_000


def test_stopping_closes_the_window_and_keeps_the_result(stopped: tuple[Tick, Result]) -> None:
    _, result = stopped
    assert result.manifest.status is Status.STOPPED
    assert result.metric_value is not None
    assert result.summary.window_s < 30


def test_a_missing_schema_is_reported_before_anything_is_made(null_target: NullTarget) -> None:
    target = null_target().with_(database="nothing-here")
    before = list(results_folder().glob("*"))
    with pytest.raises(SchemaProblem, match="hdbkit build nulldb:///nothing-here --warehouses 3"):
        hdbkit.run(target, TprocCSpec(warehouses=3))
    assert list(results_folder().glob("*")) == before


def test_another_scale_than_planned_is_refused(null_target: NullTarget) -> None:
    with pytest.raises(SchemaProblem, match="has warehouses 2, but the plan needs 3"):
        hdbkit.run(null_target(), TprocCSpec(warehouses=3))


def test_too_few_connections_are_reported_before_the_start(null_target: NullTarget) -> None:
    with pytest.raises(InputError, match=r"8 virtual users need 9 more connections.*allows 5"):
        hdbkit.run(null_target(connections=5), load=Load(virtual_users=8))


def test_iterations_that_end_in_the_rampup_claim_no_figure(null_target: NullTarget) -> None:
    load = Load(virtual_users=2, rampup_s=60, duration_s=60, iterations=50)
    with pytest.raises(RunFailed, match="in the ramp-up, so nothing was measured") as failed:
        hdbkit.run(null_target(), load=load)
    result = hdbkit.result(failed.value.run_id)
    assert result.manifest.status is Status.FAILED
    assert (result.metric_value, result.manifest.result) == (None, None)
    assert rows(result, "select count(*) from {t}") == [(100,)]


def test_watching_runs_keeps_no_file_open(null_target: NullTarget, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_EVERY_S", 0.05)
    load, lines, seen = Load(rampup_s=0, duration_s=0.4), progress.RunLines(), set()

    def watch(running: Running) -> None:
        lines(running)
        seen.add(frozenset(name.split("/")[-3] for name in open_spools()))

    with lines:
        ids = [hdbkit.run(null_target(latency_us=1000), load=load, watch=watch).run_id for _ in range(2)]
    assert seen - {frozenset()} == {frozenset([run_id]) for run_id in ids}
    assert open_spools() == []


def open_spools() -> list[str]:
    names = [str(fd.readlink()) for fd in Path("/proc/self/fd").iterdir() if fd.is_symlink()]
    return [name for name in names if ".spool" in name]


def unstarted(server: PrivateServer | None, target: hdbkit.Target, root: Path) -> RunFolder:
    """The folder of a run whose supervisor is still to be started."""
    workload = TprocCSpec(warehouses=1 if server else 2)
    plan = RunPlan(run_id="a-run", target=target, workload=workload, load=Load(rampup_s=0, duration_s=0.5))
    return make_run_folder(precheck(plan.target, plan.workload, lambda _: plan, root), root)


def test_a_graceful_stop_does_not_soften_one_at_once(null_target: NullTarget, results: Path) -> None:
    handle = RunHandle(unstarted(None, null_target(), results))
    handle.stop(at_once=True)
    handle.stop()
    page = Control(handle.folder.control)
    assert page.fields[Field.STOP_REQUEST] == Stop.AT_ONCE
    page.close()


def test_a_disk_that_is_full_when_the_clients_start_is_reported(null_target: NullTarget, results: Path) -> None:
    folder = unstarted(None, null_target(), results)
    mount = ["mount", "-t", "tmpfs", "-o", "size=4k", "tmpfs", folder.spools]
    if subprocess.run(mount, check=False, stderr=-3).returncode:
        pytest.skip("only root may mount a small file system")
    try:
        program = "from hdbkit.execution.supervisor import main; main()"
        ended = subprocess.run([sys.executable, "-c", program, folder.path], check=False, timeout=180)
    finally:
        subprocess.run(["umount", "-l", folder.spools], check=True)
    assert ended.returncode == 3
    assert f"the disk of {folder.path} is full" in folder.read().history[-1].note


@pytest.fixture(scope="module")
def watched(built: PrivateServer, own: Workspace) -> tuple[Tick, Result]:
    """A run on a server, stopped at the first tick with what the server uses of the CPU and a committed new order."""
    load = Load(rampup_s=0, duration_s=60, isolation=Isolation.READ_COMMITTED)
    running = own.start(built.target, load=load)
    wait_for(running, Status.MEASURING)
    with closing(running.live()) as view:
        while not ((tick := view.tick()).server_cpu_cores > 0 and tick.p50_us.get("new_order")):
            assert not running.status.ended, "no tick reported the server's CPU and a new order"
            time.sleep(0.1)
    running.stop()
    return tick, running.wait()


@pytest.fixture(scope="module")
def isolated(built: PrivateServer, own: Workspace, watched: tuple[Tick, Result]) -> dict[Isolation, Result]:
    """A short run at each level: two users who conflict with client SQL, and one alone with stored routines."""
    limits = {"rampup_s": 0, "duration_s": 60, "iterations": 100}
    others = {
        isolation: own.run(built.target, load=TprocCLoad(isolation=isolation, **limits, **more))
        for isolation, more in {
            Isolation.SERIALIZABLE: {"virtual_users": 2, "routines": "client"},
            Isolation.REPEATABLE_READ: {"virtual_users": 1, "routines": "stored"},
        }.items()
    }
    return {Isolation.READ_COMMITTED: watched[1], **others}


def test_a_run_at_each_isolation_level(isolated: dict[Isolation, Result]) -> None:
    for isolation, result in isolated.items():
        assert result.manifest.plan.load.isolation is isolation
        assert result.summary.operations["new_order"].committed > 0
        assert result.summary.errors.keys() <= {"deadlock", "serialization"}
        broken = result.checks.query("passed == False")["name"]
        assert [name for name in broken if name.startswith("schema")] == []


def test_a_stored_routine_takes_one_round_trip_and_client_sql_several(isolated: dict[Isolation, Result]) -> None:
    client = isolated[Isolation.SERIALIZABLE].summary.per_operation
    stored = isolated[Isolation.REPEATABLE_READ].summary.per_operation
    assert stored.round_trips == pytest.approx(1, abs=0.02)
    assert client.round_trips > 2
    assert client.sent_bytes > 2 * stored.sent_bytes > 0
    assert min(client.received_bytes, client.context_switches, stored.received_bytes, stored.context_switches) > 0


def test_a_live_tick_reports_how_busy_the_server_on_this_host_is(watched: tuple[Tick, Result]) -> None:
    tick, _ = watched
    assert 0 < tick.server_cpu_cores < 2 * (os.cpu_count() or 1)


def test_a_check_of_the_schema_that_takes_too_long_is_ended(built: PrivateServer, results: Path) -> None:
    folder = unstarted(built, built.target, results)
    program = "from hdbkit.execution import supervisor; supervisor._CHECK_S = 0.001; supervisor.main()"
    subprocess.run([sys.executable, "-c", program, folder.path], check=True, timeout=180)
    found = folder.read().checks
    assert [one.detail for one in found if one.passed is None and "timeout" in one.detail]


def test_snapshots_on_request_are_around_the_operations_with_their_notice(
    null_target: NullTarget, results: Path
) -> None:
    folder = unstarted(None, null_target(), results)
    program = """
import sys
from hdbkit.databases import nulldb
from hdbkit.execution import supervisor
numbers, asks = iter((1201, 1202)), nulldb.NullSession.ask
type(nulldb.DATABASE).snapshot_notice = lambda *_: "it needs a licence"
nulldb.NullSession.ask = lambda self, operation, **given: (
    [(next(numbers),)] if operation == "take_snapshot" else asks(self, operation, **given)
)
supervisor.main()
"""
    subprocess.run([sys.executable, "-c", program, folder.path], check=True, timeout=180)
    taken = [one for one in folder.read().warnings if "snapshot" in one]
    assert taken == [f"snapshot {number} of the server was taken; it needs a licence" for number in (1201, 1202)]


def wait_for(running: Running, status: Status) -> None:
    deadline = time.monotonic() + 180
    while running.status is not status:
        assert time.monotonic() < deadline, running.status
        time.sleep(0.02)


@pytest.mark.parametrize(("umask", "folders", "files"), [("", 0o700, 0o600), ("027", 0o750, 0o640)])
def test_results_belong_to_their_account_alone_unless_the_variable_permits_more(
    null_target: NullTarget, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, umask: str, folders: int, files: int
) -> None:
    if umask:
        monkeypatch.setenv("HDBKIT_UMASK", umask)
    place = Workspace(results=tmp_path / "of" / "mine")
    place.run(null_target(), load=Load(virtual_users=2, rampup_s=0, duration_s=0.5)).report()
    place.runs()
    found = [tmp_path / "of", *(tmp_path / "of").rglob("*")]
    assert {one.suffix for one in found} >= {".json", ".parquet", ".html", ".ndjson"}
    wrong = [(one, oct(one.stat().st_mode)) for one in found if not one.name.startswith("catalog")]
    expected = {oct(0o40000 | folders), oct(0o100000 | files)}
    assert [one for one in wrong if one[1] not in expected] == []


def test_shown_operations_have_their_statements_inputs_and_rows(built: PrivateServer) -> None:
    (stored,) = hdbkit.api.show_operations(built.target, load=TprocCLoad(mix={"payment": 1}))
    (call,) = stored.sent
    assert (call.name, call.arguments["w_id"], call.row_count) == ("call_payment", 1, 1)
    assert "payment" in call.text
    load = TprocCLoad(mix={"payment": 1}, routines="client")
    (sent,) = hdbkit.api.show_operations(built.target, load=load)
    names = [one.name for one in sent.sent]
    assert (names[0], names[-1]) == ("BEGIN", "COMMIT")
    assert "client_insert_history" in names
    (query,) = hdbkit.api.show_operations(built.target, load=TprocCLoad(mix={"stock_level": 1}), count=1)
    assert query.sent[0].rows[0][0] >= 0


def test_maintenance_reports_the_amounts_before_and_after(built: PrivateServer) -> None:
    hdbkit.run(built.target, load=Load(virtual_users=1, rampup_s=0, duration_s=10, iterations=200))
    done = hdbkit.connect(built.target).maintain()
    assert done.after["old row versions"] <= done.before["old row versions"]
    assert str(done).startswith("maintenance: old row versions ")
    assert str(done).endswith(" s") and done.duration_s > 0
