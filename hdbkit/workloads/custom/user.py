"""A virtual user of a user-defined workload: draws operations and their values by the hundred, and binds them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import repeat, starmap
from typing import Any, cast

import numpy as np
from numpy.random import default_rng
from numpy.typing import NDArray

from hdbkit.config.specs.custom import CustomLoad, CustomSpec
from hdbkit.config.specs.definition import RoundTrips
from hdbkit.contracts import NO_ROUTES, Arguments, Prepared, Route, Session, SqlSession, UserPlan
from hdbkit.results.spool import Heads
from hdbkit.workloads.custom.variables import Draw, Drawing

_Perform = Callable[[Any], Any]
_Call = tuple[_Perform, Callable[[Iterable[Any]], Iterator[Any]]]
"""Performs an operation, and binds the arguments of several."""
Calls = Sequence[tuple[str, Arguments]]


class CustomUser:
    """The workload part of a virtual user. All random values derive from ``plan.seed``."""

    def __init__(
        self,
        session: Session,
        spec: CustomSpec,
        weights: Mapping[str, float],
        details: Mapping[str, str],
        load: CustomLoad,
        plan: UserPlan,
        routes: Mapping[str, Route] = NO_ROUTES,
    ) -> None:
        self._generator, self._ahead = default_rng(plan.seed), plan.ahead
        self._shares = np.array(list(weights.values())) / sum(weights.values())
        self._details, self._heads = tuple(details), Heads(plan.index, details)
        drawing = Drawing(spec.parameters, self._generator, plan.index, load.sessions)
        variables = spec.definition.variables
        self._operations = [
            _Operation(
                routes.get(key) or Route((session,)),
                spec.definition.round_trips,
                one.statements or (key,),
                weights[key] > 0,
            )
            for key, one in spec.definition.operations.items()
        ]
        used = {name for one in self._operations for name in one.variables}
        self._draws: dict[str, tuple[Draw, NDArray[np.bool_]]] = {
            name: (
                drawing.of(name, variables[name], session),
                np.array([name in self._details or name in one.variables for one in self._operations]),
            )
            for name in sorted(used | {*self._details})
        }

    def next_batch(self) -> Sequence[Prepared]:
        """The next operations, drawn and bound; a variable is drawn for the operations that use it."""
        kinds = self._generator.choice(len(self._operations), self._ahead, p=self._shares)
        drawn: dict[str, NDArray[np.object_]] = {}
        for name, (draw, users) in self._draws.items():
            uses = users[kinds]
            drawn[name] = np.empty(self._ahead, object)
            drawn[name][uses] = draw(int(np.count_nonzero(uses)))
        heads = self._heads.pack(kinds, **{name: drawn[name].tolist() for name in self._details})
        calls = [one.calls(drawn, kinds == kind) for kind, one in enumerate(self._operations)]
        batch = []
        for kind, head in zip(kinds.tolist(), heads, strict=True):
            perform, bound = next(calls[kind])
            batch.append(Prepared(kind, perform, bound, head))
        return batch

    def head(self, prepared: Prepared, raw: Any) -> bytes:
        """Not used: all details are known before the operation."""
        return prepared.head


class _Operation:
    """The statements of an operation on its sessions, prepared if it is ever drawn: a standby prepares no changes."""

    def __init__(self, route: Route, round_trips: RoundTrips, names: Sequence[str], is_drawn: bool) -> None:
        first, *_ = route.sessions
        self._parameters = [(name, first.parameters(name)) for name in names]
        self.variables = {variable for _, variables in self._parameters for variable in variables}
        for session in route.sessions:
            session.prepare(names if is_drawn else ())
        self._is_one_statement = len(names) == 1
        each = [self._call(session, round_trips) for session in route.sessions]
        self._only = each[0] if len(each) == 1 else None
        self._turns = route.turns(each)

    def calls(
        self, drawn: Mapping[str, NDArray[np.object_]], which: NDArray[np.bool_]
    ) -> Iterator[tuple[_Perform, Any]]:
        """What performs the operation, and what is bound: once for each of ``which``, with the values drawn there."""
        columns = [
            [(name, arguments) for arguments in _rows([drawn[one][which].tolist() for one in variables], which)]
            for name, variables in self._parameters
        ]
        rows = columns[0] if self._is_one_statement else zip(*columns, strict=True)
        if self._only is None:
            return ((perform, next(bind([row]))) for row, (perform, bind) in zip(rows, self._turns, strict=False))
        perform, bind = self._only
        return zip(repeat(perform), bind(rows), strict=False)

    def _call(self, session: Session, round_trips: RoundTrips) -> _Call:
        if self._is_one_statement:
            return session.perform, partial(starmap, session.bind)
        sql = cast("SqlSession", session)
        perform = sql.perform_all if round_trips is RoundTrips.ONE else sql.perform_each
        return perform, partial(map, sql.bind_all)


def _rows(columns: Sequence[Sequence[Any]], which: NDArray[np.bool_]) -> Iterable[Arguments]:
    """The arguments of a statement, row by row; empty ones where it has no parameter."""
    return zip(*columns, strict=True) if columns else repeat((), int(np.count_nonzero(which)))
