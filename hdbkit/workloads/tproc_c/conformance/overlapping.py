"""Sessions that overlap: an operation is sent, and its answer received, as if it were performed in one step."""

from __future__ import annotations

from select import POLLIN, poll
from typing import Any, cast

from hdbkit.contracts import PENDING, Bench, Capability, OverlappingSession, SqlSession
from hdbkit.errors import ErrorClass, RolledBackByDesign, TransactionError
from hdbkit.workloads.tproc_c.conformance.rules import Rules, equal, raised, true

RULES = Rules()
_NEEDS = (Capability.OVERLAPS, Capability.STORED_ROUTINES, Capability.ACROSS_SHARDS)
_CALL = "call_new_order"
_WAIT_MS = 10_000


class Overlapping:
    """A session that sends new orders of one line."""

    def __init__(self, session: SqlSession) -> None:
        self._session = cast("OverlappingSession", session)
        self._session.prepare([_CALL])

    def send(self, item: int) -> None:
        """Send an order of an item."""
        send = self._session.sender(self._session.perform)
        true(send is not None, "what a session performs can be sent")
        bound = self._session.bind(_CALL, (1, 1, 1, (item,), (1,), (1,)))
        self._session.fileno()
        cast("Any", send)(bound)

    def received(self) -> Any:
        """The number of the order, once its answer is complete."""
        readable = poll()
        readable.register(self._session.fileno(), POLLIN)
        while (raw := self._session.receive()) is PENDING:
            true(bool(readable.poll(_WAIT_MS)), "an answer arrives")
        return self._session.rows(raw)[0][0]


@RULES.alone(*_NEEDS, by_sql=False)
def what_is_sent_is_answered_like_what_is_performed(bench: Bench, session: SqlSession) -> None:
    """Also what is rolled back by design; the session is usable after it."""
    one, found = Overlapping(bench.connect()), []
    one.send(4)
    found.append(one.received())
    one.send(100_001)
    raised(RolledBackByDesign, one.received)
    one.send(5)
    found.append(one.received())
    equal(found, [3001, 3002])


@RULES.alone(*_NEEDS, by_sql=False)
def several_sessions_wait_for_their_answers_at_once(bench: Bench, session: SqlSession) -> None:
    """Each has its own answer, in whichever order they are received."""
    some = [Overlapping(bench.connect()) for _ in range(3)]
    for item, one in enumerate(some, 1):
        one.send(item)
    equal(sorted(one.received() for one in reversed(some)), [3001, 3002, 3003])


@RULES.alone(*_NEEDS, by_sql=False)
def a_closed_session_cannot_send(bench: Bench, session: SqlSession) -> None:
    """Its connection is lost, and no other error is raised."""
    closed = bench.connect()
    one = Overlapping(closed)
    one.send(1)
    one.received()
    send, bound = one._session.sender(closed.perform), closed.bind(_CALL, (1, 1, 1, (1,), (1,), (1,)))
    closed.close()
    true(send is not None, "what a session performs can be sent")
    equal(raised(TransactionError, cast("Any", send), bound).error_class, ErrorClass.CONNECTION_LOST)
