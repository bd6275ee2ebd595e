"""The lock of a process on a file, and that sessions of DuckDB hold it as long as they have the file open."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from hdbkit.config import Target, WorkloadSpec
from hdbkit.contracts import SessionOptions
from hdbkit.databases import database
from hdbkit.databases._file_lock import ProcessLock, locked
from hdbkit.errors import ErrorClass, TransactionError
from hdbkit.sql import ANSI
from hdbkit.workloads import workload


def taken(path: Path, writes: bool) -> ProcessLock:
    found = ProcessLock.take(path, writes)
    assert found is not None
    return found


def free(path: Path, alone: bool) -> bool:
    """Whether another process would get the lock."""
    descriptor = locked(path, alone)
    if descriptor is not None:
        os.close(descriptor)
    return descriptor is not None


def test_readers_share_it_with_other_processes_and_the_last_removes_the_file(tmp_path: Path) -> None:
    path = tmp_path / "x-lock"
    first, second = taken(path, writes=False), taken(path, writes=False)
    first.end()
    assert free(path, alone=False)
    assert not free(path, alone=True)
    assert ProcessLock.take(path, writes=True) is None
    second.end()
    assert not path.exists()


def test_a_writer_shares_it_within_its_process_only(tmp_path: Path) -> None:
    path = tmp_path / "x-lock"
    locks = taken(path, writes=True), taken(path, writes=False), taken(path, writes=True)
    for lock in locks:
        assert not free(path, alone=False)
        lock.end()
    assert not path.exists()


def test_one_that_another_process_has_is_not_taken(tmp_path: Path) -> None:
    path = tmp_path / "x-lock"
    other = locked(path, alone=False)
    assert other is not None
    assert ProcessLock.take(path, writes=True) is None
    taken(path, writes=False).end()
    assert path.exists()
    os.close(other)


def test_a_reader_needs_no_file_where_none_can_be_created(tmp_path: Path) -> None:
    path = tmp_path / "none" / "x-lock"
    taken(path, writes=False).end()
    with pytest.raises(FileNotFoundError):
        ProcessLock.take(path, writes=True)
    path.parent.mkdir()
    taken(path, writes=True).end()


def test_duckdb_opens_no_file_that_another_process_has_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    duckdb = pytest.importorskip("duckdb")
    target = Target(kind="duckdb", database=str(tmp_path / "data"))
    engine = database(target)
    scope = workload(WorkloadSpec()).scope((ANSI, "duckdb"))
    session = engine.connect(target, scope, SessionOptions(lock_timeout_ms=100))
    path = tmp_path / "data-lock"
    session.begin()
    assert not free(path, alone=False)
    session.commit()
    assert not path.exists()
    other, opened = locked(path), []

    def noted(*given: Any, **_: Any) -> None:
        opened.append(given)

    with monkeypatch.context() as patched:
        patched.setattr(duckdb, "connect", noted)
        with pytest.raises(TransactionError, match="another session has the file open") as failed:
            session.begin()
    assert (failed.value.error_class, opened) == (ErrorClass.LOCK_TIMEOUT, [])
    assert other is not None
    os.close(other)
    session.close()
