"""Reads the schema in a target's database and compares it with the requested one."""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Final, cast

from hdbkit.config import Load, Target, WorkloadSpec, spec_from
from hdbkit.config.workload_spec import SchemaFrom
from hdbkit.contracts import Access, Capability, Database, Schema, Session, SessionOptions, SqlSession, Verb, Workload
from hdbkit.databases import database
from hdbkit.errors import (
    ConfigErrors,
    ErrorClass,
    GivenUp,
    HalfBuilt,
    HdbkitError,
    InputError,
    NoAccess,
    SchemaProblem,
    TransactionError,
)
from hdbkit.readings import ServerRole
from hdbkit.sql import SERVER_STATEMENTS, find, in_its_file
from hdbkit.statement import Statement
from hdbkit.workloads import workload
from hdbkit.workloads.built import build_command, differences, drop_command, grown_spec, require_access

_EXPLAIN: Final = "explain_text"
_VALUES: Final = ("NULL", "1")
"""What stands for a value: 1 where the grammar allows no NULL."""
_TEMPORARY: Final = re.compile(r"\bTEMP(ORARY)?\b", re.IGNORECASE)
_WAIT = "wait until it has ended, or stop it"


def present_schema(target: Target, wanted: WorkloadSpec | None = None) -> WorkloadSpec:
    """Read the specification of the schema in the target's database.

    Args:
        target: the database.
        wanted: the required specification; a field that is not set may have any value. None: the default workload.

    Raises:
        SchemaProblem: the schema is missing, differs, or is incomplete.
        CannotConnect: the server rejected the connection.
    """
    asked = workload(wanted or spec_from({}))
    schema = database(target).schema(target, asked)
    try:
        return schema_in(schema, target, asked)
    finally:
        schema.close()


def notice_of(work: Workload, engine: Database) -> str:
    """The notice that every result shows: that of the workload, and of the engine's licence."""
    return f"{work.notice}; {engine.title}: {engine.publishing}" if engine.publishing else work.notice


def require_privileges(target: Target, spec: WorkloadSpec, loads: Iterable[Load]) -> None:
    """Check that the account may run each of the loads on a schema that is there. Raises ``NoAccess``."""
    work = workload(spec)
    with closing(database(target).schema(target, work)) as schema:
        for load in loads:
            require_permission(schema, work, load)


def require_permission(schema: Schema, work: Workload, load: Load) -> None:
    """Check that the server accepts the statements of a load, and that the account may execute them.

    Raises:
        SchemaProblem: stored routines are missing, or of another version.
        NoAccess: with the GRANTs.
        ConfigErrors: with each statement of a user's workload that the server rejects, and its line.
    """
    engine = database(schema.target)
    access = work.access(load, engine.dialects)
    require_access(schema, access)
    require_routines(schema, work, access)
    found = denied_statements(schema, work, load)
    if not found:
        _require_valid(schema, work, load)
        return
    listed = "; ".join(f"{one.user}, statement {one.statement}: {one.reason}" for one in found)
    grants = dict.fromkeys(command for one in found for command in one.grants)
    raise NoAccess(
        f"{schema.target.account} lacks privileges in {schema.target.described} ({listed})",
        f"run as an administrator in database {schema.target.database}: {'; '.join(grants)}"
        if grants
        else "grant them, or use another account",
    )


def require_routines(schema: Schema, work: Workload, access: Access) -> None:
    """Check that the stored routines of an access are those of this version. Raises ``SchemaProblem``."""
    if problem := schema.routine_problem(access.routines):
        build = build_command(schema.target, work.spec)
        raise SchemaProblem(
            f"the schema of {work.title} in {schema.target.described} {problem}",
            f"to create them, which keeps the data, run: {build}",
        )


def _require_valid(schema: Schema, work: Workload, load: Load) -> None:
    dialects = database(schema.target).dialects
    asked = work.statements(load, dialects)
    if any(_TEMPORARY.search(one.code) for _, one in asked):
        return  # a table that one statement of an operation makes for the next is not there yet
    problems = [
        in_its_file(one, f"{user}: {error.text}", dialects)
        for user, one, _, error in parsed_statements(schema, work, load)
        if error is not None
    ]
    if problems:
        raise ConfigErrors(work.spec.named, problems)


