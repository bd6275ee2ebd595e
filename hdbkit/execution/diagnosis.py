"""A diagnosis: one answer to the questions of what a target is, and what a load needs of it.

``doctor`` lists all of them. A run is refused with all problems together, and keeps the warnings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import TypeVar

from hdbkit.config import Target
from hdbkit.contracts import Database, Session
from hdbkit.errors import ConfigErrors, HdbkitError, InputError, NoneFree, Problem, TransactionError
from hdbkit.plan import RunPlan
from hdbkit.readings import Pooling, ServerRole


class State(StrEnum):
    """How a diagnosis affects results."""

    OK = "ok"
    WARNING = "warning"  # results may differ from what is expected
    PROBLEM = "problem"  # runs fail


@dataclass(frozen=True)
class Diagnosis:
    """One answer: ``advice`` is a command or a sentence; empty if there is nothing to do."""

    subject: str
    state: State
    detail: str
    advice: str = ""

    def __str__(self) -> str:
        return f"{self.detail}; {self.advice}" if self.advice else self.detail


Diagnoses = Iterator[Diagnosis]


@dataclass(frozen=True)
class Examined:
    """A target over an open session; with the plan of a run, its questions concern that run alone."""

    engine: Database
    target: Target
    session: Session
    plan: RunPlan | None = None

    @cached_property
    def role(self) -> ServerRole:
        """Whether the server accepts changes."""
        return self.engine.role(self.session)

    @cached_property
    def pooling(self) -> Pooling:
        """What shares connections between the client and the server."""
        planned = self.plan.pooling if self.plan else None
        return planned or self.engine.pooling(self.session, self.target)


E = TypeVar("E", bound=Examined)


def answers(subject: str, question: Callable[[], Diagnoses]) -> Diagnoses:
    """The answers to a question; one that the server does not answer is a warning."""
    try:
        yield from question()
    except (TransactionError, HdbkitError) as error:
        yield Diagnosis(subject, State.WARNING, f"unknown: {error}")


class Refusals:
    """The problems of a run (``what``), which one error reports together."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._errors: list[tuple[str, InputError]] = []

    @property
    def subjects(self) -> set[str]:
        """The subjects with a problem."""
        return {subject for subject, _ in self._errors}

    def ask(self, at: E, questions: Mapping[str, Callable[[E], Diagnoses | None]]) -> None:
        """Ask questions, by subject; each reports problems as diagnoses, or the first by raising ``InputError``.

        A ``TransactionError`` is raised, unless a problem is known, which may be its cause.
        """
        for subject, question in questions.items():
            try:
                for diagnosis in question(at) or ():
                    if diagnosis.state is State.PROBLEM:
                        self._errors.append((subject, InputError(str(diagnosis))))
            except InputError as error:
                self._errors.append((subject, error))
            except TransactionError:
                if not self._errors:
                    raise

    def refuse(self) -> None:
        """Raise the only problem as its own error, or ``ConfigErrors`` with all of them; nothing if there is none."""
        if len(self._errors) == 1:
            raise self._errors[0][1]
        if self._errors:
            problems = [problem for subject, error in self._errors for problem in _problems(subject, error)]
            none_free = next((error for _, error in self._errors if isinstance(error, NoneFree)), None)
            raise ConfigErrors(self._what, problems) from none_free  # who waits for a connection looks for it


def _problems(subject: str, error: InputError) -> tuple[Problem, ...]:
    return error.problems if isinstance(error, ConfigErrors) else (Problem(subject, str(error)),)
