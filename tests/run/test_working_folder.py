"""Files of the working folder are never executed: the processes of a build, a run and a sweep hold the password."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import hdbkit
from hdbkit.config import Load, TprocCSpec
from hdbkit.loading import build
from hdbkit.processes import command_of
from tests.run.conftest import NullTarget


@pytest.fixture
def executed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that each module of the working folder reports to when it is imported."""
    folder = tmp_path / "working"
    folder.mkdir()
    for name in {*sys.stdlib_module_names, "numpy", "pandas", "pydantic", "psutil", "yaml"}:
        (folder / f"{name}.py").write_text(f"open({str(tmp_path / name)!r} + '.executed', 'w').close()\n")
    monkeypatch.chdir(folder)
    return tmp_path


@pytest.mark.new_interpreters
def test_no_process_of_hdbkit_imports_from_the_working_folder(null_target: NullTarget, executed: Path) -> None:
    target = null_target()
    build(target.with_(database=f"{target.database}-built"), TprocCSpec(warehouses=1), loaders=1)
    assert hdbkit.run(target, load=Load(rampup_s=0, duration_s=60, iterations=5)).metric_value is not None
    sweep = command_of("hdbkit.api.experiment_process", "no-such-folder")
    assert subprocess.run(sweep, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode
    assert list(executed.glob("*.executed")) == []
    subprocess.run([sys.executable, "-c", "import random"], check=False, stderr=subprocess.DEVNULL)
    assert list(executed.glob("*.executed"))  # by an interpreter that is not isolated
