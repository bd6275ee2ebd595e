"""A virtual user of a client process: its session, and how it reconnects after a lost connection.

What it draws follows from its plan alone, also after a reconnect: the seed of each connection derives
from the seed, the index and the number of the connection, never from a clock.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import count
from typing import Any, cast

from hdbkit.arrivals import due_us, rate_of
from hdbkit.config import Load, Target
from hdbkit.config.routing import Policy
from hdbkit.config.steps import active_s
from hdbkit.contracts import (
    CommentedSession,
    Database,
    PlanReportingSession,
    Prepared,
    Scope,
    Session,
    SessionOptions,
    ThinkTimes,
    User,
    UserPlan,
    Workload,
)
from hdbkit.errors import InputError, TransactionError
from hdbkit.execution.client_notes import SlowPlans, Traced, trace_id
from hdbkit.execution.control import NEVER_NS, Field
from hdbkit.execution.failures import ErrorCounts, Failures
from hdbkit.execution.pacing import ActiveUsers, OpenLoop, Pacer, Pacing, sleep_until
from hdbkit.execution.routes import open_routes, policies_of
from hdbkit.execution.switching import SessionSwitch
from hdbkit.execution.usage import Usage
from hdbkit.execution.user import End, Loop, Recorder
from hdbkit.execution.waits import NUMBER
from hdbkit.files import JsonLines
from hdbkit.plan import RunPlan, reconnect_seed
from hdbkit.readings import Pooling
from hdbkit.results.spool import SpoolWriter
from hdbkit.workloads import workload

_MIN_PAUSE_S, _MAX_PAUSE_S = 0.05, 1.0


def session_options(plan: RunPlan) -> SessionOptions:
    """How the users of a run connect."""
    return options_of(plan.load, workload(plan.workload), plan.pooling)


def options_of(load: Load, work: Workload, pooling: Pooling | None) -> SessionOptions:
    """How the users of a load connect. Where each execution counts by itself, it has a plan of its own; nothing is
    prepared for a single one."""
    return SessionOptions(
        load.isolation,
        load.statement_timeout_ms,
        load.lock_timeout_ms,
        parallel_workers=load.parallel_workers,
        pooling=pooling,
        reuses_plans=not (work.listed(load) or load.connect_per_operation),
        slow_plans_ms=load.slow_plans_ms,
        is_own=False,
    )


@dataclass(frozen=True)
class SharedParts:
    """The data that the virtual users of a client process share."""

    plan: RunPlan
    database: Database
    workload: Workload
    scope: Scope
    fields: memoryview
    spool: SpoolWriter
    errors: ErrorCounts
    switches: JsonLines | None = None
    """Where the changes of settings are noted, if the clients make them."""
    sessions: JsonLines | None = None
    """Where the numbers of sessions are noted, if what they wait for is sampled."""
    traces: JsonLines | None = None
    """Where operations are noted whose statements carry a comment, if some do."""
    slow_plans: SlowPlans | None = None
    """Where the plans of slow executions are noted, if the server reports them."""

    @property
    def load(self) -> Load:
        """The load of the run."""
        return self.plan.load

    @cached_property
    def policies(self) -> dict[str, Policy]:
        """Where operations are performed that are not performed at the target's own address alone."""
        return policies_of(self.plan.load, self.workload)

    @property
    def stopped(self) -> bool:
        """Whether the run's stop time has passed."""
        return time.monotonic_ns() >= self.fields[Field.STOP_AT_NS]


