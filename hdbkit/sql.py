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
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import MappingProxyType

from hdbkit.errors import ConfigErrors, InputError, Problem
from hdbkit.files import read_text
from hdbkit.lexer import STANDARD, Lexer, lexer_with
from hdbkit.paths import data_folder
from hdbkit.statement import COMMANDS_SUFFIX, Fragment, Statement

ANSI = "ansi"
"""The folder of the statements in standard SQL, for all SQL engines."""
SERVER_STATEMENTS = "server"
"""The folder of an engine's own statements, which every session has."""
_VARIANT = re.compile(r"--\s*variant:\s*(\S+)\s*")
_NAME = re.compile(r"^--\s*(name|commands|attempt):\s*(\S+)\s*$", re.MULTILINE)
_FRAGMENT = re.compile(r"^--\s*fragment:\s*([a-z_]+)(?:\(([a-z_, ]*)\))?\s*$", re.MULTILINE)
_DECLARED = re.compile(r"--\s*(parameters|returns|key|nodes):\s*(.*)")
_SCRIPTS = (".lua", COMMANDS_SUFFIX)
_FILES = (".sql", *_SCRIPTS)
_FRAGMENTS = "fragments.sql"
_LEXER = re.compile(r"^--\s*lexer:\s*(.*)$", re.MULTILINE)


_ADDED: list[Path] = []
"""The folders with folders of dialects that belong to engines of other packages."""


def add_schemas(folder: Path) -> None:
    """Add a folder with folders of dialects, as ``schemas`` of an engine in another package is one."""
    if folder not in _ADDED:
        _ADDED.append(folder)


def _all_schemas() -> list[Path]:
    return [data_folder("schemas"), *_ADDED]


def folder_of_dialect(dialect: str) -> Path:
    """The folder of a dialect, or of the one that it is a variant of; the first that there is."""
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
    return any(_variant(dialect) in variants(path) for path in _scripts(folder_of_dialect(dialect).rglob("*")))


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
        for path in _scripts(folder_of_dialect(dialect).joinpath(*folder.split(".")).glob("*")):
            own = parsed(path, _variant(dialect)).items()
            found.update({name: replace(one, dialect=dialect, lexer=read_by) for name, one in own})
    return found


@cache
def lexer_of(dialects: tuple[str, ...]) -> Lexer:
    """How an engine reads SQL; the last of ``dialects`` that states it takes precedence."""
    for dialect in reversed(dialects):
        path = folder_of_dialect(dialect) / _FRAGMENTS
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
        path = folder_of_dialect(dialect) / _FRAGMENTS
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
    roots = [folder_of_dialect(dialect) for dialect in dialects]
    return sorted(
        {".".join(path.parent.relative_to(root).parts) for root in roots for path in _scripts(root.glob("*/**/*"))}
    )


def listed_statements(
    dialects: tuple[str, ...], folder: str | None = None, name: str | None = None
) -> list[Statement]:
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
    rest = lexer_of((ANSI,)).code(before)
    if dialect != ANSI or rest.strip():  # else there is no need to read how all engines read it
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
