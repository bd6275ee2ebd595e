"""A small reader of SQL: which tables and routines statements use, and by which privilege.

It is for the check of privileges before a run, which must not refuse what works: a statement, or a part of one, that
it does not know uses nothing. It knows no engine. Where engines read a text differently (a backslash in a string),
only what all of them would find counts; a rest that may be a comment or the inside of a string is skipped.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Final

from hdbkit.contracts import Access
from hdbkit.workloads.custom.sql_tokens import BEGINNING, ESCAPED, NOTHING, PLAIN, Token, tokens

LOCK: Final = "LOCK"
"""What ``SELECT ... FOR UPDATE`` does with its table; engines differ in the privilege that it requires."""

_VERBS: Final = frozenset({"SELECT", "INSERT", "REPLACE", "UPDATE", "DELETE", "MERGE", "CALL", "TRUNCATE"})
_BEFORE_VERBS: Final = frozenset({"WITH", "EXPLAIN", "("})
_MODIFIERS: Final = frozenset(
    {"LOW_PRIORITY", "HIGH_PRIORITY", "DELAYED", "QUICK", "IGNORE", "INTO", "ONLY", "TABLE", "LATERAL"}
)
_AFTER_FROM: Final = frozenset({
    "WHERE", "GROUP", "HAVING", "WINDOW", "ORDER", "LIMIT", "OFFSET", "FETCH", "UNION", "INTERSECT",
    "EXCEPT", "MINUS", "RETURNING", "VALUES", "WHEN", "SET", "SELECT", "WITH", "FOR", "LOCK",
    "INTO", "PROCEDURE"
})  # fmt: skip
_NO_ALIAS: Final = _AFTER_FROM | {
    "ON", "USING", "JOIN", "STRAIGHT_JOIN", "INNER", "CROSS", "LEFT", "RIGHT", "FULL", "NATURAL",
    "OUTER", "TABLESAMPLE", "PARTITION", "USE", "FORCE", "IGNORE", "DEFAULT", "OVERRIDING", "AS"
}  # fmt: skip

_QUERIES: Final = frozenset({"SELECT", "WITH", "VALUES", "TABLE", "("})
_CONSTANTS: Final = frozenset({
    "TRUE", "FALSE", "NULL", "DEFAULT", "UNKNOWN", "USER", "CURRENT_USER", "SESSION_USER", "CURRENT_ROLE",
    "CURRENT_DATE", "CURRENT_TIME", "CURRENT_TIMESTAMP", "LOCALTIME", "LOCALTIMESTAMP", "UTC_DATE", "UTC_TIME",
    "UTC_TIMESTAMP", "SYSDATE", "SYSTIMESTAMP", "ROWNUM", "EXISTS", "NOT", "CASE", "CURRENT", "INTERVAL", "BINARY"
})  # fmt: skip
_BEFORE_COLUMN: Final = frozenset({
    "WHERE", "RETURNING", "AND", "OR", "NOT", "BETWEEN", "LIKE", "(", ",", "=", "<", ">", "+", "-", "*", "/", "%"
})  # fmt: skip
_AFTER_COLUMN: Final = frozenset({
    "=", "<", ">", "!", "+", "-", "*", "/", "%", "|", ",", ")", ";", "::", "IS", "IN", "BETWEEN", "LIKE", "NOT",
    "AND", "OR", "AS", "RETURNING", BEGINNING
})  # fmt: skip


@dataclass
class _Level:
    """A statement, or what is between two parentheses."""

    verb: str = ""
    target: str = ""
    """The table that its verb changes."""
    reads: bool = False
    """Whether FROM begins a list of tables here; within parentheses of a function it does not."""
    in_from: bool = False
    expects: bool = False
    """Whether a table is next."""
    tables: list[str] = field(default_factory=list)


@dataclass
class _Found:
    tables: set[tuple[str, str]] = field(default_factory=set)
    routines: set[str] = field(default_factory=set)
    functions: set[str] = field(default_factory=set)
    expressions: set[str] = field(default_factory=set)
    """The names of common table expressions."""
    made: set[str] = field(default_factory=set)
    """Tables that the statements create themselves."""


def uses(texts: Iterable[str]) -> Access:
    """What these statements use for certain.

    Example:
        >>> sorted(uses(["UPDATE things SET n = 1 WHERE id = 2"]).tables)
        ['SELECT', 'UPDATE']
    """
    found = [_read(text) for text in texts]
    made = {name.lower() for one in found for name in one.made}
    tables: dict[str, set[str]] = {}
    for one in found:
        hidden = made | {name.lower() for name in one.expressions}
        for privilege, table in one.tables:
            if table.lower() not in hidden:
                tables.setdefault(privilege, set()).add(table)
    return Access(
        {privilege: frozenset(names) for privilege, names in tables.items()},
        routines=frozenset().union(*(one.routines for one in found)),
        functions=frozenset().union(*(one.functions - one.expressions for one in found)),
    )


def _read(text: str) -> _Found:
    found = _Reader(text, PLAIN).read()
    if "\\" not in text:
        return found
    other = _Reader(text, ESCAPED).read()
    return _Found(
        found.tables & other.tables,
        found.routines & other.routines,
        found.functions & other.functions,
        found.expressions | other.expressions,
        found.made | other.made,
    )


class _Reader:
    """Reads the tokens once, from left to right."""

    def __init__(self, text: str, pattern: re.Pattern[str]) -> None:
        self._tokens, self._at = [*tokens(text, pattern)], 0
        self._levels, self._found = [_Level()], _Found()
        self._aliases: dict[str, str] = {}
        self._handlers: dict[str, Callable[[], None]] = {
            **dict.fromkeys(("(", ")", ";", ",", "JOIN", "STRAIGHT_JOIN"), self._punctuation),
            **dict.fromkeys(_VERBS, self._verb),
            "WITH": self._with,
            "FROM": self._from,
            "USING": self._using,
            "WHERE": self._where,
            "RETURNING": self._returning,
            "FOR": self._for,
        }

    def read(self) -> _Found:
        while self._at < len(self._tokens):
            if len(self._levels) == 1 and self._peek(-1).word in (";", BEGINNING):
                if self._peek().word == "CREATE":
                    self._create()
                if self._peek().word not in _VERBS | _BEFORE_VERBS:
                    self._skip_statement()
                    continue
            self._token(self._next())
        self._found.tables = {
            (privilege, name)
            for privilege, name in self._found.tables
            if privilege == "SELECT" or self._aliases.get(name.lower(), name.lower()) == name.lower()
        }
        return self._found

    def _token(self, token: Token) -> None:
        level = self._level
        if level.expects and token.word not in _AFTER_FROM and token.word not in ("(", ")", ";"):
            self._table(token)
            return
        if token.word in _AFTER_FROM:
            level.in_from = level.expects = False
        if token.is_name and self._peek().word in ("(", "."):
            self._called(token)
        if token.word in self._handlers:
            self._handlers[token.word]()

    @property
    def _level(self) -> _Level:
        return self._levels[-1]

    def _peek(self, offset: int = 0) -> Token:
        at = self._at + offset
        return self._tokens[at] if 0 <= at < len(self._tokens) else NOTHING

    def _next(self) -> Token:
        token = self._peek()
        self._at += 1
        return token

    def _skip(self, words: Iterable[str]) -> None:
        while self._peek().word in words:
            self._at += 1

    def _name(self) -> str:
        """The name here, ``schema.table`` or ``table``; empty if there is none."""
        parts: list[str] = []
        while self._peek().is_name:
            parts.append(self._next().name)
            if self._peek().word != "." or not self._peek(1).is_name:
                break
            self._at += 1
        return ".".join(parts[-2:])

    def _skip_statement(self) -> None:
        """A statement of another kind; a block of statements runs some of them only, so nothing after it is known."""
        is_block = self._peek().word == "BEGIN" and self._peek(1).word == "NOT"
        while self._peek().word != ";" and self._at < len(self._tokens):
            self._at += 1
        self._at = len(self._tokens) if is_block else self._at + 1

    def _punctuation(self) -> None:
        level, word = self._level, self._peek(-1).word
        if word == "(":
            joins, level.expects = level.expects, False
            self._levels.append(_Level(reads=joins, in_from=joins, expects=joins))
        elif word == ")" and len(self._levels) > 1:
            self._levels.pop()
        elif word == ";":
            self._levels = [_Level()]
        elif word != ")":
            level.expects = level.in_from if word == "," else level.reads

    def _use(self, privilege: str, table: str) -> None:
        if table:
            self._found.tables.add((privilege, table))

    def _table(self, first: Token) -> None:
        """What follows FROM, JOIN, or a comma in such a list."""
        if first.word in _MODIFIERS:
            return
        self._level.expects = False
        if first.word == "ROWS" and self._peek().word == "FROM":
            self._at += 1
            return
        if not first.is_name:
            return
        self._at -= 1
        name = self._name()
        if self._peek().word == "(":
            self._found.functions.add(name)
            return
        self._use("SELECT", name)
        self._level.tables.append(name)
        self._alias(name)

    def _alias(self, table: str) -> None:
        self._skip(("AS",))
        if self._peek().is_name and self._peek().word not in _NO_ALIAS:
            self._aliases[self._next().name.lower()] = table.lower()

    def _called(self, token: Token) -> None:
        if self._peek(-2).word == "AS" or token.word in _NO_ALIAS | _VERBS | {"MATERIALIZED"}:
            return
        before, self._at = self._at, self._at - 1
        name = self._name()
        if self._peek().word == "(":
            self._found.functions.add(name)
        else:
            self._at = before

    def _with(self) -> None:
        """Note the names of common table expressions; their content is read as everything is."""
        before = self._at
        self._skip(("RECURSIVE",))
        while self._peek().is_name:
            name = self._next().name
            if self._peek().word == "(":
                self._close()
            if self._next().word != "AS":
                break
            self._skip(("NOT", "MATERIALIZED"))
            if self._peek().word != "(":
                break
            self._found.expressions.add(name)
            self._close()
            if self._next().word != ",":
                break
        self._at = before

    def _close(self) -> None:
        """Go behind the parenthesis that closes the one here."""
        depth = 0
        while self._at < len(self._tokens):
            depth += {"(": 1, ")": -1}.get(self._next().word, 0)
            if not depth:
                return

    def _from(self) -> None:
        if self._level.reads and self._peek(-2).word != "DISTINCT":
            self._level.in_from = self._level.expects = True

    def _using(self) -> None:
        if self._level.verb in ("DELETE", "MERGE") and self._peek().word != "(":
            self._level.in_from = self._level.expects = True

    def _where(self) -> None:
        if self._level.verb in ("UPDATE", "DELETE") and self._reads_column():
            self._use("SELECT", self._level.target)

    def _returning(self) -> None:
        if self._reads_column():
            self._use("SELECT", self._level.target)

    def _reads_column(self) -> bool:
        """Whether the clause here reads a column of the table that the statement changes.

        With further tables, an unqualified name may be a column of theirs. Subqueries are skipped.
        """
        before, depth = self._at, 0
        level = self._level
        others = level.verb != "INSERT" and any(table != level.target for table in level.tables)
        found = False
        while not found and self._at < len(self._tokens) and depth >= 0:
            word = self._peek().word
            if word == "(" and self._peek(1).word in _QUERIES:
                self._close()
                continue
            if depth == 0 and (word == ";" or word in _AFTER_FROM):
                break
            found = self._is_column(others)
            depth += {"(": 1, ")": -1}.get(word, 0)
            self._at += 1
        self._at = before
        return found

    def _is_column(self, others: bool) -> bool:
        """Whether the token here is a column of the table for certain, or its ``*``."""
        token, ahead = self._peek(), self._peek(-1).word
        if ahead == ".":
            of_target = self._peek(-2).name.lower() in self._names_of_target
            return of_target and self._peek(1).word not in ("(", ".") and (token.is_name or token.word == "*")
        if others or ahead not in _BEFORE_COLUMN:
            return False
        if token.word == "*":
            return ahead == "RETURNING"
        may_be_text = token.text.startswith('"')  # which engines read differently
        known = token.is_name and not may_be_text and token.word not in _CONSTANTS
        return known and self._peek(1).word in _AFTER_COLUMN

    @property
    def _names_of_target(self) -> set[str]:
        """The names of the changed table in its statement, in small letters."""
        target = self._level.target.lower()
        aliases = {alias for alias, table in self._aliases.items() if table == target}
        return aliases or {target.rpartition(".")[2]}

    def _for(self) -> None:
        self._skip(("NO", "KEY"))
        if self._peek().word in ("UPDATE", "SHARE") and self._peek(1).word != "OF" and len(self._level.tables) == 1:
            self._use(LOCK, self._level.tables[0])
        self._at += self._peek().word == "UPDATE"

    def _create(self) -> None:
        """Note which table is made."""
        while self._peek().is_name:
            if self._next().word == "TABLE":
                self._skip(("IF", "NOT", "EXISTS"))
                self._found.made.add(self._name())
                return

    def _verb(self) -> None:
        level, verb = self._level, self._peek(-1).word
        if verb == "SELECT":
            level.verb, level.reads = level.verb or verb, True
        elif not level.verb:
            level.verb = verb
            {
                "INSERT": self._insert,
                "REPLACE": self._insert,
                "UPDATE": self._update,
                "DELETE": self._delete,
                "MERGE": self._merge,
                "CALL": self._call,
                "TRUNCATE": self._truncate,
            }[verb]()
        elif self._peek(-2).word in ("THEN", "DO", "KEY") and level.verb in ("MERGE", "INSERT"):
            self._use(verb, level.target)

    def _insert(self) -> None:
        level = self._level
        if self._peek().word == "(":  # the function of this name
            return
        self._skip(_MODIFIERS)
        level.target = self._name()
        if self._peek().word == "AS":
            self._alias(level.target)
        self._use("INSERT", level.target)
        if level.verb == "REPLACE":
            self._use("DELETE", level.target)

    def _update(self) -> None:
        level = self._level
        self._skip(_MODIFIERS)
        level.reads, before = True, self._at
        name = self._name()
        self._alias(name)
        if self._peek().word == "SET":
            level.target = name
            self._use("UPDATE", name)
        else:  # of several tables: which of them are changed is not known
            self._at, level.in_from, level.expects = before, True, True

    def _delete(self) -> None:
        level = self._level
        self._skip(_MODIFIERS)
        level.reads = True
        if self._peek().word != "FROM":  # from several tables
            return
        self._at += 1
        self._skip(_MODIFIERS)
        name = self._name()
        self._alias(name)
        if self._peek().word not in (",", "."):
            level.target = name
            self._use("DELETE", name)

    def _merge(self) -> None:
        self._skip(_MODIFIERS)
        self._level.target = self._name()
        self._use("SELECT", self._level.target)
        self._level.reads = True
        self._alias(self._level.target)

    def _call(self) -> None:
        if name := self._name():
            self._found.routines.add(name)

    def _truncate(self) -> None:
        self._skip(_MODIFIERS)
        while name := self._name():
            self._use("TRUNCATE", name)
            if self._peek().word != ",":
                break
            self._at += 1
