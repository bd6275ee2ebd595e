"""The sweeps of a results folder that changed the settings of a server and have not restored them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from hdbkit.errors import DamagedResult, InputError
from hdbkit.results.sweep_folder import SweepFolder, sweep_folders


def unrestored(root: Path, identity: str) -> list[SweepFolder]:
    """This account's sweeps that changed the server ``identity`` and did not restore it, newest first.

    Raises ``InputError`` if the account's key cannot be read.
    """
    found = []
    for folder in sweep_folders(root):
        with suppress(DamagedResult):
            state = folder.journal.settings_state
            if state.changed and state.identity == identity and folder.is_own:
                found.append(folder)
    return found


def unverified(root: Path, identity: str | None = None) -> Iterator[tuple[SweepFolder, str]]:
    """The sweeps that may have left settings on the server ``identity``, or on any, newest first; with the reason.

    Their journal cannot be read, or their files are not this account's, as in a folder from elsewhere: what these
    would restore is not used.
    """
    for folder in sweep_folders(root):
        try:
            state = folder.journal.settings_state
            if not state.changed or identity not in (None, state.identity) or folder.journal.state.executed_by:
                continue
            own = folder.is_own
        except (DamagedResult, InputError) as error:  # also a key that cannot be read
            yield folder, str(error)
        else:
            if not own and not folder.is_stale_copy:
                yield folder, f"this account did not write the files in {folder.path}"
