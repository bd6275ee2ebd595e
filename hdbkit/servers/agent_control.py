"""Settings of a server on another host, changed through the agent on that host.

The agent stores every snapshot: server files never leave their host, and none can be sent to it. A change is accepted
only when a session from this host reads the new values back. If the agent is unreachable, hdbkit waits for it. If it
did not answer a request before that, the possibly incomplete effects of the request are undone before the retry.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cached_property, partial
from typing import Any

from hdbkit.config import ControlSpec, Target
from hdbkit.contracts import KEPT, ApplyBy, Change, Setting
from hdbkit.errors import AgentLost, CannotConnect, HdbkitError, InputError, ServerFailed
from hdbkit.readings import HostLoad
from hdbkit.servers.agent_client import AgentAway, AgentClient
from hdbkit.servers.server_access import discard
from hdbkit.servers.sql_control import SqlControl
from hdbkit.servers.trial import MAX_TRIED

_LOOK_S = 0.5


class AgentControl:
    """``contracts.ServerControl`` through an agent; see the protocol for what each method promises."""

    power = None
    keeps_settings = True
    """The server is started by its agent alone, which sets them again."""

    def __init__(self, target: Target) -> None:
        self._target, self._agent = target, AgentClient(target.control)
        self._patience_s = target.control.wait_s
        self._read_by_us: SqlControl | None = None
        self.say: Callable[[str], None] = discard
        self._about = self._info()
        self.can_restore_data = bool(self._about["can_restore_data"])
        self.can_restart = bool(self._about["can_restart"]) and target.may_restart

    @cached_property
    def identity(self) -> str:
        """The host and the server. Raises ``CannotConnect`` if only the server knows it, and does not answer."""
        found = self._about["identity"] or self._info()["identity"]
        if found is None:
            reason = "its server does not answer"
            raise CannotConnect(self._agent.address, reason, "start the server on its host")
        return str(found)

    def _info(self) -> dict[str, Any]:
        """The agent's description of its server. Raises ``CannotConnect`` and ``InputError``."""
        try:
            about: dict[str, Any] = self._agent.get("info")
        except AgentAway as away:
            advice = "start it on the server's host with: hdbkit agent TARGET"
            raise CannotConnect(self._agent.address, str(away), advice) from None
        mine = {"kind": self._target.kind, "database": self._target.database}
        for name, value in mine.items():
            if about[name] != value:
                raise InputError(
                    f"the agent {self._agent.address} controls a server of {name} {about[name]}, but the target "
                    f"names {value}; give both the same {name}"
                )
        return about

    # -- reading -----------------------------------------------------------------------------------------

    def settings(self) -> dict[str, Setting]:
        """Every setting of the server."""
        found = self._asked(lambda: self._agent.get("settings", timeout_s=120.0))
        return {one["name"]: _setting(one) for one in found["settings"]}

    def problems(self, changes: Mapping[str, Sequence[str]]) -> list[str]:
        """The errors in these values; changes nothing."""
        if not self._target.may_change_settings:
            return [
                f"target {self._target.url} does not set 'may_change_settings: true'; its settings are not changed"
            ]
        content = {"changes": {name: list(values) for name, values in changes.items()}}
        found = [str(one) for one in self._asked(lambda: self._agent.post("problems", content))["problems"]]
        if not self._target.may_restart:
            known = self.settings()
            found += [
                f"{name} needs a restart of the server; the target {self._target.url} must set 'may_restart: true'"
                for name in changes
                if name in known and known[name].apply_by is ApplyBy.RESTART
            ]
        return found

    def refused(self, configurations: Sequence[Mapping[str, str]]) -> list[str]:
        """The configurations with which the server would not start, if the agent's host can tell."""
        content = {"configurations": [dict(one) for one in configurations[:MAX_TRIED]]}
        return [str(one) for one in self._asked(lambda: self._agent.post("refused", content))["refused"]]

    def snapshot(self, changed: Collection[str] | None = None) -> dict[str, Any]:
        """The name of a snapshot that the agent stores; its content stays on the server's host."""
        kept = self._ordered("snapshot", None, None if changed is None else {"changed": sorted(changed)})
        return {"identity": self.identity, "snapshot": kept["snapshot"]}

    def host_load(self) -> HostLoad | None:
        """The load of the server's host."""
        return HostLoad(**self._asked(lambda: self._agent.get("load"))["totals"])

    # -- changing ----------------------------------------------------------------------------------------

    def apply(self, changes: Mapping[str, str]) -> Change:
        """Have the agent set and verify the values, then read them back from this host."""
        before, began = self.snapshot(changes), time.monotonic()
        done = self._ordered("apply", before, {"changes": dict(changes)})
        try:
            read_back, rounded = self._ours().verified(changes)
        except HdbkitError as error:
            self.restore(before)
            raise ServerFailed(f"{error}; the settings are as before") from error
        return Change(ApplyBy(done["applied_by"]), time.monotonic() - began, read_back, rounded)

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        """Have the agent restore its snapshot."""
        if snapshot["identity"] != self.identity:
            raise ServerFailed(f"the settings to restore belong to {snapshot['identity']}, not to {self.identity}")
        self._asked(lambda: self._agent.post("restore", {"snapshot": snapshot["snapshot"]}))

    def start(self, before: Mapping[str, Any] | None = None) -> None:
        """Have the agent start a stopped server and, if it does not start, restore its snapshot ``before``."""
        if self.can_restart:
            self._ordered("start", None, {"snapshot": before["snapshot"]} if before else None)

    def restart(self) -> float:
        """Restart the server with its present settings; return the duration in seconds."""
        return self._took("restart")

    def maintain(self) -> float:
        """Have the agent run maintenance with its own account; return the duration in seconds."""
        return self._took("maintain")

    def keep_data(self, copy: str = KEPT) -> float:
        """Keep a copy of the present data; return the duration in seconds. An agent keeps one copy."""
        self._only(copy)
        return self._took("data/keep")

    def restore_data(self, copy: str = KEPT) -> float:
        """Restore the kept data; return the duration in seconds."""
        self._only(copy)
        return self._took("data/restore")

    def _only(self, copy: str) -> None:
        if copy != KEPT:
            raise ServerFailed(f"{self.identity} keeps only one copy of the data; it cannot keep another as '{copy}'")

    def drop_kept_data(self) -> None:
        """Remove the kept copy, if there is one."""
        self._took("data/drop")

    # -- steps -------------------------------------------------------------------------------------------

    def _took(self, verb: str) -> float:
        """Send a request; return its duration in seconds. The snapshot before it starts a stopped server."""
        before = self.snapshot(()) if self._target.may_change_settings else None
        return float(self._ordered(verb, before)["took_s"])

    def _ordered(self, verb: str, before: Mapping[str, Any] | None, content: Any = None) -> Any:
        """The response to a POST request; if the agent failed during it, restore ``before`` and retry."""
        again = None if before is None else partial(self.restore, before)
        answer = self._asked(lambda: self._agent.post(verb, content, timeout_s=3600.0), again)
        for note in answer.get("messages", ()):
            self.say(note)
        return answer

    def _ours(self) -> SqlControl:
        """A control that reads settings from this host with the target's account."""
        if self._read_by_us is None:
            here = self._target.with_(may_change_settings=False, control=ControlSpec())
            self._read_by_us = SqlControl(here)
        return self._read_by_us

    def _asked(self, ask: Callable[[], Any], again: Callable[[], None] | None = None) -> Any:
        """The agent's response; if it is unreachable, wait, call ``again`` and retry. Raises ``AgentLost``."""
        while True:
            try:
                return ask()
            except AgentAway as away:
                self._wait_for_it(str(away))
                if again is not None:
                    again()

    def _wait_for_it(self, reason: str) -> None:
        """Wait until the agent answers. After a timeout or an interrupt, later calls do not wait again."""
        began, address, patience_s = time.monotonic(), self._agent.address, self._patience_s
        self._patience_s = 0.0
        if patience_s:
            self.say(f"the agent {address} does not answer ({reason}); waiting for at most {patience_s:g} s")
        while True:
            try:
                self._agent.get("ping")
            except AgentAway as away:
                waited_s = time.monotonic() - began
                if waited_s >= patience_s:
                    raise AgentLost(address, self._target.control.wait_s, str(away)) from None
                time.sleep(_LOOK_S)
            else:
                break
        self._patience_s = self._target.control.wait_s
        self.say(f"the agent {address} answers again after {time.monotonic() - began:.0f} s")


def _setting(fields: Mapping[str, Any]) -> Setting:
    return Setting(**{**fields, "apply_by": ApplyBy(fields["apply_by"]), "choices": tuple(fields["choices"])})
