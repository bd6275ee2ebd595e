"""Files that may come from anybody: only regular files, up to a size."""

from __future__ import annotations

import codecs
import errno
import os
from pathlib import Path

from hdbkit.errors import InputError
from hdbkit.files import opened_file

MAX_BYTES = 64 << 20
_NO_FILE = (errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.EINVAL, errno.ENXIO)
"""Errors of :func:`opened` where there is nothing, or no regular file."""


def file_content(path: Path) -> bytes:
    """The content of a regular file. Raises ``InputError`` if there is none, or it is larger than the maximum."""
    try:
        with os.fdopen(opened_file(path), "rb") as file:
            content = file.read(MAX_BYTES + 1)
    except OSError as error:
        if error.errno in _NO_FILE:
            raise InputError(f"{path} is not a regular file, or there is none") from None
        raise InputError(f"{path} cannot be read: {error.strerror}") from None
    if len(content) > MAX_BYTES:
        raise InputError(f"{path} is larger than {MAX_BYTES >> 20} MB, the maximum")
    return content


def file_text(content: bytes) -> str:
    """A text in UTF-8, or in UTF-16 as PowerShell writes it; lines end with a newline."""
    wide = content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    return content.decode("utf-16" if wide else "utf-8-sig", errors="replace").replace("\r\n", "\n")


def beside(path: Path, name: str) -> bytes | None:
    """The content of a regular file in the same folder, not of a link; None: there is none."""
    other = path.with_name(name)
    return file_content(other) if not other.is_symlink() and other.is_file() else None
