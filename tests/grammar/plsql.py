"""What reads PL/SQL and the SQL around it, for tests: sqlfluff's grammar of Oracle, and PMD's of PL/SQL (Java).

No server is needed. Both read the syntax alone: a wrong name or type passes. PMD's jars come with ``make tools``.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from hdbkit.databases._base.dbapi_statements import compiled
from hdbkit.sql import folders, statements

ROOT = Path(__file__).parents[2]
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
JVM = ("java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
"""A JVM of some seconds."""
PMD = CACHE / "hdbkit" / "plsql"
BLOCK = re.compile(r"(DECLARE|BEGIN|CREATE OR REPLACE PACKAGE)\b")
READ_BY_PMD = re.compile(r"(WITH|SELECT|INSERT|UPDATE|DELETE|DECLARE|BEGIN|CREATE OR REPLACE PACKAGE)\b")
"""Other statements PMD skips whatever they say, such as ALTER and most of CREATE."""
Reads = Callable[[dict[str, str]], set[str]]


def texts_of(dialects: tuple[str, ...], words: Mapping[str, object]) -> dict[str, str]:
    """Each command that is sent, by folder, statement and place in it, as a file for SQL*Plus has it."""
    found = {}
    for folder in folders(dialects):
        for name, statement in statements(dialects, folder).items():
            filled = statement.partly_filled(words)
            whole = replace(filled, text=filled.text.replace("{statement}", "SELECT 1 FROM dual"))
            for place, piece in enumerate(compiled(whole, "named").pieces):
                text = f"{piece.text} (:a_, :b_)" if name.startswith("insert_row") else piece.text
                found[f"{folder}.{name}.{place}"] = text + ("\n/\n" if BLOCK.match(text) else ";\n")
    return found


def own_of(dialects: tuple[str, ...], *engines: str) -> set[str]:
    """The names of statements that come from the folders of these engines."""
    known = (one for folder in folders(dialects) for one in statements(dialects, folder).values())
    own = tuple(engines)
    return {one.name for one in known if one.dialect.startswith(own)}


def sqlfluff_reads() -> Reads:
    """The texts that sqlfluff does not read."""
    core = pytest.importorskip("sqlfluff.core", reason="sqlfluff is not installed")
    linter = core.Linter(config=core.FluffConfig(overrides={"dialect": "oracle"}))
    return lambda found: {name for name, text in found.items() if linter.parse_string(text).violations}


def pmd_reads(folder: Path) -> Reads:
    """The texts that PMD does not read; ``folder`` is for its files."""
    if shutil.which("java") is None or not list(PMD.glob("pmd-plsql-*.jar")):
        pytest.skip(f"no Java, or no jars of PMD in {PMD}")

    def unread(found: dict[str, str]) -> set[str]:
        files = {f"{number}.sql": name for number, name in enumerate(found)}
        for file, name in files.items():
            (folder / file).write_text(found[name], encoding="utf-8")
        program = ROOT / "tests" / "grammar" / "ReadPlsql.java"
        command = [*JVM, "-cp", f"{PMD}/*", str(program), *files]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True, timeout=300)
        return {files[line.partition(":")[0]] for line in done.stdout.splitlines()}

    return unread
