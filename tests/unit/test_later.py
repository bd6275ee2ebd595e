"""The command line imports large libraries when it first uses them."""

from __future__ import annotations

import subprocess
import sys

_COMMANDS = """
import sys
from types import ModuleType
from hdbkit.cli.main import import_large_ones_later
import_large_ones_later()
from importlib import import_module
from hdbkit.cli.main import COMMANDS
for module, _ in COMMANDS.values():
    import_module(f"hdbkit.cli.{module}")
large = ("pandas", "duckdb", "pyarrow", "plotly", "scipy.stats")
print(*(one for one in large if type(sys.modules[one]) is ModuleType))
import pandas, pyarrow.parquet as pq, scipy.stats
print(len(pandas.DataFrame({"a": [1, 2]})), pq.read_table.__name__, scipy.stats.norm.cdf(0))
"""


def test_no_command_imports_a_large_library_before_it_is_used_and_then_it_is_whole() -> None:
    done = subprocess.run([sys.executable, "-c", _COMMANDS], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["", "2 read_table 0.5"]


def test_a_supervisor_which_clients_are_forks_of_imports_no_large_library() -> None:
    large = {"pandas", "duckdb", "pyarrow", "scipy.stats"}
    code = f"import sys, hdbkit.execution.supervisor; print({large} & {{*sys.modules}})"
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "set()\n"
    )
