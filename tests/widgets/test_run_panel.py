"""The run panel: its fields form a load, its runs equal the command line's, its result stays with the notebook."""

from __future__ import annotations

import html
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hdbkit
from hdbkit import api
from hdbkit.config import Load, Target, TprocCLoad, TprocCSpec, TprocHSpec, WorkloadSpec, load_from
from hdbkit.config.specs.tproc_c import TRANSACTIONS
from hdbkit.errors import ConfigErrors, InputError, RunFailed
from hdbkit.execution.live import InLists
from hdbkit.execution.live_schedule import ScheduleTick
from hdbkit.results.manifest import Manifest, Status
from hdbkit.results.spool import Heads, SpoolReader, SpoolWriter
from hdbkit.widgets import RunPanel, SchemaPanel, Shared, SweepPanel
from hdbkit.widgets.parts.load_form import LoadForm
from hdbkit.widgets.parts.mix_sliders import WHOLE, balanced
from hdbkit.widgets.parts.run_view import MAX_POINTS, LiveChart, doing, silence, whole
from hdbkit.workloads import specification, workload
from tests.conftest import HdbkitCommand
from tests.unit.synthetic import plan_of, with_result, write_run
from tests.widgets.conftest import build_null, code_of, text_of, until

SHORT = Load(virtual_users=2, rampup_s=0.5, duration_s=2)
TPROC_C = TprocCSpec()
KEY_VALUE = specification("params/workloads/key-value")
ENDLESS = Load(virtual_users=2, rampup_s=0, duration_s=600)


@pytest.fixture
def built(null_target: Target) -> Target:
    return build_null(null_target.with_(options={"latency_us": "2000"}))


@pytest.fixture
def panel(built: Target) -> Iterator[RunPanel]:
    made = RunPanel(target=built, load=SHORT)
    yield made
    made.close()
    for running in api.running_runs():
        running.stop(at_once=True)


@given(st.dictionaries(st.sampled_from(TRANSACTIONS), st.integers(0, WHOLE), min_size=2), st.data())
def test_a_mix_adds_up_and_keeps_the_part_that_was_moved(mix: dict[str, int], data: Any) -> None:
    moved = data.draw(st.sampled_from(sorted(mix)))
    found = balanced(mix, moved)
    assert sum(found.values()) == WHOLE
    assert found[moved] == mix[moved]
    assert min(found.values()) >= 0


def test_the_other_sliders_share_what_one_leaves() -> None:
    form = LoadForm(Load(), TPROC_C)
    form.mix.sliders["new_order"].value = 72.5
    assert form.load().mix == {
        "new_order": 72.5, "payment": 21.5, "order_status": 2.0, "delivery": 2.0, "stock_level": 2.0,
    }  # fmt: skip


def test_a_mix_that_no_one_moved_follows_the_other_options() -> None:
    form = LoadForm(Load(), TPROC_C)
    form.fields["input_rules"].value = "hammerdb"
    assert form.load().mix is None
    assert [slider.value for slider in form.mix.sliders.values()] == [43.5, 43.5, 4.4, 4.3, 4.3]


def test_the_fields_and_the_mix_are_those_of_the_workload() -> None:
    form = LoadForm(TprocCLoad(virtual_users=3, mix={"payment": 1}), TPROC_C)
    form.use(KEY_VALUE)
    assert form.fields.keys() == Load.model_fields.keys()
    assert {name: slider.value for name, slider in form.mix.sliders.items()} == {"read": 95.0, "update": 5.0}
    assert form.code() == "hdbkit.Load(virtual_users=3)"
    form.mix.sliders["read"].value = 70
    assert form.load().model_dump(exclude_unset=True) == {"virtual_users": 3, "weights": {"read": 70, "update": 30}}
    form.use(TPROC_C)
    assert "routines" in form.fields
    assert form.fields["isolation"].value == ""
    form.fields["isolation"].value = "serializable"
    assert form.load().isolation == "serializable"


