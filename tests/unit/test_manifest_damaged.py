"""Manifests with a wrong value anywhere: the folder is listed as damaged or shown, and never breaks the others."""

from __future__ import annotations

import copy
import json
import math
import os
import re
import socket
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from hdbkit.analysis.run.summary import summarize
from hdbkit.api import Workspace
from hdbkit.errors import DamagedResult, HdbkitError
from hdbkit.report.page import read_content
from hdbkit.results.kept import known_settings, read_plans
from hdbkit.results.manifest import ServerFacts
from tests.unit.synthetic import write_run

Place = tuple[str | int, ...]
MISSING = object()
VALUES = (MISSING, None, "x", -1, [], {}, {"x": None}, 1e308, 0, 10**30, "9" * 5000, 10**17)
ALIKE = ("payment", "order_status", "delivery", "stock_level")
"""Operations whose figures have the same form as those of the first."""


def places(content: Any, at: Place = ()) -> Iterator[Place]:
    """Every place of a manifest, once for each form."""
    if at:
        yield at
    if isinstance(content, dict):
        for key, value in content.items():
            if key not in ALIKE:
                yield from places(value, (*at, key))
    elif isinstance(content, list) and content:
        yield from places(content[0], (*at, 0))


def changed(manifest: dict[str, Any], at: Place, value: Any) -> dict[str, Any]:
    result: Any = copy.deepcopy(manifest)
    holder = result
    for key in at[:-1]:
        holder = holder[key]
    if value is MISSING:
        del holder[at[-1]]
    else:
        holder[at[-1]] = value
    return dict(result)


def test_no_manifest_breaks_the_list_of_runs(tmp_path: Path) -> None:
    good, bad = (write_run(tmp_path / name, duration_s=2).folder for name in ("20260101-a", "20260102-b"))
    manifest = bad.read()
    bad.write(manifest.model_copy(update={"result": summarize(bad, manifest), "server": ServerFacts(version="18.4")}))
    path, workspace = bad.path / "manifest.json", Workspace(results=tmp_path)
    whole = json.loads(path.read_text())
    tried = damaged = 0
    for number, at in enumerate(places(whole)):
        value = VALUES[number % len(VALUES)]
        tried += 1
        path.write_text(json.dumps(changed(whole, at, value)))
        os.utime(path, ns=(tried, tried))
        runs = workspace.runs()
        assert good.run_id in set(runs["run_id"]), (at, value)
        if bad.run_id not in set(runs["run_id"]):
            damaged += 1
            assert len(runs.attrs["damaged"]) == 1
        else:
            try:
                workspace.result(bad.run_id)._repr_html_()
            except HdbkitError:
                pass
            except Exception as error:
                raise AssertionError(f"{at} as {value!r}: {error!r}") from error
    assert tried > 200
    assert damaged > 80


def test_the_reason_names_the_place_and_what_is_expected(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "20260101-a", duration_s=2).folder
    path = folder.path / "manifest.json"
    path.write_text(json.dumps(changed(json.loads(path.read_text()), ("plan", "load", "virtual_users"), "many")))
    with pytest.raises(
        DamagedResult, match=r"is damaged: plan\.load\.virtual_users: input should be a valid integer"
    ):
        folder.read()


@pytest.mark.parametrize("number", [math.nan, math.inf])
def test_a_number_that_is_none_is_damage(tmp_path: Path, number: float) -> None:
    folder = write_run(tmp_path / "20260101-a", duration_s=2).folder
    summary = summarize(folder, folder.read()).model_dump()
    path = folder.path / "manifest.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "result": {**summary, "metric_value": number}}))
    with pytest.raises(DamagedResult, match=r"result\.metric_value: input should be a finite number"):
        folder.read()


@pytest.mark.parametrize("text", ["1e308", "-1e308", "1" * 30, "9" * 5000])
def test_a_number_that_no_run_has_is_damage_and_the_other_runs_are_listed(tmp_path: Path, text: str) -> None:
    good, bad = (write_run(tmp_path / name, duration_s=2).folder for name in ("20260101-a", "20260102-b"))
    path = bad.path / "manifest.json"
    for key in ("virtual_users", "seed", "start_monotonic_ns", "duration_s"):
        content = path.read_text()
        path.write_text(re.sub(rf'("{key}": )[0-9.]+', rf"\g<1>{text}", content))
        assert path.read_text() != content
        with pytest.raises(DamagedResult, match=r"is damaged: the number .* is too large"):
            bad.read()
        runs = Workspace(results=tmp_path).runs()
        assert (list(runs["run_id"]), len(runs.attrs["damaged"])) == ([good.run_id], 1)
        path.write_text(content)


@pytest.mark.parametrize("name", ["manifest.json", "settings.json", "plans.json", "report.json", "seconds.parquet"])
@pytest.mark.parametrize("kind", ["pipe", "socket", "link"])
def test_no_reader_waits_for_a_pipe_or_a_device_in_a_run(tmp_path: Path, name: str, kind: str) -> None:
    good, bad = (write_run(tmp_path / name, duration_s=2).folder for name in ("20260101-a", "20260102-b"))
    path = bad.path / name
    path.unlink(missing_ok=True)
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "socket":
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(str(path))
    else:
        path.symlink_to("/dev/zero")
    workspace = Workspace(results=tmp_path)
    assert good.run_id in set(workspace.runs()["run_id"])
    for read in (bad.read, lambda: workspace.result(bad.run_id).charts(), lambda: read_plans(bad.plans)):
        with suppress(HdbkitError):
            read()
    assert name != "settings.json" or known_settings(bad) == {}
    assert read_content(bad.report) is None


def test_the_waits_for_locks_are_a_number(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "20260101-a", duration_s=2).folder
    summary = summarize(folder, folder.read()).model_dump()
    path = folder.path / "manifest.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "result": {**summary, "waiting_locks": "many"}}))
    with pytest.raises(DamagedResult, match=r"result\.waiting_locks: input should be a valid number"):
        folder.read()


@pytest.mark.parametrize("warning", [{}, 5, {"kind": "noise"}, {"text": 5}])
def test_a_warning_that_is_none_is_damage(tmp_path: Path, warning: object) -> None:
    path = write_run(tmp_path / "20260101-a", duration_s=2).folder.path / "manifest.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "warnings": [warning]}))
    with pytest.raises(DamagedResult, match="must be a text and its kind"):
        Workspace(results=tmp_path).result("20260101-a")
