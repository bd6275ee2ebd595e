"""The server's counters and the host's load over time, one JSON object per line, on disk as soon as taken.

Sampling has its own thread and connection, so that an unresponsive server does not block anything else.
"""

from __future__ import annotations

import math
import queue
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from contextlib import closing, suppress
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, Field, ValidationError

from hdbkit.config import Target
from hdbkit.contracts import SERVER, Session, SessionOptions, Workload
from hdbkit.databases import database
from hdbkit.errors import HdbkitError, ServerFailed
from hdbkit.execution import host
from hdbkit.execution.beside import Beside
from hdbkit.execution.session_cpu import SessionCpu, own_threads
from hdbkit.files import JsonLines
from hdbkit.plan import RunPlan
from hdbkit.readings import ENDS, LAG, STATEMENT_TOTALS, answered
from hdbkit.results import columns
from hdbkit.results.columns import COUNTED
from hdbkit.sql import SERVER_STATEMENTS, statements
from hdbkit.workloads import metric_of

if TYPE_CHECKING:
    from hdbkit.servers.agent_client import AgentClient


_TIME_MS = 2 + STATEMENT_TOTALS.index("time_ms")
"""The position of that total in a line, after the statement and its text."""
WINDOW_EDGES = ("start", "end")
RUN_EDGES = ("run_start", "run_end")
"""Before the first and after the last operation; the size of the data is read there, outside the window."""
_FEW_PAGES = 0.2
"""Full-page writes are over when their rate is at most this share of the first ..."""
_NO_PAGES = 0.02
"""... or when there are at most this many per transaction."""
_REPLICA_MS = 1000
"""How long the question for its lag waits for a replica."""
_LAG_VALID_S = 5.0
"""A lag that is older is not sampled."""
_STATEMENTS_EVERY_S, _STATEMENTS_MS, _STATEMENTS = 10.0, 2_000, 50
"""Within the window the server is asked so often for its totals by statement, for so long at most, and so many are
noted, those that took the most time since its start."""
_THREADS = "session_threads"
_MIN_TRANSACTIONS = 100
"""The minimum number of transactions for such a rate."""


class FullPages:
    """The rate of full-page writes per transaction, from sample to sample of the server's running totals.

    The first change of a page after a checkpoint writes the whole page to the log: 0.2 of them per transaction at
    first, 0.04 after 40 s. A window that begins among them measures the checkpoint more than the load.
    """

    def __init__(self) -> None:
        self._before: tuple[float, float] | None = None
        self._first: float | None = None
        self.over = False

    def see(self, totals: Mapping[str, float]) -> None:
        """Add a sample. For a server that does not count full-page writes the rate is unknown."""
        if "wal_fpi" not in totals:
            self.over = True
            return
        now = totals["wal_fpi"], sum(totals.get(name, 0.0) for name in ENDS)
        before = self._before if self._before and self._before[1] <= now[1] else now  # a crash sets them back
        self._before = before
        if now[1] < before[1] + _MIN_TRANSACTIONS:
            return
        rate = (now[0] - before[0]) / (now[1] - before[1])
        self._before, self._first = now, rate if self._first is None else self._first
        self.over = self.over or rate <= max(_FEW_PAGES * self._first, _NO_PAGES)


class Replicas(Beside):
    """Asks the replicas that a load reads from for their lag, in its own thread: one that hangs delays no sample.

    A replica that is away is asked again a second later.
    """

    def __init__(self, plan: RunPlan) -> None:
        super().__init__("hdbkit-replicas", needed=plan.load.reads_replicas, patience_s=0)
        self._target, self._database = plan.target, database(plan.target)
        self._sessions: dict[int, Session] = {}
        self._numbers = range(len(plan.target.replicas))
        self._newest: tuple[float, dict[str, float]] = (0.0, {})

    def lag(self) -> dict[str, float]:
        """The newest lag of the replica that is furthest behind, as a gauge; empty if none reports one."""
        asked_s, lag = self._newest
        return lag if time.monotonic() - asked_s <= _LAG_VALID_S else {}

    def run(self) -> None:
        """Ask each second until the end."""
        while not self.ended.is_set():
            known = [lag_s for number in self._numbers if (lag_s := self._lag_s(number)) is not None]
            self._newest = time.monotonic(), {LAG: max(known)} if known else {}
            self.ended.wait(1)
        for session in self._sessions.values():
            session.close()

    def _lag_s(self, number: int) -> float | None:
        try:
            if number not in self._sessions:
                options = SessionOptions(
                    statement_timeout_ms=_REPLICA_MS,
                    connect_timeout_s=_REPLICA_MS // 1000,
                    application="hdbkit sampler",
                )
                self._sessions[number] = self._database.connect(self._target.replica(number), options=options)
            return self._database.counters(self._sessions[number]).get(LAG)
        except Exception:  # it is asked again; a lag that is unknown is not sampled
            if session := self._sessions.pop(number, None):
                session.close()
            return None


