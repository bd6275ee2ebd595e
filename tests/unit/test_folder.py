"""A run's folder: found by id, read or rejected with a message, replaced atomically."""

from __future__ import annotations

import json
import re
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from hdbkit.config import Load
from hdbkit.config.metric import Metric
from hdbkit.errors import DamagedResult, InputError
from hdbkit.results import catalog
from hdbkit.results.catalog import find_run, list_runs
from hdbkit.results.columns import FORMAT_VERSION
from hdbkit.results.folder import RunFolder, run_folders
from hdbkit.results.manifest import Manifest, Status
from tests.unit.synthetic import plan_of, write_run


def make(root: Path, run_id: str) -> RunFolder:
    (root / run_id).mkdir(parents=True)
    folder = RunFolder(root / run_id)
    folder.write(
        Manifest(
            run_id=run_id,
            notice="derived",
            status=Status.DONE,
            plan=plan_of(load=Load(rampup_s=0, duration_s=1)),
            operations=["new_order"],
            metric=Metric(name="NOPM", title="new orders per minute", unit="NOPM", operations=("new_order",)),
        )
    )
    return folder


def test_a_manifest_reads_back_as_it_was_written(results: Path) -> None:
    folder = make(results, "a")
    manifest = folder.read().moved_to(Status.FAILED, "the disk was full")
    folder.write(manifest)
    assert folder.read() == manifest
    assert [(event.status, event.note) for event in manifest.history] == [(Status.FAILED, "the disk was full")]


def test_a_folder_without_manifest_is_no_run(results: Path) -> None:
    with pytest.raises(DamagedResult, match=r"has no manifest\.json"):
        RunFolder(results / "none").read()


@pytest.mark.parametrize("content", ["", "{", "[]", '{"run_id": 1}', "\0"])
def test_a_damaged_manifest_is_reported_in_a_sentence(results: Path, content: str) -> None:
    folder = make(results, "a")
    (folder.path / "manifest.json").write_text(content, encoding="utf-8")
    with pytest.raises(DamagedResult, match=r"manifest\.json is damaged"):
        folder.read()


def test_a_metric_of_an_operation_that_the_manifest_lacks_is_reported_in_a_sentence(results: Path) -> None:
    folder = make(results, "a")
    path = folder.path / "manifest.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "operations": ["payment"]}))
    with pytest.raises(DamagedResult, match=r"damaged: metric: it counts new_order, which is not in operations"):
        folder.read()


def test_a_newer_format_says_what_to_do(results: Path) -> None:
    folder = make(results, "a")
    path = folder.path / "manifest.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "format_version": FORMAT_VERSION + 1}))
    with pytest.raises(DamagedResult, match=f"format version {FORMAT_VERSION + 1}.*pip install --upgrade"):
        folder.read()


def test_what_a_later_version_adds_is_skipped(results: Path) -> None:
    folder = make(results, "a")
    path = folder.path / "manifest.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "mood": "sunny"}))
    assert folder.read().run_id == "a"


def test_runs_are_listed_newest_first_without_foreign_files(results: Path) -> None:
    for run_id in ("20261120-a", "20261121-b"):
        make(results, run_id)
    (results / "experiments").mkdir()
    (results / "README.md").write_text("words")
    assert [one.run_id for one in run_folders(results)] == ["20261121-b", "20261120-a"]
    assert list(run_folders(results / "none")) == []


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ("20261120-c-u4-abc", "20261120-c-u4-abc"),
        ("20261121", "20261121-c-u4-xyz"),
        ("abc", "20261120-c-u4-abc"),
        ("last", "20261121-c-u4-xyz"),
    ],
)
def test_a_run_is_found_by_id_by_its_beginning_by_its_letters_and_as_the_last(
    results: Path, asked: str, found: str
) -> None:
    for run_id in ("20261120-c-u4-abc", "20261121-c-u4-xyz"):
        make(results, run_id)
    assert find_run(results, asked).run_id == found


def test_a_copied_run_is_found_by_its_path(results: Path, tmp_path: Path) -> None:
    make(tmp_path, "copied")
    assert find_run(results, str(tmp_path / "copied")).read().run_id == "copied"


def test_an_id_of_several_runs_or_of_none_is_reported_in_a_sentence(results: Path) -> None:
    for run_id in ("20261120-a", "20261120-b"):
        make(results, run_id)
    with pytest.raises(InputError, match="'20261120' matches 2 runs: 20261120-b, 20261120-a"):
        find_run(results, "20261120")
    with pytest.raises(InputError, match=r"there is no run 'x' in .*; see: hdbkit runs list"):
        find_run(results, "x")


def test_a_label_names_its_run_and_an_ambiguous_one_lists_them(tmp_path: Path) -> None:
    for number, label in enumerate(["mine", "both", "both"]):
        write_run(tmp_path / f"20261120-{number}", duration_s=1, label=label)
    assert find_run(tmp_path, "mine").run_id == "20261120-0"
    with pytest.raises(InputError, match="2 runs have the label 'both': 20261120-2, 20261120-1; give an id"):
        find_run(tmp_path, "both")
    with pytest.raises(InputError, match="there is no run 'other'"):
        find_run(tmp_path, "other")


def test_the_last_of_no_runs_is_reported_in_a_sentence(results: Path) -> None:
    with pytest.raises(InputError, match="there is no run 'last'"):
        find_run(results, "last")