def test_a_workload_that_is_chosen_in_one_panel_is_chosen_in_all() -> None:
    shared = Shared()
    run, schema, sweep = RunPanel(shared), SchemaPanel(shared), SweepPanel(shared)
    (folder,) = (value for title, value in run.choice.list.options if title == workload(KEY_VALUE).title)
    run.choice.list.value = folder
    assert {panel.choice.list.value for panel in (run, schema, sweep)} == {folder}
    assert "parameters" in schema.form.inputs
    assert "routines" not in dict(sweep.form.factors.list.options)
    assert f'hdbkit.run("kind://user@host:port/database", workload={folder!r}, load=load)' in code_of(run)
    schema.form.inputs["parameters"].value = "rows=500"
    assert schema.spec().fields["parameters"] == {"rows": 500}
    assert "500 rows" in schema.estimate.value
    schema.choice.list.value = ""
    schema.choice.folder.value = "params/workloads/tpcb-like"
    assert shared.workload.definition.name == "tpcb-like"
    schema.choice.folder.value = "nowhere"
    assert "there is no workload 'nowhere'" in html.unescape(text_of(schema))
    for panel in (run, schema, sweep):
        panel.close()


@pytest.mark.parametrize(
    "load",
    [
        Load(),
        TprocCLoad(virtual_users=7, rampup_s=3, duration_s=9, routines="client", input_rules="hammerdb", seed=42),
        TprocCLoad(all_warehouses=True, keying_and_thinking=True, mix={"payment": 100.0}, max_retries=3),
    ],
)
def test_what_the_fields_show_is_the_load(load: Load) -> None:
    found, wanted = (workload(TPROC_C).load(one).model_dump() for one in (LoadForm(load, TPROC_C).load(), load))
    assert {k: v for k, v in (found.pop("mix") or {}).items() if v} == (wanted.pop("mix") or {})
    assert found == wanted


def test_the_code_that_is_shown_gives_the_same_load(panel: RunPanel) -> None:
    panel.form.fields["virtual_users"].value = 5
    panel.form.label.value = "night's"
    code = code_of(panel)
    scope: dict[str, Any] = {}
    exec(code.partition("result = ")[0], scope)
    assert scope["load"].model_dump() == load_from(panel.form.load().given).model_dump()
    assert '''label="night's"''' in code


def test_a_run_is_watched_until_its_result_and_is_that_of_the_command_line(
    panel: RunPanel, built: Target, command: HdbkitCommand
) -> None:
    said: list[str] = []
    panel._state.observe(lambda change: said.append(change["new"]), "value")
    finished_before: list[int] = []
    panel.go.observe(lambda change: change["new"] or finished_before.append(panel.shared.finished), "disabled")
    panel.start()
    result = panel.wait()
    assert finished_before == [1], "the button can be pressed when all panels have shown the run"
    assert result.metric_value is not None
    assert f"{result.metric_value:,.0f} NOPM" in text_of(panel)
    assert any("measuring: " in one for one in said)
    points = panel.view.live.points
    assert [point["t"] for point in points] == sorted(point["t"] for point in points)
    assert len(points) >= 2
    assert [one["latency"][0] for one in points if one["latency"][0]][-1][0] >= 2
    assert panel.shared.run_id == result.run_id
    assert panel.shared.finished == 1

    words = ("--virtual-users", 2, "--rampup-s", 0.5, "--duration-s", 2)
    assert command("run", built.given, *words, "--json").code in (0, 1)
    theirs = api.result("last").manifest
    assert theirs.run_id != result.run_id
    assert result.manifest.plan.model_copy(update={"run_id": ""}) == theirs.plan.model_copy(update={"run_id": ""})


