"""Every statement of Oracle Database is read by a grammar: by sqlfluff's, by PMD's of PL/SQL (Java), or by both.

No server is needed. Both read the syntax alone: a wrong name or type passes. PMD's jars come with ``make tools``.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from hdbkit.databases._dbapi_statements import compiled
from hdbkit.sql import ANSI, folders, statements

ROOT = Path(__file__).parents[2]
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
PMD = CACHE / "hdbkit" / "plsql"
DIALECTS = (ANSI, "oracle")
WORDS = {"partitions": 8, "table": "stock", "columns": ("a", "b"), "degree": 4, "column": "a"}
BLOCK = re.compile(r"(DECLARE|BEGIN|CREATE OR REPLACE PACKAGE)\b")
UNREAD_BY_SQLFLUFF = {
    *("server.checkpoint.0", "server.switch_log.0"),  # ALTER SYSTEM
    *("server.explain_text.0", "server.explain_json.0"),  # EXPLAIN PLAN
    *("tproc_c.create_history_partitioned.0", "tproc_c.create_order_line_partitioned.0"),  # PARTITION BY HASH
    *("tproc_h.create_orders_partitioned.0", "tproc_h.create_lineitem_partitioned.0"),
    "tproc_c.key_history.0",  # GENERATED ALWAYS AS IDENTITY in ALTER TABLE
    "tproc_c.client_update_payer.0",  # CAST(... AS VARCHAR2(100 CHAR))
}
UNREAD_BY_PMD = {
    *("server.explain_text.0", "server.explain_json.0"),  # EXPLAIN PLAN
    "server.explain_json.1",  # JSON_OBJECT('id' VALUE id)
    "tproc_h.q14.0",  # a number before an aggregate
}
UNREAD = UNREAD_BY_SQLFLUFF & UNREAD_BY_PMD
"""What no grammar reads: EXPLAIN PLAN FOR before a query, which is read without it."""
GOOD = """CREATE OR REPLACE PACKAGE BODY p AS
    PROCEDURE q(low IN NUMBER, ids OUT numbers) IS
        CURSOR waiting IS SELECT c_id FROM customer;
    BEGIN
        OPEN waiting;
        FETCH waiting BULK COLLECT INTO ids;
        CLOSE waiting;
        FORALL i IN 1 .. ids.COUNT
            UPDATE customer SET c_balance = 0 WHERE c_id = ids(i) RETURNING c_id BULK COLLECT INTO ids;
        IF low > 0 THEN
            NULL;
        ELSIF low < 0 THEN
            RETURN;
        END IF;
    EXCEPTION
        WHEN NO_DATA_FOUND THEN
            RAISE_APPLICATION_ERROR(-20002, 'x');
    END q;
END p;
/
"""
SEEDED = [
    ("BULK COLLECT INTO ids;", "BULK COLECT INTO ids;"),
    ("END IF;", "END FI;"),
    ("ELSIF", "ELSEIF"),
    ("FORALL i IN 1 .. ids.COUNT", "FORALL i 1 .. ids.COUNT"),
    ("WHEN NO_DATA_FOUND THEN", "WHEN NO_DATA_FOUND DO"),
    ("END q;", ""),
]
"""Errors that both grammars must reject."""
Reads = Callable[[dict[str, str]], set[str]]


def texts() -> dict[str, str]:
    """Each command that is sent, by folder, statement and place in it, as a file for SQL*Plus has it."""
    found = {}
    for folder in folders(DIALECTS):
        for name, statement in statements(DIALECTS, folder).items():
            filled = statement.partly_filled(WORDS)
            whole = replace(filled, text=filled.text.replace("{statement}", "SELECT 1 FROM dual"))
            for place, piece in enumerate(compiled(whole, "named").pieces):
                text = f"{piece.text} (:a_, :b_)" if name.startswith("insert_row") else piece.text
                found[f"{folder}.{name}.{place}"] = text + ("\n/\n" if BLOCK.match(text) else ";\n")
    return found


def seeded() -> dict[str, str]:
    broken = {f"seeded.{good}": GOOD.replace(good, bad, 1) for good, bad in SEEDED}
    assert GOOD not in broken.values()
    return {"good": GOOD, **broken}


@pytest.fixture(scope="module")
def sqlfluff() -> Reads:
    """The texts that sqlfluff does not read."""
    core = pytest.importorskip("sqlfluff.core", reason="sqlfluff is not installed")
    linter = core.Linter(config=core.FluffConfig(overrides={"dialect": "oracle"}))
    return lambda found: {name for name, text in found.items() if linter.parse_string(text).violations}


@pytest.fixture(scope="module")
def pmd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reads]:
    """The texts that PMD does not read."""
    if shutil.which("java") is None or not list(PMD.glob("pmd-plsql-*.jar")):
        pytest.skip(f"no Java, or no jars of PMD in {PMD}")
    folder = tmp_path_factory.mktemp("plsql")

    def unread(found: dict[str, str]) -> set[str]:
        files = {f"{number}.sql": name for number, name in enumerate(found)}
        for file, name in files.items():
            (folder / file).write_text(found[name], encoding="utf-8")
        program = ROOT / "tests" / "grammar" / "ReadPlsql.java"
        command = ["java", "-cp", f"{PMD}/*", str(program), *files]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True, timeout=300)
        return {files[line.partition(":")[0]] for line in done.stdout.splitlines()}

    yield unread


def test_sqlfluff_reads_what_oracle_has_of_its_own(sqlfluff: Reads) -> None:
    own = {
        one.name
        for folder in folders(DIALECTS)
        for one in statements(DIALECTS, folder).values()
        if is_own(one.origin)
    }
    found = {name: text for name, text in texts().items() if name.split(".")[-2] in own}
    assert len(found) > 60
    assert sqlfluff(found) == UNREAD_BY_SQLFLUFF & found.keys()


def is_own(origin: Path) -> bool:
    return origin.relative_to(ROOT / "schemas").parts[0] == "oracle"


def test_pmd_reads_every_statement(pmd: Reads) -> None:
    assert pmd(texts()) == UNREAD_BY_PMD


def test_sqlfluff_reads_the_statements_that_pmd_does_not(sqlfluff: Reads) -> None:
    assert sqlfluff({name: text for name, text in texts().items() if name in UNREAD_BY_PMD}) == UNREAD


@pytest.mark.parametrize("grammar", ["sqlfluff", "pmd"])
def test_a_grammar_rejects_seeded_errors(grammar: str, request: pytest.FixtureRequest) -> None:
    found = seeded()
    assert request.getfixturevalue(grammar)(found) == found.keys() - {"good"}
