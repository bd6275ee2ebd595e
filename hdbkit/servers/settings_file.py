"""A settings file of a server on this host: read, and replaced atomically with its owner and mode."""

from __future__ import annotations

from pathlib import Path

from hdbkit.errors import ServerFailed
from hdbkit.files import replace_file, sync_folder

_READ_BY_ALL = 0o644  # the tried values are not secret: every session of the server can read them


class SettingsFile:
    """A settings file; its content is bytes, or None if it does not exist. Failures raise ``ServerFailed``."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __str__(self) -> str:
        return str(self.path)

    def read(self) -> bytes | None:
        """The content of the file."""
        try:
            return self.path.read_bytes()
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
        try:
            if content is None:
                self.path.unlink()
            else:
                there = self.path.exists()
                had = (self.path if there else self.path.parent).stat()
                replace_file(self.path, content, had.st_mode & 0o777 if there else _READ_BY_ALL, owner=had)
            sync_folder(self.path.parent)
        except OSError as error:
            raise ServerFailed(f"{self.path} cannot be written: {error.strerror}") from error