def test_a_run_of_another_process_is_attached_and_stopped_and_the_panel_can_be_closed_before(
    panel: RunPanel, built: Target
) -> None:
    """A closed panel notifies the caller that waits, and can be used again; a second stop ends the clients."""
    running = hdbkit.start(built, load=ENDLESS, label="theirs")
    panel.attach(running.run_id)
    assert panel.form.load().model_dump(include=set(Load.model_fields)) == ENDLESS.model_dump()
    assert panel.form.label.value == "theirs"
    until(lambda: panel.view.live.points)
    panel.close()
    with pytest.raises(InputError, match="closed before its run ended"):
        panel.wait()

    panel.attach()
    until(lambda: panel.view.live.points)
    panel.stop.click()
    assert panel.stop.description == "Stop at once"
    panel.stop.click()
    result = panel.wait()
    assert (result.run_id, result.manifest.status.value) == (running.run_id, "stopped")
    assert not panel.go.disabled
    assert panel.stop.disabled


def test_the_target_of_an_attached_run_is_chosen_where_none_is(results: Path, null_target: Target) -> None:
    made = with_result(write_run(results / "20260101-000000-nulldb-w1-u1-aaaaaa", users=1, duration_s=2))
    run_id, measured = made.manifest.run_id, made.manifest.plan.target
    for before, after in ((None, measured), (null_target, null_target)):
        panel = RunPanel(Shared(target=before)).attach(run_id)
        assert panel.wait().run_id == run_id
        assert panel.shared.target == after
        panel.close()


def test_a_run_that_cannot_start_shows_why_and_can_be_tried_again(null_target: Target) -> None:
    panel = RunPanel(target=null_target, load=SHORT)
    panel.start()
    with pytest.raises(InputError, match="hdbkit build"):
        panel.wait()
    assert "hdbkit build" in text_of(panel)
    assert not panel.go.disabled
    panel.close()


def test_a_value_out_of_bounds_is_reported_and_not_replaced(panel: RunPanel) -> None:
    panel.form.fields["virtual_users"].value = 0
    assert "virtual_users: must be 1 or more, not 0" in html.unescape(text_of(panel))
    assert panel._call.value == "", "no code of another load"
    assert panel.go.disabled
    assert panel.go.tooltip == "virtual_users: must be 1 or more, not 0"
    assert panel.wrong_fields.errors == {"virtual_users": "must be 1 or more, not 0"}
    with pytest.raises(ConfigErrors):
        panel.start()
    assert panel.form.fields["virtual_users"].value == 0


def test_the_other_fields_are_in_groups_and_those_that_were_changed_are_counted() -> None:
    form = LoadForm(Load(), TPROC_C)
    assert form.advanced.get_title(0) == "Advanced"
    form.fields["isolation"].value, form.fields["rate"].value = "serializable", "100"
    assert form.advanced.get_title(0).endswith("2 changed")
    assert form.fields["isolation"].options[0] == ("the server's default", "")
    assert "hdbkit-unit-s" in form.fields["rampup_s"]._dom_classes


def test_without_a_target_nothing_is_started() -> None:
    """The reason is beside the buttons, ahead of the charts of the run before."""
    panel = RunPanel(Shared())
    assert panel.go.disabled
    assert panel.go.tooltip.startswith("no target is chosen")
    panel.go.click()
    assert "no target is chosen" in text_of(panel)
    parts = list(panel.root.children)
    at = parts.index(panel._error)
    assert (parts[at - 2], parts[at + 1 : at + 3]) == (panel.body, panel.view.parts)
    assert parts[at - 1].children[1] is panel._state
    panel.close()


def test_the_reason_of_a_failed_run_is_shown(built: Target) -> None:
    broken = built.with_(options={"latency_us": "2000", "error_rate": "0.5", "error_class": "other"})
    panel = RunPanel(target=broken, load=ENDLESS.model_copy(update={"raise_error": True}))
    panel.start()
    with pytest.raises(RunFailed, match="failed on demand"):
        panel.wait()
    assert "failed on demand" in text_of(panel)
    panel.close()


