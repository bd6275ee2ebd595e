"""Starts and stops a server, and restores its data, with the commands of its target.

A command is a list of words. It runs as given, without a shell and without our passwords and tokens in its
environment. Its output goes to a file and not to a pipe: a server that the command starts would keep a pipe open, and
reading it would never end. What it prints after the name of a secret is dropped.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, nullcontext, suppress
from pathlib import Path

from hdbkit.config import Cache, Commands, ControlSpec, Target
from hdbkit.config.hosts import is_local
from hdbkit.config.problems import SECRET, without_secrets
from hdbkit.contracts import KEPT, ServerControl, Setting
from hdbkit.databases import database
from hdbkit.errors import ServerFailed, TransactionError
from hdbkit.processes import collected_file, error_file
from hdbkit.servers.log import NO_MESSAGE, CollectedLog, last_lines, read_since
from hdbkit.sql import SERVER_STATEMENTS, statements

_NO_LOG = "to see the reason here, name the server's log in 'control.log' of the target"
_PATIENCE_S = 120.0
"""Timeout of a command, unless it stops or starts a server."""
_LOOK_S = 0.1
_FLUSH = "flush_cache"
"""The statement that empties the cache of a server which has such a command."""
_SEEN_S = 5.0
"""Timeout after a start command until the status command must report a running server."""


class CommandPower:
    """``contracts.Power`` with the commands of a target."""

    def __init__(self, commands: Commands, log: Path | None = None, timeout_s: float = 600.0) -> None:
        self._commands, self.log, self._read, self._timeout_s = commands, log, 0, timeout_s
        self._log_is_given = log is not None
        self._collected: CollectedLog | None = None

    @property
    def running(self) -> bool:
        """Whether the status command reports a running server; true without a status command."""
        return not self._commands.status or run_command(self._commands.status)[0] == 0

    def start(self, ended: bool = False) -> None:
        """Run the start command, unless the status command reports a running server and it has not ``ended``.

        A status command may report a killed process that nobody waited for, or another with its process id.
        """
        if ended or not (self._commands.status and self.running):
            self._start_with(self._commands.start or self._commands.restart)

    def start_ended(self, answers: Callable[[], bool]) -> None:
        """Start a server at whose address nothing listens, whatever its status command reports.

        If the start fails and a process is there, that one recovers or has not ended yet: it is not stopped before it
        had its time to answer. A stop that was interrupted half-way is finished then.
        """
        try:
            return self.start(ended=True)
        except ServerFailed:
            end = time.monotonic() + self._timeout_s
            while self._commands.status and self.running and time.monotonic() < end:
                if answers():
                    return None
                time.sleep(_LOOK_S)
        with suppress(ServerFailed):  # there may be nothing left to stop
            self.stop()
        return self.start(ended=True)

    def stop(self) -> None:
        """Run the stop command."""
        if self.running:
            self._run(self._commands.stop, "stop")

    def restart(self) -> None:
        """Run the restart command, or stop and start."""
        if self._commands.restart:
            self._start_with(self._commands.restart)
        else:
            with nullcontext() if self._commands.status else suppress(ServerFailed):  # it may not be running
                self.stop()
            self._start_with(self._commands.start)

    def last_log_lines(self) -> str:
        """The path of the log, and the last lines that were added to it since the start."""
        new = self._collected.new() if self._collected else None
        for log, read in filter(None, (new, (self.log, self._read))):
            with suppress(OSError):
                if log and (lines := last_lines(read_since(log, read))):
                    return f"{log}: {lines}"
        return ""

    def find_log(self, process: int) -> None:
        """Find the log by the server's main process, unless the target names it; also that of a log process."""
        if self._log_is_given:
            return
        self.log = self.log or error_file(process)
        if collected := collected_file(process):
            self._collected = CollectedLog(collected)

    def _start_with(self, command: Sequence[str]) -> None:
        self._read = self.log.stat().st_size if self.log and self.log.is_file() else 0
        if self._collected:
            self._collected.note()
        self._run(command, "start")
        end = time.monotonic() + _SEEN_S
        while not self.running:
            if time.monotonic() > end:
                raise ServerFailed(f"{command[0]} succeeded, but the server is not running: {self.last_log_lines()}")
            time.sleep(_LOOK_S)

    def _run(self, command: Sequence[str], what: str) -> None:
        if not command:
            raise ServerFailed(f"the target gives no command to {what} its server (control.commands.{what})")
        run_or_fail(command, self.last_log_lines if self.log else lambda: _NO_LOG, self._timeout_s)


def power_of(spec: ControlSpec) -> CommandPower | None:
    """The commands that start and stop a target's server; None if the target gives none."""
    return CommandPower(spec.commands, spec.log, spec.restart_timeout_s) if spec.commands.can_restart else None


