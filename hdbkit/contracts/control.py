"""Control of a server: its settings, its data, and its power."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol

from hdbkit.readings import HostLoad


class ApplyBy(StrEnum):
    """What a change of a setting requires to take effect, as reported by the server."""

    SESSION = "session"
    RELOAD = "reload"
    RESTART = "restart"
    FIXED = "fixed"


@dataclass(frozen=True)
class Setting:
    """A setting of the server as read back. ``value`` and bounds are in ``unit`` if it has one.

    ``kind`` is bool, enum, integer, real, list, string, or size: a whole number that may be written with K, M or G.
    """

    name: str
    value: str
    unit: str | None
    default: str | None
    apply_by: ApplyBy
    minimum: float | None = None
    maximum: float | None = None
    choices: tuple[str, ...] = ()
    kind: str = "string"
    description: str = ""


@dataclass(frozen=True)
class Change:
    """The result of ``apply``: how the settings took effect, how long that took, and what was read back.

    ``rounded`` are those that the server made another number of, by its own steps (pages, chunks).
    """

    applied_by: ApplyBy
    duration_s: float
    read_back: dict[str, str] = field(default_factory=dict)
    rounded: frozenset[str] = frozenset()


CHANGED = "changed"
"""The key of a snapshot with the names of the settings that are changed after it, if they are known."""
KEPT = "kept"
"""The copy of the data as found before the sweep."""
BUILT = "built"
"""The copy of a schema that the sweep built."""


class Power(Protocol):
    """Starts and stops one server. Failures raise ``ServerFailed`` with the server's own message."""

    @property
    def running(self) -> bool:
        """Whether the server is running, without opening a session."""

    def start(self, ended: bool = False) -> object:
        """Start the server and wait until it runs. Does nothing if it already runs.

        ``ended``: it is known to have ended, whatever a status command reports.
        """

    def start_ended(self, answers: Callable[[], bool]) -> object:
        """Start a server at whose address nothing listens, whatever a status command reports.

        One that recovers is not stopped before it had its time to answer.
        """

    def stop(self) -> object:
        """Stop the server and wait until it has ended. Does nothing if it is not running."""

    def restart(self) -> object:
        """Stop and start the server."""

    def last_log_lines(self) -> str:
        """The last lines that the server has logged since its last start; empty if its log cannot be read."""


class ServerControl(Protocol):
    """Settings of a running server: read, set, apply, verify by reading back, restore."""

    say: Callable[[str], None]
    """Called with a sentence on what the control waits for; a sweep writes it to its journal."""
    can_restart: bool

    @property
    def can_restore_data(self) -> bool:
        """Whether ``restore_data`` can bring the data back."""

    @property
    def keeps_settings(self) -> bool:
        """Whether the settings that it applies survive the server's end, however it is started again."""

    @property
    def identity(self) -> str:
        """Unique identity of the server, for the journal: an address or a folder."""

    @property
    def power(self) -> Power | None:
        """Starts and stops the server from this host; None if that is not possible."""

    def settings(self) -> dict[str, Setting]:
        """Every setting of the server."""

    def problems(self, changes: Mapping[str, Sequence[str]]) -> list[str]:
        """The problems with these values of settings: unknown, out of range, not allowed; changes nothing."""

    def refused(self, configurations: Sequence[Mapping[str, str]]) -> list[str]:
        """The valid values with which the server would not start, each with its own message; changes nothing.

        Empty as well if that cannot be known in advance.
        """

    def snapshot(self, changed: Collection[str] | None = None) -> dict[str, Any]:
        """The state that ``restore`` needs, as JSON; taken before the first change. A stopped server is started.

        ``restore`` then restores the settings ``changed``, and keeps what others change meanwhile; None: all.
        """

    def apply(self, changes: Mapping[str, str]) -> Change:
        """Set the values, reload or restart as needed, and verify them in a new session.

        Raises:
            ServerDown: the server does not answer, and could not be repaired.
            ServerFailed: with the server's own message; the settings are then unchanged.
        """

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        """Restore the state of ``snapshot``, also on a server that does not start with its settings. Can be repeated.

        Raises:
            ServerDown: the server does not answer, and could not be repaired.
        """

    def start(self, before: Mapping[str, Any] | None = None) -> None:
        """Start a stopped server, if that is permitted; if it does not start, restore the snapshot ``before``.

        Raises:
            ServerFailed: with the server's own message.
        """

    def keep_data(self, copy: str = KEPT) -> float:
        """Save a named copy of the current data; return the seconds it took."""

    def restore_data(self, copy: str = KEPT) -> float:
        """Restore a saved copy of the data; return the seconds it took."""

    def drop_kept_data(self) -> None:
        """Remove all saved copies."""

    def maintain(self) -> float:
        """Let the server become idle between runs (checkpoint, purge); return the seconds it took."""

    def restart(self) -> float:
        """Restart the server with unchanged settings, which empties its cache; return the seconds it took.

        Raises:
            ServerFailed: with the server's own message.
        """

    def host_load(self) -> HostLoad | None:
        """The load of the server's host, if that is another host and reports it; else None."""
