"""Every statement of TimesTen that differs from Oracle Database's is read by a grammar of Oracle's SQL and PL/SQL.

No grammar of TimesTen is known. What no grammar of Oracle's reads is listed; around it the rest is read.
"""

from __future__ import annotations

import re

import pytest

from hdbkit.databases import database
from tests.grammar.plsql import READ_BY_PMD, Reads, own_of, pmd_reads, sqlfluff_reads, texts_of

DIALECTS = database("timesten").dialects
CACHED = (*DIALECTS, "timesten/cache", "timesten/cache_full", "timesten/awt")
WORDS = {
    **{"table": "stock", "columns": ("a", "b"), "role": "bench", "seconds": 1, "tenths": 5},
    **{"group": "item_cache", "sequence": "history_ids"},
}
FIRST = re.compile(r"(?<=SELECT) FIRST \d+")
"""The limit of a query, which no grammar of Oracle's reads; what is around it is read without it."""
GROUP = re.compile(r"CREATE (?:\w+ )+CACHE GROUP \w+ FROM\n")
"""The head of a cache group; each of its tables is read as CREATE TABLE."""
PARTED = re.compile(r"\n\),\n")
UNREAD_BY_PMD = {"server.list_indexes.0"}
"""A text behind a function in CASE; sqlfluff reads it."""
UNREAD = {"server.load_cache_group.0", "server.drop_cache_group.0"}
"""What no grammar reads."""
SEEDED = {
    "a word": ("FORALL i IN 1 .. d_ids.COUNT", "FORALL i 1 .. d_ids.COUNT"),
    "an end": ("END LOOP;", "END LOP;"),
    "a key": ("PRIMARY KEY (i_id)", "PRIMARY KEY i_id)"),
}


def own_texts() -> dict[str, str]:
    """Each command that TimesTen has of its own, or that its fragments make different from Oracle Database's."""
    plain, other = texts_of(DIALECTS, WORDS), texts_of(database("oracle").dialects, WORDS)
    both, own = texts_of(CACHED, WORDS) | plain, own_of(CACHED, "timesten")
    different = {name: text for name, text in both.items() if other.get(name) != text or name.split(".")[-2] in own}
    return {name: FIRST.sub("", text) for name, text in different.items() if "_partitioned" not in name}


def tables_of(texts: dict[str, str]) -> dict[str, str]:
    """Each table of each cache group as CREATE TABLE."""
    found = {}
    for name, text in texts.items():
        if GROUP.match(text):
            body = GROUP.sub("", text).rstrip().removesuffix(";").removesuffix("\n)")
            for place, table in enumerate(PARTED.split(body)):
                found[f"{name}.{place}"] = f"CREATE TABLE {table}\n);\n"
    return found


@pytest.fixture(scope="module")
def sqlfluff() -> Reads:
    return sqlfluff_reads()


@pytest.fixture(scope="module")
def pmd(tmp_path_factory: pytest.TempPathFactory) -> Reads:
    return pmd_reads(tmp_path_factory.mktemp("plsql"))


def test_pmd_reads_every_query_change_and_routine_and_rejects_errors(pmd: Reads) -> None:
    found = {name: text for name, text in own_texts().items() if READ_BY_PMD.match(text)}
    assert len(found) > 30
    good = found["tproc_c.create_routine_delivery.1"]
    broken = {f"seeded.{what}": good.replace(*pair, 1) for what, pair in SEEDED.items() if pair[0] in good}
    assert pmd(found | broken) == UNREAD_BY_PMD | broken.keys()


def test_sqlfluff_reads_the_other_statements_and_rejects_errors(sqlfluff: Reads) -> None:
    texts = own_texts()
    groups = tables_of(texts)
    assert len(groups) == 9 + 8
    others = {name for name, text in texts.items() if not READ_BY_PMD.match(text) and not GROUP.match(text)}
    found = {name: texts[name] for name in others | UNREAD_BY_PMD}
    good = groups["tproc_c.create_cache_group_item.0.0"]
    broken = {"seeded": good.replace(*SEEDED["a key"])}
    assert good not in broken.values()
    assert sqlfluff(found | groups | broken) == UNREAD | broken.keys()
