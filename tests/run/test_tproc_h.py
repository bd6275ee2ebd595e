"""TPROC-H on real engines: analytic, verified against the reference, run as power and throughput runs."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from contextlib import closing, nullcontext
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import hdbkit
from hdbkit.api import Workspace
from hdbkit.config import Load, Target, TprocHLoad
from hdbkit.config.specs.tproc_h import QUERIES, TprocHSpec
from hdbkit.contracts import Capability
from hdbkit.databases import database
from hdbkit.errors import InputError, MissingDriver, RunFailed, SchemaProblem
from hdbkit.results.columns import ERROR_CLASSES, Outcome
from hdbkit.servers import private_server, startable_kinds
from hdbkit.workloads import workload
from hdbkit.workloads.checking import run_checks
from hdbkit.workloads.tproc_h import answers
from hdbkit.workloads.tproc_h.streams import ordered
from tests import hammerdb_like
from tests.run.test_custom import KINDS

SPEC = TprocHSpec(scale_factor=0.01)
EMBEDDED = ("duckdb", "clickhouse")
STORAGE = {"partitions": 2, "unlogged": True}
"""Options of the schema, where an engine has them."""


@pytest.fixture(scope="module", autouse=True)
def reference_made_once() -> Iterator[None]:
    """The data and answers that each check of answers compares with are the same for one scale factor."""
    generated, reference = answers._Generated, cache(answers._Reference)
    of_scale = cache(lambda scale_factor: generated(TprocHSpec(scale_factor=scale_factor)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(answers, "_Generated", lambda spec: of_scale(spec.scale_factor))
        patch.setattr(answers, "_Reference", reference)
        yield


def has_sql(kind: str) -> bool:
    return Capability.SQL in database(kind).capabilities


@pytest.fixture(
    scope="module",
    params=[
        *EMBEDDED,
        *(kind for kind in (startable_kinds() if os.environ.get("HDBKIT_SOAK") else KINDS) if has_sql(kind)),
    ],
)
def analytic(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Target]:
    """A schema of scale factor 0.01 on each engine."""
    if request.param in EMBEDDED:
        try:
            database(request.param).driver_version()
        except MissingDriver as missing:
            pytest.skip(str(missing))
        folder = tmp_path_factory.mktemp("file")
        own = nullcontext(Target(kind=request.param, database=str(folder / "data")))
    else:
        try:
            server = private_server(request.param)
        except InputError as missing:
            pytest.skip(str(missing))
        own = nullcontext(server.__enter__().target)
        request.addfinalizer(lambda: server.__exit__(None, None, None))
    with own as target:
        known = database(target).schema_options.model_fields
        storage = {name: value for name, value in STORAGE.items() if name in known}
        result = hdbkit.connect(target).build(SPEC.with_(indexes="hammerdb" if storage else "all", storage=storage))
        assert result.passed
        assert result.rows == 86_805
        yield target


def test_every_answer_is_that_of_the_reference(analytic: Target) -> None:
    found = hdbkit.connect(analytic).check(SPEC, answers=True)
    wrong = found[found["passed"] != True]  # noqa: E712
    assert wrong.empty, wrong.to_string()
    assert found["name"].str.startswith("answer of q").sum() == 22


def test_an_engine_without_dates_and_decimals_answers_as_the_reference(tmp_path: Path) -> None:
    connection = hdbkit.connect(f"sqlite:///{tmp_path / 'data'}")
    connection.build(SPEC)
    found = connection.check(SPEC, answers=True)
    wrong = found[found["passed"] != True]  # noqa: E712
    assert wrong.empty, wrong.to_string()


CHANGES = (
    (
        "UPDATE supplier SET s_acctbal = s_acctbal + 1 WHERE s_suppkey > 0",
        "UPDATE supplier SET s_acctbal = s_acctbal - 1 WHERE s_suppkey > 0",
    ),
    (
        "UPDATE customer SET c_mktsegment = 'MACHINERY' WHERE c_custkey = 1",
        "UPDATE customer SET c_mktsegment = 'BUILDING' WHERE c_custkey = 1",
    ),
    (
        "UPDATE orders SET o_orderdate = DATE '1996-01-03' WHERE o_orderkey = 1",
        "UPDATE orders SET o_orderdate = DATE '1996-01-02' WHERE o_orderkey = 1",
    ),
)
"""Changes, most of which no sum of a schema's check notices, and how they are undone."""


