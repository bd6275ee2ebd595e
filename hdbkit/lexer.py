"""SQL as an engine reads it: what is code, what is quoted, and what is a comment.

A dialect states its forms of quotes and comments by name, in a line of its ``fragments.sql``::

    -- lexer: text, escape_text, dollar_text, name, line_comment, nested_comment

The forms are in the table below; nothing here knows an engine. A text without its end reaches to the end of the
statement, as servers read it. No byte is lost: the tokens joined are the text.

Names of tables and columns that users give are :class:`SqlName`; they are written with the quotes of the dialect.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from enum import Enum
from functools import lru_cache
from typing import Final, NamedTuple


class TokenKind(Enum):
    """What a token is."""

    CODE = "code"
    QUOTED = "quoted"
    """A text or a quoted name."""
    COMMENT = "comment"


class _Token(NamedTuple):
    """A piece of a statement."""

    kind: TokenKind
    text: str
    closed: bool = True
    """Whether its end is there."""


class _Form(NamedTuple):
    """How one kind of quotes or comments begins and goes on; ``ends`` follows where it is closed."""

    kind: TokenKind
    begins: str
    goes_on: str
    ends: str


def _quoted(mark: str, *, backslashes: bool = False, before: str = "") -> _Form:
    """Between two marks, of which two stand for one; with ``backslashes`` also behind one."""
    escaped = r"\\(?:.|\Z)|" if backslashes else ""
    ordinary = rf"[^{mark}\\]" if backslashes else f"[^{mark}]"
    return _Form(TokenKind.QUOTED, before + mark, f"(?:{escaped}{ordinary}|{mark}{mark})*+", mark)


_CONTINUED = r"(?:[^'\\]|\\(?:.|\Z)|''|'[^\S\n\r]*+[\n\r](?:\s|--[^\n\r]*+[\n\r])*+')*+"
"""A text that a quote on a later line continues, which keeps its escapes."""
_MARKS = {"[": "]", "(": ")", "{": "}", "<": ">"}
_PAIRS = "|".join(f"{re.escape(start)}(?:(?!{re.escape(end)}').)*+" for start, end in _MARKS.items())
_FORMS: Final = {
    "text": _quoted("'"),
    "backslash_text": _quoted("'", backslashes=True),
    "escape_text": _Form(TokenKind.QUOTED, "[eE]'", _CONTINUED, "'"),
    "dollar_text": _Form(
        TokenKind.QUOTED, r"\$(?P<tag>(?:[^\W\d]\w*+)?)\$", r"(?:(?!\$(?P=tag)\$).)*+", r"\$(?P=tag)\$"
    ),
    "q_text": _Form(
        TokenKind.QUOTED,
        "[nN]?[qQ]'(?=[^\\s'])",
        rf"(?:{_PAIRS}|(?P<mark>[^\[({{<])(?:(?!(?P=mark)').)*+)",
        r"(?:[\])}>]|(?P=mark))'",
    ),
    "name": _quoted('"'),
    "backslash_double": _quoted('"', backslashes=True),
    "backtick": _quoted("`"),
    "backslash_backtick": _quoted("`", backslashes=True),
    "bracket": _Form(TokenKind.QUOTED, r"\[", r"(?:[^\]]|\]\])*+", r"\]"),
    "plain_bracket": _Form(TokenKind.QUOTED, r"\[", r"[^\]]*+", r"\]"),
    "line_comment": _Form(TokenKind.COMMENT, "--", r"[^\n]*+", ""),
    "spaced_comment": _Form(TokenKind.COMMENT, r"--(?=[\s\x00-\x1f]|\Z)", r"[^\n]*+", ""),
    "hash_comment": _Form(TokenKind.COMMENT, "#", r"[^\n]*+", ""),
    "slash_comment": _Form(TokenKind.COMMENT, "//", r"[^\n]*+", ""),
    "block_comment": _Form(TokenKind.COMMENT, r"/\*", r"(?:(?!\*/).)*+", r"\*/"),
}
"""By name. ``nested_comment`` and the executable comments are read by :func:`_nested` and :func:`_executed`."""
_NESTED: Final = "nested_comment"
_EXECUTED: Final = {
    "executable_comment": r"/\*!(?:\d{5,6})?",
    "executable_comment_of_two": r"/\*(?:M!|!(?!(?:50[7-9]|5[1-9]\d|[6-9]\d\d)\d\d(?!\d)))(?:\d{5,6})?",
}
"""Comments whose content is code, by how they begin: those that MySQL executes; those of MariaDB, which skips the
versions 5.7.0 to 9.99.99 of the other product. A version above the server's own is taken for code, too."""
_NO_LETTER = r"\x00-#%-/:-@\[-^`{-\x7f"
_WORD = rf"[^$0-9{_NO_LETTER}][^{_NO_LETTER}]*+"
"""Letters are those of ASCII, ``_`` and whatever is not ASCII: written as what they are not, since ``re`` takes 20 ms
for a set with a range of that size."""
_CODE: Final = rf"(?:{_WORD}(?!')|\d\w*+|\s++|[,()=<>+.;:?{{}}|&^%!~@\]])++|{_WORD}|."
"""Words at once, so that a quote behind a letter of one begins nothing else, and what begins no quote or comment."""
_NAMING: Final = {"name": '""', "backtick": "``", "backslash_backtick": "``", "bracket": "[]"}
"""The marks of quoted names, by form."""
_NAME_PART: Final = re.compile(r'"(?:[^"]|"")+"|`(?:[^`]|``)+`|\[(?:[^\]]|\]\])+\]|[^\W\d][\w$]*')
_ENDS: Final = {'"': '"', "`": "`", "[": "]"}
_MAX_PARTS: Final = 3
_NESTING: Final = re.compile(r"/\*|\*/")
HIDDEN: Final = "\x00"
"""What :meth:`Lexer.code` has in place of what is quoted."""


