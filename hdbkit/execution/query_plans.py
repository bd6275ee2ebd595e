"""The optimizer's plans of a run's queries, asked of the server beside the load and after it; nothing is executed."""

from __future__ import annotations

import json
import time
from collections.abc import Collection, Mapping
from contextlib import closing, suppress
from dataclasses import replace
from itertools import pairwise
from typing import Any

from hdbkit.analysis.comparison.plans import shape
from hdbkit.config import Target
from hdbkit.contracts import Capability, Database, Scope, Session, SessionOptions
from hdbkit.databases import database
from hdbkit.errors import HdbkitError, TransactionError
from hdbkit.execution.beside import Beside
from hdbkit.execution.virtual_user import session_options
from hdbkit.execution.waits import sampled
from hdbkit.plan import RunPlan
from hdbkit.readings import PoolMode
from hdbkit.results.kept import EarlierPlan, QueryPlan
from hdbkit.sql import SERVER_STATEMENTS, statements
from hdbkit.statement import Statement
from hdbkit.workloads import workload

_AS_TEXT, _FOR_PROGRAMS, _GENERIC = "explain_text", "explain_json", "explain_generic"
_EVERY_S = 10.0
"""How often plans are asked for during a run; eight statements take a server about 30 ms."""
_LOCK_TIMEOUT_MS = 2000
"""A run does not wait longer than this for a table that somebody has locked; it then has no plans."""


def plans_of(plan: RunPlan) -> dict[str, QueryPlan]:
    """The plans of the workload's examples, for sessions like those of its users.

    Empty where the workload has no examples, the engine shows no plans, or settings alternate within the run.

    Raises:
        InputError: the server cannot be reached.
        TransactionError: a query cannot be explained.
    """
    with closing(_of_run(plan)) as explainer:
        return explainer.plans()


def _of_run(plan: RunPlan) -> Explainer:
    engine, work = database(plan.target), workload(plan.workload)
    shown = Capability.PLANS in engine.capabilities and not plan.slices
    options = replace(session_options(plan), slow_plans_ms=0)
    if Capability.LOCK_TIMEOUT in engine.capabilities:
        options = replace(options, lock_timeout_ms=_LOCK_TIMEOUT_MS)
    examples = work.examples(plan.load, plan.users[0]) if shown else {}
    return Explainer(engine, plan.target, work.scope(engine.dialects), options, examples)


class Explainer:
    """Asks for the plans of statements of ``scope``, each with its arguments, in a session that stays open.

    A key of ``calls`` may have the statement's operation before its name. A statement that the engine lacks has no
    plan.
    """

    def __init__(
        self,
        engine: Database,
        target: Target,
        scope: Scope,
        options: SessionOptions,
        calls: Mapping[str, Mapping[str, Any]],
    ) -> None:
        known = statements(engine.dialects, SERVER_STATEMENTS)
        self._forms = [form for form in (_AS_TEXT, _FOR_PROGRAMS) if form in known]
        known_calls = {name: scope.statements.get(name.split()[-1]) for name in calls}
        self._asked = {name: one for name, one in known_calls.items() if one and len(one.commands) == 1}
        """A second command of a statement would be executed."""
        own = {
            f"{form}_{name}": replace(known[form].around(one), name=f"{form}_{name}")
            for form in self._forms
            for name, one in self._asked.items()
        }
        self._has_generic = _GENERIC in known
        if self._has_generic:
            asked = self._asked.items()
            own |= {f"{_GENERIC}_{name}": _without_values(known[_GENERIC].around(one)) for name, one in asked}
        self._engine, self._target, self._options, self._calls = engine, target, options, calls
        self._scope = replace(scope, statements={**scope.statements, **own})
        self._session: Session | None = None

    def close(self) -> None:
        """Close the session; the next plans are asked for in another."""
        if self._session is not None:
            self._session.close()
        self._session = None

    def plans(self, *, for_programs: bool = True) -> dict[str, QueryPlan]:
        """The plan of each call; the plan that serves all values is one more, where there is one and it is another.

        Args:
            for_programs: whether a plan has its form for programs, too.

        Raises:
            InputError: the server cannot be reached.
            TransactionError: no statement can be explained.
        """
        if not self._asked:
            return {}
        session, found, failed = self._connected(), dict[str, QueryPlan](), None
        forms = self._forms if for_programs else self._forms[:1]
        for name, one in self._asked.items():
            values = {key: value for key, value in self._calls[name].items() if key in {*one.parameters, *one.words}}
            try:
                found[name] = _explained(session, name, values, forms)
            except TransactionError as error:  # such as a CALL, which some servers do not explain
                failed = error
        if failed and not found:
            raise failed
        return {**found, **_generic(session, found)} if self._has_generic else found

    def _connected(self) -> Session:
        if self._session is None:
            self._session = self._engine.connect(self._target, self._scope, self._options)
            self._session.prepare({name.split()[-1] for name in self._asked})
        return self._session


