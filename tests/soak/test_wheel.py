"""The wheel in an environment of its own, into which pip may install nothing that needs a compiler."""

from __future__ import annotations

import subprocess
import sys
import venv
from pathlib import Path

from hatchling.builders.wheel import WheelBuilder

from tests.architecture.source_tree import ROOT


def test_the_wheel_installs_without_a_compiler_and_works_outside_of_a_checkout(tmp_path: Path) -> None:
    wheel = next(WheelBuilder(str(ROOT)).build(directory=str(tmp_path), versions=["standard"]))
    venv.create(tmp_path / "own")
    ours = tmp_path / "own" / "bin"
    pip = (sys.executable, "-m", "pip", "--python", ours / "python", "install", "--quiet", "--no-compile")
    subprocess.run([*pip, "--only-binary", ":all:", f"{wheel}[postgresql]"], check=True)

    def said(*words: str) -> str:
        command, environment = [ours / "hdbkit", *words], {"COLUMNS": "200"}
        return subprocess.check_output(command, cwd=tmp_path, env=environment, text=True)

    assert Path(wheel).name.split("-")[1] in said("--version")
    assert "postgresql" in said("engine", "list")
    assert "sqlite/server/schema.sql" in said("sql", "show", "sqlite", "list_tables"), "its SQL is in the wheel"
    said("engine", "check", "sqlite:///new.db")