class Sampler(threading.Thread):
    """Samples in the background; ``ask`` requests a sample now. Without ``work`` no schema is counted."""

    def __init__(self, plan: RunPlan, folder: Path, interval_s: float, work: Workload | None) -> None:
        super().__init__(name="hdbkit-sampler", daemon=True)
        self._plan, self._interval_s = plan, interval_s
        self._counters = JsonLines(folder / columns.COUNTER_LINES.name)
        self._host = JsonLines(folder / columns.HOST_LINES.name)
        self._asked: queue.Queue[tuple[str, Future[float]] | None] = queue.Queue()
        self._database, self._scope = database(plan.target), SERVER
        self._counter: str | None = None
        if work:
            self._scope = work.scope(self._database.dialects)
            self._counter = metric_of(work, plan.load).counter
        self._session: Session | None = None
        self._server: host.ServerCpu | None = None
        self._sessions: SessionCpu | None = None
        self._folder = folder
        self._host_samples = host.HostSamples()
        self._full_pages = FullPages()
        self._replicas = Replicas(plan)
        self._statements = JsonLines(folder / columns.STATEMENT_LINES.name)
        self._events = JsonLines(folder / columns.EVENT_LINES.name)
        self._tells_events = True
        self._statements_due_s = math.inf
        self._statement_ms: dict[str, float] = {}

    def ask(self, edge: str) -> Future[float]:
        """Sample now, as an edge of the window; the result is the middle of the query in ns of the monotonic clock.

        Or ``HdbkitError``, when the server reported an error or could not be reached.
        """
        future: Future[float] = Future()
        self._asked.put((edge, future))
        return future

    @property
    def few_full_pages(self) -> bool:
        """Whether a checkpoint's full-page writes are over, as far as samples show."""
        return self._full_pages.over

    def stop(self) -> None:
        """End the thread after the requests so far."""
        self._asked.put(None)

    def run(self) -> None:
        """Serve requests; between them, sample the host each second and the counters each interval."""
        self._replicas.start()
        next_host = next_counters = time.monotonic()
        while True:
            try:
                asked = self._asked.get(timeout=max(min(next_host, next_counters) - time.monotonic(), 0))
            except queue.Empty:
                now = time.monotonic()
                if now >= next_host:
                    next_host = now + 1
                    self._sample_host()
                if now >= next_counters:
                    next_counters = now + self._interval_s
                    self._quietly("")
                if now >= self._statements_due_s:
                    self._sample_statements("", _STATEMENTS_MS)
                continue
            if asked is None:
                break
            self._answer(*asked)
            next_counters = time.monotonic() + self._interval_s
        self._replicas.stop()
        if self._session:
            self._session.close()
        self._counters.close()
        self._host.close()
        self._statements.close()
        self._events.close()

    def _answer(self, edge: str, future: Future[float]) -> None:
        """Sample; the host too before the answer, while the clients are still connected."""
        try:
            middle_ns = self._sample(edge)
            if edge == RUN_EDGES[0]:
                self._follow_sessions()
        except Exception as error:
            self._forget_session()
            self._sample_host(at_edge=True)
            future.set_exception(error)
        else:
            self._sample_host(at_edge=True)
            future.set_result(middle_ns)
            if edge in WINDOW_EDGES:
                self._sample_statements(edge, 30_000)
            if edge == WINDOW_EDGES[0]:
                self._follow_again()

    def _sample_host(self, *, at_edge: bool = False) -> None:
        taken = self._host_samples.take(self._server, self._sessions, at_edge=at_edge)
        self._host.try_to_add({"t_ns": time.monotonic_ns(), **taken})

    def _follow_again(self) -> None:
        """Follow those that are there after the ramp-up; a server that does not answer ends nothing."""
        try:
            self._follow_sessions()
        except (HdbkitError, OSError):
            self._sessions = None
            self._forget_session()

    def _follow_sessions(self) -> None:
        """The server's threads of the load's sessions are those that count; each session has one, or none counts."""
        known = statements(self._database.dialects, SERVER_STATEMENTS)
        if self._server is None or self._plan.load.connect_per_operation or _THREADS not in known:
            return
        threads = own_threads(self._folder, lambda: self._connected().ask(_THREADS))
        if len(set(threads)) != self._plan.load.sessions:
            self._sessions = None
        elif self._sessions is not None:
            self._sessions.follow(threads)
        else:
            self._sessions = SessionCpu(self._server.pid, threads)

    def _sample_statements(self, edge: str, timeout_ms: int) -> None:
        """Running totals by statement, where the server keeps them and this account may read them."""
        self._statements_due_s = math.inf
        if not {"counts_statements", "statement_totals"} <= set(
            statements(self._database.dialects, SERVER_STATEMENTS)
        ):
            return
        options = SessionOptions(
            statement_timeout_ms=timeout_ms, application="hdbkit sampler", pooling=self._plan.pooling
        )
        with (
            suppress(HdbkitError, OSError),
            closing(self._database.connect(self._plan.target, SERVER, options)) as session,
        ):
            if named := session.ask("counts_statements"):
                t_ns, rows = time.monotonic_ns(), [list(map(_plain, row)) for row in session.ask(named[0][0])]
                if edge == WINDOW_EDGES[0]:
                    self._statement_ms = {row[0]: row[_TIME_MS] or 0.0 for row in rows}
                if not edge:
                    rows.sort(key=self._grown_ms, reverse=True)
                    rows = [[row[0], "", *row[2:]] for row in rows[:_STATEMENTS]]
                self._statements.add({"t_ns": t_ns, "edge": edge, "rows": rows})
                if edge != WINDOW_EDGES[1]:
                    self._statements_due_s = time.monotonic() + _STATEMENTS_EVERY_S

    def _grown_ms(self, row: Sequence[Any]) -> float:
        return (row[_TIME_MS] or 0.0) - self._statement_ms.get(row[0], 0.0)

    def _quietly(self, edge: str) -> None:
        try:
            self._sample(edge)
        except OSError:
            pass  # a full disk; the edges report it
        except Exception:
            self._forget_session()  # the edges report it

    def _forget_session(self) -> None:
        if self._session:
            self._session.close()
        self._session = None

    def _sample(self, edge: str) -> float:
        session = self._connected()
        sent = time.monotonic_ns()
        total = math.nan if self._counter is None else _count(session, self._counter)
        returned = time.monotonic_ns()
        engine_sent = time.monotonic_ns()
        engine = self._database.counters(session)
        engine_returned = time.monotonic_ns()
        engine |= self._replicas.lag()
        self._add(edge, sent, returned, {COUNTED: total})
        self._add(edge, engine_sent, engine_returned, engine)
        self._sample_events(session)
        if edge == RUN_EDGES[0]:
            self._full_pages = FullPages()
        self._full_pages.see(engine)
        if edge in RUN_EDGES and (footprint := self._database.footprint(session)):
            self._add(edge, engine_sent, engine_returned, {"data_bytes": footprint.data_bytes})
        return (sent + returned) / 2

    @property
    def server_process(self) -> int | None:
        """The server's process, if it runs on this host."""
        return self._server.pid if self._server else None

    def _sample_events(self, session: Session) -> None:
        """What the server did lately; one that cannot answer is asked once."""
        if not self._tells_events:
            return
        sent_ns = time.monotonic_ns()
        found = answered(lambda: self._database.recent_events(session), None)
        middle_ns = (sent_ns + time.monotonic_ns()) / 2
        self._tells_events = found is not None
        for one in found or []:
            self._events.add({"t_ns": middle_ns - one.age_s * 1e9, "kind": one.kind, "text": one.text})

    def _add(self, edge: str, sent: int, returned: int, values: Mapping[str, float]) -> None:
        for name, value in values.items():
            row = {"edge": edge, "sent_ns": sent, "returned_ns": returned, "name": name, "value": float(value)}
            self._counters.add(row)

    def _connected(self) -> Session:
        if self._session is None:
            pooling = self._plan.pooling
            options = SessionOptions(statement_timeout_ms=30_000, application="hdbkit sampler", pooling=pooling)
            self._session = self._database.connect(self._plan.target, self._scope, options)
            self._database.lift_limits(self._session)
            if self._server is None and (pid := self._database.server_process(self._session)) is not None:
                self._server = host.ServerCpu(pid)  # one for the run: totals of two processes do not compare
        return self._session


