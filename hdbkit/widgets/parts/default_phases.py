"""The default phases of a form: they follow the target until somebody changes them."""

from __future__ import annotations

from typing import Any

from hdbkit.api import default_load
from hdbkit.config import Load, Target


class DefaultPhases:
    """Seconds on a private server, ``own`` on any other target."""

    def __init__(self, own: Load) -> None:
        self._own = self._shown = own

    def use(self, target: Target | None, rampup: Any, duration: Any) -> None:
        """Put the default for a target into two inputs, unless they show something else than the last default."""
        before = self._shown
        self._shown = self._own if target is None or target.server_folder is None else default_load(target)
        if (rampup.value, duration.value) == (before.rampup_s, before.duration_s):
            rampup.value, duration.value = self._shown.rampup_s, self._shown.duration_s
