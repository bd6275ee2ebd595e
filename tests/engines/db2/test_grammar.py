"""What Db2 has of its own is read by grammars: SQL by sqlfluff's, bodies of SQL PL by that of HPL/SQL (Apache Hive).

No server is needed. Both read the syntax alone: a wrong name or type passes. Statements that Db2 shares with other
engines are executed on Apache Derby (``tests/engines/db2/test_on_derby.py``). The jars come with ``make tools``.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from hdbkit.databases._base.dbapi_statements import compiled
from hdbkit.paths import cache_folder
from hdbkit.sql import ANSI, folders, statements
from tests.grammar.plsql import JVM

ROOT = Path(__file__).parents[3]
JARS = cache_folder() / "plsql"
DIALECTS = (ANSI, "db2", "db2_luw")
VARIANTS = ("db2/partitions", "db2/index_tablespace")
"""What replaces statements with schema options."""
WORDS = {
    **{"partitions": 8, "table": "stock", "degree": 4, "seconds": 3, "schema": "bench", "columns": ("a", "b")},
    **{"tablespace": "fast", "index_tablespace": "fast_ix"},
    **{f"{word}_{count}": count for word in ("scaled", "each") for count in (1, 6_000_000)},
}
ROUTINE = "create_routine_"
CHANGED = re.compile(r"FROM\s+(?:FINAL|OLD)\s+TABLE\s*\(")
VALUES = re.compile(r"\(VALUES [^()]*(?:\([^()]*\)[^()]*)*\) AS \w+ \(\w+\)")
CLAUSES = re.compile(
    r"EXPLAIN PLAN FOR (?=SELECT)| WITH RS USE AND KEEP UPDATE LOCKS|\b(?:MODIFIES|READS) SQL DATA\n"
    r"| IN \w+ INDEX IN \w+| PARTITION BY RANGE \(\w+\) \(.*\)(?=;)| GENERATED ALWAYS AS IDENTITY IMPLICITLY HIDDEN"
)
"""Clauses that no grammar reads; what is around them is read without them."""
MARK = re.compile(r"\?(?=([^']*'[^']*')*[^']*$)")
"""The place of a value, outside of quotes; sqlfluff reads none."""
LOOP = re.compile(r"FOR one AS\b(.*?)\bDO\b(.*?)END FOR;", re.DOTALL)
"""A loop over a query: HPL/SQL has the form of other databases."""
UNREAD = {
    *(f"server.set_isolation_{level}.0" for level in ("read_committed", "repeatable_read", "serializable")),
    *("server.set_lock_timeout.0",),  # special registers
    *("server.checkpoint.0", "server.claim_schema.0"),  # FLUSH BUFFERPOOLS, LOCK TABLE
    *(
        f"tproc_c.drop_routine_{name}.0"
        for name in ("new_order", "payment", "order_status", "delivery", "stock_level")
    ),
}
"""What no grammar reads whatever it says."""
GOOD = """CREATE OR REPLACE PROCEDURE p (IN low INTEGER)
LANGUAGE SQL
DYNAMIC RESULT SETS 1
BEGIN
    DECLARE found INTEGER DEFAULT 0;
    DECLARE answer CURSOR WITH RETURN TO CLIENT FOR SELECT found AS c_id FROM SYSIBM.SYSDUMMY1;
    WHILE found < low DO
        SET found = found + 1;
    END WHILE;
    IF found IS NULL THEN
        SIGNAL SQLSTATE '75002' SET MESSAGE_TEXT = 'none';
    END IF;
    SELECT c_id INTO found FROM customer WHERE c_id = low;
    OPEN answer;
