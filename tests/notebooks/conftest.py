"""What the tests of notebooks share: the notebooks, a tiny one, and parameter files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook

from tests.architecture.source_tree import ROOT

NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
TINY = """
if fail:
    raise ValueError("asked to")
n
"""


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    """A notebook that needs no database: it fails when asked to."""
    parameters = new_code_cell("n: int = 1\nfail: bool = False", metadata={"tags": ["parameters"]})
    notebook = new_notebook(cells=[parameters, new_code_cell(TINY.strip())])
    notebook.metadata["kernelspec"] = {"display_name": "Python 3", "language": "python", "name": "python3"}
    path = tmp_path / "tiny.ipynb"
    nbformat.write(notebook, path)
    return path


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
