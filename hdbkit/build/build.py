"""A build, step by step; every step looks first at what is already there."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Event

from hdbkit.build.loader import Job, LoadPart, RunStatement, Sent, connect
from hdbkit.build.loaders import STOPPED, Loaders
from hdbkit.build.progress import BuildProgress, Silent, Stage
from hdbkit.config import SchemaFrom, Target, WorkloadSpec
from hdbkit.contracts import Capability, Check, Session
from hdbkit.databases import database
from hdbkit.errors import BuildFailed, InputError, SchemaProblem, TransactionError
from hdbkit.sql import Statement, statements
from hdbkit.workloads import workload
from hdbkit.workloads.build_log import LOG_TABLES, BuildLog, read_build_log

_INDEX = "index_"


ROWS_A_SECOND = 140_000
"""What one loader of a small server loads, checks and indexes included; only for the time of an estimate."""


@dataclass(frozen=True)
class Estimate:
    """What a population amounts to, before it is made: rows, bytes of text, and a rough time to build it."""

    rows: int
    size_bytes: int
    duration_s: float


@dataclass(frozen=True)
class BuildResult:
    """What a build did: rows and text it loaded itself, parts that were there before, checks of the whole."""

    rows: int
    size_bytes: int
    parts_kept: int
    duration_s: float
    checks: tuple[Check, ...]

    @property
    def passed(self) -> bool:
        """Whether no check failed."""
        return all(check.passed is not False for check in self.checks)


def estimate(spec: WorkloadSpec, loaders: int = 2) -> Estimate:
    """Expected rows and bytes of text of a population, and a rough time to build it with ``loaders`` processes."""
    parts = workload(spec.kind).parts(spec)
    rows = sum(part.rows for part in parts)
    return Estimate(rows, sum(part.size_bytes for part in parts), rows / (ROWS_A_SECOND * loaders))


def build(
    target: Target,
    spec: WorkloadSpec,
    loaders: int = 2,
    progress: BuildProgress | None = None,
    stop: Event | None = None,
) -> BuildResult:
    """Build a schema with ``loaders`` processes, or go on with the same one that was begun before.

    ``stop``, once it is set, ends the build within a second or at the end of a statement.

    Raises:
        InputError: the engine cannot do what ``spec`` asks for, or there are too few free connections.
        SchemaProblem: the schema is complete, half built as another one, or not ours. Nothing was changed.
        BuildFailed: a step failed or was stopped; what was loaded is kept.
    """
    started = time.monotonic()
    progress = progress or Silent()
    if spec.schema_from is not SchemaFrom.HDBKIT:
        raise SchemaProblem(
            f"hdbkit builds no schema of HammerDB's; build it with HammerDB, then: "
            f"hdbkit run {target.given} --schema-from {spec.schema_from.value}"
        )
    _refuse_incapable(target, spec, loaders)
    session = connect(target, spec)
    try:
        return _Build(target, spec, session, progress, stop or Event()).run(loaders, started)
    finally:
        session.close()


class _Build:
    def __init__(
        self, target: Target, spec: WorkloadSpec, session: Session, progress: BuildProgress, stop: Event
    ) -> None:
        self._target, self._spec, self._session, self._progress = target, spec, session, progress
        self._stop = stop
        self._engine, self._workload = database(target.kind), workload(spec.kind)
        self._statements: Mapping[str, Statement] = statements(self._engine.dialects, spec.kind)
        self._rows = self._size_bytes = 0

    def run(self, loaders: int, started: float) -> BuildResult:
        log = read_build_log(self._session, self._spec.kind, self._workload.tables)
        self._refuse(log, loaders)
        with self._step(Stage.TABLES):
            self._make_tables(log)
        with Loaders(self._target, self._spec, loaders, self._stop) as pool:
            with self._step(Stage.LOAD):
                self._load(pool, log)
            with self._step(Stage.INDEXES):
                pool.do(self._missing_indexes())
            with self._step(Stage.ROUTINES):
                self._make_routines()
            with self._step(Stage.STATISTICS):
                pool.do(self._statistics())
                self._session.query("finish_build")
        with self._step(Stage.CHECKS):
            checks = self._check()
        self._progress.stage(Stage.DONE)
        return BuildResult(self._rows, self._size_bytes, len(log.parts), time.monotonic() - started, checks)

    @contextmanager
    def _step(self, stage: Stage) -> Iterator[None]:
        if self._stop.is_set() and stage is not Stage.CHECKS:
            raise BuildFailed(stage.value, STOPPED)
        self._progress.stage(stage)
        try:
            yield
        except TransactionError as error:
            raise BuildFailed(stage.value, str(error)) from error

    def _refuse(self, log: BuildLog, loaders: int) -> None:
        place = f"schema {self._spec.kind} in {self._target.url}"
        if log.finished and log.spec:
            raise SchemaProblem(
                f"{place} is already built (warehouses: {log.spec.warehouses}); run: hdbkit drop {self._target.given}"
            )
        if log.spec and log.spec != self._spec:
            raise SchemaProblem(
                f"{place} is half built as another one ({_difference(log.spec, self._spec)}); "
                f"build that one, or run: hdbkit drop {self._target.given}"
            )
        free = self._engine.free_connections(self._session)
        if free is not None and free < loaders:
            raise InputError(
                f"{self._target.url} allows {free} more connections, but {loaders} loaders were asked for; "
                f"ask for {max(1, free)} or raise the server's limit"
            )

    def _make_tables(self, log: BuildLog) -> None:
        session, spec = self._session, self._spec
        if not log.schema_exists:
            self._make_schema()
        if not log.tables.issuperset(LOG_TABLES):
            session.query("create_build")
        if log.spec is None:
            session.query("insert_build_spec", spec=spec.model_dump_json())
        for table in self._workload.tables:
            if table not in log.tables:
                self._make_table(table)

    def _make_schema(self) -> None:
        try:
            self._session.query("create_schema")
        except TransactionError as error:
            raise InputError(
                f"schema {self._spec.kind} cannot be created in {self._target.url}: {error.text}; "
                "use an account that may create a schema there"
            ) from error

    def _make_table(self, table: str) -> None:
        session, partitions = self._session, self._spec.partitions
        partitioned = partitions and f"create_{table}_partitioned" in self._statements
        session.begin()
        try:
            session.query(f"create_{table}_partitioned" if partitioned else f"create_{table}", partitions=partitions)
            if partitioned and f"create_{table}_partition" in self._statements:
                for number in range(partitions):
                    session.query(f"create_{table}_partition", number=number, partitions=partitions)
            if self._spec.history_key and f"key_{table}" in self._statements:
                session.query(f"key_{table}")
            session.commit()
        except BaseException:
            session.rollback()
            raise

    def _load(self, pool: Loaders, log: BuildLog) -> None:
        parts = self._workload.parts(self._spec)
        total = sum(part.rows for part in parts)
        kept = sum(log.parts.values())
        missing = [part for part in parts if part.key not in log.parts]

        def told(sent: Sent) -> None:
            self._rows += sent.rows
            self._size_bytes += sent.size_bytes
            self._progress.loaded(kept + self._rows, total, self._size_bytes)

        self._progress.loaded(kept, total, 0)
        pool.do([LoadPart(part.key) for part in missing], told)
        done = kept + self._rows
        self._progress.loaded(done, done, self._size_bytes)

    def _check(self) -> tuple[Check, ...]:
        """A slow load is told; an engine that keeps no tables has nothing else to check."""
        slow = self._engine.slow_load(self._session)
        notes = [Check("load", None, slow)] if slow else []
        if Capability.TABLES not in self._engine.capabilities:
            return tuple(notes)
        return (*notes, *self._workload.check(self._session, self._spec))

    def _missing_indexes(self) -> list[Job]:
        there = {row[0] for row in self._session.query("list_indexes")}
        return [
            RunStatement(name)
            for name in self._statements
            if name.startswith(_INDEX) and name.removeprefix(_INDEX) not in there
        ]

    def _make_routines(self) -> None:
        if Capability.STORED_ROUTINES not in self._engine.capabilities:
            return
        there = {row[0] for row in self._session.query("list_routines")}
        for routine in self._workload.routines:
            if routine not in there:
                self._session.query(f"create_routine_{routine}")

    def _statistics(self) -> list[Job]:
        names = (f"analyze_{table}" for table in self._workload.tables)
        return [RunStatement(name) for name in names if name in self._statements]


def _refuse_incapable(target: Target, spec: WorkloadSpec, loaders: int) -> None:
    engine = database(target.kind)
    if loaders < 1:
        raise InputError(f"loaders must be 1 or more, not {loaders}")
    wanted = {
        "partitions": Capability.PARTITIONS,
        "tablespace": Capability.TABLESPACES,
        "storage_engine": Capability.STORAGE_ENGINES,
    }
    for name, capability in wanted.items():
        asked = getattr(spec, name)
        if asked and capability not in engine.capabilities:
            raise InputError(f"{engine.title} has no {capability.value} here; leave out {name}={asked}")


def _difference(there: WorkloadSpec, asked: WorkloadSpec) -> str:
    fields = [name for name in WorkloadSpec.model_fields if getattr(there, name) != getattr(asked, name)]
    return ", ".join(f"{name} {getattr(there, name)}, not {getattr(asked, name)}" for name in fields)
