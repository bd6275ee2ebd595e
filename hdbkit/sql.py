"""Named statements: ``schemas/ansi`` once, then a dialect's differences by name, then those of the next.

A file holds statements, each behind a line ``-- name: create_stock``; the comment lines that follow are its
description. ``:word`` is a value (bound by the driver), ``{word}`` an identifier or integer (or a tuple of these) put
into the text. A statement replaces the one of the same name in the folders before its own.

Behind ``-- commands: set_setting`` stands a query whose rows are texts of commands, for what takes no values; a
session runs those commands, so that who names the statement need not know.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from hdbkit.errors import InputError
from hdbkit.paths import data_folder

SERVER_STATEMENTS = "server"
"""The statements of an engine itself, which every session has."""
_NAME = re.compile(r"^--\s*(name|commands):\s*(\S+)\s*$", re.MULTILINE)
_VALUE = re.compile(r"(?<![:\w]):([a-z_][a-z0-9_]*)")
_WORD = re.compile(r"\{([a-z_]+)\}")
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_$]*|[0-9]+")


@dataclass(frozen=True)
class Statement:
    """One named statement: its text, the file it came from, and its parameters in order of first use."""

    name: str
    text: str
    origin: Path
    description: str
    makes_commands: bool = False
    """Each row of its result is the text of a command, which is run in its place."""
    line: int = 0
    """The line of its name in that file."""

    @property
    def body(self) -> str:
        """Its text behind its description, as :func:`made` reads it."""
        return f"-- {self.description}\n{self.text}" if self.description else self.text

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of its values, each once, in order of first use."""
        return tuple(dict.fromkeys(_VALUE.findall(self.text)))

    def filled(self, words: Mapping[str, Any]) -> Statement:
        """The statement with its ``{word}`` places filled by identifiers or integers."""
        return replace(self, text=_WORD.sub(lambda m: _identifier(words, m[1]), self.text))

    @property
    def words(self) -> frozenset[str]:
        """The ``{word}`` places of its text."""
        return frozenset(_WORD.findall(self.text))

    def rendered(self, placeholder: Callable[[str, int], str]) -> str:
        """The text with each value as ``placeholder(name, index)``; ``index`` counts names from 1."""
        order = {name: index for index, name in enumerate(self.parameters, 1)}
        return _VALUE.sub(lambda m: placeholder(m[1], order[m[1]]), self.text)


@cache
def statements(dialects: tuple[str, ...], group: str) -> Mapping[str, Statement]:
    """All statements of a group (a folder such as ``server``) by name; ``dialects`` are folders, the last one wins.

    A group inside another (``shop.stall``) has the statements of that one too, and its own instead of theirs.
    """
    outer, _, _ = group.rpartition(".")
    found: dict[str, Statement] = dict(statements(dialects, outer)) if outer else {}
    for folder in ("ansi", *dialects):
        for path in sorted((data_folder("schemas") / folder).joinpath(*group.split(".")).glob("*.sql")):
            found.update(parsed(path))
    return MappingProxyType(found)


def find(dialects: tuple[str, ...], group: str, name: str) -> Statement:
    """One statement by name. Raises ``InputError`` when there is none."""
    known = statements(dialects, group)
    if name not in known:
        engine = dialects[-1]
        raise InputError(f"{engine} has no statement '{name}' in {group}; see: hdbkit sql show {engine}")
    return known[name]


def in_scope(own: Mapping[str, Statement], dialects: tuple[str, ...], name: str) -> Statement:
    """A statement of a session's own, else of the engine's group ``server``. Raises ``InputError`` for neither."""
    found = own.get(name) or statements(dialects, SERVER_STATEMENTS).get(name)
    if found is None:
        raise InputError(f"{dialects[-1]} has no statement '{name}'; see: hdbkit sql show {dialects[-1]}")
    return found


def _identifier(words: Mapping[str, Any], name: str) -> str:
    given = words[name]
    parts = [str(part) for part in (given if isinstance(given, tuple) else (given,))]
    for part in parts:
        if not _IDENTIFIER.fullmatch(part):
            raise InputError(f"{name} must be an identifier or an integer, not {part!r}")
    return ", ".join(parts)


def parsed(path: Path) -> dict[str, Statement]:
    """The statements of a file by name. Raises ``InputError`` where two have one name."""
    whole = path.read_text(encoding="utf-8")
    _, *pieces = _NAME.split(whole)
    starts = [whole.count("\n", 0, match.start()) + 1 for match in _NAME.finditer(whole)]
    found: dict[str, Statement] = {}
    for line, what, name, body in zip(starts, pieces[::3], pieces[1::3], pieces[2::3], strict=True):
        if name in found:
            raise InputError(f"{path} has two statements named '{name}'")
        found[name] = replace(made(name, body, path), makes_commands=what == "commands", line=line)
    return found


def made(name: str, body: str, origin: Path) -> Statement:
    """A statement from its text, of which leading lines of comment are the description."""
    lines = body.strip().splitlines()
    comment = [line.removeprefix("--").strip() for line in _leading_comment(lines)]
    text = "\n".join(lines[len(comment) :]).strip().removesuffix(";")
    return Statement(name, text, origin, " ".join(comment))


def _leading_comment(lines: list[str]) -> list[str]:
    end = next((i for i, line in enumerate(lines) if not line.startswith("--")), len(lines))
    return lines[:end]