class VirtualUser:
    """One virtual user; ``user`` is its workload part on the present sessions: its own, and those of its routes."""

    user: User
    session: Session

    def __init__(self, shared: SharedParts, plan: UserPlan) -> None:
        self.shared, self.plan = shared, plan
        self.failures = Failures(shared.errors, shared.load, shared.fields)
        self.pacer: Pacing | None = None
        self.logins: Logins | None = None
        """Connects for each operation, if the load asks for it."""
        self._recorder: Recorder | None = None
        self._switch: SessionSwitch | None = None
        self.ahead: Sequence[Prepared] = ()
        """Operations drawn before the common start, so that all users begin together."""
        self._connections, self._pause_s = 0, _MIN_PAUSE_S
        self._traces = (trace_id(shared.plan.run_id, plan.index, number) for number in count(1))
        self._sessions = ExitStack()

    def connect(self) -> None:
        """Open a session and prepare its operations. Raises ``InputError`` or ``TransactionError``."""
        shared, load = self.shared, self.shared.load
        options = session_options(shared.plan)
        done = self._recorder.written if self._recorder else 0
        plan = replace(self.plan, seed=reconnect_seed(self.plan, self._connections), done=done)
        if load.connect_per_operation:
            plan = replace(plan, ahead=1)
        target = shared.plan.target
        with ExitStack() as opened:
            session = shared.database.connect(target, shared.scope, options)
            opened.callback(session.close)
            routes = open_routes(target, shared.policies, plan, session, self._connect_elsewhere, opened)
            self.user = shared.workload.user(session, load, plan, routes)
            index, of_routes = self.plan.index, [one for route in routes.values() for one in route.sessions]
            sessions = [*{id(one): one for one in [session, *of_routes]}.values()]
            if shared.slow_plans:
                for one in cast("list[PlanReportingSession]", sessions):
                    one.report_plans(partial(shared.slow_plans.note, index))
            if shared.traces:
                commented, share = cast("list[CommentedSession]", sessions), load.traceparent_share
                self.user = traced = Traced(self.user, commented, share, self._traces, shared.traces, index)
                opened.callback(traced.flush)
            self._sessions = opened.pop_all()
        self.session = session
        if shared.sessions:
            ((number,),) = session.ask(NUMBER)
            noted = {"virtual_user": self.plan.index, "number": int(number), "t_ns": time.monotonic_ns()}
            shared.sessions.try_to_add(noted)
        if self._switch:
            self._switch.attach(session)
        self._connections += 1

    def _connect_elsewhere(self, target: Target) -> Session:
        """A session at another address, which may have a pooler of its own."""
        shared = self.shared
        return shared.database.connect(target, shared.scope, replace(session_options(shared.plan), pooling=None))

    @property
    def start_ns(self) -> int:
        """When this user starts, on the monotonic clock, once the common start is published."""
        load = self.shared.load
        delay_ns = (load.start_delay_ms or 0) * 1_000_000
        return int(self.shared.fields[Field.START_AT_NS]) + load.user_of(self.plan.index) * delay_ns

    def close(self) -> None:
        """Close its sessions."""
        self._sessions.close()

    def draw_ahead(self) -> None:
        """Draw the first operations, unless each has a connection of its own."""
        if not self.shared.load.connect_per_operation:
            self.ahead = self.user.next_batch()

    def lose(self) -> int:
        """Release a lost connection; return when to reconnect, in ns of the monotonic clock."""
        self.close()
        self._pause_s = _MIN_PAUSE_S
        return self._after_pause()

    def attempt(self) -> int | None:
        """Try to connect for the first time after a connection was closed; see :meth:`reconnect`."""
        self._pause_s = _MIN_PAUSE_S / 2
        return self.reconnect()

    def reconnect(self) -> int | None:
        """Try to connect; return None if connected, else when to retry, with growing pauses."""
        try:
            self.connect()
        except (InputError, TransactionError) as error:
            self.shared.errors.add_connecting(error)
            self._pause_s = min(self._pause_s * 2, _MAX_PAUSE_S)
            return self._after_pause()
        return None

    def loop(self, recorder: Recorder, pause: Callable[[int], None]) -> Loop:
        """Create the measured loop, after the common start is published."""
        shared, load = self.shared, self.shared.load
        self._recorder = recorder
        self.pacer = self._active(self._paced() if load.keying_and_thinking or load.is_open else None)
        if load.connect_per_operation:
            self.logins = self.pacer = Logins(self, self.pacer, shared.fields, lambda: shared.stopped)
        if shared.plan.slices and shared.switches:
            begun_ns = int(shared.fields[Field.START_AT_NS])
            self._switch = SessionSwitch(shared.plan.slices, self.plan.index, begun_ns, shared.switches, self.pacer)
            self._switch.attach(self.session)
            self.pacer = self._switch
        from_results = shared.workload.details_from_results(load)
        return Loop(recorder, shared.fields, self.failures, pause, self.pacer, load.iterations, from_results)

    def _active(self, paced: Pacing | None) -> Pacing | None:
        """The schedule with the pauses that the steps of the load make, or the slices of the other side."""
        load, fields = self.shared.load, self.shared.fields
        if slices := self.shared.plan.side_slices:
            return ActiveUsers(slices.active_ns(), paced, fields)
        if load.steps is None or load.steps.are_rates:
            return paced
        begun_ns = int(fields[Field.START_AT_NS])
        active = active_s(load.steps.pieces(load.starting_s + load.rampup_s), load.user_of(self.plan.index))
        active_ns = [
            (begun_ns + round(1e9 * from_s), NEVER_NS if until_s == math.inf else begun_ns + round(1e9 * until_s))
            for from_s, until_s in active
        ]
        return ActiveUsers(active_ns, paced, fields)

    def _paced(self) -> Pacing:
        shared, load, fields = self.shared, self.shared.load, self.shared.fields
        if (rate_per_s := rate_of(shared.plan.workload, load)) is not None:
            arrivals = due_us(load, rate_per_s, self.plan.index)
            return OpenLoop(arrivals, load.latency_limit_ms, fields, int(fields[Field.START_AT_NS]))
        waits = [shared.workload.waits.get(name, ThinkTimes()) for name in shared.workload.operations]
        return Pacer(waits, load, self.plan.seed, fields, self.start_ns)

    def run(self, usage: Usage) -> End:
        """Run to the end as the only virtual user of its process; return why it ended."""
        fields = self.shared.fields
        loop = self.loop(self.shared.spool, partial(sleep_until, fields=fields))
        sleep_until(self.start_ns, fields)
        while True:
            with usage.counted():
                end = loop.run(self.logins or self.user, self._taken())
            if end is not End.LOST or not (self.logins or self._reconnected()):
                return end

    def _taken(self) -> Sequence[Prepared]:
        """What was drawn ahead, which only the loop keeps from now on."""
        drawn, self.ahead = self.ahead, ()
        return drawn

    def _reconnected(self) -> bool:
        """Reconnect; return False if the run ends first."""
        retry_ns: int | None = self.lose()
        while retry_ns is not None:
            sleep_until(retry_ns, self.shared.fields)
            if self.shared.stopped:
                return False
            retry_ns = self.reconnect()
        return True

    def _after_pause(self) -> int:
        return time.monotonic_ns() + round(self._pause_s * 1e9)