def parsed_statements(
    schema: Schema, work: Workload, load: Load
) -> Iterator[tuple[str, Statement, bool, TransactionError | None]]:
    """The statements of a user's workload: who uses one, whether it was sent to the server, and the server's error.

    The server parses them and executes none. hdbkit's own queries of a range of keys are left out.
    """
    engine = database(schema.target)
    scope, asked = work.scope(engine.dialects), work.statements(load, engine.dialects)
    if not asked or Capability.SQL not in engine.capabilities:
        return
    options = SessionOptions(pooling=engine.pooling(schema.session, schema.target))
    with closing(cast("SqlSession", engine.connect(schema.target, scope, options))) as session:
        for user, one in asked:
            if scope.statements[one.name] != one:
                continue
            try:
                yield user, one, session.parse(one.name), None
            except GivenUp:
                raise
            except TransactionError as error:
                if error.error_class is ErrorClass.RESOURCES:  # a state of the server, and no fault of the statement
                    what = f"statements of {work.title} cannot be prepared in {schema.target.described}"
                    raise InputError(f"{what}: {error.text}") from error
                yield user, one, True, error


@dataclass(frozen=True)
class Denied:
    """A statement that the account may not execute."""

    user: str
    """What of the load uses it: ``operation move``."""
    statement: str
    reason: str
    """The server's message."""
    grants: tuple[str, ...]
    """The commands that grant what is lacking, as far as the engine knows them."""


def denied_statements(schema: Schema, work: Workload, load: Load) -> list[Denied]:
    """The statements that the server does not explain to this account for want of a privilege; none is executed.

    Values are NULL or 1. A text of several commands is left out, since only its first one would be explained, and so
    is one that the server cannot explain, such as a CALL.
    """
    engine = database(schema.target)
    if not engine.denied or Capability.PLANS not in engine.capabilities:
        return []
    explain, found = find(engine.dialects, SERVER_STATEMENTS, _EXPLAIN), []
    asked = {one: user for user, one in work.statements(load, engine.dialects) if len(one.commands) == 1}
    for one, user in asked.items():
        error = _refusal(cast(SqlSession, schema.session), explain.around(one))
        if error is not None and error.code in engine.denied:
            possible = engine.denied_access(one, error)
            grants = next(filter(None, (engine.grants_for(schema.session, access) for access in possible)), [])
            found.append(Denied(user, one.name, error.text, tuple(grants)))
    return found


def _refusal(session: SqlSession, explained: Statement) -> TransactionError | None:
    """The server's error for a statement with any value; None if it accepts one."""
    error = None
    for value in _VALUES:
        try:
            session.execute(explained.rendered(lambda *_, value=value: value))
            return None
        except GivenUp:
            raise
        except TransactionError as refused:
            error = refused
    return error


def require_claim(schema: Schema, described: str) -> None:
    """Reserve a schema until it is closed. Raises ``SchemaProblem`` if another process builds or drops it."""
    if not schema.claim():
        raise SchemaProblem(f"another process builds or drops {described}", _WAIT)


def described_schema(target: Target, spec: WorkloadSpec) -> str:
    """Which schema of which workload is meant: ``schema things of My things (my-folder) in postgresql://...``."""
    work = workload(spec)
    name = work.scope(database(target).dialects).schema
    schema = f"schema {name}" if name else "the schema"
    folder = f" ({spec.named})" if spec.named != spec.kind else ""
    return f"{schema} of {work.title}{folder} in {target.described}"


def schema_in(schema: Schema, target: Target, asked: Workload) -> WorkloadSpec:
    """As :func:`present_schema`, over an open connection."""
    try:
        return _schema_in(schema, target, asked)
    except SchemaProblem as problem:
        raise advised_build(problem, schema) from None


def advised_build(problem: SchemaProblem, schema: Schema) -> SchemaProblem:
    """``problem``; its advice refers to the primary, or to another build, if that prevents this one."""
    role = database(schema.target).role(schema.session)
    if role is ServerRole.PRIMARY and isinstance(problem, HalfBuilt) and not schema.claim():
        return HalfBuilt(f"{problem.reason}, and another process builds or drops it", _WAIT)
    if role is ServerRole.PRIMARY or not problem.advice or isinstance(problem, NoAccess):
        return problem
    if by := database(schema.target).read_only_by(schema.session):
        return type(problem)(problem.reason, f"to build it, allow this account changes: {by}")
    return type(problem)(problem.reason, f"this server is {role.described}: build it on the primary")


