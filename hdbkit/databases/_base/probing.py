"""What a server is and can do, by its own answers: many products speak the protocol of another.

The questions are statements of the engine. Those that each build needs are executed, as a server may prepare what it
cannot execute; the others are prepared alone. An error is the answer no, unless a privilege is missing. A statement
that the server cannot answer is one that the engine lacks there. Where the product is another than the engine's own,
or a question has no answer, it is tried whether locks, bulk loads and routines work. Forked processes inherit the
answers.
"""

from __future__ import annotations

import json
import re
import secrets
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache, cached_property, lru_cache, partial
from pathlib import Path
from threading import Event, Timer
from typing import Any, ClassVar, NamedTuple, cast

from hdbkit.config import Target
from hdbkit.contracts import SERVER, Capability, Database, SessionOptions, Table
from hdbkit.databases._base.asking import shut_down
from hdbkit.databases._base.database import BaseDatabase
from hdbkit.errors import CannotConnect, ErrorClass, Rejected, TransactionError
from hdbkit.files import replace_file
from hdbkit.paths import state_folder
from hdbkit.readings import Found, answered

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
_SIGNS = ("product_version", "product_extensions", "product_settings", "product_variables")
"""The statements whose rows are what a server states about itself."""
_ANSWER_S, _ENDED_S = 3, 1.0
"""How long a second session may take to answer, and a server to notice that a session has ended."""
_NO_ENGINE = "it needs an engine of its own (CONTRIBUTING.md)"
_NOT_OWN = "the server's connections are all one session, so that clients would disturb each other"
_ONE_SESSION = "name a server that gives each connection a session of its own"


class Product(NamedTuple):
    """A product that speaks the protocol of an engine, as a line of a table."""

    title: str
    sign: str
    """A pattern of what the server states about itself; its first group, if any, is the version."""
    is_foreign: bool = True
    """Another implementation; else the engine's own server with an addition."""
    dialect: str = ""
    """The folder of its own statements, read last unless a variant of the engine names it among its own."""
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
    stated: str = ""
    """What the server states about itself."""
    bulk_loads: bool = True
    """Whether its bulk load reports a key that is there twice."""


def recognized(products: Iterable[Product], stated: str) -> tuple[Product | None, str]:
    """The product whose sign is in what a server states, with its version: title and version."""
    for one in products:
        if found := re.search(one.sign, stated):
            version = found[1] if found.re.groups and found[1] else ""
            return one, f"{one.title} {version}".strip()
    return None, ""


@contextmanager
def within_server(seconds: float, sessions: Iterable[Any]) -> Iterator[None]:
    """End the connections of sessions ``seconds`` from now, so that their calls fail instead of waiting.

    Drivers that reveal no socket are not ended.
    """
    late = Event()

    def end() -> None:
        late.set()
        for one in list(sessions):
            with suppress(Exception):
                shut_down(one.fileno())

    waiting = Timer(seconds, end)
    waiting.daemon = True
    waiting.start()
    try:
        yield
    except TransactionError as error:
        if not late.is_set():
            raise
        text = f"the server did not answer within {seconds:g} s"
        raise TransactionError(error.error_class, error.code, text) from error
    finally:
        waiting.cancel()


class Unmeasurable(Rejected):
    """The server answers, and is no server that hdbkit can measure."""


