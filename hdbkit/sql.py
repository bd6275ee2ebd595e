"""Named SQL statements: ``schemas/ansi`` first, then the folder of each dialect, which replaces statements by name.

In a file, each statement follows a line ``-- name: create_accounts``; the comment lines after that are its
description. ``:word`` is a value (bound by the driver), ``{word}`` an identifier or integer (or a tuple of these)
inserted into the text. A statement replaces the statement of the same name in the folders before its own.

A statement after ``-- commands: set_setting`` is a query that returns commands as text, for commands that take no
parameters. The session runs these commands; the caller uses it like any other statement.

A statement after ``-- attempt: call_order`` returns no row if its work was rolled back by design, which ``perform``
raises. An error instead would be written to the server's log with its statement.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from hdbkit.errors import ConfigErrors, InputError, Problem
from hdbkit.files import read_text
from hdbkit.paths import data_folder

SERVER_STATEMENTS = "server"
"""The folder of an engine's own statements, which every session has."""
_NAME = re.compile(r"^--\s*(name|commands|attempt):\s*(\S+)\s*$", re.MULTILINE)
_COMMENT = re.compile(r"/\*.*?\*/|--[^\n]*", re.DOTALL)
_VALUE = re.compile(r"(?<![:\w]):([a-z_][a-z0-9_]*)")
_WORD = re.compile(r"\{([a-z_][a-z0-9_]*)\}")
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_$]*|[0-9]+")


@dataclass(frozen=True)
class Statement:
    """One named statement: its text, the file it came from, and its parameters in order of first use."""

    name: str
    text: str
    origin: Path
    description: str
    makes_commands: bool = False
    """Whether each row of its result is a command, which the session then runs."""
    may_roll_back: bool = False
    """Whether a result without a row means that the work was rolled back by design."""
    line: int = 0
    """The line of its name in ``origin``."""

    @property
    def body(self) -> str:
        """Description and text, in the form that :func:`made` reads."""
        return f"-- {self.description}\n{self.text}" if self.description else self.text

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of its values, without duplicates, in order of first use."""
        return tuple(dict.fromkeys(_VALUE.findall(self.text)))

    def filled(self, words: Mapping[str, Any]) -> Statement:
        """The statement with each ``{word}`` replaced by an identifier or integer."""
        return replace(self, text=_WORD.sub(lambda m: _identifier(words, m[1]), self.text))

    def partly_filled(self, words: Mapping[str, Any]) -> Statement:
        """The same for the words that are given; the others stay in the text."""
        filled = _WORD.sub(lambda m: _identifier(words, m[1]) if m[1] in words else m[0], self.text)
        return replace(self, text=filled)

    @property
    def words(self) -> frozenset[str]:
        """The names of the ``{word}`` placeholders in its text."""
        return frozenset(_WORD.findall(self.text))

    def rendered(self, placeholder: Callable[[str, int], str]) -> str:
        """The text with each value replaced by ``placeholder(name, index)``; ``index`` counts names from 1."""
        order = {name: index for index, name in enumerate(self.parameters, 1)}
        return _VALUE.sub(lambda m: placeholder(m[1], order[m[1]]), self.text)


@cache
def statements(dialects: tuple[str, ...], folder: str) -> Mapping[str, Statement]:
    """All statements of a folder such as ``server``, by name; the last of ``dialects`` takes precedence.

    A nested folder (``shop.stall``) inherits the statements of its parent and replaces them by name.
    """
    outer, _, _ = folder.rpartition(".")
    found: dict[str, Statement] = dict(statements(dialects, outer)) if outer else {}
    for dialect in ("ansi", *dialects):
        for path in sorted((data_folder("schemas") / dialect).joinpath(*folder.split(".")).glob("*.sql")):
            found.update(parsed(path))
    return MappingProxyType(found)


def folders(dialects: tuple[str, ...]) -> list[str]:
    """The folders with statements for these dialects, such as ``server`` and ``shop.stall``."""
    roots = [data_folder("schemas") / dialect for dialect in ("ansi", *dialects)]
    return sorted(
        {".".join(path.parent.relative_to(root).parts) for root in roots for path in root.glob("*/**/*.sql")}
    )


def listed(dialects: tuple[str, ...], folder: str | None = None, name: str | None = None) -> list[Statement]:
    """The statements of all folders without duplicates, or of one such as ``shop/stall``; ``name`` selects.

    Raises:
        InputError: there is no such folder or statement.
    """
    engine, known = dialects[-1], folders(dialects)
    wanted = known if folder is None else [folder.replace("/", ".")]
    if folder is not None and wanted[0] not in known:
        existing = ", ".join(one.replace(".", "/") for one in known)
        raise InputError(f"{engine} has no folder '{folder}' of statements; its folders: {existing}")
    found = {(one.origin, one.name): one for each in wanted for one in statements(dialects, each).values()}
    chosen = [one for one in found.values() if name in (None, one.name)]
    if not chosen:
        raise InputError(f"{engine} has no statement '{name}'; see: hdbkit sql show {engine}")
    return chosen


def find(dialects: tuple[str, ...], folder: str, name: str) -> Statement:
    """One statement by name. Raises ``InputError`` if it does not exist."""
    known = statements(dialects, folder)
    if name not in known:
        engine = dialects[-1]
        raise InputError(f"{engine} has no statement '{name}' in {folder}; see: hdbkit sql show {engine}")
    return known[name]


def in_scope(own: Mapping[str, Statement], dialects: tuple[str, ...], name: str) -> Statement:
    """A statement of the session's own, else of the engine's. Raises ``InputError`` if it does not exist."""
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
    """The statements of a file by name. Raises ``InputError`` if it cannot be read or has errors."""
    found, problems = read_statements(path)
    if problems:
        raise ConfigErrors(str(path), problems)
    return found


def read_statements(path: Path) -> tuple[dict[str, Statement], list[Problem]]:
    """The statements of a file by name, and all errors in it. Raises ``InputError`` if it cannot be read."""
    try:
        whole = read_text(path)
    except ValueError as error:
        raise InputError(str(error)) from None
    before, *pieces = _NAME.split(whole)
    starts = [whole.count("\n", 0, match.start()) + 1 for match in _NAME.finditer(whole)]
    found: dict[str, Statement] = {}
    problems = []
    rest = _COMMENT.sub(lambda comment: re.sub(r"[^\n]", " ", comment[0]), before)
    if rest.strip():
        line = rest[: len(rest) - len(rest.lstrip())].count("\n") + 1
        problems.append(
            Problem("text without a name", "begin each statement with a line such as: -- name: read", line)
        )
    for line, what, name, body in zip(starts, pieces[::3], pieces[1::3], pieces[2::3], strict=True):
        if name in found:
            first = found[name].line
            problems.append(Problem(name, f"two statements named '{name}'; the first is in line {first}", line))
            continue
        commands, attempt = what == "commands", what == "attempt"
        found[name] = replace(made(name, body, path), makes_commands=commands, may_roll_back=attempt, line=line)
    return found, problems


def made(name: str, body: str, origin: Path) -> Statement:
    """A statement from its text; leading comment lines are its description."""
    lines = body.strip().splitlines()
    comment = [line.removeprefix("--").strip() for line in _leading_comment(lines)]
    text = "\n".join(lines[len(comment) :]).strip().removesuffix(";")
    return Statement(name, text, origin, " ".join(comment))


def _leading_comment(lines: list[str]) -> list[str]:
    end = next((i for i, line in enumerate(lines) if not line.startswith("--")), len(lines))
    return lines[:end]
