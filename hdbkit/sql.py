"""Named statements: ``schemas/ansi`` once, then an engine's differences by name.

A file holds statements, each behind a line ``-- name: create_stock``; the comment lines that follow are its
description. ``:word`` is a value (bound by the driver), ``{word}`` an identifier or integer put into
the text. An engine's statement replaces the ANSI one of the same name; nothing else is inherited.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from hdbkit.errors import InputError
from hdbkit.paths import data_folder

_NAME = re.compile(r"^--\s*name:\s*(\S+)\s*$", re.MULTILINE)
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

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of its values, each once, in order of first use."""
        return tuple(dict.fromkeys(_VALUE.findall(self.text)))

    def filled(self, words: Mapping[str, Any]) -> Statement:
        """The statement with its ``{word}`` places filled by identifiers or integers."""
        return Statement(self.name, _WORD.sub(lambda m: _identifier(words, m[1]), self.text), self.origin, "")

    @property
    def words(self) -> frozenset[str]:
        """The ``{word}`` places of its text."""
        return frozenset(_WORD.findall(self.text))

    def rendered(self, placeholder: Callable[[str, int], str]) -> str:
        """The text with each value as ``placeholder(name, index)``; ``index`` counts names from 1."""
        order = {name: index for index, name in enumerate(self.parameters, 1)}
        return _VALUE.sub(lambda m: placeholder(m[1], order[m[1]]), self.text)


@cache
def statements(engine: str, group: str) -> Mapping[str, Statement]:
    """All statements of a group (``tproc_c``, ``server``) for an engine, by name."""
    found: dict[str, Statement] = {}
    for folder in ("ansi", engine):
        for path in sorted((data_folder("schemas") / folder / group).glob("*.sql")):
            found.update(_parse(path))
    return MappingProxyType(found)


def find(engine: str, group: str, name: str) -> Statement:
    """One statement by name. Raises ``InputError`` when there is none."""
    known = statements(engine, group)
    if name not in known:
        raise InputError(f"{engine} has no statement '{name}' in {group}; see: hdbkit sql show {engine}")
    return known[name]


def _identifier(words: Mapping[str, Any], name: str) -> str:
    text = str(words[name])
    if not _IDENTIFIER.fullmatch(text):
        raise InputError(f"{name} must be an identifier or an integer, not {text!r}")
    return text


def _parse(path: Path) -> dict[str, Statement]:
    _, *pieces = _NAME.split(path.read_text(encoding="utf-8"))
    found = {}
    for name, body in zip(pieces[::2], pieces[1::2], strict=True):
        lines = body.strip().splitlines()
        comment = [line.removeprefix("--").strip() for line in _leading_comment(lines)]
        text = "\n".join(lines[len(comment) :]).strip().removesuffix(";")
        if name in found:
            raise InputError(f"{path} has two statements named '{name}'")
        found[name] = Statement(name, text, path, " ".join(comment))
    return found


def _leading_comment(lines: list[str]) -> list[str]:
    end = next((i for i, line in enumerate(lines) if not line.startswith("--")), len(lines))
    return lines[:end]
