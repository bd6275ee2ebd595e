"""Named statements: each dialect replaces statements of the dialects before it by name.

A dialect is a folder, such as ``postgresql``, or a variant within one, ``odbc/limit``: what follows a line
``-- variant: limit`` in a file of the folder ``odbc``, up to the next such line.

Files are SQL, or scripts (Lua) and commands of an engine without SQL. In a file, each statement follows a line
``-- name: create_accounts``; the comment lines after that are its description, and comment lines at its end belong to
the next statement. ``:word`` is a value (bound by the driver), ``{word}`` an identifier or integer (or a tuple of
these) inserted into the text. Both are read in code alone: in texts, quoted names and comments, as the engine's
:mod:`hdbkit.lexer` knows them, they are plain text, and so they are behind a backslash.

A script states its parameters, and the columns of its result, in lines of its description,
``-- parameters: account_id, amount`` and ``-- returns: balance(100), owner``; what is in parentheses says how the
engine stores a value. So does a call in SQL whose results are values that it sets. In a cluster,
``-- key: {$account_id}`` is the key on whose node it runs; ``-- nodes: sum`` says that it runs on each node and the
numbers are added (``rows``: all rows; ``common``: the rows that each node returns).

``{{limit(1)}}`` is a fragment: what engines write differently. It is defined in ``schemas/ansi/fragments.sql`` after
a line ``-- fragment: limit(rows)``, with ``{rows}`` for its argument, and again in the folder of a dialect that
differs.

A statement after ``-- commands: set_setting`` is a query that returns commands as text, for commands that take no
parameters. The session runs these commands; the caller uses it like any other statement.

A statement after ``-- attempt: call_order`` returns no row if its work was rolled back by design, which ``perform``
raises. An error instead would be written to the server's log with its statement.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from hdbkit.errors import ConfigErrors, InputError, Problem
from hdbkit.files import read_text
from hdbkit.lexer import STANDARD, Lexer, Name, lexer_with
from hdbkit.paths import data_folder

ANSI = "ansi"
"""The folder of the statements in standard SQL, for all SQL engines."""
SERVER_STATEMENTS = "server"
"""The folder of an engine's own statements, which every session has."""
_VARIANT = re.compile(r"--\s*variant:\s*(\S+)\s*")
_NAME = re.compile(r"^--\s*(name|commands|attempt):\s*(\S+)\s*$", re.MULTILINE)
_FRAGMENT = re.compile(r"^--\s*fragment:\s*([a-z_]+)(?:\(([a-z_, ]*)\))?\s*$", re.MULTILINE)
_USE = re.compile(r"\{\{\s*([a-z_]+)(?:\(([^{}]*(?:\{[a-z_]+\}[^{}]*)*)\))?\s*\}\}")
_ARGUMENT = re.compile(r"'(?:[^']|'')*'|[(),]|[^'(),]+")
_DECLARED = re.compile(r"--\s*(parameters|returns|key|nodes):\s*(.*)")
_COMMANDS = ".commands"
_SCRIPTS = (".lua", _COMMANDS)
_FILES = (".sql", *_SCRIPTS)
_FRAGMENTS = "fragments.sql"
_LEXER = re.compile(r"^--\s*lexer:\s*(.*)$", re.MULTILINE)
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
        return self.origin.suffix == _COMMANDS

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


_ADDED: list[Path] = []
"""The folders with folders of dialects that belong to engines of other packages."""


def add_schemas(folder: Path) -> None:
    """Add a folder with folders of dialects, as ``schemas`` of an engine in another package is one."""
    if folder not in _ADDED:
        _ADDED.append(folder)


def _all_schemas() -> list[Path]:
    return [data_folder("schemas"), *_ADDED]


def _folder_of(dialect: str) -> Path:
    """The folder of a dialect, or of which it is a variant; the first that there is."""
    name, _, _ = dialect.partition("/")
    found = [folder / name for folder in _all_schemas()]
    return next((folder for folder in found if folder.is_dir()), found[0])


def file_of(statement: Statement) -> str:
    """The file that a statement came from, within its folder of dialects."""
    found = (folder for folder in _all_schemas() if statement.origin.is_relative_to(folder))
    return str(statement.origin.relative_to(next(found)))


def variants(path: Path) -> set[str]:
    """The variants of which a file has statements or fragments; the empty name is what belongs to none."""
    return {"", *(found[1] for line in read_text(path).splitlines() if (found := _VARIANT.fullmatch(line)))}


