"""Whether a file may decide which commands are executed, and which server is given a password.

As with git's ``safe.directory`` and OpenSSH's ``StrictModes``: no other account owns the file or a folder on the way
to it, or may write them. Files of root, and of the account that installed hdbkit, are accepted.
"""

from __future__ import annotations

import grp
import os
import pwd
import shlex
import stat
import sys
from contextlib import suppress
from pathlib import Path

from hdbkit.errors import InputError

TRUST_VARIABLE = "HDBKIT_TRUSTED"
"""Folders, separated by colons, whose files are accepted whoever owns them."""
_PACKAGE = Path(__file__).resolve().parent


def trusted(path: Path) -> Path:
    """The file or folder without links on the way to it, for reading.

    Raises:
        InputError: another account owns it or may write it; what to do is in the text.
    """
    real = Path(os.path.realpath(path))
    if _is_exempt(real):
        return real
    for one in (real, *real.parents):
        try:
            found = one.lstat()
        except OSError:  # whoever reads the file reports it
            return real
        if problem := _problem(one, found):
            where = "" if one == real else f"{path} cannot be trusted: "
            raise InputError(
                f"{where}{one} {problem}, and what hdbkit reads there may execute commands as yours; check it, then "
                f"{_way_out(one, found)}, or name the folder in the environment variable {TRUST_VARIABLE}"
            )
    return real


def _is_exempt(real: Path) -> bool:
    """Whether it is installed as hdbkit itself is, or in a folder that the account has named."""
    named = [Path(os.path.realpath(one)) for one in os.environ.get(TRUST_VARIABLE, "").split(":") if one]
    return any(real.is_relative_to(one) for one in (_PACKAGE, _PACKAGE.parent / "schemas", Path(sys.prefix), *named))


def _problem(path: Path, found: os.stat_result) -> str:
    if found.st_uid not in _owners():
        return f"belongs to {_name(found.st_uid)}"
    mode = found.st_mode
    shared = stat.S_ISDIR(mode) and mode & stat.S_ISVTX  # nobody replaces the files of others there, as in /tmp
    by_group = mode & stat.S_IWGRP and not _is_private(path, found)
    if shared or not (mode & stat.S_IWOTH or by_group) or os.statvfs(path).f_flag & os.ST_RDONLY:
        return ""
    return f"may be written by other accounts (mode {stat.S_IMODE(mode):03o})"


def _way_out(path: Path, found: os.stat_result) -> str:
    if found.st_uid == os.geteuid():
        return f"run: chmod go-w {shlex.quote(str(path))}"
    return "use a copy in a folder of your own"


def _owners() -> set[int]:
    return {0, os.geteuid(), _PACKAGE.stat().st_uid}


def _is_private(path: Path, found: os.stat_result) -> bool:
    """Whether the group of a file has no account but its owner: each user may have a group of the same name."""
    with suppress(OSError):
        os.getxattr(path, "system.posix_acl_access")
        return False  # the mode of the group is then the mask of all entries
    gid = found.st_gid
    try:
        group = grp.getgrgid(gid)
    except KeyError:  # in a container: a group of its process alone
        return gid == os.getegid() or gid in os.getgroups()
    others = {*group.gr_mem, *(one.pw_name for one in pwd.getpwall() if one.pw_gid == gid)}
    own = {name for uid in _owners() if (name := _account(uid))}
    return others <= own and (gid == 0 or group.gr_name in own)


def _account(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return ""


def _name(uid: int) -> str:
    return f"the account {_account(uid) or uid}"
