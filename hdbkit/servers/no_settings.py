"""Control of a server, or a file, whose engine has no settings: a sweep of options of the load needs no more."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from hdbkit.config import Target
from hdbkit.contracts import ApplyBy, Change, Setting
from hdbkit.databases import database
from hdbkit.errors import ServerFailed
from hdbkit.readings import HostLoad
from hdbkit.servers.power import RestoreCommand, power_of
from hdbkit.servers.server_access import discard, host_of


class NoSettings(RestoreCommand):
    """``contracts.ServerControl`` without settings; it starts and stops the server by the target's commands."""

    keeps_settings = True

    def __init__(self, target: Target) -> None:
        self._target = target
        self.say: Callable[[str], None] = discard
        self.power = power_of(target.control)
        self.can_restart = target.may_restart and self.power is not None

    @cached_property
    def identity(self) -> str:
        """The host with the target's port, or the database where there is no server."""
        target = self._target
        return f"{host_of(target)}{target.port or Path(target.database or '').absolute()}"

    def settings(self) -> dict[str, Setting]:
        return {}

    def problems(self, changes: Mapping[str, Sequence[str]]) -> list[str]:
        """Each change is one."""
        title = database(self._target).title
        return [f"{title} has no settings that hdbkit can change, such as {name}" for name in changes]

    def refused(self, configurations: Sequence[Mapping[str, str]]) -> list[str]:
        """None."""
        return []

    def snapshot(self, changed: Collection[str] | None = None) -> dict[str, Any]:
        """Nothing but the identity."""
        self.start()
        return {"identity": self.identity}

    def apply(self, changes: Mapping[str, str]) -> Change:
        """Change nothing. Raises ``ServerFailed`` if there is something to change."""
        if problems := self.problems({name: [value] for name, value in changes.items()}):
            raise ServerFailed("; ".join(problems))
        return Change(ApplyBy.SESSION, 0.0)

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        """Start a stopped server; nothing else was changed."""
        self.start()

    def start(self, before: Mapping[str, Any] | None = None) -> None:
        """Start a stopped server, if that is permitted."""
        if self.can_restart and self.power is not None and not self.power.running:
            self.power.start()

    def restart(self) -> float:
        """Not supported without commands. Raises ``ServerFailed``."""
        if not self.can_restart or self.power is None:
            advice = "the target needs 'may_restart: true' and commands in 'control'"
            raise ServerFailed(f"{self.identity} cannot be restarted; {advice}")
        began = time.monotonic()
        self.power.restart()
        return time.monotonic() - began

    def maintain(self) -> float:
        """Nothing to do between runs."""
        return 0.0

    def host_load(self) -> HostLoad | None:
        """Unknown."""
        return None
