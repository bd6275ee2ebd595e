"""The two formats of a sweep: hdbkit's and hammerpost's."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hdbkit.config import SweepSpec
from hdbkit.errors import ConfigErrors

GRID = {"shared_buffers": ["128MB", "512MB"], "jit": ["on", "off"]}


def test_hammerposts_file_is_a_grid_of_settings(tmp_path: Path) -> None:
    path = tmp_path / "params.json"
    path.write_text(json.dumps(GRID, indent="\t"), encoding="utf-8")
    spec = SweepSpec.read(path)
    assert spec.name == "params"
    assert spec.settings == {"shared_buffers": ("128MB", "512MB"), "jit": ("on", "off")}


def test_the_yaml_form_and_hammerposts_mean_the_same(tmp_path: Path) -> None:
    ours, theirs = tmp_path / "sweep.yaml", tmp_path / "sweep.json"
    ours.write_text("settings:\n  shared_buffers: [128MB, 512MB]\n  jit: [on, off]\n", encoding="utf-8")
    theirs.write_text(json.dumps(GRID), encoding="utf-8")
    assert SweepSpec.read(ours) == SweepSpec.read(theirs)


def test_a_value_that_is_no_list_in_hammerposts_file_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "params.json"
    path.write_text(json.dumps({"shared_buffers": ["128MB", "256MB"], "wal_level": "replica"}), encoding="utf-8-sig")
    assert SweepSpec.read(path).settings == {"shared_buffers": ("128MB", "256MB"), "wal_level": ("replica",)}


def test_an_error_in_hammerposts_file_has_its_line(tmp_path: Path) -> None:
    path = tmp_path / "params.json"
    path.write_text('{\n "a": ["1", "2"],\n "b": ["x", "x"]\n}', encoding="utf-8")
    with pytest.raises(ConfigErrors, match="b: each value may appear only once"):
        SweepSpec.read(path)


def test_options_of_the_command_line_replace_the_files_keys(tmp_path: Path) -> None:
    path = tmp_path / "sweep.yaml"
    path.write_text("settings: {jit: [on, off]}\nblocks: 3\nseed: 7\n", encoding="utf-8")
    spec = SweepSpec.read(path, blocks=5, seed=None)
    assert (spec.blocks, spec.seed) == (5, 7)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"settings": {}}, "give at least one setting or factor"),
        ({"settings": {"jit": []}}, "give at least one value"),
        ({"settings": {"jit": ["on"]}, "baseline": {"git": "on"}}, "'git' is not a setting or factor"),
        ({"settings": {"jit": ["on"]}, "baseline": {"jit": "off"}}, "is not one of its values"),
        ({"settings": {"jit": ["on"]}, "virtual_users": [4, 0]}, "each must be between 1 and 100000, not 0"),
        ({"settings": {"jit": ["on"]}, "virtual_users": [100_001]}, "each must be between 1 and 100000, not 100001"),
        ({"settings": {"jit": ["on"]}, "load": {"virtual_users": 16}}, r"write virtual_users: \[16\]"),
        ({"settings": {"jit": ["on"]}, "virtual_users": [4, 4]}, "each number may appear only once"),
        ({"settings": {"jit": [None]}}, "a value must be text, a number, or on/off"),
    ],
)
def test_a_grid_that_makes_no_sense_is_refused(given: dict[str, object], sentence: str) -> None:
    with pytest.raises(ConfigErrors, match=sentence):
        SweepSpec(**given)


@pytest.mark.parametrize("blocks", [0, 1, 2000])
def test_a_changed_sweep_obeys_the_same_bounds(blocks: int) -> None:
    spec = SweepSpec(settings=GRID, virtual_users=(2, 8), seed=7)
    assert spec.with_(blocks=9) == SweepSpec(settings=GRID, virtual_users=(2, 8), seed=7, blocks=9)
    with pytest.raises(ConfigErrors, match="blocks: must be"):
        spec.with_(blocks=blocks)


def test_each_configuration_file_of_the_server_is_one_configuration(tmp_path: Path) -> None:
    (tmp_path / "own.conf").write_text("# as installed\nport = 5432\nSearch_Path = 'a, \"it''s\"'\t# two\njit on\n")
    (tmp_path / "my.cnf").write_text(
        "[client]\nport=1\n[client-server]\nskip-name-resolve # one\n[mysqld]\nloose-max_x = 1G ; one\n"
    )
    path = tmp_path / "sweep.yaml"
    path.write_text("settings_file: [own.conf, my.cnf]\nbaseline: {settings_file: my.cnf}\n", encoding="utf-8")
    spec = SweepSpec.read(path)
    assert spec.settings_file == {
        "own.conf": {"port": "5432", "Search_Path": 'a, "it\'s"', "jit": "on"},
        "my.cnf": {"skip_name_resolve": "on", "max_x": "1G"},
    }
    assert spec.grid == {"settings_file": ("own.conf", "my.cnf")}
    assert spec.settings_in({"settings_file": "my.cnf"}) == {"skip_name_resolve": "on", "max_x": "1G"}
    assert SweepSpec(**spec.model_dump(mode="json")) == spec
    with pytest.raises(ConfigErrors, match="'report_password' is a secret") as secret:
        SweepSpec(settings_file={"own.conf": {"report_password": "hunter2"}})
    assert "hunter2" not in str(secret.value)
    with pytest.raises(ConfigErrors, match="settings_file"):
        SweepSpec(settings_file={"\x1b[2J": {"jit": "on"}})


@pytest.mark.parametrize(
    "line",
    ["include = 'other.conf'", "jit = 'on", "!includedir /etc", "[client]\n!include a", f"jit {' ' * 300_000}!'"],
)
def test_a_line_that_is_no_setting_of_a_configuration_file_is_refused(tmp_path: Path, line: str) -> None:
    (tmp_path / "own.conf").write_text(f"jit = on\n{line}\n")
    path = tmp_path / "sweep.yaml"
    path.write_text("settings_file: [own.conf]\n", encoding="utf-8")
    with pytest.raises(ConfigErrors, match=r"line [23] "):
        SweepSpec.read(path)
