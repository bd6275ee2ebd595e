"""A public name exists once, a file has one idea, and few files are long. The limits can only fall."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator

from tests.architecture.source_tree import modules, parsed, within

MAX_NAMES_TWICE = 24
MAX_SECOND_IDEAS = 0
MAX_LONG_FILES = 14
LONG = 400
DEMANDED = {
    "main": "the entry of a program or process",
    "DATABASE": "the engine of a package, by its entry point",
    "PRODUCTS": "the table of products in an engine's package, which docs/engines.md names",
    "KIND": "a module of experiment/kinds",
    "LAUNCHER": "the private servers of an engine",
    "workload": "the workload of a package, by its kind",
    "CONTRACTS": "the statements that a workload asks of an engine",
    "RULES": "the rules of a workload, and of each group of them",
    "parts": "the method of contracts.Workload of this name, of each workload",
    "part": "the same",
    "checks": "the same",
    "add_to": "the commands of a module",
    **dict.fromkeys(
        ("statements", "new_order", "payment", "order_status", "delivery", "stock_level"),
        "what a client sends for TPROC-C, by either way of locking: the user looks them up by name",
    ),
}
"""Names that a contract demands of several modules, each with what it is there."""


def definitions(tree: ast.Module) -> Iterator[str]:
    """The public names that a module defines: classes, functions, constants and aliases; imports are none."""
    for node in tree.body:
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                names = [name]
            case ast.Assign(targets=targets):
                names = [one.id for target in targets for one in ast.walk(target) if isinstance(one, ast.Name)]
            case ast.AnnAssign(target=ast.Name(id=name)):
                names = [name]
            case _:
                names = []
        yield from (name for name in names if not name.startswith("_"))


def is_of_a_verb(path: str, name: str, tree: ast.Module) -> bool:
    """A verb stands as a function in ``hdbkit.api`` and as a command of the same name, which a test compares."""
    return path == "hdbkit/api/__init__.py" or (
        path.startswith("hdbkit/cli/") and "add_to" in definitions(tree) and name.islower()
    )


def second_ideas(text: str) -> int:
    """Comments between code that stand as a module docstring would: at the margin, between blank lines."""
    found, lines = 0, text.splitlines()
    for first in range(1, len(lines)):
        if lines[first].startswith("# ") and not lines[first - 1]:
            end = next((at for at in range(first, len(lines)) if not lines[at].startswith("#")), len(lines))
            found += end < len(lines) and not lines[end]
    return found


def test_a_public_name_exists_once() -> None:
    places = defaultdict(set)
    for path in modules("hdbkit"):
        for name in definitions(parsed(path)):
            if name not in DEMANDED and not is_of_a_verb(within(path), name, parsed(path)):
                places[name].add(within(path))
    twice = {name: sorted(paths) for name, paths in places.items() if len(paths) > 1}
    assert len(twice) <= MAX_NAMES_TWICE, twice


def test_a_demanded_name_is_defined_more_than_once() -> None:
    defined = [name for path in modules("hdbkit") for name in set(definitions(parsed(path)))]
    assert not [name for name in DEMANDED if defined.count(name) < 2]


def test_a_module_has_one_idea() -> None:
    found = {within(path): second_ideas(path.read_text(encoding="utf-8")) for path in modules("hdbkit")}
    assert sum(found.values()) <= MAX_SECOND_IDEAS, {path: number for path, number in found.items() if number}


def test_few_files_are_long() -> None:
    lines = {within(path): len(path.read_text(encoding="utf-8").splitlines()) for path in modules("hdbkit")}
    long = {path: number for path, number in lines.items() if number > LONG}
    assert len(long) <= MAX_LONG_FILES, long


def test_the_rules_see_definitions_and_comments_that_stand_as_docstrings() -> None:
    source = "from a import b\nA, B = 1, 2\nC: int = 3\n_D = 4\ndef e(): ...\nclass F: ...\n"
    assert [*definitions(ast.parse(source))] == ["A", "B", "C", "e", "F"]
    assert second_ideas('"""A."""\n\nX = 1\n\n\n# B: the second idea\n# of this file.\n\nY = 2\n') == 1
    assert second_ideas('"""A."""\n\n# why it is 1\nX = 1\n') == 0