def _plain(value: Any) -> Any:
    return value if value is None or isinstance(value, str) else float(value)


def _count(session: Session, counter: str) -> float:
    """The schema's own count. Raises ``HdbkitError`` if the statement returns anything else than a number."""
    rows = session.ask(counter)
    try:
        return float(rows[0][0])
    except (IndexError, TypeError, ValueError):
        raise HdbkitError(f"the statement '{counter}' returned no number") from None


_EVERY_S = 1.0
_PATIENCE_S = 5.0


class ServerHost(Beside):
    """Queries the agent of ``target`` each second; does nothing if there is no agent.

    The load is optional: an unreachable agent leaves a gap and delays nothing.
    """

    def __init__(self, target: Target, spools: Path) -> None:
        super().__init__("hdbkit-server-host", needed=bool(target.control.agent))
        self._target, self._spools = target, spools
        self.problem = ""
        """Why the host was not sampled to the end; empty if it was, but for gaps."""

    def run(self) -> None:
        """Query and write at once, each second, until ``stop``."""
        from hdbkit.servers.agent_client import AgentClient

        lines = JsonLines(self._spools / columns.SERVER_HOST_LINES.name)
        try:
            with AgentClient(self._target.control, keep=True) as agent:
                lines.try_to_add(_asked(agent))
                while not self.ended.wait(_EVERY_S):
                    lines.try_to_add(_asked(agent))
        except HdbkitError as error:  # access is denied, or it is no such agent: a retry would not help
            self.problem = f"the database's host was not sampled to the end: {error}"
        lines.close()


