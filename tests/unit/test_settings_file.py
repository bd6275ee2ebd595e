"""The settings file of a server as an ordinary account replaces it: whose it is stays, or it is refused."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from hdbkit.errors import ServerFailed
from hdbkit.servers.settings_file import SettingsFile

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root acts as other accounts")
USER, GROUP, ANOTHER = 54_321, 54_322, 54_323
"""An account with a group that is not its own main one, and the id of a stranger's."""


@contextmanager
def as_user() -> Iterator[None]:
    groups = os.getgroups()
    os.setgroups([GROUP])
    os.setegid(USER)
    os.seteuid(USER)
    try:
        yield
    finally:
        os.seteuid(0)
        os.setegid(0)
        os.setgroups(groups)


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that every account may write to; those of pytest are root's alone."""
    made = Path(tempfile.mkdtemp(prefix="hdbkit-settings-"))
    made.chmod(0o777)
    yield made
    shutil.rmtree(made)


def file_of(folder: Path, uid: int, gid: int) -> SettingsFile:
    path = folder / "my.cnf"
    path.write_bytes(b"old")
    path.chmod(0o664)
    os.chown(path, uid, gid)
    return SettingsFile(path)


@pytest.mark.parametrize("uid", [0, USER])
def test_the_group_of_a_file_stays(folder: Path, uid: int) -> None:
    file = file_of(folder, uid, GROUP)
    with as_user():
        assert file.problem() is None
        file.write(b"new")
    found = file.path.stat()
    assert (file.read(), found.st_gid, found.st_mode & 0o777) == (b"new", GROUP, 0o664)


@pytest.mark.parametrize(("uid", "gid"), [(ANOTHER, GROUP), (USER, ANOTHER), (0, 0)])
def test_a_file_whose_owner_or_group_would_change_is_refused(folder: Path, uid: int, gid: int) -> None:
    file = file_of(folder, uid, gid)
    with as_user():
        assert f"without changing its owner and group (uid {uid}, gid {gid})" in str(file.problem())
        with pytest.raises(ServerFailed, match="without changing its owner and group"):
            file.write(b"new")
        file.write(b"old")  # it has this content
    assert file.problem() is None, "root keeps both"
    found = file.path.stat()
    assert (file.read(), found.st_uid, found.st_gid) == (b"old", uid, gid)


def test_a_folder_without_permission_is_named(folder: Path) -> None:
    folder.chmod(0o755)
    with as_user():
        assert str(SettingsFile(folder / "zz.cnf").problem()).endswith(f"may not create files in {folder}")


def test_a_new_file_is_readable_by_all(folder: Path) -> None:
    file = SettingsFile(folder / "zz.cnf")
    with as_user():
        file.write(b"new")
    assert file.path.stat().st_mode & 0o777 == 0o644
