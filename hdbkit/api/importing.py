"""Import of settings and results from another tool's files."""

from __future__ import annotations

import glob
import hashlib
import json
import shlex
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

from hdbkit.api.not_results import settings_in
from hdbkit.config import Load, Target, WorkloadSpec
from hdbkit.config.metric import Metric
from hdbkit.config.specs import OtherSpec
from hdbkit.databases import database
from hdbkit.errors import ConfigErrors, InputError
from hdbkit.files import replace_file
from hdbkit.hammerdb import (
    HammerJob,
    HammerJobs,
    ReadCommand,
    Translation,
    is_job_file,
    is_report,
    read_jobs,
    read_log,
    read_report,
    read_settings,
    translate,
    translation,
)
from hdbkit.later import pandas as pd
from hdbkit.later import yaml
from hdbkit.other_tools import Reader, Unreadable, figures_result, file_content, file_text, measured_in
from hdbkit.plan import RunPlan
from hdbkit.results.catalog import profile_tag
from hdbkit.results.folder import RunFolder, is_run, make_folder
from hdbkit.results.manifest import Event, HostFacts, Manifest, ServerFacts, Status
from hdbkit.results.run_result import RunResult
from hdbkit.workloads import metric_of, workload
from hdbkit.workloads.present import notice_of
from hdbkit.workspace import BareWorkspace

_NAME = "hammerdb"
_TOOL = "HammerDB"
_DEFAULT_FOLDER = Path("imported")
_NOMINAL = (
    "the result was imported: what the schema counted is divided by the planned minutes, not by the measured time; "
    "latencies are those of a sample of calls of the ramp-up and the window; errors and retries are unknown"
)

_OF_OTHERS = "the result was imported from another tool's file; what the file does not state is unknown"
_TIME_LENGTH = len("20260131-120000")
_OTHER_PROGRAM = "another program measured it; hdbkit only read its file"
_DATED = "its time is that of the file, which does not state one"
_OF_EVERY_IMPORT = frozenset({_NOMINAL, _OF_OTHERS, _DATED})
_TITLES = {"TPS": "transactions", "requests/s": "requests"}


@dataclass(frozen=True)
class Imported:
    """What an import wrote, and what it left out."""

    files: tuple[Path, ...]
    """``run.yaml`` (the load), and ``targets.yaml`` if hdbkit has an engine for the database."""
    build_command: str
    run_command: str
    left_out: pd.DataFrame
    """A row per setting without a counterpart: line (0: the whole file), setting, reason."""


def import_settings(
    file: Path | str,
    folder: Path | str = _DEFAULT_FOLDER,
    *,
    benchmark: str | None = None,
    database: str | None = None,
) -> Imported:
    """Translate the settings of a HammerDB script (.tcl, .py, .sh) or XML configuration into files of hdbkit.

    Nothing of the script is executed, and no password is written.

    Args:
        file: the script or the configuration.
        folder: where ``targets.yaml`` and ``run.yaml`` are written; created if needed.
        benchmark: TPC-C or TPC-H; by default the one that the file chooses, else TPC-C.
        database: HammerDB's name of the database, such as ``pg``; by default the one that the file chooses.

    Raises:
        InputError: the file cannot be read, or one of the files to write exists.
        ConfigErrors: with all errors of the file; nothing was written.

    Example:
        >>> hdbkit.import_settings("pg.tcl", "imported").left_out  # doctest: +SKIP
    """
    if is_job_file(Path(file)):
        raise InputError(f"{file} has results; import them with import_results")
    made = translate(read_settings(Path(file)), str(file), benchmark, database)
    written = Path(folder)
    contents = _contents(made)
    for name in contents:
        if (written / name).exists():
            raise InputError(f"{written / name} exists; give another folder, or remove the file; nothing was written")
    written.mkdir(parents=True, exist_ok=True)
    for name, content in contents.items():
        replace_file(written / name, yaml.safe_dump(content, sort_keys=False, allow_unicode=True).encode())
    loaders = ["--loaders", str(made.loaders)] if made.loaders else []
    build = ["hdbkit", "build", _NAME, *made.build_words, *loaders]
    words = [*made.workload_words, "--params", str(written / "run.yaml")]
    run = ["hdbkit", "run", _NAME, *words]
    if made.user_counts:
        run = ["hdbkit", "profile", "imported", _NAME, *words, "-u", ",".join(map(str, made.user_counts))]
    where = f"HDBKIT_TARGETS={shlex.quote(str(written / 'targets.yaml'))} "
    left_out = pd.DataFrame(list(made.left_out), columns=["line", "setting", "reason"])
    return Imported(
        tuple(written / name for name in contents), where + shlex.join(build), where + shlex.join(run), left_out
    )


