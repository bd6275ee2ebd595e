"""The panel of runs: search, sort, tags, notes, deletion after confirmation, and error messages."""

from __future__ import annotations

import html
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import hdbkit
from hdbkit import api
from hdbkit.config import Load, Target
from hdbkit.errors import InputError
from hdbkit.widgets import RunsPanel
from hdbkit.widgets.parts.links import FileLink
from tests.conftest import HdbkitCommand
from tests.unit.synthetic import with_result, write_errors, write_run
from tests.widgets.conftest import build_null, text_of, until


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A results folder with two runs, of one and of two users; some transactions of both were refused."""
    folder = tmp_path_factory.mktemp("measured")
    for users in (1, 2):
        path = folder / f"20260101-00000{users}-nulldb-w1-u{users}-aaaaaa"
        made = with_result(write_run(path, users=users, duration_s=2, failed=0.05, label=f"users {users}"))
        write_errors(made.folder)
    return folder


@pytest.fixture
def two(measured: Path, results: Path) -> list[str]:
    """The runs of a copy of it, oldest first."""
    shutil.copytree(measured, results, dirs_exist_ok=True)
    return list(hdbkit.runs()["run_id"])[::-1]


@pytest.fixture
def panel(two: list[str]) -> Iterator[RunsPanel]:
    made = RunsPanel()
    yield made
    made.close()


def shown(panel: RunsPanel) -> list[str]:
    return [row[0] for row in panel.table.rows]


def press(panel: RunsPanel, name: str) -> None:
    buttons = [
        one for line in (*panel.body.children, *panel.question.children) for one in getattr(line, "children", ())
    ]
    next(one for one in buttons if getattr(one, "description", "") == name).click()


def test_runs_are_filtered_sorted_and_shown_in_chosen_columns(panel: RunsPanel, two: list[str]) -> None:
    assert shown(panel) == two[::-1]
    panel.table.sorted_by = "metric_value"
    assert shown(panel) == two
    panel.table.descending = True
    assert shown(panel) == two[::-1]
    panel.columns.value = ["label", "failed"]
    assert panel.table.rows[0][1] == "users 2"
    panel.where.value = "virtual_users = 1"
    assert shown(panel) == two[:1]
    assert "1 run<" in text_of(panel)
    panel.where.value = "virtual_users = 3"
    assert "no run matches the filter" in text_of(panel)


@pytest.mark.parametrize("wrong", ["speed > 3", "failed >", "label = 'x", "failed > 1)", "1); SELECT (1"])
def test_a_wrong_condition_is_reported_as_it_was_typed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wrong: str
) -> None:
    monkeypatch.setenv("HDBKIT_RESULTS", str(tmp_path))
    panel = RunsPanel()
    panel.where.value = wrong
    (sentence,) = re.findall("<p>(.*?)</p>", text_of(panel)[text_of(panel).index('role="alert"') :])
    assert html.unescape(sentence).startswith(f"'{wrong}' is not a valid filter of runs")
    assert "columns: run_id" in sentence
    assert "ORDER" not in sentence


def test_an_empty_list_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HDBKIT_RESULTS", str(tmp_path))
    assert "no runs yet" in text_of(RunsPanel())


def test_tags_and_notes_are_kept_with_the_run(panel: RunsPanel, two: list[str], command: HdbkitCommand) -> None:
    panel.table.picked = two
    panel.text.value = "nightly v2.1"
    press(panel, "Tag")
    assert list(hdbkit.runs("tags like '%nightly%'")["run_id"]) == two[::-1]
    assert command("runs", "tag", two[0], "nightly", "--remove", "--json").json["tags"] == ["v2.1"]
    assert command("runs", "note", two[0], "with the new kernel", "--json").json["note"] == "with the new kernel"
    panel.refresh()
    column = 1 + panel.table.heads.index("tags")
    assert {row[0]: row[column] for row in panel.table.rows} == {two[0]: "v2.1", two[1]: "nightly, v2.1"}
    assert list(panel.runs.set_index("run_id").loc[two, "note"]) == ["with the new kernel", ""]
    panel.text.value = ""
    press(panel, "Note")
    assert api.result(two[0]).manifest.note == ""


def test_a_tag_is_one_word_and_a_run_that_is_running_has_one_writer(null_target: Target) -> None:
    build_null(null_target)
    running = hdbkit.start(null_target.with_(options={"latency_us": "5000"}), load=Load(rampup_s=0, duration_s=600))
    try:
        with pytest.raises(InputError, match="is still running"):
            api.result(running.run_id).note("too early")
        until(lambda: running.status.value != "starting")
    finally:
        running.stop()
    result = running.wait()
    with pytest.raises(InputError, match="a tag is one word"):
        result.tag("fine", "two words")
    assert result.manifest.tags == []


def test_runs_are_deleted_only_after_the_question(panel: RunsPanel, two: list[str]) -> None:
    panel.table.picked = two[:1]
    press(panel, "Delete ...")
    press(panel, "Keep")
    assert len(hdbkit.runs()) == 2
    press(panel, "Delete ...")
    assert two[0] in panel.asked.value
    press(panel, "Delete")
    assert list(hdbkit.runs()["run_id"]) == two[1:]
    assert (shown(panel), panel.picked) == (two[1:], [])


def test_the_errors_of_a_picked_run_are_reported_with_their_text(panel: RunsPanel, two: list[str]) -> None:
    panel.table.picked = two[:1]
    assert "something else" in panel.about.value


def test_report_and_table_come_to_the_browser_as_bytes(
    panel: RunsPanel, two: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[tuple[Any, Any]] = []
    monkeypatch.setattr(FileLink, "send", lambda _, content, buffers: sent.append((content, buffers)))
    press(panel, "CSV")
    panel.table.picked = two[1:]
    press(panel, "Report")
    until(lambda: len(sent) == 2)
    (csv, report) = sent
    assert csv[1][0].startswith(b"run_id,")
    assert report[0]["open"] is True
    assert two[1].encode() in report[1][0]


def test_settings_of_runs_are_the_axes_of_the_chart(panel: RunsPanel, two: list[str]) -> None:
    press(panel, "Settings and results")
    until(lambda: panel.chart.value)
    assert "Which values do the fastest runs have in common?" in panel.chart.value
