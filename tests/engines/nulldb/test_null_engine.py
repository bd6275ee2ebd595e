"""The null engine: its texts describe the workloads, and it keeps a schema without SQL."""

from __future__ import annotations

import os
import shutil
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from hdbkit.config import Target, TprocCSpec
from hdbkit.contracts import Capability, Scope, SqlSession, Table, TableLoad
from hdbkit.databases import database, kinds, schema_option_models, sql_session
from hdbkit.databases.nulldb.state import State, by_design, count_of, is_count
from hdbkit.errors import InputError, RolledBackByDesign, TransactionError
from hdbkit.statement import Statement
from hdbkit.workloads import workload

NULL = database("nulldb")
TEXTS = {
    "buy": "(:who, :things) ROLLBACK IF :things > 9",
    "bought": "3 * scale + 2 * 5 + commits(buy)",
    "look": "SELECT count(*) FROM things",
}
SHOP = Scope("shop", {name: Statement(name, text, Path("shop.sql"), "") for name, text in TEXTS.items()})


@pytest.fixture
def target() -> Iterator[Target]:
    one = Target(kind="nulldb", database=f"u{uuid.uuid4().hex[:12]}")
    yield one
    shutil.rmtree(State(one).folder, ignore_errors=True)


def test_a_folder_that_another_account_may_have_made_is_not_used(
    target: Target, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    folder, elsewhere = tmp_path / f"hdbkit-nulldb-{os.geteuid()}", tmp_path / "elsewhere"
    elsewhere.mkdir(mode=0o700)
    folder.symlink_to(elsewhere)
    with pytest.raises(InputError, match="is not a folder that this account alone can write"):
        State(target)
    folder.unlink()
    State(target).write_record("shop", {"finished": True})
    assert folder.stat().st_mode & 0o777 == 0o700
    folder.chmod(0o777)
    with pytest.raises(InputError, match="is not a folder that this account alone can write"):
        State(target)
    folder.chmod(0o700)


def test_a_count_adds_products_of_numbers_fields_and_commits() -> None:
    assert count_of(TEXTS["bought"], {"scale": 4}, {"buy": 7, "other": 100}) == 3 * 4 + 2 * 5 + 7
    assert [is_count(SHOP.statements[name]) for name in TEXTS] == [False, True, False]


def test_a_call_is_rolled_back_by_design_as_its_text_says() -> None:
    rolls_back = by_design(SHOP.statements["buy"])
    assert [rolls_back(("x", 9)), rolls_back(("x", 10)), rolls_back(("x", (1, 10)))] == [False, True, True]
    assert not by_design(None)(("x", 10))


def test_commits_of_every_session_are_counted_and_rollbacks_are_not(target: Target) -> None:
    State(target).write_record("shop", {"spec": '{"scale": 4}', "finished": True})
    with closing(NULL.connect(target, SHOP)) as watcher:
        for _ in range(2):
            with closing(NULL.connect(target, SHOP)) as session:
                session.prepare(["buy"])
                session.prepare(["buy", "look"])
                assert session.rows(session.perform(session.bind("buy", ("x", 1)))) == [(1,)]
                session.perform(session.bind("look", ()))
                with pytest.raises(RolledBackByDesign):
                    session.perform(session.bind("buy", ("x", 10)))
        assert watcher.ask("bought") == [(22 + 2,)]
        assert NULL.counters(watcher) == {"commits": 4, "rollbacks": 2}
        assert watcher.ask("look") == []


def test_a_count_needs_the_schema(target: Target) -> None:
    with closing(NULL.connect(target, SHOP)) as session, pytest.raises(TransactionError, match="shop is not built"):
        session.ask("bought")


def test_a_schema_needs_no_sql(target: Target) -> None:
    """Its record can be begun, continued, finished and removed."""
    sent: list[tuple[int, int]] = []
    with closing(NULL.schema(target, workload(TprocCSpec()))) as schema:
        assert not schema.log().exists
        schema.create("a specification")
        load = TableLoad(Table("item", ("i_id",)), iter([b"1\n2\n", b"3\n"]))
        schema.load("a/part", [load], lambda rows, size_bytes: sent.append((rows, size_bytes)))
        assert sent == [(2, 4), (1, 2)]
        log = schema.log()
        assert (log.exists, log.spec, log.finished, log.parts) == (True, "a specification", False, {"a/part": 3})
        schema.create("a specification")
        schema.finish()
        assert schema.log().finished
        assert schema.log().parts == {"a/part": 3}
        assert schema.drop()
        assert not schema.log().exists


def test_only_an_engine_that_speaks_sql_gives_a_session_that_does(target: Target) -> None:
    assert Capability.SQL not in NULL.capabilities
    with pytest.raises(InputError, match="null engine does not support SQL"):
        sql_session(target)
    with closing(NULL.connect(target)) as session:
        assert not any(hasattr(session, name) for name in set(vars(SqlSession)) - set(dir(object)) if name[0] != "_")


@pytest.mark.parametrize("kind", kinds())
def test_a_schema_option_of_another_engine_is_refused_with_those_that_there_are(kind: str) -> None:
    """Before anything is connected to."""
    models = schema_option_models()
    own = models[kind].model_fields
    values = {
        "partitions": 2,
        "history_key": True,
        "tablespace": "fast",
        "unlogged": True,
        "index_tablespace": "fast",
        "hash_clusters": True,
        "checkpoint": True,
        "storage_engine": "InnoDB",
        "table_tablespaces": "stock=fast",
        "columnstore": True,
        "memory_optimized": "SCHEMA_ONLY",
        "bucket_factor": 2,
        "cache_groups": "awt",
        "cached_tables": "partial",
        "dynamic_cache": True,
        "cache_refresh_s": 5,
    }
    foreign = {name for model in models.values() for name in model.model_fields} - set(own)
    assert foreign
    for name in foreign:
        spec = TprocCSpec(storage={name: values[name]})
        with pytest.raises(InputError, match=rf"no schema option '{name}' \(it has: {', '.join(own) or 'none'}\)"):
            database(kind).schema(Target(kind=kind, database="x", host=None), workload(spec))