def is_known(dialect: str) -> bool:
    """Whether there is something of a dialect."""
    return any(_variant(dialect) in variants(path) for path in _scripts(_folder_of(dialect).rglob("*")))


@cache
def statements(dialects: tuple[str, ...], folder: str) -> Mapping[str, Statement]:
    """All statements of a folder such as ``server``, by name; the last of ``dialects`` takes precedence.

    A nested folder (``shop.stall``) inherits the statements of its parent and replaces them by name.
    """
    known = fragments(dialects)
    return MappingProxyType({name: one.expanded(known) for name, one in _unexpanded(dialects, folder).items()})


def _unexpanded(dialects: tuple[str, ...], folder: str) -> dict[str, Statement]:
    outer, _, _ = folder.rpartition(".")
    read_by = lexer_of(dialects)
    found = _unexpanded(dialects, outer) if outer else {}
    for dialect in dialects:
        for path in _scripts(_folder_of(dialect).joinpath(*folder.split(".")).glob("*")):
            own = parsed(path, _variant(dialect)).items()
            found.update({name: replace(one, dialect=dialect, lexer=read_by) for name, one in own})
    return found


@cache
def lexer_of(dialects: tuple[str, ...]) -> Lexer:
    """How an engine reads SQL; the last of ``dialects`` that states it takes precedence."""
    for dialect in reversed(dialects):
        path = _folder_of(dialect) / _FRAGMENTS
        if path.is_file() and (stated := _LEXER.search(_of_variant(read_text(path), _variant(dialect)))):
            try:
                return lexer_with(stated[1])
            except ValueError as error:
                raise InputError(f"{path}: {error}") from None
    return STANDARD


@cache
def lexers_of(dialect: str) -> tuple[Lexer, ...]:
    """How the engines read SQL that execute statements of a dialect: of all, if it is standard SQL."""
    product = dialect.partition("_")[0]  # a product has a folder such as db2_derby
    chains = [(ANSI, product, dialect)] if dialect != ANSI else [(ANSI,), *_dialects()]
    return tuple(dict.fromkeys(map(lexer_of, chains)))


def words_for(statement: Statement, lexers: Iterable[Lexer]) -> frozenset[str]:
    """The ``{words}`` of a text that each of these lexers reads as such."""
    return frozenset.intersection(*(replace(statement, lexer=one).words for one in lexers))


def in_its_file(statement: Statement, what: str, dialects: tuple[str, ...]) -> Problem:
    """A problem with the place of the statement in the folder that defines it; without one if the folder has gone."""
    for folder in (*(statement.origin / one for one in reversed(dialects)), statement.origin):
        for path in sorted(folder.glob("*.sql")):
            if there := read_statements(path)[0].get(statement.name):
                return Problem(f"{path.relative_to(statement.origin)}: {statement.name}", what, there.line)
    return Problem(statement.name, what)


def _dialects() -> Iterator[tuple[str, ...]]:
    """The folders of dialects, and the variants that say how something is written."""
    for path in (folder for schemas in _all_schemas() for folder in sorted(schemas.glob("*"))):
        written = path / _FRAGMENTS
        for variant in sorted(variants(written)) if written.is_file() else ():
            yield (ANSI, f"{path.name}/{variant}" if variant else path.name)


def _variant(dialect: str) -> str:
    return dialect.partition("/")[2]


def _of_variant(text: str, variant: str) -> str:
    """The lines of a variant, or those of none; the others are blank, so that lines keep their numbers."""
    lines, current = [], ""
    for line in text.splitlines():
        head = _VARIANT.fullmatch(line)
        current = head[1] if head else current
        lines.append(line if current == variant and not head else "")
    return "\n".join(lines)


@cache
def fragments(dialects: tuple[str, ...]) -> Mapping[str, Fragment]:
    """The fragments of an engine by name; the last of ``dialects`` takes precedence."""
    found: dict[str, Fragment] = {}
    for dialect in dialects:
        path = _folder_of(dialect) / _FRAGMENTS
        if path.is_file():
            _, *pieces = _FRAGMENT.split(_of_variant(read_text(path), _variant(dialect)))
            for name, words, body in zip(pieces[::3], pieces[1::3], pieces[2::3], strict=True):
                parameters = tuple(word.strip() for word in (words or "").split(",") if word.strip())
                found[name] = Fragment(name, parameters, made(name, body, path).text)
    return MappingProxyType(found)


