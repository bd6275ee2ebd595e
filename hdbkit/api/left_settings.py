"""Sweeps that ended and left their settings on a server, which may be down, and the command that restores them."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from hdbkit.config import Target
from hdbkit.errors import CannotConnect, DamagedResult, InputError, NoneFree, NothingListens
from hdbkit.experiment.kinds import read_plan
from hdbkit.results.experiment_folder import ExperimentFolder, experiment_folders
from hdbkit.results.unrestored import unverified
from hdbkit.servers.server_access import address_of


def left_settings(root: Path, target: Target) -> list[str]:
    """The ids of the sweeps in ``root`` that left their settings on the target's server, newest first.

    The server is not asked, since it may be down; a sweep that is running leaves nothing.
    """
    return [folder.experiment_id for folder in experiment_folders(root) if _left(folder) and _is_on(folder, target)]


def resume_command(experiment_id: str) -> str:
    """The command that restores what a sweep left, and continues it."""
    return f"hdbkit resume {experiment_id}"


def settings_warnings(root: Path, target: Target) -> list[str]:
    """A sentence per sweep that left its settings on the target's server, or may have left them there."""
    left = [
        f"{one} ended and left its settings on this server; to restore them and continue it, run: "
        f"{resume_command(one)}"
        for one in left_settings(root, target)
    ]
    return left + unknown_settings(root, target)


def unknown_settings(root: Path, target: Target) -> list[str]:
    """A sentence per sweep on the target's server of which it is unknown what it left there."""
    return [
        f"{reason}; whether {folder.experiment_id} left its settings on this server is unknown"
        for folder, reason in unverified(root)
        if _is_on(folder, target)
    ]


@contextmanager
def advised(root: Path, target: Target) -> Iterator[None]:
    """Have the error of a server that is down, or locked out by its settings, state how it comes back."""
    try:
        yield
    except (NothingListens, NoneFree) as error:
        advice = _advice(root, target, error)
        raise type(error)(error.target, error.reason, advice) if advice else error from None


def _advice(root: Path, target: Target, error: CannotConnect) -> str:
    """What brings the server back; empty if only its administrator knows."""
    if left := left_settings(root, target):
        what = "restores them and brings the server back"
        return f"{left[0]} ended and left its settings on it; run: {resume_command(left[0])}, which {what}"
    if not isinstance(error, NothingListens):
        return ""
    if target.server_folder:
        return f"start it with: hdbkit server start {shlex.quote(str(target.server_folder))}"
    if start := target.control.commands.start:
        return f"check host and port; if the server is stopped, start it with: {shlex.join(start)}"
    return f"start the server on the host of its agent {target.control.agent}" if target.control.agent else ""


def _left(folder: ExperimentFolder) -> bool:
    """Whether a sweep of this account changed settings, has not restored them, and is not running."""
    with suppress(DamagedResult, InputError):  # also a key that cannot be read
        state = folder.journal.settings_state
        if state.changed and not folder.journal.state.executed_by and folder.is_own:
            return any(folder.read_before(name) for name, one in state.servers.items() if one.changed)
    return False


def _is_on(folder: ExperimentFolder, target: Target) -> bool:
    with suppress(DamagedResult):
        return address_of(target) in map(address_of, read_plan(folder).targets)
    return False
