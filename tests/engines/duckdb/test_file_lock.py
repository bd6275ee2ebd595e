"""The lock of a process on a file, and that sessions of DuckDB hold it as long as they have the file open."""

from __future__ import annotations

import errno
import fcntl
import os
from pathlib import Path
from typing import Any

import pytest

from hdbkit.config import Target, TprocHSpec
from hdbkit.contracts import SessionOptions
from hdbkit.databases._base.file_lock import FileClaim, ProcessLock, locked
from hdbkit.databases.duckdb import DATABASE, DuckdbSession
from hdbkit.errors import ErrorClass, InputError, TransactionError
from hdbkit.sql import ANSI
from hdbkit.workloads import workload


def taken(path: Path, writes: bool) -> ProcessLock:
    found = ProcessLock.take(path, writes)
    assert found is not None
    return found


def free(path: Path, exclusive: bool) -> bool:
    """Whether another process would get the lock."""
    descriptor = locked(path, exclusive)
    if descriptor is not None:
        os.close(descriptor)
    return descriptor is not None


def open_files() -> list[Path]:
    """The files that this process has open, more than once if so."""
    return sorted(one.resolve() for one in Path("/proc/self/fd").iterdir())


def test_readers_share_it_with_other_processes_and_the_last_removes_the_file(tmp_path: Path) -> None:
    path = tmp_path / "x-lock"
    first, second = taken(path, writes=False), taken(path, writes=False)
    first.end()
    assert free(path, exclusive=False)
    assert not free(path, exclusive=True)
    assert ProcessLock.take(path, writes=True) is None
    second.end()
    assert not path.exists()


def test_a_writer_shares_it_within_its_process_only(tmp_path: Path) -> None:
    path = tmp_path / "x-lock"
    locks = taken(path, writes=True), taken(path, writes=False), taken(path, writes=True)
    for lock in locks:
        assert not free(path, exclusive=False)
        lock.end()
    assert not path.exists()


def test_one_that_another_process_has_is_not_taken(tmp_path: Path) -> None:
    path = tmp_path / "x-lock"
    other = locked(path, exclusive=False)
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


def test_the_file_of_another_user_is_locked_without_permission_to_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, opens = tmp_path / "x-lock", os.open
    path.touch()

    def as_another_user(file: Path, flags: int, mode: int = 0o777) -> int:
        if flags & os.O_CREAT:
            raise PermissionError(errno.EACCES, "Permission denied")
        return opens(file, flags, mode)

    with monkeypatch.context() as patched:
        patched.setattr(os, "open", as_another_user)
        lock = taken(path, writes=True)
    assert not free(path, exclusive=False)
    lock.end()


def test_an_error_leaves_no_descriptor_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_locks(*_: Any) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    before = open_files()
    with monkeypatch.context() as patched:
        patched.setattr(fcntl, "flock", no_locks)
        with pytest.raises(OSError, match="No locks available"):
            ProcessLock.take(tmp_path / "x-lock", writes=False)
    assert open_files() == before


def test_a_forked_process_has_none_of_the_locks(tmp_path: Path) -> None:
    path = tmp_path / "x-lock"
    lock = taken(path, writes=True)
    pid = os.fork()
    if not pid:
        os._exit(ProcessLock.take(path, writes=True) is not None)
    assert os.waitpid(pid, 0)[1] == 0
    assert not free(path, exclusive=False)
    lock.end()


def test_one_is_ended_once_and_removes_no_file_of_another(tmp_path: Path) -> None:
    path = tmp_path / "x-lock"
    first, second = taken(path, writes=False), taken(path, writes=False)
    first.end()
    first.end()
    assert not free(path, exclusive=True)
    path.unlink()
    other = locked(path)
    assert other is not None
    second.end()
    assert path.exists()
    os.close(other)


@pytest.fixture
def duckdb() -> Any:
    return pytest.importorskip("duckdb")


def session_of(path: Path) -> DuckdbSession:
    target = Target(kind="duckdb", database=str(path))
    scope = workload(TprocHSpec()).scope((ANSI, "duckdb"))
    return DATABASE.connect(target, scope, SessionOptions(lock_timeout_ms=100))


def test_a_session_of_duckdb_holds_it_while_the_file_is_open(
    duckdb: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, lock = tmp_path / "data", tmp_path / "data-lock"
    (tmp_path / "link").symlink_to(path)
    session, open_at_end = session_of(tmp_path / "link"), []
    end = ProcessLock.end

    def noted(ended: ProcessLock) -> None:
        open_at_end.extend(one for one in open_files() if one == path)
        end(ended)

    monkeypatch.setattr(ProcessLock, "end", noted)
    session.begin()
    session.execute("CREATE TABLE build_part (part VARCHAR, rows BIGINT)")
    assert not free(lock, exclusive=False)
    session.commit()
    assert not lock.exists()
    session.prepare(["select_build_parts"])
    assert free(lock, exclusive=False)
    assert not free(lock, exclusive=True)
    session.close()
    assert not lock.exists()
    assert open_at_end == []


def test_duckdb_does_not_open_a_file_that_another_process_has_open(
    duckdb: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session, opened = session_of(tmp_path / "data"), []
    other = locked(tmp_path / "data-lock")
    assert other is not None
    with monkeypatch.context() as patched:
        patched.setattr(duckdb, "connect", lambda *given, **_: opened.append(given))
        with pytest.raises(TransactionError, match=r"another session has the file open, .*data-lock") as failed:
            session.begin()
    assert (failed.value.error_class, opened) == (ErrorClass.LOCK_TIMEOUT, [])
    os.close(other)


def test_a_wrong_option_of_a_file_that_does_not_exist_is_a_sentence(duckdb: Any, tmp_path: Path) -> None:
    target = Target(kind="duckdb", database=str(tmp_path / "none"), options={"memory_limit": "nonsense"})
    with pytest.raises(InputError, match="cannot be opened: Parser Error"):
        DATABASE.connect(target).query("list_tables")


def test_one_has_the_claim_until_it_ends_and_no_file_remains(tmp_path: Path) -> None:
    path = tmp_path / "x-build"
    first, second = FileClaim(path), FileClaim(path)
    assert first.take()
    assert first.take()
    assert not second.take()
    first.end()
    assert second.take()
    second.end()
    assert not path.exists()


def test_a_claim_on_a_file_of_somebody_else_keeps_its_content(tmp_path: Path) -> None:
    path = tmp_path / "x-build"
    path.write_text("precious")
    claim = FileClaim(path)
    assert claim.take()
    claim.end()
    assert path.read_text() == "precious"


def test_a_claim_follows_no_link(tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("precious")
    (tmp_path / "x-build").symlink_to(tmp_path / "precious")
    with pytest.raises(OSError, match="x-build"):
        FileClaim(tmp_path / "x-build").take()
    assert (tmp_path / "precious").read_text() == "precious"