class Lexer(NamedTuple):
    """The forms of a dialect."""

    forms: tuple[str, ...]

    def tokens(self, text: str) -> tuple[_Token, ...]:
        """The pieces of a text; joined, they are the text."""
        return _tokens(self, text)

    def code(self, text: str) -> str:
        """The text with what is quoted hidden and comments blank, character by character."""
        return _code(self, text)

    def commands(self, text: str) -> list[str]:
        """The commands that semicolons separate; those without code are left out."""
        return [text[start:end] for start, end in self._spans(text) if self.code(text)[start:end].strip()]

    def _spans(self, text: str) -> Iterator[tuple[int, int]]:
        start = 0
        for found in re.finditer(";|\\Z", self.code(text)):
            yield start, found.start()
            start = found.end()

    def open_end(self, text: str) -> tuple[int, str] | None:
        """Where a text, name or comment begins that does not end: the line, from 0, and its mark."""
        line = 0
        for one in self.tokens(text):
            if not one.closed:
                return line, one.text.lstrip("eEnNqQ")[:2] if one.kind is TokenKind.COMMENT else one.text[:1]
            line += one.text.count("\n")
        return None

    def replaced(self, text: str, mark: str, by: Iterable[str]) -> str:
        """The text with each ``mark`` of its code replaced by the next of ``by``, as often as there are any."""
        new, parts, at = iter(by), list[str](), 0
        for found, word in zip(re.finditer(re.escape(mark), self.code(text)), new, strict=False):
            parts += [text[at : found.start()], word]
            at = found.end()
        return "".join([*parts, text[at:]])

    def ends_in_comment(self, text: str) -> bool:
        """Whether what follows the text would belong to its last comment."""
        tokens = self.tokens(text)
        return bool(tokens) and tokens[-1].kind is TokenKind.COMMENT and not tokens[-1].text.endswith("*/")

    def written(self, name: str) -> str:
        """A name with quotes."""
        form = next((one for one in self.forms if one in _NAMING), "name")
        start, end = _NAMING[form][0], _NAMING[form][1]
        return start + (name.replace("\\", "\\\\") if "backslash" in form else name).replace(end, 2 * end) + end

    def with_backslashes(self) -> Lexer:
        """As the server reads it where backslashes are escapes in every text."""
        return Lexer(tuple("backslash_text" if one == "text" else one for one in self.forms))

    def with_names_in_double_quotes(self) -> Lexer:
        """As the server reads it where double quotes enclose names, not texts."""
        return Lexer(tuple("name" if one == "backslash_double" else one for one in self.forms))


STANDARD: Final = Lexer(("text", "name", "line_comment", "block_comment"))
"""Standard SQL."""


def lexer_with(forms: str) -> Lexer:
    """The lexer that a dialect states. Raises ``ValueError`` for a form that does not exist."""
    names = tuple(word.strip() for word in forms.split(","))
    known = {*_FORMS, *_EXECUTED, _NESTED}
    if unknown := next((name for name in names if name not in known), None):
        raise ValueError(f"there is no form '{unknown}' of quotes or comments (known: {', '.join(sorted(known))})")
    return Lexer(names)


