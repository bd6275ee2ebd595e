"""The settings of a Redis server, by its command CONFIG, as the operations that the control of a server asks."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

from hdbkit.contracts import OPERATIONS, Capability, Row
from hdbkit.errors import ErrorClass, TransactionError
from hdbkit.readings import IDLE_SESSIONS, Timeout

ANSWERS: Final = frozenset(
    one.name for one in OPERATIONS if Capability.SETTINGS in one.needs and Capability.SERVER not in one.needs
)
_SECRET: Final = frozenset(
    {"requirepass", "masterauth", "masteruser", "tls-key-file-pass", "tls-client-key-file-pass"}
)
_CHOICES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "appendfsync": "always,everysec,no",
        "maxmemory-policy": "noeviction,allkeys-lru,volatile-lru,allkeys-lfu,volatile-lfu,allkeys-random,"
        "volatile-random,volatile-ttl",
        "oom-score-adj": "no,yes,relative,absolute",
        "sanitize-dump-payload": "no,yes,clients",
        "repl-diskless-load": "disabled,on-empty-db,swapdb",
    }
)
_AT_START: Final = frozenset(
    {
        *("io-threads", "io-threads-do-reads", "databases", "tcp-backlog", "disable-thp", "rdbchecksum"),
        *("server_cpulist", "bio_cpulist", "aof_rewrite_cpulist", "bgsave_cpulist", "always-show-logo", "supervised"),
        *("enable-debug-command", "enable-module-command", "enable-protected-configs", "cluster-enabled"),
    }
)
"""Settings that the server reads only when it starts."""
_ADDRESS, _FILES = "clients would lose the server", "the server would look for its files elsewhere"
REDIS_PROTECTED: Final[Mapping[str, str]] = MappingProxyType(
    {
        **dict.fromkeys(("port", "bind", "unixsocket", "tls-port", "requirepass", "aclfile", "replicaof"), _ADDRESS),
        **dict.fromkeys(("dir", "dbfilename", "appendfilename", "appenddirname", "logfile", "pidfile"), _FILES),
        **dict.fromkeys(("daemonize", "set-proc-title", "cluster-enabled"), "hdbkit would lose the server"),
        "shutdown-on-sigterm": "a restart could lose the data",
        "loglevel": "hdbkit reads in the log when the server is ready",
    }
)
REDIS_ACCESS: Final[tuple[str, ...]] = (
    # who reaches the server, and how
    *("port", "bind*", "unixsocket*", "tls_*", "protected_mode", "cluster_*", "socket_mark_id"),
    *("supervised", "daemonize", "sentinel*"),
    # who is believed to be whom, and what then applies
    *("requirepass", "masterauth", "masteruser", "user", "acl*", "rename_command", "enable_*", "loadmodule"),
    # whom it follows, and where its data go
    *("replicaof", "slaveof", "replica_*", "slave_*", "repl_*", "min_replicas_*", "min_slaves_*"),
    # what is written down of the commands of others
    *("hide_user_data_from_log", "syslog_*", "logfile", "loglevel", "crash_*", "slowlog_*"),
)
REDIS_PLAIN_TEXTS: Final = frozenset(
    {"save", "client-output-buffer-limit", "oom-score-adj-values", "latency-tracking-info-percentiles"}
)
_WORDS: Final = {"on": "yes", "off": "no"}
_LOG: Final = "appendonly"
_REWRITE_PATIENCE_S: Final = 600.0


def disturbing(known: Mapping[str, str]) -> list[tuple[str, str, str]]:
    """The settings whose values disturb runs: name, value, effect."""
    policy, rows = known.get("maxmemory-policy", "noeviction"), []
    if known.get("maxmemory", "0") != "0" and policy != "noeviction":
        effect = "rows vanish when the memory is full, and operations on them fail"
        rows.append(("maxmemory-policy", policy, effect))
    return rows


def timeouts(known: Mapping[str, str]) -> list[Timeout]:
    """What ends sessions."""
    idle_s = float(known.get("timeout", "0"))
    return [Timeout(IDLE_SESSIONS, idle_s, "the server (timeout)")] if idle_s else []


_Command = Callable[..., Any]
"""Sends a command and returns the reply."""


def settings_answer(command: _Command, operation: str, arguments: Mapping[str, Any]) -> list[Row] | None:
    """The result of an operation on settings; None for other operations."""
    if operation not in ANSWERS:
        return None
    known = _ANSWERS.get(operation)
    return known(command, arguments) if known else []


def _listed(command: _Command, _: Mapping[str, Any]) -> list[Row]:
    """The server states no types, so they are those of the values."""
    return [_row(name, value) for name, value in values(command).items()]


def _running(command: _Command, _: Mapping[str, Any]) -> list[Row]:
    return [(name, value, False) for name, value in values(command).items()]


def _set(command: _Command, arguments: Mapping[str, Any]) -> list[Row]:
    value = str(arguments["value"])
    command("CONFIG", "SET", arguments["name"], _WORDS.get(value, value))
    if arguments["name"] == _LOG:
        _wait_for_log(command)
    return []


def _refuse(_: _Command, arguments: Mapping[str, Any]) -> list[Row]:
    raise TransactionError(ErrorClass.OTHER, "ERR", f"{arguments['name']} has one value for all sessions")


def _times(command: _Command, _: Mapping[str, Any]) -> list[Row]:
    """The time, since changes take effect at once, and a number that each start of the server changes."""
    seconds, microseconds = command("TIME")
    return [(int(seconds) * 1_000_000 + int(microseconds), int(_info(command, "server")["run_id"], 16))]


def _identity(command: _Command, _: Mapping[str, Any]) -> list[Row]:
    (_, port), (_, folder) = command("CONFIG", "GET", "port"), command("CONFIG", "GET", "dir")
    return [(f"{port.decode()}/{hashlib.sha256(folder).hexdigest()[:16]}",)]


def _checkpoint(command: _Command, _: Mapping[str, Any]) -> list[Row]:
    """Let the server write its log anew, so that it does not during a run, and wait until it has."""
    if _info(command, "persistence")["aof_enabled"] == "1":
        command("BGREWRITEAOF")
        _wait_for_log(command)
    return []


_ANSWERS: Final[Mapping[str, Callable[[_Command, Mapping[str, Any]], list[Row]]]] = {
    "control_settings": _listed,
    "running_settings": _running,
    "set_setting": _set,
    "set_running_setting": _set,
    "set_in_session": _refuse,
    "settings_loaded_at": _times,
    "server_identity": _identity,
    "checkpoint": _checkpoint,
}
"""What is answered; the others do nothing, and have no row."""


def values(command: _Command) -> dict[str, str]:
    """Every setting but passwords."""
    found = command("CONFIG", "GET", "*")
    pairs = zip(found[::2], found[1::2], strict=True)
    return {name.decode(): value.decode() for name, value in sorted(pairs) if name.decode() not in _SECRET}


def _row(name: str, value: str) -> Row:
    kind = (
        "enum"
        if name in _CHOICES
        else "bool"
        if value in ("yes", "no")
        else "size"
        if value.isdecimal()
        else "string"
    )
    apply_by = "restart" if name in _AT_START else "reload"
    return (name, value, None, None, apply_by, None, None, _CHOICES.get(name), kind, "", value, None, False)


def _info(command: _Command, section: str) -> dict[str, str]:
    lines = command("INFO", section).decode().splitlines()
    return dict(line.split(":", 1) for line in lines if ":" in line)


def _wait_for_log(command: _Command) -> None:
    """Wait until the log is complete: the server may be writing it anew, or for the first time."""
    end = time.monotonic() + _REWRITE_PATIENCE_S
    while time.monotonic() < end:
        now = _info(command, "persistence")
        if now["aof_rewrite_in_progress"] == now["aof_rewrite_scheduled"] == "0":
            return
        time.sleep(0.05)
