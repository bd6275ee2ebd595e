"""The index of a batch: a page for each executed notebook, with verdict, thumbnail, and links to its results."""

from __future__ import annotations

from pathlib import Path

from hdbkit.api.site import notebook_entry
from hdbkit.errors import DamagedResult
from hdbkit.report.notebook_page import notebook_page
from hdbkit.report.site import Entry, write_assets, write_index, write_site_page
from hdbkit.results.batch_folder import BatchFolder, JobRecord
from hdbkit.results.experiment_folder import experiment_folder
from hdbkit.results.folder import RunFolder


def write_batch_index(folder: BatchFolder, root: Path, jobs: int) -> Path:
    """Write the pages of the jobs that have ended, of ``jobs``, into the folder of their batch; give the index."""
    records = folder.records()
    write_assets(folder.path)
    entries = [_entry(folder, root, job, record) for job, record in records.items()]
    ended, failed = len(records), sum(bool(one.error) for one in records.values())
    words = f"{ended} of {max(jobs, ended)} notebooks were executed; {failed} failed"
    return write_index(folder.path, f"Batch {folder.batch_id}", entries, words)


def _entry(folder: BatchFolder, root: Path, job: str, record: JobRecord) -> Entry:
    about = f"{record.started:%Y-%m-%d %H:%M} UTC · {record.seconds:,.0f} s · {record.params}"
    path = folder.executed(job)
    try:
        read = notebook_page(path)
    except DamagedResult:  # its kernel did not start
        return Entry(job, path.name, str(record.status), "bad", record.error, about)
    write_site_page(folder.path, f"{job}.html", read.title, read.content, path.name)
    reports = {one: _report(root, one) for one in read.ids}
    links = {one: f"../../{report.relative_to(root)}" for one, report in reports.items() if report.is_file()}
    links["notebook file"] = path.name
    return notebook_entry(read, job, f"{job}.html", links, failed=record.error, about=about, at="")


def _report(root: Path, found: str) -> Path:
    """Where the report of a run or a sweep is, if it is written."""
    sweep = experiment_folder(root, found)
    return sweep.report if sweep.planned else RunFolder(root / found).report
