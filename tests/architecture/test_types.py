"""What type checkers see of the values that users write."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from tests.architecture.source_tree import ROOT

_WRONG = """
from hdbkit.config import Load, Target, TprocCLoad, TprocCSpec
Load(virtual_users=1)
Load(virtual_user=1)  # wrong
Load(virtual_users="many")  # wrong
Load(mix={"payment": 1})  # wrong
TprocCLoad(virtual_users=8, mix={"payment": 1})
TprocCLoad(mix=["payment"])  # wrong
TprocCSpec(warehouse=1)  # wrong
Target(host="db1")  # wrong
"""


def test_a_wrong_option_is_a_type_error(tmp_path: Path) -> None:
    file = tmp_path / "wrong.py"
    file.write_text(_WRONG)
    found = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(ROOT / ".mypy_cache"), str(file)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    reported = {int(line) for line in re.findall(r"^\S*wrong\.py:(\d+): error", found.stdout, re.MULTILINE)}
    assert reported == {n for n, line in enumerate(_WRONG.splitlines(), 1) if line.endswith("# wrong")}, found.stdout
