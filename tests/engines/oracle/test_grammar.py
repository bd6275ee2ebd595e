"""Every statement of Oracle Database is read by a grammar: by sqlfluff's, by PMD's of PL/SQL (Java), or by both.

No server is needed. Both read the syntax alone: a wrong name or type passes. PMD's jars come with ``make tools``.
"""

from __future__ import annotations

import re

import pytest

from hdbkit.sql import ANSI
from tests.grammar.plsql import READ_BY_PMD, Reads, own_of, pmd_reads, sqlfluff_reads, texts_of

DIALECTS = (ANSI, "plsql", "oracle")
VARIANTS = tuple(f"oracle/{name}" for name in ("partitions", "hash_clusters", "tablespace", "index_tablespace"))
"""What replaces statements with schema options."""
WORDS = {
    **{"partitions": 8, "table": "stock", "columns": ("a", "b"), "degree": 4, "column": "a", "cluster": "c"},
    **{"tablespace": "fast", "index_tablespace": "fast_ix"},
    **{f"scaled_{count}": count for count in (1, 10, 30_000, 100_000)},
}
UNREAD_BY_PMD = {
    "server.explain_json.1",  # JSON_OBJECT('id' VALUE id)
    "tproc_c.client_count_low_stock.0",  # BETWEEN two queries
    "tproc_h.q14.0",  # a number before an aggregate
}
CLAUSES = re.compile(
    r"EXPLAIN PLAN FOR (?=SELECT)|\s+PARTITION BY HASH \(\w+\) PARTITIONS \d+|(?<=\)) CLUSTER \w+ \([\w, ]+\)"
    r"|(?<=\w|\)) LOCAL\b"
)
"""Clauses that sqlfluff does not read. What is around them is read without them; no grammar reads those of DDL."""
UNREAD = {
    "server.flush_cache.0",  # ALTER SYSTEM
    "tproc_c.key_history.0",  # an identity column that is added
    *(f"options.tproc_c.create_{table}.0" for table in ("item", "warehouse", "district", "customer", "stock")),
}
"""What no grammar reads; the last are CREATE CLUSTER."""
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


def texts() -> dict[str, str]:
    """Each command that is sent, without schema options and, where they differ, with all of them."""
    plain = texts_of(DIALECTS, WORDS)
    with_options = texts_of((*DIALECTS, *VARIANTS), WORDS).items()
    return plain | {f"options.{name}": text for name, text in with_options if plain.get(name) != text}


def seeded() -> dict[str, str]:
    broken = {f"seeded.{good}": GOOD.replace(good, bad, 1) for good, bad in SEEDED}
    assert GOOD not in broken.values()
    return {"good": GOOD, **broken}


@pytest.fixture(scope="module")
def sqlfluff() -> Reads:
    return sqlfluff_reads()


@pytest.fixture(scope="module")
def pmd(tmp_path_factory: pytest.TempPathFactory) -> Reads:
    return pmd_reads(tmp_path_factory.mktemp("plsql"))


@pytest.mark.long
def test_sqlfluff_reads_what_oracle_has_of_its_own(sqlfluff: Reads) -> None:
    own = own_of((*DIALECTS, *VARIANTS), "oracle", "plsql")
    found = {name: CLAUSES.sub("", text) for name, text in texts().items() if name.split(".")[-2] in own}
    assert len(found) > 80
    assert sqlfluff(found) == UNREAD


def test_pmd_reads_every_query_change_and_routine(pmd: Reads) -> None:
    found = {name: text for name, text in texts().items() if READ_BY_PMD.match(text)}
    assert len(found) > 150
    assert pmd(found) == UNREAD_BY_PMD


def test_sqlfluff_reads_what_pmd_does_not(sqlfluff: Reads) -> None:
    assert not sqlfluff({name: text for name, text in texts().items() if name in UNREAD_BY_PMD})


@pytest.mark.parametrize("grammar", ["sqlfluff", "pmd"])
def test_a_grammar_rejects_seeded_errors(grammar: str, request: pytest.FixtureRequest) -> None:
    found = seeded()
    assert request.getfixturevalue(grammar)(found) == found.keys() - {"good"}
