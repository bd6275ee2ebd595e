"""What starts and stops a server: hdbkit itself where the server is private, else commands that the target gives.

A command is a list of words and runs as it was given, without a shell, and without our passwords and tokens in its
environment. It may leave the server running behind it: what it says is caught in a file, which no server keeps open
for anybody to wait on.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from collections.abc import Sequence
from contextlib import nullcontext, suppress
from pathlib import Path

from hdbkit.config import Commands, ControlSpec
from hdbkit.config.problems import SECRET
from hdbkit.errors import ServerFailed
from hdbkit.servers.log import NO_MESSAGE, last_lines, read_since

_PATIENCE_S = 120.0
_SEEN_S = 5.0
"""How long after a start command the status command may still say that nothing runs."""


class CommandPower:
    """``Power`` through the commands of a target."""

    def __init__(self, commands: Commands, log: Path | None = None) -> None:
        self._commands, self._log, self._read = commands, log, 0

    @property
    def running(self) -> bool:
        """What the status command says; without one, nobody says otherwise."""
        return not self._commands.status or _run(self._commands.status)[0] == 0

    def start(self) -> None:
        """Run the start command."""
        if not (self._commands.status and self.running):
            self._bring_up(self._commands.start or self._commands.restart)

    def stop(self) -> None:
        """Run the stop command."""
        if self.running:
            self._run(self._commands.stop, "stop")

    def restart(self) -> None:
        """Run the restart command, or stop and start."""
        if self._commands.restart:
            self._bring_up(self._commands.restart)
        else:
            with nullcontext() if self._commands.status else suppress(ServerFailed):  # there may be none to stop
                self.stop()
            self._bring_up(self._commands.start)

    def last_words(self) -> str:
        """The end of what was added to the log."""
        try:
            return last_lines(read_since(self._log, self._read)) if self._log else ""
        except OSError:
            return ""

    def _bring_up(self, command: Sequence[str]) -> None:
        self._read = self._log.stat().st_size if self._log and self._log.is_file() else 0
        self._run(command, "start")
        end = time.monotonic() + _SEEN_S
        while not self.running:
            if time.monotonic() > end:
                raise ServerFailed(f"{command[0]} ended in order, but the server does not run: {self.last_words()}")
            time.sleep(0.1)

    def _run(self, command: Sequence[str], what: str) -> None:
        if not command:
            raise ServerFailed(f"the target gives no command to {what} its server (control.commands.{what})")
        code, told = _run(command)
        if code:
            words = " | ".join(one for one in (told, self.last_words()) if one)
            raise ServerFailed(f"the command {command[0]} ended with {code}: {words or NO_MESSAGE}")


def power_of(spec: ControlSpec) -> CommandPower | None:
    """What starts and stops a target's server by commands; None where these are not given."""
    return CommandPower(spec.commands, spec.log) if spec.commands.can_restart else None


def _run(command: Sequence[str]) -> tuple[int, str]:
    """Its exit code, and the end of what it said. Raises ``ServerFailed`` when it cannot be run."""
    environment = {name: value for name, value in os.environ.items() if not SECRET.search(name)}
    with tempfile.TemporaryFile() as said:
        try:
            done = subprocess.run(
                list(command),
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=subprocess.STDOUT,
                env=environment,
                timeout=_PATIENCE_S,
                check=False,
                start_new_session=True,  # what it leaves running outlives us
            )
        except OSError as error:
            raise ServerFailed(f"the command {command[0]} cannot be run: {error.strerror}") from error
        except subprocess.TimeoutExpired as error:
            raise ServerFailed(f"the command {command[0]} did not end within {_PATIENCE_S:g} s") from error
        said.seek(0)
        return done.returncode, last_lines(said.read().decode(errors="replace"))
