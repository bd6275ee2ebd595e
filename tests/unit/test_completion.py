"""What the shell is offered for targets, engines, runs and sweeps."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from hdbkit.cli import completion
from tests.unit.synthetic import write_run


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "targets.yaml").write_text("lab: {kind: nulldb}\nlast-year: {kind: nulldb}\n")
    monkeypatch.setenv("HDBKIT_TARGETS", str(tmp_path / "targets.yaml"))
    monkeypatch.setenv("HDBKIT_RESULTS", str(tmp_path))
    write_run(tmp_path / "20261120-a", duration_s=1, label="nightly")
    (tmp_path / "experiments" / "20261121-sweep").mkdir(parents=True)
    (tmp_path / "experiments" / "20261121-sweep" / "plan.json").write_text("{}")
    return tmp_path


def test_names_that_begin_like_the_word_are_offered(place: Path) -> None:
    assert completion.targets("la") == ["lab", "last-year"]
    assert completion.targets("null") == ["nulldb://"]
    assert "postgresql" in completion.engines("post")
    assert completion.startable_engines("mar") == ["mariadb"]
    assert completion.run_names("") == ["last", "20261120-a"]
    assert completion.run_names("ni") == ["nightly"]
    assert completion.any_names("2026") == ["20261120-a", "20261121-sweep"]
    assert completion.experiment_names("la") == ["last"]


def test_damaged_files_offer_nothing_and_fail_nothing(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (place / "targets.yaml").write_text("lab: {")
    assert completion.targets("la") == []
    monkeypatch.setenv("HDBKIT_RESULTS", "/nowhere")
    assert completion.any_names("x") == []


def test_the_shell_asks_the_program(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (
        ("_HDBKIT_COMPLETE", "complete_bash"),
        ("COMP_WORDS", "hdbkit runs show 2026"),
        ("COMP_CWORD", "3"),
    ):
        monkeypatch.setenv(name, value)
    said = subprocess.run([sys.executable, "-m", "hdbkit"], capture_output=True, text=True, check=False)
    assert said.stdout.split() == ["20261120-a"]
