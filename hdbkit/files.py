"""Text files of users, lines of JSON, and atomic replacement: a reader sees a file or a line whole or not at all."""

from __future__ import annotations

import codecs
import errno
import fcntl
import json
import os
import re
import stat
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from hdbkit.errors import InputError
from hdbkit.trust import trusted

_MAX_TEXT = 1 << 20
UMASK = "HDBKIT_UMASK"
"""The variable with the permissions that results do not have."""


@contextmanager
def draft_of(path: Path) -> Iterator[Path]:
    """A temporary file next to ``path`` that replaces it when the block ends, and is removed if the block fails.

    Removing it matters on a full disk, where a partial file would take the last space. Each thread has its own draft.
    Those who may not read the folder may not read the file either, wherever it is copied or moved.
    """
    draft = path.with_name(f".{path.name}.{threading.get_native_id()}")
    try:
        draft.unlink(missing_ok=True)
        yield draft
        if draft.is_file():
            descriptor = opened_file(draft)
            try:
                os.fchmod(descriptor, draft.stat().st_mode & (path.parent.stat().st_mode | 0o700) & 0o777)
            finally:
                os.close(descriptor)
        draft.replace(path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def replace_file(path: Path, content: bytes, mode: int = 0o666, owner: os.stat_result | None = None) -> None:
    """Replace a file atomically; after a crash it has the old or the new content.

    Args:
        path: the file; its folder must exist.
        content: the new content.
        mode: permissions of the file, reduced by the umask, set before content is written.
        owner: owner and group of the file, as far as this account may set them (as root both, else one of its own
            groups); ``mode`` is then set exactly. All before content is written.
    """
    with _folder_of(path) as folder:
        draft = f".{path.name}.{threading.get_native_id()}"
        with suppress(FileNotFoundError):
            os.unlink(draft, dir_fd=folder)
        created = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
        try:
            with os.fdopen(os.open(draft, created, mode if owner is None else 0o600, dir_fd=folder), "wb") as file:
                _own(file.fileno(), folder, mode, owner)
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            os.replace(draft, path.name, src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:
            with suppress(OSError):
                os.unlink(draft, dir_fd=folder)
            raise


def _own(descriptor: int, folder: int, mode: int, owner: os.stat_result | None) -> None:
    """Give a new file its permissions, which are not more than those of its folder, or its owner, group and mode."""
    if owner is None:
        os.fchmod(descriptor, os.fstat(descriptor).st_mode & (os.fstat(folder).st_mode | 0o700) & 0o777)
        return
    if os.geteuid() == 0:
        os.fchown(descriptor, owner.st_uid, owner.st_gid)
    elif owner.st_gid in own_groups():
        os.fchown(descriptor, -1, owner.st_gid)
    os.fchmod(descriptor, mode)


@contextmanager
def _folder_of(path: Path) -> Iterator[int]:
    """The folder of a file, which cannot be replaced by a link meanwhile."""
    descriptor = _descriptor(path.parent, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def remove_file(path: Path) -> None:
    """Remove a file, in the folder that is there now. Raises ``OSError``."""
    with _folder_of(path) as folder:
        os.unlink(path.name, dir_fd=folder)


def opened_file(path: Path | str, flags: int = os.O_RDONLY, mode: int = 0o666) -> int:
    """A descriptor of a regular file. Whoever wrote the folder cannot have the reader wait, or read elsewhere.

    A pipe, a device or a socket is an error, and root follows no link that another account made.

    Raises:
        OSError: there is no such file, or it is not a regular one.
    """
    descriptor = _descriptor(Path(path), flags | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC, mode)
    found = os.fstat(descriptor).st_mode
    if stat.S_ISREG(found):
        return descriptor
    os.close(descriptor)
    if stat.S_ISDIR(found):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    raise OSError(errno.EINVAL, "it is not a regular file", str(path))


def read_bytes(path: Path | str) -> bytes:
    """The content of a regular file; see :func:`opened`. Raises ``OSError``."""
    with os.fdopen(opened_file(path), "rb") as file:
        return file.read()


def append(path: Path, text: str) -> None:
    """Append text to a regular file that is there; see :func:`opened`. Raises ``OSError``."""
    with os.fdopen(opened_file(path, os.O_WRONLY | os.O_APPEND), "a", encoding="utf-8") as file:
        file.write(text)


def opened_folder(path: Path) -> int:
    """A descriptor of a folder; root follows no link that another account made. Raises ``OSError``."""
    return _descriptor(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)


def is_regular(path: Path | str) -> bool:
    """Whether a file can be read by :func:`opened`, for a library that opens files by their names."""
    try:
        os.close(opened_file(path))
    except OSError:
        return False
    return True


_MAX_LINKS = 40


def _descriptor(path: Path, flags: int, mode: int = 0o666) -> int:
    """A descriptor of a file or folder; root goes to it through no link of another account, whoever changes it.

    What root may read and write, others may not: their links would have it do so for them.
    """
    if os.geteuid() != 0:
        return os.open(path, flags, mode)
    *parts, last = Path(os.path.abspath(path)).parts  # noqa: PTH100  without following links
    folder, left, links = os.open("/", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC), [*parts, last][1:], 0
    try:
        while left:
            name = left.pop(0)
            target = _trusted_link(name, folder)
            if target is None:
                inner = flags if not left else os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC
                found = os.open(name, inner | os.O_NOFOLLOW, mode, dir_fd=folder)
                if not left:
                    return found
                os.close(folder)
                folder = found
                continue
            links += 1
            if links > _MAX_LINKS:
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))
            if target.startswith("/"):
                os.close(folder)
                folder = os.open("/", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
            left[:0] = [one for one in target.split("/") if one not in ("", ".")]
        return os.open(".", flags, dir_fd=folder)
    finally:
        os.close(folder)


def _trusted_link(name: str, folder: int) -> str | None:
    """Where a link leads that root made; None if it is no link, or missing. Raises ``OSError`` for another's link."""
    try:
        found = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None
    if not stat.S_ISLNK(found.st_mode):
        return None
    if found.st_uid != 0:
        raise OSError(errno.ELOOP, "it is a link of another account, which root does not follow", name)
    return os.readlink(name, dir_fd=folder)


def results_umask() -> int:
    """The permissions that results do not have: ``HDBKIT_UMASK``, else those of all other accounts.

    Raises:
        InputError: the variable is no mask.
    """
    given = os.environ.get(UMASK, "077")
    if not re.fullmatch("0?[0-7]{1,3}", given) or int(given, 8) & 0o700:
        raise InputError(f"{UMASK} must be a mask such as 077, 027 or 022, not '{given}'")
    return int(given, 8)


def private(path: str, flags: int) -> int:
    """An opener for ``open`` whose new files have the permissions of results; see :func:`opened`."""
    return opened_file(path, flags, 0o666 & ~results_umask())


def own_groups() -> set[int]:
    """The ids of the groups of this process."""
    return {os.getegid(), *os.getgroups()}


def is_utf8(text: str) -> bool:
    """Whether UTF-8 can encode a text; it cannot encode half of a surrogate pair."""
    return not any("\ud800" <= one <= "\udfff" for one in text)


def irregular_entry(folder: Path) -> Path | None:
    """The first link or special file among a folder and what is in it, at any depth; None if there is none.

    Reading a pipe may never end, and writing to a link changes a file elsewhere.
    """
    if folder.is_symlink():
        return folder
    for place, folders, files in os.walk(folder):
        for name in (*folders, *files):
            with suppress(FileNotFoundError):  # removed meanwhile
                mode = (found := Path(place, name)).lstat().st_mode
                if not (stat.S_ISDIR(mode) or stat.S_ISREG(mode)):
                    return found
    return None


def sync_folder(folder: Path) -> None:
    """Flush a folder's entries to disk, so that new and replaced files survive a power failure."""
    descriptor = opened_folder(folder)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def read_text(path: Path, other: str | None = None) -> str:
    """The text of a file that a user wrote: UTF-8, or UTF-16 with a byte order mark; lines end with a newline.

    Args:
        path: the file.
        other: the encoding of a file that is not UTF-8, such as ``cp1252``; None: it is an error.

    Raises:
        ValueError: the file is missing, unreadable, too large, not a regular file, or in another encoding.
        InputError: another account owns it or may write it.
    """
    try:
        if not path.exists():
            raise FileNotFoundError
        if not path.is_file():  # reading a pipe or a device may never end
            raise ValueError("it is not a regular file")
        with trusted(path).open("rb") as file:
            content = file.read(_MAX_TEXT + 1)
    except FileNotFoundError:
        raise ValueError(f"there is no file {path}") from None
    except (OSError, ValueError) as error:
        raise ValueError(f"{path} cannot be read as text: {' '.join(str(error).split())[:200]}") from None
    if len(content) > _MAX_TEXT:
        raise ValueError(f"{path} is larger than {_MAX_TEXT >> 20} MB, the maximum")
    try:
        return decoded(content, other)
    except ValueError as error:
        raise ValueError(f"{path} cannot be read as text: {error}") from None


def decoded(content: bytes, other: str | None = None) -> str:
    """The text of a file as editors of any system write it. Raises ``ValueError`` with what is wrong with it."""
    is_utf16 = content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    try:
        text = content.decode("utf-16" if is_utf16 else "utf-8-sig")
    except UnicodeDecodeError as error:
        if other and not is_utf16:
            return decoded(content.decode(other, errors="replace").encode())
        line = content[: error.start].count(b"\n") + 1
        raise ValueError(f"it is not UTF-8 in line {line}; save it as UTF-8") from None
    if "\0" in text:
        raise ValueError("it has a character with the code 0; save it as UTF-8")
    return text.replace("\r\n", "\n").replace("\r", "\n")


class JsonLines:
    """A file with one JSON object per line; each is in the file, whole, before ``add`` returns."""

    def __init__(self, path: Path) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
        self._file = os.fdopen(private(str(path), flags), "ab", buffering=0)
        self._lock = threading.Lock()

    def add(self, row: Mapping[str, Any]) -> None:
        """Append one object. Raises ``OSError`` on a full disk and leaves no part of the object."""
        line = json.dumps(row).encode() + b"\n"
        with self._lock:
            size = self._file.seek(0, os.SEEK_END)
            try:
                written = self._file.write(line)
            except OSError:
                self._file.truncate(size)
                raise
            if written != len(line):
                self._file.truncate(size)
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def try_to_add(self, row: Mapping[str, Any]) -> None:
        """Append an object that may be lost if the disk is full."""
        with suppress(OSError):
            self.add(row)


def read_lines(path: Path) -> list[dict[str, Any]]:
    """The objects of a file with one JSON object, or a list of them, per line; incomplete lines are skipped."""
    if not path.is_file():
        return []
    return list(_objects(read_bytes(path).decode(errors="replace").splitlines()))


def _objects(lines: Iterable[str]) -> Iterable[dict[str, Any]]:
    for line in lines:
        try:
            content = json.loads(line)
        except ValueError:
            continue
        yield from content if isinstance(content, list) else (content,)


_POLL_S = 0.05


@contextmanager
def held(path: Path, otherwise: str = "", wait_s: float = 0.0, *, create: bool = False) -> Iterator[int]:
    """Lock a folder or a file; yield the descriptor, which processes may inherit.

    Args:
        path: the folder or the file; no link is followed to a file.
        otherwise: the error if another process has the lock; without it, wait for that process.
        wait_s: how long to wait before that error.
        create: create the file if it is missing.

    Raises:
        FileNotFoundError: there is no such folder or file.
        InputError: ``otherwise``.
    """
    flags = os.O_RDONLY if path.is_dir() else os.O_RDWR | os.O_NOFOLLOW | (os.O_CREAT if create else 0)
    descriptor = os.open(path, flags, 0o666)
    try:
        if not otherwise:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        elif not _locked(descriptor, wait_s):
            raise InputError(otherwise)
        yield descriptor
    finally:
        os.close(descriptor)


def _locked(descriptor: int, wait_s: float) -> bool:
    deadline = time.monotonic() + wait_s
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                return False
            time.sleep(_POLL_S)
        else:
            return True
