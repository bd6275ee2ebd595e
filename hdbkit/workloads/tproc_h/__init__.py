"""TPROC-H, the analytic workload derived from TPC-H: population, 22 queries, streams and checks."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from types import MappingProxyType
from typing import Any, cast

from hdbkit.config import Load, WorkloadSpec
from hdbkit.config.metric import Measure, Metric
from hdbkit.config.specs.tproc_h import QUERIES, REFRESHES, UPDATE_SETS, Indexes, Refreshing, TprocHLoad, TprocHSpec
from hdbkit.config.workload_spec import SchemaFrom
from hdbkit.contracts import (
    NO_ROUTES,
    Access,
    Capability,
    Part,
    PlannedCheck,
    PlannedPhase,
    Route,
    Schema,
    Scope,
    Session,
    SqlSession,
    Table,
    TableLoad,
    User,
    UserPlan,
    Workload,
)
from hdbkit.errors import InputError
from hdbkit.sql import statements
from hdbkit.statement import Statement
from hdbkit.workloads.tproc_h.tables import TPROC_H_TABLES

QUERY_TIME = Metric(
    name="geometric mean",
    title="geometric mean of the query times",
    unit="s",
    measure=Measure.GEOMETRIC_MEAN,
    operations=QUERIES,
)
_DETAILS = MappingProxyType(
    {"stream": "u2", "query_set": "u2", "rows": "u4", "rows_read": "i8", "bytes_read": "i8", "temporary_files": "i8"}
)
"""The stream and the number of the query set of a query, the rows of its result, and what it read (``work``)."""
_GROUP = "tproc_h"
_INDEX, _KEY = "index_", "_pk"
_ONLY_IN = {
    "lineitem_by_shipdate": (Indexes.ALL,),
    "partsupp_by_part": (Indexes.HAMMERDB,),
    "lineitem_by_order": (Indexes.HAMMERDB,),
}
"""The sets of indexes that have some of them; the other ones are in both."""


class TprocH(Workload):
    """Contract: :class:`hdbkit.contracts.Workload`. Heavy modules are imported on first use."""

    spec: TprocHSpec
    title = "TPROC-H"
    notice = (
        "derived from TPC-H and not comparable to published results, as it does not comply with the specification"
    )
    noun = "query"
    operations: tuple[str, ...] = (*QUERIES, *REFRESHES)
    reading = frozenset(QUERIES)
    metric = QUERY_TIME
    details: Mapping[str, str] = _DETAILS
    tables: Mapping[str, Table] = MappingProxyType(TPROC_H_TABLES)
    instead: Mapping[Capability, str] = MappingProxyType({Capability.SERVER: "use one virtual user, or omit refresh"})
    preload: tuple[str, ...] = ("hdbkit.workloads.tproc_h.user",)

    def __init__(self, spec: TprocHSpec) -> None:
        self.spec = spec
        self.scale = f"scale factor {spec.scale_factor:g}"

    def scope(self, dialects: tuple[str, ...]) -> Scope:
        """Its statements, in a schema of its own; without those of the indexes that it does not have."""
        known = statements(dialects, _GROUP)
        return Scope(_GROUP, {name: one for name, one in known.items() if self._is_used(one)})

    def _is_used(self, statement: Statement) -> bool:
        index = statement.name.removeprefix(_INDEX)
        if index == statement.name:
            return True
        if index.endswith(_KEY):
            return self.spec.indexes is not Indexes.NONE
        return self.spec.indexes in _ONLY_IN.get(index, (Indexes.ALL, Indexes.HAMMERDB))

    def load(self, given: Load) -> TprocHLoad:
        """``given`` with this workload's options. Raises ``InputError`` for more update sets than there are."""
        load = given if isinstance(given, TprocHLoad) else TprocHLoad(**given.model_dump(exclude_unset=True))
        if load.refreshes and load.update_sets.stop > UPDATE_SETS + 1:
            first, end = load.update_sets.start, load.update_sets.stop
            raise InputError(
                f"the refresh functions need update sets {first} to {end - 1}, but there are {UPDATE_SETS}; "
                "give a smaller update_set, or fewer refresh_pairs or query_sets"
            )
        return load

    def mix(self, load: Load) -> dict[str, float]:
        """Equal weights of the chosen queries, as each stream runs each as often; of the pairs of refresh functions
        by their number."""
        own = self.load(load)
        queries = dict.fromkeys(sorted(own.selected), 1.0)
        if not own.refreshes:
            return queries
        return queries | dict.fromkeys(REFRESHES, len(own.update_sets) / (own.query_streams * own.query_sets))

    def listed(self, load: Load) -> list[tuple[tuple[str, ...], int]]:
        """The queries of each stream in its order, and the refresh functions."""
        from hdbkit.workloads.tproc_h.streams import operations_in_stream

        own = self.load(load)
        return [(operations_in_stream(own, index), len(own.sets_of(index))) for index in range(own.virtual_users)]

    def needs(self, load: Load) -> frozenset[Capability]:
        """SQL; a server for queries and refresh functions at the same time."""
        shared = self.load(load).refreshes and load.virtual_users > 1
        return frozenset({Capability.SQL, Capability.SERVER} if shared else {Capability.SQL})

    def access(self, load: Load, dialects: tuple[str, ...] = ()) -> Access:
        """Reading of all tables; the refresh functions insert and delete orders and lines."""
        changed = dict.fromkeys(("INSERT", "DELETE"), frozenset({"orders", "lineitem"}))
        return Access({"SELECT": frozenset(TPROC_H_TABLES), **(changed if self.load(load).refreshes else {})})

    def details_from_results(self, load: Load) -> bool:
        """True: the number of rows, and what was read."""
        return True

    def phases(self, load: Load) -> tuple[PlannedPhase, ...]:
        """One measured phase, which ends with the last query of the last stream."""
        return (PlannedPhase("power" if load.virtual_users == 1 else "throughput", None, measured=True),)

    def require_generator(self) -> None:
        """The generator of the specification's data."""
        from hdbkit.workloads.tproc_h import population

        population.generator()

    def parts(self, dialects: tuple[str, ...] = ()) -> list[Part]:
        """Pieces of the tables."""
        from hdbkit.workloads.tproc_h import population

        return population.parts(self.spec)

    def parts_for(self, loaders: int, loaded: Collection[str] = (), dialects: tuple[str, ...] = ()) -> list[Part]:
        """As many pieces of the tables as loaders, or a multiple of it; after an earlier build, its pieces."""
        from hdbkit.workloads.tproc_h import population

        return population.parts(self.spec, loaders, loaded)

    def part(self, key: str) -> Iterator[TableLoad]:
        """The rows of a part."""
        from hdbkit.workloads.tproc_h import population

        return population.part(self.spec, key)

    def found(self, schema: Schema) -> WorkloadSpec | None:
        from hdbkit.workloads.built import built_spec

        return built_spec(schema, self)

    def user(self, session: Session, load: Load, plan: UserPlan, routes: Mapping[str, Route] = NO_ROUTES) -> User:
        """A stream, ready to run."""
        from hdbkit.workloads.tproc_h.user import TprocHUser

        return TprocHUser(session, self.spec, self.load(load), plan, _DETAILS, routes)

    def examples(self, load: Load, plan: UserPlan) -> Mapping[str, Mapping[str, Any]]:
        """The queries of the first set of a stream, with their parameters."""
        from hdbkit.workloads.tproc_h.streams import first_set

        own = self.load(load)
        stream = plan.index + 1 if own.virtual_users > 1 else 0
        return first_set(stream, own.selected, plan.seed, self.spec.scale_factor)

    def require_data(self, session: Session, load: Load) -> None:
        """Raises ``InputError`` if an update set that the refresh functions will apply has been applied."""
        if numbers := self.load(load).update_sets:
            from hdbkit.workloads.tproc_h import refresh

            refresh.require_unapplied(cast(SqlSession, session), self.spec, numbers)

    def restoring(self, load: Load) -> Callable[[Session], None] | None:
        """Undoes the refresh functions, if the load asks for it."""
        own = self.load(load)
        if not own.refreshes or own.refresh is Refreshing.KEPT:
            return None
        from hdbkit.workloads.tproc_h import refresh

        return lambda session: refresh.undo_refresh(cast(SqlSession, session), self.spec, own.update_sets)

    def checks(self, dialects: tuple[str, ...]) -> list[PlannedCheck]:
        """Tables, row counts, indexes, and the totals of the orders."""
        from hdbkit.workloads.tproc_h import answers

        names = self.scope(dialects).statements
        return answers.planned_checks(
            self.spec, tuple(one.removeprefix(_INDEX) for one in names if one.startswith(_INDEX))
        )

    def answers(self, seed: int) -> list[PlannedCheck]:
        """Each query's rows against those of DuckDB."""
        from hdbkit.workloads.tproc_h import answers

        return answers.checks(self.spec, seed)


def workload(spec: WorkloadSpec) -> Workload:
    """TPROC-H on a schema of hdbkit's or of HammerDB's."""
    if not isinstance(spec, TprocHSpec):
        raise InputError(f"this is not a specification of TPROC-H: {spec!r}")
    if spec.schema_from is SchemaFrom.HAMMERDB:
        from hdbkit.workloads.tproc_h.hammerdb import HammerDBTprocH

        return HammerDBTprocH(spec)
    return TprocH(spec)
