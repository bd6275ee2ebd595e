"""The commands that run a notebook over parameter files and write a site of results, and their progress bars."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from hdbkit import api
from hdbkit.api import documents
from hdbkit.api.batch import BatchStep
from hdbkit.cli import show
from hdbkit.cli.completion import any_names
from hdbkit.cli.exits import Exit, stopped_like_ctrl_c
from hdbkit.cli.options import AsJson


def add_to(app: typer.Typer) -> None:
    """Add the command of this module."""
    app.command(epilog="Example: hdbkit batch notebooks/02_run.ipynb params/notebook-02-*.yaml")(batch)
    app.command(epilog="Example: hdbkit site public nightly last --title 'Release 2'")(site)


@stopped_like_ctrl_c()
def batch(
    notebook: Annotated[Path, typer.Argument(help="notebook whose typed cell of parameters is tagged 'parameters'")],
    params: Annotated[list[Path], typer.Argument(help="YAML files with parameters, one job each")],
    batch_id: Annotated[
        str | None, typer.Option("--id", help="folder below results/batches; jobs that are done there are skipped")
    ] = None,
    as_json: AsJson = False,
) -> int:
    """Execute a notebook once per parameter file and keep each copy; a failed notebook does not stop the batch."""
    try:
        with BatchBar() as bar:
            done = api.batch(notebook, params, batch_id=batch_id, watch=bar)
    except KeyboardInterrupt:
        show.notes.print("stopped; executed notebooks are kept, and the same command continues with the next")
        return Exit.STOPPED
    if as_json:
        jobs = documents.of_frame(done.jobs.assign(notebook=done.jobs["notebook"].astype(str)))
        show.print_json({"batch_id": done.folder.batch_id, "index": str(done.index), "jobs": jobs})
    else:
        show.console.print(show.table(done.jobs, columns=("job", "status", "skipped", "seconds", "error")))
        skipped = int(done.jobs["skipped"].sum())
        if skipped:
            show.console.print(
                f"{skipped} of {len(done.jobs)} jobs were already done; give another --id to run them again"
            )
        show.console.print(f"executed notebooks: {done.index}", markup=False)
    return Exit.RUN_FAILED if done.failed else Exit.DONE


class BatchBar:
    """A progress bar over the jobs with the cell in execution, and a line for each finished job."""

    def __init__(self) -> None:
        self._progress = _progress()
        self._bar = self._progress.add_task("", total=None)

    def __enter__(self) -> BatchBar:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def __call__(self, step: BatchStep) -> None:
        """Show the batch's progress."""
        place = f"  cell {step.cell} of {step.cells}" if step.cell else ""
        ended = step.number if step.record else step.number - 1
        self._progress.update(self._bar, description=f"{escape(step.job)}{place}", completed=ended, total=step.jobs)
        if step.record:
            how = "already done" if step.skipped else f"{step.record.status}  {step.record.seconds:.1f} s"
            line = f"  {step.number} of {step.jobs}  {step.job}  {how}  {step.record.error}"
            self._progress.console.print(escape(line.rstrip()))


def _progress() -> Progress:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    return Progress(*columns, console=show.notes, transient=True)


@stopped_like_ctrl_c()
def site(
    folder: Annotated[Path, typer.Argument(help="the folder of the site; one of an earlier call is replaced")],
    names: Annotated[
        list[str] | None,
        typer.Argument(
            help="runs and sweeps by id or label, batches by id, notebooks by path; by default all results",
            show_default=False,
            autocompletion=any_names,
        ),
    ] = None,
    where: Annotated[
        str | None, typer.Option(help="further runs: a filter as that of 'runs list', such as \"label = 'nightly'\"")
    ] = None,
    title: Annotated[str, typer.Option(help="the heading of the index")] = "Results",
    as_json: AsJson = False,
) -> None:
    """Write a static site of results, with search, that any web server can serve and that opens offline."""
    with _progress() as progress:
        bar = progress.add_task("", total=None)

        def watch(name: str, number: int, pages: int) -> None:
            progress.update(bar, description=escape(name), completed=number - 1, total=pages)

        made = api.site(folder, names or [], where=where, title=title, watch=watch)
    for sentence in made.skipped:
        show.notes.print(f"skipped: {sentence}", markup=False)
    pages = documents.of_frame(made.pages.assign(page=made.pages["page"].astype(str)))
    show.answer(as_json, {"index": str(made.index), "pages": pages}, f"{len(made.pages):,} pages: {made.index}")
