"""Data flows one way, and no engine is named outside its own files."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.architecture.source_tree import ROOT, docstrings, modules, parsed

ENGINE = re.compile(
    r"postgres|psycopg|mysql|mariadb|oracle|timesten|sqlserver|mssql|pyodbc|ibm_db|(?<![a-z])(db2|redis)(?![a-z0-9])",
    re.IGNORECASE,
)
HELP = {"description", "help", "examples", "epilog"}
ALLOWED = {
    "hdbkit/config/target.py": {"postgresql"},  # the example of a URL in a message to the user
}
"""Where a word to the user needs an engine's name; nothing may be decided by it."""


def test_a_room_imports_only_from_rooms_below_it() -> None:
    command = [str(Path(sys.executable).with_name("lint-imports")), "--no-cache"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def owns_an_engine(path: Path) -> bool:
    """A file of ``databases/``, or one of ``servers/`` that is named after its engine."""
    room, name = path.relative_to(ROOT).parts[1], path.stem
    return (room == "databases" and name != "__init__") or (room == "servers" and bool(ENGINE.search(name)))


def names(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Every name and string that the code works with; docstrings and help texts are left out."""
    passed_over = docstrings(tree)
    for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
        told = (keyword.value for keyword in call.keywords if keyword.arg in HELP)
        passed_over |= {id(node) for value in told for node in ast.walk(value)}
    for node in ast.walk(tree):
        if id(node) in passed_over:
            continue
        for field in ("id", "attr", "arg", "name", "asname", "module", "value"):
            word = getattr(node, field, None)
            if isinstance(word, str):
                yield getattr(node, "lineno", 0), word


@pytest.mark.parametrize(
    "path",
    [
        *(path for path in modules("hdbkit") if not owns_an_engine(path)),
        *(path for path in modules("tests") if path.parent.name == "conformance"),
    ],
    ids=lambda path: str(path.relative_to(ROOT)),
)
def test_code_asks_for_a_capability_never_for_an_engine(path: Path) -> None:
    allowed = ALLOWED.get(str(path.relative_to(ROOT)), set())
    found = [
        f"line {line}: {word}"
        for line, text in names(parsed(path))
        for word in re.findall(r"\w+", text)
        if ENGINE.search(word) and word not in allowed
    ]
    assert not found


def test_the_rule_on_engines_sees_names_strings_and_imports() -> None:
    source = 'import psycopg\nfrom a import b as mysql_b\nif x.kind == "oracle": use(f"{x} redis", postgres=1)\n'
    found = {word for _, text in names(ast.parse(source)) for word in text.split() if ENGINE.search(word)}
    assert found == {"psycopg", "mysql_b", "oracle", "redis", "postgres"}


def test_the_rule_on_engines_leaves_documentation_alone() -> None:
    source = '"""For postgresql."""\nx = Field(description="e.g. mysql")\nredistributed = db20 = 1\n'
    assert not [text for _, text in names(ast.parse(source)) if ENGINE.search(text)]
