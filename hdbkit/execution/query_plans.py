"""The optimizer's plans of a run's queries, asked of the server outside the measured window; nothing is executed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import closing
from dataclasses import replace
from typing import Any

from hdbkit.config import Target
from hdbkit.contracts import Capability, Database, Scope, SessionOptions
from hdbkit.databases import database
from hdbkit.execution.virtual_user import session_options
from hdbkit.plan import RunPlan
from hdbkit.results.query_plans import QueryPlan
from hdbkit.sql import SERVER_STATEMENTS, statements
from hdbkit.workloads import workload

_EXPLAINS = ("explain_text", "explain_json")


def plans_of(plan: RunPlan) -> dict[str, QueryPlan]:
    """The plans of the workload's examples, for sessions like those of its users.

    Empty where the workload has no examples, the engine shows no plans, or settings alternate within the run.

    Raises:
        InputError: the server cannot be reached.
        TransactionError: a query cannot be explained.
    """
    engine, work = database(plan.target), workload(plan.workload)
    examples = work.examples(plan.load, plan.users[0])
    if not examples or Capability.PLANS not in engine.capabilities or plan.slices:
        return {}
    return explained(engine, plan.target, work.scope(engine.dialects), session_options(plan), examples)


def explained(
    engine: Database,
    target: Target,
    scope: Scope,
    options: SessionOptions,
    calls: Mapping[str, Mapping[str, Any]],
) -> dict[str, QueryPlan]:
    """The plans of statements of ``scope``, each with its arguments; the last column of a row is a line."""
    known = statements(engine.dialects, SERVER_STATEMENTS)
    as_text, as_json = (
        {name: replace(known[one].around(scope.statements[name]), name=f"{one}_{name}") for name in calls}
        for one in _EXPLAINS
    )
    own = {one.name: one for one in (*as_text.values(), *as_json.values())}
    extended = replace(scope, statements={**scope.statements, **own})
    with closing(engine.connect(target, extended, options)) as session:
        session.prepare(calls)
        return {
            name: QueryPlan(
                arguments={key: str(value) for key, value in arguments.items()},
                text="\n".join(str(row[-1]) for row in session.ask(as_text[name].name, **arguments)),
                content=_decoded(session.ask(as_json[name].name, **arguments)[0][-1]),
            )
            for name, arguments in calls.items()
        }


def _decoded(answer: Any) -> Any:
    """JSON that a driver returns as text, or as what it means."""
    return json.loads(answer) if isinstance(answer, str | bytes) else answer
