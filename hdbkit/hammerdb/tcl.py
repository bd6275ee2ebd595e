"""The commands of a Tcl script, split into words. Nothing is evaluated.

Rules from the manual page Tcl(n): commands end at a newline or semicolon, braces quote without substitution, a
backslash before a newline is a space. A word has no constant value if it has a command substitution, or a variable
that is not set to a constant before.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

_BETWEEN = re.compile(r"(?:[ \t\r\f\v]|\\\r?\n[ \t]*)+")
_COMMENT = re.compile(r"#(?:\\[\s\S]|[^\\\n])*\\?")
_BRACED = re.compile(r"\\[\s\S]|[{}]")
_ESCAPED = re.compile(r"\\([\s\S])")
_CONTROL = {"n": "\n", "t": "\t"}
_VARIABLE = re.compile(r"\$(?:(\w+)(?!\w|\(|::)|\{(\w+)\})")
_NAME = re.compile(r"(?<!\$)(?<!\$\{)\b\w+")
"""A word that may name a variable: not one whose value is taken."""
_CHANGES_NOTHING = frozenset({"dbset", "diset", "giset", "print", "puts", "tcset", "vuset"})
"""Commands whose words name no variable."""


@dataclass(frozen=True)
class Command:
    """One command: its line, counted from 1, and its words; None is a word that only Tcl could compute."""

    line: int
    words: tuple[str | None, ...]


class Unclosed(ValueError):
    """A brace, bracket or quotation mark that is not closed."""

    def __init__(self, line: int, mark: str) -> None:
        super().__init__(line, mark)
        self.line, self.mark = line, mark


def commands(text: str) -> list[Command]:
    """The commands of a script, outside of braces. Raises :class:`Unclosed`."""
    found: list[Command] = []
    known: dict[str, str] = {}
    words: list[str | None] = []
    at, began, line, counted = 0, 1, 1, 0
    while at < len(text):
        line, counted = line + text.count("\n", counted, at), at
        if text[at] in "\n;":
            found += [_noted(Command(began, tuple(words)), known)] if words else []
            words, at = [], at + 1
        elif space := _BETWEEN.match(text, at):
            at = space.end()
        elif not words and (comment := _COMMENT.match(text, at)):
            at = comment.end()
        else:
            began = began if words else line
            word, at = _word(text, at, line, known)
            words.append(word)
    return [*found, Command(began, tuple(words))] if words else found


def _noted(one: Command, known: dict[str, str]) -> Command:
    """``one``; the variable that it sets is known afterwards, and one that it may change otherwise is not."""
    match one.words:
        case ("set", str(name), str(value)):
            known[name] = value
        case (str(command), *_) if command in _CHANGES_NOTHING:
            pass
        case _:
            for name in {name for word in one.words if word for name in _NAME.findall(word)}:
                known.pop(name, None)
    return one


def _word(text: str, at: int, line: int, known: Mapping[str, str]) -> tuple[str | None, int]:
    """A word and the place after it."""
    if text[at] == "{":
        end = _brace_end(text, at, line)
        return text[at + 1 : end], end + 1
    quoted = text[at] == '"'
    at += quoted
    constant, parts, kept = True, [""], at
    while at < len(text) and not (text[at] == '"' if quoted else text[at] in " \t\r\n;\f\v"):
        if not quoted and text[at] == "\\" and _BETWEEN.match(text, at):
            break
        if (variable := _VARIABLE.match(text, at)) and (name := variable[1] or variable[2]) in known:
            parts += [_unescaped(text[kept:at]), known[name]]
            at = kept = variable.end()
            continue
        constant = constant and text[at] not in "$["
        at = _bracket_end(text, at, line) if text[at] == "[" else at + (2 if text[at] == "\\" else 1)
    if quoted and at >= len(text):
        raise Unclosed(line, "quotation mark")
    return ("".join(parts) + _unescaped(text[kept:at]) if constant else None), at + quoted


def _unescaped(text: str) -> str:
    return _ESCAPED.sub(lambda one: _CONTROL.get(one[1], one[1]), text)


def _brace_end(text: str, at: int, line: int) -> int:
    depth = 0
    for mark in _BRACED.finditer(text, at):
        depth += {"{": 1, "}": -1}.get(mark[0], 0)
        if not depth:
            return mark.start()
    raise Unclosed(line, "brace")


def _bracket_end(text: str, at: int, line: int) -> int:
    depth = 0
    for mark in re.compile(r"\\[\s\S]|[\[\]]").finditer(text, at):
        depth += {"[": 1, "]": -1}.get(mark[0], 0)
        if not depth:
            return mark.end()
    raise Unclosed(line, "bracket")
