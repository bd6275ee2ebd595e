"""A virtual user of a user-defined workload: draws operations and their values by the hundred, and binds them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import repeat, starmap
from typing import Any, cast

import numpy as np
from numpy.random import default_rng
from numpy.typing import NDArray

from hdbkit.contracts import Arguments, Prepared, Session, SqlSession, UserPlan
from hdbkit.results.records import Heads
from hdbkit.workloads.custom.definition import RoundTrips
from hdbkit.workloads.custom.spec import CustomLoad, CustomSpec
from hdbkit.workloads.custom.variables import Draw, Drawing

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
        reader: Session | None = None,
    ) -> None:
        self._generator, self._ahead = default_rng(plan.seed), plan.ahead
        self._shares = np.array(list(weights.values())) / sum(weights.values())
        self._details, self._heads = tuple(details), Heads(plan.index, details)
        drawing = Drawing(spec.parameters, self._generator, plan.index, load.sessions)
        variables = spec.definition.variables
        self._operations = [
            _Operation(
                reader if reader is not None and one.reads_only else session,
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
        bound = [one.bind(drawn, kinds == kind) for kind, one in enumerate(self._operations)]
        performs = [one.perform for one in self._operations]
        return [
            Prepared(kind, performs[kind], next(bound[kind]), head)
            for kind, head in zip(kinds.tolist(), heads, strict=True)
        ]

    def head(self, prepared: Prepared, raw: Any) -> bytes:
        """Not used: all details are known before the operation."""
        return prepared.head


class _Operation:
    """The statements of an operation on a session, prepared if it is ever drawn: a standby prepares no changes."""

    def __init__(self, session: Session, round_trips: RoundTrips, names: Sequence[str], is_drawn: bool) -> None:
        self._parameters = [(name, session.parameters(name)) for name in names]
        self.variables = {variable for _, variables in self._parameters for variable in variables}
        session.prepare(names if is_drawn else ())
        self.perform: Callable[[Any], Any] = session.perform
        self._bind_all: Callable[[Calls], Any] | None = None
        self._bind = session.bind
        if len(names) > 1:
            sql = cast("SqlSession", session)
            self.perform = sql.perform_all if round_trips is RoundTrips.ONE else sql.perform_each
            self._bind_all = sql.bind_all

    def bind(self, drawn: Mapping[str, NDArray[np.object_]], which: NDArray[np.bool_]) -> Iterator[Any]:
        """The operation, once for each of ``which``, with the values drawn there."""
        columns = [
            [(name, arguments) for arguments in _rows([drawn[one][which].tolist() for one in variables], which)]
            for name, variables in self._parameters
        ]
        if self._bind_all is None:
            return starmap(self._bind, columns[0])
        return map(self._bind_all, zip(*columns, strict=True))


def _rows(columns: Sequence[Sequence[Any]], which: NDArray[np.bool_]) -> Iterable[Arguments]:
    """The arguments of a statement, row by row; empty ones where it has no parameter."""
    return zip(*columns, strict=True) if columns else repeat((), int(np.count_nonzero(which)))
