"""A verified connection: build, check and drop its schema, read its settings; and its rows as files."""

from __future__ import annotations

import html
import warnings
from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import Any

from pydantic import SecretStr

from hdbkit.config import Target, WorkloadSpec
from hdbkit.config.cluster import Cluster
from hdbkit.config.passwords import ADMIN_PASSWORD_VARIABLE, PASSWORD_VARIABLE, of_variable
from hdbkit.config.quantities import quantity, quantity_text
from hdbkit.contracts import Capability, Check, Database, PlannedCheck, Schema, Verb, Workload
from hdbkit.control_groups import limits
from hdbkit.databases import database
from hdbkit.errors import CannotConnect, HalfBuilt, InputError, NoAccess, TransactionError
from hdbkit.execution.server_host import host_facts
from hdbkit.later import pandas as pd
from hdbkit.loading import BuildProgress, BuildResult, DataFiles, Format, Progress, write_population
from hdbkit.loading import build as build_schema
from hdbkit.loading import drop as drop_schema
from hdbkit.loading.data_files import WrittenData
from hdbkit.servers import control
from hdbkit.servers.values import allowed, with_unit
from hdbkit.sql import SERVER_STATEMENTS, statements
from hdbkit.workloads import specification
from hdbkit.workloads import workload as workload_of
from hdbkit.workloads.checking import Started, run_checks
from hdbkit.workloads.present import present_schema, require_grants, schema_in
from hdbkit.workspace import BareWorkspace


@dataclass(frozen=True)
class DropResult:
    """The dropped objects of a schema, such as ``table stock``."""

    location: str
    """The URL of the target."""
    dropped: tuple[str, ...]

    @property
    def objects(self) -> pd.DataFrame:
        """One row per object: kind (table or routine) and name."""
        return pd.DataFrame([one.split(" ", 1) for one in self.dropped], columns=["kind", "name"])

    def _repr_html_(self) -> str:
        return f"<p>{html.escape(str(self))}</p>{self.objects.to_html(index=False)}"

    def __str__(self) -> str:
        return f"dropped {len(self.dropped)} objects in {self.location}"


@dataclass(frozen=True)
class Maintenance:
    """What maintenance of a server did."""

    duration_s: float
    """0 if the account may not do it."""
    before: dict[str, float]
    """The amounts of background work that the server reports, such as ``dirty pages``."""
    after: dict[str, float]
    notes: tuple[str, ...]
    """Why it is incomplete, if it is."""

    def __str__(self) -> str:
        amounts = [f"{name} {self.before[name]:,.0f} to {left:,.0f}" for name, left in self.after.items()]
        done = [*amounts, f"in {self.duration_s:.1f} s"] if self.duration_s else []
        return "; ".join(filter(None, ("; ".join(self.notes), f"maintenance: {', '.join(done)}" if done else "")))


