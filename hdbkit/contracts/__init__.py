"""The contracts between packages, by subject: sessions, schemas, workloads, control, database,
operations. Read this first.

A **database** is one file in ``databases/`` and one folder of SQL in ``schemas/``. It hands out **sessions**; a
**workload** turns sessions into **users**; the run drives users and knows neither.

Rules that types cannot express:

* Operations. Everything named is an operation: a stored routine, a statement, a step, a script. Code outside
  ``databases/`` uses the name and does not know what implements it.
* Who commits. ``ask`` and ``query`` outside ``begin`` commit by themselves. ``perform`` is one whole operation: when
  it returns, the work is committed; when it raises, no part of the work remains. ``call``, ``batch`` and ``load``
  belong between ``begin`` and ``commit``; outside they raise ``AssertionError`` (drivers differ on autocommit).
* What is fast. ``perform`` and ``call`` run between two clock readings: no logging, no unrequested result objects.
  ``bind`` runs before the first clock reading and may be slow; ``rows`` runs after the second.
* Process boundaries. Targets, plans and specifications can be pickled; sessions, databases and bound calls are never
  sent to another process.
* Names. Code asks for a capability, never for an engine's name, and reads a workload's attributes, never its name.
* Errors. A failed operation raises ``TransactionError`` with its class; the session is then outside any transaction
  and usable, unless the connection was ``lost`` with it. No other exception of a driver leaves ``databases/``; a
  failed connect raises ``CannotConnect``, and ``MissingDriver`` when the driver is not installed.
"""

from __future__ import annotations

from hdbkit.contracts.control import BUILT, CHANGED, KEPT, ApplyBy, Change, Power, ServerControl, Setting
from hdbkit.contracts.database import Database
from hdbkit.contracts.operations import OPERATIONS, Operation, declared
from hdbkit.contracts.rules import Bench, Rule, Violation
from hdbkit.contracts.schemas import BuildLog, Part, PartLoad, Schema, SchemaOptions, StatementLoad, TableLoad
from hdbkit.contracts.sessions import (
    PENDING,
    SERVER,
    Access,
    Arguments,
    Capability,
    OptimisticSession,
    OverlappingSession,
    Row,
    Scope,
    Session,
    SessionOptions,
    SqlSession,
    Table,
)
from hdbkit.contracts.workloads import (
    AHEAD,
    NO_ROUTES,
    Check,
    CheckSession,
    PlannedCheck,
    PlannedPhase,
    Prepared,
    Route,
    Serial,
    User,
    UserPlan,
    Waits,
    Workload,
)

__all__ = [
    "AHEAD",
    "BUILT",
    "CHANGED",
    "KEPT",
    "NO_ROUTES",
    "OPERATIONS",
    "PENDING",
    "SERVER",
    "Access",
    "ApplyBy",
    "Arguments",
    "Bench",
    "BuildLog",
    "Capability",
    "Change",
    "Check",
    "CheckSession",
    "Database",
    "Operation",
    "OptimisticSession",
    "OverlappingSession",
    "Part",
    "PartLoad",
    "PlannedCheck",
    "PlannedPhase",
    "Power",
    "Prepared",
    "Route",
    "Row",
    "Rule",
    "Schema",
    "SchemaOptions",
    "Scope",
    "Serial",
    "ServerControl",
    "Session",
    "SessionOptions",
    "Setting",
    "SqlSession",
    "StatementLoad",
    "Table",
    "TableLoad",
    "User",
    "UserPlan",
    "Violation",
    "Waits",
    "Workload",
    "declared",
]
