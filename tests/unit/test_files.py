"""Files that are replaced atomically."""

from __future__ import annotations

import os
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from hdbkit.files import draft_of, is_regular, private, read_bytes, remove_file, replace_file


def names(folder: Path) -> list[str]:
    return [one.name for one in folder.iterdir()]


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_file_is_replaced_whole_and_leaves_no_draft(tmp_path: Path) -> None:
    path = tmp_path / "manifest.json"
    path.write_bytes(b"old")
    replace_file(path, b"new")
    assert path.read_bytes() == b"new"
    assert names(tmp_path) == ["manifest.json"]


def test_a_draft_that_fails_leaves_the_old_file_alone(tmp_path: Path) -> None:
    path = tmp_path / "table"
    path.write_bytes(b"old")
    with pytest.raises(KeyboardInterrupt), draft_of(path) as draft:
        draft.write_bytes(b"ha")
        raise KeyboardInterrupt
    assert path.read_bytes() == b"old"
    assert names(tmp_path) == ["table"]


def test_a_mode_is_less_the_umask_unless_an_owner_is_given(tmp_path: Path) -> None:
    path, before = tmp_path / "settings.conf", os.umask(0o077)
    try:
        replace_file(path, b"", 0o644)
        assert mode_of(path) == 0o600
        replace_file(path, b"", 0o644, owner=tmp_path.stat())
        assert mode_of(path) == 0o644
    finally:
        os.umask(before)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_a_file_of_another_account_stays_its_own(tmp_path: Path) -> None:
    path = tmp_path / "settings.conf"
    path.touch()
    os.chown(path, 65534, 65534)
    replace_file(path, b"new", 0o640, owner=path.stat())
    found = path.stat()
    assert (found.st_uid, found.st_gid, mode_of(path)) == (65534, 65534, 0o640)


def test_threads_that_replace_a_file_at_once_do_not_disturb_each_other(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    contents = [bytes([65 + one]) * 10_000 for one in range(8)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda content: [replace_file(path, content) for _ in range(5)], contents))
    assert path.read_bytes() in contents
    assert names(tmp_path) == ["state.json"]


AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root may read and write for others")


@AS_ROOT
def test_root_reads_and_writes_through_no_link_of_another_account(tmp_path: Path) -> None:
    secret, theirs = tmp_path / "secret", tmp_path / "theirs"
    secret.mkdir()
    (secret / "a.conf").write_text("secret")
    theirs.mkdir()
    for name, target in (("a.conf", secret / "a.conf"), ("folder", secret), ("new.conf", secret / "new.conf")):
        (theirs / name).symlink_to(target)
        os.lchown(theirs / name, 65534, 65534)
    for path in (theirs / "a.conf", theirs / "folder" / "a.conf"):
        with pytest.raises(OSError, match="link of another account"):
            read_bytes(path)
        assert not is_regular(path)
    with pytest.raises(OSError, match="link of another account"):
        replace_file(theirs / "folder" / "a.conf", b"changed")
    with pytest.raises(OSError, match="link of another account"):
        remove_file(theirs / "folder" / "a.conf")
    with pytest.raises(OSError, match="link of another account"):
        open(theirs / "new.conf", "ab", opener=private).close()
    replace_file(theirs / "a.conf", b"own")  # which replaces the link
    assert (secret / "a.conf").read_text() == "secret"
    assert not (secret / "new.conf").exists()
    assert (theirs / "a.conf").read_text() == "own"


@AS_ROOT
def test_a_link_that_root_made_leads_where_it_says(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "a").write_text("a")
    (tmp_path / "short").symlink_to("data/../data")
    (tmp_path / "whole").symlink_to(tmp_path / "short")
    (tmp_path / "data" / "b").symlink_to("a")
    assert read_bytes(tmp_path / "whole" / "b") == b"a"
    replace_file(tmp_path / "whole" / "c", b"c")
    assert (tmp_path / "data" / "c").read_bytes() == b"c"
    (tmp_path / "round").symlink_to("round")
    with pytest.raises(OSError, match="symbolic links"):
        read_bytes(tmp_path / "round")


def test_what_is_no_regular_file_is_an_error_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path("/dev/zero"), tmp_path):
        with pytest.raises(OSError):
            read_bytes(path)
        assert not is_regular(path)
    with pytest.raises(OSError, match=r"not a regular file|No such device"):
        open(tmp_path / "pipe", "ab", opener=private).close()


def test_a_new_file_has_no_more_permissions_than_its_folder(tmp_path: Path) -> None:
    tmp_path.chmod(0o750)
    replace_file(tmp_path / "a", b"a")
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o640
    replace_file(tmp_path / "b", b"b", mode=0o600)
    assert (tmp_path / "b").stat().st_mode & 0o777 == 0o600
    assert sorted(one.name for one in tmp_path.iterdir()) == ["a", "b"]
