"""A static site of chosen runs, sweeps and notebooks: an index with search, and a page for each."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path

from hdbkit.api.result import Result
from hdbkit.api.stored_runs import ResultVerbs
from hdbkit.api.sweeping import SweepResult
from hdbkit.charts.chart import Chart
from hdbkit.errors import DamagedResult, InputError
from hdbkit.files import read_bytes, replace_file
from hdbkit.later import pandas as pd
from hdbkit.report.notebook_page import NotebookPage, notebook_page
from hdbkit.report.page import content_file, read_content
from hdbkit.report.run_report import answer as run_answer
from hdbkit.report.site import Entry, write_assets, write_index, write_site_page
from hdbkit.results.batch_folder import BatchFolder, JobStatus
from hdbkit.results.catalog import find_run
from hdbkit.results.experiment_folder import experiment_folders, find_experiment
from hdbkit.results.experiment_runs import each_run
from hdbkit.results.finding import Verdict
from hdbkit.results.folder import RunFolder, is_run, make_folder
from hdbkit.results.manifest import Manifest, Status

_COLUMNS = ("kind", "name", "state", "page")
_RECORD = "site.json"
"""The file of a site that names its pages; a folder with other content has none, and is not written to."""
_KEPT_CHARTS = ("configurations", "effects", "throughput", "latency")
"""The charts of which the first is the thumbnail of a result."""

OnPage = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Site:
    """A site that was written."""

    index: Path
    """Its first page."""
    pages: pd.DataFrame
    """One row per page, as the index lists them: kind (run, sweep or notebook), name, state, page (its file)."""
    skipped: Sequence[str] = ()
    """A sentence for each result that cannot be read."""


@dataclass(frozen=True)
class _Chosen:
    runs: list[Result]
    sweeps: list[SweepResult]
    notebooks: list[Path]

    @property
    def links(self) -> dict[str, str]:
        """The page of each run and sweep, by its id."""
        pages = {one.run_id: f"runs/{one.run_id}.html" for one in self.runs}
        return pages | {one.experiment_id: f"sweeps/{one.experiment_id}.html" for one in self.sweeps}


def _ignore(_: str, __: int, ___: int) -> None:
    """Watch nothing."""


class SiteVerbs(ResultVerbs):
    """Verbs that publish results."""

    def site(
        self,
        folder: Path | str,
        names: Sequence[str] = (),
        *,
        where: str | None = None,
        title: str = "Results",
        watch: OnPage = _ignore,
    ) -> Site:
        """Write a static site that any web server can serve, and that opens from a folder: no page needs another
        host.

        Args:
            folder: where; a site of an earlier call is replaced, a folder with anything else is refused.
            names: runs and sweeps by their ids, unique parts of ids or labels, batches by their ids, notebooks by
                their paths. A sweep brings its runs. Without ``names`` and ``where`` all results of the workspace.
            where: further runs: a filter as that of :func:`runs`.
            title: the heading of the index.
            watch: called before each page with its name, its number from 1, and the number of pages.

        Raises:
            InputError: there is no such result, the filter is not valid, or the folder holds something else; nothing
                was written.

        Example:
            >>> hdbkit.site("public", ["nightly", "last"], title="Release 2").index  # doctest: +SKIP
        """
        folder = Path(folder)
        earlier = _pages_of_earlier(folder)
        chosen = _chosen(self, names, where)
        total = len(chosen.runs) + len(chosen.sweeps) + len(chosen.notebooks)
        if not total:
            raise InputError(f"there are no finished results to show in {self.results}; nothing was written")
        make_folder(folder, exist_ok=True, to_publish=True)
        replace_file(folder / _RECORD, json.dumps(sorted(earlier)).encode())
        write_assets(folder)
        entries: list[Entry] = []
        skipped, links = [], chosen.links
        work = chain(
            ((one.experiment_id, partial(_sweep_entry, folder, one, links)) for one in chosen.sweeps),
            ((one.run_id, partial(_run_entry, folder, one, links)) for one in chosen.runs),
            ((str(one), partial(_notebook_entry, folder, one, links)) for one in chosen.notebooks),
        )
        for number, (name, write) in enumerate(work, 1):
            watch(name, number, total)
            try:
                entries.append(write())
            except DamagedResult as error:
                skipped.append(str(error))
        entries.sort(key=lambda one: one.facts["at"], reverse=True)
        listed = self.runs()
        listed = listed[listed["run_id"].isin([one.facts["name"] for one in entries])]
        runs = listed.html(lambda run_id: chosen.links[run_id], dated=True) if len(listed) else ""
        index = write_index(folder, title, entries, runs=runs)
        _replace_earlier(folder, earlier, [one.link for one in entries])
        rows = [(one.facts["kind"], one.facts["name"], one.state, folder / one.link) for one in entries]
        return Site(index, pd.DataFrame(rows, columns=list(_COLUMNS)), skipped)


def _pages_of_earlier(folder: Path) -> set[str]:
    """The pages that an earlier site has in ``folder``. Raises ``InputError`` if the folder holds something else."""
    if not folder.exists():
        return set()
    try:
        found = json.loads(read_bytes(folder / _RECORD))
        return {str(one) for one in found if not Path(str(one)).is_absolute() and ".." not in Path(str(one)).parts}
    except (OSError, ValueError, TypeError):
        if folder.is_dir() and not any(folder.iterdir()):
            return set()
        raise InputError(f"{folder} holds something else than a site of hdbkit; give a new or empty folder") from None


def _replace_earlier(folder: Path, earlier: set[str], written: Sequence[str]) -> None:
    """Remove the pages of an earlier site that were not written again."""
    for name in earlier - set(written):
        (folder / name).unlink(missing_ok=True)
    replace_file(folder / _RECORD, json.dumps(sorted(written)).encode())


def _chosen(lab: ResultVerbs, names: Sequence[str], where: str | None) -> _Chosen:
    """What the site shows, newest first, each once; a sweep brings its runs."""
    root = lab.results
    found_runs: dict[str, RunFolder] = {}
    sweeps: dict[str, SweepResult] = {}
    notebooks: dict[Path, None] = {}
    for name in names:
        _add(root, name, found_runs, sweeps, notebooks)
    if where is not None or not names:
        listed = lab.runs(where)
        found_runs |= {one: RunFolder(root / one) for one in listed.loc[listed["metric_value"].notna(), "run_id"]}
    if where is None and not names:
        sweeps |= {one.experiment_id: SweepResult(one) for one in experiment_folders(root, "sweep")}
        notebooks |= dict.fromkeys(chain.from_iterable(map(_executed, sorted((root / "batches").glob("*")))))
    for one in sweeps.values():
        done = each_run(one.runs)
        ids = done.loc[done["run_id"].notna() & (done["status"] == "done"), "run_id"]
        found_runs |= {run_id: RunFolder(root / run_id) for run_id in ids if is_run(root, run_id)}
    results = [Result(one, lab) for one in found_runs.values()]
    return _Chosen([one for one in results if one.manifest.result], list(sweeps.values()), list(notebooks))


def _add(
    root: Path,
    name: str,
    found_runs: dict[str, RunFolder],
    sweeps: dict[str, SweepResult],
    notebooks: dict[Path, None],
) -> None:
    """Add what a name stands for. Raises ``InputError`` if it stands for nothing."""
    if name.endswith(".ipynb"):
        if not Path(name).is_file():
            raise InputError(f"there is no notebook {name}")
        notebooks[Path(name)] = None
    elif name and (root / "batches" / name / "batch.json").is_file():
        notebooks.update(dict.fromkeys(_executed(root / "batches" / name)))
    else:
        try:
            run = find_run(root, name)
            found_runs[run.run_id] = run
        except InputError as error:
            try:
                sweep = SweepResult(find_experiment(root, name, "sweep"))
            except InputError:
                raise error from None
            sweeps[sweep.experiment_id] = sweep


def _executed(batch: Path) -> Iterator[Path]:
    """The executed notebooks of a batch."""
    return (one for one in sorted(batch.glob("*.ipynb")) if one.is_file())


def _run_entry(folder: Path, result: Result, links: Mapping[str, str]) -> Entry:
    """Write the page of a run, and give its line of the index."""
    manifest, page = result.manifest, links[result.run_id]
    _write_report(folder, page, result.run_id, result.folder.report, result.report, links)
    plan = manifest.plan
    state, mark = _ended(manifest)
    return Entry(
        title=manifest.metric.text(result.metric_value) if result.metric_value is not None else result.run_id,
        link=page,
        state=state,
        mark=mark,
        verdict=run_answer(manifest, below_value=result.metric_value is not None),
        about=result.run_id,
        facts={
            "kind": "run", "name": result.run_id, "at": result.run_id, "state": state,
            "database": plan.target.kind, "workload": plan.workload.kind,
        },
    )  # fmt: skip


def _ended(manifest: Manifest) -> tuple[str, str]:
    """How a run ended, in words, and their mark."""
    if any(check.passed is False for check in manifest.checks):
        return "check failed", "bad"
    return (str(manifest.status), "good") if manifest.status is Status.DONE else (str(manifest.status), "unsure")


def _sweep_entry(folder: Path, done: SweepResult, links: Mapping[str, str]) -> Entry:
    """Write the page of a sweep, and give its line of the index."""
    page, plan = links[done.experiment_id], done.plan
    _write_report(folder, page, done.experiment_id, done.folder.report, done.report, links)
    found = {ratio.verdict for ratio in done.cell_ratios if ratio.verdict is not Verdict.BASELINE}
    state, mark = next(((words, mark) for verdict, words, mark in _OF_SWEEPS if verdict in found), _NO_VERDICT)
    settings = ", ".join(plan.spec.grid)
    runs_done = int((each_run(done.runs)["status"] == "done").sum())
    about = [
        f"sweep of {settings}",
        f"{len(plan.configurations)} configurations",
        f"{runs_done} runs",
        done.experiment_id,
    ]
    return Entry(
        title=str(plan.spec.question or f"Which values of {settings} are fastest?"),
        link=page,
        state=state,
        mark=mark,
        verdict=done.answer,
        about=" · ".join(about),
        facts={
            "kind": "sweep", "name": done.experiment_id, "at": done.experiment_id, "state": state,
            "database": plan.target.kind, "workload": plan.spec.workload.kind if plan.spec.workload else "",
        },
        thumbnail=_thumbnail(done.charts),
    )  # fmt: skip


_OF_SWEEPS = (
    ("faster", "faster found", "good"),
    ("undecided", "undecided", "unsure"),
    ("slower", "baseline is fastest", "good"),
    ("equivalent", "equivalent", "good"),
)
"""The state of a sweep by the first of these verdicts that it has."""
_NO_VERDICT = ("no verdict", "unsure")


def _write_report(
    folder: Path, page: str, title: str, report: Path, write: Callable[[], Path], links: Mapping[str, str]
) -> None:
    """Write the page of a report; a report that the result did not have is removed from the results again."""
    before = {one for one in (report, content_file(report)) if one.exists()}
    content = read_content(write(), {one: f"../{link}" for one, link in links.items() if link.startswith("runs/")})
    assert content is not None, "a report that was just written can be read"
    for one in {report, content_file(report)} - before:
        one.unlink(missing_ok=True)
    write_site_page(folder, page, title, content)


def _thumbnail(charts: Callable[[], Mapping[str, Chart]]) -> str:
    """The chart that shows most of a result, as a small image."""
    found = charts()
    ordered = [*filter(None, map(found.get, _KEPT_CHARTS)), *found.values()]
    return ordered[0].thumbnail() if ordered else ""


def _notebook_entry(folder: Path, path: Path, links: Mapping[str, str]) -> Entry:
    """Write the page of a notebook, and give its line of the index."""
    read, batch = notebook_page(path), BatchFolder(path.parent)
    page = f"notebooks/{batch.batch_id}-{path.stem}.html"
    write_site_page(folder, page, read.title, read.content)
    record = batch.records().get(path.stem)
    return notebook_entry(
        read,
        path.stem,
        page,
        {one: links[one] for one in read.ids if one in links},
        failed=record.error if record and record.status is JobStatus.FAILED else "",
        about=f"notebook {path.stem}" + (f" of the batch {batch.batch_id}" if record else ""),
        at=f"{record.started:%Y%m%d-%H%M%S}" if record else max(read.ids, default=""),
    )


def notebook_entry(
    read: NotebookPage, name: str, page: str, links: Mapping[str, str], *, failed: str, about: str, at: str
) -> Entry:
    """The line of a notebook in an index; ``failed`` is its error, ``links`` lead to the results that it shows."""
    state = "failed" if failed else "done"
    return Entry(
        title=f"{read.title}: {name}" if name != read.title else name,
        link=page,
        state=state,
        mark="bad" if failed else "good",
        verdict=failed or read.answer,
        about=about,
        facts={"kind": "notebook", "name": name, "at": at, "state": state},
        links=links,
        thumbnail=read.thumbnail,
    )
