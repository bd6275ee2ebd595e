"""No engine and no workload is named outside its own files."""

from __future__ import annotations

import ast
import re
import tomllib
from functools import cache
from pathlib import Path

import pytest

from hdbkit.databases import built_in
from tests.architecture.source_tree import (
    ROOT,
    docstrings,
    in_a_package_of_engines,
    modules,
    nodes,
    parsed,
    texts,
    within,
)

OTHER_NAMES = ("postgres", "mysqldb", "oracle", "timesten", "sqlserver", "mssql", "pyodbc", "ibm_db", "db2", "redis")
"""What engines are called besides the names of their kinds and drivers, and engines that are planned."""
LIBRARIES = {"duckdb"}
"""Engines that the core also uses as libraries, so that their names are everywhere."""
PARTS_OF_WORDS = ("db2", "redis")
"""Names that also occur inside other words, which do not count."""
WORDS = {"id", "attr", "arg", "name", "asname", "module", "value"}
"""The fields of a syntax tree that are names or strings."""
HELP = {"description", "help", "examples", "epilog"}
ALLOWED = {
    "hdbkit/config/target.py": {"postgresql"},  # the example of a URL in a message to the user
    # the module of the standard library that reads another tool's file, and the tables of that file
    "hdbkit/hammerdb/jobs.py": {"sqlite3", "sqlite_master"},
    # the module of the standard library that stores the catalog
    "hdbkit/results/catalog.py": {"sqlite", "sqlite3"}
    | {f"SQLITE_{name}" for name in ("OK", "DENY", "SELECT", "READ", "FUNCTION")},
    "hdbkit/widgets/panels/sweep.py": {"nulldb"},  # a target that needs no server
}
"""Where an engine's name is needed; nothing may be decided by it."""
WORKLOAD = re.compile(r"nopm|new[ _-]?order|warehouse|(?<![a-z])w_id|tproc", re.IGNORECASE)
"""Words of one workload."""
OF_THE_WORKLOAD = (
    "hdbkit/workloads/tproc_c/",
    "hdbkit/workloads/tproc_h/",
    "hdbkit/config/specs/",
    "hdbkit/config/__init__.py",
    "hdbkit/api/__init__.py",
    "hdbkit/hammerdb/keys.yaml",
)
"""The packages of built-in workloads, their models and the names that users import, and the table of another tool's
keys, which is data: code reads names from it and decides by none."""


def engine_names() -> set[str]:
    """Every kind of database of hdbkit, the packages of its extra in ``pyproject.toml``, and their other names."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    packages = (re.split(r"[\[<>=~ ]", one)[0] for kind in built_in() for one in extras.get(kind, ()))
    return {*built_in(), *packages, *OTHER_NAMES} - LIBRARIES


def pattern(names: set[str]) -> re.Pattern[str]:
    """What finds one of ``names``."""
    ways = [rf"(?<![a-z]){one}(?![a-z0-9])" if one in PARTS_OF_WORDS else re.escape(one) for one in sorted(names)]
    return re.compile("|".join(ways), re.IGNORECASE)


ENGINE = pattern(engine_names())


def owns_an_engine(path: Path) -> bool:
    """A file of an engine or a driver in ``databases/``, or one of ``servers/`` that is named after its engine."""
    of_servers = path.relative_to(ROOT).parts[1] == "servers"
    return in_a_package_of_engines(path) or (of_servers and bool(ENGINE.search(path.stem)))


@cache
def names(tree: ast.Module) -> tuple[tuple[int, str], ...]:
    """Every name and string that the code works with; docstrings and help texts are left out."""
    passed_over = docstrings(tree)
    for keyword in nodes(tree):
        if isinstance(keyword, ast.keyword) and keyword.arg in HELP:
            passed_over |= {id(node) for node in ast.walk(keyword.value)}
    words = (
        (getattr(node, "lineno", 0), getattr(node, field))
        for node in nodes(tree)
        if id(node) not in passed_over
        for field in WORDS.intersection(node._fields)
    )
    return tuple((line, word) for line, word in words if isinstance(word, str))


def test_code_asks_for_a_capability_never_for_an_engine() -> None:
    ours = [path for path in modules("hdbkit") if not owns_an_engine(path)]
    ours += [path for path in modules("tests") if path.parent.name == "conformance"]
    found = [
        f"{within(path)}:{line}: {word}"
        for path in ours
        for line, text in names(parsed(path))
        for word in re.findall(r"\w+", text)
        if ENGINE.search(word) and word not in ALLOWED.get(within(path), set())
    ]
    assert not found


def test_what_an_engine_can_do_is_asked_of_the_target_not_of_its_kind() -> None:
    wrong = re.compile(r"\bdatabase\([\w.]*target\.kind\)")
    assert wrong.search("database(self._plan.target.kind)")
    assert not [within(path) for path in modules("hdbkit") if wrong.search(path.read_text(encoding="utf-8"))]


def test_the_rule_on_engines_sees_names_strings_and_imports() -> None:
    source = 'import psycopg\nfrom a import b as mysql_b\nif x.kind == "oracle": use(f"{x} redis", postgres=1)\n'
    found = {word for _, text in names(ast.parse(source)) for word in text.split() if ENGINE.search(word)}
    assert found == {"psycopg", "mysql_b", "oracle", "redis", "postgres"}


def test_the_rule_on_engines_leaves_documentation_alone() -> None:
    source = '"""For postgresql."""\nx = Field(description="e.g. mysql")\nredistributed = db20 = 1\n'
    assert not [text for _, text in names(ast.parse(source)) if ENGINE.search(text)]


def test_the_rule_on_engines_knows_every_kind_and_its_driver() -> None:
    assert {*built_in(), "psycopg", "mysqlclient"} - LIBRARIES <= engine_names()
    assert all(ENGINE.search(f"from_{kind}_to") for kind in {*built_in()} - LIBRARIES)
    assert pattern({"newdb"}).search("a_NewDB_session")


def test_code_asks_the_workload_never_for_its_name() -> None:
    found = [
        f"{within(path)}:{line}: {text[:60]}"
        for path in modules("hdbkit")
        if not within(path).startswith(OF_THE_WORKLOAD)
        for line, text in names(parsed(path))
        if WORKLOAD.search(text)
    ]
    assert not found


def test_nothing_outside_a_workload_is_written_in_its_words() -> None:
    """Docstrings, help texts, comments, templates and scripts too."""
    found = [
        f"{path}:{number}: {line.strip()[:60]}"
        for path, text in texts()
        if path.startswith("hdbkit/") and not path.startswith(OF_THE_WORKLOAD)
        for number, line in enumerate(text.splitlines(), 1)
        if WORKLOAD.search(line)
    ]
    assert not found


@pytest.mark.parametrize(
    ("text", "is_a_word"),
    [
        ("nopm_of", True),
        ("in NOPM", True),
        ("a new order", True),
        ("per_warehouse", True),
        ("h.w_id", True),
        ("TPROC-C", True),
        ("the order is new", False),
        ("raw_identity", False),
    ],
)
def test_the_rule_on_workloads_knows_a_word(text: str, is_a_word: bool) -> None:
    assert bool(WORKLOAD.search(text)) is is_a_word
