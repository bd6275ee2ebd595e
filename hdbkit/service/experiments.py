"""The experiments of the workspace, as the API lists, shows and stops them."""

from __future__ import annotations

from contextlib import suppress

from hdbkit.api import RunningExperiment, Workspace
from hdbkit.api.documents import ExperimentDocument, of_experiment
from hdbkit.errors import DamagedResult
from hdbkit.results.experiment_folder import ExperimentFolder, experiment_folders
from hdbkit.service.answers import Refused


class Experiments:
    """Reads them from their folders; those that have ended are kept in memory until their files change."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._ended: dict[str, tuple[list[int], ExperimentDocument]] = {}

    def listed(self, limit: int, offset: int) -> tuple[list[ExperimentDocument], int]:
        """The experiments, newest first, without damaged ones; and how many there are."""
        folders = list(experiment_folders(self._workspace.results))
        found = []
        for folder in folders[offset : offset + limit]:
            with suppress(DamagedResult, OSError):
                found.append(self._read(folder))
        return found, len(folders)

    def find(self, experiment_id: str) -> ExperimentDocument:
        """An experiment. Raises ``Refused`` if there is none, and ``DamagedResult``."""
        return self._read(self._folder(experiment_id))

    def stop(self, experiment_id: str) -> ExperimentDocument:
        """Stop an experiment as Ctrl-C does; does nothing if it has ended. Raises ``Refused``, ``InputError``."""
        folder = self._folder(experiment_id)
        found = self._read(folder)
        if not found.status.ended:
            self._running(folder).stop()
        return found

    def _folder(self, experiment_id: str) -> ExperimentFolder:
        known = experiment_folders(self._workspace.results)
        found = next((one for one in known if one.experiment_id == experiment_id), None)
        if found is None:
            raise Refused(404, f"there is no experiment '{experiment_id}'")
        return found

    def _read(self, folder: ExperimentFolder) -> ExperimentDocument:
        files = [one.stat() for one in sorted(folder.path.iterdir()) if one.is_file()]
        version = [number for one in files for number in (one.st_mtime_ns, one.st_ino, one.st_size)]
        known = self._ended.get(folder.experiment_id)
        if known is None or known[0] != version:
            known = version, of_experiment(self._running(folder))
            if known[1].status.ended:
                self._ended[folder.experiment_id] = known
        return known[1]

    def _running(self, folder: ExperimentFolder) -> RunningExperiment[object]:
        return self._workspace.attach_experiment(folder.experiment_id)
