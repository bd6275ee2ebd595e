"""The program starts without what it does not need: counted in modules, since seconds depend on the host."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from hdbkit.cli import app
from hdbkit.cli.completion import known, without_code
from hdbkit.cli.main import COMMANDS, typer_of

HEAVY = {"pandas", "matplotlib", "numpy", "pydantic", "duckdb", "pyarrow", "rich", "hdbkit.api", "hdbkit.config"}
PROGRAM = """
import sys
sys.argv[1:] = {words}
from hdbkit.__main__ import main
try:
    main()
finally:
    print(*sys.modules, file=sys.stderr)
"""


def imported(*words: str, **environment: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(words=words)],
        env={**os.environ, **environment}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout
    return set(done.stderr.split())


@pytest.mark.parametrize("words", ["--version", "--help"])
def test_version_and_help_import_no_command(words: str) -> None:
    assert not imported(words) & {*HEAVY, "yaml"}


def test_a_command_imports_no_other_command() -> None:
    own = {f"hdbkit.cli.{module}" for module, _ in COMMANDS.values()}
    assert imported("sql", "--help") & own == {"hdbkit.cli.schema"}


def test_a_completion_imports_no_command(tmp_path: Path) -> None:
    (tmp_path / "targets.yaml").write_text("lab: {kind: nulldb}\n")
    places = {"XDG_CACHE_HOME": str(tmp_path), "HDBKIT_TARGETS": str(tmp_path / "targets.yaml")}
    for number, line in enumerate(["hdbkit r", "hdbkit r", "hdbkit run --v", "hdbkit run la", "hdbkit runs show l"]):
        typed = {"_HDBKIT_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(line.count(" "))}
        found = imported(**places, **typed)
        if number == 0:
            assert "hdbkit.api" in found, "the first completion derives what later ones read"
        else:
            assert not found & HEAVY - {"pydantic"}, line  # typer reads values with it


def test_the_table_of_commands_has_what_the_modules_add_and_lines_that_fit() -> None:
    for module in {module for module, _ in COMMANDS.values()}:
        added = typer.main.get_group(typer_of(module)).commands
        assert set(added) == {name for name, (own, _) in COMMANDS.items() if own == module}
    widest = max(map(len, COMMANDS))
    assert all(2 + widest + 2 + len(line) <= 80 for _, line in COMMANDS.values())


def test_what_is_completed_are_the_options_of_the_commands(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    known.cache_clear()
    there = dict(options(typer.main.get_command(app)))
    monkeypatch.setenv("COMP_WORDS", " ".join(there))
    assert dict(options(typer.main.get_command(without_code(known()["commands"])))) == there


def options(group: Any, *before: str) -> Iterator[tuple[str, set[tuple[str, bool, int]]]]:
    for name, one in group.commands.items():
        if hasattr(one, "commands"):
            yield from options(one, name)
        else:
            own = [each for each in one.params if each.param_type_name == "option"]
            flags = {(word, each.is_flag, each.nargs) for each in own for word in (*each.opts, *each.secondary_opts)}
            yield " ".join((*before, name)), flags
