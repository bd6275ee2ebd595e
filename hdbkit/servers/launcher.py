"""What starts one kind of server: each kind is one module of ``servers/`` with a ``LAUNCHER``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

from pydantic import SecretStr

from hdbkit.config import Target
from hdbkit.contracts import ServerControl
from hdbkit.servers.binaries import chosen_binaries, installed
from hdbkit.servers.place import Binaries, Place

TrialStart = Callable[[Mapping[str, str]], str]
"""Why the server's program would not start with these settings, in its own words; empty if it would."""


class Launcher(Protocol):
    """Starts one kind of server: each kind is one module of ``servers/`` with a ``LAUNCHER``."""

    kind: str
    title: str
    advice: str
    """What to do if the host has no such server."""
    order: int
    """Its rank among the kinds; the lowest is the default."""
    program: str
    """The server's program in the folder of binaries."""
    pid_file: str
    stop_signals: tuple[str, ...]
    admin_user: str
    admin_database: str
    """The administrator's own database, which exists from the start."""
    database: str
    """The measured database."""
    settings_file: str
    """The file for changed settings, relative to the server's folder."""
    suffix: str
    """The suffix of settings files that the server reads from a drop-in folder."""

    def candidates(self) -> Iterable[tuple[Path, str]]:
        """Folders that may contain the program, preferred ones first, each with its source."""

    def version(self, folder: Path) -> str:
        """The version of the server in a folder; empty if it contains none of this kind."""

    def find(self) -> list[Binaries]:
        """The installed servers, preferred ones first."""
        return installed(self.kind, self.candidates(), self.version)

    def choose(self, version: str | None, source: str | None) -> Binaries:
        """Select binaries by ``version``, such as "18" or "15.18", and ``source``, one of ``candidates`` or a folder.

        Raises ``InputError`` if there are none.
        """
        return chosen_binaries(self.kind, self.title, self.find(), version, source, self.version, self.advice)

    def build_commands(self, prefix: Path, options: Sequence[str], processes: int) -> list[list[str]]:
        """The commands that build the server in its source folder and install it in ``prefix``; empty if unknown.

        ``options`` are further arguments of the command that configures the build.
        """
        return []

    def initialize(self, place: Place, admin_password: SecretStr, settings: Mapping[str, str]) -> None:
        """Create the data folder and its configuration."""

    def move(self, place: Place) -> None:
        """Write the place's port to the configuration."""

    def start(self, place: Place) -> None:
        """Start the server and wait until it answers. Raises ``ServerFailed`` with the last lines of the log."""

    def password_lines(self, place: Place, passwords: Mapping[str, SecretStr]) -> str:
        """The content of the password file, in the driver's format."""

    def settings_text(self, values: Mapping[str, str]) -> str:
        """The lines of a settings file."""

    def settings_in(self, text: str) -> dict[str, str]:
        """Parse the text that ``settings_text`` wrote."""

    def trial(self, binaries: Binaries, present: Mapping[str, str]) -> AbstractContextManager[TrialStart]:
        """A function for trials of settings, in addition to those that the server has at ``present``."""

    def control(self, target: Target) -> ServerControl:
        """The control that changes the settings of a private server of this kind and keeps its data."""
