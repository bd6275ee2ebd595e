"""Import of settings and results from another tool's files."""

from __future__ import annotations

import hashlib
import shlex
import shutil
from dataclasses import dataclass
from datetime import timedelta
from importlib.metadata import version
from pathlib import Path

import pandas as pd
import yaml

from hdbkit.databases import database
from hdbkit.errors import ConfigErrors, InputError
from hdbkit.files import replace_file
from hdbkit.hammerdb import Given, Job, Profiled, Translation, is_job_file, read_jobs, read_settings, translate
from hdbkit.plan import RunPlan
from hdbkit.results.catalog import profile_tag
from hdbkit.results.folder import RunFolder, is_run, make_folder
from hdbkit.results.manifest import Event, HostFacts, Manifest, ServerFacts, Status
from hdbkit.results.run_result import ClientUse, OperationResult, RunResult
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


@dataclass(frozen=True)
class Imported:
    """What an import wrote, and what it left out."""

    files: tuple[Path, ...]
    """``run.yaml`` (the load), and ``targets.yaml`` if hdbkit has an engine for the database."""
    build_command: str
    run_command: str
    left_out: pd.DataFrame
    """A row per setting without a counterpart: line (0: the whole file), setting, reason."""


def import_hammerdb(
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
        >>> hdbkit.import_hammerdb("pg.tcl", "imported").left_out  # doctest: +SKIP
    """
    if is_job_file(Path(file)):
        raise InputError(f"{file} is a database of jobs, which has results; import them with import_hammerdb_jobs")
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
class ImportedJobs:
    """The runs that an import of jobs made, and the jobs that it left out."""

    run_ids: tuple[str, ...]
    """The ids of the new runs, oldest first."""
    left_out: pd.DataFrame
    """A row per job that is no new run: job, reason."""


class ImportVerbs(BareWorkspace):
    """Verbs that import results."""

    def import_hammerdb_jobs(self, file: Path | str) -> ImportedJobs:
        """Import the timed jobs of HammerDB's SQLite file (``hammer.DB``) as runs, which lists and comparisons show.

        A run has the job's metric and engine TPM, and the latencies of its time profile if there is one. It is marked
        as measured by HammerDB, with a warning of what that means. Runs of one profile id have a profile:
        ``hammerdb-1000``. The file is not changed; a job that was imported before is left out.

        Raises:
            InputError: the file cannot be read, or is no database of jobs, or the results folder cannot be written.

        Example:
            >>> hdbkit.import_hammerdb_jobs("/tmp/hammer.DB").run_ids  # doctest: +SKIP
        """
        if not is_job_file(Path(file)):
            raise InputError(f"{file} is not a database of jobs")
        root, found = self.results, read_jobs(Path(file))
        run_ids, left_out = [], list(found.left_out)
        for job in found.timed:
            try:
                manifest = _run_of(job, str(file))
            except ConfigErrors as error:
                left_out.append((job.job_id, f"its settings are not valid: {error.problems[0]}"))
                continue
            if is_run(root, manifest.run_id):
                left_out.append((job.job_id, f"it was imported before as {manifest.run_id}"))
                continue
            _write_run(RunFolder(root / manifest.run_id), manifest)
            run_ids.append(manifest.run_id)
        return ImportedJobs(tuple(run_ids), pd.DataFrame(left_out, columns=["job", "reason"]))


def _write_run(folder: RunFolder, manifest: Manifest) -> None:
    make_folder(folder.path)
    try:
        folder.write(manifest)
    except OSError as error:
        shutil.rmtree(folder.path, ignore_errors=True)
        raise InputError(f"the folder {folder.path} cannot be filled ({error.strerror}); free space there") from None


def _run_of(job: Job, source: str) -> Manifest:
    """The manifest of a run that a job measured. Raises ``ConfigErrors`` if its settings are not valid."""
    users = Given(0, "vuset", ("vu", str(job.virtual_users)))
    made = translate([*job.settings, users], source, job.benchmark)
    spec, load, kind = made.workload, made.load, workload(made.workload)
    target = made.target
    mark = hashlib.sha256(job.job_id.encode()).hexdigest()[:6]
    run_id = f"{job.started:%Y%m%d-%H%M%S}-{target.kind}-{spec.slug}-u{load.virtual_users}-{mark}"
    ended = job.started + timedelta(seconds=load.rampup_s + load.duration_s)
    return Manifest(
        run_id=run_id,
        notice=notice_of(kind, database(target)),
        status=Status.DONE,
        history=[Event(status=Status.STARTING, at=job.started), Event(status=Status.DONE, at=ended)],
        plan=RunPlan(run_id=run_id, target=target, workload=spec, load=load),
        operations=list(kind.operations),
        mix=kind.mix(load),
        metric=metric_of(kind, load),
        paced=load.paced,
        workload_title=kind.title,
        noun=kind.noun,
        scale=kind.scale,
        size=spec.size,
        measured_by=_TOOL,
        software={"hdbkit": version("hdbkit")},
        host=HostFacts(**job.host),
        server=ServerFacts(kind=target.kind),
        warnings=[_NOMINAL],
        result=_result_of(job, load.duration_s),
        tags=[_NAME, *([profile_tag(f"{_NAME}-{job.profile_id}")] if job.profile_id else [])],
        note=f"{_TOOL} job {job.job_id}",
    )


def _result_of(job: Job, window_s: float) -> RunResult:
    """The figures of a job; what HammerDB does not keep is None."""
    return RunResult(
        metric_value=float(job.value),
        engine_tpm=float(job.tpm),
        window_s=window_s,
        completed=None,
        failed=None,
        retries=None,
        operations_per_s=None,
        operations={name: _latencies(one) for name, one in job.profiled.items()},
        errors={},
        client_cpu_us_per_operation=None,
        server_cpu_us_per_operation=None,
        per_operation=ClientUse(),
        host_cpu_pct=None,
        littles_law=None,
        counters={},
    )


def _latencies(one: Profiled) -> OperationResult:
    return OperationResult(
        count=one.calls,
        committed=None,
        rolled_back=None,
        failed=None,
        retries=None,
        mean_us=one.times_us.get("avg"),
        p50_us=one.times_us.get("p50"),
        p90_us=one.times_us.get("p90"),
        p95_us=one.times_us.get("p95"),
        p99_us=one.times_us.get("p99"),
        p999_us=one.times_us.get("p999"),
        max_us=one.times_us.get("max"),
    )
