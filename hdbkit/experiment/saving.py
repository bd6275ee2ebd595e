"""What is saved of each server before the first change, for ``settling`` to restore."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from hdbkit.contracts import ServerControl
from hdbkit.errors import HdbkitError, ServerDown, ServerFailed
from hdbkit.experiment.data import keeps_data
from hdbkit.experiment.plan import ExperimentPlan
from hdbkit.experiment.servers import Servers
from hdbkit.results.experiment_folder import ExperimentFolder
from hdbkit.results.journal import Step
from hdbkit.servers.values import with_unit

_TEXTS = ("string", "list")


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