def _contents(made: Translation) -> dict[str, object]:
    """The content of each file, by its name."""
    return {
        "targets.yaml": {_NAME: made.target.model_dump(mode="json", exclude_unset=True)},
        "run.yaml": made.load.model_dump(mode="json", exclude_unset=True, exclude_none=True),
    }


@dataclass(frozen=True)
class ImportedRuns:
    """The runs that an import made, and what it left out."""

    run_ids: tuple[str, ...]
    """The ids of the new runs, in the order of the file."""
    left_out: pd.DataFrame
    """A row per result that is no new run: job (or ``1`` for the first one of a file), reason."""
    remarks: tuple[str, ...] = ()
    """What must be known of how a file states its figures, such as a sample that was scaled."""


class ImportVerbs(BareWorkspace):
    """Verbs that import results."""

    def import_results(self, file: Path | str) -> ImportedRuns:
        """Import runs that another tool measured, which lists, comparisons and reports then show.

        It reads HammerDB's database of jobs (``hammer.DB``), its log, its jobs as JSON and its documents of results;
        what pgbench and sysbench print, and pgbench's log of each transaction; of BenchBase summaries
        (``*.summary.json``) and lists of requests (``*.raw.csv``).

        A run has the figures that the file states, and no others. It is marked as measured by that tool. Runs of one
        profile id of HammerDB have a profile: ``hammerdb-1000``. The file is not changed; what was imported before is
        left out.

        Raises:
            InputError: the file cannot be read, is too large or has no result, or the results folder cannot be
                written.

        Example:
            >>> hdbkit.import_results("/tmp/hammer.DB").run_ids  # doctest: +SKIP
        """
        root, path = self.results, Path(file)
        run_ids, left_out, remarks = [], list[tuple[str, str]](), list[str]()
        for name, made in _runs_in(path):
            manifest = _made(made)
            if isinstance(manifest, Manifest) and (before := _before(root, manifest.run_id)):
                manifest = f"it was imported before as {before}"
            if isinstance(manifest, str):
                left_out.append((name, manifest))
                continue
            _write_run(RunFolder(root / manifest.run_id), manifest)
            run_ids.append(manifest.run_id)
            remarks += [f"{manifest.run_id}: {one}" for one in manifest.warnings if one not in _OF_EVERY_IMPORT]
        return ImportedRuns(tuple(run_ids), pd.DataFrame(left_out, columns=["job", "reason"]), tuple(remarks))


def _before(root: Path, run_id: str) -> str:
    """The run of the same content, whatever the time of the file; empty if there is none."""
    alike = root.glob(f"*{glob.escape(run_id[_TIME_LENGTH:])}")
    return next((one.name for one in alike if is_run(root, one.name)), "")


_Run = Callable[[], Manifest]


def _made(made: _Run | str) -> Manifest | str:
    """The manifest of a run, or why there is none."""
    if isinstance(made, str):
        return made
    try:
        return made()
    except ConfigErrors as error:
        return f"its settings are not valid: {error.problems[0].where} {error.problems[0].what}"
    except Unreadable as error:
        return str(error)
    except (ValueError, OverflowError):
        return "its figures are not possible"


def _runs_in(path: Path) -> Iterator[tuple[str, _Run | str]]:
    """Each result in a file by its name: what makes the manifest of a run of it, or why it is left out."""
    if is_job_file(path):
        jobs = read_jobs(path)
    else:
        content = file_content(path)
        ended = datetime.fromtimestamp(path.stat().st_mtime, UTC)
        if found := measured_in(path, content):
            for number, (part, read) in enumerate(found, 1):
                yield str(number), partial(_run_of_other, read, part, ended)
            return
        jobs = _jobs_in(file_text(content), path)
    for job in jobs.timed:
        started = job.started or datetime.fromtimestamp(path.stat().st_mtime, UTC)
        yield job.job_id, partial(_run_of, job, started, str(path))
    yield from jobs.left_out


def _jobs_in(text: str, path: Path) -> HammerJobs:
    """The jobs of HammerDB in a text: documents of its results, a log, or a job as JSON. Raises ``InputError``."""
    try:
        content = json.loads(text) if text.lstrip().startswith(("{", "[")) else None
    except (ValueError, RecursionError):
        content = None  # read_log says why
    read = [read_report(one) for one in (content if isinstance(content, list) else [content]) if is_report(one)]
    if read:
        return HammerJobs([job for one in read for job in one.timed], [each for one in read for each in one.left_out])
    if said := settings_in(path, text):
        raise InputError(said)
    return read_log(text, path.name)


