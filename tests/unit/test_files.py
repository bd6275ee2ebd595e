"""Files that are replaced atomically."""

from __future__ import annotations

import os
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from hdbkit.files import draft_of, replace_file


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
