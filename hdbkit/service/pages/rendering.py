"""How a job and its document become text and tables of a page; the files that pages load."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader
from markupsafe import Markup

from hdbkit.api import Workspace
from hdbkit.files import read_bytes
from hdbkit.later import yaml
from hdbkit.report import page
from hdbkit.report import templates as templates_of_reports
from hdbkit.report.site import ASSETS, asset
from hdbkit.report.tables import Table, cell, heading, text_table
from hdbkit.results.folder import RunFolder
from hdbkit.service.job_folder import Job, JobFolder, State

_MAX_ROWS = 200
_MARKS = {State.DONE: "good", State.FAILED: "bad", State.KILLED: "bad", State.STOPPED: "unsure"}


@dataclass(frozen=True)
class _Shown:
    """What a page shows of a job that has ended: the content of its report, or else its document as tables."""

    report: page.Content | None
    facts: Table | None
    tables: list[Table]


def shown_value(job: Job, folder: JobFolder, workspace: Workspace) -> _Shown:
    """What is known of the result of a job."""
    document = _document(folder)
    report = _report_of(job, document, workspace)
    if report is not None:
        return _Shown(report, None, [])
    facts = {name: value for name, value in document.items() if not _is_listed(value)}
    listed = [_table(name, value) for name, value in document.items() if _is_listed(value)]
    return _Shown(None, text_table("", ["name", "value"], _flat(facts)) if facts else None, listed)


def _document(folder: JobFolder) -> dict[str, Any]:
    try:
        found = json.loads(read_bytes(folder.result_file))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _report_of(job: Job, document: Mapping[str, Any], workspace: Workspace) -> page.Content | None:
    """The content of the job's report, or of the report that its last run has; only files of the results folder."""
    results = workspace.results.resolve()
    named = [Path(str(document["report"]))] if document.get("report") else []
    if job.run_id and not job.experiment_id:
        named.append(RunFolder(results / job.run_id).report)
    for path in named:
        if page.content_file(path).resolve().is_relative_to(results) and (found := page.read_content(path)):
            return found
    return None


def _is_listed(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(one, dict) for one in value)


def _table(name: str, rows: list[dict[str, Any]]) -> Table:
    heads = list(dict.fromkeys(key for row in rows for key in row))
    lines = [[_plain(row.get(head)) for head in heads] for row in rows[:_MAX_ROWS]]
    found = text_table(heading(name), [heading(head) for head in heads], lines)
    note = f"the first {_MAX_ROWS} of {len(rows):,} rows" if len(rows) > _MAX_ROWS else ""
    return Table(found.title, found.head, found.rows, found.numeric, found.marks, note)


def _plain(value: Any) -> Any:
    """A value of one cell."""
    return value if value is None or isinstance(value, int | float | str) else json.dumps(value, ensure_ascii=False)


def _flat(facts: Mapping[str, Any], above: str = "") -> list[list[Any]]:
    rows: list[list[Any]] = []
    for name, value in facts.items():
        if isinstance(value, dict) and value:
            rows += _flat(value, f"{above}{name}.")
        else:
            rows.append([f"{above}{name}", cell(_plain(value))])
    return rows


@cache
def _templates() -> Environment:
    """The templates of the pages, which use those of the reports; every value is escaped."""
    reports = templates_of_reports()
    own = PackageLoader("hdbkit.service.pages")
    made = reports.overlay(loader=ChoiceLoader([own, *filter(None, [reports.loader])]))
    made.filters = {
        **reports.filters,
        "mark": _MARKS.get,
        "moment": _moment,
        "lasted": _lasted,
        "as_yaml": _as_yaml,
        "titled": _titled,
    }
    return made


def render(name: str, **values: Any) -> Markup:
    """A page as HTML."""
    return Markup(_templates().get_template(name).render(values))  # noqa: S704 (the template escapes)


def _moment(at: datetime | None) -> str:
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC" if at else ""


def _lasted(job: Job) -> str:
    """How long a job has taken, such as ``2 min 5 s``."""
    if job.ended is None and job.state is not State.RUNNING:
        return ""
    seconds = round(((job.ended or datetime.now(UTC)) - job.created).total_seconds())
    hours, minutes = seconds // 3600, seconds % 3600 // 60
    parts = [f"{hours} h" if hours else "", f"{minutes} min" if hours or minutes else "", f"{seconds % 60} s"]
    return " ".join(filter(None, parts))


def _as_yaml(content: Any) -> str:
    return yaml.safe_dump(content, sort_keys=False, allow_unicode=True) if content else ""


def _titled(job: Job) -> str:
    """A job in a few words: its verb, its target and its label."""
    about = [job.request.get(name) for name in ("target", "base", "new", "name", "id", "label")]
    return " · ".join([job.verb, *(one for one in about if isinstance(one, str))])


_OWN = Path(__file__).parent / "static"
_SCRIPTS = ("live.js", "themed.js")
STATIC_FILES = {
    f"/static/{name}": kind for name, kind in (*ASSETS.items(), *((one, "text/javascript") for one in _SCRIPTS))
}
"""The paths of the files, and their types. They need no token."""


@cache
def static_file(path: str) -> bytes:
    """The content of a file of ``STATIC_FILES``; all but the scripts of jobs and panels is shared with sites."""
    name = path.rpartition("/")[2]
    return asset(name) if name in ASSETS else (_OWN / name).read_bytes()