def require_grants(schema: Schema, work: Workload, verb: Verb) -> None:
    """Check that the account may build, check or drop the schema. Raises ``NoAccess`` with the GRANTs."""
    engine = database(schema.target)
    used = work.access(Load(), engine.dialects)
    names = {*work.tables}.union(*used.tables.values(), *used.in_routines.values())
    reading = schema.missing_grants(Access({"SELECT": frozenset(names)})) if verb is Verb.CHECK else []
    if missing := [*reading, *engine.grants_to(schema.session, verb, routines=bool(work.routines))]:
        raise NoAccess(
            f"{schema.target.account} lacks privileges to {verb} the schema in {schema.target.described}",
            f"run as an administrator in database {schema.target.database}: {'; '.join(missing)}",
        )


def require_primary(schema: Schema) -> None:
    """Check that the schema can be built and dropped. Raises ``InputError`` if its server accepts no changes."""
    engine, target = database(schema.target), schema.target
    role = engine.role(schema.session)
    if by := engine.read_only_by(schema.session):
        raise InputError(f"all transactions of {target.account} in {target.described} are read-only: {by}")
    if role is not ServerRole.PRIMARY:
        raise InputError(
            f"the server of {target.described} is {role.described} and accepts no changes; name its primary"
        )


def _schema_in(schema: Schema, target: Target, asked: Workload) -> WorkloadSpec:
    spec, found = asked.spec, asked.found(schema)
    build = build_command(target, spec)
    if found is None:
        problem = f"there is no schema of {asked.title} in {target.described}"
        if other := made_by_hammerdb(target, spec):
            words = shlex.join([*other.spec.workload_words, "--schema-from", "hammerdb"])
            raise SchemaProblem(f"{problem}, but HammerDB created one there", f"to run it, give {words}")
        raise SchemaProblem(problem, asked.advice_to_build(build))
    different = differences(found, spec)
    if different:
        name, value, other = different[0]
        rebuild = build if grown_spec(found, asked) else f"{drop_command(target, spec.named)}, then: {build}"
        raise SchemaProblem(
            f"the schema of {asked.title} in {target.described} has {name} {value}, but the plan needs {other}",
            f"omit {name}, or {asked.advice_to_build(rebuild)}",
        )
    return found


def made_by_hammerdb(target: Target, spec: WorkloadSpec) -> Workload | None:
    """The workload with the schema that HammerDB created in the target's database; None if there is none."""
    if spec.model_dump(include={"schema_from"}) != {"schema_from": SchemaFrom.HDBKIT}:
        return None
    other = workload(spec.identity.model_copy(update={"schema_from": SchemaFrom.HAMMERDB}))
    try:
        with closing(database(target).schema(target, other)) as schema:
            found = other.found(schema)
    except HdbkitError:  # another engine than HammerDB's, or tables that it did not make
        return None
    return workload(found) if found else None


LOG_TABLES: Final = frozenset({"build_spec", "build_part"})
"""The record of a build of hdbkit's own."""
ELSEWHERE: Final = "create them with HammerDB, or use another database"


def has_tables(session: Session, tables: Collection[str]) -> bool:
    """Whether HammerDB's tables are there, by the statement ``list_tables``; False if none of them is.

    Raises:
        SchemaProblem: some are missing, or hdbkit built them.
    """
    there = {row[0] for row in session.ask("list_tables")}
    if there.isdisjoint(tables):
        return False
    if there & LOG_TABLES:
        raise SchemaProblem("hdbkit itself built this schema, not HammerDB; omit schema_from")
    refuse_missing("tables", (table for table in tables if table not in there))
    return True


def refuse_missing(what: str, names: Iterable[str]) -> None:
    """Raise ``SchemaProblem`` if there are names of what is missing."""
    missing = ", ".join(names)
    if missing:
        raise SchemaProblem(f"HammerDB's schema lacks the {what} {missing}; {ELSEWHERE}")