_NOT_DRAWN = Prepared(0, lambda _: None, None, b"")
"""In place of an operation: it is drawn after the login, and only keying times depend on it, which these users
do not have."""


class Logins:
    """A virtual user that connects for each operation: to the measured loop, its workload's part and its pacing.

    Args:
        virtual_user: connects, and has the workload's part of each connection.
        inner: the schedule of its operations; None: a closed loop.
        fields: the control page.
        stopped: whether the run's stop time has passed.

    The scheduled start of an operation is when its login begins, or when it was due by the load's schedule. So its
    response time contains the login, and its service time does not. The end of the connection is part of neither.
    """

    def __init__(
        self, virtual_user: VirtualUser, inner: Pacing | None, fields: memoryview, stopped: Callable[[], bool]
    ) -> None:
        self._one, self._inner, self._fields, self._stopped = virtual_user, inner, fields, stopped
        self._scheduled_ns = 0

    def next_batch(self) -> Sequence[Prepared]:
        """Wait until an operation is due, log in and draw it; none if the run ends before."""
        self._one.close()
        due_ns = self._inner.wait(_NOT_DRAWN) if self._inner else 0
        self._scheduled_ns = due_ns or time.monotonic_ns()
        retry_ns = None if self._stopped() else self._one.attempt()
        while retry_ns is not None and not self._stopped():
            sleep_until(retry_ns, self._fields)
            retry_ns = self._one.reconnect()
        return () if self._stopped() else self._one.user.next_batch()[:1]

    def head(self, prepared: Prepared, raw: Any) -> bytes:
        """The head of a record, completed from the result."""
        return self._one.user.head(prepared, raw)

    def due_ns(self, prepared: Prepared) -> int:
        """When the operation was due, or its login began."""
        return self._scheduled_ns

    wait = begin = due_ns

    def done(self, prepared: Prepared, end_ns: int) -> None:
        """Close the connection, and pass the end of the operation on."""
        self._one.close()
        if self._inner:
            self._inner.done(prepared, end_ns)