class Probe:
    """The questions to one server, over a session and a second one. A protocol states its words and its products."""

    products: ClassVar[tuple[Product, ...]]
    """By what servers state about themselves; the first that applies counts."""
    needed: ClassVar[tuple[str, ...]]
    """The statements that each build and run needs; they are asked for first."""
    questions: ClassVar[tuple[str, ...]]
    """The others, without which the server is less than the engine."""
    denied: ClassVar[frozenset[str]]
    """The codes of errors for want of a privilege, which answer nothing."""
    inserts: ClassVar[bool] = False
    """Whether rows are loaded by INSERT where a bulk load does not report duplicate keys."""

    def __init__(self, engine: Any, target: Target) -> None:
        self._engine, self._target = engine, target

    def answers(self) -> Answers:
        """Ask the server. Raises the errors of ``connect``, and ``Unmeasurable``."""
        session = self._engine.connect(self._target)
        with ExitStack() as opened:
            opened.callback(session.close)
            stated = self._stated(session)
            product, title = recognized(self.products, stated)
            lacks = _saved().get(f"{self._engine.kind} {stated}", frozenset()) | self.set_off(session)
            if product and product.hindrance:
                raise Unmeasurable(self._target.url, f"the server is {title}, and {product.hindrance}", _NO_ENGINE)
            if self.is_direct(session) and self._shares(session):
                raise Unmeasurable(self._target.url, _NOT_OWN, _ONE_SESSION)
            is_foreign = bool(product and product.is_foreign)
            own = (product.dialect,) if product and product.dialect not in {"", *self._engine.dialects} else ()
            session.dialects = (*session.dialects, *own)
            missing = self._unanswered(session, title)
            asked = (*self.needed, *self.questions)
            if not missing and not is_foreign:
                return Answers(title, asked=asked, lacks=lacks, stated=stated)
            lacks |= _lacking(missing, answered(lambda: self._engine.counters(session), {}))
            lacks |= product.lacks if product else frozenset()
            if Capability.STORED_ROUTINES not in lacks and not self._has_routines(session):
                lacks |= {Capability.STORED_ROUTINES}
            session = self._engine.loading_session(session, self._target, SERVER)
            opened.callback(session.close)
            problem = self._load_problem(session)
            hindrance = "" if self.inserts else problem
            return Answers(
                *(title, is_foreign, asked, missing, hindrance),
                dialects=own,
                lacks=lacks,
                errors=product.errors if product else {},
                claims=self._claims(session),
                stated=stated,
                bulk_loads=not problem,
            )

    def is_direct(self, session: Any) -> bool:
        """Whether no pooler serves the session."""
        return True

    def set_off(self, session: Any) -> frozenset[Capability]:
        """What a setting of the server turns off."""
        return frozenset()

    def _second(self) -> Any:
        return self._engine.connect(self._target, options=SessionOptions(connect_timeout_s=_ANSWER_S))

    def _stated(self, session: Any) -> str:
        """What the server states about itself: version, extensions, and variables that only some products have."""
        rows = [row for one in _SIGNS for row in answered(partial(self._engine.asked, session, one), [])]
        return " ".join([getattr(session, "version", ""), *("=".join(map(str, row)) for row in rows)])

    def _shares(self, session: Any) -> bool:
        """Whether a second connection has no session of its own, or none that answers during a transaction."""
        began = time.monotonic()
        try:
            other = self._second()
        except CannotConnect:  # the account may have one connection alone, which the server states at once
            return time.monotonic() - began >= _ANSWER_S
        with closing(other), within_server(_ANSWER_S, [other]):
            try:
                if _number(session) == _number(other) is not None:
                    return True
                session.begin()
                _number(session)
                _number(other)
            except TransactionError:
                return True
            finally:
                session.rollback()
        return False

    def _unanswered(self, session: Any, title: str) -> tuple[str, ...]:
        """The questions that the server cannot answer, whoever asks.

        Raises ``Unmeasurable`` if a needed one is among them, and ``TransactionError`` if the connection is lost.
        """
        if lacks := self._missing(session.query, self.needed):
            protocol = self._engine.protocol
            who = f"is {title}" if title else f"speaks the protocol of {protocol}"
            what = f"cannot answer what hdbkit asks {protocol}: {', '.join(lacks)}"
            raise Unmeasurable(self._target.url, f"the server {who}, and {what}", _NO_ENGINE)
        return self._missing(session.parse, self.questions)

    def _missing(self, ask: Callable[[str], object], questions: Iterable[str]) -> tuple[str, ...]:
        missing = []
        for one in questions:
            try:
                ask(one)
            except TransactionError as error:
                if error.error_class is ErrorClass.CONNECTION_LOST:
                    raise
                if error.code not in self.denied:
                    missing.append(one)
        return tuple(missing)

    def _has_routines(self, session: Any) -> bool:
        """Whether a routine can be created, called and dropped; an account that may not is no answer."""
        name = _trial_name()
        session.begin()
        try:
            session.query("probe_create_routine", name=name)
            return answered(lambda: bool(session.query("probe_call_routine", name=name)), False)
        except TransactionError as error:
            return error.code in self.denied or not self._target.database
        finally:
            session.rollback()
            answered(lambda: self._engine.asked(session, "probe_drop_routine", name=name), [])

    def _load_problem(self, session: Any) -> str:
        """Why rows cannot be loaded in bulk; empty if they can, or if no table can be created."""
        table = Table(_trial_name(), ("id",))
        session.begin()
        try:
            session.query("probe_create_table", name=table.name)
        except TransactionError:
            return ""
        try:
            session.load(table, [b"1\n1\n"])
        except TransactionError as error:
            return "" if error.error_class is ErrorClass.CONSTRAINT else f"rows cannot be loaded: {error.text}"
        finally:
            session.rollback()
            answered(lambda: self._engine.asked(session, "probe_drop_table", name=table.name), [])
        return "its bulk load accepts a key that is there twice"

    def _claims(self, session: Any) -> bool:
        """Whether a lock of another transaction is seen, and free when its session has ended. Asked last."""
        name = _trial_name()

        def taken(by: Any) -> bool:
            return answered(lambda: bool(by.query("probe_lock", name=name)[0][0]), False)

        with suppress(TransactionError, CannotConnect), closing(self._second()) as other:
            other.begin()
            session.begin()
            with within_server(_ANSWER_S, [session, other]):
                if not taken(other) or taken(session):
                    return False
                other.close()
                end = time.monotonic() + _ENDED_S
                while not (free := taken(session)) and time.monotonic() < end:
                    time.sleep(0.05)
                return free
        return False


