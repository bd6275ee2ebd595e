"""Redis 7 and later, through redis-py: no SQL, transactions as functions of the server.

The server carries out one function at a time, in memory, and writes what they changed to its log. ``docs/redis.md``
has the keys. A target's database is a number, 0 by default.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

from hdbkit.config import Target
from hdbkit.config.hosts import is_local
from hdbkit.config.passwords import of_variable
from hdbkit.contracts import SERVER, Capability, Database, Schema, Scope, Session, SessionOptions, Workload
from hdbkit.databases._base.access import (
    CONNECT_TIMEOUT,
    LOOPBACK,
    connect_timeout_s,
    first_usable,
    in_account_file,
    tls_failure,
)
from hdbkit.databases._base.database import BaseDatabase
from hdbkit.databases._base.listener import REQUIRE_PEER, require_listener
from hdbkit.databases.redis.settings import (
    ANSWERS,
    REDIS_ACCESS,
    REDIS_PLAIN_TEXTS,
    REDIS_PROTECTED,
    disturbing,
    timeouts,
    values,
)
from hdbkit.errors import CannotConnect, InputError, MissingDriver, NoneFree, NothingListens, NotReady, Rejected
from hdbkit.processes import runs_as_long
from hdbkit.readings import Disturbance, Encryption, ServerEvent, Timeout

if TYPE_CHECKING:
    from redis.connection import AbstractConnection

    from hdbkit.databases.redis.cluster import RedisClusterSession
    from hdbkit.databases.redis.session import RedisSession

_PORT = 6379
_ACCOUNTS = ("redis", "valkey", "keydb")
"""The accounts as which packages install such servers."""
_RECENT_S = 60
_PASSWORD_VARIABLE = "REDISCLI_AUTH"  # noqa: S105  the name of a variable
_REFUSALS: tuple[tuple[str, type[CannotConnect], str, str], ...] = (
    # what the server says, error, meaning, advice
    ("WRONGPASS", Rejected, "wrong user or password", "check the user and set HDBKIT_PASSWORD"),
    ("invalid username-password", Rejected, "wrong user or password", "check the user and set HDBKIT_PASSWORD"),
    ("Authentication required", Rejected, "a password is required", "set HDBKIT_PASSWORD or name a password file"),
    ("without any password configured", Rejected, "the account has no password", "unset HDBKIT_PASSWORD"),
    ("no permissions", Rejected, "the account may not use it", "grant it all commands (ACL SETUSER)"),
    ("max number of clients", NoneFree, "no more connections are allowed", "use fewer virtual users"),
    ("index is out of range", Rejected, "it has no database of this number", "name a database such as 0"),
    ("loading the dataset", NotReady, "the server is loading its data", "try again in a moment"),
    (
        "no such file",
        CannotConnect,
        "there is no such file of authorities",
        "correct the option tls_ca_file of the target",
    ),
    (
        "timeout",
        CannotConnect,
        "no answer came in time",
        "check host, port and firewall, and that the server is not stopped",
    ),
    ("refused", NothingListens, "nothing listens there", "check host and port, and that the server runs"),
)
_A_CLUSTER = ("the server belongs to a cluster", "set the target's option cluster to on")
_CLEAR = (
    "the password would be sent to another host in clear text",
    "set the option tls of the target to on, or permit it by tls=off",
)
_NO_CLUSTER = ("the server belongs to no cluster", "omit the target's option cluster")


class Redis(BaseDatabase):
    """Contract: :class:`hdbkit.contracts.Database`."""

    kind = "redis"
    also_named: Mapping[str, Mapping[str, str]] = MappingProxyType(
        {"valkey": {}, "rediss": {"tls": "on"}, "valkeys": {"tls": "on"}}
    )
    recognized_by = (b"PING\r\n", rb"\+PONG|-NOAUTH|-DENIED|-ERR")
    title = "Redis"
    is_cluster: ClassVar[bool] = False
    dialects: tuple[str, ...] = (kind,)
    capabilities = frozenset(
        {
            Capability.TABLES,
            Capability.DECIMALS,
            Capability.ACROSS_SHARDS,
            Capability.STORED_ROUTINES,
            Capability.CLIENT_ROUTINES,
            Capability.OPTIMISTIC,
            Capability.SERVER,
            Capability.SETTINGS,
            Capability.OVERLAPS,
        }
    )
    extra = "redis"
    answers = ANSWERS | {"list_routines"}
    protected_settings: Mapping[str, str] = REDIS_PROTECTED
    access_settings: tuple[str, ...] = REDIS_ACCESS
    plain_texts: frozenset[str] = REDIS_PLAIN_TEXTS
    default_port: int | None = _PORT
    gauges = frozenset(
        {"connected_clients", "blocked_clients", "used_memory_bytes", "changes_since_save", "log_bytes"}
    )
    preload: tuple[str, ...] = ("redis.connection", "hdbkit.databases.redis.session")
    options = (CONNECT_TIMEOUT, "tls", "tls_ca_file", "cluster", REQUIRE_PEER)
    option_values: Mapping[str, tuple[str, ...]] = MappingProxyType({"tls": ("on", "off"), "cluster": ("on", "off")})

    def at(self, target: Target) -> Database:
        """The engine of a cluster, if the target's option says that the server belongs to one."""
        return _CLUSTER if target.options.get("cluster") == "on" else self

    def behind_proxy(self, target: Target, port: int) -> Target:
        """The address replaces the host, unless TLS verifies it."""
        if _is_encrypted(target) and target.host not in (LOOPBACK, "localhost"):
            raise InputError(
                f"the driver verifies the name of the proxy instead of {target.host}; faults of the network need "
                "a server on this host, or one without TLS"
            )
        return target.with_(host=target.host if _is_encrypted(target) else LOOPBACK, port=port)

    def driver_version(self) -> str:
        """The version of redis-py."""
        try:
            import redis
        except ImportError:
            raise MissingDriver(self.title, "redis", self.extra) from None
        return f"redis-py {redis.__version__}"

    def connect(
        self, target: Target, scope: Scope = SERVER, options: SessionOptions | None = None
    ) -> RedisSession | RedisClusterSession:
        """A session at the first usable address."""
        return self._first_usable(target, scope, options or SessionOptions())

    def _first_usable(self, target: Target, scope: Scope, options: SessionOptions) -> RedisSession:
        self.check_options(target)
        self.driver_version()
        return first_usable(target, lambda one: self._connect(one, scope, options))

    def _connect(self, target: Target, scope: Scope, options: SessionOptions, tag: str = "") -> RedisSession:
        from redis.backoff import NoBackoff
        from redis.connection import Connection, SSLConnection
        from redis.exceptions import RedisError
        from redis.retry import Retry

        from hdbkit.databases.redis.session import RedisSession

        database, password = _number(target), _password(target)
        timeout_s = connect_timeout_s(target, options.connect_timeout_s)
        if password and "tls" not in target.options and not is_local(target.host):
            raise CannotConnect(target.url, *_CLEAR)
        given: dict[str, Any] = {
            "host": target.host or "localhost",
            "port": target.port or _PORT,
            "db": database,
            "username": target.user,
            "password": password,
            "socket_timeout": timeout_s,
            "socket_connect_timeout": timeout_s,
            "client_name": options.application.replace(" ", "-"),
            "protocol": 2,
            "retry": Retry(NoBackoff(), 0),
        }
        kind: type[AbstractConnection] = Connection
        if _is_encrypted(target):
            kind, given["ssl_ca_certs"] = SSLConnection, target.options.get("tls_ca_file")
        elif password:
            kind = _checked(target)
        connection: Any = kind(**given)  # redis-py leaves most of it untyped
        try:
            connection.connect()
            connection.send_command("PING")  # a server that loads its data, or wants a password, says so
            connection.read_response()
            connection.send_command("HELLO")
            said = connection.read_response()
            connection._sock.settimeout(None)  # from here on, each question has its own limit
        except (RedisError, OSError) as error:
            connection.disconnect()
            raise _refusal(target, str(error)) from None
        except BaseException:  # such as an interrupt
            connection.disconnect()
            raise
        if (dict(zip(said[::2], said[1::2], strict=True)).get(b"mode") == b"cluster") is not self.is_cluster:
            connection.disconnect()
            raise CannotConnect(target.url, *_NO_CLUSTER if self.is_cluster else _A_CLUSTER)
        session = RedisSession(connection, self.dialects, scope, database, tag)
        session.reached_by(self, target, options)
        return session

    def schema(self, target: Target, workload: Workload) -> Schema:
        """The workload's keys and functions."""
        from hdbkit.databases.redis.schema import RedisSchema

        return RedisSchema(self, target, workload)

    def version(self, session: Session) -> str:
        """The product, which may be Valkey, and its version."""
        product, version = session.ask("product")[0]
        return f"{self.title.replace(Redis.title, product)} {version}"

    def encryption(self, session: Session, target: Target) -> Encryption:
        """By the target's option ``tls``."""
        return Encryption("TLS") if _is_encrypted(target) else Encryption()

    def server_process(self, session: Session) -> int | None:
        """The process that the server names, if it runs on this host for as long as the server says."""
        process, uptime_s = (int(value) for value in session.ask("process")[0])
        try:
            name = Path(f"/proc/{process}/comm").read_text(encoding="utf-8")
        except OSError:
            return None
        return process if name.startswith(("redis", "valkey")) and runs_as_long(process, uptime_s) else None

    def recent_events(self, session: Session) -> list[ServerEvent]:
        """The latencies of the last minute that its monitor noted, if the setting latency-monitor-threshold is on."""
        command = _own(session).command
        now_s = int(command("TIME")[0])
        return [
            ServerEvent("latency", f"{name.decode()} took {ms} ms", float(now_s - at_s))
            for name, *_ in command("LATENCY", "LATEST")
            for at_s, ms in command("LATENCY", "HISTORY", name)
            if now_s - at_s < _RECENT_S
        ]

    def disturbances(self, session: Session) -> list[Disturbance]:
        """By CONFIG."""
        return [Disturbance(*row) for row in disturbing(values(_own(session).command))]

    def timeouts(self, session: Session) -> list[Timeout]:
        """By CONFIG."""
        return timeouts(values(_own(session).command))

    def settings_of(self, session: Session) -> dict[str, dict[str, Any]]:
        """By CONFIG; the server does not tell which were changed."""
        found = values(_own(session).command)
        return {
            name: {"value": value, "unit": None, "default": None, "changed": False} for name, value in found.items()
        }

    def provision(self, admin: Target, target: Target) -> list[str]:
        """Create the account with all commands, and store it if the server has a file of accounts."""
        with closing(self._first_usable(admin, SERVER, SessionOptions())) as session:
            if session.command("ACL", "GETUSER", target.user or "") is not None:
                return []
            password = f">{target.new_password()}"
            session.command("ACL", "SETUSER", target.user or "", "on", password, "~*", "&*", "+@all")
            if session.command("CONFIG", "GET", "aclfile")[1]:
                session.command("ACL", "SAVE")
        return [f"account {target.user}"]

    def password_source(self, target: Target) -> str | None:
        """The target's password file, or a variable of redis-cli."""
        if in_account_file(target.password_file, target.user or "default") is not None:
            return str(target.password_file)
        return _PASSWORD_VARIABLE if of_variable(_PASSWORD_VARIABLE) else None


