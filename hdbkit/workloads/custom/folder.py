"""Reads the folder of a user-defined workload, ``workload.yaml`` and ``*.sql``; reports all errors with line numbers.

SQL for all engines is in the folder itself; statements that differ for an engine are in a subfolder with the engine's
name.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from hdbkit.config.files import Lines, read_yaml
from hdbkit.config.problems import did_you_mean, problems_of
from hdbkit.config.specs.definition import FILE, Definition, name_of
from hdbkit.contracts import Capability
from hdbkit.databases import database, kinds
from hdbkit.errors import ConfigErrors, InputError, Problem
from hdbkit.sql import ANSI, Statement, read_statements
from hdbkit.workloads.custom.agreement import disagreements

Texts = dict[str, dict[str, str]]


def read_folder(folder: Path) -> tuple[Definition, Texts]:
    """The definition, and the statements by dialect and name.

    Raises:
        InputError: there is no such folder, or a file of it cannot be read.
        ConfigErrors: with every error of its files.
    """
    if not folder.is_dir():
        raise InputError(f"folder {folder} does not exist; a workload is a folder with {FILE} and *.sql")
    content, lines, problems = _content(folder / FILE)
    statements, of_files = _statements(folder)
    definition: Definition | None = None
    try:
        definition = None if problems else Definition.model_validate(content)
    except ValidationError as error:
        problems += [Problem(f"{FILE}: {m.where}", m.what, m.line) for m in problems_of(error, Definition, lines)]
    problems += of_files
    if isinstance(content, dict):
        problems += disagreements(content, lines, statements, folder)
    if problems or definition is None:
        raise ConfigErrors(str(folder), sorted(problems, key=_by_file_and_line))
    return definition, {dialect: {one.name: one.body for one in of.values()} for dialect, of in statements.items()}


def _by_file_and_line(problem: Problem) -> tuple[bool, str, int]:
    file = problem.where.partition(":")[0]
    return file != FILE, file, problem.line or 0


def _content(path: Path) -> tuple[Any, Lines, list[Problem]]:
    """The content of ``workload.yaml``; if it cannot be read, that is an error among the others."""
    try:
        content, lines = read_yaml(path)
    except ConfigErrors as errors:
        return None, {}, [Problem(f"{FILE}: {one.where}", one.what, one.line) for one in errors.problems]
    except InputError as error:
        what = str(error).removeprefix(f"{path} ")
        line = re.search(r"line (\d+): ", what)
        return None, {}, [Problem(FILE, what.replace(line[0], "") if line else what, int(line[1]) if line else None)]
    return (
        {"name": name_of(path.resolve().parent.name), **content} if isinstance(content, dict) else content,
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
            read, of_file = read_statements(path)
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
