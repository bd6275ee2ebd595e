"""The error tree.

    HdbkitError                 base of all errors that hdbkit raises
    +-- InputError              invalid input; nothing was started (exit 2)
    |   +-- ConfigErrors        all errors of one file or run, reported together
    |   +-- MissingDriver       the Python driver of a database is not installed
    |   +-- CannotConnect       wrong host, port, account, database or certificate
    |   |   +-- NothingListens  no server listens at the address
    |   |   +-- NoneFree        all connections of the server are in use
    |   |   +-- NotReady        the server is starting or stopping
    |   |   +-- Rejected        the server runs, and rejects the account, the database or the client
    |   +-- SchemaProblem       the schema is missing, half built, or has another scale
    |       +-- NoAccess        the account lacks privileges on it
    |       +-- HalfBuilt       its build is incomplete and can be resumed
    +-- RunFailed               a run started but did not complete (exit 3)
    +-- ExperimentFailed        the process of an experiment failed or was killed (exit 3)
    +-- SearchFailed            no rate that keeps the limit was found, or none that exceeds it
    +-- BuildFailed             a build started but did not complete; loaded parts are kept (exit 3)
    +-- ServerFailed            a server did not start, did not stop, or rejected a setting
    |   +-- ServerDown          a server that hdbkit changed is down and could not be repaired (exit 4)
    +-- AgentLost               the agent of a server is unreachable; the sweep can be resumed (exit 3)
    +-- DamagedResult           a run folder cannot be read
    +-- RolledBackByDesign      the workload rolled back an operation on purpose; not a failure
    +-- TransactionError        an operation failed in the database; has an error class
    |   +-- GivenUp             a question of hdbkit's own had no answer in time, or was stopped

Rules: arguments stay data and ``__str__`` makes the message, so that every error can be pickled; no message contains
a password.
"""

from __future__ import annotations

import errno
import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum


class HdbkitError(Exception):
    """Base of all errors that hdbkit raises; the text is one sentence."""

    def _render_traceback_(self) -> list[str]:
        """What IPython and Jupyter show of it: the sentence; the traceback on request."""
        return [f"{type(self).__name__}: {self}", "", "For the traceback: import traceback; traceback.print_last()"]


class InputError(HdbkitError):
    """Invalid input. Nothing was started and nothing was changed."""


@dataclass(frozen=True)
class Problem:
    """One error of a configuration: its place, the error, and the line if known."""

    where: str
    what: str
    line: int | None = None


class ConfigErrors(InputError):
    """All errors of one file, call or run, reported together; ``outcome`` is what follows from them."""

    def __init__(self, source: str, problems: Sequence[Problem], outcome: str = "nothing was started") -> None:
        super().__init__(source, tuple(problems), outcome)
        self.source, self.outcome = source, outcome
        self.problems = tuple(problems)

    def __str__(self) -> str:
        count = len(self.problems)
        head = f"{self.source} has {count} error{'s' if count > 1 else ''}; {self.outcome}:"
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
    """A server refuses the connection; ``target`` is its address without a password.

    ``stated``: the words of the server or pooler itself, if it answered.
    """

    def __init__(self, target: str, reason: str, advice: str, stated: str = "") -> None:
        super().__init__(target, reason, advice, stated)
        self.target, self.reason, self.advice, self.stated = target, reason, advice, stated

    def __str__(self) -> str:
        return f"cannot connect to {self.target}: {self.reason}; {self.advice}"


class NothingListens(CannotConnect):
    """No server listens at the address: it is stopped, or the address is wrong."""


class NoneFree(CannotConnect):
    """All connections that the server allows are in use; no limit of one account or database is meant."""


class NotReady(CannotConnect):
    """The server is starting or stopping."""


class Rejected(CannotConnect):
    """The server runs, and rejects the account, the database or the client; a pooler may answer for it."""


def login_refusal(error: BaseException) -> str:
    """The words with which a server that runs refused a login; empty for every other error."""
    if not isinstance(error, CannotConnect) or isinstance(error, NothingListens | NotReady):
        return ""
    return error.stated or (error.reason if isinstance(error, NoneFree | Rejected) else "")


class SchemaProblem(InputError):
    """The schema is missing, half built, or has another scale than requested; ``advice``: what to do there."""

    def __init__(self, reason: str, advice: str = "") -> None:
        super().__init__(reason, advice)
        self.reason, self.advice = reason, advice

    def __str__(self) -> str:
        return f"{self.reason}; {self.advice}" if self.advice else self.reason


class HalfBuilt(SchemaProblem):
    """The schema's build is incomplete; building again resumes it."""


class NoAccess(SchemaProblem):
    """The account lacks privileges on the schema; ``advice`` has the commands that grant them."""


class RunFailed(HdbkitError):
    """A run started but did not complete; its folder keeps what was recorded."""

    def __init__(self, run_id: str, reason: str) -> None:
        super().__init__(run_id, reason)
        self.run_id, self.reason = run_id, reason

    def __str__(self) -> str:
        return f"run {self.run_id} failed: {self.reason}"


