"""Fixtures of the notebook tests: one private server for all, named in a targets file, and a tiny notebook."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest
import yaml
from nbformat.v4 import new_code_cell, new_notebook

from hdbkit.build import build
from hdbkit.config import WorkloadSpec
from hdbkit.servers import PrivateServer, find_binaries, private_server
from tests.architecture.source_tree import ROOT

NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
TINY = """
if fail:
    raise ValueError("asked to")
n
"""

MakeNotebook = Callable[..., Path]


@pytest.fixture(scope="session")
def server() -> Iterator[PrivateServer]:
    """A private server with a schema of one warehouse."""
    if not find_binaries():
        pytest.skip("no server binaries here; see: hdbkit doctor")
    with private_server(settings={"fsync": "off"}) as server:
        build(server.target, WorkloadSpec(warehouses=1))
        yield server


@pytest.fixture
def named(server: PrivateServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of that server in the targets file of this test, as a notebook takes it."""
    fields = server.target.model_dump(mode="json", exclude_defaults=True)
    path = tmp_path / "targets.yaml"
    path.write_text(yaml.safe_dump({"suite": fields}))
    monkeypatch.setenv("HDBKIT_TARGETS", str(path))
    return "suite"


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
