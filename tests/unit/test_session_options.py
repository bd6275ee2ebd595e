"""The options of a session reach the engine."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from hdbkit.config import Target
from hdbkit.contracts import SessionOptions
from hdbkit.databases import database
from hdbkit.databases._psycopg_connect import session_settings


def test_only_options_that_are_given_are_settings_of_a_session() -> None:
    assert session_settings("", SessionOptions()) == {}
    given = SessionOptions(statement_timeout_ms=5, parallel_workers=0)
    assert session_settings("own", given) == {
        "search_path": "own",
        "statement_timeout": 5,
        "max_parallel_workers_per_gather": 0,
    }


def test_parallel_workers_are_threads_beside_the_first_one_of_an_embedded_engine(tmp_path: Path) -> None:
    engine, target = database("duckdb"), Target(kind="duckdb", database=str(tmp_path / "file"))
    with closing(engine.connect(target, options=SessionOptions(parallel_workers=2))) as session:
        assert engine.settings_of(session)["threads"]["value"] == "3"
