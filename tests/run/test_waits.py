"""What sessions wait for is sampled beside a run, belongs to its operations, and explains a difference."""

from __future__ import annotations

import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

import hdbkit
from hdbkit.analysis.run.records import operations_of, table
from hdbkit.analysis.run.waits import CLASSES, OUTSIDE, PROCESSORS, SAMPLER, SERVER_CPU, parts_of
from hdbkit.api import Result
from hdbkit.config import Load, TprocCLoad
from hdbkit.contracts import SERVER, SessionOptions
from hdbkit.databases import database
from hdbkit.results.manifest import Status
from hdbkit.servers import PrivateServer
from hdbkit.sql import SERVER_STATEMENTS, statements
from hdbkit.statement import Statement
from tests.run.faults import until


@pytest.fixture(scope="module")
def contended(built: PrivateServer, tmp_path_factory: pytest.TempPathFactory) -> Result:
    """Four users who wait for each other's rows of the one warehouse."""
    own = hdbkit.Workspace(results=tmp_path_factory.mktemp("waits"))
    load = TprocCLoad(virtual_users=4, rampup_s=0, duration_s=3, waits_hz=50, traceparent_share=0.2)
    return own.run(built.target, load=load)


def test_waits_belong_to_operations_and_tables(contended: Result) -> None:
    found = contended.summary.waits
    assert found is not None and 60 <= found.samples <= 160
    assert {one.operation for one in found.waits} <= {*contended.summary.operations}
    locks = [one for one in found.waits if one.wait_class == "lock"]
    assert {one.table for one in locks} & {"warehouse", "district"}
    assert all(one.ms and one.ms > 0 for one in locks)
    assert 0 < sum(found.sessions_by_class.values()) <= 4
    assert "waits" in contended.charts()


def test_each_sample_has_the_session_that_asked_and_every_user_is_known(contended: Result) -> None:
    rows = table(contended.folder, "waits")
    assert rows is not None
    assert rows.groupby("t_us")["class"].apply(lambda one: (one == SAMPLER).sum()).eq(1).all()
    assert set(rows["class"]) <= {SAMPLER, *CLASSES}
    own = rows[rows["virtual_user"] >= 0]
    assert set(own["virtual_user"]) == {0, 1, 2, 3} and own["session"].nunique() == 4
    waiting = own[own["blocked_by"] >= 0]
    assert len(waiting) and (waiting["blocked_by_user"] >= 0).mean() > 0.9


