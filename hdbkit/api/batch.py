"""Executes a notebook once per parameter file with papermill; a failed notebook does not stop the batch."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from hdbkit.api.batch_index import write_batch_index
from hdbkit.config.notebook import read_notebook, read_parameters
from hdbkit.errors import ConfigErrors, InputError, Problem
from hdbkit.later import pandas as pd
from hdbkit.results.batch_folder import BatchFolder, JobRecord, JobStatus, batch_folder, job_key, usual_id
from hdbkit.workspace import BareWorkspace

_COLUMNS = ("job", "status", "skipped", "seconds", "error", "notebook")


@dataclass(frozen=True)
class BatchStep:
    """The progress of a batch: job ``number`` of ``jobs``, from 1, at ``cell`` of ``cells``; 0 before the first."""

    job: str
    number: int
    jobs: int
    cell: int = 0
    cells: int = 0
    record: JobRecord | None = None
    """How the job ended; None while it is running."""
    skipped: bool = False


_OnStep = Callable[[BatchStep], None]


@dataclass(frozen=True)
class BatchResult:
    """The result of a batch."""

    folder: BatchFolder
    jobs: pd.DataFrame
    """One row per job: job, status (done or failed), skipped, seconds, error, notebook (the executed copy)."""

    @property
    def index(self) -> Path:
        """The page with a line for each notebook: its verdict, a thumbnail, and links."""
        return self.folder.path / "index.html"

    @property
    def failed(self) -> int:
        """The number of failed notebooks."""
        return int((self.jobs["status"] == JobStatus.FAILED).sum())


@dataclass(frozen=True)
class _Job:
    name: str
    params: Path
    values: dict[str, Any]
    key: str


class BatchVerbs(BareWorkspace):
    """Verbs that execute notebooks."""

    def batch(
        self,
        notebook: Path | str,
        params: Sequence[Path | str],
        *,
        batch_id: str | None = None,
        watch: _OnStep = lambda _: None,
    ) -> BatchResult:
        """Execute a notebook once per parameter file; skip files that were already executed with the same values.

        ``index.html`` of its folder is written after each: a line for every notebook that has ended, and a page with
        it.

        Args:
            notebook: a notebook with a typed cell tagged ``parameters``; see :mod:`hdbkit.config.notebook`.
            params: YAML files with values for some of its parameters; the name of a file is the name of its job.
            batch_id: the folder in ``results/batches``; by default derived from the notebook and the files.
            watch: called at the start and end of each job, and at each of its cells.

        Raises:
            InputError: the notebook or any of the files has errors; nothing was executed.

        Example:
            >>> api.batch("notebooks/02_run.ipynb", ["params/notebook-02-small.yaml"]).failed  # doctest: +SKIP
            0
        """
        notebook, files = Path(notebook), [Path(one) for one in params]
        jobs = _jobs(notebook, files, self)
        papermill = _papermill()
        folder = batch_folder(self.results, batch_id or usual_id(notebook, files))
        rows = []
        with folder.held():
            done = folder.records()
            for number, job in enumerate(jobs, 1):
                step = BatchStep(job.name, number, len(jobs))
                record = done.get(job.name)
                skipped = record is not None and record.status is JobStatus.DONE and record.key == job.key
                if record is None or not skipped:
                    watch(step)
                    record = _execute(papermill, notebook, job, folder, step, watch, self)
                    folder.note(notebook, job.name, record)
                    write_batch_index(folder, self.results, len(jobs))
                watch(BatchStep(job.name, number, len(jobs), record=record, skipped=skipped))
                rows.append(
                    (job.name, str(record.status), skipped, record.seconds, record.error, folder.executed(job.name))
                )
            write_batch_index(folder, self.results, len(jobs))
        return BatchResult(folder, pd.DataFrame(rows, columns=list(_COLUMNS)))


def _jobs(notebook: Path, files: Sequence[Path], workspace: BareWorkspace) -> list[_Job]:
    """The jobs; all errors in all files are reported together."""
    inputs, content = read_notebook(notebook, workspace.targets), notebook.read_bytes()
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
    logging.getLogger("papermill").setLevel(logging.ERROR)  # it warns about parameters whose types it cannot read
    try:
        import papermill
    except ModuleNotFoundError:
        raise InputError("a batch needs papermill, which is not installed; run: pip install 'hdbkit[lab]'") from None
    return papermill


def _execute(
    papermill: Any,
    notebook: Path,
    job: _Job,
    folder: BatchFolder,
    step: BatchStep,
    watch: _OnStep,
    workspace: BareWorkspace,
) -> JobRecord:
    """Execute one notebook up to its last cell or the first that fails."""
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
                "--IPKernelApp.log_level=50",  # the notebook's messages are in its outputs
                f"--IPKernelApp.exec_lines=__import__('os').environ.update({workspace.environment!r})",
            ],
            kernel_manager_class=_kernel_manager(),
            config=Config(KernelManager={"transport": "ipc"}),  # sockets of this account, not ports open to others
        )
    except Exception as problem:  # a failing notebook or kernel does not stop the batch
        error = _one_line(problem)
    status = JobStatus.FAILED if error else JobStatus.DONE
    seconds = round(time.monotonic() - began, 3)
    return JobRecord(
        key=job.key, params=str(job.params), status=status, started=started, seconds=seconds, error=error
    )


def _kernel_manager() -> type:
    """Starts kernels whose own modules are never imported from the working folder."""
    from jupyter_client.manager import AsyncKernelManager

    class _Isolated(AsyncKernelManager):
        def format_kernel_cmd(self, extra_arguments: list[str] | None = None) -> list[str]:
            program, *arguments = command = super().format_kernel_cmd(extra_arguments)
            if program == sys.executable:
                return [program, "-P", *arguments]
            if self.kernel_spec is not None:  # a launcher or another Python, which may not know the option
                self.kernel_spec.env["PYTHONSAFEPATH"] = "1"
            return command

    return _Isolated


def _one_line(problem: Exception) -> str:
    """The error in one line; papermill's own text contains the whole traceback of the notebook."""
    name = getattr(problem, "ename", type(problem).__name__)
    text = " ".join(str(getattr(problem, "evalue", problem)).split())
    return f"{name}: {text[:300]}" if text else name
