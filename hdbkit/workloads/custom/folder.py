"""Reads the folder of a user-defined workload, ``workload.yaml`` and ``*.sql``; reports all errors with line numbers.

SQL for all engines is in the folder itself; statements that differ for an engine are in a subfolder with the engine's
name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from hdbkit.config.files import Lines, read_yaml
from hdbkit.config.problems import did_you_mean, place, problems_of
from hdbkit.errors import ConfigErrors, InputError, Problem
from hdbkit.sql import Statement, parsed
from hdbkit.workloads.custom.definition import Definition

FILE = "workload.yaml"
ALL = "ansi"
"""The dialect of the statements for all engines."""
_PREFIXES = ("create_", "index_", "load_", "check_", "key_")
"""Statements that are not operations."""
_BUILT_IN = {"row"}

Texts = dict[str, dict[str, str]]


def read_folder(folder: Path) -> tuple[Definition, Texts]:
    """The definition, and the statements by dialect and name.

    Raises:
        InputError: there is no such folder, or a file of it cannot be read.
        ConfigErrors: with every error of its files.
    """
    if not folder.is_dir():
        raise InputError(f"folder {folder} does not exist; a workload is a folder with {FILE} and *.sql")
    content, lines = read_yaml(folder / FILE)
    if isinstance(content, dict):
        content = {"name": folder.resolve().name, **content}
    statements, problems = _statements(folder)
    definition: Definition | None = None
    try:
        definition = Definition.model_validate(content)
    except ValidationError as error:
        problems += [Problem(f"{FILE}: {m.where}", m.what, m.line) for m in problems_of(error, Definition, lines)]
    if isinstance(content, dict):
        problems += _unknown_names(content, lines, statements)
    if problems or definition is None:
        raise ConfigErrors(str(folder), sorted(problems, key=_by_file_and_line))
    return definition, {dialect: {one.name: one.body for one in of.values()} for dialect, of in statements.items()}


def _by_file_and_line(problem: Problem) -> tuple[bool, str, int]:
    file = problem.where.partition(":")[0]
    return file != FILE, file, problem.line or 0


def _statements(folder: Path) -> tuple[dict[str, dict[str, Statement]], list[Problem]]:
    """By dialect and name; a file that cannot be read is an error among the others."""
    found: dict[str, dict[str, Statement]] = {}
    problems = []
    for path in sorted([*folder.glob("*.sql"), *folder.glob("*/*.sql")]):
        dialect = ALL if path.parent == folder else path.parent.name
        try:
            read = parsed(path)
        except (InputError, UnicodeDecodeError, OSError) as error:
            problems.append(Problem(str(path.relative_to(folder)), str(error)))
            continue
        found.setdefault(dialect, {}).update(read)
    if not found:
        problems.append(Problem("*.sql", f"there is no file of SQL in {folder}"))
    return found, problems


def _unknown_names(
    content: Mapping[str, Any], lines: Lines, statements: Mapping[str, Mapping[str, Statement]]
) -> list[Problem]:
    """Names that are referenced and not defined."""
    known = {name: one for of in statements.values() for name, one in of.items()}
    variables, operations = _part(content, "variables"), _part(content, "operations")
    parameters = _part(content, "parameters")
    return [
        *_of_operations(operations, lines, known),
        *_of_statements(operations, statements, variables, parameters),
        *_of_tables(_part(content, "tables"), lines, known, variables),
        *_of_metric(_part(content, "metric"), lines, known, operations),
        *_of_details(content.get("details"), lines, variables),
    ]


def _part(content: Mapping[str, Any], name: str) -> dict[str, Any]:
    part = content.get(name)
    return part if isinstance(part, dict) else {}


def _listed(name: str, one: Any) -> list[str]:
    """The statements of an operation as written in the file."""
    given = one.get("statements") if isinstance(one, dict) else None
    return [str(word) for word in given] if isinstance(given, list) and given else [name]


def _of_operations(operations: Mapping[str, Any], lines: Lines, known: Mapping[str, Statement]) -> Iterator[Problem]:
    for name, one in operations.items():
        for statement in _listed(name, one):
            if statement not in known:
                at = ("operations", name, "statements") if statement != name else ("operations", name)
                what = f"there is no statement '{statement}' in the SQL files.{did_you_mean(statement, list(known))}"
                yield Problem(f"{FILE}: {place(at)}", what, lines.get(at, lines.get(("operations", name))))


def _of_statements(
    operations: Mapping[str, Any],
    statements: Mapping[str, Mapping[str, Statement]],
    variables: Mapping[str, Any],
    parameters: Mapping[str, Any],
) -> Iterator[Problem]:
    used = {statement for name, one in operations.items() for statement in _listed(name, one)}
    for of in statements.values():
        for name, one in of.items():
            where = f"{one.origin.name}: {name}"
            for value in one.parameters:
                if name in used and value not in variables:
                    yield Problem(
                        where, f":{value} is not a variable.{did_you_mean(value, list(variables))}", one.line
                    )
            for word in sorted(one.words - parameters.keys() - {"partitions", "number"}):
                yield Problem(
                    where, f"{{{word}}} is not a parameter.{did_you_mean(word, list(parameters))}", one.line
                )
            if name not in used and not name.startswith(_PREFIXES) and not name.startswith("count_"):
                begin = ", ".join(f"{prefix}..." for prefix in (*_PREFIXES, "count_"))
                yield Problem(where, f"no operation uses this statement (others begin with {begin})", one.line)


def _of_tables(
    tables: Mapping[str, Any], lines: Lines, known: Mapping[str, Statement], variables: Mapping[str, Any]
) -> Iterator[Problem]:
    for table, one in tables.items():
        at: tuple[str | int, ...] = ("tables", table)
        if f"create_{table}" not in known:
            yield Problem(f"{FILE}: {place(at)}", f"there is no statement 'create_{table}'", lines.get(at))
        columns = one.get("columns") if isinstance(one, dict) else None
        for column, value in columns.items() if isinstance(columns, dict) else ():
            if isinstance(value, str) and value not in variables and value not in _BUILT_IN:
                here = (*at, "columns", column)
                what = f"'{value}' is not a variable.{did_you_mean(value, [*variables, *_BUILT_IN])}"
                yield Problem(f"{FILE}: {place(here)}", what, lines.get(here))


def _of_metric(
    metric: Mapping[str, Any], lines: Lines, known: Mapping[str, Statement], operations: Mapping[str, Any]
) -> Iterator[Problem]:
    named = metric.get("operations")
    for name in named if isinstance(named, list) else ():
        if name not in operations:
            at = ("metric", "operations")
            what = f"there is no operation '{name}'.{did_you_mean(str(name), list(operations))}"
            yield Problem(f"{FILE}: {place(at)}", what, lines.get(at))
    counter = metric.get("counter")
    if counter is not None and counter not in known:
        at = ("metric", "counter")
        yield Problem(f"{FILE}: {place(at)}", f"there is no statement '{counter}' in the SQL files", lines.get(at))


def _of_details(details: Any, lines: Lines, variables: Mapping[str, Any]) -> Iterator[Problem]:
    for name in details if isinstance(details, list) else ():
        if name not in variables:
            what = f"'{name}' is not a variable.{did_you_mean(str(name), list(variables))}"
            yield Problem(f"{FILE}: details", what, lines.get(("details",)))
