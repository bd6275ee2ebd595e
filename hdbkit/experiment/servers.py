"""The servers of an experiment: a control for each target; a lock and a snapshot for each server, which is saved
before the first change for ``settling`` to restore.

Several targets may be on one server, which is then locked, saved and restored once. The journal has the positions of
the targets that are on each server, so that a server is recognized that does not answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hdbkit.config import Target
from hdbkit.contracts import ServerControl
from hdbkit.errors import HdbkitError, ServerDown, ServerFailed
from hdbkit.experiment.plan import ExperimentPlan
from hdbkit.experiment.run_data import keeps_data
from hdbkit.results.experiment_folder import ExperimentFolder, only_experiment
from hdbkit.results.journal import Step
from hdbkit.servers.values import with_unit

Controls = Callable[[Target], ServerControl]
"""Gives the control of a target's server, as ``hdbkit.servers.control`` does."""
_TEXTS = ("string", "list")


@dataclass(frozen=True)
class Server:
    """A server: the control of its settings, and one for the data of each target on it."""

    control: ServerControl
    data: tuple[ServerControl, ...]
    targets: tuple[Target, ...] = ()
    """Those of ``data``; the first is that of ``control``."""


class Servers:
    """The controls of an experiment's targets; ``say`` is called with what they wait for."""

    def __init__(self, targets: Sequence[Target], control: Controls) -> None:
        self._of = {target: control(target) for target in targets}
        self._control = control

    @property
    def each(self) -> list[tuple[Target, ServerControl]]:
        """Each target with its control, in the order of the plan."""
        return list(self._of.items())

    def of(self, target: Target) -> ServerControl:
        """The control of a target's server, whatever the options of the connection."""
        return next(
            one for known, one in self._of.items() if known == target.model_copy(update={"options": known.options})
        )

    @property
    def by_identity(self) -> dict[str, Server]:
        """Each server; its settings are controlled by a target that may change them, if there is one."""
        found: dict[str, list[tuple[Target, ServerControl]]] = {}
        for target, one in sorted(self._of.items(), key=lambda each: not each[0].may_change_settings):
            found.setdefault(one.identity, []).append((target, one))
        return {
            identity: Server(each[0][1], tuple(one for _, one in each), tuple(target for target, _ in each))
            for identity, each in found.items()
        }

    def positions(self, server: Server) -> list[int]:
        """The positions of the server's targets in the plan."""
        return [position for position, target in enumerate(self._of) if target in server.targets]

    def another(self, target: Target, identity: str) -> ServerControl:
        """The control of another experiment's target on one of these servers.

        Raises ``ServerFailed`` if the target's server is another one now.
        """
        known = next((one for one in self._of if one.url == target.url), None)
        found = self._control(target.model_copy(update={"password": known.password}) if known else target)
        if known is None and found.identity != identity:
            raise ServerFailed(f"{target.described} is on {found.identity} now, no longer on {identity}")
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


def save(plan: ExperimentPlan, folder: ExperimentFolder, servers: Servers) -> None:
    """Save the settings of each server, and the data of each target that is restored."""
    for identity, server in servers.by_identity.items():
        found = settings_now(server.control, plan.tried)
        before = _snapshot(plan, server.control) if plan.changes(server.targets[0]) else {}
        folder.save_before(identity, before, found, servers.positions(server))
        if kept := [control for control in server.data if keeps_data(plan, control)]:
            folder.append(Step.DATA_KEPT, took_s=sum(control.keep_data() for control in kept), identity=identity)


def _snapshot(plan: ExperimentPlan, control: ServerControl) -> dict[str, Any]:
    """A server's settings; empty if the account may not read them and the experiment changes none of them."""
    try:
        return control.snapshot(list(plan.tried))
    except ServerFailed as error:
        if plan.changes_server or isinstance(error, ServerDown):
            raise
        control.say(f"{error}; this experiment only sets what each session can set for itself")
        return {}


def settings_now(control: ServerControl, names: Iterable[str]) -> dict[str, str]:
    """The present values of these settings, with units; empty if the server cannot report them.

    Text settings are omitted: their original values may contain secrets.
    """
    wanted = list(names)
    try:
        known = control.settings() if wanted else {}
    except HdbkitError:
        return {}
    found = [known[name] for name in wanted if name in known and known[name].kind not in _TEXTS]
    return {one.name: with_unit(one, one.value) for one in found}
