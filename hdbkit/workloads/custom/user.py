"""A virtual user of a user-defined workload: draws operations and their values by the hundred, and binds them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, cast

import numpy as np
from numpy.random import default_rng

from hdbkit.contracts import Arguments, Prepared, Session, SqlSession, UserPlan
from hdbkit.results.records import Heads
from hdbkit.workloads.custom.definition import RoundTrips
from hdbkit.workloads.custom.spec import CustomLoad, CustomSpec
from hdbkit.workloads.custom.variables import Draw, Drawing

_BATCH: Final = 500
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
    ) -> None:
        self._generator = default_rng(plan.seed)
        self._shares = np.array(list(weights.values())) / sum(weights.values())
        self._details, self._heads = tuple(details), Heads(plan.index, details)
        drawing = Drawing(spec.parameters, self._generator, plan.index, load.virtual_users)
        variables = spec.definition.variables
        self._operations = [
            _Operation(session, spec.definition.round_trips, one.statements or (key,))
            for key, one in spec.definition.operations.items()
        ]
        used = {name for one in self._operations for name in one.variables}
        self._draws: dict[str, Draw] = {
            name: drawing.of(name, variables[name], session) for name in sorted(used | {*self._details})
        }

    def next_batch(self) -> Sequence[Prepared]:
        """The next 500 operations, drawn and bound."""
        kinds = self._generator.choice(len(self._operations), _BATCH, p=self._shares)
        drawn = {name: draw(_BATCH) for name, draw in self._draws.items()}
        heads = self._heads.pack(kinds, **{name: drawn[name] for name in self._details})
        batch = []
        for at, (kind, head) in enumerate(zip(kinds.tolist(), heads, strict=True)):
            operation = self._operations[kind]
            batch.append(Prepared(kind, operation.perform, operation.bind(drawn, at), head))
        return batch

    def head(self, prepared: Prepared, raw: Any) -> bytes:
        """Not used: all details are known before the operation."""
        return prepared.head


class _Operation:
    """The statements of an operation on a session, prepared."""

    def __init__(self, session: Session, round_trips: RoundTrips, names: Sequence[str]) -> None:
        self._names = names
        self._parameters = [session.parameters(name) for name in names]
        self.variables = {name for one in self._parameters for name in one}
        session.prepare(self._names)
        self.perform: Callable[[Any], Any] = session.perform
        self._ready: Callable[[Calls], Any] = lambda calls: session.bind(*calls[0])
        if len(names) > 1:
            sql = cast("SqlSession", session)
            whole = round_trips is RoundTrips.ONE
            self.perform = sql.perform_all if whole else sql.perform_each
            self._ready = sql.bind_all

    def bind(self, drawn: Mapping[str, Sequence[Any]], at: int) -> Any:
        """The operation with the values drawn at an index."""
        calls = [
            (name, tuple([drawn[one][at] for one in parameters]))
            for name, parameters in zip(self._names, self._parameters, strict=True)
        ]
        return self._ready(calls)
