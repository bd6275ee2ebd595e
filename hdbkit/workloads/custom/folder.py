"""Reads the folder of a user-defined workload, ``workload.yaml`` and ``*.sql``; reports all errors with line numbers.

SQL for all engines is in the folder itself; statements that differ for an engine are in a subfolder with the engine's
name. What the files must agree on (names of statements, variables, parameters and operations) is looked for in
``workload.yaml`` as it was read, so that these errors are reported together with those of its model.
"""

from __future__ import annotations

import re
import string
from collections.abc import Iterator, Mapping
from math import isfinite
from pathlib import Path
from typing import Any, Final

from pydantic import TypeAdapter, ValidationError

from hdbkit.config.files import Lines, read_yaml
from hdbkit.config.metric import Measure
from hdbkit.config.problems import did_you_mean, location, problems_of
from hdbkit.config.specs.definition import (
    DEFINITION_FILE,
    Definition,
    Key,
    Number,
    TableContent,
    Variable,
    workload_name,
)
from hdbkit.config.specs.definition_problems import OF_BUILD, value_problems, word_problems
from hdbkit.contracts import Capability
from hdbkit.databases import database, kinds
from hdbkit.errors import ConfigErrors, InputError, Problem
from hdbkit.results.columns import OPERATIONS, SECONDS
from hdbkit.sql import ANSI, lexers_of, read_statements, words_for
from hdbkit.statement import Statement
from hdbkit.workloads.custom.texts import OTHERS, Names, text_problems, unended

Texts = dict[str, dict[str, str]]


def read_folder(folder: Path) -> tuple[Definition, Texts]:
    """The definition, and the statements by dialect and name.

    Raises:
        InputError: there is no such folder, or a file of it cannot be read.
        ConfigErrors: with every error of its files.
    """
    if not folder.is_dir():
        raise InputError(f"folder {folder} does not exist; a workload is a folder with {DEFINITION_FILE} and *.sql")
    content, lines, problems = _content(folder / DEFINITION_FILE)
    statements, of_files = _statements(folder)
    definition: Definition | None = None
    try:
        definition = None if problems else Definition.model_validate(content)
    except ValidationError as error:
        problems += [
            Problem(f"{DEFINITION_FILE}: {m.where}", m.what, m.line) for m in problems_of(error, Definition, lines)
        ]
    problems += of_files
    if isinstance(content, dict):
        problems += disagreements(content, lines, statements, folder)
    else:
        every = [(one, lexers_of(dialect)) for dialect, of in statements.items() for one in of.values()]
        problems += [in_file(one, what, folder) for one, lexers in every for what in unended(one, lexers)]
    if problems or definition is None:
        raise ConfigErrors(str(folder), sorted(problems, key=_by_file_and_line))
    return definition, {dialect: {one.name: one.body for one in of.values()} for dialect, of in statements.items()}


def in_file(one: Statement, what: str, folder: Path) -> Problem:
    """A problem with the place of a statement in its folder."""
    return Problem(f"{one.origin.relative_to(folder)}: {one.name}", what, one.line)


def _by_file_and_line(problem: Problem) -> tuple[bool, str, int]:
    file = problem.where.partition(":")[0]
    return file != DEFINITION_FILE, file, problem.line or 0


def _content(path: Path) -> tuple[Any, Lines, list[Problem]]:
    """The content of ``workload.yaml``; if it cannot be read, that is an error among the others."""
    try:
        content, lines = read_yaml(path)
    except ConfigErrors as errors:
        return None, {}, [Problem(f"{DEFINITION_FILE}: {one.where}", one.what, one.line) for one in errors.problems]
    except InputError as error:
        what = str(error).removeprefix(f"{path} ")
        line = re.search(r"line (\d+): ", what)
        return (
            None,
            {},
            [Problem(DEFINITION_FILE, what.replace(line[0], "") if line else what, int(line[1]) if line else None)],
        )
    return (
        {"name": workload_name(path.resolve().parent.name), **content} if isinstance(content, dict) else content,
        lines,
        [],
    )


def _statements(folder: Path) -> tuple[dict[str, dict[str, Statement]], list[Problem]]:
    """By dialect and name; a file that cannot be read is an error among the others."""
    found: dict[str, dict[str, Statement]] = {}
    problems = []
    engines = _engine_folders()
    for path in sorted([*folder.glob("*.sql"), *folder.glob("*/*.sql")]):
        dialect, file = ANSI if path.parent == folder else path.parent.name, str(path.relative_to(folder))
        try:
            read, of_file = read_statements(path, dialect=dialect)
        except InputError as error:
            problems.append(Problem(file, str(error).removeprefix(f"{path} ")))
            continue
        problems += [Problem(f"{file}: {one.where}", one.what, one.line) for one in of_file]
        if dialect not in (ANSI, *engines):
            what = f"there is no engine '{dialect}' (known: {', '.join(engines)}).{did_you_mean(dialect, engines)}"
            problems.append(Problem(file, what))
        of = found.setdefault(dialect, {})
        for name in sorted(read.keys() & of.keys()):
            other = of[name].origin.relative_to(folder)
            problems.append(
                Problem(
                    f"{file}: {name}",
                    f"a statement of this name is in {other} too; remove one of them",
                    read[name].line,
                )
            )
        of.update(read)
    if not found:
        problems.append(Problem("*.sql", f"there is no file of SQL in {folder}"))
    return found, problems


