"""The sweep panel without a browser: its options, its messages before a start, and the sweep that it starts."""

from __future__ import annotations

import html
import json
import os
import re
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hdbkit
from hdbkit import api
from hdbkit.api import DEFAULT, connect, running_experiments, start_sweep
from hdbkit.api.sweeping import plan_checked
from hdbkit.config import Load, SweepSpec, Target, TprocCLoad, TprocCSpec, TprocHSpec
from hdbkit.errors import ExperimentFailed, InputError
from hdbkit.experiment.kinds.sweep.plan import SweepPlan
from hdbkit.servers import PrivateServer
from hdbkit.widgets import Shared, SweepPanel
from hdbkit.widgets.panels.sweep import SweepForm, sweep_code
from hdbkit.widgets.parts.experiment_view import MAX_ROWS, runs_table
from hdbkit.widgets.parts.sweep_choice import text_of as values_text
from hdbkit.widgets.parts.sweep_choice import values_in
from hdbkit.workloads import specification
from tests.unit.sweeps import synthetic_runs
from tests.widgets.conftest import build_null, questions, text_of, until

SPEC = SweepSpec(
    name="speed", settings={"speed": ("1", "2")}, virtual_users=(1,), blocks=2, load=Load(rampup_s=0, duration_s=0.3)
)


@pytest.fixture
def target(null_target: Target) -> Iterator[Target]:
    """A database of the null engine whose settings may be changed, with a schema; no sweep goes on afterwards."""
    place = null_target.with_(options={"latency_us": "2000"}, may_change_settings=True)
    yield build_null(place)
    for sweep in running_experiments():
        sweep.stop()
        sweep.wait()
    connect(place).drop()


@pytest.fixture
def panel(target: Target) -> Iterator[SweepPanel]:
    made = SweepPanel(target=target)
    yield made
    made.close()


def read(panel: SweepPanel) -> SweepPanel:
    """The panel with the server's list in it."""
    panel.read.click()
    until(lambda: "the server has" in text_of(panel))
    return panel


def called(panel: SweepPanel) -> str:
    """The Python that the panel shows."""
    found = re.search(r"<pre[^>]*>(.*?)</pre></details>$", text_of(panel), re.DOTALL | re.MULTILINE)
    return html.unescape(found[1]) if found else ""


# -- picking settings ---------------------------------------------------------------------------------------


def test_settings_are_found_by_name_and_by_what_they_do(panel: SweepPanel) -> None:
    picker = read(panel).form.picker
    assert [name for _, name in picker.list.options] == ["buffers", "speed", "commit"], "sizes are first"
    picker.search.value = "LATENCY"
    assert [name for _, name in picker.list.options] == ["speed"]
    picker.search.value = "nothing like it"
    assert picker.list.options == ()
    assert picker.add.disabled
    assert "No setting of the server contains 'nothing like it'" in html.unescape(picker.about.value)


def test_a_setting_reports_its_value_range_unit_and_what_a_change_takes(panel: SweepPanel) -> None:
    picker = read(panel).form.picker
    picker.search.value = "buffers"
    assert picker.about.value == (
        "buffers: has no effect. Current value: 8MB. Allowed: 128kB to 8TB (in 8kB without a unit). "
        "A change needs a restart."
    )


