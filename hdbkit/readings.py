"""Readings of a server or host at one point in time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Final, TypeVar

from hdbkit.caution import Caution, Kind
from hdbkit.errors import ErrorClass, GivenUp, TransactionError
from hdbkit.text import duration_text

_T = TypeVar("_T")
U = TypeVar("U")

IDLE_BUSY_PCT = 10.0
"""A host counts as idle up to this CPU utilization, in percent of all cores."""


LAG = "replication_lag_s"
"""The gauge of a standby's lag, among the counters."""
ENDS = ("commits", "rollbacks")
"""The counters of ended transactions; not every engine has both."""
OWN_COUNTS = "own_transactions"
"""The transactions of hdbkit's own questions among the ended ones, where a server counts questions so."""
REQUESTS = "batch_requests"
"""The counter of commands that clients sent; the engine TPM of a server that counts no ended transactions."""
UPTIME = "uptime_s"
"""The counter of the seconds since the server was started."""

SERVER_TOTALS: Final = ("calls", "time_ms", "rows", "rows_read", "pages", "pages_from_files", "log_bytes")
"""What a server itself counts by statement."""
STATEMENT_TOTALS: Final = (*SERVER_TOTALS, "cpu_user_ms", "cpu_system_ms", "disk_read_bytes", "disk_written_bytes")
"""The same, with what it asks of the kernel."""


def answered(question: Callable[[], _T], unknown: U) -> _T | U:
    """The answer to an optional question; ``unknown`` if the server has none.

    Raises if the connection was lost, or the answer did not come in time.
    """
    try:
        return question()
    except TransactionError as error:
        if error.error_class is ErrorClass.CONNECTION_LOST or isinstance(error, GivenUp):
            raise
        return unknown


@dataclass(frozen=True)
class Found:
    """What a server answered when it was asked what it is."""

    product: str = ""
    """Title and version of a product that speaks the protocol of another, or of an addition; empty: there is none."""
    is_foreign: bool = False
    """Whether the product is another implementation, so that nothing is known of what it does not answer."""
    asked: tuple[str, ...] = ()
    """The questions that it was asked."""
    unanswered: tuple[str, ...] = ()
    """Those of them that it cannot answer, whoever asks."""
    hindrance: str = ""
    """Why nothing can be built on it; empty if nothing is known to prevent it."""

    def named(self, title: str, protocol: str, version: str) -> str:
        """The product, or the variant ``title``, with the ``version`` that the server states in the ``protocol``."""
        own = f"{protocol} {version}"
        if self.product and not self.is_foreign:
            return f"{own} with {self.product}"
        who = self.product or title
        return own if who == protocol else f"{who}, speaks {own}"


@dataclass(frozen=True)
class Footprint:
    """The size of the target's database, and of the server's cache; ``cache`` is the name of its setting."""

    data_bytes: int
    cache: str
    cache_bytes: int


@dataclass(frozen=True)
class HostNeeds:
    """What a database in shared memory needs of its host's kernel; ``here``: whether that is this host."""

    shared_bytes: int
    semaphores: int
    """In one set."""
    here: bool


@dataclass(frozen=True)
class ServerEvent:
    """What a server did: the kind of event, such as ``checkpoint``, a text about it, and how long ago it was."""

    kind: str
    text: str
    age_s: float


@dataclass(frozen=True)
class HostLoad:
    """Load of a host: running totals of CPU time over all cores, dirty page cache, and memory size."""

    busy_s: float
    total_s: float
    dirty_bytes: int
    memory_bytes: int


@dataclass(frozen=True)
class Encryption:
    """How a connection is encrypted: no ``protocol`` if it is not; ``expires``: the certificate's end, if known."""

    protocol: str = ""
    expires: datetime | None = None


@dataclass(frozen=True)
class MissingGrant:
    """What an account lacks: the command that grants it, and what does not work without it."""

    command: str
    without: str


STATEMENT_READINGS = "statements"
"""What a :class:`Timeout` of statements ends."""


IDLE_SESSIONS = "idle sessions"
"""What a :class:`Timeout` of sessions ends that wait for their next operation."""


@dataclass(frozen=True)
class Timeout:
    """A timeout of an account's sessions: what it ends, such as ``statements``, after which time, and who sets it."""

    ends: str
    seconds: float
    setter: str

    def __str__(self) -> str:
        """For example ``statements end after 7 s, which the server sets``."""
        return f"{self.ends} end after {self.seconds:g} s, which {self.setter} sets"


