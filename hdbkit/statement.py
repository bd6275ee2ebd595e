"""One named statement: its parameters, its fragments, and its text for a driver."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from hdbkit.errors import InputError
from hdbkit.lexer import STANDARD, Lexer, SqlName

_USE = re.compile(r"\{\{\s*([a-z_]+)(?:\(([^{}]*(?:\{[a-z_]+\}[^{}]*)*)\))?\s*\}\}")
_ARGUMENT = re.compile(r"'(?:[^']|'')*'|[(),]|[^'(),]+")
COMMANDS_SUFFIX = ".commands"
_VALUE = re.compile(r"(?<![:\w\\]):(?P<name>[a-z_][a-z0-9_]*)")
_TYPED = re.compile(
    r"(?P<cast>\b(?i:CAST)\s*\(\s*)?(?<![:\w\\]):(?P<name>[a-z_][a-z0-9_]*)"
    r"(?P<type>(?(cast)\s+(?i:AS)\s+[\w ]+|(?:\s*::\s*\w+)?))"
)
"""A value with the type that it is cast to: ``:id::text``, ``CAST(:id AS text)``."""
_WORD = re.compile(r"(?<![{\\])\{([a-z_][a-z0-9_]*)\}(?!\})")
_PLAIN = re.compile(r"\\(?=:[A-Za-z_]|\{[A-Za-z_]\w*\})")
"""What makes a colon or a brace behind it plain text."""
IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_$]*|[0-9]+")
"""What is inserted into a statement as it is."""


@dataclass(frozen=True)
class Fragment:
    """What engines write differently, such as the type of a timestamp: its text, with a ``{word}`` per parameter."""

    name: str
    parameters: tuple[str, ...]
    text: str

    def filled(self, given: str | None) -> str:
        """The text with the arguments ``given``, separated by commas; a single parameter takes all that is given.

        Raises:
            InputError: the number of arguments is wrong.
        """
        arguments = _arguments(given) if given is not None else []
        if len(self.parameters) == 1 and given is not None:
            arguments = [given.strip()]
        if len(arguments) != len(self.parameters):
            raise InputError(
                f"the fragment {self.name} takes {len(self.parameters)} arguments, not {len(arguments)}: {given}"
            )
        by_name = dict(zip(self.parameters, arguments, strict=True))
        return _WORD.sub(lambda m: by_name.get(m[1], m[0]), self.text)


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
    declared: tuple[str, ...] | None = None
    """The parameters of a script, which states them; None in SQL."""
    returns: tuple[str, ...] = ()
    """The columns of a script's result, as it states them."""
    key: str = ""
    """The key on whose node a script runs, where the server is a cluster."""
    dialect: str = ""
    """The dialect that it came from."""
    nodes: str = ""
    """How the results of several nodes become one: ``sum``, ``rows`` or ``common``; empty: one node is asked."""
    lexer: Lexer = STANDARD
    """How the engine that executes it reads its text."""

    @property
    def body(self) -> str:
        """Description and text, in the form that :func:`made` reads."""
        return f"-- {self.description}\n{self.text}" if self.description else self.text

    @property
    def is_commands(self) -> bool:
        """Whether it is commands of an engine without SQL, one in each line."""
        return self.origin.suffix == COMMANDS_SUFFIX

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of its values, without duplicates, in order of first use, or as a script states them."""
        if self.declared is not None:
            return self.declared
        return tuple(dict.fromkeys(_VALUE.findall(self.code)))

    @property
    def uses(self) -> tuple[tuple[str, str], ...]:
        """The names of its values with the type that each is cast to, without duplicates, in order of first use."""
        return tuple(dict.fromkeys(map(_use, _TYPED.finditer(self.code))))

    def expanded(self, known: Mapping[str, Fragment]) -> Statement:
        """The statement with each ``{{fragment}}`` replaced by its text. Raises ``InputError`` for an unknown one."""
        text = self.text
        while found := _USE.search(text):
            if found[1] not in known:
                raise InputError(f"{self.origin}: {self.name}: there is no fragment '{found[1]}'")
            text = text[: found.start()] + known[found[1]].filled(found[2]) + text[found.end() :]
        return replace(self, text=text.strip())

    def around(self, inner: Statement) -> Statement:
        """The statement with ``{statement}`` replaced by another, whose values it takes."""
        text = f"{inner.text}\n" if inner.lexer.ends_in_comment(inner.text) else inner.text
        return replace(self, text=self.text.replace("{statement}", text))

    def filled(self, words: Mapping[str, Any]) -> Statement:
        """The statement with each ``{word}`` replaced by an identifier or integer."""
        return self._filled(words, self.words)

    def partly_filled(self, words: Mapping[str, Any]) -> Statement:
        """The same for the words that are given; the others stay in the text."""
        return self._filled(words, self.words & words.keys())

    def _filled(self, words: Mapping[str, Any], named: Collection[str]) -> Statement:
        there = [one for one in _WORD.finditer(self.code) if one[1] in named]
        places = [(*one.span(), _identifier(words, one[1], self.lexer)) for one in there]
        return replace(self, text=_replaced(self.text, places)) if places else self

    @property
    def words(self) -> frozenset[str]:
        """The names of the ``{word}`` placeholders in its text."""
        return frozenset(_WORD.findall(self.code))

    @property
    def code(self) -> str:
        """The text with what is quoted hidden and comments blank, character by character."""
        return self.lexer.code(self.text)

    @property
    def commands(self) -> list[str]:
        """The commands that semicolons separate."""
        return self.lexer.commands(self.text)

    def rendered(self, placeholder: Callable[[str, int], str]) -> str:
        """What is sent: the text with each value replaced by ``placeholder(name, index)``.

        ``index`` counts names from 1. A command may follow the text: a comment at its end has a line of its own.
        """
        order = {name: index for index, name in enumerate(self.parameters, 1)}
        return self._sent((*_place(m), placeholder(m["name"], order[m["name"]])) for m in _VALUE.finditer(self.code))

    def rendered_by_use(self, placeholder: Callable[[int], str]) -> str:
        """The same with ``placeholder(index)``; ``index`` counts the uses of values from 1."""
        order = {use: index for index, use in enumerate(self.uses, 1)}
        return self._sent((*_place(m), placeholder(order[_use(m)])) for m in _TYPED.finditer(self.code))

    def _sent(self, values: Iterable[tuple[int, int, str]]) -> str:
        plain = ((*m.span(), "") for m in _PLAIN.finditer(self.code))
        text = _replaced(self.text, sorted([*values, *plain]))
        return f"{text}\n" if self.lexer.ends_in_comment(self.text) else text


def _place(found: re.Match[str]) -> tuple[int, int]:
    """Where a value is, with its colon."""
    return found.start("name") - 1, found.end("name")


def _replaced(text: str, places: Iterable[tuple[int, int, str]]) -> str:
    """The text with other words at some places, in order."""
    parts, at = list[str](), 0
    for start, end, new in places:
        parts += [text[at:start], new]
        at = end
    return "".join([*parts, text[at:]])


def _use(found: re.Match[str]) -> tuple[str, str]:
    return found["name"], found["type"].lower().strip().removeprefix("::").removeprefix("as ").strip()


def _arguments(given: str) -> list[str]:
    """The arguments of a fragment: separated by commas that are not within parentheses or quotes."""
    found, depth = [""], 0
    for text in _ARGUMENT.findall(given):
        depth += {"(": 1, ")": -1}.get(text, 0)
        if text == "," and not depth:
            found.append("")
        else:
            found[-1] += text
    return [one.strip() for one in found]


def _identifier(words: Mapping[str, Any], name: str, lexer: Lexer) -> str:
    given = words[name]
    if isinstance(given, SqlName):
        return given.written(lexer)
    parts = [str(part) for part in (given if isinstance(given, tuple) else (given,))]
    for part in parts:
        if not IDENTIFIER.fullmatch(part):
            raise InputError(f"{name} must be an identifier or an integer, not {part!r}")
    return ", ".join(parts)
