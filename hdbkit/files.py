"""Files that are replaced in one step: whoever reads one finds the old content or the new, never a part of it."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def draft_of(path: Path) -> Iterator[Path]:
    """A draft beside ``path`` that takes its place when the block ends, and is removed where the block fails.

    Half a file would keep the last space of a full disk. Each thread has a draft of its own.
    """
    draft = path.with_name(f".{path.name}.{threading.get_native_id()}")
    try:
        draft.unlink(missing_ok=True)
        yield draft
        draft.replace(path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def replace_file(path: Path, content: bytes, mode: int = 0o666, owner: os.stat_result | None = None) -> None:
    """Write a file so that it is either the old one or the new one, also after a crash.

    Args:
        path: the file; its folder must exist.
        content: all of it.
        mode: of the file from its first byte on, less the umask.
        owner: give the file this owner (as root only), and exactly this ``mode``, before its first byte.
    """
    with draft_of(path) as draft, os.fdopen(_created(draft, mode if owner is None else 0o600), "wb") as file:
        if owner is not None:
            if os.geteuid() == 0:
                os.fchown(file.fileno(), owner.st_uid, owner.st_gid)
            os.fchmod(file.fileno(), mode)
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def sync_folder(folder: Path) -> None:
    """Have the names of a folder's files on disk: only then do new and replaced files outlive a power cut."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _created(path: Path, mode: int) -> int:
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
