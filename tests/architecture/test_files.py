"""The project's files: what they must contain, and what they must never contain."""

from __future__ import annotations

import re
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import pytest
import yaml
from hatchling.builders.wheel import WheelBuilder

from hdbkit.api.first_steps import EngineDemo
from hdbkit.config import SweepSpec, Target, read_params, read_yaml, validate
from hdbkit.config.notebook import read_notebook, read_parameters
from hdbkit.config.specs import read_load
from hdbkit.config.sweep_spec import sweep_schema_text
from hdbkit.results import columns
from tests.architecture.source_tree import ROOT, files, texts

CONDA_NAMES = {"python-duckdb": "duckdb", "redis-py": "redis"}
PARAMS = [path for path in files() if path.parent == ROOT / "params"]


def project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


@pytest.mark.parametrize("path", PARAMS, ids=lambda path: path.name)
def test_every_parameter_file_loads(path: Path) -> None:
    if path.name == "targets.yaml":
        content, _ = read_yaml(path)
        entries = {**(content or {}), **commented_out(path)}
        assert [validate(entry, Target, source=name) for name, entry in entries.items()]
    elif path.name.startswith("demo-"):
        read_params(path, EngineDemo)
    elif path.name.startswith("run-"):
        read_load(path)
    elif path.name.startswith("notebook-"):
        (notebook,) = (ROOT / "notebooks").glob(f"{path.name.split('-')[1]}_*.ipynb")
        assert read_parameters(read_notebook(notebook), path)
    elif path.name == "sweep.schema.json":
        assert path.read_text(encoding="utf-8") == sweep_schema_text(), "run: hdbkit plan --json-schema > that file"
    elif path.suffix in (".yaml", ".json"):
        SweepSpec.read(path)
    else:
        assert path.suffix == ".md"


def commented_out(path: Path) -> dict[str, Any]:
    """The sample entries behind the first empty comment line of ``path``."""
    _, _, samples = path.read_text(encoding="utf-8").partition("\n#\n")
    return yaml.safe_load(re.sub(r"^# ?", "", samples, flags=re.MULTILINE))


def requirement(text: str) -> tuple[str, str]:
    """``psycopg[binary]>=3.2`` as a comparable name and its lowest version."""
    name, _, lowest = re.sub(r"\[.*?\]", "", text).partition(">=")
    return CONDA_NAMES.get(name, name).lower().replace("_", "-"), lowest


def test_the_conda_environment_names_the_same_packages() -> None:
    given = project()
    ours = [*given["dependencies"], *(one for extra in given["optional-dependencies"].values() for one in extra)]
    listed = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))["dependencies"]
    theirs = [one for one in listed if isinstance(one, str) and one != "pip"] + listed[-1]["pip"]
    python = "python" + given["requires-python"]
    assert sorted(map(requirement, theirs)) == sorted({requirement(one) for one in [*ours, python]})


def test_the_wheel_carries_sql_parameters_and_what_panels_show(tmp_path: Path) -> None:
    (wheel,) = WheelBuilder(str(ROOT)).build(directory=str(tmp_path), versions=["standard"])
    with zipfile.ZipFile(wheel) as archive:
        packed = set(archive.namelist())
    wanted = {
        f"hdbkit/data/{path.relative_to(ROOT).as_posix()}"
        for path in files()
        if path.relative_to(ROOT).parts[0] in ("schemas", "params")
    }
    for shown in (
        "hdbkit/widgets/static",
        "hdbkit/charts/plotly",
        "hdbkit/report/templates",
        "hdbkit/engines/skeleton",
    ):
        kept = {path.relative_to(ROOT).as_posix() for path in files() if path.parent == ROOT / shown}
        assert kept, shown
        wanted |= kept
    assert wanted | {"hdbkit/py.typed"} <= packed
    assert not [one for one in packed if one.startswith(("tests", "results", "bench"))]


def never() -> dict[str, re.Pattern[str]]:
    """What must not stand in any file; written in pieces, since this is a file too."""
    terms = ["tpm" + "C", "Qph" + "H", "Qph" + "DS", "TPC-C " + "result", "TPC-H " + "result"]
    folders = ["work", "farm", "root", "home"]
    return {
        "a protected term": re.compile("|".join(rf"\b{term}" for term in terms), re.IGNORECASE),
        "a path of one machine": re.compile("|".join(rf"(?<![\w.}}*~])/{one}/" for one in folders)),
    }


@pytest.mark.parametrize(("what", "pattern"), never().items(), ids=list(never()))
def test_it_never_stands_in_a_file(what: str, pattern: re.Pattern[str]) -> None:
    found = [
        f"{path}:{number}: {line.strip()[:100]}"
        for path, text in texts()
        if pattern.search(text)
        for number, line in enumerate(text.splitlines(), 1)
        if pattern.search(line)
    ]
    assert not found, f"{what} stands in the project"


def test_the_rules_on_words_see_what_they_look_for() -> None:
    spoilt = {"a protected term": "12 " + "tpm" + "c here", "a path of one machine": "in " + "/ho" + "me/me"}
    assert all(pattern.search(spoilt[what]) for what, pattern in never().items())


def test_the_page_of_results_names_every_column_of_the_file_format() -> None:
    text = (ROOT / "docs" / "results.md").read_text(encoding="utf-8")
    tables = [columns.OPERATIONS, columns.SECONDS, columns.COUNTERS, columns.HOST, columns.CLIENTS, columns.ERRORS]
    assert not [name for table in tables for name in table if f"`{name}`" not in text]
    assert f"version {columns.FORMAT_VERSION}" in text
