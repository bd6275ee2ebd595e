"""Atomic replacement of files: a reader sees the old content or the new content, never a part of either."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def draft_of(path: Path) -> Iterator[Path]:
    """A temporary file next to ``path`` that replaces it when the block ends, and is removed if the block fails.

    Removing it matters on a full disk, where a partial file would take the last space. Each thread has its own draft.
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
    """Replace a file atomically; after a crash it has the old or the new content.

    Args:
        path: the file; its folder must exist.
        content: the new content.
        mode: permissions of the file, reduced by the umask, set before content is written.
        owner: owner of the file (applied as root only); ``mode`` is then set exactly. Both before content is written.
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
    """Flush a folder's entries to disk, so that new and replaced files survive a power failure."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _created(path: Path, mode: int) -> int:
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
