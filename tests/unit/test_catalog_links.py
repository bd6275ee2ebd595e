"""Links in a results folder that somebody sent: nothing is written through them."""

from __future__ import annotations

from pathlib import Path

import pytest

from hdbkit.errors import DamagedResult
from hdbkit.results.catalog import find_run, list_runs
from tests.unit.synthetic import write_run


def test_a_catalog_that_is_a_link_is_not_written(tmp_path: Path) -> None:
    write_run(tmp_path / "results" / "20260101-a", duration_s=1)
    other = tmp_path / "other.sqlite"
    (tmp_path / "results" / "catalog.sqlite").symlink_to(other)
    assert list(list_runs(tmp_path / "results").runs["run_id"]) == ["20260101-a"]
    assert not other.exists()


@pytest.mark.parametrize("name", ["operations", "control.bin", "report.html"])
def test_a_run_with_a_link_in_its_folder_is_not_used(tmp_path: Path, name: str) -> None:
    folder = write_run(tmp_path / "20260101-a", duration_s=1).folder
    assert find_run(tmp_path, "last") == folder
    found = folder.path / name
    if found.exists():
        found.rename(tmp_path / "elsewhere")
    found.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(DamagedResult, match=f"{name} is a link"):
        find_run(tmp_path, "last")
