"""The tokens of an SQL text: words, quoted names, values and symbols, without comments.

It knows no engine. Engines differ in what a backslash in a string means, so a text with one has two readings.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

_TOKENS: Final = r"""
    (?P<gap> \s+ | --[^\n]* | \#[^\n]* )
  | (?P<comment> /\* )
  | (?P<value> '(?:{inside}|''|[^'{but}])*(?:'|\Z) | \$(?P<tag>\w*)\$ .*? (?:\$(?P=tag)\$|\Z)
             | :[^\W\d]\w* | \$\d+ | @[\w$.@]* | \{{[^}}]*\}} | \d[\w.]* )
  | (?P<quoted> "(?:{inside}|""|[^"{but}])*(?:"|\Z) | `(?:``|[^`])*(?:`|\Z) )
  | (?P<word> [^\W\d][\w$]* )
  | (?P<symbol> :: | . )
"""
PLAIN: Final = re.compile(_TOKENS.format(inside="(?!)", but=""), re.VERBOSE | re.DOTALL)
ESCAPED: Final = re.compile(_TOKENS.format(inside=r"\\.", but=r"\\"), re.VERBOSE | re.DOTALL)
_COMMENT_MARK: Final = re.compile(r"/\*|\*/")

BEGINNING: Final = "no token"
"""The word of :data:`NOTHING`."""


class Token(NamedTuple):
    """One token; ``kind`` is ``word``, ``quoted``, ``value`` or ``symbol``."""

    kind: str
    text: str

    @property
    def word(self) -> str:
        """A keyword in capitals, or a symbol; empty for all that cannot be one."""
        return self.text.upper() if self.kind == "word" else self.text if self.kind == "symbol" else ""

    @property
    def is_name(self) -> bool:
        """Whether it may be an identifier."""
        return self.kind in ("word", "quoted")

    @property
    def name(self) -> str:
        """The identifier as SQL writes it, in double quotes if it has quotes."""
        if not self.text.startswith("`"):
            return self.text
        return '"' + self.text[1:-1].replace("``", "`").replace('"', '""') + '"'


NOTHING: Final = Token("symbol", BEGINNING)
"""What is before the first token, and after the last."""


def tokens(text: str, pattern: re.Pattern[str]) -> Iterator[Token]:
    """The tokens of ``text`` by :data:`PLAIN`, or :data:`ESCAPED`, where a backslash escapes the next character."""
    at = 0
    while at < len(text):
        match = pattern.match(text, at)
        assert match is not None  # any character is a symbol
        at, kind = match.end(), match.lastgroup or ""
        if kind == "comment":
            at = _end_of_comment(text, at)
        elif kind != "gap":
            yield Token(kind, match[0])


def _end_of_comment(text: str, at: int) -> int:
    """Comments may be nested on some engines; on the others this skips more than needed."""
    depth = 1
    while depth:
        mark = _COMMENT_MARK.search(text, at)
        if mark is None:
            return len(text)
        depth, at = depth + (1 if mark[0] == "/*" else -1), mark.end()
    return at