class RedisCluster(Redis):
    """Several servers that share the keys by slots. A function uses the keys of one of them."""

    title = "Redis Cluster"
    is_cluster = True
    capabilities = Redis.capabilities - {
        Capability.ACROSS_SHARDS,
        Capability.CLIENT_ROUTINES,
        Capability.OPTIMISTIC,
        Capability.SETTINGS,
        Capability.OVERLAPS,
    }

    def connect(
        self, target: Target, scope: Scope = SERVER, options: SessionOptions | None = None
    ) -> RedisClusterSession:
        """Sessions with all primaries, which the first usable address names."""
        from hdbkit.databases.redis.cluster import RedisClusterSession, primaries

        wanted = options or SessionOptions()
        with closing(self._first_usable(target, SERVER, wanted)) as one:
            found = primaries(one)
        nodes: list[RedisSession] = []
        try:
            for host, port, slots in found:
                address = target.with_(host=host or target.host, port=port, fallbacks=(), password=_password(target))
                nodes.append(self._connect(address, scope, wanted, slots.tag))
        except CannotConnect:
            for node in nodes:
                node.close()
            raise
        return RedisClusterSession(nodes, [slots for *_, slots in found])


def _checked(target: Target) -> type[AbstractConnection]:
    """A connection whose other end is checked before the password is sent, which is in clear text."""
    from redis.connection import Connection

    class Checked(Connection):
        def _connect(self) -> Any:
            made = super()._connect()  # type: ignore[no-untyped-call]
            try:
                require_listener(target, made, _ACCOUNTS)
            except BaseException:
                made.close()
                raise
            return made

    return Checked