def _engine_folders() -> list[str]:
    """The names of folders with statements of an engine."""
    engines = [database(kind) for kind in kinds()]
    return sorted({name for one in engines if Capability.SQL in one.capabilities for name in one.dialects} - {ANSI})


Statements = Mapping[str, Mapping[str, Statement]]
"""By dialect and name."""
_RUN_ANYWAY: Final = {"load_": "the build", "index_": "the build", "check_": "each check"}
"""Who runs every statement of such a name."""
_OWN: Final = ("key_range", "count_rows")
"""Statements of hdbkit itself."""
_BUILT_IN: Final = {"row"}
_NAME: Final = re.compile(r"[a-z_][a-z0-9_]*")
_WORD_NAME: Final = re.compile(r"[A-Za-z_]\w*")
_DERIVED: Final = {"scheduled_ns", "start_ns", "end_ns", "valid", "t_end_us", "transaction"}
"""Columns of records and of queries over the operations, beside those of the files."""
_UNITS: Final = {Measure.QUANTILE.value: "ms", Measure.GEOMETRIC_MEAN.value: "s"}


def disagreements(content: Mapping[str, Any], lines: Lines, statements: Statements, folder: Path) -> list[Problem]:
    """Every error between the files."""
    return [*_Files(content, lines, statements, folder).problems()]