def _lacking(missing: Collection[str], counters: Collection[str]) -> frozenset[Capability]:
    """What a server lacks that has no answer to these questions, and has these counters."""
    found = {capability for question, capability in _WITHOUT.items() if question in missing}
    return frozenset({*found, *(capability for name, capability in _COUNTED.items() if name not in counters)})


TRIED = frozenset(
    {
        *(Capability.ISOLATION, Capability.ROW_LOCKS, Capability.WRITERS_WAIT, Capability.READS_NEVER_WAIT),
        *(Capability.SNAPSHOT_CONFLICTS, Capability.LOCK_ERRORS, Capability.LOCK_TIMEOUT),
    }
)
"""What only two sessions show, so that a check of the rules saves what a server lacks of it."""


def save_lacks(engine: Database, lacks: frozenset[Capability]) -> None:
    """Keep what a server lacks of ``TRIED``, while it states the same about itself; engines that ask have answers."""
    if isinstance(engine.probed, Answers) and engine.probed.stated:
        kept = _saved() | {f"{engine.kind} {engine.probed.stated}": lacks}
        _file().parent.mkdir(parents=True, exist_ok=True)
        replace_file(_file(), json.dumps({name: sorted(one) for name, one in kept.items() if one}).encode())
    at.cache_clear()


def _saved() -> dict[str, frozenset[Capability]]:
    with suppress(OSError, ValueError):
        kept = json.loads(_file().read_text(encoding="utf-8"))
        return {name: frozenset(map(Capability, lacks)) for name, lacks in kept.items()}
    return {}


def _file() -> Path:
    return state_folder() / "engine-checks.json"


def _number(session: Any) -> Any:
    """The number of a session on its server, if that has any. Raises ``TransactionError`` if it is lost."""
    return answered(lambda: session.ask("backend")[0][0], None)


def _trial_name() -> str:
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
        """Those of the engine, and that of the product, if it is not among them."""
        return (*self.unbound.dialects, *self.probed.dialects)

    @property
    def capabilities(self) -> frozenset[Capability]:  # type: ignore[override]
        """Those of the engine that the server has; all of them if it does not answer, so that it can be started."""
        try:
            lacks = self.probed.lacks
        except Unmeasurable:
            raise
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