def _explained(session: Session, name: str, arguments: Mapping[str, Any], forms: Collection[str]) -> QueryPlan:
    rows = session.ask(f"{_AS_TEXT}_{name}", **arguments)
    content = session.ask(f"{_FOR_PROGRAMS}_{name}", **arguments)[0][-1] if _FOR_PROGRAMS in forms else None
    return QueryPlan(
        arguments={key: str(value) for key, value in arguments.items()},
        text="\n".join(str(row[-1]) for row in rows),
        content=_decoded(content),
    )


def _without_values(statement: Statement) -> Statement:
    return replace(statement, text=statement.rendered(lambda _, index: f"${index}"))


def _generic(session: Session, found: Mapping[str, QueryPlan]) -> dict[str, QueryPlan]:
    """The plans for all values that are not those for the examples; empty where the server is too old."""
    texts = {}
    with suppress(TransactionError):
        texts = {name: "\n".join(str(line) for (line,) in session.ask(f"{_GENERIC}_{name}")) for name in found}
    return {
        f"{name} (any values)": QueryPlan(arguments={}, text=text, content=None)
        for name, text in texts.items()
        if _steps(text) != _steps(found[name].text)
    }


def _steps(text: str) -> list[str]:
    """The steps of a plan without the conditions between them, which have values or parameters."""
    return [line for line in shape(text) if "(cost" in line]


class PlanWatch(Beside):
    """Asks for the plans of a run's statements from time to time, so that it is known when one changes.

    It asks where waits are sampled, too; not by a pooler, whose connections the users need.
    """

    def __init__(self, plan: RunPlan) -> None:
        direct = plan.pooling is None or plan.pooling.mode is PoolMode.DIRECT
        super().__init__("hdbkit-plans", needed=sampled(plan) and direct)
        self._plan = plan
        self._seen: dict[str, list[tuple[int, str]]] = {}

    def run(self) -> None:
        """Ask at the beginning, and again and again, in one session: a login costs more than the plans."""
        explainer: Explainer | None = None
        while not self.ended.is_set():
            try:
                explainer = explainer or _of_run(self._plan)
                self.see(explainer.plans(for_programs=False))
            except (HdbkitError, OSError):
                if explainer:
                    explainer.close()
            self.ended.wait(_EVERY_S)
        if explainer:
            explainer.close()

    def see(self, plans: Mapping[str, QueryPlan]) -> None:
        """Note those that are not as they were."""
        for name, one in plans.items():
            seen = self._seen.setdefault(name, [])
            if not seen or shape(seen[-1][1]) != shape(one.text):
                seen.append((time.monotonic_ns(), one.text))

    def complete(self, plans: Mapping[str, QueryPlan], start_ns: int) -> dict[str, QueryPlan]:
        """The last plans with those that each had before."""
        self.see(plans)
        return {
            name: one.model_copy(update={"earlier": self._earlier(name, start_ns)}) for name, one in plans.items()
        }

    def _earlier(self, name: str, start_ns: int) -> list[EarlierPlan]:
        return [
            EarlierPlan(until_s=round((until_ns - start_ns) / 1e9, 1), text=text)
            for (_, text), (until_ns, _) in pairwise(self._seen[name])
        ]


def _decoded(answer: Any) -> Any:
    """JSON that a driver returns as text or as what it means; another form stays a text."""
    try:
        return json.loads(answer) if isinstance(answer, str | bytes) else answer
    except ValueError:
        return str(answer)
