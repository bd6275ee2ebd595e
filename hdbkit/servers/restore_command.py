"""Data that a command of the target restores: a snapshot of the storage, of a cloud, or a dump."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Mapping

from hdbkit.config import Target
from hdbkit.contracts import KEPT, Setting
from hdbkit.errors import ServerFailed
from hdbkit.servers.power import run_or_fail


class RestoreCommand:
    """The part of ``contracts.ServerControl`` about the data, where hdbkit itself cannot copy it."""

    _target: Target

    @property
    def can_restore_data(self) -> bool:
        """Whether the target names the command."""
        return bool(self._target.control.commands.restore)

    @abstractmethod
    def settings(self) -> dict[str, Setting]:
        """Every setting of the server."""

    def keep_data(self, copy: str = KEPT) -> float:
        """Do nothing, as the command knows what it restores. Raises ``ServerFailed`` for any other copy."""
        self._check(copy)
        return 0.0

    def restore_data(self, copy: str = KEPT) -> float:
        """Run the command; return its seconds.

        Raises:
            ServerFailed: it failed, or the server has other settings after it.
        """
        self._check(copy)
        before, began = self._values(), time.monotonic()
        run_or_fail(self._target.control.commands.restore, timeout_s=self._target.control.restart_timeout_s)
        took_s = time.monotonic() - began
        if changed := [name for name, value in self._values().items() if before.get(name, value) != value]:
            raise ServerFailed(
                f"control.commands.restore of {self._target.url} has changed the settings {', '.join(changed)}; "
                "keep the server's configuration out of what it restores"
            )
        return took_s

    def drop_kept_data(self) -> None:
        """Do nothing: there is no copy of ours."""

    def _check(self, copy: str) -> None:
        if not self.can_restore_data or copy != KEPT:
            raise ServerFailed(
                f"the data of {self._target.url} cannot be restored: name the command that does it in "
                "'control.commands.restore' of the target, or use a private server"
            )

    def _values(self) -> Mapping[str, str]:
        return {name: one.value for name, one in self.settings().items()}
