"""A database as a user holds it: build, check and drop its schema, look at its settings."""

from __future__ import annotations

import html
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import Any

import pandas as pd
from pydantic import SecretStr

from hdbkit.build import BuildProgress, BuildResult
from hdbkit.build import build as build_schema
from hdbkit.build import drop as drop_schema
from hdbkit.config import Target, WorkloadSpec
from hdbkit.contracts import Capability, Check, Database
from hdbkit.databases import database
from hdbkit.errors import HalfBuilt, InputError, TransactionError
from hdbkit.servers import control
from hdbkit.servers.values import allowed, with_unit
from hdbkit.workloads import specification
from hdbkit.workloads import workload as workload_of
from hdbkit.workloads.present import present_schema, schema_in
from hdbkit.workspace import DEFAULT, Workspace

ADMIN_PASSWORD_VARIABLE = "HDBKIT_ADMIN_PASSWORD"  # noqa: S105  the name of a variable


@dataclass(frozen=True)
class DropResult:
    """What was dropped: the objects of a schema, such as ``table stock``."""

    place: str
    """The URL of the target."""
    dropped: tuple[str, ...]

    @property
    def objects(self) -> pd.DataFrame:
        """A row an object: kind (table or routine) and name."""
        return pd.DataFrame([one.split(" ", 1) for one in self.dropped], columns=["kind", "name"])

    def _repr_html_(self) -> str:
        return f"<p>{html.escape(str(self))}</p>{self.objects.to_html(index=False)}"

    def __str__(self) -> str:
        return f"dropped {len(self.dropped)} objects in {self.place}"


class Connection:
    """A database that lets us in."""

    def __init__(self, target: Target, version: str, created: list[str]) -> None:
        self.target, self.version, self.created = target, version, created

    def build(
        self,
        workload: WorkloadSpec | Path | str | None = None,
        *,
        loaders: int | None = None,
        progress: BuildProgress | None = None,
        stop: Event | None = None,
        **fields: Any,
    ) -> BuildResult:
        """Build the schema, or continue where an earlier build ended; what was loaded, and the checks of the whole.

        Args:
            workload: a specification, the name of a workload, or a folder that defines one; by default TPROC-C.
            loaders: processes that load; by default one per core.
            progress: called with the build's stage, rows and bytes.
            stop: set it from another thread to end the build; building again continues from there.
            fields: fields of the specification, such as ``warehouses=10`` or ``partitions=4``.

        Raises:
            BuildFailed: a step failed or was stopped; what was loaded is kept.
            InputError: the schema exists already, or the database holds something else; nothing was changed.

        Example:
            >>> hdbkit.connect("postgresql://bench@db1/tpcc").build(warehouses=10).passed  # doctest: +SKIP
        """
        spec = specification(workload, **fields)
        return build_schema(self.target, spec, loaders or os.cpu_count() or 1, progress, stop)

    def schema(self, workload: WorkloadSpec | Path | str | None = None, **fields: Any) -> WorkloadSpec | None:
        """What the schema in the database was built as; None where there is none.

        ``schema_from="hammerdb"`` looks for one that HammerDB made.

        Raises:
            SchemaProblem: it is half built, or was made by something else.
        """
        asked = workload_of(specification(workload, **fields))
        schema = database(self.target.kind).schema(self.target, asked)
        try:
            return asked.found(schema)
        finally:
            schema.close()

    def check(self, workload: WorkloadSpec | Path | str | None = None, **fields: Any) -> pd.DataFrame:
        """Row counts, indexes, routines and consistency conditions; a row each: name, passed, detail.

        ``schema_from="hammerdb"`` checks a schema that HammerDB made, as far as HammerDB keeps the conditions.

        Raises:
            InputError: there is no schema, it is of another scale, or the database keeps no tables.

        Example:
            >>> hdbkit.connect("postgresql://bench@db1/tpcc").check().query("passed == False")  # doctest: +SKIP
        """
        engine = database(self.target.kind)
        if Capability.TABLES not in engine.capabilities:
            raise InputError(f"the {engine.title} keeps no tables that could be checked")
        asked = workload_of(specification(workload, **fields))
        schema = engine.schema(self.target, asked)
        try:
            found = workload_of(schema_in(schema, self.target, asked))
            return _frame(found.check(schema.session))
        finally:
            schema.close()

    def drop(self, workload: WorkloadSpec | Path | str | None = None, **fields: Any) -> DropResult:
        """Remove the schema's own tables and routines and nothing else; what was removed.

        Raises:
            SchemaProblem: there is no such schema, or it has another value of a field that is given, such as
                ``warehouses=10``. Nothing was changed.
        """
        spec = specification(workload, **fields)
        if spec.model_fields_set - spec.identity.model_fields_set:
            with suppress(HalfBuilt):
                present_schema(self.target, spec)
        return DropResult(self.target.url, tuple(drop_schema(self.target, spec)))

    def settings(self) -> pd.DataFrame:
        """Every setting of the server: value, unit, default, range, and whether it needs a reload or a restart.

        ``text`` is the value as one writes it (``128MB``), ``allowed`` the range or the choices in words.
        """
        found = control(self.target).settings().values()
        rows = [{**vars(one), "text": with_unit(one, one.value), "allowed": allowed(one)} for one in found]
        return pd.DataFrame(rows).set_index("name")

    def problems(self, settings: Mapping[str, Sequence[str]]) -> list[str]:
        """What the server would refuse of these values of settings, a sentence each; changes nothing.

        Example:
            >>> hdbkit.connect("lab").problems({"work_mem": ["64kB", "4 apples"]})  # doctest: +SKIP
        """
        return control(self.target).problems(settings)


def connect(
    target: Target | str, *, admin: Target | str | None = None, workspace: Workspace | None = None
) -> Connection:
    """Connect once, to see that it works.

    Args:
        target: a target, a URL without password, or a name in ``params/targets.yaml``.
        admin: an administrator's account; with it the target's account and database are created where missing. Its
            password comes from ``HDBKIT_ADMIN_PASSWORD`` or the driver's own ways.
        workspace: where names of targets are looked up; by default that of this process.

    Raises:
        InputError: the server does not let us in; the sentence says what to do.

    Example:
        >>> hdbkit.connect("postgresql://bench@db1/tpcc").settings()  # doctest: +SKIP
    """
    place = workspace or DEFAULT
    target = place.target(target)
    engine = database(target.kind)
    engine.driver_version()
    created = _provision(engine, _admin(place.target(admin)), target) if admin is not None else []
    session = engine.connect(target)
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


def _admin(account: Target) -> Target:
    secret = os.environ.get(ADMIN_PASSWORD_VARIABLE)
    return account.with_(password=SecretStr(secret)) if secret and account.password is None else account


def _frame(checks: list[Check]) -> pd.DataFrame:
    return pd.DataFrame([vars(check) for check in checks], columns=["name", "passed", "detail"])
