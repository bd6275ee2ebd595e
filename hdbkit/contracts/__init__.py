"""The contracts between packages, by subject: sessions, schemas, workloads, control, database,
operations. Read this first.

A **database** is one package in ``databases/`` and one folder of SQL in ``schemas/``. It hands out **sessions**; a
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

from hdbkit.contracts.control import BUILT as BUILT
from hdbkit.contracts.control import CHANGED as CHANGED
from hdbkit.contracts.control import KEPT as KEPT
from hdbkit.contracts.control import ApplyBy as ApplyBy
from hdbkit.contracts.control import Change as Change
from hdbkit.contracts.control import Power as Power
from hdbkit.contracts.control import ServerControl as ServerControl
from hdbkit.contracts.control import Setting as Setting
from hdbkit.contracts.database import Database as Database
from hdbkit.contracts.operations import OPERATIONS as OPERATIONS
from hdbkit.contracts.operations import Operation as Operation
from hdbkit.contracts.operations import declared as declared
from hdbkit.contracts.schemas import BuildLog as BuildLog
from hdbkit.contracts.schemas import Part as Part
from hdbkit.contracts.schemas import PartLoad as PartLoad
from hdbkit.contracts.schemas import Schema as Schema
from hdbkit.contracts.schemas import SchemaOptions as SchemaOptions
from hdbkit.contracts.schemas import StatementLoad as StatementLoad
from hdbkit.contracts.schemas import TableLoad as TableLoad
from hdbkit.contracts.schemas import Verb as Verb
from hdbkit.contracts.sessions import PENDING as PENDING
from hdbkit.contracts.sessions import SERVER as SERVER
from hdbkit.contracts.sessions import Access as Access
from hdbkit.contracts.sessions import Arguments as Arguments
from hdbkit.contracts.sessions import Capability as Capability
from hdbkit.contracts.sessions import CommentedSession as CommentedSession
from hdbkit.contracts.sessions import OptimisticSession as OptimisticSession
from hdbkit.contracts.sessions import OverlappingSession as OverlappingSession
from hdbkit.contracts.sessions import PlanReportingSession as PlanReportingSession
from hdbkit.contracts.sessions import Row as Row
from hdbkit.contracts.sessions import Scope as Scope
from hdbkit.contracts.sessions import Session as Session
from hdbkit.contracts.sessions import SessionOptions as SessionOptions
from hdbkit.contracts.sessions import SqlSession as SqlSession
from hdbkit.contracts.sessions import Table as Table
from hdbkit.contracts.workloads import AHEAD as AHEAD
from hdbkit.contracts.workloads import NO_ROUTES as NO_ROUTES
from hdbkit.contracts.workloads import Bench as Bench
from hdbkit.contracts.workloads import Check as Check
from hdbkit.contracts.workloads import CheckSession as CheckSession
from hdbkit.contracts.workloads import PlannedCheck as PlannedCheck
from hdbkit.contracts.workloads import PlannedPhase as PlannedPhase
from hdbkit.contracts.workloads import Prepared as Prepared
from hdbkit.contracts.workloads import Route as Route
from hdbkit.contracts.workloads import Rule as Rule
from hdbkit.contracts.workloads import Serial as Serial
from hdbkit.contracts.workloads import ThinkTimes as ThinkTimes
from hdbkit.contracts.workloads import User as User
from hdbkit.contracts.workloads import UserPlan as UserPlan
from hdbkit.contracts.workloads import Violation as Violation
from hdbkit.contracts.workloads import Workload as Workload
