"""A virtual user of TPROC-H: a stream of queries in its own order, of refresh functions, or of both."""

from __future__ import annotations

import random
import struct
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, cast

from hdbkit.config.specs.tproc_h import QUERIES, REFRESHES, TprocHLoad, TprocHSpec
from hdbkit.contracts import NO_ROUTES, Prepared, Route, Session, SqlSession, UserPlan
from hdbkit.errors import InputError, TransactionError
from hdbkit.results.spool import UNKNOWN_DETAIL, Heads
from hdbkit.workloads.tproc_h.refresh import Refresh, UpdateSet, require_unapplied
from hdbkit.workloads.tproc_h.streams import drawn, operations_in_stream, queries_of

_COUNTS: Final = struct.Struct("<qqq")
_PUBLISH: Final = "publish_work"
_Counts = tuple[int | None, ...]
"""Rows read, bytes read and temporary files; None if unknown."""


class StreamWork:
    """The work of the operations of a session, one after the other.

    The work of a session that is ``alone`` is read from the counters of the whole server, which know more; that of
    others from their own. What the question itself reads is subtracted. A server that cannot say anything is asked
    no more.
    """

    size = _COUNTS.size

    def __init__(self, session: Session, *, alone: bool) -> None:
        self._session, self._question = session, "work_of_server" if alone else "work_of_session"
        self._before = self._asked()
        self._own = _more(self._asked(), self._before)
        self._is_counted = any(one is not None for one in self._before)

    def begin(self) -> None:
        """From now on work counts to the next operation."""
        if self._is_counted:
            self._before = self._asked()

    def end(self) -> bytes:
        """The counts of the operation that has ended, as in a record; the next one begins."""
        if not self._is_counted:
            return NOT_COUNTED
        now = self._asked()
        done, self._before = _more(_more(now, self._before), self._own), now
        return _COUNTS.pack(*(UNKNOWN_DETAIL if one is None else max(0, one) for one in done))

    def _asked(self) -> _Counts:
        """The totals up to now; unknown after an error, as the next operation finds a lost connection by itself."""
        try:
            self._session.ask(_PUBLISH)
            (row,) = self._session.ask(self._question)
        except (InputError, TransactionError):
            return None, None, None
        return tuple(None if one is None else int(one) for one in row)


NOT_COUNTED: Final = _COUNTS.pack(UNKNOWN_DETAIL, UNKNOWN_DETAIL, UNKNOWN_DETAIL)


def _more(now: _Counts, before: _Counts) -> _Counts:
    pairs = zip(now, before, strict=True)
    return tuple(None if one is None or other is None else one - other for one, other in pairs)


_OPERATIONS = (*QUERIES, *REFRESHES)


class TprocHUser:
    """The workload part of a stream.

    One user alone runs stream 0, with the refresh functions around it; several run the streams from 1, and if there
    are refresh functions, the last of them runs only these, as stream 0. Queries are performed on their ``routes``.
    """

    def __init__(
        self,
        session: Session,
        spec: TprocHSpec,
        load: TprocHLoad,
        plan: UserPlan,
        details: Any,
        routes: Mapping[str, Route] = NO_ROUTES,
    ) -> None:
        self._session, self._spec = cast(SqlSession, session), spec
        self._source = random.Random(plan.seed)
        self._heads = Heads(plan.index, details)
        self._work = StreamWork(session, alone=load.virtual_users == 1)
        self._stream, self._order = load.stream_of(plan.index), queries_of(load, plan.index)
        self._refresh = Refresh(cast(SqlSession, session)) if load.refreshes_in(plan.index) else None
        self._pause_s = load.refresh_pause_s
        self._number, self._skipped = divmod(plan.done, len(operations_in_stream(load, plan.index)))
        self._sets = iter(load.sets_of(plan.index)[self._number :])
        own = Route((session,))
        self._turns: dict[str, Iterator[SqlSession]] = {}
        for name in self._order:
            sessions = [cast(SqlSession, one) for one in routes.get(name, own).sessions]
            for one in sessions:
                one.prepare([name])
            self._turns[name] = routes.get(name, own).turns(sessions)
        self._ahead: Sequence[Prepared] = self._drawn()

    def next_batch(self) -> Sequence[Prepared]:
        """A set of queries, a pair of refresh functions, or both; none after the last."""
        batch = self._ahead or self._drawn()
        if batch is not self._ahead and batch and not self._order:
            time.sleep(self._pause_s)
        self._ahead = ()
        if self._refresh:
            self._work.begin()
        return batch

    def head(self, prepared: Prepared, raw: Any) -> bytes:
        """The record's head with the number of rows of the result, or of those inserted or deleted, and its work."""
        rows = 0 if raw is None else raw if isinstance(raw, int) else self._session.row_count(raw)
        return prepared.head[:_ROWS_AT] + rows.to_bytes(_ROWS_BYTES, "little") + self._work.end()

    def _drawn(self) -> Sequence[Prepared]:
        """The next set, with parameters drawn in the order of the stream; the first one without what was done of it.

        Raises ``InputError`` if the changes of a refresh function that is due are there already.
        """
        number = next(self._sets, None)
        if number is None:
            return ()
        self._number += 1
        found, skipped, self._skipped = list(self._queries()), self._skipped, 0
        if self._refresh is not None:
            update = UpdateSet.numbered(self._spec, number)
            if not skipped:
                require_unapplied(self._session, self._spec, [number])
            first = self._prepared("rf1", self._refresh.insert, update.new)
            found = [first, *found, self._prepared("rf2", self._refresh.delete, update.old)]
        return found[skipped:]

    def _queries(self) -> Iterator[Prepared]:
        for name in self._order:
            values = drawn(name, self._source, self._spec.scale_factor)
            session = next(self._turns[name])
            arguments = tuple(values[parameter] for parameter in session.parameters(name))
            yield self._prepared(name, session.perform, session.bind(name, arguments))

    def _prepared(self, name: str, perform: Any, bound: Any) -> Prepared:
        operation = _OPERATIONS.index(name)
        (head,) = self._heads.pack([operation], stream=[self._stream], query_set=[self._number])
        return Prepared(operation, perform, bound, head)


_ROWS_BYTES = 4
_ROWS_AT = -_ROWS_BYTES - StreamWork.size
"""The detail ``rows``, and behind it the work, are the last of a head."""