def run_or_fail(command: Sequence[str], log: Callable[[], str] = str, timeout_s: float = _PATIENCE_S) -> None:
    """Run a command. Raises ``ServerFailed`` with its output, and with what ``log`` returns, if it fails."""
    code, output = run_command(command, timeout_s)
    if code:
        reason = " | ".join(one for one in (output, log()) if one)
        raise ServerFailed(f"the command {command[0]} failed with exit code {code}: {reason or NO_MESSAGE}")


def run_command(command: Sequence[str], timeout_s: float = _PATIENCE_S) -> tuple[int, str]:
    """Run a command; return its exit code and its last lines of output. Raises ``ServerFailed`` if it cannot run."""
    environment = {name: value for name, value in os.environ.items() if not SECRET.search(name)}
    with tempfile.TemporaryFile() as output:
        try:
            done = subprocess.run(
                list(command),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=environment,
                timeout=timeout_s,
                check=False,
                start_new_session=True,  # a server that it starts must survive us
            )
        except OSError as error:
            raise ServerFailed(f"the command {command[0]} cannot be run: {error.strerror}") from error
        except subprocess.TimeoutExpired as error:
            raise ServerFailed(f"the command {command[0]} did not finish within {timeout_s:g} s") from error
        output.seek(0)
        return done.returncode, last_lines(output.read().decode(errors="replace"), without_secrets)


class RestoreCommand:
    """The part of ``contracts.ServerControl`` about data that a command restores, such as a snapshot of a disk."""

    _target: Target

    @property
    def can_restore_data(self) -> bool:
        """Whether the target names the command."""
        return bool(self._target.control.commands.restore)

    @abstractmethod
    def settings(self) -> dict[str, Setting]:
        """Every setting of the server."""

    def keep_data(self, copy: str = KEPT) -> float:
        """Do nothing, as the command knows what it restores. Raises ``ServerFailed`` for any other copy."""
        self._check(copy)
        return 0.0

    def restore_data(self, copy: str = KEPT) -> float:
        """Run the command; return its seconds.

        Raises:
            ServerFailed: it failed, or the server has other settings after it.
        """
        self._check(copy)
        before, began = self._values(), time.monotonic()
        run_or_fail(self._target.control.commands.restore, timeout_s=self._target.control.restart_timeout_s)
        took_s = time.monotonic() - began
        if changed := [name for name, value in self._values().items() if before.get(name, value) != value]:
            raise ServerFailed(
                f"control.commands.restore of {self._target.url} has changed the settings {', '.join(changed)}; "
                "keep the server's configuration out of what it restores"
            )
        return took_s

    def drop_kept_data(self) -> None:
        """Do nothing: there is no copy of ours."""

    def _check(self, copy: str) -> None:
        if not self.can_restore_data or copy != KEPT:
            raise ServerFailed(
                f"the data of {self._target.url} cannot be restored: name the command that does it in "
                "'control.commands.restore' of the target, or use a private server"
            )

    def _values(self) -> Mapping[str, str]:
        return {name: one.value for name, one in self.settings().items()}


PAGE_CACHE = Path("/proc/sys/vm/drop_caches")
_PAGES = "1"


def obstacle(cache: Cache, target: Target, server: ServerControl) -> str:
    """Why the caches cannot be brought to this state; empty if they can."""
    if cache is Cache.FLUSH:
        engine = database(target)
        known = _FLUSH in statements(engine.dialects, SERVER_STATEMENTS)
        return "" if known else f"{engine.title} has no command that empties its cache; use 'restart'"
    if cache is not Cache.WARM and not server.can_restart:
        advice = "use 'warm', or a target with 'may_restart: true' and commands in 'control'"
        return f"hdbkit cannot restart {server.identity}; {advice}"
    here = is_local(target.host) and not target.control.agent
    if cache is Cache.COLD and not (here and os.access(PAGE_CACHE, os.W_OK)):
        return f"only root on the host of {target.described} can empty its page cache; use 'restart'"
    return ""


def empty(cache: Cache, target: Target, server: ServerControl) -> float:
    """Bring the caches to this state; return the duration in seconds. Raises ``ServerFailed``."""
    began = time.monotonic()
    if cache is Cache.FLUSH:
        account = target.control_account.with_(database=target.database)
        try:
            with closing(database(target).connect(account)) as session:
                session.ask(_FLUSH)
        except TransactionError as error:
            raise ServerFailed(f"the cache of {target.described} could not be emptied: {error.text}") from error
    elif cache is not Cache.WARM:
        server.restart()
    if cache is Cache.COLD:
        os.sync()
        PAGE_CACHE.write_text(_PAGES, encoding="ascii")
    return time.monotonic() - began
