"""A private server's settings file is read back exactly."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hdbkit.servers._mysqld_options import LOOSE, option_lines, option_values

ODD = {
    "plain": "1073741824",
    "spaces": " before and after ",
    "quotes": 'it\'s = "odd"; # or not',
    "backslash": "\\n is no line, \\ is one",
    "line": "first\nsecond",
    "empty": "",
}


@given(st.dictionaries(st.from_regex(r"[a-z_]{1,20}", fullmatch=True), st.text(st.characters(codec="utf-8"))))
def test_values_go_there_and_back(values: dict[str, str]) -> None:
    assert option_values(option_lines(values)) == values
    assert option_values(option_lines(values, LOOSE)) == values


def test_the_servers_own_reader_reads_the_same(tmp_path: Path) -> None:
    reader = shutil.which("my_print_defaults")
    if reader is None:
        pytest.skip("no my_print_defaults here")
    (tmp_path / "a.cnf").write_text(option_lines(ODD), encoding="utf-8")
    command = [reader, f"--defaults-file={tmp_path / 'a.cnf'}", "mysqld"]
    reported = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert reported == "".join(f"--{name}={value}\n" for name, value in ODD.items())
