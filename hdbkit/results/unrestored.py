"""Experiments that changed a server and did not restore it, and those that may have."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from hdbkit.errors import DamagedResult, InputError
from hdbkit.results.experiment_folder import ExperimentFolder, experiment_folders


def unrestored_experiments(root: Path, identity: str) -> list[ExperimentFolder]:
    """This account's experiments that changed the server ``identity`` and did not restore it, newest first.

    Raises ``InputError`` if the account's key cannot be read.
    """
    found = []
    for folder in experiment_folders(root):
        with suppress(DamagedResult):
            state = folder.journal.settings_state
            if state.server(identity).changed and folder.is_own:
                found.append(folder)
    return found


def drop_restored(root: Path) -> None:
    """Remove the snapshots of servers that are restored: a process may have been killed before it removed them."""
    for folder in experiment_folders(root):
        with suppress(DamagedResult, InputError):
            restored = folder.before.is_file() and not folder.journal.settings_state.changed
            if restored and folder.is_own and folder.journal.state.executed_by is None:
                folder.drop_before()


def unverified(root: Path, identity: str | None = None) -> Iterator[tuple[ExperimentFolder, str]]:
    """The experiments that may have left settings on the server ``identity``, or on any, newest first, each with why.

    Their journal cannot be read, or their files are not this account's, as in a folder from elsewhere: what these
    would restore is not used.
    """
    for folder in experiment_folders(root):
        try:
            state = folder.journal.settings_state
            changed = state.changed if identity is None else state.server(identity).changed
            if not changed or folder.journal.state.executed_by:
                continue
            own = folder.is_own
        except (DamagedResult, InputError) as error:  # also a key that cannot be read
            yield folder, str(error)
        else:
            if not own and not folder.is_stale_copy:
                yield folder, f"this account did not write the files in {folder.path}"
