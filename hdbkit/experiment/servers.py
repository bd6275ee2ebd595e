"""The servers of an experiment: a control for each target, a lock and a snapshot for each server.

Several targets may be on one server, which is then locked, saved and restored once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from hdbkit.config import Target
from hdbkit.contracts import ServerControl
from hdbkit.results.experiment_folder import only_experiment

Controls = Callable[[Target], ServerControl]
"""Gives the control of a target's server, as ``hdbkit.servers.control`` does."""


class Servers:
    """The controls of an experiment's targets; ``say`` is called with what they wait for."""

    def __init__(self, targets: Sequence[Target], control: Controls) -> None:
        self._of = {target: control(target) for target in targets}

    @property
    def each(self) -> list[tuple[Target, ServerControl]]:
        """Each target with its control."""
        return list(self._of.items())

    def of(self, target: Target) -> ServerControl:
        """The control of a target's server."""
        return self._of[target]

    @property
    def by_identity(self) -> dict[str, list[ServerControl]]:
        """The controls of each server: several where several targets are on it."""
        found: dict[str, list[ServerControl]] = {}
        for one in self._of.values():
            found.setdefault(one.identity, []).append(one)
        return found

    def say_to(self, say: Callable[[str], None]) -> None:
        """Have all controls report what they wait for."""
        for one in self._of.values():
            one.say = say

    @contextmanager
    def alone(self, root: Path) -> Iterator[None]:
        """Lock all servers for one experiment, in the same order whoever does. Raises ``InputError``."""
        with ExitStack() as locks:
            for identity in sorted(self.by_identity):
                locks.enter_context(only_experiment(root, identity))
            yield
