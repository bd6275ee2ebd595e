"""A settings file of a server on this host: read, and replaced atomically with its owner and mode."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from hdbkit.errors import ServerFailed
from hdbkit.files import own_groups, read_bytes, remove_file, replace_file, sync_folder

_READ_BY_ALL = 0o644  # the tried values are not secret: every session of the server can read them

_NAME = re.compile(r"\s*([\w.]+)\s*=")
_FORMAT = "Version"  # of MySQL's file of persisted settings


class SettingsFile:
    """A settings file; its content is bytes, or None if it does not exist. Failures raise ``ServerFailed``."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __str__(self) -> str:
        return str(self.path)

    def read(self) -> bytes | None:
        """The content of the file."""
        try:
            return read_bytes(self.path)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise ServerFailed(f"{self.path} cannot be read: {error.strerror}") from error

    def text(self) -> str | None:
        """The content as Latin-1 text, which any bytes are."""
        content = self.read()
        return None if content is None else content.decode("latin-1")

    def write_text(self, text: str | None) -> None:
        """Write what ``text`` returned."""
        self.write(None if text is None else text.encode("latin-1"))

    def write(self, content: bytes | None) -> None:
        """Replace the file, or remove it if ``content`` is None; does nothing if it has this content."""
        if self.read() == content:
            return
        if problem := self.problem():
            raise ServerFailed(problem)
        try:
            if content is None:
                remove_file(self.path)
            else:
                there = self.path.exists()
                had = (self.path if there else self.path.parent).stat()
                replace_file(self.path, content, had.st_mode & 0o777 if there else _READ_BY_ALL, owner=had)
            sync_folder(self.path.parent)
        except OSError as error:
            raise ServerFailed(f"{self.path} cannot be written: {error.strerror}") from error

    def problem(self) -> str | None:
        """Why this account cannot replace the file, or not without changing whose it is; None if it can."""
        folder = self.path.parent
        if not os.access(folder, os.W_OK | os.X_OK, effective_ids=True):
            return f"{self.path} cannot be written: this account may not create files in {folder}"
        if not self.path.exists() or os.geteuid() == 0:
            return None
        if not os.access(self.path, os.R_OK, effective_ids=True):
            return f"{self.path} cannot be read by this account"
        had = self.path.stat()
        if had.st_uid not in (0, os.geteuid()) or had.st_gid not in own_groups():
            return (
                f"{self.path} cannot be replaced without changing its owner and group (uid {had.st_uid}, "
                f"gid {had.st_gid}); run hdbkit as its owner and in its group, as root, or name a folder in 'drop_in'"
            )
        return None


def only(values: Mapping[str, str], names: Collection[str] | None) -> dict[str, str]:
    """The values of these names; all if ``names`` is None."""
    return {name: value for name, value in values.items() if names is None or name in names}


def with_earlier(present: str | None, earlier: str | None, names: Collection[str] | None) -> str | None:
    """A server's own settings file in which the settings ``names`` are as they were; None: all settings.

    The file has a line ``name = value`` for each setting, or is JSON. It is exactly ``earlier`` if all other settings
    are as they were.
    """
    if names is None or not present:
        return earlier
    try:
        now, then = json.loads(present), json.loads(earlier or "{}")
    except ValueError:
        now_lines, then_lines = present.splitlines(keepends=True), (earlier or "").splitlines(keepends=True)
        others = [line for line in now_lines if _set_by(line) not in names]
        if others == [line for line in then_lines if _set_by(line) not in names]:
            return earlier
        return "".join([*others, *(line for line in then_lines if _set_by(line) in names)])
    if _others(now, names) == _others(then, names):
        return earlier
    return json.dumps(_merged(now, then, names))


def _set_by(line: str) -> str:
    """The name that a line sets; empty if it sets none."""
    found = _NAME.match(line)
    return found[1] if found else ""


def _others(part: Any, names: Collection[str]) -> Any:
    """What a part of the file sets besides ``names``, without the format's version and empty parts."""
    if not isinstance(part, dict):
        return part
    found = {key: _others(one, names) for key, one in part.items() if key not in names and key != _FORMAT}
    return {key: one for key, one in found.items() if one != {}}


def _merged(now: Mapping[str, Any], then: Mapping[str, Any], names: Collection[str]) -> dict[str, Any]:
    """A part of the file as it is ``now``, with ``names`` as they were ``then``."""
    merged: dict[str, Any] = {}
    for key in {**now, **then}:
        if key in names:
            merged |= {key: then[key]} if key in then else {}
        elif isinstance(now.get(key, then.get(key)), dict):
            part = _merged(now.get(key, {}), then.get(key, {}), names)
            merged |= {key: part} if part or key in now else {}
        elif key in now:
            merged[key] = now[key]
    return merged
