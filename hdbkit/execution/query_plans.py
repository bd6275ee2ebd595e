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

_AS_TEXT, _FOR_PROGRAMS = "explain_text", "explain_json"
_LOCK_TIMEOUT_MS = 2000
"""A run does not wait longer than this for a table that somebody has locked; it then has no plans."""


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
    options = session_options(plan)
    if Capability.LOCK_TIMEOUT in engine.capabilities:
        options = replace(options, lock_timeout_ms=_LOCK_TIMEOUT_MS)
    return explained(engine, plan.target, work.scope(engine.dialects), options, examples)


def explained(
    engine: Database,
    target: Target,
    scope: Scope,
    options: SessionOptions,
    calls: Mapping[str, Mapping[str, Any]],
) -> dict[str, QueryPlan]:
    """The plans of statements of ``scope``, each with its arguments; the last column of a row is a line.

    A key may have the statement's operation before its name. A statement that the engine lacks has no plan.
    """
    known = statements(engine.dialects, SERVER_STATEMENTS)
    forms = [form for form in (_AS_TEXT, _FOR_PROGRAMS) if form in known]
    calls = {name: arguments for name, arguments in calls.items() if name.split()[-1] in scope.statements}
    own = {
        f"{form}_{name}": replace(known[form].around(scope.statements[name.split()[-1]]), name=f"{form}_{name}")
        for form in forms
        for name in calls
    }
    extended = replace(scope, statements={**scope.statements, **own})
    with closing(engine.connect(target, extended, options)) as session:
        session.prepare({name.split()[-1] for name in calls})
        return {
            name: QueryPlan(
                arguments={key: str(value) for key, value in arguments.items()},
                text="\n".join(str(row[-1]) for row in session.ask(f"{_AS_TEXT}_{name}", **arguments)),
                content=_decoded(session.ask(f"{_FOR_PROGRAMS}_{name}", **arguments)[0][-1])
                if _FOR_PROGRAMS in known
                else None,
            )
            for name, arguments in calls.items()
        }


def _decoded(answer: Any) -> Any:
    """JSON that a driver returns as text or as what it means; another form stays a text."""
    try:
        return json.loads(answer) if isinstance(answer, str | bytes) else answer
    except ValueError:
        return str(answer)
