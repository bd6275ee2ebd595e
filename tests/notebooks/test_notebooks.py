"""The notebooks: how they are committed, and that each runs from top to bottom without user input."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import nbformat
import pytest

from hdbkit import api
from hdbkit.config.notebook import read_notebook
from hdbkit.servers import launcher
from tests.notebooks.conftest import NOTEBOOKS, outputs_of, write_params
from tests.run.conftest import password_of

SHORT = {"rampup_s": 0.3, "duration_s": 1.0}
SMALL: dict[str, dict[str, Any]] = {
    "00_start_here": {"newest": 2},
    "01_build_and_check": {"target": "private"},
    "02_run": {"target": "suite", "virtual_users": 2, **SHORT},
    "03_sweep_settings": {"target": "suite", "blocks": 2, **SHORT},
    "04_compare": {"target": "suite", "repeats": 2, **SHORT},
    "05_scaling_virtual_users": {"target": "suite", "virtual_users": [1, 2], "repeats": 1, **SHORT},
    "06_why_processes": {"target": "suite", "virtual_users": 2, "blocks": 1, **SHORT},
    "07_published_results": {},
    "08_compare_engines": {"engines": ["mariadb"], "warehouses": 1, "blocks": 1, **SHORT},
    "09_own_workload": {"target": "suite", "rows": 500, "blocks": 2, **SHORT},
}
"""Values that make each short."""
SAYS = {
    "00_start_here": "driver",
    "01_build_and_check": "no check failed",
    "02_run": "report: ",
    "03_sweep_settings": "synchronous_commit=off",
    "04_compare": '"text": ["new',
    "05_scaling_virtual_users": "Little's law",
    "06_why_processes": "Python processes (hdbkit)",
    "07_published_results": "All 54 response times are 60000 / tpm",
    "08_compare_engines": "mariadb: stored routines (new) complete",
    "09_own_workload": "read p99",
}
"""What its outputs hold when it has done its work."""


def names(path: Path) -> str:
    return path.stem


def test_every_notebook_is_run_here() -> None:
    assert [path.stem for path in NOTEBOOKS] == list(SMALL) == list(SAYS)


@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", SMALL)
def test_it_runs_from_top_to_bottom(name: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    wants_server = SMALL[name].get("target") == "suite"
    server = request.getfixturevalue("server") if wants_server else None
    if wants_server:
        request.getfixturevalue("named")
    missing = [kind for kind in SMALL[name].get("engines", ()) if not launcher(kind).find()]
    if missing:
        pytest.skip(f"no server binaries here for {', '.join(missing)}; see: hdbkit doctor")
    (notebook,) = (path for path in NOTEBOOKS if path.stem == name)
    done = api.batch(notebook, write_params(tmp_path, small=SMALL[name]))
    job = done.jobs.iloc[0]
    assert job["status"] == "done", job["error"]
    said = outputs_of(job["notebook"])
    assert SAYS[name] in said
    assert server is None or password_of(server.target) not in job["notebook"].read_text()


@pytest.mark.parametrize("path", NOTEBOOKS, ids=names)
def test_it_is_committed_without_outputs(path: Path) -> None:
    content = nbformat.read(path, as_version=4)
    nbformat.validate(content)
    code = [cell for cell in content.cells if cell.cell_type == "code"]
    assert not [cell.id for cell in code if cell.outputs or cell.execution_count is not None]
    assert content.metadata.kernelspec.name == "python3"
    assert set(content.metadata) == {"kernelspec", "language_info"}


@pytest.mark.parametrize("path", NOTEBOOKS, ids=names)
def test_its_parameters_are_tagged_and_typed_and_come_first(path: Path) -> None:
    assert read_notebook(path).parameters
    cells = nbformat.read(path, as_version=4).cells
    first = next(cell for cell in cells if cell.cell_type == "code")
    assert first.metadata.tags == ["parameters"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=names)
def test_it_holds_no_logic(path: Path) -> None:
    """What is worth a function belongs in hdbkit; a cell is short and defines nothing."""
    code = [cell.source for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]
    assert not [
        text for text in code if re.search(r"^\s*(def|class|if|while|try|with)\b|\blambda\b", text, re.MULTILINE)
    ]
    assert max(len(text.splitlines()) for text in code) <= 14
    assert len(code) <= 9


def test_the_first_notebook_leads_to_all_others() -> None:
    first = json.dumps(nbformat.read(NOTEBOOKS[0], as_version=4).cells)
    assert not [path.name for path in NOTEBOOKS[1:] if f"]({path.name})" not in first]