class ExperimentFailed(HdbkitError):
    """The process of a sweep failed; finished runs are kept."""

    def __init__(self, experiment_id: str, reason: str) -> None:
        super().__init__(experiment_id, reason)
        self.experiment_id, self.reason = experiment_id, reason

    def __str__(self) -> str:
        return f"sweep {self.experiment_id} failed: {self.reason}"


class SearchFailed(HdbkitError):
    """No rate was found that keeps the limit, or none that exceeds it; finished runs are kept."""


class BuildFailed(HdbkitError):
    """A build started but did not complete; loaded parts are kept. ``advice`` states what to do."""

    def __init__(self, step: str, reason: str, advice: str = "") -> None:
        super().__init__(step, reason, advice)
        self.step, self.reason, self.advice = step, reason, advice

    def __str__(self) -> str:
        return "; ".join(filter(None, [f"the build failed at {self.step}: {self.reason}", self.advice]))


class ServerFailed(HdbkitError):
    """A server did not start, did not stop, or rejected a setting; the text has the server's own message."""


class ServerDown(ServerFailed):
    """A server that hdbkit changed does not answer and could not be repaired; ``reason`` states what to do.

    ``experiment_id`` is the sweep to resume after that, if it is known.
    """

    def __init__(self, reason: str, experiment_id: str = "") -> None:
        super().__init__(reason, experiment_id)
        self.reason, self.experiment_id = reason, experiment_id

    def __str__(self) -> str:
        return f"{self.reason}, then run: hdbkit resume {self.experiment_id}" if self.experiment_id else self.reason


class AgentLost(HdbkitError):
    """The agent on a server's host did not answer within the timeout; ``experiment_id`` as in ``ServerDown``."""

    def __init__(self, address: str, waited_s: float, reason: str, experiment_id: str = "") -> None:
        super().__init__(address, waited_s, reason, experiment_id)
        self.address, self.waited_s, self.reason, self.experiment_id = address, waited_s, reason, experiment_id

    def __str__(self) -> str:
        return (
            f"the agent {self.address} did not answer for {self.waited_s:,.0f} s ({self.reason}); "
            "start it again on its host"
        ) + (f", then run: hdbkit resume {self.experiment_id}" if self.experiment_id else "")


class DamagedResult(HdbkitError):
    """A run folder cannot be read: missing, truncated, of a newer format, or not of hdbkit."""


class RolledBackByDesign(HdbkitError):
    """The workload rolled back an operation on purpose; not a failure."""


class ErrorClass(StrEnum):
    """Class of a database error; determines whether the operation is retried."""

    DEADLOCK = "deadlock"
    SERIALIZATION = "serialization"
    LOCK_TIMEOUT = "lock_timeout"
    STATEMENT_TIMEOUT = "statement_timeout"
    CONNECTION_LOST = "connection_lost"
    CONSTRAINT = "constraint"
    RESOURCES = "resources"
    OTHER = "other"


RETRIED = frozenset({ErrorClass.DEADLOCK, ErrorClass.SERIALIZATION})
"""The classes of errors after which the same operation may succeed on retry."""

LASTING = frozenset({ErrorClass.CONSTRAINT, ErrorClass.OTHER})
"""The classes of errors that the statement or its values cause: the same statement fails again."""


class TransactionError(HdbkitError):
    """An operation failed in the database and was rolled back.

    ``code`` is the server's error code (SQLSTATE or number), ``text`` its message; ``lost``: the connection was lost
    with it, whatever its class.
    """

    def __init__(self, error_class: ErrorClass, code: str, text: str, lost: bool = False) -> None:
        super().__init__(error_class, code, text, lost)
        self.error_class, self.code, self.text = error_class, code, text
        self.lost = lost or error_class is ErrorClass.CONNECTION_LOST

    def __str__(self) -> str:
        return f"{self.error_class.value} ({self.code}): {self.text}"


class GivenUp(TransactionError):
    """A question of hdbkit's own that was not answered in time; ``text`` states what it waited for."""

    def __str__(self) -> str:
        return self.text


def is_caused_by(error: BaseException | None, kind: type[HdbkitError]) -> bool:
    """Whether the error, or one that caused it, is of this kind."""
    while error is not None and not isinstance(error, kind):
        error = error.__cause__
    return error is not None


def is_disk_full(error: BaseException | None) -> bool:
    """Whether the error, or one that caused it, is that of a full disk or a used-up quota."""
    while error is not None and not (isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT)):
        error = error.__cause__
    return error is not None


def disk_full(folder: object) -> str:
    """What is stated of a full disk, which ``states_disk_full`` finds."""
    return f"the disk of {folder} is full"


def states_disk_full(note: str) -> bool:
    """Whether the note of a run that failed is that of a full disk of a load host."""
    return re.search(r"\bthe disk of .+ is full\b", note) is not None


def innermost_reason(error: BaseException) -> str:
    """The reason of the innermost of our errors that caused this one: what equal failures of several runs share."""
    while isinstance(error.__cause__, HdbkitError):
        error = error.__cause__
    if isinstance(error, TransactionError):
        return error.text
    return error.reason if isinstance(error, RunFailed | CannotConnect | ServerDown) else str(error)
