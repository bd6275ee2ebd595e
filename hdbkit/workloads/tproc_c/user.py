"""A virtual user of TPROC-C: draws transactions by the hundred and binds them ahead of the clock."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import partial
from itertools import repeat
from math import gcd, lcm
from types import ModuleType
from typing import Any, Final

import numpy as np
from numpy.random import default_rng
from numpy.typing import NDArray

from hdbkit.config.specs.tproc_c import READING, TRANSACTIONS, InputRules, Routines, TprocCLoad, TprocCSpec
from hdbkit.contracts import NO_ROUTES, Arguments, OptimisticSession, Prepared, Route, Session, UserPlan
from hdbkit.results.spool import Heads
from hdbkit.workloads.tproc_c import DETAILS
from hdbkit.workloads.tproc_c.inputs import Inputs

_ORDER_ID: Final = struct.Struct("<I")
"""The last detail of a head."""
NEW_ORDER: Final = TRANSACTIONS.index("new_order")

Bind = Callable[[Arguments], Any]
_Perform = Callable[[Any], Any]
TransactionCall = tuple[_Perform, Bind]
"""Performs a transaction, and binds its inputs before the clock starts."""


class TprocCUser:
    """The workload part of a virtual user. All random values derive from ``plan.seed``."""

    inputs: type[Inputs] = Inputs
    d_id_at: tuple[int | None, ...] = (1, 1, 1, None, 1)
    """The index of the district among a transaction's arguments; a delivery is for all districts."""

    def __init__(
        self,
        session: Session,
        spec: TprocCSpec,
        load: TprocCLoad,
        plan: UserPlan,
        routes: Mapping[str, Route] = NO_ROUTES,
    ) -> None:
        generator, self._ahead = default_rng(plan.seed), plan.ahead
        self._inputs = self.inputs(spec, load, plan, generator)
        self._deck = (Deck if load.input_rules is InputRules.SPEC else Draws)(load.weights, generator)
        self._heads = Heads(plan.index, DETAILS)
        self._calls: list[Iterator[TransactionCall]] = [repeat(call) for call in self._prepared(session, load)]
        if routes:
            self._take_turns(session, load, routes)
        self._rows: Callable[[Any], Any] = _as_it_is if load.routines is Routines.CLIENT else session.rows

    def next_batch(self) -> Sequence[Prepared]:
        """The next transactions, drawn and bound."""
        kinds = self._deck.draw(self._ahead)
        counts = np.bincount(kinds, minlength=len(TRANSACTIONS)).tolist()
        drawn = [iter(getattr(self._inputs, name)(n)) for name, n in zip(TRANSACTIONS, counts, strict=True)]
        numbers, columns = kinds.tolist(), self.d_id_at
        inputs = [next(drawn[kind]) for kind in numbers]
        districts = [one[at] if (at := columns[kind]) else 0 for kind, one in zip(numbers, inputs, strict=True)]
        heads = self._heads.pack(kinds, w_id=[one[0] for one in inputs], d_id=districts)
        batch, calls = [], self._calls
        for kind, arguments, head in zip(numbers, inputs, heads, strict=True):
            perform, bind = next(calls[kind])
            batch.append(Prepared(kind, perform, bind(arguments), head))
        return batch

    def head(self, prepared: Prepared, raw: Any) -> bytes:
        """The record's head with the number of the order that a new order made."""
        if raw is None or prepared.operation != NEW_ORDER:
            return prepared.head
        return prepared.head[: -_ORDER_ID.size] + _ORDER_ID.pack(self.order_id(raw))

    def order_id(self, raw: Any) -> int:
        """The number of the order in the result of a new order."""
        return int(self._rows(raw)[0][0])

    def _take_turns(self, own: Session, load: TprocCLoad, routes: Mapping[str, Route]) -> None:
        """Perform the transactions of ``routes`` on their sessions; one that only reads may be that of a replica."""
        others = {id(one): one for route in routes.values() for one in route.sessions if one is not own}
        prepared = {id(own): self._prepared(own, load)}
        for key, session in others.items():
            reads_only = all(name in READING for name, route in routes.items() if session in route.sessions)
            prepared[key] = self._prepared(session, load.model_copy(update={"read_only": reads_only}))
        for name, route in routes.items():
            kind = TRANSACTIONS.index(name)
            self._calls[kind] = route.turns([prepared[id(one)][kind] for one in route.sessions])

    def _prepared(self, session: Session, load: TprocCLoad) -> list[TransactionCall]:
        if load.routines is Routines.CLIENT:
            return _client(session, load.read_only)
        return stored(session, [f"call_{name}" for name in TRANSACTIONS])


def stored(session: Session, calls: Sequence[str]) -> list[TransactionCall]:
    """Each transaction as one call of its stored routine, through the prepared statements ``calls``."""
    session.prepare(calls)
    perform = session.perform  # one object, by which a client with several sessions finds how it is sent
    return [(perform, partial(session.bind, call)) for call in calls]


def client_side(session: Session) -> ModuleType:
    """The module with the transactions as the client of this session sends them."""
    from hdbkit.workloads.tproc_c import client, optimistic

    return optimistic if hasattr(session, OptimisticSession.change.__name__) else client


def _client(session: Session, read_only: bool) -> list[TransactionCall]:
    """Each transaction as what the client sends."""
    sent = client_side(session)
    session.prepare(sent.statements(session, read_only))
    return [(partial(getattr(sent, name), session), _as_it_is) for name in TRANSACTIONS]


def _as_it_is(value: Any) -> Any:
    return value


_MAX_CARDS: Final = 10_000


class Deck:
    """An endless sequence of transactions, as indices in ``TRANSACTIONS``; each deck is shuffled again."""

    def __init__(self, weights: Mapping[str, float], generator: np.random.Generator) -> None:
        self._one = np.repeat(np.arange(len(TRANSACTIONS)), cards(weights))
        self._generator = generator
        self._left: NDArray[np.int64] = self._one[:0]

    def draw(self, count: int) -> NDArray[np.int64]:
        """The next ``count`` transactions."""
        missing = count - len(self._left)
        if missing > 0:
            decks = np.tile(self._one, (-(-missing // len(self._one)), 1))
            self._left = np.concatenate([self._left, self._generator.permuted(decks, axis=1).ravel()])
        drawn, self._left = self._left[:count], self._left[count:]
        return drawn


class Draws:
    """An endless sequence of transactions, each drawn independently by weight."""

    def __init__(self, weights: Mapping[str, float], generator: np.random.Generator) -> None:
        shares = np.array([weights[name] for name in TRANSACTIONS])
        self._shares = shares / shares.sum()
        self._generator = generator

    def draw(self, count: int) -> NDArray[np.int64]:
        """The next ``count`` transactions."""
        return self._generator.choice(len(TRANSACTIONS), count, p=self._shares)


def cards(weights: Mapping[str, float]) -> list[int]:
    """The number of cards of each transaction in the smallest deck with exactly these weights.

    A deck of more than 10,000 cards is brought down to about that, with one card at least of each wanted one.
    """
    shares = [Fraction(str(weights[name])) for name in TRANSACTIONS]
    common = lcm(*(share.denominator for share in shares))
    counts = [int(share * common) for share in shares]
    divisor = gcd(*counts)
    total = sum(counts)
    if total // divisor <= _MAX_CARDS:
        return [count // divisor for count in counts]
    return [count and max(1, round(count * _MAX_CARDS / total)) for count in counts]