END;
"""
SEEDED = [
    ("< low DO", "< low"),
    ("IS NULL THEN", "IS NULL"),
    ("WITH RETURN TO CLIENT FOR", "WITH RETURN TO CLIENT OF"),
    ("INTO found FROM", "INTO FROM"),
]
"""Errors in a body that the grammar must reject."""
UNENDED = [("END WHILE;", "END WHYLE;"), ("END IF;", ""), ("OPEN answer;\nEND;", "OPEN answer;")]
"""Errors that it does not reject: how a block ends."""
WORD = re.compile(
    r"'[^']*'|--[^\n]*|(?<![\w.])(BEGIN|CASE|END(?: (?:IF|WHILE|FOR)\b)?|(?<=\n)\s*(?:IF|WHILE|FOR))(?!\w)"
)
"""What begins and ends blocks; IF, WHILE and FOR do at the beginning of a line."""
WRONG = ("SELECT a FROM t WHERE", "UPDATE t SET a = WHERE b = 1", "CREATE TABLE t (a INTEGER", "DELETE t WHERE a")


def texts() -> dict[str, str]:
    """Each command of what only Db2 has, by folder, statement and place in it; with all schema options, too."""
    plain, every = texts_of(DIALECTS), texts_of((*DIALECTS, *VARIANTS))
    return plain | {f"options.{name}": text for name, text in every.items() if plain.get(name) != text}


def texts_of(dialects: tuple[str, ...]) -> dict[str, str]:
    found = {}
    for folder in folders(dialects):
        for name, statement in statements(dialects, folder).items():
            filled = statement.partly_filled(WORDS)
            whole = replace(filled, text=filled.text.replace("{statement}", "SELECT 1 FROM sysibm.sysdummy1"))
            if statement.dialect.startswith("db2"):
                for place, piece in enumerate(compiled(whole, "qmark").pieces):
                    text = MARK.sub("1", f"{piece.text} (1, 2)" if name == "insert_row" else piece.text)
                    found[f"{folder}.{name}.{place}"] = text.removesuffix(";") + ";\n"
    return found


def routines() -> dict[str, str]:
    return {name: text for name, text in texts_of(DIALECTS).items() if ROUTINE in name}


def changes_of(text: str) -> tuple[str, list[str]]:
    """A text with a table in the place of each data-change table, and the changes inside of these."""
    changes: list[str] = []
    while found := CHANGED.search(text):
        rest, depth, end = text[found.end() :], 1, -1
        while depth:
            end += 1
            depth += {"(": 1, ")": -1}.get(rest[end], 0)
        changes.append(rest[:end].strip() + ";\n")
        text = f"{text[: found.start()]}FROM changed{rest[end + 1 :]}"
    return text, changes


def is_ended(text: str) -> bool:
    """Whether each block has its end."""
    begun: list[str] = []
    for found in filter(None, (match[1] for match in WORD.finditer(text))):
        words = found.split()
        if words[0] != "END":
            begun.append(words[0])
        elif not begun or begun.pop() not in (words[1:] or ["BEGIN", "CASE"]):
            return False
    return not begun


def sqlfluff_unread(found: dict[str, str]) -> set[str]:
    """The texts that sqlfluff does not read."""
    core = pytest.importorskip("sqlfluff.core", reason="sqlfluff is not installed")
    linter = core.Linter(config=core.FluffConfig(overrides={"dialect": "db2"}))
    return {name for name, text in found.items() if linter.parse_string(text).violations}


def hplsql_unread(found: dict[str, str], folder: Path) -> set[str]:
    """The texts that HPL/SQL does not read."""
    if shutil.which("java") is None or not list(JARS.glob("hive-hplsql-*.jar")):
        pytest.skip(f"no Java, or no jar of HPL/SQL in {JARS}")
    files = {f"{number}.sql": name for number, name in enumerate(found)}
    for file, name in files.items():
        (folder / file).write_text(found[name], encoding="utf-8")
    command = [*JVM, "-cp", f"{JARS}/*", str(ROOT / "tests" / "grammar" / "ReadSqlpl.java"), *files]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True, timeout=300)
    return {files[line.partition(":")[0]] for line in done.stdout.splitlines()}


@pytest.mark.long
def test_sqlfluff_reads_what_db2_has_of_its_own() -> None:
    found = {}
    for name, text in texts().items():
        if ROUTINE not in name:
            whole, changes = changes_of(CLAUSES.sub("", text))
            found |= {name: whole, **{f"{name}.{place}": one for place, one in enumerate(changes)}}
    assert len(found) > 60
    assert sqlfluff_unread(found) == UNREAD


def test_bodies_of_routines_are_read(tmp_path: Path) -> None:
    """The body by HPL/SQL, the changes inside of its data-change tables by sqlfluff."""
    bodies, changes = {}, {}
    for name, text in routines().items():
        body, inner = changes_of(CLAUSES.sub("", text))
        bodies[name] = LOOP.sub(r"FOR one IN (\1) LOOP \2 END LOOP;", VALUES.sub("numbers", body))
        changes |= {f"{name}.{place}": one for place, one in enumerate(inner)}
    assert (len(bodies), len(changes)) == (5, 7)
    assert not hplsql_unread(bodies, tmp_path)
    assert all(map(is_ended, routines().values()))
    assert not sqlfluff_unread({name: text.replace("AS oldest", "") for name, text in changes.items()})


@pytest.mark.long
def test_seeded_errors_are_rejected(tmp_path: Path) -> None:
    broken = {good: GOOD.replace(good, bad, 1) for good, bad in SEEDED}
    assert GOOD not in broken.values()
    assert hplsql_unread({"good": GOOD, **broken}, tmp_path) == broken.keys()
    assert is_ended(GOOD)
    assert not any(is_ended(GOOD.replace(good, bad, 1)) for good, bad in UNENDED)
    assert sqlfluff_unread({one: f"{one};\n" for one in WRONG}) == {*WRONG}
