"""A workload: its operations and metric as data, its population, its users and its checks."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, Protocol, TypeVar

from hdbkit.config import Load, WorkloadSpec
from hdbkit.config.metric import DetailChart, Metric
from hdbkit.contracts.schemas import Part, PartLoad, Schema
from hdbkit.contracts.sessions import Access, Capability, Row, Scope, Session, SessionOptions, SqlSession, Table
from hdbkit.statement import Statement

_T = TypeVar("_T")
AHEAD = 500
"""Operations that a virtual user draws at once. Users with many sessions draw fewer, which would fill the memory."""


@dataclass(frozen=True)
class UserPlan:
    """One virtual user, fixed before the run starts; of users with several sessions, one session.

    ``index`` counts from 0. ``done`` is the number of operations that were recorded: 0, except after a lost
    connection. ``ahead`` is how many operations are drawn at once.
    """

    index: int
    seed: int
    done: int = 0
    ahead: int = AHEAD


@dataclass(frozen=True)
class Route:
    """The sessions that perform an operation: in turn, or chosen at random from ``seed``."""

    sessions: tuple[Session, ...]
    seed: int | None = None

    def turns(self, each: Sequence[_T]) -> Iterator[_T]:
        """Without end, what belongs to the session of the next operation; ``each`` has one element per session."""
        if self.seed is None:
            return itertools.cycle(each)
        choose = random.Random(self.seed).choice
        return (choose(each) for _ in itertools.repeat(None))


NO_ROUTES: Final[Mapping[str, Route]] = MappingProxyType({})


@dataclass(slots=True)
class Prepared:
    """An operation ready to be measured: only ``perform(bound)`` runs between the two clock readings.

    ``operation`` is the index in ``Workload.operations``. ``head`` is the part of its record that is known in advance
    (``results.spool.Heads``).
    """

    operation: int
    perform: Callable[[Any], Any]
    bound: Any
    head: bytes


@dataclass(frozen=True)
class ThinkTimes:
    """How long a user keys an operation, and how long it thinks on average about its answer, in seconds."""

    keying_s: float = 0.0
    thinking_s: float = 0.0


class User(Protocol):
    """A virtual user's side of a workload."""

    def next_batch(self) -> Sequence[Prepared]:
        """Some operations, ``UserPlan.ahead`` unless they are a list, drawn and bound in advance."""

    def head(self, prepared: Prepared, raw: Any) -> bytes:
        """The record's head, completed from the result, for example with a key that the server generated.

        Called after each operation, only if ``Workload.details_from_results`` is true; ``raw`` is None if it failed.
        """


@dataclass(frozen=True)
class Check:
    """One check: ``passed`` is None if it is undecided, and ``detail`` gives the reason."""

    name: str
    passed: bool | None
    detail: str


class CheckSession(Protocol):
    """What answers the operations of a check, by one session or by several."""

    at_once: int
    """How many operations it answers at once."""

    def ask(self, operation: str, /, **arguments: Any) -> list[Row]:
        """See :meth:`Session.ask`."""

    def ask_each(self, operation: str, arguments: Sequence[Mapping[str, Any]]) -> list[list[Row]]:
        """The rows for each of the arguments, in their order."""


@dataclass(frozen=True)
class PlannedCheck:
    """A check that ``decide`` carries out on engines with the capability ``needs``.

    ``of_catalog`` means that it only reads the server's catalog, so it is repeated before each run. Without one that
    is ``required``, the checks after it mean nothing.
    """

    name: str
    decide: Callable[[CheckSession], Check]
    of_catalog: bool = False
    required: bool = False
    needs: Capability | None = None


@dataclass(frozen=True)
class PlannedPhase:
    """A phase of a run: its length, and whether it is measured.

    ``duration_s`` is None if the phase ends when all users are done; ``max_s`` extends an unmeasured phase to at most
    that length, until the server has settled.
    """

    name: str
    duration_s: float | None
    measured: bool
    max_s: float = 0.0


