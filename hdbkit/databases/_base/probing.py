"""What a server is and can do, by its own answers: many products speak the protocol of another.

The questions are statements of the engine, each prepared alone, so that nothing is executed. An error is the answer
no, unless a privilege is missing. A statement that the server cannot answer is one that the engine lacks there. Where
the product is another than the engine's own, or a question has no answer, it is tried whether locks, bulk loads and
routines work. Forked processes inherit the answers.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property, lru_cache
from typing import Any, NamedTuple, cast

from hdbkit.config import Target
from hdbkit.contracts import Capability, Database
from hdbkit.databases._base.database import BaseDatabase
from hdbkit.errors import CannotConnect, ErrorClass, Rejected, TransactionError
from hdbkit.readings import Found

_WITHOUT: Mapping[str, Capability] = {
    "control_settings": Capability.SETTINGS,
    "running_settings": Capability.SETTINGS,
    "set_isolation": Capability.ISOLATION,
    "set_lock_timeout": Capability.LOCK_TIMEOUT,
    "set_statement_timeout": Capability.STATEMENT_TIMEOUT,
}
"""By question, the capability that a server without an answer lacks."""
_COUNTED: Mapping[str, Capability] = {
    "commits": Capability.COUNTS_COMMITS,
    "rollbacks": Capability.COUNTS_ROLLBACKS,
    "waiting_locks": Capability.COUNTS_WAITS,
    "scanned_rows": Capability.COUNTS_SCANS,
}
"""By counter, the capability that a server without it lacks."""


class Product(NamedTuple):
    """A product that speaks the protocol of an engine, as a line of a table."""

    title: str
    sign: str
    """A pattern of what the server states about itself; its first group, if any, is the version."""
    is_foreign: bool = True
    """Another implementation; else the engine's own server with an addition."""
    dialect: str = ""
    """The folder of its own statements."""
    errors: Mapping[str, ErrorClass] = {}
    """The classes of errors that are its own, by code."""
    lacks: frozenset[Capability] = frozenset()
    """What it has not, though it answers."""
    hindrance: str = ""
    """Why it cannot be measured at all."""
    tried: str = ""
    """The version with which it was tried; empty: not tried."""


@dataclass(frozen=True)
class Answers(Found):
    """What a server answered, and what follows from it."""

    dialects: tuple[str, ...] = ()
    lacks: frozenset[Capability] = frozenset()
    errors: Mapping[str, ErrorClass] = field(default_factory=dict)
    claims: bool = True
    """Whether its lock is one that others see, and that ends with its session."""
    bulk_loads: bool = True
    """Whether its bulk load reports a key that is there twice."""


def recognized(products: Iterable[Product], stated: str) -> tuple[Product | None, str]:
    """The product whose sign is in what a server states, with its version: title and version."""
    for one in products:
        if found := re.search(one.sign, stated):
            version = found[1] if found.re.groups and found[1] else ""
            return one, f"{one.title} {version}".strip()
    return None, ""


def unanswered(questions: Iterable[str], ask: Callable[[str], Any], denied: Collection[str]) -> tuple[str, ...]:
    """The questions that the server cannot answer, whoever asks. Raises ``TransactionError`` if it is lost."""
    missing = []
    for one in questions:
        try:
            ask(one)
        except TransactionError as error:
            if error.error_class is ErrorClass.CONNECTION_LOST:
                raise
            if error.code not in denied:
                missing.append(one)
    return tuple(missing)


def lacking(missing: Collection[str], counters: Collection[str]) -> frozenset[Capability]:
    """What a server lacks that has no answer to these questions, and has these counters."""
    found = {capability for question, capability in _WITHOUT.items() if question in missing}
    return frozenset({*found, *(capability for name, capability in _COUNTED.items() if name not in counters)})


def require_answers(
    target: Target, title: str, product: str, needed: Collection[str], missing: Collection[str]
) -> None:
    """Raise ``Rejected`` for a server that does not answer what each build and run asks."""
    if lacks := [one for one in needed if one in missing]:
        who = product or f"a server that speaks the protocol of {title}"
        reason = f"the server is {who}, and cannot answer what hdbkit asks {title}: {', '.join(lacks)}"
        raise Rejected(target.url, reason, NO_ENGINE)


NO_ENGINE = "it needs an engine of its own (CONTRIBUTING.md)"
"""What to do about a server that cannot be measured as what it looks like."""


NOT_OWN = "the server's connections are all one session, so that clients would disturb each other"
ONE_SESSION = "name a server that gives each connection a session of its own"


def probe_name() -> str:
    """A name for what a trial creates and drops."""
    return f"hdbkit_probe_{secrets.token_hex(4)}"


class _AtTarget(BaseDatabase):
    """What an engine is at a target; a class of both is made for each engine."""

    def __init__(self, engine: Any, target: Target) -> None:
        self.unbound, self._target = engine, target

    @cached_property
    def probed(self) -> Answers:  # type: ignore[override]
        """What the server answered, asked once in a process. Raises the errors of ``connect``."""
        found: Answers = self.unbound.probe(self._target)
        return found

    @property
    def dialects(self) -> tuple[str, ...]:  # type: ignore[override]
        """Those of the engine, and that of the product."""
        return (*self.unbound.dialects, *self.probed.dialects)

    @property
    def capabilities(self) -> frozenset[Capability]:  # type: ignore[override]
        """Those of the engine that the server has; all of them if it does not answer, so that it can be started."""
        try:
            lacks = self.probed.lacks
        except CannotConnect:
            lacks = frozenset()
        return frozenset(self.unbound.capabilities - lacks)

    def provision(self, admin: Target, target: Target) -> list[str]:
        """As the engine itself: the account of the target does not exist yet."""
        created: list[str] = self.unbound.provision(admin, target)
        return created

    @cached_property
    def _answerable(self) -> Mapping[str, Any]:
        missing = {*self.probed.unanswered}
        return {name: one for name, one in super()._known().items() if name not in missing}

    def _known(self) -> Mapping[str, Any]:
        return self._answerable if self.probed.unanswered else super()._known()


@cache
def _class_at(engine: Any) -> type:
    return type(engine.__name__, (_AtTarget, engine), {})


@lru_cache(maxsize=64)
def at(engine: Any, target: Target) -> Database:
    """An engine as its server at ``target`` is, one in a process, whether or not it is at a target already."""
    unbound = getattr(engine, "unbound", engine)
    if unbound is not engine:
        return at(unbound, target)
    made: Database = _class_at(cast(Any, type(engine)))(engine, target)
    return made