@dataclass(frozen=True)
class StatementLimit:
    """The server's limit of prepared statements: its setting and value, those in use, and those of a session."""

    setting: str
    value: int
    used: int
    of_session: int

    @property
    def free(self) -> int:
        """How many more the server allows."""
        return max(0, self.value - self.used)


BLOCKER = "blocker"
"""The kind of a run's event that names what sessions of the load waited for, and who held it."""
_POSSIBLY = "possibly "
"""How the statement ``lock_holders`` begins a holder that the server does not tell for sure."""


@dataclass(frozen=True)
class LockHolder:
    """What a session waits for, and who holds it."""

    waits_for: str
    """As a noun phrase: ``a lock on public.stock``."""
    holder: str = ""
    """The holder as its server knows it: ``session 123``; empty: not known."""
    account: str = ""
    application: str = ""
    state: str = ""
    """What the holder does: ``idle in transaction``."""
    age_s: float | None = None
    """How long its transaction has been open, or it has been prepared."""

    @property
    def may_hold(self) -> bool:
        """Whether the server does not tell it for sure."""
        return self.holder.startswith(_POSSIBLY)

    @classmethod
    def of(cls, *row: Any) -> LockHolder:
        """That of a row of the statement ``lock_holders``."""
        *words, age_s = row
        waits_for, holder, account, application, state = (str(one or "") for one in words)
        return cls(waits_for, holder, account, application, state, None if age_s is None else float(age_s))

    def __str__(self) -> str:
        """For example ``a lock on public.stock, held by session 9 (psql of bench, idle in transaction for 1 s)``."""
        if not self.holder:
            return self.waits_for
        who = " of ".join(filter(None, [self.application or (self.account and "a session"), self.account]))
        since = "" if self.age_s is None else f"for {duration_text(self.age_s)}"
        state = self.state or ("its transaction is open" if since else "")
        about = ", ".join(filter(None, [who, " ".join(filter(None, [state, since]))]))
        held = "possibly held by" if self.may_hold else "held by"
        return f"{self.waits_for}, {held} {self.holder.removeprefix(_POSSIBLY)}{f' ({about})' if about else ''}"


@dataclass(frozen=True)
class Disturbance:
    """A setting of the server whose value disturbs runs, or makes their results incomparable."""

    setting: str
    value: str
    effect: str


@dataclass(frozen=True)
class WriteCycle:
    """The time in which a server's background writing repeats, and the setting with its value that decides it."""

    setting: str
    value: str
    seconds: float

    def warning(self, window_s: float) -> str:
        """Why a window is too short for it, and what to set; empty if it is not."""
        if window_s >= self.seconds:
            return ""
        return Caution(
            f"the window ({window_s:g} s) is shorter than a cycle of the server's background writing "
            f"({self.setting} = {self.value}), so it may contain all of that writing or none; set duration_s to "
            f"{self.seconds:g} or more, or reduce {self.setting}",
            Kind.CYCLE,
        )


class PoolMode(StrEnum):
    """When a connection pooler gives a client another connection of the server."""

    DIRECT = "direct"  # there is no pooler
    SESSION = "session"
    TRANSACTION = "transaction"


POOL_LIMITS: Final = "for PgBouncer default_pool_size or pool_size, max_db_connections, max_user_connections"
"""What limits the connections of the server that a pooler uses for one database and account."""


class ServerRole(StrEnum):
    """Whether a server accepts changes from this account."""

    PRIMARY = "primary"
    STANDBY = "standby"
    READ_ONLY = "read-only"

    @property
    def described(self) -> str:
        """What a server of this role is: ``a standby``, ``read-only``."""
        return self.value if self is ServerRole.READ_ONLY else f"a {self.value}"


@dataclass(frozen=True)
class Pooling:
    """How a client's connection reaches the server; ``prepared``: whether it may prepare statements.

    ``by``: the name of the pooler, if it is known.
    """

    mode: PoolMode
    prepared: bool = True
    by: str = ""

    def __str__(self) -> str:
        """For example ``transaction pooling, without prepared statements``."""
        if self.mode is PoolMode.DIRECT:
            return "no pooler"
        by = f"{self.by}, " if self.by else ""
        return f"{by}{self.mode.value} pooling, {'with' if self.prepared else 'without'} prepared statements"
