"""The notebooks: how they are committed, and that each runs from top to bottom without user input."""

from __future__ import annotations

import json
import os
import re
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

import hdbkit
from hdbkit.api import Workspace
from hdbkit.config import Target
from hdbkit.config.notebook import read_notebook, read_parameters
from hdbkit.servers import find_binaries
from tests.kernel import Kernel, kernel
from tests.notebooks.conftest import NOTEBOOKS, write_params
from tests.run.conftest import password_of

if TYPE_CHECKING:
    from nbformat import NotebookNode

SHORT = {"rampup_s": 0.0, "duration_s": 0.4}
SMALL: dict[str, dict[str, Any]] = {
    "00_start_here": {"newest": 2},
    "01_build_and_check": {"target": "private"},
    "02_run": {"target": "private", "virtual_users": 2, **SHORT},
    "03_sweep_settings": {"target": "suite", "setting": "speed", "values": ["1", "2"], "blocks": 2, **SHORT},
    "04_compare": {"target": "private", "virtual_users": 1, "repeats": 1, **SHORT},
    "05_scaling_virtual_users": {"target": "suite", "virtual_users": [1, 2], "repeats": 1, **SHORT},
    "06_why_processes": {"target": "private", "virtual_users": [2], "blocks": 1, **SHORT},
    "07_published_results": {},
    "08_compare_engines": {"engines": ["postgresql"], "warehouses": 1, "virtual_users": 1, "blocks": 1, **SHORT},
    "09_own_workload": {"target": "private", "rows": 500, "virtual_users": 1, "blocks": 2, **SHORT},
    "10_TPROC-H": {"engines": ["duckdb", "duckdb"], "scale_factor": 0.01, "queries": "q01,q06", "blocks": 2},
}
"""Values that make each short; ``private`` is a server that the kernel starts, ``suite`` a null database."""
LONG = {"03_sweep_settings", "06_why_processes", "08_compare_engines", "09_own_workload", "10_TPROC-H"}
SAYS = {
    "00_start_here": "driver",
    "01_build_and_check": "no check failed",
    "02_run": "report: ",
    "03_sweep_settings": "speed=2",
    "04_compare": "client against stored",
    "05_scaling_virtual_users": "Little's law",
    "06_why_processes": "Python processes (hdbkit)",
    "07_published_results": "All 54 response times are 60000 / tpm",
    "08_compare_engines": "postgresql: stored routines (new) complete",
    "09_own_workload": "read p99",
    "10_TPROC-H": "Which queries became faster or slower?",
}
"""What its outputs hold when it has done its work."""
BUILT_BY = "01_build_and_check"
SERVER = "print(__import__('hdbkit').open_target('private').target.model_dump_json())"


@dataclass(frozen=True)
class Notebooks:
    """The notebooks in one kernel, each executed once."""

    kernel: Kernel
    targets: Path
    known: dict[str, NotebookNode] = field(default_factory=dict)

    def executed(self, name: str, folder: Path) -> NotebookNode:
        """A notebook with its small values; where it needs the server, the one that builds the schema goes first."""
        from papermill.iorw import load_notebook_node  # not at the top: it takes 3 s
        from papermill.parameterize import parameterize_notebook

        if needs_server(name) and name != BUILT_BY:
            self.executed(BUILT_BY, folder)
        if name not in self.known:
            (path,) = (path for path in NOTEBOOKS if path.stem == name)
            (file,) = write_params(folder, **{name: SMALL[name]})
            values = read_parameters(read_notebook(path, self.targets), file)
            notebook = parameterize_notebook(load_notebook_node(str(path)), values)
            self.known[name] = self.kernel.execute(notebook)
        return self.known[name]


def needs_server(name: str) -> bool:
    return SMALL[name].get("target") == "private" or "engines" in SMALL[name]


@pytest.fixture(scope="module")
def notebooks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Notebooks]:
    """Their kernel has a results folder and a targets file of its own; its private server ends with it."""
    folder = tmp_path_factory.mktemp("notebooks")
    suite = {"kind": "nulldb", "database": f"n{uuid.uuid4().hex[:12]}", "options": {"latency_us": "2000"}}
    (folder / "targets.yaml").write_text(yaml.safe_dump({"suite": {**suite, "may_change_settings": True}}))
    place = Workspace(results=folder / "results", targets=folder / "targets.yaml")
    place.connect("suite").build(warehouses=1)
    with kernel(NOTEBOOKS[0].parent, os.environ | place.environment) as one:
        yield Notebooks(one, place.targets)
    place.connect("suite").drop()


def cells_of(path: Path) -> list[dict[str, Any]]:
    return list(json.loads(path.read_text(encoding="utf-8"))["cells"])


def names(path: Path) -> str:
    return path.stem


def test_every_notebook_is_run_here() -> None:
    assert [path.stem for path in NOTEBOOKS] == list(SMALL) == list(SAYS)


@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.long] * (name in LONG)) for name in SMALL])
def test_it_runs_from_top_to_bottom(name: str, notebooks: Notebooks, tmp_path: Path) -> None:
    if needs_server(name) and not any(one.kind == "postgresql" for one in find_binaries()):
        pytest.skip("no PostgreSQL binaries here; see: hdbkit doctor")
    notebook = notebooks.executed(name, tmp_path)
    assert SAYS[name] in json.dumps([cell.get("outputs") for cell in notebook.cells])
    if needs_server(name):
        ((server,),) = notebooks.kernel.outputs(SERVER)
        assert password_of(Target.model_validate_json(server.text)) not in json.dumps(notebook)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=names)
def test_it_is_committed_without_outputs(path: Path) -> None:
    import nbformat

    content = nbformat.read(path, as_version=4)
    nbformat.validate(content)
    code = [cell for cell in content.cells if cell.cell_type == "code"]
    assert not [cell.id for cell in code if cell.outputs or cell.execution_count is not None]
    assert content.metadata.kernelspec.name == "python3"
    assert set(content.metadata) == {"kernelspec", "language_info"}


@pytest.mark.parametrize("path", NOTEBOOKS, ids=names)
def test_its_parameters_are_tagged_and_typed_and_come_first(path: Path) -> None:
    assert read_notebook(path).parameters
    first = next(cell for cell in cells_of(path) if cell["cell_type"] == "code")
    assert first["metadata"]["tags"] == ["parameters"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=names)
def test_it_uses_names_that_hdbkit_has_in_a_fresh_kernel(path: Path) -> None:
    """The kernel of these tests has imported modules for other notebooks, which are then attributes of hdbkit."""
    code = "\n".join("".join(cell["source"]) for cell in cells_of(path) if cell["cell_type"] == "code")
    used = {*re.findall(r"(?<!import )(?<!from )\bhdbkit\.(\w+)", code)}
    assert used <= {*hdbkit.__all__}


@pytest.mark.parametrize("path", NOTEBOOKS, ids=names)
def test_it_holds_no_logic(path: Path) -> None:
    """What is worth a function belongs in hdbkit; a cell is short and defines nothing."""
    code = ["".join(cell["source"]) for cell in cells_of(path) if cell["cell_type"] == "code"]
    assert not [
        text for text in code if re.search(r"^\s*(def|class|if|while|try|with)\b|\blambda\b", text, re.MULTILINE)
    ]
    assert max(len(text.splitlines()) for text in code) <= 14
    assert len(code) <= 9


def test_the_first_notebook_leads_to_all_others() -> None:
    first = json.dumps(cells_of(NOTEBOOKS[0]))
    assert not [path.name for path in NOTEBOOKS[1:] if f"]({path.name})" not in first]