def test_a_run_that_is_attached_late_is_read_from_now_on(tmp_path: Path) -> None:
    writer = SpoolWriter(tmp_path / "1.spool", 0, {})
    (head,) = Heads(0, {}).pack([0])
    for at in range(1000):
        writer.append(0, at, at + 1, head, 0, 0, 0)
    writer.close()
    reader = SpoolReader(tmp_path / "1.spool")
    reader.skip_before(991)
    assert list(reader.read()["end_ns"]) == list(range(991, 1001))
    reader.close()


def test_a_live_chart_keeps_a_bounded_number_of_points_and_the_newest() -> None:
    chart = LiveChart()
    chart.begin(MANIFEST, 0)
    for second in range(3 * MAX_POINTS):
        chart.add(tick("measuring", elapsed_s=float(second)))
    assert len(chart.points) <= MAX_POINTS
    assert chart.points[-1]["t"] == 3 * MAX_POINTS - 1


def test_the_live_chart_of_lists_keeps_the_newest_time_of_each_operation_and_shows_which_is_running() -> None:
    chart = LiveChart()
    chart.begin(MANIFEST.model_copy(update={"lists": [(["new_order", "payment"], 1)]}), 0)
    taken = {key: {"new_order": 2e6} for key in ("p50_us", "p95_us", "p99_us")}
    chart.add(tick("measuring", **taken, in_lists=InLists(1, 0, 2, (("payment", 0.1),))))
    chart.add(tick("measuring", in_lists=InLists(1, 0, 2, (("payment", 0.6),))))
    newest = chart.points[-1]
    assert (newest["finished"], newest["newest_s"], newest["running"]) == (1, [2.0, None], [False, True])
    chart.begin(MANIFEST, 0)
    chart.add(tick("measuring", **taken))
    assert "finished" not in chart.points[-1]


@pytest.mark.parametrize(
    ("more", "drawn", "time"),
    [
        ({"rate": 100}, ["rates", "late", "backlog", "busy"], "response"),
        ({"keying_and_thinking": True}, ["late", "busy"], "response"),
        ({"sessions_per_user": 2}, ["busy"], "service"),
        ({}, [], "service"),
    ],
)
def test_the_live_chart_draws_what_is_known_of_the_schedule(
    more: dict[str, Any], drawn: list[str], time: str
) -> None:
    load = Load(**more)
    rate = {"rate_per_s": load.rate, "paced": load.paced, "plan": plan_of(load=load)}
    chart, sent = LiveChart(), []
    chart.send = sent.append  # type: ignore[method-assign]
    chart.begin(MANIFEST.model_copy(update=rate), 0)
    assert (sent[0]["about"]["schedule"], sent[0]["about"]["time"]) == (drawn, time)
    chart.add(tick("measuring", schedule=ScheduleTick(90, 2, (1, 2, 3), 100, 4)))
    newest = chart.points[-1]["schedule"]
    assert newest == {"offered": 100, "achieved": 90, "late": [1, 2, 3], "backlog": 4, "busy": 2}


def test_the_quantiles_of_an_open_loop_in_progress_are_of_response_time(null_target: Target) -> None:
    target = build_null(null_target.with_(options={"latency_us": "5000"}))
    running = api.start(target, load=ENDLESS.model_copy(update={"rate": 1000.0}))  # users reach less than 400
    view, seen = running.live(), []
    until(lambda: seen.append(view.tick()) or (seen[-1].schedule and seen[-1].schedule.backlog > 100))
    until(lambda: seen.append(view.tick()) or seen[-1].p50_us.get("new_order", 0) > 50_000)
    view.close()
    running.stop(at_once=True)
    running.wait()
    now = seen[-1]
    assert now.time == "response"
    assert now.schedule is not None
    assert now.schedule.busy == 2


def test_fields_of_a_window_are_shown_where_a_run_has_one() -> None:
    def shown(spec: WorkloadSpec) -> set[str]:
        def inside(box: Any) -> set[Any]:
            return {box} | {found for child in getattr(box, "children", ()) for found in inside(child)}

        form = LoadForm(Load(), spec)
        widgets = inside(form.widget)
        return {name for name, field in form.fields.items() if field in widgets}

    lists, window = shown(TprocHSpec()), shown(TPROC_C)
    assert {"rampup_s", "rampup_max_s", "duration_s"} <= window - lists
    assert {"virtual_users", "statement_timeout_ms"} <= lists & window


