"""The project's files, and its Python modules as syntax trees, for the architecture tests."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_NOT_OURS = {".git", ".venv", "__pycache__", "node_modules", ".ipynb_checkpoints"}


@cache
def files() -> tuple[Path, ...]:
    """Every file of the project as it would be committed: no environment, caches or results."""
    return tuple(sorted(_walk(ROOT)))


def _walk(folder: Path) -> Iterator[Path]:
    for path in folder.iterdir():
        if path.name in _NOT_OURS or path.name.endswith(("_cache", ".egg-info")) or path.name == ".hypothesis":
            continue
        if path.parent == ROOT / "results" and path.name != "README.md":
            continue
        if path.is_dir():
            yield from _walk(path)
        else:
            yield path


def texts() -> Iterator[tuple[str, str]]:
    """Every text file: its path within the project, and its text."""
    for path in files():
        try:
            yield str(path.relative_to(ROOT)), path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue


def modules(*folders: str) -> list[Path]:
    """The Python files of these folders."""
    return [p for p in files() if p.suffix == ".py" and p.relative_to(ROOT).parts[0] in folders]


def in_a_package_of_engines(path: Path) -> bool:
    """A file of an engine or of a driver in ``databases/``, but none of what all engines build on."""
    _, package, name, *_ = (*path.relative_to(ROOT).parts, "")
    return package == "databases" and name not in ("__init__.py", "_base")


def within(path: Path) -> str:
    """The path of a file within the project, as messages name it."""
    return path.relative_to(ROOT).as_posix()


@cache
def parsed(path: Path) -> ast.Module:
    """A Python file as a syntax tree."""
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def nodes(tree: ast.Module) -> tuple[ast.AST, ...]:
    """All nodes of a syntax tree."""
    return tuple(ast.walk(tree))


def docstrings(tree: ast.Module) -> set[int]:
    """The ids of the nodes that are docstrings, of attributes too: strings that stand as a statement."""
    return {id(node.value) for node in nodes(tree) if isinstance(node, ast.Expr)}


def strings(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Every string of the code that is no docstring, with its line."""
    passed_over = docstrings(tree)
    for node in nodes(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in passed_over:
            yield node.lineno, node.value
