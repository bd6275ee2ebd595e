"""The commands of a Tcl script, split into words. Nothing is evaluated.

Rules from the manual page Tcl(n): commands end at a newline or semicolon, braces quote without substitution, a
backslash before a newline is a space. A word with a variable or a command substitution has no constant value.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_BETWEEN = re.compile(r"(?:[ \t\r\f\v]|\\\r?\n[ \t]*)+")
_COMMENT = re.compile(r"#(?:\\[\s\S]|[^\\\n])*\\?")
_BRACED = re.compile(r"\\[\s\S]|[{}]")
_ESCAPED = re.compile(r"\\([\s\S])")
_CONTROL = {"n": "\n", "t": "\t"}


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
    words: list[str | None] = []
    at, began, line, counted = 0, 1, 1, 0
    while at < len(text):
        line, counted = line + text.count("\n", counted, at), at
        if text[at] in "\n;":
            found += [Command(began, tuple(words))] if words else []
            words, at = [], at + 1
        elif space := _BETWEEN.match(text, at):
            at = space.end()
        elif not words and (comment := _COMMENT.match(text, at)):
            at = comment.end()
        else:
            began = began if words else line
            word, at = _word(text, at, line)
            words.append(word)
    return [*found, Command(began, tuple(words))] if words else found


def _word(text: str, at: int, line: int) -> tuple[str | None, int]:
    """A word and the place after it."""
    if text[at] == "{":
        end = _brace_end(text, at, line)
        return text[at + 1 : end], end + 1
    quoted = text[at] == '"'
    start = at = at + quoted
    constant = True
    while at < len(text) and not (text[at] == '"' if quoted else text[at] in " \t\r\n;\f\v"):
        if not quoted and text[at] == "\\" and _BETWEEN.match(text, at):
            break
        constant = constant and text[at] not in "$["
        at = _bracket_end(text, at, line) if text[at] == "[" else at + (2 if text[at] == "\\" else 1)
    if quoted and at >= len(text):
        raise Unclosed(line, "quotation mark")
    word = _ESCAPED.sub(lambda one: _CONTROL.get(one[1], one[1]), text[start:at])
    return (word if constant else None), at + quoted


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