def test_the_statements_of_some_operations_carry_the_id_of_a_trace(contended: Result, built: PrivateServer) -> None:
    traces = table(contended.folder, "traces")
    assert traces is not None and traces["trace_id"].is_unique
    assert 0.1 < len(traces) / sum(one.count for one in contended.summary.operations.values()) < 0.3
    with operations_of(contended.folder) as records:
        own = records.df()
    one = traces.iloc[len(traces) // 2]
    at = own["t_start_us"].le(one["t_us"]) & own["t_end_us"].ge(one["t_us"])
    assert (own.loc[at, "virtual_user"] == one["virtual_user"]).sum() == 1
    asked = replace(SERVER, statements={"own": Statement("own", "SELECT current_query()", Path(), "")})
    with closing(database(built.target).connect(built.target, asked)) as session:
        session.prepare(["own"])
        texts = []
        for comment in ("traceparent='00-1-2-01'", ""):
            session.comment(comment)  # type: ignore[attr-defined]
            texts.append(session.rows(session.perform(session.bind("own", ())))[0][0])
    assert texts == ["SELECT current_query() /*traceparent='00-1-2-01'*/", "SELECT current_query()"]


def test_a_run_keeps_the_plans_of_its_statements(contended: Result) -> None:
    plans = contended.plans
    assert {name.split()[0] for name in plans} == {*contended.summary.operations}
    assert "customer_by_name" in plans["payment client_select_named"].text


def test_the_parts_are_the_time_of_a_transaction(contended: Result) -> None:
    parts = parts_of(contended.folder, contended.manifest)
    assert parts is not None
    per_transaction_ms = 1000 * 4 * contended.summary.window_s / contended.summary.completed
    assert parts.total_ms[0] == pytest.approx(per_transaction_ms, rel=0.01)
    assert parts.parts_ms.sum(axis=1)[0] == pytest.approx(parts.total_ms[0])
    assert parts.parts_ms[SERVER_CPU][0] > 0
    assert parts.parts_ms[PROCESSORS][0] > 0
    assert parts.parts_ms[PROCESSORS][0] + parts.parts_ms[OUTSIDE][0] > -0.1 * parts.total_ms[0]
    assert parts.beside_ms is not None and 0 <= parts.beside_ms[0] < parts.parts_ms[SERVER_CPU][0]


def test_two_runs_are_compared_with_a_reason(contended: Result, built: PrivateServer) -> None:
    alone = hdbkit.run(built.target, load=TprocCLoad(virtual_users=1, rampup_s=0, duration_s=1, waits_hz=0))
    assert alone.summary.waits is None
    same = hdbkit.compare(str(contended.folder.path), str(contended.folder.path))
    assert same.explanation is not None and not same.explanation.causes


def test_a_watched_load_of_others_is_a_run_that_compares(built: PrivateServer) -> None:
    load = TprocCLoad(virtual_users=2, rampup_s=0, duration_s=30, mix={"new_order": 1})
    running = hdbkit.start(built.target, load=load)
    try:
        while running.status is not Status.MEASURING:
            time.sleep(0.1)
        watched = [hdbkit.watch(built.target, Load(duration_s=3, virtual_users=2, waits_hz=20)) for _ in range(2)]
    finally:
        running.stop()
    measured = running.wait()
    assert watched[0].metric.name == "NOPM"
    assert watched[0].metric_value == pytest.approx(measured.metric_value, rel=0.8)
    assert watched[0].summary.engine_tpm > 0
    assert (watched[0].summary.completed, watched[0].manifest.status) == (None, Status.DONE)
    assert watched[0].summary.waits.others
    assert not watched[0].summary.waits.waits
    found = hdbkit.compare([measured.run_id], [one.run_id for one in watched])
    assert any("another program's" in one for one in found.warnings)
    assert "another program" in watched[0].report().read_text(encoding="utf-8")


def test_a_standstill_names_the_foreign_session_that_held_the_lock(built: PrivateServer, tmp_path: Path) -> None:
    own = hdbkit.Workspace(results=tmp_path)
    running = own.start(built.target, load=TprocCLoad(virtual_users=4, rampup_s=1, duration_s=6, waits_hz=20))
    held = database(built.target).connect(built.target, SERVER, SessionOptions(application="nightly export"))
    with closing(held) as session:
        until(lambda: running.status is Status.MEASURING, "the run measures")
        session.connection.exec_(b"BEGIN")
        session.connection.exec_(b"LOCK TABLE tproc_c.district IN ACCESS EXCLUSIVE MODE")
        time.sleep(2.5)
    result = running.wait()
    standstill = result.summary.standstill
    assert standstill is not None and standstill.unusual and standstill.length_s > 1.5
    assert "nightly export" in standstill.waited_for and "lock on " in standstill.waited_for
    assert not result.checks.set_index("name").loc["no standstill", "passed"]


def test_only_waits_for_writes_of_the_log_are_the_log_device(built: PrivateServer) -> None:
    """A place in the memory of the log (WALInsert, WALBufMapping) is a latch; a write of the log is not."""
    events = {
        ("LWLock", "WALInsert"): "latch", ("LWLock", "WALBufMapping"): "latch", ("LWLock", "WALWrite"): "log",
        ("IO", "WALSync"): "log", ("IO", "DataFileRead"): "disk", ("LWLock", "BufferContent"): "latch",
    }  # fmt: skip
    rule = statements(("ansi", "postgresql"), SERVER_STATEMENTS)["session_waits"].text
    begin = rule.index("ELSE CASE WHEN") + len("ELSE ")
    rule = rule[begin : rule.index("END END") + len("END")]
    with closing(database(built.target).connect(built.target)) as session:
        for (kind, event), expected in events.items():
            case = rule.replace("a.wait_event_type", f"'{kind}'").replace("a.wait_event", f"'{event}'")
            assert session.connection.exec_(f"SELECT {case}".encode()).get_value(0, 0) == expected.encode(), event


def test_a_database_without_a_known_schema_is_watched_by_its_own_count(built: PrivateServer) -> None:
    other = built.target.model_copy(update={"database": "postgres"})
    found = hdbkit.watch(other, Load(duration_s=1))
    assert (found.metric.name, found.manifest.workload_title) == ("engine TPM", "load of others")
    assert found.metric_value == found.summary.engine_tpm >= 0
    assert hdbkit.result(found.run_id).report().is_file()
    assert found.run_id in set(hdbkit.runs()["run_id"])
