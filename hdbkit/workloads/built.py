"""What a schema of hdbkit's was built as, from the record that the build keeps in it."""

from __future__ import annotations

from pydantic import ValidationError

from hdbkit.config import WorkloadSpec
from hdbkit.contracts import Schema, Workload
from hdbkit.errors import ConfigErrors, HalfBuilt, SchemaProblem, TransactionError
from hdbkit.workloads import workload


def built_spec(schema: Schema, of: Workload, advice: str = "") -> WorkloadSpec | None:
    """The specification of the complete schema; None where there is none.

    Args:
        schema: the schema in a database.
        of: the workload, of which only its kind and the names of its tables count.
        advice: what else can be done where somebody else made the tables.

    Raises:
        HalfBuilt: a build of it has begun.
        SchemaProblem: it holds tables that hdbkit did not make, or cannot be read.
    """
    kind = of.spec.kind
    try:
        log = schema.log()
    except TransactionError as error:
        raise SchemaProblem(
            f"schema {kind} exists, but this account may not read it ({error.text}); "
            "use the account that built it, or grant it that schema, its tables and routines"
        ) from None
    foreign = sorted(log.tables if log.spec is None else log.tables - of.tables.keys())
    if foreign:
        other = advice if log.tables >= of.tables.keys() else ""
        raise SchemaProblem(
            f"schema {kind} holds tables that hdbkit did not make ({', '.join(foreign)}); use another database{other}"
        )
    if log.spec is None:
        return None
    if not log.finished:
        raise HalfBuilt(
            f"schema {kind} is half built ({len(log.parts)} of {_parts(kind, log.spec)} parts are loaded); "
            "run: hdbkit build ... to resume, or: hdbkit drop ..."
        )
    return spec_of(kind, log.spec)


def spec_of(kind: str, record: str) -> WorkloadSpec:
    """The specification in a build's record. Raises ``SchemaProblem`` when it cannot be read."""
    try:
        return WorkloadSpec.model_validate_json(record)
    except (ValidationError, ConfigErrors):
        raise SchemaProblem(
            f"schema {kind} was built by another version of hdbkit, whose record this one cannot read; "
            "run: hdbkit drop ..."
        ) from None


def _parts(kind: str, record: str) -> int:
    spec = spec_of(kind, record)
    return len(workload(spec).parts())
