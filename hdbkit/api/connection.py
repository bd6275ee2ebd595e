"""A database as a user holds it: build, check and drop its schema, look at its settings."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from threading import Event

import pandas as pd
from pydantic import SecretStr

from hdbkit.api.running import as_target
from hdbkit.build import BuildProgress, BuildResult
from hdbkit.build import build as build_schema
from hdbkit.build import drop as drop_schema
from hdbkit.config import SchemaFrom, Target, WorkloadSpec
from hdbkit.contracts import Capability, Check, Database
from hdbkit.databases import database
from hdbkit.errors import InputError, TransactionError
from hdbkit.execution.precheck import schema_of
from hdbkit.servers import control
from hdbkit.servers.values import allowed, with_unit
from hdbkit.workloads import workload

ADMIN_PASSWORD_VARIABLE = "HDBKIT_ADMIN_PASSWORD"  # noqa: S105  the name of a variable


class Connection:
    """A database that lets us in."""

    def __init__(self, target: Target, version: str, created: list[str]) -> None:
        self.target, self.version, self.created = target, version, created

    def build(
        self,
        warehouses: int | None = None,
        *,
        workload: WorkloadSpec | None = None,
        loaders: int | None = None,
        progress: BuildProgress | None = None,
        stop: Event | None = None,
    ) -> BuildResult:
        """Build the schema, or go on where an earlier build ended; what was loaded, and the checks of the whole.

        Args:
            warehouses: the scale, when the rest of ``workload`` is as by default.
            workload: the whole specification.
            loaders: processes that load; by default one a core.
            progress: called with the build's stage, rows and bytes.
            stop: set it from another thread to end the build; building again goes on from there.

        Raises:
            BuildFailed: a step failed or was stopped; what was loaded is kept.
            InputError: the schema is there already, or the database holds something else; nothing was changed.

        Example:
            >>> hdbkit.connect("postgresql://bench@db1/tpcc").build(warehouses=10).passed  # doctest: +SKIP
        """
        if warehouses is not None and workload is not None:
            raise InputError("give either warehouses or workload, not both")
        spec = workload or WorkloadSpec(warehouses=warehouses or 1)
        return build_schema(self.target, spec, loaders or os.cpu_count() or 1, progress, stop)

    def schema(self, schema_from: SchemaFrom | str = SchemaFrom.HDBKIT) -> WorkloadSpec | None:
        """What the schema in the database was built as; None where there is none.

        ``schema_from="hammerdb"`` looks for one that HammerDB made.

        Raises:
            SchemaProblem: it is half built, or somebody else's.
        """
        group = _made_by(schema_from).group
        session = database(self.target.kind).connect(self.target, group)
        try:
            return workload(group).schema(session)
        finally:
            session.close()

    def check(self, schema_from: SchemaFrom | str = SchemaFrom.HDBKIT) -> pd.DataFrame:
        """Row counts, indexes, routines and consistency conditions; a row each: name, passed, detail.

        ``schema_from="hammerdb"`` checks a schema that HammerDB made, as far as HammerDB keeps the conditions.

        Raises:
            InputError: there is no schema, or the database keeps no tables.

        Example:
            >>> hdbkit.connect("postgresql://bench@db1/tpcc").check().query("passed == False")  # doctest: +SKIP
        """
        engine = database(self.target.kind)
        if Capability.TABLES not in engine.capabilities:
            raise InputError(f"the {engine.title} keeps no tables that could be checked")
        wanted = _made_by(schema_from)
        session = engine.connect(self.target, wanted.group)
        try:
            spec = schema_of(session, self.target, wanted)
            return _frame(workload(spec.group).check(session, spec))
        finally:
            session.close()

    def drop(self) -> list[str]:
        """Remove the schema's own tables and routines and nothing else; what was removed."""
        return drop_schema(self.target, WorkloadSpec().kind)

    def settings(self) -> pd.DataFrame:
        """Every setting of the server: value, unit, default, range, and whether it needs a reload or a restart.

        ``text`` is the value as one writes it (``128MB``), ``allowed`` the range or the choices in words.
        """
        found = control(self.target).settings().values()
        rows = [{**vars(one), "text": with_unit(one, one.value), "allowed": allowed(one)} for one in found]
        return pd.DataFrame(rows).set_index("name")

    def mistakes(self, settings: Mapping[str, Sequence[str]]) -> list[str]:
        """What the server would refuse of these values of settings, a sentence each; changes nothing.

        Example:
            >>> hdbkit.connect("lab").mistakes({"work_mem": ["64kB", "4 apples"]})  # doctest: +SKIP
        """
        return control(self.target).mistakes(settings)


def connect(target: Target | str, *, admin: Target | str | None = None) -> Connection:
    """Connect once, to see that it works.

    Args:
        target: a target, a URL without password, or a name in ``params/targets.yaml``.
        admin: an administrator's account; with it the target's account and database are created where missing. Its
            password comes from ``HDBKIT_ADMIN_PASSWORD`` or the driver's own ways.

    Raises:
        InputError: the server does not let us in; the sentence says what to do.

    Example:
        >>> hdbkit.connect("postgresql://bench@db1/tpcc").settings()  # doctest: +SKIP
    """
    target = as_target(target)
    engine = database(target.kind)
    engine.driver_version()
    created = _provision(engine, _admin(admin), target) if admin is not None else []
    session = engine.connect(target, WorkloadSpec().kind)
    try:
        return Connection(target, engine.version(session), created)
    finally:
        session.close()


def _provision(engine: Database, admin: Target, target: Target) -> list[str]:
    try:
        return engine.provision(admin, target)
    except TransactionError as error:
        raise InputError(
            f"the administrator's account {admin.url} cannot create what {target.url} needs: {error.text}; "
            "name one that may create accounts and databases"
        ) from None


def _admin(admin: Target | str) -> Target:
    account = as_target(admin)
    secret = os.environ.get(ADMIN_PASSWORD_VARIABLE)
    return account.with_(password=SecretStr(secret)) if secret and account.password is None else account


def _made_by(schema_from: SchemaFrom | str) -> WorkloadSpec:
    try:
        return WorkloadSpec(schema_from=SchemaFrom(schema_from))
    except ValueError:
        raise InputError(f"schema_from must be {' or '.join(SchemaFrom)}, not '{schema_from}'") from None


def _frame(checks: list[Check]) -> pd.DataFrame:
    return pd.DataFrame([vars(check) for check in checks], columns=["name", "passed", "detail"])
