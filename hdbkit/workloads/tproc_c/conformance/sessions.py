"""Who commits, and the state of a session after a failure (the rules at the top of ``contracts``)."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from select import POLLIN, poll
from typing import Any, cast

from hdbkit.config import Isolation
from hdbkit.contracts import PENDING, Bench, Capability, OverlappingSession, SessionOptions, SqlSession
from hdbkit.errors import RETRIED, ErrorClass, RolledBackByDesign, TransactionError
from hdbkit.sql import ANSI, statements
from hdbkit.workloads.tproc_c.conformance.rules import Rules, Small, equal, item, loaded, raised, true, warehouse
from hdbkit.workloads.tproc_c.tables import TPROC_C_TABLES

RULES = Rules()
PAY = "client_update_warehouse_ytd"
_INDEX = "index_"


def _ytd(session: SqlSession) -> list[Any]:
    return [row["w_ytd"] for row in Small(session).rows("warehouse")]


def _refused(error_class: ErrorClass, work: Any, *arguments: Any) -> None:
    equal(raised(TransactionError, work, *arguments).error_class, error_class)


@RULES.alone()
def what_is_committed_stays(bench: Bench, session: SqlSession) -> None:
    """A transaction of several statements."""
    session.begin()
    session.call(PAY, Decimal("1.50"), 1)
    session.commit()
    equal(_ytd(bench.connect()), [Decimal("1.50"), 0])


@RULES.alone()
def what_is_rolled_back_is_gone(bench: Bench, session: SqlSession) -> None:
    """Also for the session itself."""
    session.begin()
    session.call(PAY, Decimal("1.50"), 1)
    session.rollback()
    session.rollback()
    equal(_ytd(session), [0, 0])


@RULES.alone(Capability.READS_NEVER_WAIT)
def what_is_not_committed_is_not_seen(bench: Bench, session: SqlSession) -> None:
    """Another session reads the version before, without waiting."""
    session.begin()
    session.call(PAY, Decimal("1.50"), 1)
    equal(_ytd(bench.connect()), [0, 0])
    session.rollback()


@RULES.alone()
def a_query_outside_a_transaction_commits_by_itself(bench: Bench, session: SqlSession) -> None:
    """As ``ask`` does."""
    session.query("client_number_order", w_id=1, d_id=1)
    session.ask("client_number_order", w_id=1, d_id=1)
    equal(Small(bench.connect()).row("district", d_w_id=1, d_id=1)["d_next_o_id"], 3003)


@RULES.alone()
def a_batch_answers_in_its_order(bench: Bench, session: SqlSession) -> None:
    """The second statement answers only where it can return the changed row."""
    session.begin()
    replies = session.batch(
        [
            ("client_select_quantity", (1, 7)),
            ("client_update_stock", (3, 0, 1, 7)),
            ("client_select_quantity", (1, 7)),
            ("client_select_quantity", (9, 7)),
        ]
    )
    session.commit()
    equal(replies, [[(12,)], [(100,)] if session.returns_changed else [], [(100,)], []])


@RULES.alone()
def a_refused_batch_leaves_nothing_and_the_session_continues(bench: Bench, session: SqlSession) -> None:
    """A null key in the middle."""
    calls: list[tuple[str, tuple[Any, ...]]]
    calls = [(PAY, (Decimal(5), 1)), ("client_insert_new_order", (None, 1, 1)), (PAY, (Decimal(5), 2))]
    session.begin()
    _refused(ErrorClass.CONSTRAINT, session.batch, calls)
    equal(_ytd(session), [0, 0])
    session.begin()
    session.call(PAY, Decimal(5), 1)
    session.commit()
    equal(_ytd(session), [5, 0])


@RULES.alone()
def values_come_back_as_they_were_given(bench: Bench, session: SqlSession) -> None:
    """Text with quotes and a backslash, and an exact decimal."""
    name = 'a\\b"{c},é'
    session.begin()
    equal(loaded(session, "item", [{**item(30), "i_name": name.replace("\\", r"\\"), "i_price": "99.99"}]), 1)
    session.commit()
    found = Small(session).row("item", i_id=30)
    equal((found["i_name"], found["i_price"]), (name, Decimal("99.99")))


@RULES.alone()
def a_refused_load_leaves_nothing_and_the_session_continues(bench: Bench, session: SqlSession) -> None:
    """A key twice is a constraint."""
    session.begin()
    _refused(ErrorClass.CONSTRAINT, loaded, session, "item", [item(40), item(41), item(40)])
    equal(session.query("count_item"), [(20,)])
    session.begin()
    equal(loaded(session, "item", [item(40), item(41)]), 2)
    session.commit()
    equal(session.query("count_item"), [(22,)])


@RULES.alone()
def a_load_whose_source_fails_leaves_nothing_and_the_session_continues(bench: Bench, session: SqlSession) -> None:
    """The error is that of the source."""

    def source() -> Iterator[bytes]:
        yield b"50\t1\tx\t1.00\tdata\n"
        raise KeyError("the source")

    session.begin()
    raised(KeyError, session.load, TPROC_C_TABLES["item"], source())
    equal(session.query("count_item"), [(20,)])


@RULES.alone()
def a_duplicate_key_is_a_constraint(bench: Bench, session: SqlSession) -> None:
    """Also across transactions."""
    session.begin()
    _refused(ErrorClass.CONSTRAINT, loaded, session, "warehouse", [warehouse(1)])
    equal(session.query("count_warehouse"), [(2,)])


@RULES.alone()
def indexes_are_listed_by_the_names_that_create_them(bench: Bench, session: SqlSession) -> None:
    """Also those of primary keys: a build compares these names after its load."""
    created = {name.removeprefix(_INDEX) for name in statements((ANSI,), "tproc_c") if name.startswith(_INDEX)}
    equal(sorted(created - {name for (name,) in session.query("list_indexes")}), [])


@RULES.alone(Capability.LOCK_TIMEOUT, Capability.WRITERS_WAIT)
def waiting_too_long_for_a_lock_is_a_lock_timeout(bench: Bench, session: SqlSession) -> None:
    """A row that another transaction has changed. Without ``LOCK_ERRORS`` it may be any error that is retried."""
    others = frozenset() if Capability.LOCK_ERRORS in bench.capabilities else RETRIED
    session.begin()
    session.call(PAY, Decimal(1), 1)
    other = bench.connect(SessionOptions(lock_timeout_ms=50))

    def pay() -> None:
        other.begin()
        other.call(PAY, Decimal(1), 1)

    found = raised(TransactionError, pay).error_class
    equal(ErrorClass.LOCK_TIMEOUT if found in others else found, ErrorClass.LOCK_TIMEOUT)
    session.rollback()
    equal(other.query("count_warehouse"), [(2,)])


@RULES.alone()
def a_closed_session_is_a_lost_connection(bench: Bench, session: SqlSession) -> None:
    """``rollback`` and ``close`` never raise."""
    other = bench.connect()
    other.close()
    _refused(ErrorClass.CONNECTION_LOST, other.query, "count_item")
    other.rollback()
    other.close()


OVERLAPPING = Rules()
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


@OVERLAPPING.alone(*_NEEDS, by_sql=False)
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


@OVERLAPPING.alone(*_NEEDS, by_sql=False)
def several_sessions_wait_for_their_answers_at_once(bench: Bench, session: SqlSession) -> None:
    """Each has its own answer, in whichever order they are received; an account's own level may fail later ones."""
    level = Isolation.READ_COMMITTED if Capability.ISOLATION in bench.capabilities else None
    some = [Overlapping(bench.connect(SessionOptions(isolation=level))) for _ in range(3)]
    for number, one in enumerate(some, 1):
        one.send(number)
    equal(sorted(one.received() for one in reversed(some)), [3001, 3002, 3003])


@OVERLAPPING.alone(*_NEEDS, by_sql=False)
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
