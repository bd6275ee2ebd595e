"""What the API and the pages read alike: the result of a job, the targets of the workspace."""

from __future__ import annotations

from functools import lru_cache

from hdbkit.api import Workspace
from hdbkit.config.target import target_names
from hdbkit.errors import HdbkitError
from hdbkit.service.answers import Refused
from hdbkit.service.job_folder import State
from hdbkit.service.jobs import Jobs
from hdbkit.service.models import TargetAnswer


def result_file(jobs: Jobs, job_id: str) -> str:
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
