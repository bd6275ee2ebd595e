"""How the code is cut: small files, small functions, no SQL in Python."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from tests.architecture.source_tree import ROOT, modules, parsed, strings

LARGEST_FILE = 400
LARGEST_FUNCTION = 60
SQL = re.compile(
    r"\bselect\b.+\bfrom\b|\binsert\s+into\b|\bupdate\s+\S+\s+set\b|\bdelete\s+from\b|\btruncate\s+table\b"
    r"|\b(create|drop|alter)\s+(or replace\s+)?(table|index|function|procedure|view|database|role|user|system)\b",
    re.IGNORECASE | re.DOTALL,
)
OWN_SQL = {"analysis", "results"}
"""Rooms that speak SQL to files of ours (DuckDB over Parquet, the catalog), never to a measured database."""


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", modules("hdbkit", "tests", "bench"), ids=name)
def test_a_file_is_small(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= LARGEST_FILE


@pytest.mark.parametrize("path", modules("hdbkit", "tests", "bench"), ids=name)
def test_a_function_is_small(path: Path) -> None:
    long = [
        f"{node.name}: {node.end_lineno - node.lineno + 1} lines"
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.end_lineno
        and node.end_lineno - node.lineno + 1 > LARGEST_FUNCTION
    ]
    assert not long


@pytest.mark.parametrize(
    "path", [path for path in modules("hdbkit") if path.relative_to(ROOT).parts[1] not in OWN_SQL], ids=name
)
def test_sql_lives_in_schemas(path: Path) -> None:
    assert not [f"line {line}: {text[:60]}" for line, text in strings(parsed(path)) if SQL.search(text)]


@pytest.mark.parametrize(
    ("text", "is_sql"),
    [
        ("select 1\nfrom dual", True),
        ("Insert  into t values (1)", True),
        ("create or replace function f()", True),
        ("UPDATE t SET a = 1", True),
        ("select a database from the list of names", True),  # the price of a simple rule: say 'choose'
        ("update the settings", False),
        ("cannot create tables: no privilege", False),
    ],
)
def test_the_rule_on_sql_knows_a_statement(text: str, is_sql: bool) -> None:
    assert bool(SQL.search(text)) is is_sql
