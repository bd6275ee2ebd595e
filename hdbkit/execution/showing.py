"""Operations of one virtual user performed one by one, with everything that was sent and received; nothing is stored.

The session of the user passes each call on and notes it. The times include that, so they are no measurement.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from itertools import chain, islice, repeat, takewhile
from typing import Any

from hdbkit.config import Load, Target, WorkloadSpec
from hdbkit.contracts import Arguments, UserPlan
from hdbkit.databases import database
from hdbkit.errors import InputError, RolledBackByDesign, TransactionError
from hdbkit.execution.virtual_user import options_of
from hdbkit.plan import user_seed
from hdbkit.results.columns import Outcome
from hdbkit.statement import Statement
from hdbkit.workloads import workload
from hdbkit.workloads.present import require_permission, schema_in

_MAX_ROWS = 20
"""The rows of an answer that are kept of operations of any name."""


@dataclass(frozen=True)
class _Sent:
    """A call of an operation: a statement, a step, or the begin or end of a transaction."""

    name: str
    text: str
    """The statement or step as it is written; empty for the begin or end of a transaction."""
    arguments: dict[str, Any]
    elapsed_ms: float
    """Of all calls of one round trip together, at the last of them; 0 at the others."""
    rows: list[tuple[Any, ...]]
    """The first rows of the answer, or all."""
    row_count: int


@dataclass(frozen=True)
class Shown:
    """An operation that was performed."""

    operation: str
    outcome: str
    """committed, rolled_back_by_design or failed."""
    error: str
    elapsed_ms: float
    sent: tuple[_Sent, ...]


def shown(target: Target, wanted: WorkloadSpec, load: Load, count: int, only: str | None = None) -> Iterator[Shown]:
    """Perform ``count`` operations of the first virtual user of a load; fewer, if its list is shorter.

    ``only`` is the name of an operation: the others are left out, and all rows of its answers are kept.

    Raises:
        InputError: the schema is missing, the account may not run the load, or no operation has that name; nothing
            was performed.
    """
    engine, asked = database(target), workload(wanted)
    with closing(engine.schema(target, asked)) as schema:
        work = workload(schema_in(schema, target, asked))
        settled = work.settled(work.load(load), engine.capabilities)
        require_permission(schema, work, settled)
        if only is not None and only not in work.operations:
            known = ", ".join(work.operations)
            raise InputError(f"{work.title} has no operation '{only}'; it has: {known}")
        pooling = engine.pooling(schema.session, target)
    options = replace(options_of(settled, work, pooling), application="hdbkit show")
    plan = UserPlan(0, user_seed(settled.seed, 0), ahead=min(count, 100))
    with closing(engine.connect(target, work.scope(engine.dialects), options)) as session:
        noting: Any = _NotingSession(session, work.scope(engine.dialects).statements, None if only else _MAX_ROWS)
        user = work.user(noting, settled, plan)
        batches = takewhile(bool, (user.next_batch() for _ in repeat(None)))
        found = ((work.operations[one.operation], one) for one in chain.from_iterable(batches))
        for name, one in islice((pair for pair in found if only in (None, pair[0])), count):
            yield _performed(noting, name, one.perform, one.bound)


def _performed(session: _NotingSession, operation: str, perform: Callable[[Any], Any], bound: Any) -> Shown:
    session.sent.clear()
    outcome, error, start_s = Outcome.COMMITTED, "", time.perf_counter()
    try:
        perform(bound)
    except RolledBackByDesign:
        outcome = Outcome.ROLLED_BACK_BY_DESIGN
    except TransactionError as failed:
        outcome, error = Outcome.FAILED, str(failed)
    elapsed_ms = 1000 * (time.perf_counter() - start_s)
    return Shown(operation, outcome.name.lower(), error, elapsed_ms, tuple(session.sent))


@dataclass
class _NotingSession:
    """A session that notes its calls in ``sent``. What is not here is the session's own."""

    session: Any
    statements: Mapping[str, Statement]
    max_rows: int | None
    sent: list[_Sent] = field(default_factory=list)

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.session, name)
        if name in _STEPS:
            return lambda steps: self._noted(found, steps, steps)
        return found

    def bind(self, statement: str, arguments: Arguments) -> tuple[tuple[str, Arguments], Any]:
        """The call, and what the session makes of it."""
        return (statement, arguments), self.session.bind(statement, arguments)

    def perform(self, bound: tuple[tuple[str, Arguments], Any]) -> Any:
        """Perform a whole operation of one call."""
        call, own = bound
        return self._noted(self.session.perform, [call], own, lambda raw: [self.session.rows(raw)])

    def bind_all(self, calls: Sequence[tuple[str, Arguments]]) -> tuple[Sequence[tuple[str, Arguments]], Any]:
        """The calls, and what the session makes of them."""
        return calls, self.session.bind_all(calls)

    def perform_all(self, bound: tuple[Sequence[tuple[str, Arguments]], Any]) -> Any:
        """Perform a whole operation of several calls."""
        return self._noted(self.session.perform_all, *bound)

    def perform_each(self, bound: tuple[Sequence[tuple[str, Arguments]], Any]) -> Any:
        """Perform a whole operation of several calls, one after the other."""
        return self._noted(self.session.perform_each, *bound)

    def call(self, statement: str, *arguments: Any) -> Any:
        """Perform a call inside a transaction."""
        return self.batch([(statement, arguments)])[0]

    def batch(self, calls: Sequence[tuple[str, Arguments]]) -> Any:
        """Perform several calls inside a transaction."""
        return self._noted(self.session.batch, calls, calls, lambda rows: rows)

    def begin(self) -> None:
        """Begin a transaction."""
        self._noted(lambda _: self.session.begin(), [("BEGIN", ())], None)

    def commit(self) -> None:
        """Commit."""
        self._noted(lambda _: self.session.commit(), [("COMMIT", ())], None)

    def rollback(self) -> None:
        """Roll back."""
        self._noted(lambda _: self.session.rollback(), [("ROLLBACK", ())], None)

    def _noted(
        self,
        send: Callable[[Any], Any],
        calls: Sequence[tuple[str, Arguments]],
        bound: Any,
        rows_of: Callable[[Any], Sequence[list[tuple[Any, ...]]]] = lambda _: (),
    ) -> Any:
        start_s = time.perf_counter()
        answers: Sequence[list[tuple[Any, ...]]] = ()
        try:
            raw = send(bound)
            elapsed_ms = 1000 * (time.perf_counter() - start_s)
            answers = rows_of(raw)
            return raw
        finally:
            if not answers:
                elapsed_ms = 1000 * (time.perf_counter() - start_s)
            for at, (name, values) in enumerate(calls):
                rows = answers[at] if at < len(answers) else []
                took_ms = elapsed_ms if at == len(calls) - 1 else 0.0
                text = self.statements[name].text.strip() if name in self.statements else ""
                self.sent.append(
                    _Sent(name, text, self._named(name, values), took_ms, rows[: self.max_rows], len(rows))
                )

    def _named(self, name: str, values: Arguments) -> dict[str, Any]:
        if not values:
            return {}
        names = self.session.parameters(name) or [f"${number}" for number in range(1, len(values) + 1)]
        return dict(zip(names, values, strict=True))


_STEPS = ("read", "change")
"""How a session without SQL performs several steps."""
