"""A build, step by step; every step first checks what already exists."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Event

from hdbkit.awaiting import reported_to, stopped_by
from hdbkit.config import Target, WorkloadSpec, spec_from
from hdbkit.contracts import BuildLog, Capability, Check, Schema, Session, SessionOptions, Verb
from hdbkit.databases import database
from hdbkit.errors import (
    LASTING,
    BuildFailed,
    CannotConnect,
    ErrorClass,
    HalfBuilt,
    HdbkitError,
    InputError,
    SchemaProblem,
    TransactionError,
)
from hdbkit.loading.data_files import DataFiles
from hdbkit.loading.loaders import KEEP_ALIVE_S, STOPPED, Hosts, Loaders, LoadPart, LoadStep, PartLoaders, Sent
from hdbkit.loading.progress import BuildProgress, Silent, Stage
from hdbkit.readings import POOL_LIMITS, PoolMode, answered
from hdbkit.workloads import workload
from hdbkit.workloads.built import build_command, differences, drop_command, grown_spec
from hdbkit.workloads.checking import run_checks_at_once
from hdbkit.workloads.present import require_claim, require_grants, require_primary

_FIRST = {
    ErrorClass.RESOURCES: "provide what is lacking; ",
    ErrorClass.CONNECTION_LOST: "the server's log may state why, such as a full disk; ",
}
"""What to do before a build is resumed, by the error that ended it."""

_OWN_SESSIONS = 2
"""What a build has beside its loaders: the session of the schema and that of its claim."""
ROWS_A_SECOND = 140_000
"""Speed of one loader on a small server, including checks and indexes; for estimates."""


@dataclass(frozen=True)
class Estimate:
    """The estimated size of a population and the time to build it."""

    rows: int
    size_bytes: int
    duration_s: float


@dataclass(frozen=True)
class BuildResult:
    """The result of a build: rows and bytes it loaded, parts loaded by earlier builds, and checks.

    ``grown_from`` is the scale of the complete schema that it enlarged; empty if there was none.
    """

    rows: int
    size_bytes: int
    parts_kept: int
    duration_s: float
    checks: tuple[Check, ...]
    grown_from: str = ""
    scale: str = ""

    @property
    def passed(self) -> bool:
        """Whether no check failed."""
        return all(check.passed is not False for check in self.checks)

    def require_sound(self) -> None:
        """Raise ``HdbkitError`` if a check of the schema failed."""
        failed = [f"{check.name} ({check.detail})" for check in self.checks if check.passed is False]
        if failed:
            raise HdbkitError(f"the built schema failed {len(failed)} checks: {'; '.join(failed)}")


def estimate(spec: WorkloadSpec, loaders: int = 2) -> Estimate:
    """Estimate rows and bytes of a population, and the time to build it with ``loaders`` processes."""
    parts = workload(spec).parts()
    rows = sum(part.rows for part in parts)
    return Estimate(rows, sum(part.size_bytes for part in parts), rows / (ROWS_A_SECOND * loaders))


def build(
    target: Target,
    spec: WorkloadSpec,
    loaders: int = 2,
    progress: BuildProgress | None = None,
    stop: Event | None = None,
    from_files: Path | None = None,
    hosts: Hosts | None = None,
) -> BuildResult:
    """Build a schema with ``loaders`` processes, resume its earlier build, or add what a larger scale lacks.

    The processes make the rows themselves, or read them from the folder ``from_files``. With ``hosts``, the parts of
    the population are loaded by theirs, and the processes of this host do the rest. Setting ``stop`` ends
    the build within a second, or at the end of the current statement.

    Raises:
        InputError: the engine cannot do what ``spec`` asks for, there are too few free connections, the program that
            makes the rows is not installed, or the files have another population or not all of it.
        SchemaProblem: the schema is complete, half built with other options, or of another tool. Nothing was changed.
        BuildFailed: a step failed or was stopped; loaded parts are kept.
    """
    started = time.monotonic()
    if loaders < 1:
        raise InputError(f"loaders must be 1 or more, not {loaders}")
    if not workload(spec).tables:
        raise SchemaProblem(
            f"hdbkit builds no schema for {workload(spec).title}; build it with the tool that its tables belong to"
        )
    files = DataFiles(from_files) if from_files else None
    if files:
        files.require(spec)
    elif not hosts:
        workload(spec).require_generator()
    schema = database(target).schema(target, workload(spec))
    try:
        return _Build(target, spec, schema, progress or Silent(), stop or Event(), files, hosts).run(loaders, started)
    finally:
        schema.close()


class _Build:
    def __init__(
        self,
        target: Target,
        spec: WorkloadSpec,
        schema: Schema,
        progress: BuildProgress,
        stop: Event,
        files: DataFiles | None,
        hosts: Hosts | None,
    ) -> None:
        self._target, self._spec, self._schema, self._progress = target, spec, schema, progress
        self._stop, self._files, self._hosts = stop, files, hosts
        self._engine, self._workload = database(target), workload(spec)
        self._name = self._workload.scope(self._engine.dialects).schema
        self._rows = self._size_bytes = 0
        self._used_s = time.monotonic()

    def run(self, loaders: int, started: float) -> BuildResult:
        try:
            with stopped_by(self._stop), reported_to(self._progress.checking):
                return self._run(loaders, started)
        except KeyboardInterrupt as stop:
            stop.args = ("; ".join(filter(None, [str(stop), self._advice(None)])),)
            raise
        except BuildFailed as error:
            cause = error.__cause__
            raise BuildFailed(error.step, error.reason, self._advice(cause)) from cause

    def _advice(self, cause: BaseException | None) -> str:
        """What to do after a failure: correct a statement of the user's that fails again, else repeat the build."""
        spec, build = self._spec, build_command(self._target, self._spec)
        lasting = isinstance(cause, TransactionError) and cause.error_class in LASTING
        if lasting and spec.named != spec.kind:
            drop = drop_command(self._target, spec.named)
            return f"correct this in {spec.named}, then run: {drop}, then: {build}"
        first = _FIRST.get(cause.error_class, "") if isinstance(cause, TransactionError) else ""
        return f"{first}loaded parts are kept; to resume, run: {build}"

    def _run(self, loaders: int, started: float) -> BuildResult:
        if obstacle := self._engine.probed.hindrance:
            raise InputError(f"nothing can be built in {self._target.described}: {obstacle}")
        require_primary(self._schema)
        require_grants(self._schema, self._workload, Verb.BUILD)
        require_claim(self._schema, self._where)
        log = self._earlier()
        with ExitStack() as opened:
            hosts = opened.enter_context(self._opened(self._hosts)) if self._hosts else None
            self._check_connections(loaders + (hosts.count if hosts else 0))
            with self._step(Stage.TABLES):
                self._schema.create(self._workload.record)
            pool = opened.enter_context(Loaders(self._target, self._spec, loaders, self._stop, self._files))
            with self._step(Stage.LOAD):
                self._load(hosts or pool, log.parts)
            with self._step(Stage.INDEXES):
                pool.do(self._steps(), meanwhile=self._keep_alive)
            with self._step(Stage.ROUTINES):
                self._schema.routines()
                self._schema.finish()
        with self._step(Stage.CHECKS):
            checks = self._check(loaders)
        self._progress.stage(Stage.DONE)
        before = workload(spec_from(json.loads(log.spec))).scale if log.spec and log.finished else ""
        grown_from = before if before != self._workload.scale else ""  # else its routines were renewed
        took_s = time.monotonic() - started
        return BuildResult(
            self._rows, self._size_bytes, len(log.parts), took_s, checks, grown_from, self._workload.scale
        )

    def _steps(self) -> list[LoadStep]:
        """Indexes, and the statistics of each table after its indexes and after those of unknown tables."""
        indexes = self._schema.after_load()
        analyses = self._schema.statistics()
        waits = {
            table: frozenset(one for one, of in indexes.items() if of in {table, ""}) for table in analyses.values()
        }
        return [*map(LoadStep, indexes), *(LoadStep(name, waits[table]) for name, table in analyses.items())]

    def _opened(self, hosts: Hosts) -> AbstractContextManager[PartLoaders]:
        files = self._files.folder if self._files else None
        return hosts(self._target, self._spec, self._stop, files, lambda: self._schema.log().parts)

    @property
    def _where(self) -> str:
        return f"schema {self._name} in {self._target.described}"

    @contextmanager
    def _step(self, stage: Stage) -> Iterator[None]:
        if self._stop.is_set() and stage is not Stage.CHECKS:
            raise BuildFailed(stage.value, STOPPED)
        self._progress.stage(stage)
        try:
            require_claim(self._schema, self._where)
            yield
        except TransactionError as error:
            raise BuildFailed(stage.value, str(error)) from error

    def _earlier(self) -> BuildLog:
        """The state of an earlier build of this schema, which this build resumes or enlarges.

        Raises ``SchemaProblem`` if there is another schema.
        """
        found = None
        with suppress(HalfBuilt):
            found = self._workload.found(self._schema)
        log = self._schema.log()
        other = log.spec is not None and _difference(log.spec, self._workload.record)
        if found is None and not other:
            return log
        where, drop = self._where, drop_command(self._target, self._spec.named)
        if log.spec and self._workload.grows:
            there = spec_from(json.loads(log.spec))
            larger = grown_spec(there, self._workload)
            if larger and (larger != there or not found):
                self._spec, self._workload = larger, workload(larger)
                return log
        if found is not None:
            scale = workload(found).scale
            different = [name for name, *_ in differences(found, self._spec)]
            if not different and not other and self._schema.routine_problem(self._workload.routines):
                return log
            if self._workload.grows and different == [self._spec.scale_field]:
                reason = f"{where} has {scale} and cannot shrink to {self._workload.scale}"
                raise SchemaProblem(reason, f"to build it anew, run: {drop}")
            built = f"already built ({scale})" if scale else "already built"
            raise SchemaProblem(f"{where} is {built}; run: {drop}")
        raise SchemaProblem(f"{where} is half built with other options ({other}); use those options, or run: {drop}")

    def _check_connections(self, loaders: int) -> None:
        free = answered(lambda: self._engine.free_connections(self._schema.session), None)
        if free is not None and free < loaders:
            raise InputError(
                f"{self._target.described} allows {free} more connections, but {loaders} loaders need one each; "
                f"use {max(1, free)} loaders or raise the server's limit"
            )
        self._check_pool(loaders)

    def _check_pool(self, loaders: int) -> None:
        mode = self._engine.pooling(self._schema.session, self._target).mode
        if mode is PoolMode.DIRECT:
            return
        held = _OWN_SESSIONS if mode is PoolMode.SESSION else 1  # the claim is a transaction
        needed = loaders + _OWN_SESSIONS
        if (given := held + self._engine.served(self._target, needed - held)) < needed:
            raise InputError(
                f"{loaders} loaders and the build's own {_OWN_SESSIONS} sessions need {needed} connections of the "
                f"pool, but the pooler of {self._target.described} gave {given}; use "
                f"{max(1, given - _OWN_SESSIONS)} loaders or raise the pooler's limit: {POOL_LIMITS}"
            )

    def _load(self, pool: PartLoaders, loaded: Mapping[str, int]) -> None:
        divided = loaded or (self._files.keys if self._files else ())
        parts = self._workload.parts_for(pool.count, divided, self._engine.dialects)
        total = sum(part.rows for part in parts)
        kept = sum(loaded.values())
        missing = [part for part in parts if part.key not in loaded]

        def report(sent: Sent) -> None:
            self._rows += sent.rows
            self._size_bytes += sent.size_bytes
            self._progress.loaded(kept + self._rows, total, self._size_bytes)

        self._progress.loaded(kept, total, 0)
        pool.do([LoadPart(part.key) for part in missing if not part.alone], report, self._keep_alive)
        for part in filter(lambda part: part.alone, missing):
            pool.do([LoadPart(part.key)], report, self._keep_alive)
        done = kept + self._rows
        self._progress.loaded(done, done, self._size_bytes)

    def _keep_alive(self) -> None:
        """Use the build's own sessions, which what is between them and the server may end when they are idle."""
        if time.monotonic() < self._used_s + KEEP_ALIVE_S:
            return
        try:
            self._schema.claim()
            self._engine.version(self._schema.session)
        except TransactionError as error:
            raise BuildFailed("loading", str(error)) from error
        self._used_s = time.monotonic()

    def _check(self, count: int) -> tuple[Check, ...]:
        """Report a slow load, and check the schema with up to ``count`` sessions at once if the engine has tables."""
        session = self._schema.session
        slow = self._engine.slow_load(session)
        notes = [Check("load", None, slow)] if slow else []
        if Capability.TABLES not in self._engine.capabilities:
            return tuple(notes)
        planned = self._workload.checks(self._engine.dialects)
        more = min(count, len(planned)) - 1
        with ExitStack() as opened:
            sessions = [session, *(opened.enter_context(closing(one)) for one in self._more_sessions(more))]
            found = run_checks_at_once(planned, self._engine, sessions, self._progress.checking)
        return (*notes, *found)

    def _more_sessions(self, count: int) -> Iterator[Session]:
        """Further sessions, or fewer if the server allows no more: what was built is checked in any case."""
        scope = self._workload.scope(self._engine.dialects)
        with suppress(CannotConnect):
            for _ in range(count):
                one = self._engine.connect(self._target, scope, SessionOptions(application="hdbkit build"))
                self._engine.lift_limits(one)
                yield one


def _difference(there: str, asked: str) -> str:
    """The differences between two stored specifications; empty if they are equal."""
    ours, theirs = _fields(asked), _fields(there)
    names = [*ours, *(name for name in theirs if name not in ours)]
    return ", ".join(
        f"{name} {theirs.get(name, 'by default')}, not {ours.get(name, 'by default')}"
        for name in names
        if theirs.get(name) != ours.get(name)
    )


def _fields(record: str) -> dict[str, object]:
    """The fields of a stored specification, including storage options."""
    fields: dict[str, object] = json.loads(record)
    storage = fields.pop("storage", None)
    return {**fields, **(storage if isinstance(storage, dict) else {})}