def _scripts(paths: Iterable[Path]) -> list[Path]:
    return sorted(path for path in paths if path.suffix in _FILES)


def folders(dialects: tuple[str, ...]) -> list[str]:
    """The folders with statements for these dialects, such as ``server`` and ``shop.stall``."""
    roots = [_folder_of(dialect) for dialect in dialects]
    return sorted(
        {".".join(path.parent.relative_to(root).parts) for root in roots for path in _scripts(root.glob("*/**/*"))}
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
    if isinstance(given, Name):
        return given.written(lexer)
    parts = [str(part) for part in (given if isinstance(given, tuple) else (given,))]
    for part in parts:
        if not IDENTIFIER.fullmatch(part):
            raise InputError(f"{name} must be an identifier or an integer, not {part!r}")
    return ", ".join(parts)


def parsed(path: Path, variant: str = "") -> dict[str, Statement]:
    """The statements of a variant in a file, by name. Raises ``InputError`` if it cannot be read or has errors."""
    found, problems = read_statements(path, variant)
    if problems:
        raise ConfigErrors(str(path), problems)
    return found


def read_statements(
    path: Path, variant: str | None = None, dialect: str = ANSI
) -> tuple[dict[str, Statement], list[Problem]]:
    """The statements of a file, or of a variant in it, and all errors. Raises ``InputError`` if it cannot be read."""
    try:
        whole = read_text(path) if variant is None else _of_variant(read_text(path), variant)
    except ValueError as error:
        raise InputError(str(error)) from None
    before, *pieces = _NAME.split(whole)
    starts = [whole.count("\n", 0, match.start()) + 1 for match in _NAME.finditer(whole)]
    found: dict[str, Statement] = {}
    problems = []
    rest = min((one.code(before) for one in lexers_of(dialect)), key=lambda code: len(code.strip()))
    if rest.strip():
        line = rest[: len(rest) - len(rest.lstrip())].count("\n") + 1
        problems.append(
            Problem("text without a name", "begin each statement with a line such as: -- name: read", line)
        )
    comment = ""
    for line, what, name, body in zip(starts, pieces[::3], pieces[1::3], pieces[2::3], strict=True):
        if name in found:
            first = found[name].line
            problems.append(Problem(name, f"two statements named '{name}'; the first is in line {first}", line))
            continue
        commands, attempt = what == "commands", what == "attempt"
        own, comment_of_next = _divided(body)
        statement = made(name, comment + own, path)
        comment = comment_of_next
        found[name] = replace(statement, makes_commands=commands, may_roll_back=attempt, line=line)
    return found, problems


def made(name: str, body: str, origin: Path, lexer: Lexer = STANDARD) -> Statement:
    """A statement from its text; leading comment lines are its description."""
    lines = body.strip().splitlines()
    leading = _leading_comment(lines)
    stated: dict[str, tuple[str, ...]] = {}
    for found in filter(None, map(_DECLARED.fullmatch, leading)):
        stated[found[1]] = (*stated.get(found[1], ()), *re.findall(r"[^,\s]+", found[2]))
    comment = [line.removeprefix("--").strip() for line in leading if not _DECLARED.fullmatch(line)]
    text = "\n".join(lines[len(leading) :]).strip().removesuffix(";")
    declared = stated.get("parameters", () if origin.suffix in _SCRIPTS else None)
    key, nodes = (" ".join(stated.get(word, ())) for word in ("key", "nodes"))
    returns = stated.get("returns", ())
    return Statement(
        name, text, origin, " ".join(comment), declared=declared, returns=returns, key=key, nodes=nodes, lexer=lexer
    )


def _divided(body: str) -> tuple[str, str]:
    """The lines of a statement, and the comment lines after it, which belong to the next."""
    lines = body.strip().splitlines()
    end = len(lines)
    while end > len(_leading_comment(lines)) and (not lines[end - 1].strip() or lines[end - 1].startswith("--")):
        end -= 1
    return "\n".join(lines[:end]), "".join(f"{line}\n" for line in lines[end:] if line.strip())


def _leading_comment(lines: list[str]) -> list[str]:
    end = next((i for i, line in enumerate(lines) if not line.startswith("--")), len(lines))
    return lines[:end]
