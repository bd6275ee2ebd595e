"""The compare panel without a browser: groups of runs, one sweep, and the charts of both."""

from __future__ import annotations

import html
import itertools
import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import hdbkit
from hdbkit.config import Load, SweepSpec
from hdbkit.widgets import ComparePanel, Shared
from tests.unit.synthetic import with_result, write_queries, write_run, write_sweep
from tests.widgets.conftest import questions, text_of, until


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A results folder with four runs under two labels and a sweep of four runs."""
    with pytest.MonkeyPatch.context() as patched:
        folder = str(tmp_path_factory.mktemp("measured"))
        patched.setenv("HDBKIT_RESULTS", folder)
        for number, (label, users) in enumerate(itertools.product(("before", "after"), (1, 2))):
            path = Path(folder) / f"20260101-00000{number}-nulldb-w1-u{users}-aaaaaa"
            with_result(write_run(path, users=users, duration_s=3, seed=number, label=label))
        load = Load(rampup_s=0, duration_s=2)
        write_sweep(Path(folder), SweepSpec(settings={"speed": ("1", "2")}, virtual_users=(1,), blocks=2, load=load))
    yield folder


@pytest.fixture
def panel(measured: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[ComparePanel]:
    monkeypatch.setenv("HDBKIT_RESULTS", measured)
    made = ComparePanel()
    made.runs.by.value = "label"
    yield made
    made.close()


def compared(panel: ComparePanel) -> str:
    """What the panel shows when it has compared."""
    panel.go.click()
    until(lambda: not panel.busy)
    return html.unescape(text_of(panel))


def test_without_runs_the_list_states_where_to_start_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HDBKIT_RESULTS", str(tmp_path))
    assert "start one in the panel Run" in text_of(ComparePanel())


def test_runs_are_found_by_label_and_distinguished_by_it(panel: ComparePanel) -> None:
    assert len(panel.runs.runs.options) == 8
    panel.runs.filter.value = "BEFORE"
    panel.runs.take_all.click()
    assert list(panel.runs.groups) == ["before"]
    panel.runs.filter.value = ""
    assert len(panel.runs.runs.value) == 2  # what was chosen stays chosen
    panel.runs.take_all.click()
    assert {name: len(ids) for name, ids in panel.runs.groups.items()} == {"before": 2, "after": 2, "no label": 4}
    assert (panel.runs.base.value, panel.runs.new.value) == ("before", "after")


def test_two_groups_get_a_verdict_charts_and_what_differed(panel: ComparePanel) -> None:
    panel.runs.filter.value = "u1"
    panel.runs.take_all.click()
    panel.runs.by.value = "experiment_id"
    shown = compared(panel)
    named: dict[str, Any] = panel.runs.sides or {}
    assert f'hd-chip">{hdbkit.compare(**named).ratio.verdict}<' in shown
    assert re.search(r"20260102-000000-sweep-abc against no sweep: [\d,]+ to [\d,]+ NOPM \(-", shown)
    titles = ("Which is fastest?", "develop over time?", "How long did")
    asked = questions(panel.view.charts)
    assert [title for title in titles if not any(title in one for one in asked)] == []
    assert len(asked) == 3
    assert "load.duration_s" in shown
    panel.view.report.button.click()
    until(lambda: "the report is" in text_of(panel))


def test_settings_that_differ_are_listed(panel: ComparePanel) -> None:
    runs = hdbkit.experiment_result(panel.stored.value).runs.drop_duplicates("configuration")
    panel.runs.runs.value = list(runs["run_id"])
    panel.runs.by.value = "run_id"
    assert "setting.speed" in compared(panel)


def test_two_runs_without_labels_are_two_sides_named_by_what_differs(panel: ComparePanel) -> None:
    result = hdbkit.experiment_result(panel.stored.value)
    runs = result.runs.groupby("configuration")["run_id"].first().tolist()
    panel.shared.compared = runs
    until(lambda: not panel.busy)
    assert panel.runs.sides == {"speed=1": runs[:1], "speed=2": runs[1:]}
    assert "speed=2" in text_of(panel)
    assert hdbkit.compare(*runs).names == ("speed=1", "speed=2")
    panel.runs.swap.click()
    assert list(panel.runs.sides or {}) == ["speed=2", "speed=1"]
    alike = result.runs.query("configuration == 0")["run_id"].tolist()
    panel.shared.compared = alike
    until(lambda: not panel.busy)
    assert len(panel.runs.sides or {}) == 2
    assert hdbkit.compare(postgresql=alike[0], mariadb=alike[1]).names == ("postgresql", "mariadb")


def test_groups_over_virtual_users_are_lines_of_one_chart(panel: ComparePanel) -> None:
    for label in ("before", "after"):
        panel.runs.filter.value = label
        panel.runs.take_all.click()
    panel.runs.filter.value = ""
    panel.runs.runs.value = [one for _, one in panel.runs.runs.options if "compare" not in one]
    compared(panel)
    assert "How does the throughput grow with virtual users?" in questions(panel.view.charts)


def test_one_group_has_charts_and_no_verdict(panel: ComparePanel) -> None:
    panel.runs.filter.value = "before"
    panel.runs.take_all.click()
    shown = compared(panel)
    assert "nothing to compare it with" in shown
    assert "in 1 group<" in shown
    assert questions(panel.view.charts)


def test_a_sweep_shows_its_answer_and_every_chart(panel: ComparePanel) -> None:
    panel.mode.value = "An experiment"
    shown = compared(panel)
    result = hdbkit.experiment_result(panel.stored.value)
    assert result.answer in shown
    assert sorted(questions(panel.view.charts)) == sorted(chart.question for chart in result.charts().values())


def test_runs_of_lists_have_the_ratio_and_the_time_of_each_operation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HDBKIT_RESULTS", str(tmp_path))
    for number, seconds in enumerate((0.2, 0.1), 1):
        write_queries(tmp_path / f"20260101-00000{number}-nulldb-h-sf0.01-u1-aaaaaa", {"q01": seconds, "q02": 0.1})
    with closing(ComparePanel()) as panel:
        panel.runs.take_all.click()
        panel.runs.by.value = "run_id"
        shown = compared(panel)
    asked = ("Which is fastest?", "Which queries became faster or slower?", "How long did each query take?")
    assert questions(panel.view.charts) == [*asked]
    assert "-50.0 %" in shown
    assert "The intervals of all operations hold together" not in shown


def test_only_sweeps_are_offered_as_sweeps(panel: ComparePanel) -> None:
    (sweep,) = hdbkit.runs("experiment_id is not null")["experiment_id"].unique()
    assert panel.stored.options == (sweep,)
    assert panel.stored.value == sweep


def test_errors_are_sentences(panel: ComparePanel) -> None:
    assert "select runs in the list first" in compared(panel)
    panel.runs.take_all.click()
    panel.runs.new.value = panel.runs.base.value
    assert "cannot be compared with itself" in compared(panel)


def test_the_call_that_is_shown_gives_what_is_shown(panel: ComparePanel) -> None:
    panel.runs.take_all.click()
    code = html.unescape(re.findall(r"<pre[^>]*>(.*?)</pre>", text_of(panel), re.DOTALL)[-1])
    assert code.splitlines()[-1].startswith(
        "hdbkit.compare(**{'before': groups['before'], 'after': groups['after']})"
    )
    names: dict[str, object] = {}
    exec(code, names)
    charts = names["charts"]
    assert isinstance(charts, dict)
    compared(panel)
    assert [one.question for one in charts.values() if one.question not in questions(panel.view.charts)] == []


def test_the_list_is_read_anew_when_a_run_ended(measured: str, monkeypatch: pytest.MonkeyPatch) -> None:
    shared = Shared()
    panel = ComparePanel(shared)
    assert panel.runs.runs.options == ()
    monkeypatch.setenv("HDBKIT_RESULTS", measured)
    shared.finished += 1
    until(lambda: len(panel.runs.runs.options) == 8)
    panel.close()