class Connection:
    """A verified connection to a database."""

    def __init__(self, target: Target, version: str, created: list[str]) -> None:
        self.target, self.version, self.created = target, version, created

    def build(
        self,
        workload: WorkloadSpec | Path | str | None = None,
        *,
        loaders: int | None = None,
        progress: BuildProgress | None = None,
        stop: Event | None = None,
        from_files: Path | str | None = None,
        cluster: Cluster | str | None = None,
        **fields: Any,
    ) -> BuildResult:
        """Build the schema, or continue an interrupted build; return the loaded rows and the checks of the schema.

        Args:
            workload: a specification, the name of a workload, or a folder that defines one; by default hdbkit's
                default workload.
            loaders: the number of loading processes; by default one per core. With a cluster, that of each host, at
                most one per thread of its worker.
            progress: called with the build's stage, rows and bytes.
            stop: set this event from another thread to stop the build; a later build continues it.
            from_files: a folder of :func:`hdbkit.datagen` that has the rows; without a workload and fields, the
                schema is that of the files.
            cluster: load hosts that load the rows, as in :class:`hdbkit.config.Load`; each reads ``from_files`` at
                the same path.
            fields: fields of the specification, such as ``partitions=4``.

        Raises:
            BuildFailed: a step failed or was stopped; the loaded data is kept.
            InputError: the schema already exists, or the database contains something else; nothing was changed.

        A cluster whose scheduler has no encryption is a ``UserWarning``.

        Example:
            >>> hdbkit.connect("postgresql://bench@db1/lab").build("my-workload/").passed  # doctest: +SKIP
        """
        files = Path(from_files) if from_files else None
        named = DataFiles(files).spec if files and workload is None else workload
        spec = specification(named, **fields)
        count = loaders or limits().cores
        hosts = None
        if cluster:
            asked = Cluster.given(cluster)
            if asked.warning:
                warnings.warn(asked.warning, stacklevel=2)
            from hdbkit.cluster.loading import cluster_loaders  # imported only when used

            hosts = cluster_loaders(asked, loaders)
        return build_schema(self.target, spec, count, progress, stop, files, hosts)

    def schema(self, workload: WorkloadSpec | Path | str | None = None, **fields: Any) -> WorkloadSpec | None:
        """The specification of the schema in the database; None if there is no schema.

        ``schema_from="hammerdb"`` looks for a schema that HammerDB created.

        Raises:
            SchemaProblem: the schema is incomplete, or was created by something else.
        """
        asked = workload_of(specification(workload, **fields))
        schema = database(self.target).schema(self.target, asked)
        try:
            return asked.found(schema)
        finally:
            schema.close()

    def check(
        self,
        workload: WorkloadSpec | Path | str | None = None,
        *,
        answers: bool = False,
        answers_seed: int | None = None,
        progress: Started = lambda _: None,
        **fields: Any,
    ) -> pd.DataFrame:
        """Check row counts, indexes, routines and consistency; return one row per check: name, passed, detail.

        A statement that fails or reaches a timeout leaves its own check undecided, with the reason.

        Args:
            workload: which schema: as for :meth:`build`. ``schema_from="hammerdb"`` checks a schema that HammerDB
                created, for the conditions that HammerDB keeps.
            answers: check also the answers of the operations against a reference, where the workload has one.
            answers_seed: the seed of the operations' parameters; by default that of the schema.
            progress: called with the name of each check and its statement, as that is sent.
            fields: fields of the specification.

        Raises:
            InputError: there is no schema, it has another scale, the database does not store tables, or there is no
                reference of the answers.

        Example:
            >>> hdbkit.connect("postgresql://bench@db1/lab").check().query("passed == False")  # doctest: +SKIP
        """
        engine = database(self.target)
        if Capability.TABLES not in engine.capabilities:
            raise InputError(f"the {engine.title} stores no tables that can be checked")
        asked = workload_of(specification(workload, **fields))
        schema = engine.schema(self.target, asked)
        try:
            found = _checkable(schema, asked)
            engine.lift_limits(schema.session)
            planned = [*found.checks(engine.dialects), *(_answers(found, answers_seed) if answers else ())]
            return checks_frame(list(run_checks(planned, engine, schema.session, progress)))
        finally:
            schema.close()

    def drop(self, workload: WorkloadSpec | Path | str | None = None, **fields: Any) -> DropResult:
        """Remove only the schema's own tables and routines; return the removed objects.

        Raises:
            SchemaProblem: there is no such schema, or a given field, such as ``partitions=4``, has another value
                in it. Nothing was changed.
        """
        spec = specification(workload, **fields)
        if spec.model_fields_set - spec.identity.model_fields_set:
            with suppress(HalfBuilt):
                present_schema(self.target, spec)
        return DropResult(self.target.url, tuple(drop_schema(self.target, spec)))

    def settings(self) -> pd.DataFrame:
        """Every setting of the server: value, unit, default, range, and whether a change needs a reload or restart.

        ``text`` is the value with its usual unit (``128MB``), ``allowed`` the range or choices as text.

        Raises:
            InputError: the engine has no settings.
        """
        engine = database(self.target)
        if Capability.SETTINGS not in engine.capabilities:
            raise InputError(f"{engine.title} has no settings that hdbkit can read and change")
        found = control(self.target).settings().values()
        rows = [{**vars(one), "text": with_unit(one, one.value), "allowed": allowed(one)} for one in found]
        return pd.DataFrame(rows).set_index("name")

    def maintain(self) -> Maintenance:
        """Let the server finish its background work, so that consecutive runs start alike.

        Old row versions are removed, and changed pages are written (purge, vacuum, checkpoint). If the target sets
        ``may_change_settings``, settings of MariaDB and MySQL that speed this up are changed for that time.

        Raises:
            InputError: the engine has no settings, and so no such commands.

        Example:
            >>> print(hdbkit.connect("lab").maintain())  # doctest: +SKIP
        """
        engine, notes = database(self.target), list[str]()
        if Capability.SETTINGS not in engine.capabilities:
            raise InputError(f"{engine.title} has no maintenance that hdbkit can do")
        server = control(self.target)
        server.say = notes.append
        before = self._background_work()
        duration_s = server.maintain()
        return Maintenance(duration_s, before, self._background_work(), tuple(notes))

    def _background_work(self) -> dict[str, float]:
        engine = database(self.target)
        if "rest_left" not in statements(engine.dialects, SERVER_STATEMENTS):
            return {}
        with closing(engine.connect(self.target)) as session:
            return {str(name): float(amount) for name, amount in session.ask("rest_left")}

    def problems(self, settings: Mapping[str, Sequence[str]]) -> list[str]:
        """The errors in these values of settings, one sentence each; changes nothing.

        Example:
            >>> hdbkit.connect("lab").problems({"work_mem": ["64kB", "4 apples"]})  # doctest: +SKIP
        """
        return control(self.target).problems(settings)

    def memory_warnings(self, settings: Mapping[str, Sequence[str]]) -> list[str]:
        """A sentence for each size of the server's cache in ``settings`` that its host's memory cannot hold.

        Empty where the host's memory is not known, or the engine has no such cache.

        Example:
            >>> hdbkit.connect("lab").memory_warnings({"shared_buffers": ["1GB", "900GB"]})  # doctest: +SKIP
        """
        engine, ram = database(self.target), quantity(host_facts(self.target).get("ram", ""))
        with closing(engine.connect(self.target)) as session:
            cache = engine.footprint(session)
        if cache is None or ram is None:
            return []
        sizes = {one: quantity(one) for one in settings.get(cache.cache, ())}
        return [
            f"{cache.cache}={one} is larger than the memory of the server's host ({quantity_text(ram)})"
            for one, size in sizes.items()
            if size is not None and size.dimension is ram.dimension and size.amount > ram.amount
        ]


