"""The options of a session reach the engine."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from hdbkit.config import Target
from hdbkit.contracts import Scope, SessionOptions
from hdbkit.databases import database
from hdbkit.databases.postgresql.connect import session_settings
from hdbkit.errors import ErrorClass, TransactionError
from hdbkit.statement import Statement


def test_only_options_that_are_given_are_settings_of_a_session() -> None:
    assert session_settings("", SessionOptions(is_own=False)) == {}
    given = SessionOptions(is_own=False, statement_timeout_ms=5, parallel_workers=0)
    assert session_settings("own", given) == {
        "search_path": "own",
        "statement_timeout": 5,
        "max_parallel_workers_per_gather": 0,
    }


def test_parallel_workers_are_threads_beside_the_first_one_of_an_embedded_engine(tmp_path: Path) -> None:
    engine, target = database("duckdb"), Target(kind="duckdb", database=str(tmp_path / "file"))
    with closing(engine.connect(target, options=SessionOptions(parallel_workers=2))) as session:
        assert engine.settings_of(session)["threads"]["value"] == "3"


def test_a_query_beyond_its_timeout_ends_and_the_session_stays(tmp_path: Path) -> None:
    engine, target = database("duckdb"), Target(kind="duckdb", database=str(tmp_path / "file"))
    statements = {
        name: Statement(name, text, tmp_path, "")
        for name, text in (
            ("slow", "SELECT count(*) FROM range(1000000) a, range(1000000) b WHERE a.range + b.range < 0"),
            ("quick", "SELECT 1"),
        )
    }
    with closing(engine.connect(target, Scope("", statements), SessionOptions(statement_timeout_ms=1000))) as session:
        session.prepare(statements)
        with pytest.raises(TransactionError) as raised:
            session.perform(session.bind("slow", ()))
        assert raised.value.error_class is ErrorClass.STATEMENT_TIMEOUT
        assert session.rows(session.perform(session.bind("quick", ()))) == [(1,)]