@dataclass(frozen=True)
class Serial:
    """Numbers without gaps that a schema gives to the results of ``operation``, by which a lost commit is noticed.

    ``number`` counts within ``group``; these are detail columns. The operation ``last`` returns the columns of
    ``group`` and their last number.
    """

    operation: str
    group: tuple[str, ...]
    number: str
    last: str


class Workload(Protocol):
    """A workload of one specification, made by the function ``workload(spec)`` of its package in ``workloads/``.

    The core reads these attributes and knows no workload by name. What has a value or a body here is what a workload
    answers unless it knows better.
    """

    spec: WorkloadSpec
    title: str
    notice: str
    """A notice that every result shows."""
    noun: str
    """The term for an operation: transaction, query."""
    scale: str
    """The size of the schema: ``100 branches``; empty if the workload has no scale."""
    operations: tuple[str, ...]
    reading: frozenset[str]
    """The operations that change nothing in the database."""
    waits: Mapping[str, ThinkTimes] = MappingProxyType({})
    """Keying and thinking times by operation, for loads with ``keying_and_thinking``; empty if it has none."""
    metric: Metric
    serial: Serial | None = None
    """Numbers by which a lost commit is noticed; None if the schema gives none."""
    details: Mapping[str, str]
    """Columns that it adds to each record: name and NumPy type, such as ``{"key": "u4"}``."""
    detail_charts: tuple[DetailChart, ...] = ()
    """Charts over its detail columns, in addition to those of every run."""
    tables: Mapping[str, Table]
    """The tables that a build creates and loads, in this order; empty if hdbkit does not build them."""
    routines: tuple[str, ...] = ()
    """The stored routines that a build creates; may be empty."""
    instead: Mapping[Capability, str] = MappingProxyType({})
    """What to do where an engine lacks what a load needs; a clause."""
    grows: bool = False
    """Whether the parts of a smaller scale are also parts of a larger one, so that a build can add the others."""
    preload: tuple[str, ...]
    """Modules that clients need, imported before their processes are forked."""

    def scope(self, dialects: tuple[str, ...]) -> Scope:
        """Its statements for an engine, and the schema that they use."""

    def load(self, given: Load) -> Load:
        """``given`` as an instance of this workload's load model.

        Raises:
            ConfigErrors: an option does not belong to this workload, or has an invalid value.
            InputError: an option contradicts the specification.
        """

    def settled(self, load: Load, capabilities: frozenset[Capability]) -> Load:
        """``load`` with what it leaves open decided by what the engine can do; as the run keeps it."""
        return load

    def mix(self, load: Load) -> dict[str, float]:
        """The planned weight of each operation; empty if the workload has no mix."""

    def listed(self, load: Load) -> Sequence[tuple[tuple[str, ...], int]]:
        """The list of operations of each virtual user in order, and how often it executes that.

        Empty where operations are drawn. Where users have lists, an operation is executed few times, so results show
        every execution, and times instead of quantiles and rates.
        """
        return ()

    def rollback_shares(self, load: Load) -> dict[str, float]:
        """By operation, the share that is rolled back by design."""
        return {}

    def needs(self, load: Load) -> frozenset[Capability]:
        """The capabilities that this load requires."""

    def access(self, load: Load, dialects: tuple[str, ...] = ()) -> Access:
        """What the operations of this load, and the counts of it, certainly use of the database.

        What only the server knows is not in it.
        """

    def statements(self, load: Load, dialects: tuple[str, ...]) -> Sequence[tuple[str, Statement]]:
        """The statements of which ``access`` does not state what they use, each with what of the load uses it.

        The server explains them before a run, so that one which the account may not execute is reported.
        """
        return ()

    def details_from_results(self, load: Load) -> bool:
        """Whether ``User.head`` is called for each operation."""
        return False

    def hint(self, load: Load) -> str:
        """Why this load may measure something else than expected on this schema; a clause, empty if it does not."""
        return ""

    def phases(self, load: Load) -> tuple[PlannedPhase, ...]:
        """The phases of a run in order; measured phases are contiguous.

        The usual ones: the users' starts if they are apart, a ramp-up, extended while the server settles if the load
        requests that, and the window or its steps.
        """
        rampup = PlannedPhase("rampup", load.rampup_s, measured=False, max_s=load.rampup_max_s)
        steps = load.steps.each if load.steps else ()
        measured = [PlannedPhase(one.text, one.duration_s, measured=True) for one in steps]
        phases = rampup, *(measured or [PlannedPhase("window", load.duration_s, measured=True)])
        apart_s = load.starting_s
        return (PlannedPhase("starts", apart_s, measured=False), *phases) if apart_s else phases

    def require_generator(self) -> None:
        """Raise ``InputError`` if a program that makes the rows of the parts is not installed on this host."""
        return

    def parts(self, dialects: tuple[str, ...] = ()) -> list[Part]:
        """The parts of the population on an engine, in loading order; without dialects, those of every engine."""

    def parts_for(self, loaders: int, loaded: Collection[str] = (), dialects: tuple[str, ...] = ()) -> list[Part]:
        """The parts for a number of loading processes; if the keys of some are ``loaded``, these are among them."""
        return self.parts(dialects)

    def part(self, key: str) -> Iterator[PartLoad]:
        """The content of a part; equal for equal specifications, on any host."""

    def found(self, schema: Schema) -> WorkloadSpec | None:
        """The specification that the schema in the database was built from; None if there is no schema.

        Raises:
            SchemaProblem: it is half built, or belongs to another workload.
        """

    @property
    def record(self) -> str:
        """The specification as a build stores it in the schema; short enough for every engine."""
        return self.spec.model_dump_json()

    def advice_to_build(self, command: str) -> str:
        """What to do if the schema is missing or another one; ``command`` builds it."""
        return f"run: {command}"

    def user(self, session: Session, load: Load, plan: UserPlan, routes: Mapping[str, Route] = NO_ROUTES) -> User:
        """A virtual user on a session, with its operations prepared; those in ``routes`` on the sessions there."""

    def examples(self, load: Load, plan: UserPlan) -> Mapping[str, Mapping[str, Any]]:
        """The statements whose plans a run keeps, with arguments by name, such as those of the user ``plan``.

        A key is the name of an operation that is one statement, or an operation and a statement of it with a space
        between; empty if the workload keeps none.
        """
        return {}

    def require_data(self, session: Session, load: Load) -> None:
        """Check, before a run is made, that the data allow this load. Raises ``InputError`` if not."""
        return

    def restoring(self, load: Load) -> Callable[[Session], None] | None:
        """What brings the data back to those of a build after a run with this load, however that ended.

        None if they stay as they are. It may be repeated. It raises ``TransactionError`` or ``InputError``.
        """
        return None

    def checks(self, dialects: tuple[str, ...]) -> Sequence[PlannedCheck]:
        """The checks of row counts, indexes, routines and consistency conditions on an engine, in order."""

    def answers(self, seed: int) -> Sequence[PlannedCheck]:
        """The checks of the operations' answers against a reference, with parameters drawn from ``seed``.

        Empty if the workload has no reference. Raises ``InputError`` where it cannot be made at this scale.
        """
        return ()


class Violation(AssertionError):
    """An engine does something else than a rule demands."""


class Bench(Protocol):
    """Where rules are tried: the tables of a workload with indexes and routines, in a schema of their own."""

    capabilities: frozenset[Capability]
    """Those of the engine."""

    def emptied(self) -> SqlSession:
        """A session on the tables, with nothing in them; closed after the rule."""

    def connect(self, options: SessionOptions | None = None) -> SqlSession:
        """Another session; closed after the rule."""


@dataclass(frozen=True)
class Rule:
    """A rule for engines with the capabilities ``needs``: ``hold`` raises ``Violation`` where it is broken.

    Any other error that it raises breaks the rule, too.
    """

    name: str
    hold: Callable[[Bench], None]
    needs: frozenset[Capability] = frozenset()
