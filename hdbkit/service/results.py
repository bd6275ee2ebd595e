"""What the service reads of its workspace: the results of jobs, the targets, the experiments."""

from __future__ import annotations

from contextlib import suppress
from functools import lru_cache

from hdbkit.api import RunningExperiment, Workspace
from hdbkit.api.documents import ExperimentDocument, of_experiment
from hdbkit.config.target import target_names
from hdbkit.errors import DamagedResult, HdbkitError
from hdbkit.results.experiment_folder import ExperimentFolder, experiment_folders
from hdbkit.service.answers import Refused
from hdbkit.service.job_folder import State
from hdbkit.service.jobs import JobStore
from hdbkit.service.models import TargetAnswer


def result_file(jobs: JobStore, job_id: str) -> str:
    """The file with the result of a job. Raises ``Refused`` if there is none."""
    job, file = jobs.find(job_id), jobs.folder(job_id).result_file
    if job.state is State.RUNNING:
        raise Refused(409, f"job {job_id} is running; it has no result yet")
    if not file.is_file():
        raise Refused(409, f"job {job_id} has no result: it {_ENDS[job.state]}{job.error and ': '}{job.error}")
    return str(file)


_ENDS = {
    State.DONE: "is done, but its file was removed",
    State.FAILED: "failed",
    State.STOPPED: "was stopped",
    State.KILLED: "was killed",
}


def targets_version(workspace: Workspace) -> str:
    """The version of the targets file: its time, node and size; empty if there is none."""
    try:
        found = workspace.targets.stat()
    except FileNotFoundError:
        return ""
    return f"{found.st_mtime_ns}-{found.st_ino}-{found.st_size}"


@lru_cache(maxsize=4)
def listed_targets(workspace: Workspace, _version: str) -> tuple[TargetAnswer, ...]:
    """The targets of a workspace whose file has this version."""
    return tuple(_target(workspace, name) for name in target_names(workspace.targets))


def _target(workspace: Workspace, name: str) -> TargetAnswer:
    try:
        target = workspace.target(name)
    except HdbkitError as error:
        return TargetAnswer(name=name, url="", may_change_settings=False, error=str(error))
    return TargetAnswer(name=name, url=target.url, may_change_settings=target.may_change_settings)


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