def test_a_wrong_answer_and_a_changed_value_fail_their_checks(analytic: Target) -> None:
    work, engine = workload(SPEC), database(analytic)
    with closing(engine.schema(analytic, work)) as schema:
        session: Any = schema.session
        for change, _ in CHANGES:
            session.execute(change)
        try:
            failed = {
                one.name: one.detail for one in run_checks(work.answers(1), engine, session) if one.passed is False
            }
        finally:
            for _, change in CHANGES:
                session.execute(change)
    wrong = {
        name.removeprefix("content of "): detail for name, detail in failed.items() if name.startswith("content")
    }
    assert wrong == {
        "supplier": "not as generated: s_acctbal",
        "customer": "not as generated: c_mktsegment",
        "orders": "not as generated: o_orderdate",
    }
    assert "answer of q02" in failed


def records(result: hdbkit.Result) -> pd.DataFrame:
    frame = pd.concat(pd.read_parquet(path) for path in result.folder.operations.glob("*.parquet"))
    return frame.sort_values(["virtual_user", "t_start_us"])


@pytest.fixture(scope="module")
def power(analytic: Target, tmp_path_factory: pytest.TempPathFactory) -> hdbkit.Result:
    """A run of every query."""
    return Workspace(results=tmp_path_factory.mktemp("power")).run(analytic, SPEC, Load(virtual_users=1))


def test_a_power_run_times_each_query_once_in_the_order_of_stream_0(analytic: Target, power: hdbkit.Result) -> None:
    result, done = power, records(power)
    assert tuple(QUERIES[code] for code in done["operation"]) == ordered(0)
    assert set(done["outcome"]) == {Outcome.COMMITTED}
    assert result.manifest.clock.window_start_us == 0, "the first query may end before the server is asked"
    assert (set(done["stream"]), set(done["query_set"])) == ({0}, {1})
    rows = dict(zip(ordered(0), done["rows"], strict=True))
    assert (rows["q01"], rows["q06"]) == (4, 1)
    read = done.set_index(done["operation"].map(dict(enumerate(QUERIES))))["rows_read"]
    if analytic.kind in EMBEDDED:
        assert read.isna().all()
    else:
        assert 60_175 <= read["q01"] < 2.5 * 60_175, "the rows of lineitem, and on MariaDB those of a temporary table"
        assert read.min() > 0
        assert done["bytes_read"].notna().all()
    means_s = [done.mean_us / 1e6 for done in result.summary.operations.values()]
    assert result.summary.metric_value == pytest.approx(math.exp(sum(map(math.log, means_s)) / 22))
    assert list(dict.fromkeys(name.partition(" ")[0] for name in result.plans)) == list(QUERIES)
    assert all(one.text for one in result.plans.values())
    assert all(one.content and one.arguments for name in QUERIES if (one := result.plans[name]))
    assert "Derived from TPC-H and not comparable" in result.report().read_text("utf-8")


def test_streams_run_at_once_each_in_its_own_order(analytic: Target, results: Path) -> None:
    load = TprocHLoad(virtual_users=2, query_sets=2, queries="q06,q14,q19,q22")
    done = records(hdbkit.run(analytic, SPEC, load))
    chosen = {"q06", "q14", "q19", "q22"}
    for user, stream in ((0, 1), (1, 2)):
        own = done[done["virtual_user"] == user]
        order = [name for name in ordered(stream) if name in chosen]
        assert [QUERIES[code] for code in own["operation"]] == order * 2
        assert (set(own["stream"]), list(own["query_set"])) == ({stream}, [1] * 4 + [2] * 4)


def undo(target: Target) -> None:
    """Undo the first two update sets, whether they were applied or not."""
    work, engine = workload(SPEC), database(target)
    restore = work.restoring(TprocHLoad(refresh="undone", query_sets=2))
    assert restore
    with closing(engine.connect(target, work.scope(engine.dialects))) as session:
        restore(session)


def test_refresh_functions_run_around_the_queries_and_are_undone(analytic: Target, results: Path) -> None:
    result = hdbkit.run(analytic, SPEC, TprocHLoad(refresh="undone", queries="q06"))
    done = records(result)
    names = [result.manifest.operations[code] for code in done["operation"]]
    assert names == ["rf1", "q06", "rf2"]
    assert done["rows"].iloc[0] > 15 < done["rows"].iloc[2]
    assert set(done["outcome"]) == {Outcome.COMMITTED}
    schema = result.checks[result.checks["name"].str.startswith("schema: ")]
    assert schema["passed"].all(), schema.to_string()
    assert not result.manifest.warnings


