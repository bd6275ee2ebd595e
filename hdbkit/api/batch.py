"""A notebook over a list of parameter files, by papermill: each executed copy kept, a failed one is no end."""

from __future__ import annotations

import importlib
import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pandas as pd

from hdbkit.config.notebook import read_notebook, read_parameters
from hdbkit.errors import ConfigErrors, InputError, Problem
from hdbkit.results.batch_folder import BatchFolder, JobRecord, JobStatus, batch_folder, job_key, usual_id
from hdbkit.workspace import DEFAULT, Workspace

COLUMNS = ("job", "status", "skipped", "seconds", "error", "notebook")


@dataclass(frozen=True)
class BatchStep:
    """Where a batch is: job ``number`` of ``jobs``, from 1, and its ``cell`` of ``cells``; 0 before the first."""

    job: str
    number: int
    jobs: int
    cell: int = 0
    cells: int = 0
    record: JobRecord | None = None
    """How the job ended; None while it goes on."""
    skipped: bool = False


Watch = Callable[[BatchStep], None]


@dataclass(frozen=True)
class BatchResult:
    """What a batch left."""

    folder: BatchFolder
    jobs: pd.DataFrame
    """A row a job: job, status (done or failed), skipped, seconds, error, notebook (the executed one)."""

    @property
    def failed(self) -> int:
        """How many notebooks failed."""
        return int((self.jobs["status"] == JobStatus.FAILED).sum())


@dataclass(frozen=True)
class _Job:
    name: str
    params: Path
    values: dict[str, Any]
    key: str


def batch(
    notebook: Path | str,
    params: Sequence[Path | str],
    *,
    batch_id: str | None = None,
    watch: Watch = lambda _: None,
    workspace: Workspace | None = None,
) -> BatchResult:
    """Execute a notebook once for each parameter file; what was done already with the same values is skipped.

    Args:
        notebook: with a typed cell tagged ``parameters``; see :mod:`hdbkit.config.notebook`.
        params: YAML files with values for some of its parameters; each file's name is its job's.
        batch_id: the folder below ``results/batches``; by default the same for the same notebook and files.
        watch: called at the beginning and end of each job, and at each of its cells.
        workspace: where results and names of targets are, for the notebooks too; by default that of this process.

    Raises:
        InputError: an error in the notebook or in any of the files; nothing was executed.

    Example:
        >>> api.batch("notebooks/02_run.ipynb", ["params/notebook-02-small.yaml"]).failed  # doctest: +SKIP
        0
    """
    notebook, files = Path(notebook), [Path(one) for one in params]
    place = workspace or DEFAULT
    jobs = _jobs(notebook, files, place)
    papermill = _papermill()
    folder = batch_folder(place.results, batch_id or usual_id(notebook, files))
    rows = []
    with folder.held():
        done = folder.records()
        for number, job in enumerate(jobs, 1):
            step = BatchStep(job.name, number, len(jobs))
            record = done.get(job.name)
            skipped = record is not None and record.status is JobStatus.DONE and record.key == job.key
            if record is None or not skipped:
                watch(step)
                record = _execute(papermill, notebook, job, folder, step, watch, place)
                folder.note(notebook, job.name, record)
            watch(BatchStep(job.name, number, len(jobs), record=record, skipped=skipped))
            rows.append(
                (job.name, str(record.status), skipped, record.seconds, record.error, folder.executed(job.name))
            )
    return BatchResult(folder, pd.DataFrame(rows, columns=list(COLUMNS)))


def _jobs(notebook: Path, files: Sequence[Path], place: Workspace) -> list[_Job]:
    """The jobs, with all errors of all files at once."""
    inputs, content = read_notebook(notebook, place.targets), notebook.read_bytes()
    if not files:
        raise InputError("give at least one parameter file, such as params/notebook-02-small.yaml")
    jobs: dict[str, _Job] = {}
    problems: list[Problem] = []
    for path in files:
        try:
            values = read_parameters(inputs, path)
        except ConfigErrors as error:
            problems += [Problem(f"{path}: {one.where}", one.what, one.line) for one in error.problems]
            continue
        if path.stem in jobs:
            problems.append(Problem(str(path), f"has the name of {jobs[path.stem].params}; each job needs its own"))
        jobs[path.stem] = _Job(path.stem, path, values, job_key(content, values))
    if problems:
        raise ConfigErrors(f"the batch over {notebook}", problems)
    return list(jobs.values())


def _papermill() -> Any:
    logging.getLogger("papermill").setLevel(logging.ERROR)  # it warns of parameters whose types it does not read
    try:
        return importlib.import_module("papermill")
    except ModuleNotFoundError:
        raise InputError("a batch needs papermill, which is not installed; run: pip install 'hdbkit[lab]'") from None


def _execute(
    papermill: Any,
    notebook: Path,
    job: _Job,
    folder: BatchFolder,
    step: BatchStep,
    watch: Watch,
    place: Workspace,
) -> JobRecord:
    """One notebook from its first cell to its last, or to the one that fails."""
    from traitlets.config import Config

    started, began, error = datetime.now(UTC), time.monotonic(), ""

    def at_cell(cell: Any, cell_index: int) -> None:  # noqa: ARG001  the names are nbclient's
        watch(BatchStep(step.job, step.number, step.jobs, cell=cell_index + 1, cells=cells))

    cells = len(papermill.iorw.load_notebook_node(str(notebook)).cells) + bool(job.values)
    try:
        papermill.execute_notebook(
            str(notebook),
            str(folder.executed(job.name)),
            job.values,
            cwd=str(notebook.parent),
            progress_bar=False,
            on_cell_start=at_cell,
            extra_arguments=[
                "--IPKernelApp.log_level=50",  # what the notebook says is in its outputs
                f"--IPKernelApp.exec_lines=__import__('os').environ.update({place.environment!r})",
            ],
            config=Config(KernelManager={"transport": "ipc"}),  # sockets of this account, not ports open to others
        )
    except Exception as problem:  # a failing notebook, a dying kernel: the next one may do better
        error = _one_line(problem)
    status = JobStatus.FAILED if error else JobStatus.DONE
    seconds = round(time.monotonic() - began, 3)
    return JobRecord(
        key=job.key, params=str(job.params), status=status, started=started, seconds=seconds, error=error
    )


def _one_line(problem: Exception) -> str:
    """What went wrong: papermill's own text would be the whole traceback of the notebook."""
    name = getattr(problem, "ename", type(problem).__name__)
    said = " ".join(str(getattr(problem, "evalue", problem)).split())
    return f"{name}: {said[:300]}" if said else name
