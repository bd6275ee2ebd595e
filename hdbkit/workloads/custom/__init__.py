"""A workload that users define in a folder: operations of SQL, variables, a metric; optionally tables and checks."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from hdbkit.config import Load, WorkloadSpec
from hdbkit.config.metric import Metric
from hdbkit.config.specs.custom import CustomLoad, CustomSpec
from hdbkit.contracts import (
    NO_ROUTES,
    Access,
    Capability,
    Part,
    PartLoad,
    PlannedCheck,
    Route,
    Schema,
    Scope,
    Session,
    Table,
    ThinkTimes,
    User,
    UserPlan,
    Workload,
)
from hdbkit.errors import ConfigErrors, HalfBuilt, InputError, Problem, SchemaProblem, TransactionError
from hdbkit.lexer import identifier
from hdbkit.sql import in_its_file, lexer_of, made, statements
from hdbkit.statement import Statement
from hdbkit.workloads.built import build_command, drop_command, require_access, require_sight
from hdbkit.workloads.custom.texts import Names, text_problems

_GROUP = "custom"


class Custom(Workload):
    """Contract: :class:`hdbkit.contracts.Workload`."""

    spec: CustomSpec
    noun = "operation"
    preload: tuple[str, ...] = ("hdbkit.workloads.custom.user",)

    def __init__(self, spec: CustomSpec) -> None:
        definition = spec.definition
        self.spec = spec
        self.title = definition.title or definition.name
        self.notice = definition.notice
        self.scale = definition.scale.format_map({name: f"{value:,}" for name, value in spec.parameters.items()})
        self.operations = tuple(definition.operations)
        self.reading = frozenset(name for name, one in definition.operations.items() if one.reads_only)
        self.waits: Mapping[str, ThinkTimes] = {
            name: ThinkTimes(one.keying_s, one.thinking_s)
            for name, one in definition.operations.items()
            if one.keying_s or one.thinking_s
        }
        self.metric: Metric = definition.metric
        used = {statement for name in self.operations for statement in self._statements_of(name)}
        self._names = Names(definition.variables, definition.parameters, used, self.metric.counter)
        self.details: Mapping[str, str] = dict.fromkeys(definition.details, "i8")
        self.tables: Mapping[str, Table] = {
            name: Table(name, tuple(content.columns)) for name, content in definition.tables.items()
        }

    def scope(self, dialects: tuple[str, ...]) -> Scope:
        """The folder's statements, common ones first, with parameters filled in.

        Raises:
            ConfigErrors: with each statement that is wrong as this engine reads it, and its line.
        """
        found: dict[str, Statement] = dict(statements(dialects, _GROUP))
        read_by, problems = lexer_of(dialects), list[Problem]()
        for dialect in dialects:
            texts = self.spec.statements.get(dialect, {})
            own = [made(name, text, Path(self.spec.folder), read_by) for name, text in texts.items()]
            problems += [
                in_its_file(one, what, dialects) for one in own for what in text_problems(one, self._names, [read_by])
            ]
            found |= {one.name: one.partly_filled(self.spec.parameters) for one in own}
        if problems:
            raise ConfigErrors(self.spec.named, problems)
        return Scope(self.spec.definition.schema_name, found, self.spec.definition.sql_mode)

    def load(self, given: Load) -> CustomLoad:
        load = given if isinstance(given, CustomLoad) else CustomLoad(**given.model_dump(exclude_unset=True))
        unknown = sorted((load.weights or {}).keys() - {*self.operations})
        if unknown:
            listed = ", ".join(self.operations)
            raise ConfigErrors(
                load.noun, [Problem("weights", f"there is no operation '{unknown[0]}' (known: {listed})")]
            )
        if not sum(self._weights(load).values()):
            which = "operation with reads_only: true" if load.read_only else "operation"
            raise ConfigErrors(load.noun, [Problem("weights", f"at least one {which} needs a weight above 0")])
        return load

    def _weights(self, load: CustomLoad) -> dict[str, float]:
        own = {name: one.weight for name, one in self.spec.definition.operations.items()}
        weights = own if load.weights is None else load.weights
        runs = self.reading if load.read_only else {*self.operations}
        return {name: weights.get(name, 0.0) if name in runs else 0.0 for name in self.operations}

    def mix(self, load: Load) -> dict[str, float]:
        return self._weights(self.load(load))

    def needs(self, load: Load) -> frozenset[Capability]:
        return frozenset({Capability.SQL})

    def access(self, load: Load, dialects: tuple[str, ...] = ()) -> Access:
        """Nothing: only the server reads the SQL of users."""
        return Access()

    def statements(self, load: Load, dialects: tuple[str, ...]) -> list[tuple[str, Statement]]:
        """The statements of the operations, the counter of the metric, and the queries for the range of keys."""
        known, definition = self.scope(dialects).statements, self.spec.definition
        weights = self._weights(self.load(load))
        names = [(one, name) for one, weight in weights.items() if weight for name in self._statements_of(one)]
        found = [(f"operation {one}", known[name]) for one, name in names if name in known]
        counter = self.metric.counter or ""
        if counter in known:
            found.append(("the metric", known[counter]))
        drawn = {name for _, one in found for name in one.parameters}
        keys = {name: one.key for name, one in definition.variables.items() if name in drawn and one.key}
        for name, key in keys.items():
            words = {"table": identifier(key.table), "column": identifier(key.column)}
            found.append((f"variable {name}", known["key_range"].filled(words)))
        return found

    def _statements_of(self, operation: str) -> tuple[str, ...]:
        return self.spec.definition.operations[operation].statements or (operation,)

    def examples(self, load: Load, plan: UserPlan) -> Mapping[str, Mapping[str, Any]]:
        """The statements of the mix, with values as the first user draws them; a key is 1: nobody asks its range."""
        from numpy import asarray
        from numpy.random import default_rng

        from hdbkit.workloads.custom.variables import Drawing

        drawing = Drawing(self.spec.parameters, default_rng(plan.seed), plan.index, load.sessions)
        values = {
            name: 1 if one.key else asarray(drawing.of(name, one)(1), object).tolist()[0]
            for name, one in self.spec.definition.variables.items()
        }
        mixed = [one for one, weight in self._weights(self.load(load)).items() if weight]
        return {f"{one} {name}": values for one in mixed for name in self._statements_of(one)}

    def parts(self, dialects: tuple[str, ...] = ()) -> list[Part]:
        """Pieces of the tables, then the statements of the engine that load."""
        from hdbkit.workloads.custom import population

        return population.parts(self.spec, dialects)

    def part(self, key: str) -> Iterator[PartLoad]:
        """The rows of a part."""
        from hdbkit.workloads.custom import population

        return population.part(self.spec, dict(self.tables), key)

    @property
    def record(self) -> str:
        """The record that a build keeps in the schema, with a digest of what it builds."""
        spec = self.spec
        kept = {"kind": spec.kind, "name": spec.definition.name, "build_digest": spec.build_digest, "seed": spec.seed}
        return json.dumps(kept | {"parameters": spec.parameters, "storage": spec.storage})

    def found(self, schema: Schema) -> WorkloadSpec | None:
        """This specification with what was built; tables that hdbkit did not create are not inspected."""
        if not self.tables:
            return self.spec
        try:
            log = schema.log()
        except TransactionError as error:
            require_access(schema, self.access(Load()))
            raise SchemaProblem(f"the schema of {self.title} cannot be read: {error.text}") from None
        name = self.spec.definition.schema_name
        if log.spec is None:
            if log.tables:
                listed = ", ".join(sorted(log.tables))
                raise SchemaProblem(f"schema {name} contains tables that hdbkit did not create ({listed})")
            require_sight(schema, self.access(Load()))
            return None
        kept = json.loads(log.spec)
        drop = drop_command(schema.target, self.spec.named)
        built = kept.get("name") or kept.get("kind")
        if built != self.spec.definition.name:
            raise SchemaProblem(
                f"schema {name} is of another workload ({built})",
                f"use another database, or run, with the folder of {built}: {drop_command(schema.target, 'FOLDER')}",
            )
        if kept.get("build_digest") != self.spec.build_digest:
            raise SchemaProblem(
                f"schema {name} was built from other tables or statements than the workload {built} has now",
                f"run: {drop}, then: {build_command(schema.target, self.spec)}",
            )
        known = self.spec.definition.parameters
        parameters = {**known, **{one: value for one, value in kept["parameters"].items() if one in known}}
        found = self.spec.model_copy(
            update={"parameters": parameters, "seed": kept["seed"], "storage": kept["storage"]}
        )
        if not log.finished:
            raise HalfBuilt(
                f"schema {name} is incomplete (number of loaded parts: {len(log.parts)})",
                f"to resume, run: {build_command(schema.target, found)}; to remove it, run: {drop}",
            )
        return found

    def user(self, session: Session, load: Load, plan: UserPlan, routes: Mapping[str, Route] = NO_ROUTES) -> User:
        """A virtual user, ready to draw."""
        from hdbkit.workloads.custom.user import CustomUser

        own = self.load(load)
        return CustomUser(session, self.spec, self._weights(own), self.details, own, plan, routes)

    def checks(self, dialects: tuple[str, ...]) -> list[PlannedCheck]:
        """Check row counts and indexes of the tables, and run the folder's own checks, which count errors."""
        from hdbkit.workloads.custom.population import checks

        return checks(self.spec, self.scope(dialects).statements)


def workload(spec: WorkloadSpec) -> Workload:
    """The workload that a specification defines."""
    if not isinstance(spec, CustomSpec):
        raise InputError(f"this is not the specification of a user-defined workload: {spec!r}")
    return Custom(spec)
