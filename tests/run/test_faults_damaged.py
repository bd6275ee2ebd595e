"""Damaged run folders: each command reports one sentence, and the catalog is rebuilt from the others."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import hdbkit
from tests.conftest import HdbkitCommand

READERS = (("runs", "show"), ("report",), ("compare",))
DAMAGES: dict[str, Callable[[Path], object]] = {}


def damage(cut: Callable[[Path], object]) -> Callable[[Path], object]:
    DAMAGES[cut.__name__] = cut
    return cut


def rewrite(folder: Path, **changes: Any) -> None:
    path = folder / "manifest.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def halve(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


@damage
def cut_manifest(folder: Path) -> None:
    halve(folder / "manifest.json")


@damage
def missing_manifest(folder: Path) -> None:
    (folder / "manifest.json").unlink()


@damage
def newer_format(folder: Path) -> None:
    rewrite(folder, format_version=99)


@damage
def foreign_manifest(folder: Path) -> None:
    (folder / "manifest.json").write_text('{"name": "my-extension", "manifest_version": 3}')


@damage
def manifest_of_an_empty_plan(folder: Path) -> None:
    rewrite(folder, plan={}, result={})


@damage
def manifest_of_another_kind_of_plan(folder: Path) -> None:
    rewrite(folder, plan={"target": [], "load": 7, "workload": None})


@damage
def cut_operations(folder: Path) -> None:
    halve(folder / "operations" / "part-0.parquet")


@damage
def no_operations(folder: Path) -> None:
    shutil.rmtree(folder / "operations")


@damage
def foreign_operations(folder: Path) -> None:
    (folder / "operations" / "holiday.parquet").write_bytes(b"PAR1 but no more")


@damage
def cut_tables(folder: Path) -> None:
    for path in folder.glob("*.parquet"):
        halve(path)


@damage
def cut_settings(folder: Path) -> None:
    halve(folder / "settings.json")


@damage
def foreign_files(folder: Path) -> None:
    (folder / "notes.txt").write_text("mine")
    (folder / "clients").mkdir()


@pytest.fixture
def two(copied: hdbkit.Result, results: Path) -> tuple[Path, Path]:
    """The folders of two runs."""
    other = results / f"{copied.run_id}-2"
    shutil.copytree(copied.folder.path, other)
    rewrite(other, run_id=other.name)
    (results / "foreign").mkdir()
    (results / "foreign.txt").write_text("mine")
    return copied.folder.path, other


@pytest.mark.long
def test_every_damage_is_one_sentence_and_the_catalog_is_rebuilt(
    two: tuple[Path, Path], results: Path, command: HdbkitCommand, tmp_path: Path
) -> None:
    whole, spoilt = two
    kept = tmp_path / "kept"
    shutil.copytree(spoilt, kept)
    for name, spoil in DAMAGES.items():
        shutil.rmtree(spoilt)
        shutil.copytree(kept, spoilt)
        spoil(spoilt)
        for words in READERS:
            others = (whole.name,) if words == ("compare",) else ()
            said = command(*words, spoilt.name, *others)
            assert "Traceback" not in said.err, (name, words)
            assert said.code in (0, 2, 3), (name, words, said)
            assert said.err.count("\n") == (said.code != 0), (name, words, said.err)
            assert (said.code == 0) == (said.out != ""), (name, words)
        for path in results.glob("catalog.sqlite*"):
            path.write_bytes(b"not a catalog")
        said = command("runs", "list", "--json")
        assert said.code == 0, (name, said)
        listed = {row["run_id"] for row in said.json}
        assert whole.name in listed
        assert said.err.count("\n") == said.err.count("skipped: ") <= 1, (name, said.err)
        assert (spoilt.name in listed) != ("manifest" in name or "format" in name), name


def test_a_newer_format_is_reported_with_what_to_do(two: tuple[Path, Path], command: HdbkitCommand) -> None:
    newer_format(two[1])
    said = command("runs", "show", two[1].name)
    assert "has format version 99, but this hdbkit reads 2; run: pip install --upgrade hdbkit" in said.err


def test_the_report_of_a_run_with_cut_transactions_says_so(two: tuple[Path, Path], command: HdbkitCommand) -> None:
    cut_operations(two[1])
    said = command("report", two[1].name)
    assert said.code == 0
    page = Path(said.out.strip()).read_text()
    assert f"{two[1] / 'operations'} cannot be read: " in page
