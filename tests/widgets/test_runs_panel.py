"""The panel of runs: search, sort, tags, notes, deletion after confirmation, and error messages."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import hdbkit
from hdbkit import api
from hdbkit.config import Load, Target
from hdbkit.errors import InputError
from hdbkit.results import catalog
from hdbkit.widgets import RunsPanel
from hdbkit.widgets.parts import base
from hdbkit.widgets.parts.layout import FileLink
from tests.conftest import HdbkitCommand
from tests.unit.synthetic import with_result, write_errors, write_run
from tests.widgets.conftest import below, build_null, text_of, until
from tests.widgets.test_run_table import values as sent_values


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


def content(panel: RunsPanel) -> dict[str, Any]:
    """What the table sent to the browser."""
    found: dict[str, Any] = json.loads(panel.table._content)
    return found


def shown(panel: RunsPanel) -> list[str]:
    return list(content(panel)["keys"])


def values(panel: RunsPanel, column: str) -> dict[str, Any]:
    """A column of the table by run."""
    (sent,) = (one for one in content(panel)["columns"] if one["name"] == column)
    runs = shown(panel)
    return dict(zip(runs, sent_values(sent, len(runs)), strict=True))


def press(panel: RunsPanel, name: str) -> None:
    next(one for one in below(panel.root) if getattr(one, "description", "") == name).click()


def test_the_table_has_all_runs_and_shows_the_columns_in_which_they_differ(panel: RunsPanel, two: list[str]) -> None:
    assert shown(panel) == two[::-1]
    assert content(panel)["automatic"] == [
        "name", "metric_value", "p95_ms", "checks", "course", "started", "virtual_users", "warehouses",
    ]  # fmt: skip
    assert values(panel, "name") == {two[0]: "users 1", two[1]: "users 2"}
    assert values(panel, "label") == {two[0]: "users 1", two[1]: "users 2"}
    assert values(panel, "p95_ms")[two[0]] == hdbkit.runs().set_index("run_id").loc[two[0], "p95_us"] / 1000
    assert values(panel, "experiment_id") == dict.fromkeys(two)


def test_a_large_folder_shows_the_newest_runs_first_and_then_all(
    two: list[str], results: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for path in results.glob("catalog.sqlite*"):
        path.unlink()
    monkeypatch.setattr(catalog, "_BATCH", 1)
    monkeypatch.setattr(base, "FIRST_S", 0)
    background = list[Callable[[], None]]()
    monkeypatch.setattr(RunsPanel, "in_background", lambda _, work: background.append(work))
    panel = RunsPanel()
    assert shown(panel) == two[1:]
    assert 'data-state="busy">1 run; reading 1 older run ...' in text_of(panel)
    background[0]()
    assert shown(panel) == two[::-1]
    assert "2 runs<" in text_of(panel)
    hdbkit.result(two[0]).remove()
    panel.refresh()
    background[0]()  # a list of both, which comes late
    assert shown(panel) == two[1:]
    panel.close()


def test_a_baseline_is_pinned(panel: RunsPanel, two: list[str]) -> None:
    panel.table.picked = two[:1]
    press(panel, "Pin as baseline")
    assert panel.table.baseline == hdbkit.runs().baseline == two[0]
    assert "+" in hdbkit.runs()._repr_html_().partition("change</th>")[2]
    panel.table.picked = []
    press(panel, "Pin as baseline")
    assert panel.table.baseline == ""


def test_the_selected_runs_are_those_that_compare_groups(two: list[str]) -> None:
    bench = hdbkit.ui()
    bench.runs.table.picked = two[::-1]
    press(bench.runs, "Compare")
    assert bench.tabs.selected_index == bench.panels.index(bench.compare)
    assert set(bench.compare.runs.runs.value) == set(two)
    until(lambda: not bench.compare.busy)
    assert list(bench.compare.runs.sides or {}) == ["users 2", "users 1"]
    assert "users 2" in text_of(bench.compare)
    bench.close()


def test_the_bar_names_both_sides_and_swaps_them(panel: RunsPanel, two: list[str]) -> None:
    assert (panel.compare.disabled, panel.sides.value) == (True, "Tick two runs to compare them.")
    panel.table.picked = two
    assert re.findall(r"<b>(.)</b> (.*?)</span>", panel.sides.value) == [("A", "users 1"), ("B", "users 2")]
    press(panel, "Swap")
    assert panel.picked == two[::-1]
    assert not panel.compare.disabled


def test_the_list_reads_itself_again_when_a_run_was_added(panel: RunsPanel, two: list[str], results: Path) -> None:
    added = results / two[0].replace("aaaaaa", "bbbbbb")
    shutil.copytree(results / two[0], added)
    manifest = added / "manifest.json"
    manifest.write_text(manifest.read_text().replace("aaaaaa", "bbbbbb"))
    panel._look()
    until(lambda: added.name in shown(panel))  # older runs are read in the background


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
    assert values(panel, "tags") == {two[0]: "v2.1", two[1]: "nightly, v2.1"}
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
    assert two[0] in panel.question.words.value
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