@lru_cache(maxsize=4096)
def _tokens(lexer: Lexer, text: str) -> tuple[_Token, ...]:
    pattern = _pattern(lexer)
    found: list[_Token] = []
    at = code_from = executed = 0
    while at < len(text):
        if executed and text.startswith("*/", at):
            executed -= 1
            token = _Token(TokenKind.COMMENT, "*/")
        else:
            token, begins_executed = _token(pattern, text, at)
            executed += begins_executed
        if token.kind is not TokenKind.CODE:
            found += [_Token(TokenKind.CODE, text[code_from:at])] if at > code_from else []
            found.append(token)
            code_from = at + len(token.text)
        at += len(token.text)
    return (*found, _Token(TokenKind.CODE, text[code_from:])) if at > code_from else tuple(found)


def _token(pattern: re.Pattern[str], text: str, at: int) -> tuple[_Token, bool]:
    """The token at a place, and whether it begins a comment whose content is code."""
    match = pattern.match(text, at)
    assert match and match.lastgroup, "every character is at least code"
    name = match.lastgroup
    if name == _NESTED:
        return _nested(text, at), False
    if name in _FORMS:
        return _Token(_FORMS[name].kind, match[0], not _FORMS[name].ends or match[f"end_{name}"] is not None), False
    return _Token(TokenKind.COMMENT if name in _EXECUTED else TokenKind.CODE, match[0]), name in _EXECUTED


def _nested(text: str, start: int) -> _Token:
    """A comment that may have others inside."""
    depth = 0
    for mark in _NESTING.finditer(text, start):
        depth += 1 if mark[0] == "/*" else -1
        if not depth:
            return _Token(TokenKind.COMMENT, text[start : mark.end()])
    return _Token(TokenKind.COMMENT, text[start:], closed=False)


@lru_cache(maxsize=64)
def _pattern(lexer: Lexer) -> re.Pattern[str]:
    """What matches one token; executable comments before others, and code last."""
    parts = [f"(?P<{name}>{_EXECUTED[name]})" for name in lexer.forms if name in _EXECUTED]
    for name in lexer.forms:
        if name == _NESTED:
            parts.append(rf"(?P<{name}>/\*)")
        elif name in _FORMS:
            _, begins, goes_on, ends = _FORMS[name]
            parts.append(f"(?P<{name}>{begins}{goes_on}(?P<end_{name}>{ends})?)")
    return re.compile("|".join([*parts, f"(?P<code>{_CODE})"]), re.DOTALL)


@lru_cache(maxsize=4096)
def _code(lexer: Lexer, text: str) -> str:
    return "".join(_shown(one) for one in _tokens(lexer, text))


def _shown(token: _Token) -> str:
    if token.kind is TokenKind.CODE:
        return token.text
    mark = HIDDEN if token.kind is TokenKind.QUOTED else " "
    return "\n".join(len(line) * mark for line in token.text.split("\n"))


class SqlName(NamedTuple):
    """The name of a table or column, perhaps with that of its schema: its parts, each with whether it had quotes."""

    parts: tuple[tuple[str, bool], ...]

    def written(self, lexer: Lexer) -> str:
        """As the dialect writes it; a part that had no quotes gets none."""
        return ".".join(lexer.written(part) if is_quoted else part for part, is_quoted in self.parts)

    @property
    def exact(self) -> SqlName:
        """The same name with quotes around each part, whatever the server makes of letters without them."""
        return SqlName(tuple((part, True) for part, _ in self.parts))


def identifier(text: str) -> SqlName:
    """A name with the quotes of any dialect, such as ``sales."Orders"``. Raises ``ValueError`` if it is none."""
    found, at = list[tuple[str, bool]](), 0
    while part := _NAME_PART.match(text, at):
        start = part[0][0]
        if end := _ENDS.get(start):
            found.append((part[0][1:-1].replace(2 * end, end), True))
        else:
            found.append((part[0], False))
        at = part.end()
        if at == len(text) and len(found) <= _MAX_PARTS and all(one.isprintable() for one, _ in found):
            return SqlName(tuple(found))
        if text[at : at + 1] != ".":
            break
        at += 1
    raise ValueError(
        f"'{text[:80]}' is not a name such as orders, sales.orders or sales.\"Orders\"; put quotes around a "
        "part that has other characters than letters, digits and _"
    )