class ConnectionVerbs(BareWorkspace):
    """Verbs that connect to a target."""

    def connect(self, target: Target | str, *, admin: Target | str | None = None) -> Connection:
        """Connect to verify that a target works, and return the verified connection.

        Args:
            target: a target, a URL without password, or a name in ``params/targets.yaml``.
            admin: an administrator's account; it creates the target's account and database if they are missing. Its
                password comes from ``HDBKIT_ADMIN_PASSWORD`` or from the driver.

        Raises:
            InputError: the connection failed; the message states what to do.

        Example:
            >>> hdbkit.connect("postgresql://bench@db1/lab").settings()  # doctest: +SKIP
        """
        target = self.target(target)
        engine = database(target)
        engine.driver_version()
        created = _provision(engine, _admin(self.target(admin)), target) if admin is not None else []
        session = engine.connect(target)
        try:
            return Connection(target, engine.version(session), created)
        finally:
            session.close()


def _provision(engine: Database, admin: Target, target: Target) -> list[str]:
    try:
        return engine.provision(admin, target)
    except CannotConnect as error:
        if error.target != admin.url:
            raise
        advice = error.advice.replace(PASSWORD_VARIABLE, ADMIN_PASSWORD_VARIABLE)
        raise CannotConnect(error.target, error.reason, advice) from None
    except TransactionError as error:
        raise InputError(
            f"the administrator's account {admin.url} cannot create what {target.url} needs: {error.text}; "
            "use an account that may create accounts and databases"
        ) from None


def _admin(account: Target) -> Target:
    secret = None if account.withheld else of_variable(ADMIN_PASSWORD_VARIABLE)
    return account.with_(password=SecretStr(secret)) if secret and account.password is None else account


def _answers(work: Workload, seed: int | None) -> Sequence[PlannedCheck]:
    """The checks of the answers. Raises ``InputError`` if there are none."""
    planned = work.answers(work.spec.seed if seed is None else seed)
    if not planned:
        raise InputError(f"{work.title} has no reference of its answers; omit answers")
    return planned


def _checkable(schema: Schema, asked: Workload) -> Workload:
    """The workload as its schema is, which this account may read. Raises ``SchemaProblem``."""
    try:
        found = workload_of(schema_in(schema, schema.target, asked))
    except NoAccess:
        require_grants(schema, asked, Verb.CHECK)
        raise
    require_grants(schema, found, Verb.CHECK)
    return found


def checks_frame(checks: Sequence[Check]) -> pd.DataFrame:
    """Checks as a table: name, passed, detail."""
    return pd.DataFrame([vars(check) for check in checks], columns=["name", "passed", "detail"])


def datagen(
    workload: WorkloadSpec | Path | str | None = None,
    folder: Path | str = "data",
    *,
    format: Format | str = Format.CSV,
    chunks: int | None = None,
    chunk: Sequence[int] = (),
    processes: int | None = None,
    progress: Progress | None = None,
    **fields: Any,
) -> WrittenData:
    """Write the rows of a workload to files; an interrupted call continues, and other files are never replaced.

    Args:
        workload: a specification, the name of a workload, or a folder that defines one.
        folder: where the files are, created if missing: one of each table and chunk, ``stock.1.csv``.
        format: ``text`` (tab-separated as COPY and LOAD DATA read it), ``csv`` (RFC 4180 without a header),
            ``parquet``, or ``bcp`` (with a format file for each table).
        chunks: the number of files of each table; None: one for each part of the population.
        chunk: the numbers of the chunks to write, from 1, such as those of one of several hosts; by default all.
        processes: the number of processes; by default one per core.
        progress: called with the chunks that are complete, their number, and the rows written so far.
        fields: fields of the specification, such as its scale.

    Raises:
        InputError: the folder has other files, there are fewer parts than chunks, or a file cannot be written.

    Example:
        >>> hdbkit.datagen("my-workload/", "data", format="parquet").rows  # doctest: +SKIP
    """
    if format not in {one.value for one in Format}:
        raise InputError(f"there is no format '{format}' (known: {', '.join(Format)})")
    spec = specification(workload, **fields)
    return write_population(spec, Path(folder), Format(format), chunks, chunk, processes or limits().cores, progress)
