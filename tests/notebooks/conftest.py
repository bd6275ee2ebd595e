"""What the tests of notebooks share: the notebooks, a tiny one, and parameter files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.architecture.source_tree import ROOT

NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
TINY = """
if fail:
    raise ValueError("asked to")
n
"""


def write_notebook(path: Path, parameters: str, code: str) -> Path:
    """A notebook with a cell of parameters and one of code, without nbformat, which takes 2 s to import."""
    cells: list[dict[str, Any]] = [
        {"id": f"c{number}", "cell_type": "code", "source": source, "metadata": {"tags": tags}}
        for number, (source, tags) in enumerate([(parameters, ["parameters"]), (code, [])])
    ]
    for cell in cells:
        cell |= {"execution_count": None, "outputs": []}
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    metadata = {"kernelspec": kernel}
    path.write_text(json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": metadata, "cells": cells}))
    return path


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    """A notebook that needs no database: it fails when asked to."""
    return write_notebook(tmp_path / "tiny.ipynb", "n: int = 1\nfail: bool = False", TINY.strip())


def write_params(folder: Path, **files: dict[str, Any]) -> list[Path]:
    """Parameter files ``<name>.yaml`` in ``folder``."""
    paths = []
    for name, values in files.items():
        paths.append(folder / f"{name}.yaml")
        paths[-1].write_text(json.dumps(values))
    return paths


def outputs_of(path: Path) -> str:
    """All text of an executed notebook's outputs."""
    return json.dumps([cell.get("outputs") for cell in json.loads(path.read_text())["cells"]])