def _own(session: Session) -> RedisSession:
    """The session, of a cluster that with its first node."""
    from hdbkit.databases.redis.cluster import RedisClusterSession
    from hdbkit.databases.redis.session import RedisSession

    assert isinstance(session, RedisSession | RedisClusterSession)
    return session.nodes[0]


def _is_encrypted(target: Target) -> bool:
    return target.options.get("tls", "off") == "on"


def _number(target: Target) -> int:
    text = target.database or "0"
    if not (text.isascii() and text.isdecimal()):
        raise InputError(f"the database of {target.described} is '{text}'; databases are numbers, such as 0")
    return int(text)


def _password(target: Target) -> str | None:
    return target.secret_or(
        lambda: in_account_file(target.password_file, target.user or "default"),
        lambda: of_variable(_PASSWORD_VARIABLE),
    )


def _refusal(target: Target, text: str) -> CannotConnect:
    if failure := tls_failure(target, text, "tls_ca_file"):
        return failure
    for sign, kind, reason, advice in _REFUSALS:
        if sign.lower() in text.lower():
            return kind(target.url, reason, advice, text if issubclass(kind, Rejected | NoneFree) else "")
    encrypts = "" if _is_encrypted(target) else ", and whether the server requires TLS (rediss://)"
    return CannotConnect(target.url, text, f"check host, port and firewall{encrypts}")


DATABASE = Redis()
_CLUSTER = RedisCluster()