NOPM = workload(TPROC_C).metric
MANIFEST = Manifest(
    run_id="a-run", notice="", status=Status.MEASURING, plan=plan_of(load=Load(virtual_users=8)),
    operations=["new_order", "payment"], metric=NOPM, noun="transaction",
)  # fmt: skip


def tick(status: str, **given: Any) -> api.Tick:
    values: dict[str, Any] = {"elapsed_s": 0.0, "metric_value": 0.0, "operations_per_s": 1.0, "seconds": 0.5, **given}
    return api.Tick(status=Status(status), metric=NOPM, headline="new_order", **values)


def test_the_state_line_of_lists_is_what_is_finished_at_any_time() -> None:
    now = tick("measuring", elapsed_s=9999, in_lists=InLists(1, 0, 22, (("q02", 3.2),)))
    assert doing(now, MANIFEST) == "1 of 22 transactions finished; running: q02 (3.2 s)"
    assert whole(now, MANIFEST.plan.load, 0.5), "its length is not that of a window"


@pytest.mark.parametrize(
    ("now", "words"),
    [
        (tick("starting", connected=3), "connecting: 3 of 8 virtual users are ready"),
        (tick("rampup", elapsed_s=12.2, metric_value=1234), "ramp-up: 12 of 120 s; 1,234 NOPM, 1 transactions/s"),
        (tick("measuring", elapsed_s=130, metric_value=9), "measuring: 10 of 300 s; 9.00 NOPM, 1 transactions/s"),
        (tick("finishing"), "finishing: the last transactions, the files and the checks"),
    ],
)
def test_the_state_line_says_what_is_done_now(now: api.Tick, words: str) -> None:
    assert doing(now, MANIFEST) == words


@pytest.mark.parametrize(
    ("thinking", "silent_s", "words"),
    [
        (False, 4.9, ""),
        (False, 7.2, "; no transaction has succeeded for 7 s (no space left)"),
        (True, 7.2, ""),
        (True, 61, "; no transaction has succeeded for 61 s (no space left)"),
    ],
)
def test_the_state_line_says_that_nothing_succeeds_and_shows_the_error(
    thinking: bool, silent_s: float, words: str
) -> None:
    now = tick("measuring", elapsed_s=130, silent_s=silent_s, error="no space left\nand more\n")
    line = doing(now, MANIFEST.model_copy(update={"paced": thinking}))
    assert line == f"measuring: 10 of 300 s; 0 NOPM, 1 transactions/s{words}"
    assert not silence(tick("finishing", silent_s=silent_s), MANIFEST), "at its end a run has no load"


def test_a_run_in_which_every_transaction_fails_is_silent(null_target: Target) -> None:
    target = build_null(null_target.with_(options={"latency_us": "2000", "error_rate": "1", "error_class": "other"}))
    running = api.start(target, load=ENDLESS)
    view = running.live()
    until(lambda: (now := view.tick()).silent_s > 1.5 and now.error)
    view.close()
    running.stop(at_once=True)
    running.wait()


@pytest.mark.parametrize(
    ("now", "drawn"),
    [
        (tick("measuring", elapsed_s=9.9), True),
        (tick("measuring", elapsed_s=10.2), False),
        (tick("finishing", elapsed_s=9.9), False),
        (tick("rampup", elapsed_s=0.2, seconds=0.2), False),
        (tick("rampup", elapsed_s=0.3, seconds=0.3), True),
    ],
)
def test_only_a_look_that_saw_the_load_all_the_time_is_a_point(now: api.Tick, drawn: bool) -> None:
    assert whole(now, Load(rampup_s=4, duration_s=6), 0.5) is drawn
