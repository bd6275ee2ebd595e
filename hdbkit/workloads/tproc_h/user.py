"""A virtual user of TPROC-H: a stream of the 22 queries in its own order, with parameters from its seed."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from hdbkit.contracts import Prepared, Session, UserPlan
from hdbkit.results.records import Heads
from hdbkit.workloads.tproc_h.spec import QUERIES, TprocHLoad, TprocHSpec
from hdbkit.workloads.tproc_h.streams import drawn, ordered


class TprocHUser:
    """The workload part of a stream; one user alone runs stream 0, several run the streams from 1."""

    def __init__(self, session: Session, spec: TprocHSpec, load: TprocHLoad, plan: UserPlan, details: Any) -> None:
        self._session, self._spec = session, spec
        self._sets, self._done = load.query_sets, 0
        self._source = random.Random(plan.seed)
        self._stream = plan.index + 1 if load.virtual_users > 1 else 0
        chosen = load.selected
        self._order = [name for name in ordered(self._stream) if name in chosen]
        session.prepare(self._order)
        self._heads = Heads(plan.index, details)

    def next_batch(self) -> Sequence[Prepared]:
        """The queries of one set, with parameters drawn in the order of the stream; none after the last set."""
        if self._done == self._sets:
            return ()
        self._done += 1
        found = []
        for name in self._order:
            values = drawn(name, self._source, self._spec.scale_factor)
            arguments = tuple(values[parameter] for parameter in self._session.parameters(name))
            bound, operation = self._session.bind(name, arguments), QUERIES.index(name)
            (head,) = self._heads.pack([operation], stream=[self._stream], query_set=[self._done])
            found.append(Prepared(operation, self._session.perform, bound, head))
        return found

    def head(self, prepared: Prepared, raw: Any) -> bytes:
        """The record's head with the number of rows of the result."""
        rows = len(self._session.rows(raw))
        return prepared.head[:-_ROWS_BYTES] + rows.to_bytes(_ROWS_BYTES, "little")


_ROWS_BYTES = 4
"""The detail ``rows`` is the last of a head."""
