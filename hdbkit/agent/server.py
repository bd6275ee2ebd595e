"""The server that an agent controls, with one operation at a time.

Snapshots of its settings are files that are named by the SHA-256 of their content. A client receives only the name,
so that it can restore an earlier state and nothing else.
"""

from __future__ import annotations

import hashlib
import json
import platform
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any

from hdbkit.config import Target
from hdbkit.contracts import CHANGED, Change, Power, ServerControl, Setting
from hdbkit.databases import database
from hdbkit.errors import CannotConnect, ServerFailed, TransactionError
from hdbkit.execution import host
from hdbkit.files import replace_file
from hdbkit.servers.permitted import unpermitted


class ControlledServer:
    """The control of one server behind a lock."""

    def __init__(
        self, target: Target, control: ServerControl, snapshots: Snapshots, text_settings: Collection[str] = ()
    ) -> None:
        self._target, self._control, self._snapshots = target, control, snapshots
        self._text_settings, self._one_at_a_time = frozenset(text_settings), threading.Lock()
        self._messages: list[str] = []
        control.say = self._messages.append

    @property
    def connect_error(self) -> str | None:
        """Why a session cannot read the server's settings; None if it can."""
        try:
            self._control.settings()
        except (CannotConnect, TransactionError) as error:
            return str(error)
        return None

    @cached_property
    def identity(self) -> str:
        """The host and the server. Raises ``CannotConnect`` if only the server knows it, and does not answer."""
        return f"{platform.node()}:{self._control.identity}"

    def info(self) -> dict[str, Any]:
        """A description of the server and its host; without identity if the server does not answer."""
        power, identity = self._control.power, None
        with suppress(CannotConnect):
            identity = self.identity
        return {
            "identity": identity,
            "kind": self._target.kind,
            "database": self._target.database,
            "may_change_settings": self._target.may_change_settings,
            "can_restart": self._control.can_restart,
            "can_restore_data": self._control.can_restore_data,
            "running": power.running if power is not None else None,
            "text_settings": sorted(self._text_settings),
            "host": host.server_facts(self._target),
            "kernel": host.kernel_limits(database(self._target).daemon),
        }

    def settings(self) -> dict[str, Setting]:
        """Every setting of the server."""
        with self._one_at_a_time:
            return self._control.settings()

    def problems(self, changes: Mapping[str, Sequence[str]]) -> list[str]:
        """The errors in these values according to the server's list of settings; changes nothing."""
        with self._one_at_a_time:
            return self._problems(changes)

    def refused(self, configurations: Sequence[Mapping[str, str]]) -> list[str]:
        """The configurations with which the server would not start."""
        with self._one_at_a_time:
            return self._control.refused(configurations)

    def snapshot(self, changed: Collection[str] | None = None) -> str:
        """Keep a snapshot of the server's settings; return its name.

        It restores what whoever has the token may change: not what somebody else has secured since.
        """
        with self._one_at_a_time:
            kept, known = self._control.snapshot(changed), self._control.settings()
            names = known.keys() if changed is None else known.keys() & set(changed)
            refused = unpermitted(
                database(self._target), known, {name: [known[name].value] for name in names}, self._text_settings
            )
            return self._snapshots.keep({**kept, CHANGED: sorted(names - refused.keys())})

    def messages(self) -> list[str]:
        """The control's messages since the last call, for example that a stopped server was started again."""
        messages = list(self._messages)
        del self._messages[: len(messages)]
        return messages

    def apply(self, changes: Mapping[str, str]) -> Change:
        """Set, apply and verify the values. Raises ``ServerFailed``."""
        with self._one_at_a_time:
            wrong = self._problems({name: [value] for name, value in changes.items()})
            if wrong:
                raise ServerFailed("; ".join(wrong))
            return self._control.apply(changes)

    def restore(self, name: str) -> float:
        """Restore a snapshot; return the duration in seconds."""
        return self._timed(lambda: self._control.restore(self._snapshots.read(name)))

    def start(self, before: str | None = None) -> float:
        """Start a stopped server; if it does not start, restore the snapshot of the name ``before``, if given."""
        self._check_power()
        snapshot = None if before is None else self._snapshots.read(before)
        return self._timed(lambda: self._control.start(snapshot))

    def maintain(self) -> float:
        """Run maintenance and wait for background work; return the duration in seconds."""
        return self._timed(self._control.maintain)

    def data(self, what: str) -> float:
        """Keep, restore or drop the copy of the data; return the duration in seconds. Raises ``ServerFailed``."""
        control = self._control
        if not control.can_restore_data:
            raise ServerFailed(f"the data of {self.identity} cannot be kept: this needs a private server")
        does: dict[str, Callable[[], object]] = {
            "keep": control.keep_data,
            "restore": control.restore_data,
            "drop": control.drop_kept_data,
        }
        return self._timed(does[what])

    def power(self, what: str) -> float:
        """Stop or restart the server; return the duration in seconds. Raises ``ServerFailed``."""
        power = self._check_power()
        restart = self._control.restart if power.running else power.restart
        return self._timed(power.stop if what == "stop" else restart)

    def _check_power(self) -> Power:
        power = self._control.power
        if power is None or not self._control.can_restart:
            advice = "its target must set 'may_restart: true' and give commands in 'control'"
            raise ServerFailed(f"{self._target.described} cannot be stopped or started by its agent; {advice}")
        return power

    def _timed(self, order: Callable[[], object]) -> float:
        with self._one_at_a_time:
            began = time.monotonic()
            order()
            return time.monotonic() - began

    def _problems(self, changes: Mapping[str, Sequence[str]]) -> list[str]:
        found, known = self._control.problems(changes), self._control.settings()
        there = {name: values for name, values in changes.items() if name in known}  # the control names the others
        refused = unpermitted(database(self._target), known, there, self._text_settings)
        return found + [f"{why} (the agent on {platform.node()})" for why in refused.values()]


class Snapshots:
    """A folder of snapshots. It may be emptied while no sweep is unfinished."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(mode=0o700, exist_ok=True)

    def keep(self, snapshot: Mapping[str, Any]) -> str:
        """Write a snapshot to disk; return its name."""
        content = json.dumps(snapshot, sort_keys=True).encode()
        name = hashlib.sha256(content).hexdigest()
        if not self._file(name).is_file():
            replace_file(self._file(name), content, mode=0o600)
        return name

    def read(self, name: str) -> dict[str, Any]:
        """Read a snapshot by name. Raises ``ServerFailed`` if it is missing or damaged."""
        try:
            content = self._file(name).read_bytes()
        except OSError:
            content = b""
        if hashlib.sha256(content).hexdigest() != name:
            raise ServerFailed(f"the agent has no snapshot {name}; was its folder {self._folder} emptied?")
        return dict(json.loads(content))

    def _file(self, name: str) -> Path:
        return self._folder / f"{name}.json"