def test_an_empty_word_is_no_run_even_when_there_is_only_one(tmp_path: Path) -> None:
    (tmp_path / "only").mkdir()
    (tmp_path / "only" / "manifest.json").write_text("{}")
    with pytest.raises(InputError, match="give the id of a run"):
        find_run(tmp_path, "")


def planned(root: Path, run_id: str, workload: dict[str, Any], **changes: Any) -> Manifest:
    """A run of another workload, written to its folder."""
    folder = make(root, run_id)
    manifest = folder.read()
    manifest = manifest.model_copy(update={"plan": plan_of(workload=workload, load={"virtual_users": 1}), **changes})
    folder.write(manifest)
    return manifest


def test_the_folder_of_a_definition_is_no_part_of_the_work(results: Path) -> None:
    work = {"kind": "not_installed", "definition": {"operations": {"read": {"weight": 1}}}}
    one, other = (planned(results, path, {**work, "folder": path}) for path in ("here", "there"))
    assert one.schema_facts == other.schema_facts
    assert one.schema_facts["definition"].startswith("sha256 ")


def test_runs_are_found_by_nested_options(results: Path) -> None:
    planned(results, "split", {"kind": "tproc_c", "storage": {"partitions": 4}}, mix={"payment": 60.0})
    definition = {"parameters": {"rows": 1000, "seed": 7}}
    planned(results, "own", {"kind": "not_installed", "parameters": {}, "definition": definition})
    planned(results, "larger", {"kind": "not_installed", "parameters": {"rows": 5000}, "definition": definition})
    found = {
        "partitions = 4": ["split"],
        "mix_payment > 50": ["split"],
        "rows = 1000": ["own"],
        "rows > 1000": ["larger"],
    }
    assert {where: list(list_runs(results, where).runs["run_id"]) for where in found} == found
    assert list_runs(results, "seed = 7").runs.empty, "an option takes precedence over a parameter of its name"


@pytest.mark.parametrize(
    ("where", "why"),
    [
        ('"nosuch" = 1', r" \(there is no column nosuch\)"),
        ("nosuch = 1", r" \(there is no column nosuch\)"),
        ("1) UNION SELECT * FROM (SELECT 1", ""),
        ("SELECT 1 UNION SELECT 0", ""),
        ("status = 'done') OR (1", ""),
        ("1; DROP TABLE runs", ""),
        ("length(printf('%*d', 900000000, 1)) > 5", r" \(the function printf is not permitted\)"),
        ("load_extension('x')", r" \(the function load_extension is not permitted\)"),
    ],
)
def test_a_filter_is_one_condition_over_known_columns(results: Path, where: str, why: str) -> None:
    make(results, "20261120-a")
    with pytest.raises(InputError, match=f"^'{re.escape(where)}' is not a valid filter of runs{why}; example: "):
        list_runs(results, where)


def test_a_filter_may_quote_columns_and_hold_any_text(results: Path) -> None:
    make(results, "20261120-a")
    for where in (
        "\"run_id\" = '20261120-a'",
        "run_id <> 'a ) SELECT \"x\" it''s'",
        "lower(run_id) IN ('20261120-a')",
    ):
        assert len(list_runs(results, where).runs) == 1


def test_an_index_of_an_earlier_version_is_rebuilt(results: Path) -> None:
    planned(results, "split", {"kind": "tproc_c", "storage": {"partitions": 4}})
    list_runs(results)
    with closing(sqlite3.connect(results / "catalog.sqlite")) as index:
        index.execute("UPDATE runs SET options = '{}'")
        index.execute("PRAGMA user_version = 0")
        index.commit()
    assert len(list_runs(results, "partitions = 4").runs) == 1


def test_a_limited_reading_has_the_newest_runs_and_the_next_one_the_others(
    results: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(catalog, "_BATCH", 2)
    made = [make(results, f"2026112{day}-a") for day in range(5)]
    first = list_runs(results, within_s=0)
    assert (list(first.runs["run_id"]), first.unread) == (["20261124-a", "20261123-a"], 3)
    made[4].write(made[4].read().model_copy(update={"note": "changed"}))
    second = list_runs(results, within_s=0)
    assert (list(second.runs["run_id"]), second.unread) == (["20261124-a", "20261123-a", "20261122-a"], 2)
    assert list(second.runs["note"]) == ["changed", "", ""]
    rest = list_runs(results)
    assert (len(rest.runs), rest.unread) == (5, 0)


def test_threads_that_list_a_new_folder_read_each_manifest_once(
    results: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(catalog, "_BATCH", 2)
    for number in range(20):
        make(results, f"20261120-{number:02}")
    read = list[str]()
    original = RunFolder.read

    def noted(folder: RunFolder) -> Manifest:
        read.append(folder.run_id)
        return original(folder)

    monkeypatch.setattr(RunFolder, "read", noted)
    with ThreadPoolExecutor(3) as pool:
        found = [one.result() for one in [pool.submit(list_runs, results) for _ in range(3)]]
    assert [(len(one.runs), one.unread) for one in found] == [(20, 0)] * 3
    assert len(read) == 20


def test_a_run_that_is_damaged_later_leaves_the_list(results: Path) -> None:
    for run_id in ("a", "b"):
        make(results, run_id)
    assert len(list_runs(results).runs) == 2
    (results / "b" / "manifest.json").write_text("{")
    for _ in range(2):
        found = list_runs(results)
        assert (list(found.runs["run_id"]), len(found.damaged)) == (["a"], 1)
