"""No SQL in Python: statements live in ``schemas/``. A method without a docstring implements one that has it."""

from __future__ import annotations

import ast
import re

import pytest

from tests.architecture.source_tree import ROOT, modules, nodes, parsed, strings, within

SQL = re.compile(
    r"\bselect\b.+\bfrom\b|\binsert\s+into\b|\bupdate\s+\S+\s+set\b|\bdelete\s+from\b|\btruncate\s+table\b"
    r"|\b(create|drop|alter)\s+(or replace\s+)?(table|index|function|procedure|view|database|role|user|system)\b",
    re.IGNORECASE | re.DOTALL,
)
OWN_SQL = {"analysis", "results", "hammerdb"}
"""Packages that run SQL on files (DuckDB over Parquet, the catalog, jobs of HammerDB), never on a database."""


def test_sql_lives_in_schemas() -> None:
    found = [
        f"{within(path)}:{line}: {text[:60]}"
        for path in modules("hdbkit")
        if path.relative_to(ROOT).parts[1] not in OWN_SQL
        for line, text in strings(parsed(path))
        if SQL.search(text)
    ]
    assert not found


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


def test_a_method_without_a_docstring_implements_one_that_has_it() -> None:
    methods = [
        (path, one, method)
        for path in modules("hdbkit")
        for one in nodes(parsed(path))
        if isinstance(one, ast.ClassDef)
        for method in one.body
        if isinstance(method, ast.FunctionDef)
    ]
    documented = {method.name for _, _, method in methods if ast.get_docstring(method)}
    assert not [
        f"{within(path)}:{method.lineno}: {one.name}.{method.name}"
        for path, one, method in methods
        if not method.name.startswith("_") and not one.name.startswith("_") and method.name not in documented
    ]