def test_kept_changes_are_found_by_the_check_and_refuse_the_same_update_set(analytic: Target, results: Path) -> None:
    load = TprocHLoad(refresh="kept", queries="q06", update_set=2)
    try:
        checks = hdbkit.run(analytic, SPEC, load).checks.set_index("name")
        assert not checks.loc["schema: orders of the build", "passed"]
        assert "15 orders are of refresh functions" in checks.loc["schema: orders of the build", "detail"]
        made = set(results.iterdir())
        for again in (load, TprocHLoad(refresh="undone", query_sets=2, queries="q06")):
            with pytest.raises(InputError, match="update set 2 of the refresh functions has been applied"):
                hdbkit.run(analytic, SPEC, again)
        assert set(results.iterdir()) == made, "known before anything is made"
    finally:
        undo(analytic)
    assert hdbkit.connect(analytic).check(SPEC)["passed"].all()


def test_the_last_of_several_streams_refreshes_while_the_others_query(analytic: Target, results: Path) -> None:
    load = TprocHLoad(virtual_users=3, refresh="undone", refresh_pairs=2, refresh_pause_s=0.5, queries="q06,q14")
    if Capability.SERVER not in database(analytic).capabilities:
        with pytest.raises(InputError, match="has no server, which this load needs; use one virtual user"):
            hdbkit.run(analytic, SPEC, load)
        return
    result = hdbkit.run(analytic, SPEC, load)
    done = records(result)
    by_user = done.groupby("virtual_user")["operation"].agg(
        lambda codes: [result.manifest.operations[i] for i in codes]
    )
    assert [sorted(names) for names in by_user] == [["q06", "q14"], ["q06", "q14"], ["rf1", "rf1", "rf2", "rf2"]]
    refreshed = done[done["virtual_user"] == 2].sort_values("t_start_us")
    ended = refreshed["t_start_us"] + refreshed["latency_us"]
    assert refreshed["t_start_us"].iloc[2] - ended.iloc[1] >= 500_000
    assert result.checks.set_index("name")["passed"]["schema: rows of lineitem"]


def test_a_query_beyond_its_timeout_fails_and_its_stream_continues(analytic: Target, results: Path) -> None:
    if analytic.kind != EMBEDDED[0]:
        pytest.skip("so short a timeout also ends the preparation of its queries")
    with pytest.raises(RunFailed, match=r"no query was completed .*q01, q09, q18: ") as failed:
        hdbkit.run(analytic, SPEC, TprocHLoad(queries="q01,q09,q18", statement_timeout_ms=1))
    result = hdbkit.result(failed.value.run_id)
    assert [ERROR_CLASSES[code] for code in records(result)["error_class"]] == ["statement_timeout"] * 3
    assert result.metric_value is None
    assert result.summary.metric_unknown == "q01, q09, q18: failed and never completed"


def test_a_run_may_begin_with_the_empty_cache_of_a_restarted_server(analytic: Target, results: Path) -> None:
    engine, load = database(analytic), TprocHLoad(queries="q06", cache="restart")
    if Capability.SERVER not in engine.capabilities:
        with pytest.raises(InputError, match="cache is restart, but hdbkit cannot restart"):
            hdbkit.run(analytic, SPEC, load)
        return

    def process() -> int | None:
        with closing(engine.connect(analytic)) as session:
            return engine.server_process(session)

    before = process()
    assert hdbkit.run(analytic, SPEC, load).metric_value
    assert process() != before


def test_a_schema_of_hammerdb_answers_the_same_queries(analytic: Target, power: hdbkit.Result, results: Path) -> None:
    if analytic.kind in EMBEDDED:
        pytest.skip("HammerDB does not know this engine")
    theirs, load = TprocHSpec(schema_from="hammerdb"), Load(statement_timeout_ms=60_000)
    with pytest.raises(SchemaProblem, match=r"no schema of TPROC-H of HammerDB|hdbkit itself built this schema"):
        hdbkit.run(analytic, theirs, load)
    with hammerdb_like.tproc_h(analytic):
        result = hdbkit.run(analytic, theirs, load)
        assert result.manifest.scale == "scale factor 0.01"
        assert list(records(result)["rows"]) == list(records(power)["rows"])
        checked = hdbkit.connect(analytic).check(theirs)
        assert checked["passed"].all(), checked.to_string()
        with pytest.raises(InputError, match="no update sets of the specification; omit refresh"):
            hdbkit.run(analytic, theirs, TprocHLoad(refresh="undone"))
        with pytest.raises(InputError, match="its answers cannot be verified"):
            hdbkit.connect(analytic).check(theirs, answers=True)


def test_parallel_workers_are_those_of_the_session_or_refused(analytic: Target, results: Path) -> None:
    engine, load = database(analytic), TprocHLoad(queries="q01", parallel_workers=1)
    if Capability.PARALLEL_WORKERS in engine.capabilities:
        assert hdbkit.run(analytic, SPEC, load).metric_value
        return
    with pytest.raises(InputError, match="has no parallel workers; omit parallel_workers"):
        hdbkit.run(analytic, SPEC, load)
