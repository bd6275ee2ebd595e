"""Large libraries are imported when they are first used, and what a start needs is imported alone."""

from __future__ import annotations

import subprocess
import sys

import pytest

LARGE = {"numpy", "pandas", "duckdb", "pyarrow", "plotly", "matplotlib", "scipy"}


def imported(code: str) -> set[str]:
    """The modules that are imported in a new interpreter once it has executed ``code``."""
    code = f"{code}\nimport sys\nprint(*sys.modules)"
    return set(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split())


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
    code = "from hdbkit.later import pandas, scipy\npandas.DataFrame({'a': [1]})\nassert scipy.stats.norm.cdf(0) == 0.5"
    assert {"pandas.core.frame", "scipy.stats._distn_infrastructure"} <= imported(code)


def test_a_supervisor_which_clients_are_forks_of_imports_no_large_library() -> None:
    assert not LARGE & imported("import hdbkit.execution.supervisor")


@pytest.mark.parametrize("workload", ["tproc_c", "custom"])
def test_what_clients_need_is_imported_before_they_are_forked(workload: str) -> None:
    assert "numpy" in imported(f"import hdbkit.workloads.{workload}.user")