class _Files:
    """The content of ``workload.yaml`` beside the statements of the folder."""

    def __init__(self, content: Mapping[str, Any], lines: Lines, statements: Statements, folder: Path) -> None:
        self._content, self._lines, self._statements, self._folder = content, lines, statements, folder
        self._known = [*dict.fromkeys(name for of in statements.values() for name in of)]
        self._parameters, self._variables = self._part("parameters"), self._part("variables")
        self._operations, self._tables = self._part("operations"), self._part("tables")
        self._metric = self._part("metric")
        self._kinds = _valid(self._variables, Variable)

    def _part(self, name: str) -> dict[str, Any]:
        part = self._content.get(name)
        return part if isinstance(part, dict) else {}

    def problems(self) -> Iterator[Problem]:
        yield from self._of_names()
        yield from self._of_operations()
        yield from self._of_statements()
        yield from self._of_tables()
        yield from self._of_metric()
        yield from self._of_details()
        yield from self._of_values()

    def _problem(self, what: str, *at: str) -> Problem:
        line = next((self._lines[at[:size]] for size in range(len(at), 0, -1) if at[:size] in self._lines), None)
        return Problem(f"{DEFINITION_FILE}: {location(at)}", what, line)

    def _of_names(self) -> Iterator[Problem]:
        for part, names in (("parameters", self._parameters), ("variables", self._variables)):
            for name in names:
                if not _NAME.fullmatch(name):
                    yield self._problem(
                        "must have only lower-case letters, digits and _, and begin with no digit", part, name
                    )
        for name in sorted(self._parameters.keys() & OF_BUILD):
            yield self._problem(f"{{{name}}} is filled in by the build; choose another name", "parameters", name)

    def _listed(self, name: str) -> list[str]:
        """The statements of an operation as written in the file."""
        one = self._operations[name]
        given = one.get("statements") if isinstance(one, dict) else None
        return [str(word) for word in given] if isinstance(given, list) and given else [name]

    def _of_operations(self) -> Iterator[Problem]:
        for name in self._operations:
            for statement in self._listed(name):
                at = ("operations", name, "statements") if statement != name else ("operations", name)
                if statement not in self._known:
                    similar = did_you_mean(statement, self._known)
                    yield self._problem(f"there is no statement '{statement}' in the SQL files.{similar}", *at)
                for prefix, runs in _RUN_ANYWAY.items():
                    if statement.startswith(prefix):
                        what = f"{runs} runs every statement whose name begins with {prefix}; rename '{statement}'"
                        yield self._problem(what, *at)

    def _of_statements(self) -> Iterator[Problem]:
        listed = {statement for name in self._operations for statement in self._listed(name)}
        names = Names(self._variables, self._parameters, listed, self._metric.get("counter"))
        for dialect, of in self._statements.items():
            lexers = lexers_of(dialect)
            for name, one in of.items():
                whole = word_problems(words_for(one, lexers), self._parameters)
                yield from (in_file(one, what, self._folder) for what in (*text_problems(one, names, lexers), *whole))
                if name in _OWN:
                    yield in_file(one, "hdbkit has a statement of this name; rename it", self._folder)
                if not names.is_used(name):
                    begin = ", ".join(f"{prefix}..." for prefix in OTHERS)
                    yield in_file(one, f"no operation uses this statement (others begin with {begin})", self._folder)

    def _of_tables(self) -> Iterator[Problem]:
        if self._tables and not self._content.get("schema_name"):
            yield self._problem("need schema_name, the schema that a build creates", "tables")
        for table, one in self._tables.items():
            if f"create_{table}" not in self._known:
                yield self._problem(f"there is no statement 'create_{table}'", "tables", table)
            columns = one.get("columns") if isinstance(one, dict) else None
            for column, value in columns.items() if isinstance(columns, dict) else ():
                if isinstance(value, str) and value not in self._variables and value not in _BUILT_IN:
                    similar = did_you_mean(value.lower(), [*self._variables, *_BUILT_IN])
                    yield self._problem(f"'{value}' is not a variable.{similar}", "tables", table, "columns", column)
                elif isinstance(value, str) and value in self._kinds and isinstance(self._kinds[value].kind, Key):
                    what = f"'{value}' is a key, which is read from a table in a run; use a variable of another kind"
                    yield self._problem(what, "tables", table, "columns", column)

    def _of_metric(self) -> Iterator[Problem]:
        metric = self._metric
        named, counter, measure = metric.get("operations"), metric.get("counter"), metric.get("measure", "rate")
        for name in named if isinstance(named, list) else ():
            if name not in self._operations:
                similar = did_you_mean(str(name), list(self._operations))
                yield self._problem(f"there is no operation '{name}'.{similar}", "metric", "operations")
        if counter is not None and counter not in self._known:
            yield self._problem(f"there is no statement '{counter}' in the SQL files", "metric", "counter")
        if counter is not None and measure != Measure.RATE:
            yield self._problem(f"belongs to a rate; a {measure} is measured by the clients", "metric", "counter")
        unit = _UNITS.get(str(measure))
        if unit and "unit" in metric and metric["unit"] != unit:
            yield self._problem(f"a {measure} is in {unit}, not {metric['unit']}", "metric", "unit")

    def _of_details(self) -> Iterator[Problem]:
        details = self._content.get("details")
        for name in map(str, details if isinstance(details, list) else ()):
            if name not in self._variables:
                similar = did_you_mean(name, list(self._variables))
                yield self._problem(f"'{name}' is not a variable.{similar}", "details")
            elif name in self._kinds and not self._kinds[name].is_whole:
                yield self._problem(f"'{name}' is not a whole number, and only these are kept", "details")
            if name in {*OPERATIONS, *SECONDS, *_DERIVED}:
                what = f"'{name}' is a column of every result; choose another name for the variable"
                yield self._problem(what, "details")

    def _of_values(self) -> Iterator[Problem]:
        """Errors that show with the values of the parameters."""
        try:
            values = TypeAdapter(dict[str, Number]).validate_python(self._parameters)
        except ValidationError:
            return  # reported by the model
        if any(isinstance(value, float) and not isfinite(value) for value in values.values()):
            return  # reported by the model
        for at, what in value_problems(self._kinds, _valid(self._tables, TableContent), values):
            yield self._problem(what, *at)
        scale = self._content.get("scale")
        if isinstance(scale, str) and (what := _scale_problem(scale, list(values))):
            yield self._problem(what, "scale")


def _scale_problem(scale: str, parameters: list[str]) -> str:
    try:
        fields = [field for field in string.Formatter().parse(scale) if field[1] is not None]
    except ValueError:
        fields = [("", "", "", "")]
    names = [name or "" for _, name, _, _ in fields]
    if not all(map(_WORD_NAME.fullmatch, names)) or any(form or conversion for _, _, form, conversion in fields):
        return f"'{scale}' must be a text with parameters in braces, such as {{rows}} rows"
    unknown = next((name for name in names if name not in parameters), None)
    return "" if unknown is None else f"{{{unknown}}} is not a parameter.{did_you_mean(unknown, parameters)}"


def _valid(part: Mapping[str, Any], model: Any) -> dict[str, Any]:
    """The entries of a part that are valid by themselves; the model reports the others."""
    found = {}
    for name, one in part.items():
        try:
            found[name] = model.model_validate(one)
        except (ValidationError, ConfigErrors):
            continue
    return found
