"""What differs between runs as columns: options, settings with their defaults, and what only states a place."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import hdbkit
from hdbkit.config import Target, TprocCSpec, load_from
from hdbkit.plan import ExperimentPosition, RunPlan
from tests.conftest import HdbkitCommand
from tests.unit.synthetic import with_result, write_run


def write(
    results: Path,
    number: int,
    settings: dict[str, Any] | None = None,
    load: dict[str, Any] | None = None,
    **plan: Any,
) -> str:
    """A run with these settings, as ``settings.json`` holds them; its id."""
    run_id = f"2026010{number}-000000-nulldb-c-w1-u1-aaaaa{number}"
    whole = RunPlan(
        run_id=run_id,
        target=Target(kind="nulldb", host="db1", port=4711),
        workload=TprocCSpec(warehouses=1),
        load=load_from({"rampup_s": 0, "duration_s": 1, **(load or {})}),
        **plan,
    )
    made = write_run(results / run_id, plan=whole)
    if settings is not None:
        made.folder.settings.write_text(json.dumps(settings), encoding="utf-8")
    with_result(made)
    return run_id


def changed(value: str, default: str, unit: str | None = None) -> dict[str, Any]:
    return {"value": value, "unit": unit, "default": default, "changed": True}


def test_options_and_settings_that_differ_are_columns_and_no_others(results: Path) -> None:
    place = {"port": changed("4711", "5432"), "same": changed("7", "1")}
    write(results, 1, {"buffers": changed("65536", "16384", "8kB"), "data": changed("/a", ""), **place})
    write(
        results, 2, {"buffers": {**changed("16384", "16384", "8kB"), "changed": False}, **place}, {"max_retries": 3}
    )
    write(results, 3, {"data": changed("/b", ""), **place}, {"isolation": "serializable", "seed": 9})
    frame = hdbkit.runs(wide=True)
    assert frame.attrs["differing"] == ["isolation", "max_retries", "buffers"]
    assert list(frame["buffers"]) == ["128MB", "128MB", "512MB"], "the default, as the run that changed it tells"
    assert list(frame["max_retries"]) == [10, 3, 10]
    assert list(frame["configuration"]) == [
        "isolation=serializable, max_retries=10, buffers=128MB",
        "max_retries=3, buffers=128MB",
        "max_retries=10, buffers=512MB",
    ]
    assert list(hdbkit.runs().columns) == list(frame.columns)[: len(hdbkit.runs().columns)]
    assert hdbkit.runs("max_retries = 10", wide=True).attrs["differing"] == ["isolation", "buffers"]
    assert hdbkit.runs("max_retries = 3", wide=True).attrs["differing"] == []


def test_the_settings_of_a_sweep_are_those_that_it_gave_also_within_a_session(results: Path) -> None:
    place = {"experiment_id": "s", "number": 1, "block": 1, "configuration": 0}
    for number, value in ((1, "on"), (2, "off")):
        write(results, number, {}, experiment=ExperimentPosition(**place, settings={"commit": value}))
    frame = hdbkit.runs(wide=True)
    assert list(frame["commit"]) == ["off", "on"]
    assert list(frame["experiment_id"]) == ["s", "s"]


def test_a_setting_of_another_engine_is_missing_and_a_number_is_a_number(results: Path) -> None:
    write(results, 1, {"cost": changed("1.1", "4")})
    write(results, 2, {"cost": changed("2", "4")})
    path = results / write(results, 3, {}) / "manifest.json"
    manifest = json.loads(path.read_text())
    manifest["plan"]["target"]["kind"] = "other"
    path.write_text(json.dumps(manifest))
    frame = hdbkit.runs(wide=True)
    assert frame["cost"].fillna(0).tolist() == [0, 2, 1.1]


@pytest.mark.parametrize("text", ["", "[]", '{"a": 1}', '{"a": {"changed": true}}'])
def test_a_damaged_file_of_settings_takes_only_its_columns(results: Path, text: str) -> None:
    (results / write(results, 1) / "settings.json").write_text(text)
    assert hdbkit.runs(wide=True).attrs["differing"] == []


def test_no_runs_have_the_columns_too(results: Path) -> None:
    assert hdbkit.runs(wide=True).empty
    assert "configuration" in hdbkit.runs(wide=True)


def test_the_list_of_the_command_line_has_the_columns(results: Path, command: HdbkitCommand) -> None:
    for number, retries in ((1, 1), (2, 2)):
        write(results, number, {}, {"max_retries": retries})
    rows = command("runs", "list", "--wide", "--json").json
    assert [row["max_retries"] for row in rows] == [2, 1]
    assert "max_retries" in command("runs", "list", "--wide", "--csv").out
