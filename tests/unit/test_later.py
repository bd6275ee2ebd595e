"""Large libraries are imported when they are first used, and what a start needs is imported alone."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import hdbkit
from hdbkit.cli.kept import kept

LARGE = {"numpy", "pandas", "duckdb", "pyarrow", "plotly", "matplotlib", "scipy"}


def imported(code: str) -> set[str]:
    """The modules that are imported in a new interpreter once it has executed ``code``."""
    code = f"{code}\nimport sys\nprint(*sys.modules)"
    return set(
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    )


_COMMANDS = """
from importlib import import_module
from hdbkit.cli.main import COMMANDS
for module, _ in COMMANDS.values():
    import_module(f"hdbkit.cli.{module}")
"""


@pytest.mark.parametrize("code", [_COMMANDS, "import hdbkit; hdbkit.run", "import hdbkit; dir(hdbkit)"])
def test_no_command_and_no_name_imports_a_large_library_before_it_is_used(code: str) -> None:
    assert not LARGE & imported(code)


def test_a_library_is_whole_once_one_of_its_names_was_used() -> None:
    code = (
        "from hdbkit.later import pandas, scipy\npandas.DataFrame({'a': [1]})\nassert scipy.stats.norm.cdf(0) == 0.5"
    )
    assert {"pandas.core.frame", "scipy.stats._distn_infrastructure"} <= imported(code)


def test_a_supervisor_which_clients_are_forks_of_imports_no_large_library() -> None:
    assert not LARGE & imported("import hdbkit.execution.supervisor")


def test_type_checkers_read_the_names_that_there_are() -> None:
    stub = ast.parse(Path(hdbkit.api.__file__).with_suffix(".pyi").read_text())
    imports = {one.names[0].name: one.module for one in stub.body if isinstance(one, ast.ImportFrom)}
    verbs = {ast.unparse(one.targets[0]): ast.unparse(one.value) for one in stub.body if isinstance(one, ast.Assign)}
    assert verbs == {name: f"DEFAULT.{name}" for name in verbs}
    assert [*imports, *verbs] and sorted([*imports, *verbs]) == dir(hdbkit.api)
    for name, module in imports.items():
        assert getattr(hdbkit.api, name) is getattr(import_module(str(module)), name)
    for name in verbs:
        assert getattr(hdbkit.api, name).__func__ is getattr(hdbkit.Workspace, name)
        assert vars(getattr(hdbkit.api, name).__self__) is vars(hdbkit.DEFAULT)


def test_a_verb_stays_one_when_the_module_of_its_name_is_imported() -> None:
    code = "import hdbkit.api.compare, hdbkit\nassert callable(hdbkit.compare) and callable(hdbkit.api.compare)"
    assert "hdbkit.api.compare" in imported(code)


_HELP = """
import sys
from hdbkit.cli import main
try:
    main(["run", "--help"])
except SystemExit as end:
    assert not end.code
"""


def test_help_is_derived_once_and_then_imports_no_command(tmp_path: Path) -> None:
    def asked() -> tuple[str, set[str]]:
        code = f"{_HELP}\nprint('imported:', *sys.modules)"
        env = {**os.environ, "XDG_CACHE_HOME": str(tmp_path)}
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env)
        text, _, modules = done.stdout.partition("imported:")
        return text, set(modules.split())

    first, second = asked(), asked()
    assert "Load options:" in first[0] and "hdbkit.cli.measuring" in first[1]
    assert second[0] == first[0]
    assert not second[1] & {"hdbkit.cli.measuring", "hdbkit.api", "pydantic", *LARGE}


def test_help_is_derived_anew_when_hdbkit_has_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert kept("help", "80 run", lambda: "of before") == "of before"
    assert kept("help", "80 run", lambda: "of now") == "of before"
    path = tmp_path / "hdbkit" / "help.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "state": ["another version"]}))
    assert kept("help", "80 run", lambda: "of now") == "of now"


def test_a_run_imports_no_engine_and_no_kind_of_experiment_before_it_knows_its_target() -> None:
    found = imported("from hdbkit.cli.main import command_named\ncommand_named('run')")
    assert not found & {"hdbkit.databases.postgresql", "hdbkit.databases.nulldb", "hdbkit.api.documents"}
    assert not found & {"hdbkit.api.compare", "hdbkit.report.run_report", "hdbkit.charts.chart", "jinja2", *LARGE}


@pytest.mark.parametrize("workload", ["tproc_c", "custom"])
def test_what_clients_need_is_imported_before_they_are_forked(workload: str) -> None:
    assert "numpy" in imported(f"import hdbkit.workloads.{workload}.user")
