"""What a client notes beside its records: operations that carry a trace, and the plans of slow executions.

The statements of a sampled operation carry a W3C ``traceparent`` in a comment, as sqlcommenter writes it. A trace id
has 16 digits of the run, 8 of the virtual user and 8 of the sampled operation of that user, all hexadecimal, so a
trace that a monitor of the server found leads to the run, and all of a run have one beginning.
"""

from __future__ import annotations

import hashlib
import random
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from hdbkit.contracts import CommentedSession, Prepared, User
from hdbkit.files import JsonLines

TRACE_FILES = "*.traces"
SLOW_PLAN_FILES = "*.slow_plans"
MAX_STATEMENTS = 100
"""Statements that are kept: a routine that writes values into its statements makes a new one each time."""


def traces_path(spools: Path, client: int) -> Path:
    """The file in which a client notes its sampled operations."""
    return spools / TRACE_FILES.replace("*", f"{client:05d}")


def trace_id(run_id: str, index: int, number: int) -> str:
    """The id of the trace of a sampled operation of a virtual user; both count, operations from 1."""
    return f"{hashlib.sha256(run_id.encode()).hexdigest()[:16]}{index:08x}{number:08x}"


class Traced:
    """A virtual user's side of a workload, a share of whose operations are sent with a comment.

    Args:
        user: the workload's part.
        sessions: all that its operations may use.
        share: of the operations.
        ids: the ids of its traces, which go on where it connects again.
        lines: where each is noted, with its time, between operations.
        index: the number of the virtual user.
    """

    def __init__(
        self,
        user: User,
        sessions: Collection[CommentedSession],
        share: float,
        ids: Iterator[str],
        lines: JsonLines,
        index: int,
    ) -> None:
        self._user, self._sessions, self._share = user, sessions, share
        self._ids, self._lines, self._index = ids, lines, index
        self._draw = random.Random()  # which are sampled needs no seed
        self._begun: list[tuple[int, str]] = []

    def next_batch(self) -> Sequence[Prepared]:
        """Those of the workload, some of them traced."""
        self.flush()
        return [self._traced(one) if self._draw.random() < self._share else one for one in self._user.next_batch()]

    def head(self, prepared: Prepared, raw: Any) -> bytes:
        """The workload's."""
        return self._user.head(prepared, raw)

    def flush(self) -> None:
        """Note the traces that have begun."""
        for t_ns, trace in self._begun:
            self._lines.try_to_add({"t_ns": t_ns, "virtual_user": self._index, "trace_id": trace})
        self._begun.clear()

    def _traced(self, one: Prepared) -> Prepared:
        return replace(one, perform=partial(self._perform, one.perform, next(self._ids)))

    def _perform(self, perform: Callable[[Any], Any], trace: str, bound: Any) -> Any:
        self._begun.append((time.monotonic_ns(), trace))
        for session in self._sessions:
            session.comment(f"traceparent='00-{trace}-{trace[16:]}-01'")
        try:
            return perform(bound)
        finally:
            for session in self._sessions:
                session.comment("")


class SlowPlans:
    """Notes the slowest plans of the slowest statements in this client.

    Args:
        spools: the folder of the clients' files.
        client: the number of this client.
    """

    def __init__(self, spools: Path, client: int) -> None:
        self._lines = JsonLines(spools / SLOW_PLAN_FILES.replace("*", f"{client:05d}"))
        self._slowest: dict[str, float] = {}

    def note(self, index: int, ms: float, statement: str, plan: str) -> None:
        """Note the plan of an execution that a virtual user waited for."""
        if ms <= self._slowest.get(statement, 0.0):
            return
        self._slowest[statement] = ms
        if len(self._slowest) > MAX_STATEMENTS:
            quickest = min(self._slowest, key=self._slowest.__getitem__)
            del self._slowest[quickest]
            if quickest == statement:
                return
        at = {"t_ns": time.monotonic_ns(), "virtual_user": index}
        self._lines.try_to_add({**at, "ms": ms, "statement": statement, "plan": plan})


def slowest_plans(lines: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The slowest execution of each statement in all clients, the slowest statement first."""
    found: dict[str, Mapping[str, Any]] = {}
    for one in sorted(lines, key=lambda line: -float(line["ms"])):
        found.setdefault(one["statement"], one)
    return [*found.values()][:MAX_STATEMENTS]
