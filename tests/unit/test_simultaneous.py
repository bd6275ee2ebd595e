"""Runs on one schema at the same time name each other."""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path

import pytest

from hdbkit.results.simultaneous import warn_of_others
from tests.unit.synthetic import Synthetic, write_run


def at(path: Path, begin_s: float, **target: str) -> Synthetic:
    """A run of 3 s that begins so long after another."""
    run = write_run(path, rampup_s=1, duration_s=2)
    clock = run.manifest.clock
    assert clock is not None
    plan = run.manifest.plan
    later = clock.model_copy(update={"start_wall": clock.start_wall + timedelta(seconds=begin_s)})
    changes = {"clock": later, "plan": plan.model_copy(update={"target": plan.target.with_(**target)})}
    run.folder.write(manifest := run.manifest.model_copy(update=changes))
    return Synthetic(run.folder, manifest, run.rows)


@pytest.mark.parametrize(("begin_s", "target", "named"), [
    (1, {}, True), (-1, {}, True), (4, {}, False), (-4, {}, False), (1, {"database": "other"}, False),
])  # fmt: skip
def test_a_run_names_those_that_used_its_schema_meanwhile(
    tmp_path: Path, begin_s: float, target: dict[str, str], named: bool
) -> None:
    own = at(tmp_path / "own", 0)
    at(tmp_path / "other", begin_s, **target)
    found = warn_of_others(own.folder, own.manifest)
    assert [str(one).partition(" used")[0] for one in found] == ["other"] * named


def test_a_run_that_still_measures_is_named_though_its_manifest_is_old(tmp_path: Path) -> None:
    """Its supervisor writes the manifest when the window begins, and then at its end."""
    own, other = at(tmp_path / "own", 1), at(tmp_path / "other", 0)
    begin = own.manifest.clock
    assert begin is not None
    os.utime(other.folder.path / "manifest.json", (begin.start_wall.timestamp() - 1,) * 2)
    assert warn_of_others(own.folder, own.manifest) == []
    other.folder.spools.mkdir()
    assert len(warn_of_others(own.folder, own.manifest)) == 1


def test_a_run_that_has_ended_before_is_not_read(tmp_path: Path) -> None:
    own = at(tmp_path / "own", 0)
    (tmp_path / "damaged").mkdir()
    (tmp_path / "damaged" / "manifest.json").write_text("{")
    assert warn_of_others(own.folder, own.manifest) == []
