"""What holds for every test: nothing is written to the project's own results; and the command line, in process."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from hdbkit.cli import main


@pytest.fixture(autouse=True)
def results(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder where this test's runs land."""
    folder = tmp_path_factory.mktemp("results")
    monkeypatch.setenv("HDBKIT_RESULTS", str(folder))
    return folder


@dataclass(frozen=True)
class Said:
    """What a command line answered."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


HdbkitCommand = Callable[..., Said]


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> HdbkitCommand:
    """Calls ``hdbkit`` with words, in this process."""

    def call(*words: object) -> Said:
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main([str(word) for word in words])
        out, err = capsys.readouterr()
        assert isinstance(ended.value.code, int)
        return Said(ended.value.code, out, err)

    return call