def _write_run(folder: RunFolder, manifest: Manifest) -> None:
    make_folder(folder.path)
    try:
        folder.write(manifest)
    except OSError as error:
        shutil.rmtree(folder.path, ignore_errors=True)
        raise InputError(f"the folder {folder.path} cannot be filled ({error.strerror}); free space there") from None


def _run_of(job: HammerJob, started: datetime, source: str) -> Manifest:
    """The manifest of a run that a job measured. Raises ``ConfigErrors`` if its settings are not valid."""
    users = ReadCommand(0, "vuset", ("vu", str(job.virtual_users)))
    made = translate([*job.settings, users], source, job.benchmark)
    spec, load, kind = made.workload, made.load, workload(made.workload)
    is_sized = spec.scale_field in spec.model_fields_set
    plan = _plan(job.job_id.encode(), started, made.target, spec, load, spec.slug if is_sized else spec.kind)
    return _manifest(
        plan,
        _TOOL,
        started,
        figures_result(float(job.value), load.duration_s, job.profiled, engine_tpm=float(job.tpm)),
        notice=notice_of(kind, database(made.target)),
        operations=list(kind.operations),
        mix=kind.mix(load),
        metric=metric_of(kind, load),
        paced=load.paced,
        workload_title=kind.title,
        noun=kind.noun,
        scale=kind.scale if is_sized else "",
        size=spec.size if is_sized else None,
        host=HostFacts(**job.host),
        warnings=[_NOMINAL, *([] if job.started else [_DATED])],
        software={"hdbkit": version("hdbkit"), **({_TOOL: job.version} if job.version else {})},
        server=ServerFacts(kind=made.target.kind, version=job.server_version or None),
        tags=[_NAME, *([profile_tag(f"{_NAME}-{job.profile_id}")] if job.profile_id else [])],
        note=f"{_TOOL} job {job.job_id}",
    )


def _run_of_other(read: Reader, content: bytes, ended: datetime) -> Manifest:
    """The manifest of a run of another tool, which is that of its database if the file names it.

    Raises:
        ConfigErrors: its number of users or its length is not possible.
        Unreadable: it lacks what every result needs.
    """
    found = read()
    named = translation()["others"].get(found.database)
    target = Target(kind=translation()["databases"][named]["kind"] if named else "unknown")
    engine = database(target) if named else None
    window_s = found.result.window_s
    load = Load(virtual_users=found.users, duration_s=max(1, round(window_s)), rampup_s=0)
    started = found.started or ended - timedelta(seconds=window_s)
    spec = OtherSpec(kind=found.tool.lower())
    return _manifest(
        _plan(content, started, target, spec, load, spec.kind),
        found.tool,
        started,
        found.result,
        scale=found.scale,
        notice="; ".join(filter(None, [_OTHER_PROGRAM, engine.publishing if engine else ""])),
        operations=list(found.result.operations),
        paced=found.is_paced,
        metric=Metric(name=found.unit, title=f"{_TITLES[found.unit]} per second", unit=found.unit),
        software={"hdbkit": version("hdbkit"), **({found.tool: found.version} if found.version else {})},
        server=ServerFacts(
            kind=target.kind, title=engine.title if engine else None, version=found.server_version or None
        ),
        warnings=[_OF_OTHERS, *found.remarks, *([] if found.started else [_DATED])],
    )


def _plan(content: bytes, started: datetime, target: Target, spec: WorkloadSpec, load: Load, slug: str) -> RunPlan:
    """The plan of an imported run, whose id follows from its content: a second import finds it."""
    mark = hashlib.sha256(content).hexdigest()[:6]
    run_id = f"{started:%Y%m%d-%H%M%S}-{target.kind}-{slug}-u{load.virtual_users}-{mark}"
    return RunPlan(run_id=run_id, target=target, workload=spec, load=load)


def _manifest(plan: RunPlan, tool: str, started: datetime, result: RunResult, **known: Any) -> Manifest:
    """The manifest of an imported run; ``known``: what only some of them have."""
    ended = started + timedelta(seconds=plan.load.rampup_s + plan.load.duration_s)
    every: dict[str, Any] = {
        "run_id": plan.run_id,
        "status": Status.DONE,
        "history": [Event(status=Status.STARTING, at=started), Event(status=Status.DONE, at=ended)],
        "plan": plan,
        "workload_title": tool,
        "noun": "transaction",
        "measured_by": tool,
        "software": {"hdbkit": version("hdbkit")},
        "server": ServerFacts(kind=plan.target.kind),
        "result": result,
        "tags": [tool.lower()],
    }
    return Manifest(**{**every, **known})