def test_a_cache_beyond_the_memory_of_the_host_is_reported(
    server: PrivateServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hdbkit.api.connection.host_facts", lambda _: {"ram": "4GB"})
    wanted = {"shared_buffers": ["4GB", "5GB", "100"], "work_mem": ["8GB"]}
    assert api.connect(server.target).memory_warnings(wanted) == [
        "shared_buffers=5GB is larger than the memory of the server's host (4GB)"
    ]


def test_a_real_server_offers_its_own_settings(server: PrivateServer) -> None:
    panel = read(SweepPanel(target=server.target))
    picker = panel.form.picker
    picker.search.value = "synchronous_commit"
    assert picker.list.value == "synchronous_commit"
    assert "Allowed: local, remote_write, remote_apply, on, off." in picker.about.value
    picker.search.value = "buffer"
    picker.list.value = "shared_buffers"
    picker.add.click()
    assert panel.form.picker.values == {"shared_buffers": ("128MB",)}
    assert "A change needs a restart." in text_of(panel)
    panel.close()


def test_a_range_of_values_is_a_line_of_text(panel: SweepPanel) -> None:
    read(panel).form.picker.pick("speed", "1, = 2 to 8 factor 2")
    panel.form.blocks.value = 2
    assert "<b>10 runs</b>: 4 configurations with 2 runs of the baseline" in panel.planned.value
    assert "['1', '2', '4', '8']" in called(panel)


def test_a_plan_that_was_read_before_a_change_is_not_shown_after_it(
    panel: SweepPanel, monkeypatch: pytest.MonkeyPatch
) -> None:
    panel.form.show(SPEC)
    planned, was_read, changed = panel.workspace.plan_sweep, threading.Event(), threading.Event()

    def plan(*given: Any) -> SweepPlan:
        found = planned(*given)
        if threading.current_thread() is reader:
            was_read.set()
            changed.wait(0.1)
        return found

    monkeypatch.setattr(type(panel.workspace), "plan_sweep", lambda _, *given: plan(*given))
    reader = threading.Thread(target=panel.refresh)
    reader.start()
    assert was_read.wait(60)
    panel.form.blocks.value = 3
    changed.set()
    reader.join()
    assert "<b>6 runs</b>" in panel.planned.value


def test_all_choices_of_a_switch_are_offered_the_present_one_first(panel: SweepPanel) -> None:
    picker = read(panel).form.picker
    picker.pick("commit")
    picker.pick("speed", "1, 2")
    assert panel.form.spec.settings == {"commit": ("on", "off"), "speed": ("1", "2")}
    picker.drop("commit")
    assert panel.form.spec.settings == {"speed": ("1", "2")}


def test_options_of_the_load_and_the_schema_are_tried_beside_settings(panel: SweepPanel) -> None:
    panel.form.show(SPEC)
    factors = panel.form.factors
    assert factors.add.disabled
    factors.list.value = "routines"
    assert "stored routines, or the same from the client" in factors.about.value
    assert "A change takes effect in the next run." in factors.about.value
    factors.add.click()
    factors.pick("partitions", "0, 4")
    assert factors.values == {"routines": ("stored", "client"), "partitions": ("0", "4")}
    assert "rebuilds the schema" in text_of(panel)
    assert "<b>20 runs</b>: 8 configurations with 3 runs of the baseline" in panel.planned.value
    assert "factors={'routines': ['stored', 'client'], 'partitions': ['0', '4']}" in called(panel)
    factors.pick("isolation", "read_committed, sometimes")
    assert "isolation" in text_of(panel)
    assert called(panel) == ""


def test_options_alone_are_a_sweep(panel: SweepPanel) -> None:
    panel.form.show(SPEC.with_(settings={}, factors={"all_warehouses": ("off", "on")}))
    assert "<b>4 runs</b>: 2 configurations" in panel.planned.value
    files = SPEC.with_(settings={}, settings_file={"a": {"jit": "on"}, "b": {}}, baseline={"settings_file": "b"})
    panel.form.show(files)
    assert panel.form.spec == files


def test_the_schema_that_is_chosen_is_the_one_that_is_swept_and_its_scale_stays() -> None:
    form = SweepForm(lambda: None)
    form.show(SPEC.with_(workload=TprocCSpec(warehouses=7, schema_from="hammerdb")))
    form.use(specification(schema_from="hammerdb"), ())
    assert form.spec.workload == TprocCSpec(warehouses=7, schema_from="hammerdb")
    form.use(specification(), ())
    assert form.spec.workload is None
    form.show(SPEC.with_(load=TprocCLoad(routines="client")))
    form.use(specification(), ())
    assert form.spec.load == TprocCLoad(routines="client")
    form.show(SPEC.with_(workload=TprocCSpec(warehouses=7)))
    form.use(specification(schema_from="hdbkit"), ())
    assert form.spec.workload == TprocCSpec(warehouses=7)


def test_a_workload_that_is_chosen_without_options_is_the_one_that_is_swept() -> None:
    form = SweepForm(lambda: None)
    form.show(SPEC)
    form.use(TprocHSpec(), ())
    assert form.spec.workload == TprocHSpec()
    assert "workload=hdbkit.TprocHSpec()" in sweep_code(None, form.spec)
    form.use(specification(), ())
    assert form.spec.workload is None


def test_fields_of_a_window_are_shown_where_runs_have_one() -> None:
    form = SweepForm(lambda: None)
    for kind, display in (("tproc_h", "none"), ("tproc_c", None)):
        form.use(specification(kind), ())
        assert {form.rampup.layout.display, form.duration.layout.display} == {display}


def test_looks_and_winner_blocks_are_in_the_plan_and_the_call(panel: SweepPanel) -> None:
    panel.form.show(SPEC)
    panel.form.blocks.value, panel.form.looks.value, panel.form.winners.value = 8, "4, 8", 3
    assert "ends after 4 blocks if every verdict is decided by then" in panel.planned.value
    assert "3 further blocks of the three best" in panel.planned.value
    assert "looks=[4, 8]" in called(panel)
    assert "winner_blocks=3" in called(panel)


@pytest.mark.parametrize(
    ("text", "values"),
    [("64MB, 1GB", ("64MB", "1GB")), (' "a, b", c ,', ("a, b", "c")), ("", ()), ('"a, ""b"""', ('a, "b"',))],
)
def test_values_are_separated_by_commas_and_quoted_where_they_hold_one(text: str, values: tuple[str, ...]) -> None:
    assert values_in(text) == values
    assert values_in(values_text(values)) == values


# -- before it starts ---------------------------------------------------------------------------------------


def test_runs_and_time_are_reported_before_it_starts(panel: SweepPanel) -> None:
    panel.form.show(SPEC.with_(virtual_users=(1, 2), load=Load(rampup_s=24, duration_s=60)))
    assert "<b>8 runs</b>: 2 configurations x 2 user counts x 2 blocks" in text_of(panel)
    assert "<b>about 12 minutes</b>" in text_of(panel)
    panel.form.blocks.value = 10
    assert "<b>40 runs</b>" in text_of(panel)


@pytest.mark.parametrize(
    ("field", "value", "sentence"),
    [
        ("users", "1, many", "must be numbers such as 1,4,16, not '1, many'"),
        ("users", "0", "each must be between 1 and 100000, not 0"),
        ("looks", "4, then 8", "looks must be numbers such as 1,4,16, not '4, then 8'"),
        ("looks", "4, 8", "looks: the last must equal blocks (2), not 8"),
        ("winners", 1, "one block has no replication"),
        ("duration", -1, "duration_s"),
        ("name", "a name", "name"),
    ],
)
def test_an_error_in_a_field_is_a_sentence_and_nothing_is_started(
    panel: SweepPanel, results: Path, field: str, value: Any, sentence: str
) -> None:
    panel.form.show(SPEC)
    getattr(panel.form, field).value = value
    assert sentence in html.unescape(text_of(panel))
    assert panel.go.disabled
    assert called(panel) == ""
    panel.go.click()
    assert sentence in html.unescape(text_of(panel))
    assert not list(results.glob("experiments/*"))


def test_what_the_server_would_refuse_is_reported_while_it_is_typed_and_when_it_is_started(
    panel: SweepPanel, results: Path
) -> None:
    read(panel).form.show(SPEC.with_(settings={"speed": ("1", "fast"), "buffers": ("64",)}))
    until(lambda: "speed must be a number" in panel.wrong.value)
    assert "buffers needs a restart" in panel.wrong.value
    until(lambda: panel.go.disabled)
    assert "speed must be a number" in panel.go.tooltip
    panel.start()
    until(lambda: "nothing was started:" in text_of(panel))
    assert "speed must be a number" in text_of(panel).partition('role="alert"')[2]
    assert not list(results.glob("experiments/2*"))


def test_one_value_has_nothing_to_be_compared_with(panel: SweepPanel) -> None:
    panel.form.show(SPEC.with_(settings={"speed": ("1",)}))
    assert "give a second value" in panel.go.tooltip
    assert panel.go.disabled
    panel.form.users.value = "four"
    assert panel.wrong_fields.errors == {"virtual_users": "virtual users must be numbers such as 1,4,16, not 'four'"}


def test_a_server_is_changed_only_with_leave(target: Target) -> None:
    panel = SweepPanel(target=target.with_(may_change_settings=False), spec=SPEC)
    assert panel.permit.layout.display == ""
    panel.go.click()
    until(lambda: "does not set 'may_change_settings: true'" in html.unescape(text_of(panel)))
    panel.permit.value = True
    assert "may_change_settings=True" in called(panel)
    panel.close()


def test_without_a_target_the_panel_asks_for_one() -> None:
    panel = SweepPanel()
    panel.form.show(SPEC)
    panel.go.click()
    assert "no target is chosen" in text_of(panel)
    panel.close()


# -- while it goes on and afterwards ------------------------------------------------------------------------


def comparable(plan: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(plan)
    found.pop("experiment_id")
    return found


def test_a_sweep_is_that_of_the_call_that_is_shown_and_is_watched_until_its_answer(
    panel: SweepPanel, monkeypatch: pytest.MonkeyPatch
) -> None:
    panel.form.show(SPEC)
    target = panel.shared.target
    code, call, _ = called(panel).partition(f'running = hdbkit.start_sweep("{target.given}", spec)\n')
    assert call
    scope: dict[str, Any] = {}
    exec(code, scope)
    said: list[str] = []
    say = panel.say
    monkeypatch.setattr(panel, "say", lambda text, *state: (said.append(text), say(text, *state)))
    panel.stop.observe(lambda change: said.append(f"stop: {change['new']}"), "disabled")
    panel.go.click()
    result = panel.wait()
    drawn = sorted(result.charts().values(), key=lambda one: one.key != "configurations")
    assert questions(panel.view.charts) == [one.question for one in drawn], "all charts of the whole sweep"
    planned = plan_checked(target, scope["spec"], None, "", DEFAULT).model_dump_json()
    assert comparable((result.folder.path / "plan.json").read_text()) == comparable(planned)
    assert any(re.search(r"run \d of 4 \(1 user, speed=", one) for one in said)
    assert "stop: False" in said
    shown = html.unescape(text_of(panel))
    assert result.answer in shown
    assert "all settings of the server were restored" in shown
    assert "done: 4 of 4 runs done" in shown
    result.folder.report.unlink()
    panel.view.report.button.click()
    until(lambda: f"the report is {result.folder.report}" in text_of(panel))
    assert result.folder.report.is_file()
    assert panel.go.disabled is False
    assert panel.resume.layout.display == "none"
    assert panel.stop.disabled


@pytest.mark.long
def test_a_sweep_of_another_process_is_attached_closed_killed_resumed_stopped_and_completed(target: Target) -> None:
    """A closed panel notifies the caller that waits; what a killed or stopped sweep lacks, a resumed one runs."""
    shared = Shared()
    running = start_sweep(target, SPEC.with_(settings={"speed": ("1",)}, load=Load(rampup_s=0, duration_s=600)))
    panel = SweepPanel(shared).attach(running.experiment_id)
    assert panel.form.spec.settings == {"speed": ("1",)}
    until(lambda: "measuring:" in text_of(panel))
    panel.close()
    with pytest.raises(InputError, match="closed before its sweep ended"):
        panel.wait()

    panel.attach()
    pid = running.folder.journal.state.executed_by
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    until(lambda: "its process was killed" in text_of(panel))
    with pytest.raises(ExperimentFailed):
        running.wait()
    hdbkit.attach().stop()
    until(lambda: panel.resume.layout.display == "")

    panel.resume.click()
    until(lambda: "measuring:" in text_of(panel))
    panel.stop.click()
    assert "stopping; this waits for" in text_of(panel)
    assert panel.wait().experiment_id == running.experiment_id
    assert "stopped: 0 of 2 runs done" in text_of(panel)
    assert panel.resume.layout.display == ""
    assert shared.finished == 2

    path = running.folder.path / "plan.json"
    plan = path.read_text().replace('"duration_s": 600.0', '"duration_s": 0.3')
    running.folder.write_plan(SweepPlan.model_validate_json(plan))
    panel.resume.click()
    until(lambda: panel.result is not None)
    assert list(panel.wait().runs["status"]) == ["done"] * 2
    panel.close()


# -- what is shown of many runs -----------------------------------------------------------------------------


def test_the_grid_shows_each_run_by_its_block_and_says_what_it_omits() -> None:
    runs = synthetic_runs([1.0, 1.1], blocks=2, noise=0)
    runs.loc[runs["number"] == 4, ["status", "metric_value"]] = ["failed", np.nan]
    runs.loc[runs["number"] == 3, ["status", "metric_value"]] = ["running", np.nan]
    labels = {0: "baseline", 1: "flush=off", 2: "memory=2GB"}
    shown = runs_table(runs, labels, lambda row: f"{row.metric_value:.1f}", "NOPM")
    assert shown.count("✕ failed") == shown.count("▶ runs") == 1
    many = synthetic_runs([1.0] * 3, blocks=2, virtual_users=tuple(range(1, 31)))
    assert f"{90 - MAX_ROWS} more rows are in the report" in runs_table(many, labels, lambda _: "", "NOPM")


def test_no_password_is_in_the_call(target: Target) -> None:
    secret = "Tr0ub4dor-and-3"
    assert secret not in sweep_code(target.with_(password=secret), SPEC.with_(workload=TprocCSpec()))
