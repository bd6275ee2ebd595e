"""TPROC-H on a schema that HammerDB made: its tables and data, with the queries of the specification.

HammerDB's tables have the specification's names and columns, in the account's search path; their names are in upper
case where a server keeps the case. Keys may be numeric and dates may have times, which the queries do not notice. Its
data are not the specification's, so there are no verified answers, and no update sets.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from types import MappingProxyType

from hdbkit.config import Load, WorkloadSpec
from hdbkit.config.specs.tproc_h import TprocHLoad, TprocHSpec
from hdbkit.config.workload_spec import SchemaFrom
from hdbkit.contracts import Check, CheckSession, PlannedCheck, Schema, Scope, Table
from hdbkit.errors import InputError, SchemaProblem
from hdbkit.sql import statements
from hdbkit.workloads.built import require_access
from hdbkit.workloads.checking import all_there
from hdbkit.workloads.present import has_tables
from hdbkit.workloads.tproc_h import TprocH
from hdbkit.workloads.tproc_h.tables import TPROC_H_TABLES

_FEWEST_LINES = 0.99
"""HammerDB draws the number of lines of each order, so their total varies."""
_TABLE = re.compile(rf"'[^']*'|(?<![:.\w])(?:{'|'.join(TPROC_H_TABLES)})\b")
"""A text, or the name of a table; not a value such as ``:nation``."""


class HammerDBTprocH(TprocH):
    """Contract: :class:`hdbkit.contracts.Workload`. It has no population and no definitions: HammerDB makes them."""

    title = "TPROC-H of HammerDB"
    tables: Mapping[str, Table] = MappingProxyType({})

    def scope(self, dialects: tuple[str, ...]) -> Scope:
        """The same queries, in the account's search path, with names in upper case."""
        known = statements(dialects, "tproc_h.hammerdb")
        return Scope("", {name: replace(one, text=_in_upper_case(one.text)) for name, one in known.items()})

    def load(self, given: Load) -> TprocHLoad:
        """``given`` without refresh functions. Raises ``InputError`` if it has them."""
        load = super().load(given)
        if load.refreshes:
            raise InputError("a schema of HammerDB has no update sets of the specification; omit refresh")
        return load

    def found(self, schema: Schema) -> WorkloadSpec | None:
        """The schema with its scale factor, by the number of suppliers; None if there is no schema."""
        if not has_tables(schema.session, TPROC_H_TABLES):
            return None
        require_access(schema, self.access(Load()))
        suppliers = int(schema.session.ask("count_supplier")[0][0])
        if not suppliers:
            raise SchemaProblem("HammerDB's schema has no supplier; build it with HammerDB")
        return TprocHSpec(scale_factor=suppliers / TPROC_H_TABLES["supplier"].rows, schema_from=SchemaFrom.HAMMERDB)

    def advice_to_build(self, command: str) -> str:
        """HammerDB builds it."""
        return "build it with HammerDB, or omit schema_from"

    def checks(self, dialects: tuple[str, ...]) -> list[PlannedCheck]:
        """Row counts, and keys."""
        counts = (
            PlannedCheck(f"rows of {table}", partial(_rows, table=table, scale_factor=self.spec.scale_factor))
            for table in TPROC_H_TABLES
        )
        return [
            all_there("tables", tuple(TPROC_H_TABLES), required=True),
            *counts,
            all_there("keys", tuple(TPROC_H_TABLES)),
        ]

    def answers(self, seed: int) -> list[PlannedCheck]:
        """Raises ``InputError``: its data are not the specification's."""
        raise InputError("the data of HammerDB are not those of the specification, so its answers cannot be verified")


def _rows(session: CheckSession, *, table: str, scale_factor: float) -> Check:
    rows, wanted = int(session.ask(f"count_{table}")[0][0]), TPROC_H_TABLES[table].rows_at(scale_factor)
    least = round(_FEWEST_LINES * wanted) if table == "lineitem" else wanted
    return Check(f"rows of {table}", rows >= least, f"{rows}, at least {least} expected")


def _in_upper_case(text: str) -> str:
    """A statement with the names of the tables in upper case; servers that do not keep the case ignore it."""
    return _TABLE.sub(lambda found: found[0] if found[0].startswith("'") else found[0].upper(), text)
