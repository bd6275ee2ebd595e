"""The error tree: what can go wrong, and who has to act.

    HdbkitError                 everything that hdbkit raises on purpose
    +-- InputError              what was asked for cannot be done; nothing was started (exit 2)
    |   +-- ConfigErrors        all errors of one file, told at once
    |   +-- MissingDriver       the Python driver of a database is not installed
    |   +-- CannotConnect       host, port, account, database or certificate are not right
    |   +-- SchemaProblem       the schema is missing, of another scale, or half built
    |       +-- HalfBuilt       a build of it has begun and can be resumed
    +-- RunFailed               a run began and did not reach its end (exit 3)
    +-- SweepFailed             a sweep in a process of its own broke down or was killed (exit 3)
    +-- BuildFailed             a build began and did not reach its end; what it loaded is kept (exit 3)
    +-- ServerFailed            a server did not start, stop or take a setting
    +-- AgentLost               the agent of a server stayed away; a sweep ends there and can be resumed (exit 3)
    +-- DamagedResult           a run folder cannot be read
    +-- RolledBackByDesign      a new order met the unused item (TPC-C 2.4.1.4); not a fault
    +-- TransactionError        the database refused a transaction; it carries its class

The rules that must not break: arguments stay data and the message is made in ``__str__``, so that every
error survives pickling and reaches the reader whole; no message ever holds a password.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum


class HdbkitError(Exception):
    """Everything that hdbkit raises on purpose; the text is one clear sentence."""


class InputError(HdbkitError):
    """What was asked for cannot be done. Nothing was started and nothing was changed."""


@dataclass(frozen=True)
class Problem:
    """One error of a configuration: where it stands and what is wrong with it."""

    where: str
    what: str
    line: int | None = None


class ConfigErrors(InputError):
    """All errors of one file or call, told at once."""

    def __init__(self, source: str, problems: Sequence[Problem]) -> None:
        super().__init__(source, tuple(problems))
        self.source = source
        self.problems = tuple(problems)

    def __str__(self) -> str:
        count = len(self.problems)
        head = f"{self.source} has {count} error{'s' if count > 1 else ''}; nothing was started:"
        return "\n".join([head, *(f"  {self._line(m)}" for m in self.problems)])

    @staticmethod
    def _line(problem: Problem) -> str:
        place = f"line {problem.line:<4d} " if problem.line is not None else ""
        return f"{place}{problem.where}: {problem.what}"


class MissingDriver(InputError):
    """The Python driver of a database is not installed."""

    def __init__(self, database: str, module: str, extra: str) -> None:
        super().__init__(database, module, extra)
        self.database, self.module, self.extra = database, module, extra

    def __str__(self) -> str:
        return (
            f"{self.database} needs the Python driver '{self.module}', which is not installed; "
            f"run: pip install 'hdbkit[{self.extra}]'"
        )


class CannotConnect(InputError):
    """A server does not let us in: ``target`` is its address without a password."""

    def __init__(self, target: str, reason: str, advice: str) -> None:
        super().__init__(target, reason, advice)
        self.target, self.reason, self.advice = target, reason, advice

    def __str__(self) -> str:
        return f"cannot connect to {self.target}: {self.reason}; {self.advice}"


class SchemaProblem(InputError):
    """The schema is missing, of another scale than asked for, or half built."""


class HalfBuilt(SchemaProblem):
    """A build of the schema began and did not reach its end; building again resumes it."""


class RunFailed(HdbkitError):
    """A run began and did not reach its end; what was finished is kept in its folder."""

    def __init__(self, run_id: str, reason: str) -> None:
        super().__init__(run_id, reason)
        self.run_id, self.reason = run_id, reason

    def __str__(self) -> str:
        return f"run {self.run_id} failed: {self.reason}"


class SweepFailed(HdbkitError):
    """A sweep in a process of its own did not reach its end; its finished runs are kept."""

    def __init__(self, sweep_id: str, reason: str) -> None:
        super().__init__(sweep_id, reason)
        self.sweep_id, self.reason = sweep_id, reason

    def __str__(self) -> str:
        return f"sweep {self.sweep_id} failed: {self.reason}"


class BuildFailed(HdbkitError):
    """A build began and did not reach its end; the parts that it loaded are kept."""

    def __init__(self, step: str, reason: str) -> None:
        super().__init__(step, reason)
        self.step, self.reason = step, reason

    def __str__(self) -> str:
        return (
            f"the build failed at {self.step}: {self.reason}; what was loaded is kept, "
            "run the same hdbkit build again to resume"
        )


class ServerFailed(HdbkitError):
    """A server did not start, stop or take a setting; the text holds the server's own words."""


class AgentLost(HdbkitError):
    """The agent on a server's host stayed away longer than it is waited for."""

    def __init__(self, address: str, waited_s: float, reason: str) -> None:
        super().__init__(address, waited_s, reason)
        self.address, self.waited_s, self.reason = address, waited_s, reason

    def __str__(self) -> str:
        return (
            f"the agent {self.address} did not answer for {self.waited_s:.0f} s ({self.reason}); "
            "start it again on its host, then go on with: hdbkit sweep --resume last"
        )


class DamagedResult(HdbkitError):
    """A run folder cannot be read: missing, cut, of a newer format, or not ours."""


class RolledBackByDesign(HdbkitError):
    """A new order met the unused item and was rolled back, as 1 % of them must (TPC-C 2.4.1.4)."""


class ErrorClass(StrEnum):
    """What kind of refusal a database gave; decides whether a transaction is tried again."""

    DEADLOCK = "deadlock"
    SERIALIZATION = "serialization"
    LOCK_TIMEOUT = "lock_timeout"
    STATEMENT_TIMEOUT = "statement_timeout"
    CONNECTION_LOST = "connection_lost"
    CONSTRAINT = "constraint"
    RESOURCES = "resources"
    OTHER = "other"


RETRIED = frozenset({ErrorClass.DEADLOCK, ErrorClass.SERIALIZATION})
"""The classes after which the very same transaction may succeed when it is tried again."""


class TransactionError(HdbkitError):
    """The database refused a transaction, which is rolled back.

    ``code`` is the server's own (SQLSTATE or number), ``text`` its own words.
    """

    def __init__(self, error_class: ErrorClass, code: str, text: str) -> None:
        super().__init__(error_class, code, text)
        self.error_class, self.code, self.text = error_class, code, text

    def __str__(self) -> str:
        return f"{self.error_class.value} ({self.code}): {self.text}"
