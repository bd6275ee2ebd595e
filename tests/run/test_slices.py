"""Sweeps by slices: when a sweep is one, and the changes that clients and sweep make within a run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, suppress
from typing import Any

import pytest

import hdbkit
from hdbkit.analysis.run.records import table
from hdbkit.api import connect
from hdbkit.api.sweeping import plan_checked
from hdbkit.config import Load, SweepSpec, Target, TprocCSpec
from hdbkit.config.specs.tproc_h import TprocHSpec
from hdbkit.config.sweep_spec import CompareBy
from hdbkit.databases import database
from hdbkit.errors import ConfigErrors, ExperimentFailed
from hdbkit.experiment.kinds.sweep import slicing
from hdbkit.results.manifest import Status
from hdbkit.servers import PrivateServer, control
from hdbkit.servers.trial import settable, settings_lacking
from hdbkit.slices import ON_SERVER, SliceOrder, Slices
from tests.run.conftest import NullTarget

SPEC = SweepSpec(
    settings={"commit": ("on", "off")},
    virtual_users=(2,),
    blocks=2,
    reset="none",
    slice_s=0.1,
    load=Load(rampup_s=0.2, duration_s=2),
)


def slices_of(target: Target, **changes: Any) -> Slices | None:
    return plan_checked(target, SPEC.with_(**changes), None, "", hdbkit.api.DEFAULT).slices


def test_a_sweep_is_by_slices_where_all_settings_are_of_a_session_and_ten_cycles_fit(null_target: NullTarget) -> None:
    target = null_target()
    found = slices_of(target)
    assert found is not None
    assert (found.in_session, found.slice_s, found.settings) == (True, 0.1, ({"commit": "on"}, {"commit": "off"}))
    assert slices_of(target, compare_by="runs") is None
    for window_s, slice_s in ((5, 0.25), (40, 0.5), (300, 1)):
        longer = slices_of(target, slice_s=None, load=Load(duration_s=window_s))
        assert longer is not None
        assert longer.slice_s == slice_s
    assert slices_of(target.with_(may_change_settings=True), slice_s=0.25) is None  # eight cycles
    assert slices_of(target, settings={"commit": ("on", "off"), "speed": ("1", "2")}) is None
    assert slices_of(target, winner_blocks=2) is None


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"factors": {"isolation": ["read_committed", "serializable"]}}, "cannot change within a run"),
        ({"slice_s": 0.25}, "10 cycles of 2 slices need 5 s, more than 2 s"),
        ({"settings": {"speed": ("1", "2")}}, "must be at least 1 s: these settings are applied on the server"),
        ({"settings": {"buffers": ("64", "128")}}, "needs a restart"),
        ({"looks": (2,)}, "no looks"),
        ({"strategy": "search"}, "a search compares runs"),
        ({"load": Load(rampup_s=0, duration_s=2, iterations=5)}, "window of a known length"),
    ],
)
def test_slices_that_are_not_possible_are_refused_with_the_reason(
    null_target: NullTarget, changes: dict[str, Any], reason: str
) -> None:
    with pytest.raises(ConfigErrors, match=reason):
        slices_of(null_target().with_(may_change_settings=True), compare_by=CompareBy.SLICES, **changes)


def test_a_run_that_ends_with_its_last_operation_has_no_slices() -> None:
    spec = SPEC.with_(workload=TprocHSpec(), load=Load(duration_s=300))
    assert ["slices need a window of a known length" in one.what for one in slicing.unsuitable(spec, 2)] == [True]
    assert not slicing.unsuitable(SPEC.with_(workload=TprocCSpec()), 2)


def test_a_window_that_is_too_short_is_named_where_runs_are_not_permitted(null_target: NullTarget) -> None:
    reason = "need 5 s, more than 2 s; give a longer window .*; to compare runs, the target must set 'may_change_s"
    with pytest.raises(ConfigErrors, match=reason):
        slices_of(null_target(), slice_s=0.25)
    assert slices_of(null_target(), slice_s=0.25, settings={"speed": ("1", "2")}) is None


def test_slices_of_settings_of_the_server_need_its_permission(null_target: NullTarget) -> None:
    with pytest.raises(ConfigErrors, match=r"settings\.speed: the account cannot set it in its sessions") as refused:
        slices_of(null_target(), settings={"speed": ("1", "2")}, compare_by=CompareBy.SLICES)
    assert len(refused.value.problems) == 1


def test_all_clients_change_their_sessions_and_the_server_keeps_its_settings(null_target: NullTarget) -> None:
    target = null_target(latency_us=4000)  # which permits no changes of the server
    done = hdbkit.sweep(target, SPEC)
    assert set(done.runs["status"]) == {"done"}
    assert done.runs["run_id"].nunique() == 2, "each run has all configurations"
    result = hdbkit.result(str(done.runs["run_id"].iloc[0]))
    switches = table(result.folder, "switches")
    assert switches is not None
    assert set(switches["virtual_user"]) == {0, 1}
    order = SliceOrder(result.manifest.plan.slices)
    assert [order.position(one) for one in switches["slice"]] == switches["position"].tolist()
    assert (switches["t_due_us"] == switches["slice"] * 100_000).all()
    assert (switches["t_end_us"] >= switches["t_start_us"]).all()
    assert [one.configuration for one in result.summary.slices.configurations] == [0, 1]
    assert result.folder.table("slices").is_file()
    assert set(done.verdicts["configuration"]) == {0, 1}
    assert set(connect(target).settings()["value"]) == {"1", "on", "1024"}


@pytest.fixture
def session_of(built: PrivateServer) -> Iterator[Any]:
    with closing(database(built.target).connect(built.target)) as session:
        yield session


def test_what_a_session_can_set_is_found_by_trying(built: PrivateServer, session_of: Any) -> None:
    known = control(built.target).settings()
    values = {
        "work_mem": ("1MB", "64MB"),
        "synchronous_commit": ("on", "off"),
        "max_wal_size": ("1GB",),
        "shared_buffers": ("64MB",),
        "search_path": ("a",),
        "enable_seqscan": ("maybe",),
    }
    assert settable(built.target, known, values) == {"work_mem", "synchronous_commit"}
    assert settings_lacking(session_of, known, {"work_mem": "64MB", "enable_seqscan": "on"}) == ["work_mem"]


def test_a_change_in_a_session_takes_effect_in_plans_that_the_session_keeps(session_of: Any) -> None:
    session_of.execute("CREATE TEMPORARY TABLE kept AS SELECT generate_series(1, 1000) AS i")
    session_of.execute("CREATE INDEX ON kept (i); ANALYZE kept; SET plan_cache_mode = force_generic_plan")
    session_of.execute("PREPARE one AS SELECT i FROM kept WHERE i = 5")

    def plan() -> str:
        raw = session_of.connection.exec_(b"EXPLAIN EXECUTE one")
        return " ".join(row[0] for row in session_of.rows(raw))

    session_of.execute("EXECUTE one")
    before = plan()
    for name in ("enable_indexscan", "enable_bitmapscan", "enable_indexonlyscan"):
        session_of.ask("set_in_session", name=name, value="off")
    assert "Index" in before
    assert "Seq Scan" in plan()


@pytest.fixture
def few_cycles(monkeypatch: pytest.MonkeyPatch) -> SweepSpec:
    """A sweep over a setting of the server whose runs need not hold ten cycles."""
    monkeypatch.setattr(slicing, "MIN_CYCLES", 2)
    load = Load(rampup_s=0.2, duration_s=5)
    return SPEC.with_(settings={"checkpoint_timeout": ("5min", "10min")}, compare_by="slices", slice_s=1, load=load)


@pytest.mark.alone
def test_the_sweep_changes_the_server_within_a_run(built: PrivateServer, few_cycles: SweepSpec) -> None:
    before = control(built.target).settings()["checkpoint_timeout"].value
    with suppress(
        ExperimentFailed
    ):  # on a crowded host changes are late; the sweep ends after the run, which is kept
        hdbkit.sweep(built.target, few_cycles)
    run = hdbkit.result()
    assert run.manifest.status is Status.DONE
    switches = table(run.folder, "switches")
    assert switches is not None
    assert set(switches["virtual_user"]) == {ON_SERVER}
    assert set(switches["position"]) == {0, 1}
    assert control(built.target).settings()["checkpoint_timeout"].value == before


def test_settings_that_open_sessions_do_not_get_fail_the_run(built: PrivateServer, few_cycles: SweepSpec) -> None:
    long = Load(rampup_s=0.2, duration_s=60)  # it ends at the first change, however late that is on a busy host
    spec = few_cycles.with_(settings={"log_disconnections": ("off", "on")}, load=long)
    runs = hdbkit.sweep(built.target, spec).runs
    assert set(runs["status"]) == {"failed"}
    assert runs["note"].str.contains("sessions that are open do not get the new value of log_disconnections").all()