_Total = Annotated[float, Field(strict=True, allow_inf_nan=False)]
_LONGEST = 64  # a repetition of so many in the patterns would make each of them take 20 ms at import
_Device = Annotated[str, Field(pattern=r"^[^\s\p{C}]*$", max_length=_LONGEST)]
_Name = Annotated[str, Field(pattern=r"^\w+$", max_length=_LONGEST)]
_OfCores = Annotated[str, Field(pattern=r"^cores_\w+$", max_length=_LONGEST)]
_Cores = Annotated[list[_Total], Field(max_length=8192)]


class _Metrics(BaseModel):
    """What an agent sends."""

    metrics: Annotated[
        list[tuple[_Name, _Device, _Total] | tuple[_OfCores, Literal[""], _Cores]], Field(max_length=20_000)
    ]


def _asked(agent: AgentClient) -> dict[str, Any]:
    from hdbkit.servers.agent_client import AgentAway

    sent_ns = time.monotonic_ns()
    try:
        found = _Metrics.model_validate(agent.get("metrics", _PATIENCE_S)).model_dump()
    except AgentAway as away:
        found = {"away": str(away)}
    except ValidationError as error:
        where = ".".join(map(str, error.errors()[0]["loc"][:2]))
        raise ServerFailed(
            f"the agent sent no figures of a host ({where}); start one of hdbkit {version('hdbkit')}"
        ) from None
    return {"sent_ns": sent_ns, "returned_ns": time.monotonic_ns(), **found}
